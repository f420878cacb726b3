"""The products of largest gradient: matrix products cut after the middle factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array, Index, approximately
from ..backend import (
    beside,
    columnwise,
    free_bytes,
    largest,
    namespace,
    on_host,
    real,
    segment_sums,
    take,
    to_host,
)
from ..bases import FeatureBlocks
from ..bases.features import dense, khatri_rao
from .index_sets import Monomials, all_indices
from .shortlist import Shortlist
from .spreads import inverse, rough_inverse, unit_size

if TYPE_CHECKING:
    from .products import ProductFamily

CACHED_BYTES = 400 * 2**20
"""Spreads are kept between calls if they fit in so many bytes, in half precision if they must;
else they are made anew. On a device: if they fit in a quarter of its free memory."""

SIDE_ENTRIES = 2**27
"""Most numbers that one side of the matrix products may hold."""

CHUNK = 256
"""Base kernels in one block of rows of the table of pairs."""

ROWS = 8192
"""Rows of the data that enter a matrix product at a time, on the host: they stay in the cache."""

PIECE = 2**17
"""Middle kernels share one matrix product up to so many products, on the host."""

BEGIN = 2**21
"""And up to so many numbers on its left side."""

KEPT = 2**22
"""Scores of one degree are kept until the best are known if they are so many; else only the
largest ones of rows are, and the best rows are made again."""

DEVICE_PIECE, DEVICE_BEGIN = 2**24, 2**28
"""As many on a device, which needs large pieces of work."""


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
    left, right : slice
        Which of the products of either side.
    kernels : slice or None
        The kernels between them; None: beginnings and endings meet.
    """

    left: slice
    kernels: slice | None
    right: slice

    @property
    def height(self) -> int:
        """Number of pairs of a beginning and a kernel."""
        between = self.kernels
        return (self.left.stop - self.left.start) * (between.stop - between.start if between else 1)


