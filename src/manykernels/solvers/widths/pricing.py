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
from .ascent import ascend, climb, widths_of
from .scores import PAIRED_COLUMNS, WidthScores
from .threads import side_by_side

ISOTROPIC = (0.05, 0.3, 1.0, 4.0)
"""Widths of the first kernels, all columns together; those of the prototype."""

SPARSE_SHAPE = 0.3
"""Shape of the gamma law that random starts are drawn from: most widths are near zero. That of the
prototype."""

SPARSE_STARTS = 4
"""Number of random starts. Set by judgement, not measured."""

HEAVY_STARTS = 3
"""Number of starts from the heaviest kernels so far. Set by judgement, not measured."""


def isotropic(count: int, total: float) -> Array:
    """Return equal widths of all columns that add up to a total."""
    return np.full(count, total / count)


WIDE_STARTS = 2
"""Number of heavy kernels from which columns that matter beside theirs are looked for."""

WIDE_ROWS = 1_000
"""Rows on which the columns that matter are found where there are very many."""


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
        scores from the start, but mostly lead back to them. Where there are very many columns,
        kernels of equal widths for all columns that were found to matter are returned beside them.
        """
        scores = self.scores(family, alpha, heavy, rng)
        starts = [
            (shape, several)
            for shape in family.shapes
            for several in starting_widths(scores, heavy, rng)
        ]

        def climbed(shape: str, several: list[Array]) -> WidthKernel | None:
            values = scores.of([shape] * len(several), np.array(several))[0]
            start = several[int(np.argmax(values))]
            return climb(scores, shape, start, family.degree, self.steps)

        with side_by_side() as together:
            ends = together(climbed, *zip(*starts, strict=True))
        found = [kernel for kernel in ends if kernel is not None]
        if scores.count > PAIRED_COLUMNS and family.degree == scores.count:
            few = [kernel[1] for kernel in [*heavy, *found] if len(kernel[1]) < PAIRED_COLUMNS]
            union = tuple(sorted({j for columns in few for j in columns}))
            found += equal_kernels(family.shapes, union, ISOTROPIC[2:])
        return found

    def scores(
        self,
        family: WidthFamily,
        alpha: Array,
        heavy: Sequence[WidthKernel],
        rng: np.random.Generator,
    ) -> WidthScores:
        """Return scores on rows drawn for this pricing, made to estimate those on all rows.

        Of very many columns those that matter.
        """
        columns = np.arange(family.bases.count)
        if len(columns) > PAIRED_COLUMNS:
            wide = sampled(family, alpha, columns[:0], WIDE_ROWS, rng)
            columns = self.mattering(wide, heavy)
        return sampled(family, alpha, columns, self.rows, rng)

    def mattering(self, scores: WidthScores, heavy: Sequence[WidthKernel]) -> Array:
        """Return the columns to look at: those of heavy kernels and of ascents over all.

        From equal widths, and from heavy kernels of few columns times a kernel of equal widths: a
        column may matter only beside others.
        """
        few = [kernel for kernel in heavy if len(kernel[1]) <= PAIRED_COLUMNS]
        importance = np.zeros(scores.count)
        for kernel in few:
            importance += widths_of(kernel, scores.count)
        equal = isotropic(scores.count, 1.0)
        starts = [equal, *(widths_of(kernel, scores.count) + equal for kernel in few[:WIDE_STARTS])]
        for start in starts:
            end = ascend(scores, "gaussian", start, self.steps)
            importance += end / end.max()
        return np.sort(np.argsort(importance)[::-1][:PAIRED_COLUMNS])


def sampled(
    family: WidthFamily, alpha: Array, columns: Array, count: int, rng: np.random.Generator
) -> WidthScores:
    """Return scores on some of the rows, drawn at random, that estimate those on all."""
    rows, spread = family.bases, 1.0
    if rows.rows > count:
        some = np.sort(rng.choice(rows.rows, count, replace=False))
        spread = (rows.rows - 1) / (count - 1)
        rows, alpha = rows.take(some), alpha[some]
    scores = WidthScores(rows, columns, room=family.room)
    scores.at(alpha / (np.sqrt(np.sum(alpha**2)) or 1.0), spread)
    return scores


def starting_widths(
    scores: WidthScores, heavy: Sequence[WidthKernel], rng: np.random.Generator
) -> list[list[Array]]:
    """Return widths to start from: equal, random and sparse, and those of heavy kernels.

    Columns that are not looked at have none.
    """
    inside, size = scores.paired, len(scores.paired)
    totals = [5.0 if number % 2 else 1.0 for number in range(SPARSE_STARTS)]
    kinds = [
        [isotropic(size, total) for total in ISOTROPIC[1:]],
        [rng.gamma(SPARSE_SHAPE, size=size) * total / size for total in totals],
        [widths_of(kernel, scores.count)[inside] for kernel in heavy[:HEAVY_STARTS]],
    ]
    out = []
    for kind in kinds:
        starts = [np.zeros(scores.count) for _ in kind]
        for start, widths in zip(starts, kind, strict=True):
            start[inside] = widths
        out.append([start for start in starts if start.any()])
    return [kind for kind in out if kind]


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
    kernels = (equal_kernels(family.shapes, columns, ISOTROPIC) for columns in sets)
    return [kernel for several in kernels for kernel in several]


def equal_kernels(
    shapes: Sequence[str], columns: tuple[int, ...], totals: Sequence[float]
) -> list[WidthKernel]:
    """Return kernels with equal widths of some columns; no Laplace kernels of very many."""
    count = len(columns)
    return [
        (shape, columns, (total / count,) * count)
        for shape in shapes
        for total in totals
        if columns and (shape != "laplace" or count <= PAIRED_COLUMNS)
    ]
