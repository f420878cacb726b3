"""The rounds of a working set: price the whole family, add kernels, solve, drop kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Index
from ...certificate import UNKNOWN, Certificate
from ...deadline import OutOfTimeError, check
from ...dual import solve, system_of
from ...families import KernelFamily
from ...losses import SmoothLoss
from ...objective import Problem, best_weights
from ..base import FinalState, Needs, Result, refuse_settings
from .interior import KernelList, solve_interior
from .kept import frozen_set, restore_set
from .kernels import SubspaceKernels, WorkingKernels
from .prices import ROUGH_GAP, Prices
from .restricted import newton, restricted_gap, solve_restricted

IDLE_ROUNDS = 2
"""Number of rounds without a new kernel and without progress after which a run ends: what is left
is rounding. Set by judgement, not measured."""

GAP_SHARE = 0.1
"""Share of the gap over the whole family to which the problem on the set is solved. Set by
judgement, not measured."""

FIRST_GAP = 0.01
"""Relative gap to which the problem on the set is solved before the family is first priced, where a
run starts from another strength. Set by judgement, not measured."""

FINEST_GAP = 1e-15
"""Least relative gap to which the problem on a set is ever solved: what rounding leaves."""

ANALYTIC_UPDATES = 300
"""Most analytic updates of the weights in one round. Set by judgement, not measured."""

NEARLY_EXACT_GAP = 1e-7
"""Relative gap to which Newton's method always goes, as do interior points where kernels have
several features: for a few steps more the answer does not depend on the method. Interior points of
kernels of one feature do not go so far: that took 40 to 270 rounds near interpolation where 12 are
enough (benchmarks/convergence.py)."""

ZERO_WEIGHT = 1e-7
"""Share of the largest weight below which a weight is zero, where a method only comes near zero.
Set by judgement, not measured."""


@dataclass(frozen=True)
class WorkingSet:
    r"""Solve p = 1 on a small set of kernels, price the whole family, add the worst offenders.

    At the optimum no kernel has a gradient above :math:`\langle\theta, g\rangle`. Each round adds
    the kernels of largest gradient that do, solves the problem on the set to a tenth of the gap,
    and drops the kernels whose weight has become zero.

    Parameters
    ----------
    batch : int, default=20
        Fewest kernels that may enter in a round; as many as there are in the set if these are
        more.
    """

    batch: int = 20
    needs: ClassVar[Needs] = Needs(lambda p: p == 1, "p = 1", priced=True)

    def __post_init__(self) -> None:
        refuse_settings(self, {"batch": 1})

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[FinalState]:
        """Yield the state before each round, from no kernels or from those of a start.

        Cost of a round: one pricing of the family and a few Newton steps, O(n m^2 + m^3) each for
        m features in the set (kernels without features: O(n^3 + m n^2) for each update of the
        weights).
        """
        several = family.explicit and not family.blocks.single
        subspaced = several and isinstance(problem.loss, SmoothLoss)
        inside = (SubspaceKernels if subspaced else WorkingKernels)(problem, family, start)
        if kept is not None:
            restore_set(inside, kept["set"])
        prices = inside.prices = inside.prices or Prices(family)
        steps: list[tuple[list[Index], float]] = [([], FINEST_GAP)]
        if start is not None and start.indices:
            steps = [*steps, (list(start.indices), GAP_SHARE)]
            if inside.indices:  # taken over with their coefficients
                steps = [(inside.next, FIRST_GAP)]
        idle, smallest, before, better = 0, np.inf, np.inf, True
        first = 1
        if kept is not None:  # goes on behind the optimum over the set
            first, (idle, smallest, before, better) = kept["k"], kept["progress"]
        for k in count(first):
            if kept is None:
                for fresh, goal in steps:
                    inside.enter(fresh)
                    # The first method that suits, or the next where one leaves something to do.
                    for method in INNER_METHODS:
                        if goal > 0 and method.suits(inside):
                            goal = method.solve(inside, goal)
                lower = inside.solution.objective < before * (1 - 1e-10)
                idle = 0 if fresh or inside.grew or lower or better else idle + 1
                if idle >= IDLE_ROUNDS:
                    return  # rounding: the set is right and its optimum as good as can be had
            kept = None
            solution, size = inside.solution, len(inside.indices)
            room = max(self.batch, size) if inside.groups else family.rows
            # Kernels of the set may be listed too, so room is left for all of them.
            for fine in (False, True):
                try:
                    listed, norm = prices.top(solution.alpha, room + size, fine)
                except OutOfTimeError:
                    if k != 2:
                        raise
                    norm = np.inf  # the first model with kernels is better than none
                if norm == np.inf:  # there was no time to look at all kernels
                    gap = np.inf, np.inf
                    break
                gap = problem.gap(solution.objective, solution.alpha, norm, solution.intercept)
                if gap[1] > ROUGH_GAP or not prices.refines:
                    break
            certificate = Certificate(*gap, "exact") if norm < np.inf else UNKNOWN
            if (inside.theta > 0).all():
                weights = inside.indices, inside.theta
                state = FinalState(k, weights, size, solution, certificate, inside.memory)
            else:
                state = inside.without_zeros(k, certificate)
            progress = idle, smallest, before, better
            yield replace(state, kept=partial(_kept, k, inside, progress))
            before, better = solution.objective, gap[1] < 0.5 * smallest
            smallest = min(smallest, gap[1])
            steps = [(inside.entering(listed, room), max(FINEST_GAP, GAP_SHARE * min(1.0, gap[1])))]

    resume = iterate


def _kept(k: int, inside: WorkingKernels, progress: tuple[Any, ...]) -> dict[str, Any]:
    """Return what the rounds go on from: the set before it is priced."""
    return {"k": k, "set": frozen_set(inside), "progress": progress}


def newton_with_zeros(kernels: WorkingKernels, tol: float) -> float:
    """Take Newton steps on the coefficients that are not zero."""
    problem, loss = kernels.problem, kernels.problem.loss
    assert kernels.groups is not None
    assert isinstance(loss, SmoothLoss)
    goal = tol if isinstance(kernels, SubspaceKernels) else min(tol, NEARLY_EXACT_GAP)
    groups = newton(problem, loss, kernels.groups, goal)
    slopes = loss.gradient(problem.y, groups.fitted)
    kernels.adopt(groups, slopes, groups.norms(groups.coefficients) > 0)
    return 0.0


def proximal(kernels: WorkingKernels, tol: float) -> float:
    """Do so for a sequence of smoothed losses; give up where it comes to a halt between kinks."""
    assert kernels.groups is not None
    problem, family, everything = kernels.problem, kernels.family, kernels.indices
    groups, slopes = solve_restricted(problem, kernels.groups, tol)
    # At kinks the slopes must be such that kernels without weight stay so: these stay too.
    kernels.adopt(groups, slopes, np.ones(groups.count, dtype=bool))
    gap = restricted_gap(problem, kernels.groups, slopes)
    # At kinks a loss has many slopes. Those of proximal steps certify zero weights too; the
    # dual solution is the more accurate one where there are few kernels or none.
    system = system_of(family, kernels.indices, kernels.theta)
    other = solve(problem, system, kernels.solution)
    norm = float(family.at(other.alpha).gradients(kernels.indices).max(initial=0.0))
    own = problem.gap(other.objective, other.alpha, norm, other.intercept)[1]
    if own < gap and other.in_features:
        kernels.solution, gap = other, own
    if gap > tol and everything:
        kernels.groups, kernels.indices, kernels.theta = None, everything, np.empty(0)
        return tol
    return 0.0


def interior_points(kernels: WorkingKernels, tol: float) -> float:
    """Take steps inside the simplex of weights; leave the rest to analytic updates.

    There is none but where interior points have failed (losses with jumps of curvature).
    """
    # Near interpolation the gradients of points well inside lead to the right kernels, those of
    # exact optima of small sets astray.
    listed = KernelList(kernels.family, kernels.indices)
    theta, kernels.solution = solve_interior(kernels.problem, listed, tol)
    live = theta > ZERO_WEIGHT * theta.max()
    kernels.indices = list(compress(kernels.indices, live.tolist()))
    kernels.theta = theta[live] / theta[live].sum()
    return 2 * tol


def analytic_updates(kernels: WorkingKernels, tol: float) -> float:
    """Update the weights until the gap over the set is small enough."""
    problem, family = kernels.problem, kernels.family
    # Zeros are absorbing: new kernels start with as much as the average.
    total = len(kernels.indices)
    theta = np.append(kernels.theta, np.full(total - len(kernels.theta), 1 / total))
    live = np.ones(total, dtype=bool)
    for _ in range(ANALYTIC_UPDATES):
        check()
        kernels.indices = list(compress(kernels.indices, live.tolist()))
        kernels.theta = theta[live] / theta[live].sum()
        system = system_of(family, kernels.indices, kernels.theta)
        kernels.solution = found = solve(problem, system, kernels.solution)
        gradients = family.at(found.alpha).gradients(kernels.indices)
        norm = float(gradients.max(initial=0.0))
        if problem.gap(found.objective, found.alpha, norm, found.intercept)[1] <= tol:
            break
        theta = best_weights(kernels.theta, gradients, 1.0)
        live = theta > ZERO_WEIGHT
    return 0.0


class InnerMethod(NamedTuple):
    """A way to the optimum over a working set.

    ``suits`` tells whether it is the right one for a set as it is now; ``solve`` takes the set and
    a relative gap, and returns the gap to which another method must go on; 0 if it got there.
    """

    suits: Callable[[WorkingKernels], bool]
    solve: Callable[[WorkingKernels, float], float]


INNER_METHODS = (
    # Few features: Newton's method with exact zeros (restricted.py).
    InnerMethod(lambda k: k.groups is not None and k.smooth, newton_with_zeros),
    # The same for a loss with kinks.
    InnerMethod(lambda k: k.groups is not None, proximal),
    # Many features, down to interpolation, or kernels without features (interior.py).
    InnerMethod(lambda k: k.smooth and bool(k.indices), interior_points),
    # Slow, but for any loss and from any point.
    InnerMethod(lambda k: bool(k.indices), analytic_updates),
)
"""The methods in the order in which they are asked whether they suit."""
