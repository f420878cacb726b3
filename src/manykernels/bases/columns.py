"""Matrices, sparse or not, on any device: factors of rows and columns, products of columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Product
from ..backend import beside, filled, namespace, on_host, take


def dense(matrix: Any) -> Any:
    """Return a matrix as an ordinary array."""
    return np.asarray(matrix.toarray()) if sparse.issparse(matrix) else matrix


def largest_size(matrix: Any) -> float:
    """Return the largest size of an entry of a matrix, or of a stack of matrices."""
    if not min(matrix.shape):
        return 0.0
    if sparse.issparse(matrix):
        return float(abs(matrix).max())
    xp = namespace(matrix)
    return max(float(xp.max(matrix)), -float(xp.min(matrix)))


def scale_rows(matrix: Any, factors: Array) -> Any:
    """Multiply the rows of a matrix, sparse or not, by factors."""
    if sparse.issparse(matrix):
        return sparse.diags_array(factors) @ matrix
    return matrix * factors[:, None]


def scale_columns(matrix: Any, factors: Array) -> Any:
    """Multiply the columns of a matrix, sparse or not, by factors."""
    if sparse.issparse(matrix):
        return matrix @ sparse.diags_array(factors)
    return matrix * beside(factors, matrix)


def khatri_rao(left: Array, right: Array) -> Array:
    """Return all products of a column of ``left`` with a column of ``right``."""
    columns = left.shape[1] * right.shape[1]
    products = left[:, :, None] * right[:, None, :]
    return namespace(left).reshape(products, (left.shape[0], columns))


def products_of_columns(features: Any, products: Sequence[Product]) -> Array:
    """Return products of columns of a matrix, given by their numbers, side by side."""
    out = filled(1.0, (len(products), features.shape[0]), features)
    degrees = np.fromiter(map(len, products), dtype=int, count=len(products))
    # By degree; put in order at the end unless they are.
    order = np.argsort(degrees, kind="stable")
    start = int(np.count_nonzero(degrees == 0))
    for degree in np.unique(degrees[degrees > 0]).tolist():
        which = order[start : start + int(np.count_nonzero(degrees == degree))]
        table = np.array([products[i] for i in which.tolist()])
        _multiply(features, table, out[start : start + len(which), :])
        start += len(which)
    return take(out, np.argsort(order), axis=0).T


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
        out[start:stop, :] = _gather(features, last[start:stop]) * prefixes[i, :]


def _gather(features: Any, numbers: Array) -> Array:
    """Return some columns of a matrix, as rows."""
    if on_host(features):
        return dense(features.T[numbers])
    return take(features, numbers, axis=1).T
