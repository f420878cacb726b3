"""The kernels of largest gradient in a family, without holding the gradients of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ..arrays import Array, Index, approximately
from ..bases import FeatureBlocks, GramStack
from ..bases.features import dense, khatri_rao, scale_columns
from .index_sets import Monomials, all_indices

if TYPE_CHECKING:
    from .base import KernelFamily
    from .products import ProductFamily

CACHED_BYTES = 400 * 2**20
"""Spreads are kept between calls if they fit in so many bytes, in half precision if they must;
else they are made anew."""

SIDE_ENTRIES = 2**27
"""Most numbers that one side of the matrix products may hold."""

CHUNK = 256
"""Base kernels in one block of rows of the table of pairs."""

ROWS = 8192
"""Rows of the data that enter a matrix product at a time."""


class Shortlist(NamedTuple):
    """Kernels in descending order of their scores."""

    indices: list[Index]
    scores: Array


class Pricer(Protocol):
    """Finds the kernels of largest score at one dual point after another."""

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        r"""Return the ``count`` kernels of largest score, of those with one above a threshold.

        The score is the gradient :math:`g_i`, or :math:`g_i / \sigma_i^2` if the pricer was made
        with row weights; ``alpha`` is of shape (n, c).
        """
        ...


def pricer(
    family: KernelFamily,
    weights: Array | None = None,
    dtype: type[np.floating] = np.float64,
    centred: bool = True,
) -> Pricer:
    r"""Return the pricer of a family.

    Parameters
    ----------
    family : KernelFamily
        The kernels.
    weights : ndarray of shape (n,), optional
        Weights of the rows, adding up to one. If given, gradients are divided by the kernels'
        spreads :math:`\sigma_i^2 = \sum_t s_t \|\phi_i(x_t) - \bar\phi_i\|^2`, in which
        :math:`\rho_i` has no part; kernels without spread have the score 0.
    dtype : type, default=float64
        Precision of the matrix products. In float32 scores are good to some 1e-6 of
        :math:`\|\phi_i\|^2\|\alpha\|^2`.
    centred : bool, default=True
        Whether spreads are around the mean, or else around zero.
    """
    from .products import ProductFamily

    if isinstance(family, ProductFamily) and family.explicit:
        return ProductPricer(family, weights, dtype, centred)
    return ListPricer(family, weights, centred)


class ListPricer:
    """Prices every kernel of a family that can be listed; O(n^2 d) for d kernels of matrices."""

    def __init__(
        self, family: KernelFamily, weights: Array | None = None, centred: bool = True
    ) -> None:
        self.family, self.indices = family, family.indices()
        self.inverse: Array | float = 1.0
        if weights is not None:
            squares, means = moments(family, self.indices, weights)
            self.inverse = _inverse(squares, means * centred) * family.prices(self.indices)

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        """Return the kernels of largest score."""
        scores = self.family.at(alpha).all() * self.inverse
        best = np.argsort(-scores, kind="stable")[:count]
        best = best[scores[best] > above]
        return Shortlist([self.indices[i] for i in best.tolist()], scores[best])


def moments(family: KernelFamily, indices: list[Index], weights: Array) -> tuple[Array, Array]:
    r"""Return :math:`\sum_t s_t\|\phi_i(x_t)\|^2` and :math:`\|\sum_t s_t\phi_i(x_t)\|^2`.

    Of given kernels, scale factors included; O(n) for each feature, O(n^2) for each matrix.
    """
    squares, means = np.zeros(len(indices)), np.zeros(len(indices))
    if isinstance(family.bases, GramStack):
        for i, index in enumerate(indices):
            gram = family.bases.product(index)
            squares[i], means[i] = weights @ gram.diagonal(), weights @ gram @ weights
        return squares * family.weights(indices), means * family.weights(indices)
    for part in family.batches(indices):
        columns, owners = family.features(indices[part])
        count = len(squares[part])
        squares[part] = np.bincount(owners, weights @ columns**2, count)
        means[part] = np.bincount(owners, (weights @ columns) ** 2, count)
    return squares, means


def _inverse(squares: Array, means: Array) -> Array:
    """Return one over the spread, zero where rounding leaves nothing of it."""
    spread = squares - means
    least = 64 * np.finfo(squares.dtype).eps * squares
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > least)


@dataclass(frozen=True)
class Side:
    """Products of one degree and their features, sorted by one end of their index.

    Attributes
    ----------
    table : ndarray of int of shape (N, k)
        The products.
    columns : ndarray of shape (n, M)
        Their features side by side.
    offsets : ndarray of int of shape (N + 1,)
        First column of each.
    bounds : ndarray of int of shape (r + 1,)
        How many products have an end below 0, 1, .., r.
    """

    table: Array
    columns: Array
    offsets: Array
    bounds: Array


class Piece(NamedTuple):
    """All products of some beginnings, one more kernel and some endings.

    Attributes
    ----------
    left, right : slice
        Which of the products of either side.
    kernel : int or None
        The kernel that every beginning ends with; None: the beginnings stand for themselves.
    overlap : bool
        Whether some endings begin before their beginning ends; such pairs are counted elsewhere.
    """

    left: slice
    kernel: int | None
    right: slice
    overlap: bool = False


class ProductPricer:
    r"""Prices all products of features as a stack of matrix products.

    A product of degree d >= 3 with sorted factors is cut after its middle factor m. All products
    with the same m are pairs of a beginning :math:`(i_1 \le \dots \le m)` and an ending
    :math:`(\ge m, \dots)`: their inner products with :math:`\alpha` are one matrix product
    :math:`L_m^\top \mathrm{diag}(\alpha) R_m`. A running threshold keeps the best. Time: 2 n for
    each kernel in the family, at the speed of matrix products; memory: O(n r) up to degree 3,
    O(n r^2) up to degree 5. With spreads, which are kept if they fit in 400 MB, a call takes
    three times as long where they do not.
    """

    def __init__(
        self,
        family: ProductFamily,
        weights: Array | None,
        dtype: type[np.floating],
        centred: bool,
    ) -> None:
        assert isinstance(family.bases, FeatureBlocks)
        self.family, self.dtype, self.centred = family, dtype, centred
        self.strict = family.index_set.strict
        self.weights = None if weights is None else weights.astype(dtype)
        # Scores relative to spreads do not depend on the units of the columns. With kernels of
        # unit size neither float32 nor, for the spreads, float16 is ever out of range.
        self.bases = family.bases if weights is None else unit_size(family.bases, weights)
        fits = [kind for kind in (dtype, np.float16) if _bytes(family, kind) <= CACHED_BYTES]
        self.kept_as = fits[0] if fits else None
        self._sides: dict[tuple[int, int], Side] = {}
        self._spreads: dict[tuple[int, int], Array] = {}

    @staticmethod
    def side_entries(family: ProductFamily) -> float:
        """Return how many numbers the larger side of the matrix products holds."""
        longest = max(1, family.degree // 2)
        kind = family.index_set if family.index_set.strict else Monomials()
        width = float(np.mean(family.bases.sizes**longest))  # type: ignore[union-attr]
        return float(kind.count(family.bases.count, longest)) * family.rows * width

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        """Return the kernels of largest score."""
        # Scores are quadratic; a dual point of length one cannot overflow or vanish in float32.
        length = float(np.linalg.norm(alpha))
        if not length > 0 or count < 1:
            return Shortlist([], np.empty(0))
        unit = (alpha / length).astype(self.dtype)
        best = Best(count, above / length**2)
        for degree in range(self.family.degree + 1):
            factor = self.family.rho[degree] ** -2.0
            for number, piece in enumerate(self._pieces(degree)):
                scores = self._table(degree, piece, unit, squared=False)
                if self.weights is not None:
                    scores *= self._inverse(degree, number, piece)
                left, right = self._side(degree, 0), self._side(degree, 1)
                rows, columns = left.table[piece.left], right.table[piece.right]
                if piece.overlap:
                    keep = columns[None, :, 0] >= rows[:, None, -1] + int(self.strict)
                    scores *= keep
                if factor != 1:
                    scores *= factor
                best.offer(scores, rows, piece.kernel, columns)
        indices, scores = best.ranked()
        return Shortlist(indices, scores * length**2)

    def _pieces(self, degree: int) -> Iterator[Piece]:
        count = self.bases.count
        if degree < 2:
            yield Piece(slice(0, 1), None, slice(0, count if degree else 1))
            return
        if degree == 2:
            for start in range(0, count, CHUNK):
                yield Piece(slice(start, start + CHUNK), None, slice(start, count), overlap=True)
            return
        left, right = self._side(degree, 0), self._side(degree, 1)
        for m in range(count):
            begins = int(left.bounds[m if self.strict else m + 1])
            ends = int(right.bounds[m + 1 if self.strict else m])
            if begins and ends < len(right.table):
                yield Piece(slice(0, begins), m, slice(ends, len(right.table)))

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
        table = all_indices(self.bases.count, length, self.strict)
        if by_last and length > 1:
            table = table[np.argsort(table[:, -1], kind="stable")]
        if length == 0:
            columns, owners = np.ones((self.bases.rows, 1)), np.zeros(1, dtype=int)
        elif length == 1:
            columns = dense(self.bases.features)
            owners = np.repeat(np.arange(self.bases.count), self.bases.sizes)
        else:
            columns, owners = self.bases.products([tuple(row) for row in table.tolist()])
        ends = table[:, -1 if by_last else 0] if length else np.zeros(1, dtype=int)
        return Side(
            table,
            np.asarray(columns, dtype=self.dtype, order="F"),
            np.searchsorted(owners, np.arange(len(table) + 1)),
            np.searchsorted(ends, np.arange(self.bases.count + 1)),
        )

    def _table(self, degree: int, piece: Piece, vectors: Array, squared: bool) -> Array:
        """Return squared norms of inner products, summed over ``vectors`` and the features.

        Of the features squared, if asked for, without squaring the inner products.
        """
        left, right = self._side(degree, 0), self._side(degree, 1)
        ours = slice(left.offsets[piece.left.start], left.offsets[_stop(piece.left, left)])
        theirs = slice(right.offsets[piece.right.start], right.offsets[_stop(piece.right, right)])
        total: Array | None = None
        for vector in vectors.T:
            inner: Array | None = None
            for start in range(0, len(vector), ROWS):
                rows = slice(start, start + ROWS)
                begin, end = left.columns[rows, ours], right.columns[rows, theirs]
                if piece.kernel is not None:
                    block = self._block(piece.kernel, rows)
                    if squared:
                        begin, end, block = begin**2, end**2, block**2
                    begin = khatri_rao(begin, block * vector[rows, None])
                else:
                    if squared:
                        begin, end = begin**2, end**2
                    begin = begin * vector[rows, None]
                part = begin.T @ end
                inner = part if inner is None else inner + part
            assert inner is not None
            if not squared:
                inner *= inner
            total = inner if total is None else total + inner
        assert total is not None
        if self.bases.single:
            return total
        return self._by_kernel(total, left, right, piece)

    def _block(self, kernel: int, rows: slice) -> Array:
        offsets = self.bases.offsets
        columns = self._side(2, 0).columns
        return columns[rows, offsets[kernel] : offsets[kernel + 1]]

    def _by_kernel(self, table: Array, left: Side, right: Side, piece: Piece) -> Array:
        width = 1 if piece.kernel is None else int(self.bases.sizes[piece.kernel])
        starts = left.offsets[piece.left.start : _stop(piece.left, left)]
        table = np.add.reduceat(table, (starts - starts[0]) * width, axis=0)
        ends = right.offsets[piece.right.start : _stop(piece.right, right)]
        return np.add.reduceat(table, ends - ends[0], axis=1)

    def _inverse(self, degree: int, number: int, piece: Piece) -> Array:
        """Return one over the spreads of a piece."""
        assert self.weights is not None
        key = (degree, number)
        if key not in self._spreads:
            weights = self.weights[:, None]
            squares = self._table(degree, piece, weights, squared=True)
            means = np.zeros_like(squares)
            if self.centred:
                means = self._table(degree, piece, weights, squared=False)
            inverse = _inverse(squares, means)
            if self.kept_as is None:
                return inverse
            self._spreads[key] = inverse.astype(self.kept_as)
        return self._spreads[key]


def unit_size(bases: FeatureBlocks, weights: Array) -> FeatureBlocks:
    """Return the same kernels, each divided by the mean of its diagonal."""
    sizes = np.add.reduceat(weights @ dense(bases.features) ** 2, bases.offsets[:-1])
    roots = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    factors = 1 / np.repeat(roots, bases.sizes)
    return FeatureBlocks(scale_columns(bases.features, factors), bases.sizes)


def _bytes(family: ProductFamily, kind: type[np.floating]) -> float:
    return approximately(family.distinct) * np.dtype(kind).itemsize


class Best:
    """The best of what is offered, found with a running threshold."""

    def __init__(self, count: int, above: float) -> None:
        self.count, self.threshold = count, above
        self.parts: list[tuple[Array, Array]] = []
        self.held = 0

    def offer(self, scores: Array, rows: Array, kernel: int | None, columns: Array) -> None:
        """Take the scores of all products of beginnings, a kernel and endings."""
        flat = scores.ravel()
        hits = np.flatnonzero(flat > self.threshold)
        if not len(hits):
            return
        found = flat[hits]
        if len(hits) > 2 * self.count:
            best = np.argpartition(-found, self.count - 1)[: self.count]
            hits, found = hits[best], found[best]
        i, j = np.divmod(hits, scores.shape[1])
        middle = np.full((len(hits), int(kernel is not None)), -1 if kernel is None else kernel)
        self.parts.append((found, np.hstack([rows[i], middle, columns[j]])))
        self.held += len(found)
        if self.held > 4 * self.count:
            self._cut()

    def _cut(self) -> None:
        scores = np.concatenate([part for part, _ in self.parts])
        if len(scores) <= self.count:
            return
        self.threshold = max(self.threshold, float(np.partition(scores, -self.count)[-self.count]))
        kept = [(part >= self.threshold, part, table) for part, table in self.parts]
        self.parts = [(part[keep], table[keep]) for keep, part, table in kept if keep.any()]
        self.held = sum(len(part) for part, _ in self.parts)

    def ranked(self) -> tuple[list[Index], Array]:
        """Return the best, in descending order."""
        if not self.parts:
            return [], np.empty(0)
        scores = np.concatenate([part for part, _ in self.parts]).astype(float)
        indices = [tuple(row) for _, table in self.parts for row in table.tolist()]
        order = np.argsort(-scores, kind="stable")[: self.count]
        return [indices[i] for i in order.tolist()], scores[order]


def _stop(part: slice, side: Side) -> int:
    return min(part.stop, len(side.table))