class ProductPricer:
    r"""Prices all products of features as a stack of matrix products.

    A product of degree d >= 3 with sorted factors is cut after its middle factor m. All products
    with the same m are pairs of a beginning :math:`(i_1 \le \dots \le m)` and an ending
    :math:`(\ge m, \dots)`: their inner products with :math:`\alpha` are one matrix product
    :math:`L_m^\top \mathrm{diag}(\alpha) R_m`. Of each row of such a table only the largest score
    is kept: the best k kernels lie in the k rows with the largest ones, which are made once more.
    Time: 2 n for each kernel in the family, at the speed of matrix products; memory: O(n r + r^2)
    up to degree 3, O(n r^2 + r^3) up to degree 5. With spreads, which are kept if they fit in 400
    MB, a call takes three times as long where they do not.
    """

    def __init__(
        self,
        family: ProductFamily,
        weights: Array | None,
        bits: int,
        centred: bool,
    ) -> None:
        assert isinstance(family.bases, FeatureBlocks)
        self.family, self.bits, self.centred = family, bits, centred
        self.strict = int(family.index_set.strict)
        # Scores relative to spreads do not depend on the units of the columns. With kernels of
        # unit size neither 32 bits nor, for the spreads, 16 are ever out of range.
        self.bases = family.bases if weights is None else unit_size(family.bases, weights)
        self.weights = None if weights is None else self._near(weights)
        self.device = not on_host(self.bases.features)
        self.kept_bits = self._kept_bits()
        self.low = getattr(namespace(self.bases.features), "bfloat16", None)
        # Spreads that are made anew on a device only find the best rows.
        able = self.device and self.low is not None
        self.rough = able and weights is not None and not self.kept_bits
        self._sides: dict[tuple[int, int], Side] = {}
        self._spreads: dict[tuple[int, int], Any] = {}
        self._orders: dict[tuple[int, int], tuple[Any, Any]] = {}

    def _near(self, values: Array) -> Any:
        """Return numbers next to the features, in the precision of the products."""
        matrix = self.bases.features
        return beside(values, matrix, real(matrix, self.bits))

    def _kept_bits(self) -> int:
        """Return the precision in which spreads are kept; 0 where there is no room for them."""
        room, features = float(CACHED_BYTES), self.bases.features
        if self.device:
            room = max(room, free_bytes(features) / 4)
        half = [16] if hasattr(namespace(features), "float16") else []
        count = approximately(self.family.distinct)
        return next((bits for bits in [self.bits, *half] if count * bits / 8 <= room), 0)

    @staticmethod
    def side_entries(family: ProductFamily) -> float:
        """Return how many numbers the larger side of the matrix products holds."""
        longest = max(1, family.degree // 2)
        kind = family.index_set if family.index_set.strict else Monomials()
        width = float(np.mean(family.bases.sizes**longest))  # type: ignore[union-attr]
        return float(kind.count(family.bases.count, longest)) * family.rows * width

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        """Return the kernels of largest score."""
        # Scores are quadratic; a dual point of length one cannot overflow or vanish in 32 bits.
        length = float(np.linalg.norm(alpha))
        if not length > 0 or count < 1:
            return Shortlist([], np.empty(0))
        unit = self._near(alpha / length)
        least = above / length**2
        rows = [self._best_rows(degree, unit, count) for degree in range(self.family.degree + 1)]
        # The best rows of all degrees together.
        maxima = np.concatenate([part.maxima for part in rows])
        if len(maxima) > count:
            # Spreads kept in half precision move scores by a few thousandths.
            least = max(least, 0.99 * float(np.partition(maxima, -count)[-count]))
        indices: list[Index] = []
        scores = [np.empty(0)]
        for degree, part in enumerate(rows):
            found, values = self._inside(degree, part, unit, count, least)
            indices += found
            scores.append(values)
        flat = np.concatenate(scores)
        order = np.argsort(-flat, kind="stable")[:count]
        order = order[flat[order] > above / length**2]
        return Shortlist([indices[i] for i in order.tolist()], flat[order] * length**2)

    def _factor(self, degree: int) -> float:
        return float(self.family.rho[degree] ** -2.0)

    def _best_rows(self, degree: int, unit: Any, count: int) -> Rows:
        """Return the pairs of a beginning and a kernel below which the best scores are."""
        pieces = list(self._pieces(degree))
        if not pieces:
            nothing = np.empty(0, dtype=int)
            return Rows(np.empty(0), nothing, nothing, nothing, nothing, [], [])
        xp, kept = namespace(unit), []
        size = sum(piece.height * (piece.right.stop - piece.right.start) for piece in pieces)
        keep = size <= KEPT and (len(pieces) == 1 or not self.device) and not self.rough
        maxima = []
        for number, piece in enumerate(pieces):
            scores = self._scores(degree, number, piece, unit)
            maxima.append(xp.max(scores, axis=1))
            if keep:
                kept.append(scores)
        whole = xp.concat(maxima) if len(maxima) > 1 else maxima[0]
        best = np.sort(largest(whole, count))
        values = to_host(take(whole, best, axis=0)).astype(float) * self._factor(degree)
        # From the position among all rows to the piece, the beginning and the kernel.
        heights = np.array([piece.height for piece in pieces])
        ends = np.cumsum(heights)
        which = np.searchsorted(ends, best, side="right")
        within = best - (ends - heights)[which]
        between = [piece.kernels or slice(0, 1) for piece in pieces]
        wide = np.array([one.stop - one.start for one in between])[which]
        begins = np.array([piece.left.start for piece in pieces])[which] + within // wide
        kernels = np.array([one.start for one in between])[which] + within % wide
        return Rows(values, which, within, begins, kernels, pieces, kept)

    def _scores(self, degree: int, number: int, piece: Piece, unit: Any) -> Any:
        """Return the scores of a piece, zero for products out of order."""
        xp = namespace(unit)
        scores = self._table(degree, piece, unit, squared=False)
        if self.weights is not None:
            scores *= self._inverse_spreads(degree, number, piece)
        if degree < 2:
            return scores
        if (degree, number) not in self._orders:
            self._orders[degree, number] = self._order(degree, piece)
        # Only the first endings can be out of order, and only the last beginnings.
        endings, begins = self._orders[degree, number]
        cube = xp.reshape(scores, (-1, endings.shape[0], scores.shape[1]))
        if endings.shape[1]:
            cube[:, :, : endings.shape[1]] *= endings
        if begins.shape[0]:
            cube[cube.shape[0] - begins.shape[0] :, :, :] *= begins
        return xp.reshape(cube, scores.shape)

    def _order(self, degree: int, piece: Piece) -> tuple[Any, Any]:
        """Return ones and zeros: what is in order with which middle kernel.

        For the first endings, of shape (kernels, endings), and for the last beginnings, of shape
        (beginnings, kernels, 1); all others are in order.
        """
        low = self._side(degree, 0).table[piece.left, -1]
        high = self._side(degree, 1).table[piece.right, 0]
        between, first = low, len(low)
        if piece.kernels is not None:
            between = np.arange(piece.kernels.start, piece.kernels.stop)
            first = int(np.searchsorted(low, between[0] - self.strict, side="right"))
        edge = int(np.searchsorted(high, between[-1] + self.strict))
        endings = high[None, :edge] >= between[:, None] + self.strict
        begins = low[first:, None, None] + self.strict <= between[:, None]
        return self._near(endings), self._near(begins)

    def _pieces(self, degree: int) -> Iterator[Piece]:
        count = self.bases.count
        if degree < 2:
            if count or not degree:
                yield Piece(slice(0, 1), None, slice(0, count if degree else 1))
            return
        if degree == 2:
            for start in range(0, count, CHUNK):
                yield Piece(slice(start, min(start + CHUNK, count)), None, slice(start, count))
            return
        left, right = self._side(degree, 0), self._side(degree, 1)
        start = 0
        while start < count:
            first = int(right.bounds[min(start + self.strict, count)])
            stop = start + self._together(start, left, len(right.table) - first)
            begins = int(left.bounds[stop - self.strict])
            if begins and first < len(right.table):
                yield Piece(slice(0, begins), slice(start, stop), slice(first, len(right.table)))
            start = stop

    def _together(self, start: int, left: Side, endings: int) -> int:
        """Return how many middle kernels share one matrix product, from one of them on."""
        count = self.bases.count
        begins = max(1, int(left.bounds[min(start + 1, count)]))
        # Most of the products must be in order.
        most = max(8, count // 32) if self.device else min(count // 16, begins // 4)
        most = min(most, count - start)
        table, side = (DEVICE_PIECE, DEVICE_BEGIN) if self.device else (PIECE, BEGIN)
        height = min(self.bases.rows, side if self.device else ROWS)
        return max(1, min(most, table // max(1, begins * endings), side // (begins * height)))

    def _side(self, degree: int, which: int) -> Side:
        """Return the beginnings (0) or endings (1) of products of one degree."""
        if degree < 2:
            length = which * degree
        elif degree == 2:
            length = 1
        else:
            length = (degree - 1) // 2 if which == 0 else degree // 2
        key = (length, which)
        if key not in self._sides:
            self._sides[key] = self._make_side(length, by_last=which == 0)
        return self._sides[key]

    def _make_side(self, length: int, by_last: bool) -> Side:
        table = all_indices(self.bases.count, length, bool(self.strict))
        if by_last and length > 1:
            table = table[np.argsort(table[:, -1], kind="stable")]
        columns: Any
        if length == 0:
            columns, owners = self._near(np.ones((self.bases.rows, 1))), np.zeros(1, dtype=int)
        elif length == 1:
            columns = dense(self.bases.features)
            owners = np.repeat(np.arange(self.bases.count), self.bases.sizes)
        else:
            columns, owners = self.bases.products([tuple(row) for row in table.tolist()])
        ends = table[:, -1 if by_last else 0] if length else np.zeros(1, dtype=int)
        return Side(
            table,
            columnwise(self._near(columns)),
            np.searchsorted(owners, np.arange(len(table) + 1)),
            np.searchsorted(ends, np.arange(self.bases.count + 1)),
        )

    def _table(
        self, degree: int, piece: Piece, vectors: Any, squared: bool, kind: Any = None
    ) -> Any:
        """Return squared norms of inner products, summed over ``vectors`` and the features.

        Of the features squared, if asked for, without squaring the inner products. A row for
        each pair of a beginning and a kernel, a column for each ending; in another type of
        numbers if one is given.
        """
        left, right = self._side(degree, 0), self._side(degree, 1)
        ours, group = left.features(piece.left), piece.kernels and self._features(piece.kernels)

        def begin(rows: slice, vector: Any) -> Any:
            columns = _power(left.columns[rows, ours], squared)
            if group is None:
                return columns * vector
            return khatri_rao(columns, _power(self._single(rows, group), squared) * vector)

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

    def _inner(
        self,
        begin: Callable[[slice, Any], Any],
        right: Side,
        endings: slice,
        vectors: Any,
        squared: bool,
        kind: Any = None,
    ) -> Any:
        """Return what :meth:`_table` does for each column of ``begin``, summed over endings.

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
        # A left side on a device is at most as wide as the features and all rows of one kernel.
        height = DEVICE_BEGIN // max(1, self.bases.features.shape[1]) if self.device else ROWS
        height = max(height, 1)
        for start in range(0, self.bases.rows, height):
            yield slice(start, min(start + height, self.bases.rows))

    def _features(self, kernels: slice) -> slice:
        offsets = self.bases.offsets
        return slice(int(offsets[kernels.start]), int(offsets[kernels.stop]))

    def _single(self, rows: slice, columns: slice) -> Any:
        """Return some columns of the features in the precision of the products."""
        return self._side(2, 0).columns[rows, columns]

    def _inside(
        self, degree: int, rows: Rows, unit: Any, count: int, least: float
    ) -> tuple[list[Index], Array]:
        """Return the best kernels of some rows, and their scores."""
        chosen = np.flatnonzero(rows.maxima >= max(least, np.finfo(float).tiny))
        indices: list[Index] = []
        values = [np.empty(0)]
        if rows.kept:
            groups = [chosen[rows.which[chosen] == number] for number in range(len(rows.pieces))]
        else:
            groups = [chosen]
        for number, group in enumerate(groups):
            if not len(group):
                continue
            begins, kernels, first = rows.begins[group], rows.kernels[group], 0
            if rows.kept:
                table = take(rows.kept[number], rows.within[group], axis=0)
                first = rows.pieces[number].right.start
            else:
                table = self._rows_again(degree, begins, kernels, unit)
            flat = namespace(table).reshape(table, (-1,))
            best = np.sort(largest(flat, count))
            scores = to_host(take(flat, best, axis=0)).astype(float) * self._factor(degree)
            best, scores = best[scores > 0], scores[scores > 0]
            i, j = np.divmod(best, table.shape[1])
            left, right = self._side(degree, 0), self._side(degree, 1)
            middle = kernels[i, None] if degree > 2 else np.empty((len(i), 0), dtype=int)
            found = np.hstack([left.table[begins[i]], middle, right.table[j + first]])
            indices += [tuple(row) for row in found.astype(int).tolist()]
            values.append(scores)
        return indices, np.concatenate(values)

    def _rows_again(self, degree: int, begins: Array, kernels: Array, unit: Any) -> Any:
        """Return the scores of some rows against all endings."""
        scores = self._some_rows(degree, begins, kernels, unit, squared=False)
        if self.weights is not None:
            make = partial(self._some_rows, degree, begins, kernels)
            scores *= inverse(*self._moments(make))
        if degree > 1:
            edges = self._side(degree, 0).table[begins, -1] if degree == 2 else kernels
            keep = self._side(degree, 1).table[None, :, 0] >= edges[:, None] + self.strict
            scores *= beside(keep, scores, scores.dtype)
        return scores

    def _some_rows(
        self, degree: int, begins: Array, kernels: Array, vectors: Any, squared: bool
    ) -> Any:
        """Return the rows of the table of some pairs of a beginning and a kernel."""
        left, right = self._side(degree, 0), self._side(degree, 1)
        ours = [left.features(slice(i, i + 1)) for i in begins.tolist()]
        groups = [self._features(slice(m, m + 1)) for m in kernels.tolist()]
        xp, flat = namespace(vectors), self.bases.single

        def begin(rows: slice, vector: Any) -> Any:
            if flat:
                columns = take(left.columns[rows, :], begins, axis=1)
                if degree > 2:
                    columns = columns * take(self._single(rows, slice(0, None)), kernels, axis=1)
                return _power(columns, squared) * vector
            blocks = [left.columns[rows, part] for part in ours]
            if degree > 2:
                blocks = [
                    khatri_rao(block, self._single(rows, group))
                    for block, group in zip(blocks, groups, strict=True)
                ]
            return _power(xp.concat(blocks, axis=1), squared) * vector

        table = self._inner(begin, right, slice(0, len(right.table)), vectors, squared)
        if flat:
            return table
        widths = [part.stop - part.start for part in ours]
        if degree > 2:
            more = [group.stop - group.start for group in groups]
            widths = [a * b for a, b in zip(widths, more, strict=True)]
        return segment_sums(table, np.cumsum([0, *widths[:-1]]), axis=0)

    def _moments(self, make: Callable[[Any, bool], Any]) -> tuple[Any, Any]:
        """Return mean squares and squared means from what makes tables of vectors."""
        assert self.weights is not None
        weights = self.weights[:, None]
        squares = make(weights, True)
        return squares, make(weights, False) if self.centred else 0.0 * squares

    def _inverse_spreads(self, degree: int, number: int, piece: Piece) -> Any:
        """Return one over the spreads of a piece."""
        key = (degree, number)
        if key in self._spreads:
            return self._spreads[key]
        if self.rough:
            # To find the best rows a few digits are enough; these are made again in full.
            make = partial(self._table, degree, piece, kind=self.low)
            return rough_inverse(*self._moments(make))
        found = inverse(*self._moments(partial(self._table, degree, piece)))
        if self.kept_bits:
            kept = real(self.bases.features, self.kept_bits)
            self._spreads[key] = namespace(found).astype(found, kept, copy=False)
        return found


class Rows(NamedTuple):
    """Rows of tables of scores: their largest score, and what they stand for.

    Attributes
    ----------
    maxima : ndarray
        The largest score of each.
    which, within : ndarray of int
        The piece that each belongs to, and its place there.
    begins, kernels : ndarray of int
        Their beginning and the kernel behind it.
    pieces : list of Piece
        All pieces of the degree.
    kept : list of array
        Their scores, if they were kept.
    """

    maxima: Array
    which: Array
    within: Array
    begins: Array
    kernels: Array
    pieces: list[Piece]
    kept: list[Any]


def _power(columns: Any, squared: bool) -> Any:
    return columns**2 if squared else columns
