"""The search for widths: price, weigh, slide, on more and more rows; then one solve on all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...backend import times
from ...bases.width_rows import TERMS, WidthKernel
from ...certificate import UNKNOWN, Certificate, from_norm
from ...deadline import OutOfTimeError, current, strictly
from ...dual import DualSolution, solve
from ...families import KernelFamily, WidthFamily
from ...limits import LEARNT_ROWS
from ...losses import SmoothLoss, Squared
from ...objective import Problem
from ..base import Needs, Result
from ..nested import nested_rows, part_of
from .held import HeldKernels
from .pricing import Pricing, first_kernels
from .scores import PAIRED_COLUMNS
from .slide import slide
from .states import NOTHING_BEHIND, Behind, Found, SearchEnd, SearchState, kept_search
from .weighing import Weighed, weigh
from .whole import whole_system

WEIGHING_GAP = 1e-3
"""Relative duality gap over a set of kernels to which its weights are optimised. Set by judgement,
not measured."""

WEIGHING_STEPS = 10
"""Most Newton steps on the weights of a set. Set by judgement, not measured."""

ROUND_GAIN = 0.01
"""Logarithm of the evidence per row, less the cost of parameters, that a round must gain for
another one to follow on the same rows: some 7 in all on 750 rows. Set by judgement, not
measured."""

PARAMETER_COST = 1.0
"""Logarithm of the evidence that each free width and weight must bring: Akaike's criterion. With it
rounds on 150 to 300 noisy rows of 5 to 10 columns no longer learn the noise."""

FIRST_NOISE = 0.01
"""Noise that a search begins with, beside a kernel of 1 on the diagonal: most searches ended
between 0.001 and 0.1."""

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

    def cost(self, rows: int) -> float:
        """Return what a round costs on a table of some rows, in steps of a table of one row."""
        return float(self.steps * min(self.rows, rows) ** SLIDE_GROWTH)


SLIDE_GROWTH = 2.5
"""Power of the rows by which a step of a slide costs more: kernels take their square, Cholesky
factors their cube."""

USUAL_ROUNDS = 2
"""Rounds on the same rows after which a search mostly goes on; fewer where there are fewer."""


STAGES = (Stage(750, 3, 25), Stage(1_500, 1, 15), Stage(LEARNT_ROWS, 1, 10))
"""Rows, rounds and steps of slides. With 3,000 rows at the end instead of 1,500 R2 on held-out rows
was .984 for .979 on 8,000 rows of kin40k, .972 for .970 on grid_stability, .950 for .948 on
bike_hourly; widths of 8 to 12 columns then take some 10 of 25 seconds."""

WIDE_STAGES = (Stage(1_500, 4, 15),)
"""The same for more than 48 columns, among which 750 rows do not tell the right ones. On madelon
(500 columns) kernels had 14 of the 20 columns that matter and 4 others, found on 1,600 rows."""


@dataclass(frozen=True)
class WidthSearch:
    r"""Solve p = 1 over kernels of free widths, on nested subsets of rows; then solve on all rows.

    The first kernels have equal widths for all columns. Each round

    1. finds kernels of large gradient by ascents in the logarithms of their widths, some of
       each shape, and adds them (not in the first round, nor on the larger subsets),
    2. optimises all weights for p = 1, and drops zeros,
    3. lets all widths and weights, and a noise level that stands for the strength meanwhile, slide
       towards more evidence (:class:`WidthEvidence`) together.

    A round whose kernels bring less evidence than their free widths and weights cost (Akaike's
    criterion) is taken back. Kernels and weights of one subset are the start of the next. Those of
    the last are solved on all rows, for the loss and the strength asked for, by conjugate gradients
    where rows are many. p = 1 selects kernels; the weights of the end are those of most evidence,
    not those of the least objective, whose widths are too narrow: on 4,000 rows of kin40k R2 on
    held-out rows was .969 so and .933 with steps downhill in the objective. So the gap tells how
    far the model is from the optimum of p = 1, and is large; it is an estimate, since the largest
    gradient of a continuum of kernels is only known from below.

    Parameters
    ----------
    stages : tuple of Stage, optional
        Numbers of rows, ascending, most rounds on them, and most steps of their slides. None: by
        the number of columns.
    pricing_rows : int
        Rows that a pricing looks at, drawn anew for each.
    certified : bool
        Whether the gap is estimated, which takes as long as a round. Models that are only compared
        with each other do without.
    """

    stages: tuple[Stage, ...] | None = None
    pricing_rows: int = 750
    certified: bool = True
    needs: ClassVar[Needs] = Needs(
        lambda p: p == 1, "p = 1", smooth=True, title="the search for widths"
    )

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[SearchState | SearchEnd]:
        """Yield the search after each round, then the model on all rows.

        The search depends on the rows, not on the strength. What a start found on as many rows as
        a search would look at is kept as it is; from fewer rows the search goes on with one round
        on more of them.
        """
        assert isinstance(family, WidthFamily)
        pricing = Pricing(self.pricing_rows)
        wide = family.bases.count > PAIRED_COLUMNS
        stages = self.stages or (WIDE_STAGES if wide else STAGES)
        number, priced = 0, stages[0]
        if start is not None and (TERMS in start.indices) == (family.bases.terms is not None):
            noise = start.memory if isinstance(start.memory, float) else FIRST_NOISE
            kernels: list[Any] = list(start.indices)
            number, found = start.n_iter, Found(kernels, start.theta, noise, True)
            stages = further(stages, len(start.solution.alpha), len(problem.y))
        else:
            start = None
        plain = replace(problem, loss=Squared())
        begun = rng.bit_generator.state if kept is None else kept["begun"]
        rng.bit_generator.state = begun
        subsets = nested_rows(problem, [stage.rows for stage in stages], rng) if stages else []
        for place, (rows, stage) in enumerate(zip(subsets, stages, strict=False)):
            if kept is not None and place < kept["stage"]:
                continue
            here, task = family, part_of(plain, rows)
            if rows is not None:
                here = family.on(family.bases.take(rows))
                here.room = family.room
            behind = None
            if kept is not None:
                number, found = kept["number"], Found(*kept["found"])
                rng.bit_generator.state = kept["rng"]
                solution = DualSolution(**kept["solution"])
                finish = partial(whole_model, problem, family, found, pricing, rng)
                done = share_done(stages, place, kept["behind"][0], len(problem.y))
                yield SearchState(number, found, solution, finish, done, partial(dict, kept))
                behind, kept = kept["behind"], None
            elif start is None and place == 0:
                first = first_kernels(at_noise(task, FIRST_NOISE), here, pricing, rng)
                first += [] if here.bases.terms is None else [TERMS]
                equal = np.full(len(first), 1 / len(first))
                found = Found(first, equal, FIRST_NOISE, False)
            prices = stage.rows == priced.rows, wide, behind or NOTHING_BEHIND
            rounds = learning(task, here, found, pricing, stage, rng, *prices)
            while (better := in_time(rounds)) is not None:
                number, (found, solution, over) = number + 1, better
                finish = partial(whole_model, problem, family, found, pricing, rng)
                now = {"number": number, "stage": place, "behind": over, "begun": begun}
                now |= {"found": found, "rng": rng.bit_generator.state}
                ahead = partial(kept_search, now, solution)
                done = share_done(stages, place, over.rounds, len(problem.y))
                yield SearchState(number, found, solution, finish, done, ahead)
        if self.certified:
            solution, certificate = whole_model(problem, family, found, pricing, rng)
        else:
            known = of_strength(problem, found.noise)
            solution, certificate = whole_solution(known, family, found, rng), UNKNOWN
        if stages and current().passed:  # the search was cut, and is not at its end
            yield SearchState(number, found, solution, lambda: (solution, certificate), 1.0)
            return
        weights: tuple[list[Any], Array] = found.kernels, found.theta
        yield SearchEnd(number + 1, weights, len(weights[0]), solution, certificate, found.noise)

    resume = iterate


def further(stages: Sequence[Stage], before: int, rows: int) -> tuple[Stage, ...]:
    """Return what a search on some rows has not seen: stages of more of them, a round each."""
    seen = min(before, stages[-1].rows)
    return tuple(replace(stage, rounds=1) for stage in stages if min(stage.rows, rows) > seen)


def share_done(stages: Sequence[Stage], place: int, rounds: int, rows: int) -> float:
    """Return about how much of a search is done after some rounds of a stage, for the time left.

    The solve on all rows counts as a quarter of a step of a slide on as many rows, as on 11,000 to
    16,000 rows of ten columns; conjugate gradients, beyond the rows of the last stage, grow like
    the square.
    """
    last = next((i for i, stage in enumerate(stages) if stage.rows >= rows), len(stages) - 1)
    usual = [min(stage.rounds, USUAL_ROUNDS) * stage.cost(rows) for stage in stages[: last + 1]]
    end = rows**2 * min(rows, stages[-1].rows) ** (SLIDE_GROWTH - 2) / 4
    part = min(rounds / min(stages[place].rounds, USUAL_ROUNDS), 1.0)
    return (sum(usual[:place]) + part * usual[place]) / (sum(usual) + end)


def whole_model(
    problem: Problem,
    family: WidthFamily,
    found: Found,
    pricing: Pricing,
    rng: np.random.Generator,
) -> tuple[DualSolution, Certificate]:
    """Return the predictor of given weights on all rows, and an estimate of its gap."""
    problem = of_strength(problem, found.noise)
    solution = whole_solution(problem, family, found, rng)
    try:
        return solution, estimated(problem, family, solution, found, pricing, rng)
    except OutOfTimeError:
        return solution, UNKNOWN


def whole_solution(
    problem: Problem, family: WidthFamily, found: Found, rng: np.random.Generator
) -> DualSolution:
    """Return the predictor of given weights on all rows."""
    return solve(problem, whole_system(family, found.kernels, found.theta, rng), tol=FINAL_TOL)


def learning(
    problem: Problem,
    family: WidthFamily,
    found: Found,
    pricing: Pricing,
    stage: Stage,
    rng: np.random.Generator,
    prices: bool,
    at_once: bool,
    behind: tuple[int, float, bool],
) -> Iterator[tuple[Found, DualSolution, Behind]]:
    """Yield better kernels and weights than those given, and their predictor, after each round.

    On a family's rows. Kernels are priced if ``prices`` says so, in the first round only if
    ``at_once`` does. What is ``behind`` the stage when a round is over comes with it.
    """
    first, best, over = behind
    if over:
        return
    kernels, theta, noise = HeldKernels(family, found.kernels), found.theta, found.noise
    steps = 0 if found.slid else WEIGHING_STEPS
    for number in range(first, stage.rounds):
        task = at_noise(problem, noise)
        now = weigh(task, kernels, theta, WEIGHING_GAP, steps)
        kernels, theta = without_zeros(kernels, now)
        if prices and (at_once or number > 0):
            heavy = heaviest(kernels.indices, theta)
            priced = pricing.best(family, now.solution.alpha, heavy, rng)
            fresh = [kernel for kernel in dict.fromkeys(priced) if kernel not in kernels.indices]
            kernels = HeldKernels(family, [*kernels.indices, *fresh], kernels)
            theta = np.append(theta, np.zeros(len(fresh)))
            now = weigh(task, kernels, theta, WEIGHING_GAP, WEIGHING_STEPS, now.solution)
            kernels, theta = without_zeros(kernels, now)
        moved = slide(problem, family, kernels.indices, theta, noise, stage.steps)
        total = moved.value + PARAMETER_COST * parameters(moved.kernels) / problem.observations
        if total > best:
            return
        kernels, theta, noise = HeldKernels(family, moved.kernels), moved.theta, moved.noise
        now = weigh(at_noise(problem, noise), kernels, theta, WEIGHING_GAP, 0)
        kernels, theta = without_zeros(kernels, now)
        over = total > best - ROUND_GAIN
        best, steps = total, 0
        yield (
            Found(kernels.indices, theta, noise, True),
            now.solution,
            Behind(number + 1, best, over),
        )
        if over:
            return


def in_time(
    rounds: Iterator[tuple[Found, DualSolution, Behind]],
) -> tuple[Found, DualSolution, Behind] | None:
    """Return the next round; None where there is no more, or no time for it.

    Kernels of equal widths are a model, too.
    """
    try:
        with strictly():
            return next(rounds, None)
    except OutOfTimeError:
        return None


def parameters(kernels: Sequence[WidthKernel]) -> int:
    """Return the number of free widths and weights of kernels."""
    return sum(1 + len(kernel[1]) for kernel in kernels)


def of_strength(problem: Problem, noise: float) -> Problem:
    """Return the problem; where no strength was given, at that which the noise stands for."""
    return at_noise(problem, noise) if np.isnan(problem.strength) else problem


def at_noise(problem: Problem, noise: float) -> Problem:
    """Return the problem at the strength that a noise level of squared errors stands for.

    Losses of labels are taken for squares of their curvature c at zero, a quarter for the logistic
    loss, around 1 / c times the labels, so that the strength is c times the noise. But kernels of
    many columns may do the work of noise, and leave none. Labels have variance one, of which a
    kernel explains all at the most: allowing it 1 / c times that, and no more, is a noise of one.
    """
    loss, rows = problem.loss, np.count_nonzero(problem.weights)
    if not loss.classification:
        return replace(problem, strength=noise / rows)
    assert isinstance(loss, SmoothLoss)
    curvature = float(loss.curvature(problem.y, np.zeros_like(problem.y)).mean())
    return replace(problem, strength=curvature * (1 + noise) / rows)


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
    found: Found,
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
    if not np.any(alpha):  # a constant fits all rows, and no kernel has a gradient
        return from_norm(problem, solution, 0.0, "estimate")
    mean = float(np.sum(alpha * (solution.fitted - solution.intercept)))
    theta = found.theta
    others = pricing.best(family, alpha, heaviest(found.kernels, theta), rng)
    if bases.rows > CERTIFICATE_ROWS:
        rows = np.sort(rng.choice(bases.rows, CERTIFICATE_ROWS, replace=False))
        spread = (bases.rows - 1) / (len(rows) - 1)
        bases, alpha = bases.take(rows), alpha[rows]
    both = [*found.kernels, *others]
    own = np.full(len(both), np.sum(alpha**2))  # pairs of a row with itself
    if bases.terms is not None and TERMS in both:
        own[both.index(TERMS)] = np.sum(bases.terms.diagonal()[:, None] * alpha**2)
    products = [times(bases.kernel(kernel), alpha) for kernel in both]
    pairs = np.array([float(np.sum(alpha * product)) for product in products]) - own
    gradients = family.weights(both) * (own + spread * pairs)
    expected = float(theta @ gradients[: len(theta)])
    ratio = max(1.0, float(gradients.max()) / expected) if expected > 0 else np.inf
    return from_norm(problem, solution, mean * ratio, "estimate")
