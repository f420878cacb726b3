"""The search for widths: price, weigh, drop, on more and more rows; then one solve on all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...bases.width_rows import WidthKernel
from ...certificate import from_norm
from ...dual import solve
from ...families import KernelFamily
from ...objective import Problem
from ..base import FinalState, Needs, Result
from ..nested import nested_rows, part_of
from .held import HeldKernels
from .pricing import ISOTROPIC, PAIRED_COLUMNS, Pricing, isotropic
from .slide import slide
from .weighing import Weighed, weigh
from .whole import whole_system

LIGHT_WEIGHT = 1e-4
"""Weights below this are zero in the end: each kernel costs a pass over all pairs of rows. Set by
judgement, not measured."""


FINAL_TOL = 1e-8
"""Relative duality gap to which the dual is solved on all rows. Set by judgement, not measured."""


@dataclass(frozen=True)
class WidthSearch:
    r"""Solve p = 1 over kernels of free widths, on nested subsets of rows, then weigh all rows.

    The first kernels have equal widths for all columns. Each round finds kernels of large gradient
    by ascents in the logarithms of widths, one of each shape, adds them, optimises all weights and
    drops zeros. Kernels and weights of one subset are the start of the next. The kernel found is
    then solved on all rows. The gap is an estimate: the largest gradient of a continuum is only
    known from below.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of rows of the subsets, ascending.
    rounds : tuple of int
        Rounds on each subset; the last one also where there are fewer rows than that.
    pricing_rows, climbs, steps : int
        Rows that a pricing looks at, its ascents for each shape, and their quasi-Newton steps.
    """

    sizes: tuple[int, ...] = (750, 1_500, 3_000)
    rounds: tuple[int, ...] = (6, 3, 3)
    pricing_rows: int = 500
    climbs: int = 2
    steps: int = 25
    slides: int = 20
    slide_rows: int = 1500
    tol: float = 1e-3
    needs: ClassVar[Needs] = Needs(
        lambda p: p == 1, "p = 1", smooth=True, title="the search for widths"
    )

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
    ) -> Iterator[FinalState]:
        """Yield the state after the search, or before each round where it is on all rows."""
        pricing = Pricing(self.pricing_rows, self.climbs, self.steps)
        indices = first_kernels(family)
        theta = np.full(len(indices), 1 / len(indices))
        for rows, rounds in zip(nested_rows(problem, self.sizes, rng), self.rounds, strict=False):
            here = family if rows is None else family.on(family.bases.take(rows))
            task = part_of(problem, rows)
            kernels = HeldKernels(here, indices)
            now = weigh(task, kernels, theta, self.tol, 20)
            for _ in range(rounds):
                kernels, theta = without_zeros(kernels, now)
                heavy = [kernels.indices[i] for i in np.argsort(-theta)]
                found = pricing.best(here, now.solution.alpha, heavy, rng)
                fresh = [end.kernel for end in found if end.kernel not in kernels.matrices]
                kernels = HeldKernels(here, [*kernels.indices, *fresh], kernels)
                theta = np.append(theta, np.zeros(len(fresh)))
                now = weigh(task, kernels, theta, self.tol, 4, now.solution)
            kernels, theta = without_zeros(kernels, now)
            indices = kernels.indices
            if self.slides and here.rows <= self.slide_rows:
                indices, theta = slide(task, here, indices, theta, self.slides)
                kernels = HeldKernels(here, indices)
                now = weigh(task, kernels, theta, self.tol, 10)
                kernels, theta = without_zeros(kernels, now)
                indices = kernels.indices
            print(len(indices), here.rows, now.solution.objective)
        yield final_state(problem, family, indices, theta, rng)


def first_kernels(family: KernelFamily) -> list[WidthKernel]:
    """Return kernels of equal widths for all columns."""
    count = family.bases.count
    every = tuple(range(count))
    return [
        (shape, every, tuple(isotropic(count, total).tolist()))
        for shape in family.shapes
        for total in ISOTROPIC
        if shape != "laplace" or count <= PAIRED_COLUMNS
    ]


def without_zeros(kernels: HeldKernels, now: Weighed) -> tuple[HeldKernels, Array]:
    """Return the kernels with a weight, and these weights."""
    live = now.theta > LIGHT_WEIGHT
    theta = now.theta[live]
    chosen = list(compress(kernels.indices, live.tolist()))
    return HeldKernels(kernels.family, chosen, kernels), theta / theta.sum()


def final_state(
    problem: Problem,
    family: KernelFamily,
    indices: Sequence[WidthKernel],
    theta: Array,
    rng: np.random.Generator,
) -> FinalState:
    """Return the state of given weights on all rows."""
    solution = solve(problem, whole_system(family, indices, theta, rng), tol=FINAL_TOL)
    values = solution.fitted - solution.intercept
    norm = float(np.sum(solution.coefficients * values))
    certificate = from_norm(problem, solution, norm, "estimate")
    return FinalState(1, (list(indices), theta), len(indices), solution, certificate)
