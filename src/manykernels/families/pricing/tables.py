"""Products of base kernels cut in two, and tables of inner products of their features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ... import deadline, limits
from ...arrays import Array
from ...backend import (
    beside,
    columnwise,
    dense,
    free_bytes,
    khatri_rao,
    namespace,
    on_host,
    segment_sums,
    take,
)
from ...bases import FeatureBlocks
from ..index_sets import all_indices


@dataclass(frozen=True)
class Precision:
    """Types of numbers of one pricing, and where they are.

    Attributes
    ----------
    place : array
        The features; all other numbers are put beside them.
    products : dtype
        Type of the numbers in matrix products.
    device : bool
        Whether the work is done on a device rather than the host.
    kept : dtype, optional
        Type of the spreads that are kept between calls; None if there is no room for them.
    rough : dtype, optional
        Type in which spreads that are made anew find the best rows, whose scores are then made
        again in full; None if they are made in full at once.
    """

    place: Any
    products: Any
    device: bool
    kept: Any = None
    rough: Any = None

    trusted: ClassVar[float] = 0.99
    """Share of a score that it has at least when it is made again, from spreads in full: those
    kept in half precision move it by a few thousandths."""

    @classmethod
    def of(cls, features: Any, bits: int, spreads: float, rounds: bool = True) -> Self:
        """Return the types for products of features and for a number of spreads, zero for none.

        Spreads that do not fit in memory are made anew in every call, roughly on a device. Unless
        it ``rounds`` they are kept and made in the type of the products only.
        """
        xp, device = namespace(features), not on_host(features)
        products = getattr(xp, f"float{bits}")
        if not spreads:
            return cls(features, products, device)
        room = max(float(limits.SPREAD_BYTES), free_bytes(features) / 4 if device else 0.0)
        half = [16] if rounds and hasattr(xp, "float16") else []
        fitting = (some for some in [bits, *half] if spreads * some / 8 <= room)
        kept = next((getattr(xp, f"float{some}") for some in fitting), None)
        rough = getattr(xp, "bfloat16", None) if rounds and device and kept is None else None
        return cls(features, products, device, kept, rough)


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


@dataclass(frozen=True)
class Layout:
    r"""All products up to some degree as pairs of a beginning and an ending.

    A product of degree d >= 3 with sorted factors is cut after its middle factor m: all products
    with the same m are pairs of a beginning :math:`(i_1 \le \dots \le m)` and an ending
    :math:`(\ge m, \dots)`. Base kernels stand here in the order of their widths, if degree > 1.

    Parameters
    ----------
    bases : FeatureBlocks
        The base kernels.
    strict : bool
        Whether the factors of a product are distinct.
    precision : Precision
        The numbers that features are held in.
    degree : int
        The largest degree.
    """

    bases: FeatureBlocks
    strict: bool
    precision: Precision
    degree: int
    _made: dict[tuple[int, bool], Side] = field(default_factory=dict)
    _orders: dict[tuple[int, int], tuple[Any, Any]] = field(default_factory=dict)

    @cached_property
    def order(self) -> Array:
        """Base kernels by ascending number of features: in tables, i stands for ``order[i]``."""
        return np.argsort(self.bases.sizes * (self.degree > 1), kind="stable")

    def products(self, table: Array) -> Array:
        """Return the products of base kernels that the rows of a table stand for."""
        return np.sort(self.order[table], axis=1)

    def sides(self, degree: int) -> tuple[Side, Side, Side]:
        """Return the beginnings of products of one degree, single kernels, and the endings."""
        lengths = (0, degree) if degree < 2 else ((degree - 1) // 2 or 1, degree // 2)
        wanted = (lengths[0], True), (1, True), (lengths[1], False)
        for length, by_last in wanted:
            if (length, by_last) in self._made:
                continue
            table = all_indices(self.bases.count, length, self.strict)
            if by_last and length > 1:
                table = table[np.argsort(table[:, -1], kind="stable")]
            if length != 1:
                named = self.order[table].tolist()
                columns, owners = self.bases.products([tuple(row) for row in named])
            else:
                columns = self.by_width
                owners = np.repeat(np.arange(self.bases.count), self.bases.sizes[self.order])
            ends = table[:, -1 if by_last else 0] if length else np.zeros(1, dtype=int)
            self._made[length, by_last] = Side(
                table,
                columnwise(beside(columns, self.precision.place, self.precision.products)),
                np.searchsorted(owners, np.arange(len(table) + 1)),
                np.searchsorted(ends, np.arange(self.bases.count + 1)),
            )
        left, singles, right = (self._made[one] for one in wanted)
        return left, singles, right

    @cached_property
    def by_width(self) -> Any:
        """The features of the base kernels in their order here; not copied if nothing changes."""
        own = beside(dense(self.bases.features), self.precision.place, self.precision.products)
        if np.any(np.diff(self.order) != 1):
            parts = [np.arange(*self.bases.offsets[j : j + 2]) for j in self.order.tolist()]
            own = take(own, np.concatenate(parts), axis=1)
        return columnwise(own)

    @cached_property
    def runs(self) -> Array | None:
        """Where base kernels of one number of features end, if many have the same; on the host."""
        edges = np.flatnonzero(np.diff(self.bases.sizes[self.order], append=0, prepend=0))
        few = self.bases.count < limits.RUN_KERNELS * (len(edges) - 1)
        return None if few or self.bases.single or self.precision.device else edges

    def pieces(self, degree: int, left: Side, right: Side) -> Iterator[Piece]:
        """Yield pieces of work that hold all products of one degree, given their two sides."""
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

    def in_order(self, number: int, piece: Piece, scores: Any) -> Any:
        """Return scores of the ``number``-th piece, zero for products that are out of order.

        With a middle kernel only the first endings and the last beginnings can be.
        """
        if (piece.degree, number) not in self._orders:
            left, _, right = self.sides(piece.degree)
            low, high = left.table[piece.left, -1], right.table[piece.right, 0]
            between, first = low, len(low)
            if piece.kernels is not None:
                between = np.arange(piece.kernels.start, piece.kernels.stop)
                first = int(np.searchsorted(low, between[0] - self.strict, side="right"))
            edge = int(np.searchsorted(high, between[-1] + self.strict))
            after = high[None, :edge] >= between[:, None] + self.strict
            before = low[first:, None, None] + self.strict <= between[:, None]
            place, kind = self.precision.place, self.precision.products
            masks = beside(after, place, kind), beside(before, place, kind)
            self._orders[piece.degree, number] = masks
        endings, begins = self._orders[piece.degree, number]
        xp = namespace(scores)
        cube = xp.reshape(scores, (-1, endings.shape[0], scores.shape[1]))
        if endings.shape[1]:
            cube[:, :, : endings.shape[1]] *= endings
        if begins.shape[0]:
            cube[cube.shape[0] - begins.shape[0] :, :, :] *= begins
        return xp.reshape(cube, scores.shape)


@dataclass(frozen=True)
class Tables:
    r"""Inner products of the features of products with vectors over the rows.

    Those of one piece are one matrix product :math:`L^\top \mathrm{diag}(v) R`. A table has a row
    for each pair of a beginning and a kernel, a column for each ending. Its entries are squared
    norms of inner products, summed over the vectors and over the features of a product; or, if
    they are to be of squared features, sums of the inner products themselves.
    """

    layout: Layout

    def of_piece(self, piece: Piece, vectors: Any, squared: bool, kind: Any = None) -> Any:
        """Return the table of a piece, made in another type of numbers if one is given."""
        if piece.degree == 2 and self.layout.runs is not None:
            return self._pairs(piece, vectors, squared)
        left, singles, _ = self.layout.sides(piece.degree)
        ours, group = left.features(piece.left), piece.kernels and singles.features(piece.kernels)
        parts = ours, group, piece.right
        table = self._inner(piece.degree, parts, vectors, squared, kind)
        if self.layout.bases.single:
            return table
        # Rows are features of beginnings times features of kernels.
        xp, starts, width = namespace(table), np.zeros(1, dtype=int), 1
        if piece.kernels is not None and group is not None:
            starts = singles.offsets[piece.kernels] - group.start
            width = group.stop - group.start
        count = table.shape[1]
        table = xp.reshape(table, (-1, width * count))
        table = segment_sums(table, left.offsets[piece.left] - ours.start, axis=0)
        begins = table.shape[0]
        table = xp.reshape(table, (begins * width, count))
        every = (width * np.arange(begins)[:, None] + starts).ravel()
        return segment_sums(table, every, axis=0)

    def _pairs(self, piece: Piece, vectors: Any, squared: bool) -> Any:
        """Return the table of pairs of base kernels.

        Kernels of one number of features lie side by side: their first features times the first
        ones of others are one matrix product, so that features are added up as whole tables.
        """
        left, _, right = self.layout.sides(2)
        starts = piece.left.start, piece.right.start
        shape = piece.left.stop - starts[0], piece.right.stop - starts[1]
        table = np.zeros(shape, dtype=right.columns.dtype)
        for ours, first in self._runs(left, piece.left, squared):
            for theirs, last in self._runs(right, piece.right, squared):
                block = table[
                    ours.start - starts[0] : ours.stop - starts[0],
                    theirs.start - starts[1] : theirs.stop - starts[1],
                ]
                for c, one in product(range(vectors.shape[1]), first):
                    weighted = (one * vectors[:, c][:, None]).T
                    for other in last:
                        inner = weighted @ other
                        if not squared:
                            inner *= inner
                        block += inner
        return table

    def _runs(self, side: Side, part: slice, squared: bool) -> Iterator[tuple[slice, list[Any]]]:
        """Yield base kernels of one number of features: their first ones, their second ones, ...

        If they are to be squared, the sum of their squares.
        """
        assert self.layout.runs is not None
        for start, stop in pairwise(self.layout.runs.tolist()):
            some = slice(max(start, part.start), min(stop, part.stop))
            if some.start >= some.stop:
                continue
            columns = side.columns[:, side.features(some)]
            width = int(side.offsets[start + 1] - side.offsets[start])
            features = [columns[:, i::width] for i in range(width)]
            yield some, [sum(one**2 for one in features)] if squared else features

    def of_rows(
        self, degree: int, begins: Array, kernels: Array, vectors: Any, squared: bool
    ) -> Any:
        """Return the rows of the table of some pairs of a beginning and a kernel, all endings."""
        left, singles, right = self.layout.sides(degree)
        each = None
        ours = [np.arange(*left.offsets[i : i + 2]) for i in begins.tolist()]
        if degree > 2:
            # All pairs of a feature of the beginning and one of the kernel.
            theirs = [np.arange(*singles.offsets[m : m + 2]) for m in kernels.tolist()]
            each = np.concatenate([np.tile(b, len(a)) for a, b in zip(ours, theirs, strict=True)])
            ours = [np.repeat(a, len(b)) for a, b in zip(ours, theirs, strict=True)]
        parts = np.concatenate(ours), each, slice(0, len(right.table))
        table = self._inner(degree, parts, vectors, squared, None)
        if self.layout.bases.single:
            return table
        return segment_sums(table, np.cumsum([0, *map(len, ours[:-1])]), axis=0)

    def _inner(
        self, degree: int, parts: tuple[Any, Any, slice], vectors: Any, squared: bool, kind: Any
    ) -> Any:
        """Return a table with a row for each feature of beginnings and kernels.

        ``parts`` are the features of beginnings, those of kernels or None, and the endings. Two
        slices of features stand for all pairs of them, two lists of numbers for a pair each.
        """
        (left, singles, right), bases = self.layout.sides(degree), self.layout.bases
        ours, between, endings = parts
        height, theirs, total = limits.CACHED_ROWS, right.features(endings), None
        if self.layout.precision.device:
            # A left side is at most as wide as the features and all rows of one kernel.
            height = limits.DEVICE_LEFT_ENTRIES // max(1, bases.features.shape[1])
        for c in range(vectors.shape[1]):
            inner = None
            for start in range(0, bases.rows, max(height, 1)):
                deadline.check()
                rows = slice(start, min(start + max(height, 1), bases.rows))
                first, middle = left.columns[rows, :], singles.columns[rows, :]
                last, vector = right.columns[rows, theirs], vectors[rows, c][:, None]
                if isinstance(ours, slice):
                    first, middle = first[:, ours], middle[:, between] if between else None
                else:
                    first = take(first, ours, axis=1)
                    first = first if between is None else first * take(middle, between, axis=1)
                    middle = None
                if squared:
                    first, last = first**2, last**2
                    middle = middle if middle is None else middle**2
                first = first * vector if middle is None else khatri_rao(first, middle * vector)
                if kind is not None:
                    first, last = (namespace(first).astype(one, kind) for one in (first, last))
                part = first.T @ last
                inner = part if inner is None else inner + part
            assert inner is not None
            if not squared:
                inner *= inner
            total = inner if total is None else total + inner
        if bases.single:
            return total
        return segment_sums(total, right.offsets[endings] - theirs.start, axis=1)
