"""Tables of inner products of features, as matrix products of two sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...arrays import Array
from ...backend import namespace, segment_sums, take
from ...bases.columns import khatri_rao
from . import limits
from .layout import Layout, Piece, Side


class Tables:
    r"""Inner products of the features of products with vectors over the rows.

    Those of one piece are one matrix product :math:`L^\top \mathrm{diag}(v) R`. A table has a row
    for each pair of a beginning and a kernel, a column for each ending. Its entries are squared
    norms of inner products, summed over the vectors and over the features of a product; or, if
    they are to be of squared features, sums of the inner products themselves.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.bases = layout, layout.bases

    def of_piece(self, piece: Piece, vectors: Any, squared: bool, kind: Any = None) -> Any:
        """Return the table of a piece, made in another type of numbers if one is given."""
        left, right = self.layout.sides(piece.degree)
        ours, group = left.features(piece.left), piece.kernels and self._features(piece.kernels)
        singles = self.layout.singles

        def begin(rows: slice, vector: Any) -> Any:
            columns = _power(left.columns[rows, ours], squared)
            if group is None:
                return columns * vector
            return khatri_rao(columns, _power(singles[rows, group], squared) * vector)

        table = self._inner(begin, right, piece.right, vectors, squared, kind)
        if self.bases.single:
            return table
        # Rows are features of beginnings times features of kernels.
        xp, starts, width = namespace(table), np.zeros(1, dtype=int), 1
        if piece.kernels is not None and group is not None:
            starts = self.bases.offsets[piece.kernels] - group.start
            width = group.stop - group.start
        count = table.shape[1]
        table = xp.reshape(table, (-1, width * count))
        table = segment_sums(table, left.starts(piece.left), axis=0)
        begins = table.shape[0]
        table = xp.reshape(table, (begins * width, count))
        every = (width * np.arange(begins)[:, None] + starts).ravel()
        return segment_sums(table, every, axis=0)

    def of_rows(
        self, degree: int, begins: Array, kernels: Array, vectors: Any, squared: bool
    ) -> Any:
        """Return the rows of the table of some pairs of a beginning and a kernel, all endings."""
        left, right = self.layout.sides(degree)
        singles, offsets = self.layout.singles, self.bases.offsets
        ours = [np.arange(*left.offsets[i : i + 2]) for i in begins.tolist()]
        if degree > 2:
            # All pairs of a feature of the beginning and one of the kernel.
            theirs = [np.arange(*offsets[m : m + 2]) for m in kernels.tolist()]
            each = np.concatenate([np.tile(b, len(a)) for a, b in zip(ours, theirs, strict=True)])
            ours = [np.repeat(a, len(b)) for a, b in zip(ours, theirs, strict=True)]
        numbers = np.concatenate(ours)

        def begin(rows: slice, vector: Any) -> Any:
            columns = take(left.columns[rows, :], numbers, axis=1)
            if degree > 2:
                columns = columns * take(singles[rows, :], each, axis=1)
            return _power(columns, squared) * vector

        table = self._inner(begin, right, slice(0, len(right.table)), vectors, squared)
        if self.bases.single:
            return table
        return segment_sums(table, np.cumsum([0, *map(len, ours[:-1])]), axis=0)

    def _inner(
        self,
        begin: Callable[[slice, Any], Any],
        right: Side,
        endings: slice,
        vectors: Any,
        squared: bool,
        kind: Any = None,
    ) -> Any:
        """Return a table with a row for each column of ``begin``.

        ``begin`` takes rows and the entries of a vector there, as a column, and returns the left
        side of the products times these.
        """
        theirs, total = right.features(endings), None
        for c in range(vectors.shape[1]):
            inner = None
            for rows in self._row_blocks():
                last = _power(right.columns[rows, theirs], squared)
                first = begin(rows, vectors[rows, c][:, None])
                if kind is not None:
                    xp = namespace(first)
                    first, last = xp.astype(first, kind), xp.astype(last, kind)
                part = first.T @ last
                inner = part if inner is None else inner + part
            assert inner is not None
            if not squared:
                inner *= inner
            total = inner if total is None else total + inner
        if self.bases.single:
            return total
        return segment_sums(total, right.starts(endings), axis=1)

    def _row_blocks(self) -> Iterator[slice]:
        height = limits.CACHED_ROWS
        if self.layout.precision.device:
            # A left side is at most as wide as the features and all rows of one kernel.
            height = limits.DEVICE_LEFT_ENTRIES // max(1, self.bases.features.shape[1])
        height = max(height, 1)
        for start in range(0, self.bases.rows, height):
            yield slice(start, min(start + height, self.bases.rows))

    def _features(self, kernels: slice) -> slice:
        offsets = self.bases.offsets
        return slice(int(offsets[kernels.start]), int(offsets[kernels.stop]))


def _power(columns: Any, squared: bool) -> Any:
    return columns**2 if squared else columns
