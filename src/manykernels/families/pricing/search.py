"""The kernels of largest score: of any family by listing it, of products by tables of scores.

In tables, the best rows are found first, and the best products in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ... import deadline, limits
from ...arrays import Array, Index, Product
from ...backend import approximately, beside, largest, namespace, take, to_host
from ..index_sets import Monomials
from .spreads import Spreads, inverse, unit_size
from .tables import Layout, Piece, Precision, Tables

if TYPE_CHECKING:
    from ..base import KernelFamily
    from ..products import ProductFamily


class Shortlist(NamedTuple):
    """Kernels in descending order of their scores."""

    indices: list[Index]
    scores: Array


class Pricer(Protocol):
    """Finds the kernels of largest score at one dual point after another."""

    def top(self, alpha: Array, count: int, above: float = 0.0, until: float = np.inf) -> Shortlist:
        r"""Return the ``count`` kernels of largest score, of those with one above a threshold.

        The score is the gradient :math:`g_i`, or :math:`g_i / \sigma_i^2` if the pricer was made
        with row weights; ``alpha`` is of shape (n, c). After ``until``, a time of
        :data:`deadline.now`, a pricer may leave the kernels out that it has not looked at.
        """
        ...


def pricer(
    family: KernelFamily, weights: Array | None = None, bits: int = 64, centred: bool = True
) -> Pricer:
    r"""Return the pricer of a family.

    Parameters
    ----------
    family : KernelFamily
        The kernels; a family that is ``priceable``.
    weights : ndarray of shape (n,), optional
        Weights of the rows, adding up to one. If given, gradients are divided by the kernels'
        spreads :math:`\sigma_i^2 = \sum_t s_t \|\phi_i(x_t) - \bar\phi_i\|^2`, in which
        :math:`\rho_i` has no part; kernels without spread have the score 0.
    bits : {64, 32}, default=64
        Precision of the matrix products. With 32 bits scores are good to some 1e-6 of
        :math:`\|\phi_i\|^2\|\alpha\|^2`.
    centred : bool, default=True
        Whether spreads are around the mean, or else around zero.
    """
    return family.pricer(weights, bits, centred)


class ListPricer:
    """Prices every kernel of a family that can be listed; O(n^2 d) for d kernels of matrices."""

    def __init__(
        self, family: KernelFamily, row_weights: Array | None = None, centred: bool = True
    ) -> None:
        self.family, self.indices = family, family.indices()
        self.inverse: Array | float = 1.0
        if row_weights is not None:
            products, scales = family.products(self.indices), family.weights(self.indices)
            squares, means = family.bases.mean_squares(products, scales, row_weights)
            self.inverse = inverse(squares, means * centred) * family.unmerged_weights(self.indices)

    def top(self, alpha: Array, count: int, above: float = 0.0, until: float = np.inf) -> Shortlist:
        """Return the kernels of largest score."""
        scores = self.family.at(alpha).all() * self.inverse
        best = np.argsort(-scores, kind="stable")[:count]
        best = best[scores[best] > above]
        return Shortlist([self.indices[i] for i in best.tolist()], scores[best])


class BestRows(NamedTuple):
    """Rows of the tables of one degree: their largest score, and what they stand for.

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


