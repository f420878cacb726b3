"""The search for widths: price, weigh, slide, on more and more rows; then one solve on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...backend import times
from ...bases.width_rows import TERMS, WidthKernel
from ...certificate import Certificate, from_norm
from ...dual import DualSolution, solve
from ...families import KernelFamily, WidthFamily
from ...objective import Problem
from ..base import FinalState, Needs, Result
from ..nested import nested_rows, part_of
from .held import HeldKernels
from .pricing import Pricing, first_kernels
from .scores import PAIRED_COLUMNS
from .slide import slide
from .weighing import Weighed, weigh
from .whole import whole_system

WEIGHING_GAP = 1e-3
"""Relative duality gap over a set of kernels to which its weights are optimised. Set by judgement,
not measured."""

WEIGHING_STEPS = 10
"""Most Newton steps on the weights of a set. Set by judgement, not measured."""

ROUND_GAIN = 0.02
"""Share of the objective that a round must gain for another one to follow on the same rows. Set by
judgement, not measured."""

LIGHT_WEIGHT = 1e-4
"""Weights below this are zero: each kernel costs a pass over all pairs of rows. Set by judgement,
not measured."""

CERTIFICATE_ROWS = 3_000
"""Rows on which gradients are compared for an estimate of the gap: as many as weights are learnt
on. Set by judgement, not measured."""

FINAL_TOL = 1e-8
"""Relative duality gap to which the dual is solved on all rows. Set by judgement, not measured."""


@dataclass(frozen=True)
class Stage:
    """A part of the search: its rows, most rounds on them, and most steps of each slide."""

    rows: int
    rounds: int
    steps: int


STAGES = (Stage(750, 3, 25), Stage(1_500, 1, 15), Stage(3_000, 0, 0))
"""Rows, rounds and steps of slides. On grid_stability a slide on 3,000 rows took 20 s and lowered
the objective by .3 %, one on 750 rows 1 s and 30 %."""

WIDE_STAGES = (Stage(1_500, 4, 15), Stage(3_000, 0, 0))
"""The same for very many columns, among which 750 rows do not tell the right ones. On madelon (500
columns) kernels had 14 of the 20 columns that matter and 4 others, found on 1,600 rows."""

WARM_STEPS = 10
"""Most steps of a slide where a search begins with the kernels of another: with 25 a path of six
strengths took twice the time. Set by judgement, not measured."""


@dataclass(frozen=True)
class WidthSearch:
    r"""Solve p = 1 over kernels of free widths, on nested subsets of rows; then solve on all rows.

    The first kernels have equal widths for all columns. Each round

    1. finds kernels of large gradient by ascents in the logarithms of their widths, some of
       each shape, and adds them,
    2. optimises all weights, and drops zeros,
    3. lets all widths and weights slide downhill in the objective together.

    Kernels and weights of one subset are the start of the next. Those of the last are solved on
    all rows, by conjugate gradients where these are many. The gap is an estimate: the largest
    gradient of a continuum of kernels is only known from below.

    Parameters
    ----------
    stages : tuple of Stage, optional
        Numbers of rows, ascending, most rounds on them, and most steps of their slides. None: by
        the number of columns.
    pricing_rows : int
        Rows that a pricing looks at, drawn anew for each.
    """

    stages: tuple[Stage, ...] | None = None
    pricing_rows: int = 750
    needs: ClassVar[Needs] = Needs(
        lambda p: p == 1, "p = 1", smooth=True, title="the search for widths"
    )

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
    ) -> Iterator[SearchState | SearchEnd]:
        """Yield the search after each round, then the model on all rows.

        From the kernels of a start, if there is one, with one round at most on each subset.
        """
        assert isinstance(family, WidthFamily)
        pricing = Pricing(self.pricing_rows)
        indices: list[Any] = [] if start is None else list(start.indices)
        theta: Array = np.empty(0) if start is None else start.theta
        finish = partial(whole_model, problem, family, pricing=pricing, rng=rng)
        number = 0
        wide = family.bases.count > PAIRED_COLUMNS
        stages = self.stages or (WIDE_STAGES if wide else STAGES)
        subsets = nested_rows(problem, [stage.rows for stage in stages], rng)
        for rows, stage in zip(subsets, stages, strict=False):
            if start is not None:
                steps = min(WARM_STEPS, stage.steps)
                stage = replace(stage, rounds=min(1, stage.rounds), steps=steps)
            here, task = family, part_of(problem, rows)
            if rows is not None:
                here = family.on(family.bases.take(rows))
                here.room = family.room
            if rows is subsets[0]:
                first = first_kernels(task, here, pricing, rng)
                first += [] if here.bases.terms is None else [TERMS]
                fresh = [k for k in first if k not in indices]
                theta = theta if indices else np.full(len(fresh), 1 / len(fresh))
                indices = indices + fresh
                theta = np.append(theta, np.zeros(len(indices) - len(theta)))
            found = learning(task, here, indices, theta, pricing, stage, rng)
            for indices, theta, solution in found:
                number += 1
                yield SearchState(number, (indices, theta), solution, finish)
        solution, certificate = finish((indices, theta))
        yield SearchEnd(number + 1, (indices, theta), len(indices), solution, certificate)

    resume = iterate


@dataclass(frozen=True)
class SearchState:
    """The search after a round.

    Attributes
    ----------
    k : int
        Number of the round.
    weights : tuple of list and ndarray
        The kernels and their weights.
    solution : DualSolution
        Their predictor on the rows of the round.
    complete : callable
        From the weights to the predictor on all rows and its certificate.
    """

    k: int
    weights: tuple[list[Any], Array]
    solution: DualSolution
    complete: Callable[[tuple[list[Any], Array]], tuple[DualSolution, Certificate]]

    certificate = Certificate(np.inf, np.inf, "estimate")
    final = False
    constants = memory = None

    @property
    def active(self) -> int:
        """Number of kernels with a weight."""
        return len(self.weights[0])

    def finish(self) -> tuple[DualSolution, Certificate]:
        """Return the predictor on all rows and its certificate."""
        return self.complete(self.weights)


@dataclass(frozen=True)
class SearchEnd(FinalState):
    """The model on all rows, at the end of the search, which no tolerance decides."""

    ended = True


def whole_model(
    problem: Problem,
    family: WidthFamily,
    weights: tuple[list[Any], Array],
    pricing: Pricing,
    rng: np.random.Generator,
) -> tuple[DualSolution, Certificate]:
    """Return the predictor of given weights on all rows, and an estimate of its gap."""
    solution = solve(problem, whole_system(family, *weights, rng), tol=FINAL_TOL)
    return solution, estimated(problem, family, solution, *weights, pricing, rng)


def learning(
    problem: Problem,
    family: WidthFamily,
    indices: Sequence[WidthKernel],
    theta: Array,
    pricing: Pricing,
    stage: Stage,
    rng: np.random.Generator,
) -> Iterator[tuple[list[WidthKernel], Array, DualSolution]]:
    """Yield better kernels and weights than those given, and their predictor, after each round.

    On a family's rows; of no rounds, the best weights.
    """
    kernels = HeldKernels(family, indices)
    now = weigh(problem, kernels, theta, WEIGHING_GAP, WEIGHING_STEPS)
    for _ in range(stage.rounds):
        before = now.solution.objective
        kernels, theta = without_zeros(kernels, now)
        heavy = heaviest(kernels.indices, theta)
        found = pricing.best(family, now.solution.alpha, heavy, rng)
        fresh = [kernel for kernel in dict.fromkeys(found) if kernel not in kernels.indices]
        kernels = HeldKernels(family, [*kernels.indices, *fresh], kernels)
        theta = np.append(theta, np.zeros(len(fresh)))
        now = weigh(problem, kernels, theta, WEIGHING_GAP, WEIGHING_STEPS, now.solution)
        kernels, theta = without_zeros(kernels, now)
        moved, theta = slide(problem, family, kernels.indices, theta, stage.steps)
        kernels = HeldKernels(family, moved, kernels)
        now = weigh(problem, kernels, theta, WEIGHING_GAP, WEIGHING_STEPS, now.solution)
        live, shares = without_zeros(kernels, now)
        yield live.indices, shares, now.solution
        if now.solution.objective > (1 - ROUND_GAIN) * before:
            return
    if not stage.rounds:
        live, shares = without_zeros(kernels, now)
        yield live.indices, shares, now.solution


def heaviest(indices: Sequence[WidthKernel], theta: Array) -> list[WidthKernel]:
    """Return kernels by descending weight; spline terms have no widths to look around from."""
    ordered = (indices[i] for i in np.argsort(-theta))
    return [kernel for kernel in ordered if kernel != TERMS]


def without_zeros(kernels: HeldKernels, now: Weighed) -> tuple[HeldKernels, Array]:
    """Return the kernels with a weight, and these weights."""
    live = now.theta > LIGHT_WEIGHT
    theta = now.theta[live]
    chosen = list(compress(kernels.indices, live.tolist()))
    return HeldKernels(kernels.family, chosen, kernels), theta / theta.sum()


def estimated(
    problem: Problem,
    family: WidthFamily,
    solution: DualSolution,
    indices: Sequence[WidthKernel],
    theta: Array,
    pricing: Pricing,
    rng: np.random.Generator,
) -> Certificate:
    r"""Return an estimate of the duality gap over all kernels.

    A pricing looks for kernels of large gradient on some rows. How many times the mean
    :math:`\langle\theta, g\rangle`, which is known, the largest of their gradients and of those in
    use is, is seen on other rows, so that it is not too large by the choice of the kernels; it is
    too small where the best kernels were not found. Infinite where those rows cannot tell.
    """
    alpha, bases, spread = solution.alpha, family.bases, 1.0
    mean = float(np.sum(alpha * (solution.fitted - solution.intercept)))
    found = pricing.best(family, alpha, heaviest(indices, theta), rng)
    if bases.rows > CERTIFICATE_ROWS:
        rows = np.sort(rng.choice(bases.rows, CERTIFICATE_ROWS, replace=False))
        spread = (bases.rows - 1) / (len(rows) - 1)
        bases, alpha = bases.take(rows), alpha[rows]
    both = [*indices, *found]
    own = np.full(len(both), np.sum(alpha**2))  # pairs of a row with itself
    if bases.terms is not None and TERMS in both:
        own[both.index(TERMS)] = np.sum(bases.terms.diagonal()[:, None] * alpha**2)
    products = [times(bases.kernel(kernel), alpha) for kernel in both]
    pairs = np.array([float(np.sum(alpha * product)) for product in products]) - own
    gradients = family.weights(both) * (own + spread * pairs)
    expected = float(theta @ gradients[: len(theta)])
    ratio = max(1.0, float(gradients.max()) / expected) if expected > 0 else np.inf
    return from_norm(problem, solution, mean * ratio, "estimate")
