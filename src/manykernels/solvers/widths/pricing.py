"""Kernels of large gradient among all widths, found by ascents from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...backend import filled
from ...bases.width_rows import WidthKernel
from ...dual import GramSystem, solve
from ...families import WidthFamily
from ...objective import Problem
from .ascent import climb, widths_of
from .scores import WidthScores

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


def isotropic(count: int, total: float) -> Array:
    """Return equal widths of all columns that add up to a total."""
    return np.full(count, total / count)


class Pricing(NamedTuple):
    """How kernels are priced.

    Attributes
    ----------
    rows : int
        Rows that scores are computed on, drawn anew each time.
    steps : int
        Most quasi-Newton steps of an ascent.
    """

    rows: int
    steps: int = 25

    def best(
        self,
        family: WidthFamily,
        alpha: Array,
        heavy: Sequence[WidthKernel],
        rng: np.random.Generator,
    ) -> list[WidthKernel]:
        """Return kernels of large gradient, some of each shape, at a dual point of shape (n, c).

        Ascents start from the best of equal widths, of random ones and of ``heavy`` kernels, the
        heaviest of which stand first. One from each kind: those from heavy kernels have large
        scores from the start, but mostly lead back to them.
        """
        scores = self.scores(family, alpha, heavy, rng)
        out = []
        for shape in family.shapes:
            for starts in starting_widths(scores.count, heavy, rng):
                values = [scores(shape, widths)[0] for widths in starts]
                start = starts[int(np.argmax(values))]
                out.append(climb(scores, shape, start, family.degree, self.steps))
        return [kernel for kernel in out if kernel is not None]

    def scores(
        self,
        family: WidthFamily,
        alpha: Array,
        heavy: Sequence[WidthKernel],
        rng: np.random.Generator,
    ) -> WidthScores:
        """Return scores on rows drawn for this pricing, made to estimate those on all rows."""
        bases, spread = family.bases, 1.0
        if bases.rows > self.rows:
            rows = np.sort(rng.choice(bases.rows, self.rows, replace=False))
            spread = (bases.rows - 1) / (self.rows - 1)
            bases, alpha = bases.take(rows), alpha[rows]
        alpha = alpha / (np.sqrt(np.sum(alpha**2)) or 1.0)
        columns = np.arange(bases.count)
        if bases.count > PAIRED_COLUMNS:
            wide = WidthScores(bases, columns[:0])
            wide.at(alpha, spread)
            columns = self.mattering(wide, heavy)
        scores = WidthScores(bases, columns)
        scores.at(alpha, spread)
        return scores

    def mattering(self, scores: WidthScores, heavy: Sequence[WidthKernel]) -> Array:
        """Return columns for Laplace kernels: those of heavy kernels and of a radial ascent."""
        importance = np.zeros(scores.count)
        for place, kernel in enumerate(heavy):
            importance += widths_of(kernel, scores.count) / (1 + place)
        end = climb(scores, "radial", isotropic(scores.count, 1.0), None, self.steps)
        if end is not None:
            importance += widths_of(end, scores.count)
        return np.sort(np.argsort(importance)[::-1][:PAIRED_COLUMNS])


def starting_widths(
    count: int, heavy: Sequence[WidthKernel], rng: np.random.Generator
) -> list[list[Array]]:
    """Return widths to start from: equal, random and sparse, and those of heavy kernels."""
    totals = [5.0 if number % 2 else 1.0 for number in range(SPARSE_STARTS)]
    kinds = [
        [isotropic(count, total) for total in ISOTROPIC[1:]],
        [rng.gamma(SPARSE_SHAPE, size=count) * total / count for total in totals],
        [widths_of(kernel, count) for kernel in heavy[:HEAVY_STARTS]],
    ]
    return [kind for kind in kinds if kind]


def first_kernels(
    problem: Problem, family: WidthFamily, pricing: Pricing, rng: np.random.Generator
) -> list[WidthKernel]:
    """Return kernels to begin with: equal widths for all columns.

    Where kernels may not have all columns: for those of the kernels that are best where nothing
    has been learnt. Laplace kernels of very many columns are left to pricing.
    """
    count = family.bases.count
    sets = [tuple(range(count))]
    if family.degree is not None and family.degree < count:
        nothing = GramSystem(filled(0.0, (family.rows,) * 2, family.bases.matrix))
        found = pricing.best(family, solve(problem, nothing).alpha, [], rng)
        sets = list(dict.fromkeys(kernel[1] for kernel in found))
    return [
        (shape, columns, (total / len(columns),) * len(columns))
        for columns in sets
        for shape in family.shapes
        for total in ISOTROPIC
        if shape != "laplace" or len(columns) <= PAIRED_COLUMNS
    ]