class ProductPricer:
    r"""Prices all products of features as a stack of matrix products.

    Scores are inner products of features with :math:`\alpha`, in tables of beginnings times
    endings (:class:`Layout`). Of each row of such a table only the largest score is kept: the best
    k kernels lie in the k rows with the largest ones, which are made once more. Time: 2 n for each
    kernel in the family, at the speed of matrix products; memory: O(n r + r^2) up to degree 3,
    O(n r^2 + r^3) up to degree 5. With spreads, which are kept if they fit in 400 MB, a call takes
    three times as long where they do not.

    ``least`` is the share of the mean square that a spread must have; if it is given, spreads are
    never rounded more than scores are, so that these are gradients to be certified by.
    """

    def __init__(
        self,
        family: ProductFamily,
        row_weights: Array | None,
        bits: int,
        centred: bool,
        least: float | None = None,
    ) -> None:
        bases = family.blocks
        self.family, self.strict = family, int(family.index_set.strict)
        spreads = 0.0
        if row_weights is not None:
            # Scores relative to spreads do not depend on the units of the columns. With kernels
            # of unit size neither 32 bits nor, for the spreads, 16 are ever out of range.
            bases, spreads = unit_size(bases, row_weights), approximately(family.distinct)
        self.precision = Precision.of(bases.features, bits, spreads, rounds=least is None)
        self.layout = Layout(bases, family.index_set.strict, self.precision, family.degree)
        self.tables = Tables(self.layout)
        self.spreads: Spreads | None = None
        if row_weights is not None:
            self.spreads = Spreads(self.tables, row_weights, centred, least)

    @staticmethod
    def side_entries(family: ProductFamily) -> float:
        """Return how many numbers the larger side of the matrix products holds."""
        longest = max(1, family.degree // 2)
        kind = family.index_set if family.index_set.strict else Monomials()
        width = float(np.mean(family.blocks.sizes**longest))
        return float(kind.count(family.bases.count, longest)) * family.rows * width

    def top(self, alpha: Array, count: int, above: float = 0.0, until: float = np.inf) -> Shortlist:
        """Return the kernels of largest score; of each degree a part is looked at in any case."""
        # Scores are quadratic; a dual point of length one cannot overflow or vanish in 32 bits.
        length = float(np.linalg.norm(alpha))
        if not length > 0 or count < 1:
            return Shortlist([], np.empty(0))
        unit = beside(alpha / length, self.precision.place, self.precision.products)
        least = above / length**2
        degrees = range(self.family.degree + 1)
        rows = [self._best_rows(degree, unit, count, until) for degree in degrees]
        # The best rows of all degrees together.
        maxima = np.concatenate([part.maxima for part in rows])
        if len(maxima) > count:
            last = float(np.partition(maxima, -count)[-count])
            least = max(least, self.precision.trusted * last)
        indices: list[Product] = []
        scores = [np.empty(0)]
        for degree, part in enumerate(rows):
            found, values = self._inside(degree, part, unit, count, least)
            indices += found
            scores.append(values)
        flat = np.concatenate(scores)
        order = np.argsort(-flat, kind="stable")[:count]
        order = order[flat[order] > above / length**2]
        return Shortlist([indices[i] for i in order.tolist()], flat[order] * length**2)

    def _scaled(self, scores: Any, best: Array, degree: int) -> Array:
        """Return some scores on the host, with the scale factor of their degree."""
        values = to_host(take(scores, best, axis=0)).astype(float)
        return values * float(self.family.rho[degree] ** -2.0)

    def _best_rows(self, degree: int, unit: Any, count: int, until: float) -> BestRows:
        """Return the pairs of a beginning and a kernel below which the best scores are."""
        left, _, right = self.layout.sides(degree)
        pieces = list(self.layout.pieces(degree, left, right))
        if not pieces:
            nothing = np.empty(0, dtype=int)
            return BestRows(np.empty(0), nothing, nothing, nothing, nothing, [], [])
        xp, kept, maxima = namespace(unit), [], []
        between = [piece.kernels or slice(0, 1) for piece in pieces]
        wide = np.array([one.stop - one.start for one in between])
        heights = wide * np.array([piece.left.stop - piece.left.start for piece in pieces])
        size = heights @ np.array([piece.right.stop - piece.right.start for piece in pieces])
        keep = size <= limits.KEPT_SCORES and self.precision.rough is None
        keep = keep and (len(pieces) == 1 or not self.precision.device)
        for number, piece in enumerate(pieces):
            deadline.check()
            scores = self.tables.of_piece(piece, unit, squared=False)
            if self.spreads is not None:
                scores *= self.spreads.inverse_of_piece(number, piece)
            if degree > 1:
                scores = self.layout.in_order(number, piece, scores)
            maxima.append(xp.max(scores, axis=1))
            if keep:
                kept.append(scores)
            if until < np.inf and deadline.now() > until:
                break
        heights, wide = heights[: len(maxima)], wide[: len(maxima)]
        whole = xp.concat(maxima) if len(maxima) > 1 else maxima[0]
        best = np.sort(largest(whole, count))
        # From the position among all rows to the piece, the beginning and the kernel.
        ends = np.cumsum(heights)
        which = np.searchsorted(ends, best, side="right")
        within = best - (ends - heights)[which]
        begins = np.array([piece.left.start for piece in pieces])[which] + within // wide[which]
        kernels = np.array([one.start for one in between])[which] + within % wide[which]
        values = self._scaled(whole, best, degree)
        return BestRows(values, which, within, begins, kernels, pieces, kept)

    def _inside(
        self, degree: int, rows: BestRows, unit: Any, count: int, least: float
    ) -> tuple[list[Product], Array]:
        """Return the best kernels of some rows, and their scores."""
        chosen = np.flatnonzero(rows.maxima >= max(least, np.finfo(float).tiny))
        indices: list[Product] = []
        values = [np.empty(0)]
        groups = [chosen]
        if rows.kept:
            groups = [chosen[rows.which[chosen] == number] for number in range(len(rows.pieces))]
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
            scores = self._scaled(flat, best, degree)
            best, scores = best[scores > 0], scores[scores > 0]
            i, j = np.divmod(best, table.shape[1])
            left, _, right = self.layout.sides(degree)
            middle = kernels[i, None] if degree > 2 else np.empty((len(i), 0), dtype=int)
            found = np.hstack([left.table[begins[i]], middle, right.table[j + first]])
            indices += [tuple(row) for row in self.layout.products(found.astype(int)).tolist()]
            values.append(scores)
        return indices, np.concatenate(values)

    def _rows_again(self, degree: int, begins: Array, kernels: Array, unit: Any) -> Any:
        """Return the scores of some rows against all endings."""
        scores = self.tables.of_rows(degree, begins, kernels, unit, squared=False)
        if self.spreads is not None:
            scores *= self.spreads.inverse_of_rows(degree, begins, kernels)
        if degree > 1:
            left, _, right = self.layout.sides(degree)
            edges = left.table[begins, -1] if degree == 2 else kernels
            keep = right.table[None, :, 0] >= edges[:, None] + self.strict
            scores *= beside(keep, scores, scores.dtype)
        return scores
