"""Kernels of large gradient among all widths, found by ascents from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...bases import WidthRows
from ...bases.width_rows import WidthKernel
from ...families import KernelFamily
from .ascent import Found, climb, widths_of
from .scores import Scores

ISOTROPIC = (0.05, 0.3, 1.0, 4.0)
"""Widths of the first kernels, all columns together; those of the prototype."""

SPARSE_SHAPE = 0.3
"""Shape of the gamma law that random starts are drawn from: most widths are near zero. That of the
prototype."""

SPARSE_STARTS = 4
"""Number of random starts. Set by judgement, not measured."""

HEAVY_STARTS = 3
"""Number of starts from the heaviest kernels so far. Set by judgement, not measured."""

PAIRED_COLUMNS = 48
"""Most columns of Laplace kernels in one pricing: distances of all pairs of rows are held for each.
Set by judgement: 96 MB for 1,000 rows."""


def isotropic(count: int, total: float, columns: Array | None = None) -> Array:
    """Return equal widths that add up to a total, of all columns or of some."""
    widths = np.zeros(count)
    chosen = np.arange(count) if columns is None else columns
    widths[chosen] = total / len(chosen)
    return widths


@dataclass(frozen=True)
class Pricing:
    """How kernels are priced.

    Parameters
    ----------
    rows : int
        Rows that scores are computed on, drawn anew each time.
    climbs : int
        Ascents for each shape, from the starts of the largest scores.
    steps : int
        Most quasi-Newton steps of an ascent.
    """

    rows: int
    climbs: int
    steps: int

    def best(
        self,
        family: KernelFamily,
        alpha: Array,
        heavy: Sequence[WidthKernel],
        rng: np.random.Generator,
    ) -> list[Found]:
        """Return the best kernel found of each shape, at a dual point of shape (n, c).

        ``heavy`` are kernels to start from too, the heaviest first.
        """
        scores = self.scores(family, alpha, heavy, rng)
        out = []
        for shape in family.shapes:
            starts = self.starts(scores.count, heavy, rng)
            values = [scores(shape, widths)[0] for widths in starts]
            order = np.argsort(values)[::-1][: self.climbs]
            ends = [climb(scores, shape, starts[i], family.degree, self.steps) for i in order]
            kept = [end for end in ends if end is not None]
            if kept:
                scales = family.weights([end.kernel for end in kept])
                out.append(kept[int(np.argmax(scales * [end.score for end in kept]))])
        return out

    def scores(
        self,
        family: KernelFamily,
        alpha: Array,
        heavy: Sequence[WidthKernel],
        rng: np.random.Generator,
    ) -> Scores:
        """Return scores on rows drawn for this pricing."""
        bases: WidthRows = family.bases
        if bases.rows > self.rows:
            rows = np.sort(rng.choice(bases.rows, self.rows, replace=False))
            bases, alpha = bases.take(rows), alpha[rows]
        alpha = alpha - alpha.mean(axis=0)
        alpha = alpha / (np.sqrt(np.sum(alpha**2)) or 1.0)
        columns = np.arange(bases.count)
        if bases.count > PAIRED_COLUMNS:
            wide = Scores(bases, columns[:0])
            wide.at(alpha)
            columns = self.chosen(wide, heavy)
        scores = Scores(bases, columns)
        scores.at(alpha)
        return scores

    def chosen(self, scores: Scores, heavy: Sequence[WidthKernel]) -> Array:
        """Return columns for Laplace kernels: those of heavy kernels and of a radial ascent."""
        importance = np.zeros(scores.count)
        for place, kernel in enumerate(heavy):
            importance += widths_of(kernel, scores.count) / (1 + place)
        end = climb(scores, "radial", isotropic(scores.count, 1.0), None, self.steps)
        if end is not None:
            importance += widths_of(end.kernel, scores.count)
        return np.sort(np.argsort(importance)[::-1][:PAIRED_COLUMNS])

    def starts(
        self, count: int, heavy: Sequence[WidthKernel], rng: np.random.Generator
    ) -> list[Array]:
        """Return widths to start from: equal, random and sparse, and those of heavy kernels."""
        starts = [isotropic(count, total) for total in ISOTROPIC[1:]]
        for number in range(SPARSE_STARTS):
            draws = rng.gamma(SPARSE_SHAPE, size=count)
            starts.append(draws * (5.0 if number % 2 else 1.0) / count)
        return starts + [widths_of(kernel, count) for kernel in heavy[:HEAVY_STARTS]]
