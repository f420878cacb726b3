"""All pairs of single columns at once: sums, inner products and combinations by matrix products.

Pairs i <= j of columns (i < j if strict) are in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..backend import beside, filled
from ..limits import BATCH_ENTRIES, PAIR_ENTRIES
from .columns import products_of_table


def sum_of_tables(features: Any, tables: Sequence[Array], weights: Sequence[Array]) -> Any:
    r"""Return the n x n matrix :math:`\sum_i w_i \phi_i\phi_i^\top`, :math:`w_i \ge 0`.

    Each table lists products of some number of columns, one :math:`\phi_i` each; O(n^2) for each.
    """
    rows = features.shape[0]
    total = filled(0.0, (rows, rows), features)
    room = max(1, BATCH_ENTRIES // max(1, rows))
    for table, own in zip(tables, weights, strict=True):
        for start in range(0, len(table), room):
            columns = products_of_table(features, table[start : start + room])
            columns *= beside(np.sqrt(own[start : start + room])[:, None], columns)
            total += columns.T @ columns  # of one array with itself: half the work
    return total


def inner_of_pairs(features: Array, vectors: Array, strict: bool) -> Array:
    """Return the inner products of all pairs with vectors, of shape (pairs, c); O(n) for each."""
    parts = [np.empty((0, vectors.shape[1]))]
    for first, second, kept in spans(features.shape[1], strict):
        tables = [_table(features, first, second, vector)[kept] for vector in vectors.T]
        parts.append(np.stack(tables, axis=1))
    return np.concatenate(parts)


def expansion_of_pairs(
    features: Array, vectors: Array, weights: Array, strict: bool, other: Array
) -> Array:
    r"""Return :math:`\sum_i w_i K_i V` between the rows of ``other`` and own ones, over all pairs.

    Two matrix products for each column of V and no kernel matrix: O(n) for each pair.
    """
    out, done = np.zeros((other.shape[0], vectors.shape[1])), 0
    for first, second, kept in spans(features.shape[1], strict):
        own = np.zeros(kept.shape)
        some = int(np.count_nonzero(kept))
        own[kept] = weights[done : done + some]
        done += some
        for c, vector in enumerate(vectors.T):
            table = _table(features, first, second, vector) * own
            out[:, c] += np.sum((other[:, first] @ table) * other[:, second], axis=1)
    return out


def spans(count: int, strict: bool) -> Iterator[tuple[slice, slice, Array]]:
    """Yield first columns, second columns, and which of their pairs are in order."""
    height = max(1, PAIR_ENTRIES // max(1, count))
    for start in range(0, count, height):
        stop = min(start + height, count)
        least = np.arange(start, stop)[:, None] + int(strict)
        yield slice(start, stop), slice(start, count), np.arange(start, count) >= least


def _table(features: Array, first: slice, second: slice, vector: Array) -> Array:
    return np.asarray(features[:, first].T @ (features[:, second] * vector[:, None]))
