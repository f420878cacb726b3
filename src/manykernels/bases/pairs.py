"""All pairs of single columns at once: sums, inner products and combinations by matrix products.

Pairs i <= j of columns (i < j if strict) are in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..backend import beside, filled
from ..deadline import check
from ..limits import BATCH_ENTRIES, PAIR_COLUMNS, PAIR_ENTRIES
from .columns import products_of_table


def sum_of_tables(features: Any, tables: Iterable[Array], weights: Iterable[Array]) -> Any:
    r"""Return the n x n matrix :math:`\sum_i w_i \phi_i\phi_i^\top`, :math:`w_i \ge 0`.

    Each table lists products of some number of columns, one :math:`\phi_i` each; O(n^2) for each.
    """
    rows = features.shape[0]
    total = filled(0.0, (rows, rows), features)
    room = max(1, BATCH_ENTRIES // max(1, rows))
    for table, own in zip(tables, weights, strict=True):
        for start in range(0, len(table), room):
            check()
            columns = products_of_table(features, table[start : start + room])
            columns *= beside(np.sqrt(own[start : start + room])[:, None], columns)
            total += columns.T @ columns  # of one array with itself: half the work
    return total


def inner_of_pairs(features: Array, vectors: Array, strict: bool) -> Array:
    """Return the inner products of all pairs with vectors, of shape (pairs, c); O(n) for each."""
    count = features.shape[1]
    out = np.empty((vectors.shape[1], count * (count + 1) // 2 - int(strict) * count))
    for c, vector in enumerate(vectors.T):
        weighted = features * vector[:, None]
        for start, stop, places in blocks_of_pairs(count, strict):
            check()
            table = features[:, start:stop].T @ weighted[:, start:]
            for row, (first, place) in zip(table, places, strict=True):
                out[c, place] = row[first:]
    return out.T


def combine_pairs(features: Array, coefficients: Array, strict: bool) -> Array:
    """Return all pairs times coefficients of shape (pairs, c), of shape (n, c); O(n) for each."""
    count, out = features.shape[1], np.zeros((features.shape[0], coefficients.shape[1]))
    for c, own in enumerate(coefficients.T):
        for start, stop, places in blocks_of_pairs(count, strict):
            check()
            table = np.zeros((stop - start, count - start))
            for row, (first, place) in zip(table, places, strict=True):
                row[first:] = own[place]
            sums = features[:, start:] @ table.T
            out[:, c] += np.einsum("ti,ti->t", sums, features[:, start:stop])
    return out


def blocks_of_pairs(count: int, strict: bool) -> Iterator[tuple[int, int, list[tuple[int, slice]]]]:
    """Yield blocks of first columns, of which the second ones are those from the start on.

    With each first column comes where its second ones begin in the block, and the places of its
    pairs among all.
    """
    done, height = 0, max(1, min(PAIR_COLUMNS, PAIR_ENTRIES // max(1, count)))
    for start in range(0, count, height):
        stop, places = min(start + height, count), []
        for column in range(start, stop):
            first = column - start + int(strict)
            width = count - start - first
            places.append((first, slice(done, done + width)))
            done += width
        yield start, stop, places
