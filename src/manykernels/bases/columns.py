"""Products of columns of a matrix, sparse or not, on any device; rows in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Product
from ..backend import dense, filled, on_host, take
from ..deadline import check
from ..limits import PART_ENTRIES

Products = Sequence[Product]
"""Products of base kernels."""

Scales = Array | float
"""What multiplies each of many kernels; a number multiplies all of them."""


def split_rows(n: int, budget: int) -> list[slice]:
    """Cut ``range(n)`` in blocks; one of them times n float64 numbers fits in ``budget`` bytes."""
    size = max(1, min(n, budget // (8 * max(n, 1))))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def scale_rows(matrix: Any, factors: Array) -> Any:
    """Multiply the rows of a matrix, sparse or not, by factors."""
    if sparse.issparse(matrix):
        return sparse.diags_array(factors) @ matrix
    return matrix * factors[:, None]


def products_of_columns(features: Any, products: Products) -> Array:
    """Return products of columns of a matrix, given by their numbers, side by side."""
    out = filled(1.0, (len(products), features.shape[0]), features)
    degrees = np.fromiter(map(len, products), dtype=int, count=len(products))
    # By degree; put in order at the end unless they are.
    order = np.argsort(degrees, kind="stable")
    start = int(np.count_nonzero(degrees == 0))
    for degree in np.unique(degrees[degrees > 0]).tolist():
        check()
        which = order[start : start + int(np.count_nonzero(degrees == degree))]
        numbers = chain.from_iterable(products[i] for i in which.tolist())
        table = np.fromiter(numbers, dtype=int, count=degree * len(which)).reshape(-1, degree)
        _multiply(features, table, out[start : start + len(which), :])
        start += len(which)
    return take(out, np.argsort(order), axis=0).T


def products_of_table(features: Any, table: Array) -> Array:
    """Return products of columns, given by the rows of a table of their numbers, as rows."""
    out = filled(1.0, (len(table), features.shape[0]), features)
    if table.shape[1]:
        _multiply(features, table, out)
    return out


def all_products_of_columns(features: Any, tables: Sequence[Array]) -> Array:
    """Return all products of columns of a matrix of degree 0, 1, ... side by side.

    The tables list their indices in lexicographic order. Those that begin with column j are
    column j times the last ones of one degree less, which have no factor before j.
    """
    ends = np.cumsum([len(table) for table in tables]).tolist()
    out = filled(1.0, (ends[-1], features.shape[0]), features)
    if len(tables) > 1:
        out[1 : ends[1], :] = _gather(features, np.arange(features.shape[1]))
    for table, stop in zip(tables[2:], ends[2:], strict=True):
        first = stop - len(table)
        groups = np.concatenate([[0], np.cumsum(np.bincount(table[:, 0]))]) + first
        for j, (begin, end) in enumerate(pairwise(groups.tolist())):
            out[begin:end, :] = out[first - (end - begin) : first, :] * out[1 + j, :]
    return out.T


def _multiply(features: Any, table: Array, out: Array) -> None:
    """Write the products of each row of a table of column numbers to a row of ``out``.

    Neighbours that share all but the last factor share the product of the others.
    """
    starts = np.flatnonzero(np.any(np.diff(table[:, :-1], axis=0) != 0, axis=1)) + 1
    starts = np.concatenate([[0], starts])
    if table.shape[1] == 1 or 8 * len(starts) > len(table):
        out[:, :] = _gather(features, table[:, 0])
        for position in range(1, table.shape[1]):
            out *= _gather(features, table[:, position])
        return
    prefixes = filled(1.0, (len(starts), features.shape[0]), features)
    _multiply(features, table[starts, :-1], prefixes)
    last = table[:, -1]
    for i, (start, stop) in enumerate(pairwise([*starts.tolist(), len(table)])):
        check()
        out[start:stop, :] = _gather(features, last[start:stop]) * prefixes[i, :]


def _gather(features: Any, numbers: Array) -> Array:
    """Return some columns of a matrix, as rows."""
    if on_host(features):
        return dense(features.T[numbers])
    return take(features, numbers, axis=1).T


def side_by_side(blocks: Iterable[Array], rows: int) -> Array:
    """Return blocks of columns as one matrix, column by column; they may come one after another.

    Little more than the matrix is held at any time: blocks are gathered in pieces, and a piece is
    let go as soon as it is copied.
    """
    pieces: list[Array] = []
    waiting: list[Array] = []
    width = 0
    for block in chain(blocks, [None]):
        if block is None or width * rows >= PART_ENTRIES:
            piece = np.empty((rows, width), order="F")
            np.concatenate([piece[:, :0], *waiting], axis=1, out=piece)
            pieces.append(piece)
            waiting, width = [], 0
        if block is not None:
            waiting.append(block)
            width += block.shape[1]
    whole, start = np.empty((rows, sum(piece.shape[1] for piece in pieces)), order="F"), 0
    while pieces:
        piece = pieces.pop(0)
        whole[:, start : start + piece.shape[1]] = piece
        start += piece.shape[1]
    return whole
