"""Products of base kernels cut after their middle factor, and pieces of them to work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...backend import columnwise
from ...bases import FeatureBlocks
from ...bases.columns import dense
from ..index_sets import all_indices
from . import limits
from .precision import Precision


@dataclass(frozen=True)
class Side:
    """Products of one degree and their features, sorted by one end of their index.

    Attributes
    ----------
    table : ndarray of int of shape (N, k)
        The products.
    columns : array of shape (n, M)
        Their features side by side.
    offsets : ndarray of int of shape (N + 1,)
        First column of each.
    bounds : ndarray of int of shape (r + 1,)
        How many products have an end below 0, 1, .., r.
    """

    table: Array
    columns: Any
    offsets: Array
    bounds: Array

    def features(self, part: slice) -> slice:
        """Return the columns of some products."""
        return slice(int(self.offsets[part.start]), int(self.offsets[part.stop]))

    def starts(self, part: slice) -> Array:
        """Return the first column of each of some products, from zero."""
        return self.offsets[part] - self.offsets[part.start]


class Piece(NamedTuple):
    """All products of some beginnings, one more kernel out of some, and some endings.

    Those that are not in ascending order belong to no product and have the score zero.

    Attributes
    ----------
    degree : int
        The products' degree.
    left, right : slice
        Which of the products of either side.
    kernels : slice or None
        The kernels between them; None: beginnings and endings meet.
    """

    degree: int
    left: slice
    kernels: slice | None
    right: slice

    @property
    def height(self) -> int:
        """Number of pairs of a beginning and a kernel."""
        between = self.kernels
        return (self.left.stop - self.left.start) * (between.stop - between.start if between else 1)


class Layout:
    r"""All products up to some degree as pairs of a beginning and an ending.

    A product of degree d >= 3 with sorted factors is cut after its middle factor m: all products
    with the same m are pairs of a beginning :math:`(i_1 \le \dots \le m)` and an ending
    :math:`(\ge m, \dots)`.

    Parameters
    ----------
    bases : FeatureBlocks
        The base kernels.
    strict : bool
        Whether the factors of a product are distinct.
    precision : Precision
        The numbers that features are held in.
    """

    def __init__(self, bases: FeatureBlocks, strict: bool, precision: Precision) -> None:
        self.bases, self.strict, self.precision = bases, int(strict), precision
        self._sides: dict[tuple[int, int], Side] = {}

    def sides(self, degree: int) -> tuple[Side, Side]:
        """Return the beginnings and the endings of products of one degree."""
        lengths = (0, degree) if degree < 2 else ((degree - 1) // 2 or 1, degree // 2)
        return self._side(lengths[0], 0), self._side(lengths[1], 1)

    @property
    def singles(self) -> Any:
        """The features of the base kernels, in the precision of the products."""
        return self._side(1, 0).columns

    def _side(self, length: int, which: int) -> Side:
        if (length, which) not in self._sides:
            self._sides[length, which] = self._make_side(length, by_last=which == 0)
        return self._sides[length, which]

    def _make_side(self, length: int, by_last: bool) -> Side:
        bases = self.bases
        table = all_indices(bases.count, length, bool(self.strict))
        if by_last and length > 1:
            table = table[np.argsort(table[:, -1], kind="stable")]
        columns: Any
        if length == 1:
            columns = dense(bases.features)
            owners = np.repeat(np.arange(bases.count), bases.sizes)
        else:
            columns, owners = bases.products([tuple(row) for row in table.tolist()])
        ends = table[:, -1 if by_last else 0] if length else np.zeros(1, dtype=int)
        return Side(
            table,
            columnwise(self.precision.near(columns)),
            np.searchsorted(owners, np.arange(len(table) + 1)),
            np.searchsorted(ends, np.arange(bases.count + 1)),
        )

    def pieces(self, degree: int) -> Iterator[Piece]:
        """Yield pieces of work that hold all products of one degree."""
        count = self.bases.count
        if degree < 2:
            if count or not degree:
                yield Piece(degree, slice(0, 1), None, slice(0, count if degree else 1))
            return
        if degree == 2:
            for start in range(0, count, limits.PAIR_KERNELS):
                some = slice(start, min(start + limits.PAIR_KERNELS, count))
                yield Piece(degree, some, None, slice(start, count))
            return
        left, right = self.sides(degree)
        start, last = 0, len(right.table)
        while start < count:
            first = int(right.bounds[min(start + self.strict, count)])
            stop = start + self._together(start, left, last - first)
            begins = int(left.bounds[stop - self.strict])
            if begins and first < last:
                yield Piece(degree, slice(0, begins), slice(start, stop), slice(first, last))
            start = stop

    def _together(self, start: int, left: Side, endings: int) -> int:
        """Return how many middle kernels share one matrix product, from one of them on."""
        count = self.bases.count
        begins = max(1, int(left.bounds[min(start + 1, count)]))
        # Most of the products must be in order.
        if self.precision.device:
            table, side = limits.DEVICE_PIECE_PRODUCTS, limits.DEVICE_LEFT_ENTRIES
            most, height = max(8, count // 32), min(self.bases.rows, side)
        else:
            table, side = limits.PIECE_PRODUCTS, limits.LEFT_ENTRIES
            most, height = min(count // 16, begins // 4), min(self.bases.rows, limits.CACHED_ROWS)
        most = min(most, count - start)
        return max(1, min(most, table // max(1, begins * endings), side // (begins * height)))

    def order(self, piece: Piece) -> tuple[Any, Any]:
        """Return ones and zeros: what is in order with which middle kernel.

        For the first endings, of shape (kernels, endings), and for the last beginnings, of shape
        (beginnings, kernels, 1); all others are in order.
        """
        left, right = self.sides(piece.degree)
        low, high = left.table[piece.left, -1], right.table[piece.right, 0]
        between, first = low, len(low)
        if piece.kernels is not None:
            between = np.arange(piece.kernels.start, piece.kernels.stop)
            first = int(np.searchsorted(low, between[0] - self.strict, side="right"))
        edge = int(np.searchsorted(high, between[-1] + self.strict))
        endings = high[None, :edge] >= between[:, None] + self.strict
        begins = low[first:, None, None] + self.strict <= between[:, None]
        return self.precision.near(endings), self.precision.near(begins)
