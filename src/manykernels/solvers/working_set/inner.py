"""The optimum of p = 1 over the kernels of a working set, by the first method that suits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Index
from ...bases import FeatureBlocks
from ...certificate import Certificate, from_norm
from ...dual import DualSolution, solve
from ...families import KernelFamily
from ...losses import SmoothLoss
from ...objective import Problem
from ..base import FinalState, Result
from ..full_pass import best_weights
from ..systems import maker, system_of, tall_columns
from .interior import KernelList, solve_interior
from .majorise import descend
from .restricted import FeatureGroups, as_solution, no_groups, restricted_gap, solve_restricted

GAP_SHARE = 0.1
"""Share of the gap over the whole family to which the problem on the set is solved. Set by
judgement, not measured."""

FINEST_GAP = 1e-10
"""Least relative gap to which the problem on a set is ever solved. Set by judgement,
not measured."""

ENTERING_FEATURES = 500
"""Number of features that may enter in a round where kernels have several, or as many as the set
has if these are more. The value is set by judgement; that there is such a limit made
cross-validated fits of small tables 1.3 to 2.6 times faster (commit cd1ee49)."""

RESCUED_ROWS = 3_000
"""Number of rows up to which interior points go on where descent has come to a halt. Set by
judgement, not measured."""

INTERIOR_ROWS = 1_000
"""Number of rows up to which kernels of several features are left to interior points once there
are more than twice as many features. Set by judgement, not measured."""

ANALYTIC_UPDATES = 300
"""Most analytic updates of the weights in one round. Set by judgement, not measured."""

NEARLY_EXACT_GAP = 1e-7
"""Relative gap to which Newton's method always goes, as do interior points where kernels have
several features: for a few steps more the answer does not depend on the method. Interior points of
kernels of one feature do not go so far: that took 40 to 270 rounds near interpolation where 12 are
enough (commit c196e85)."""

ZERO_WEIGHT = 1e-7
"""Share of the largest weight below which a weight is zero, where a method only comes near zero.
Set by judgement, not measured."""


class WorkingKernels:
    """The kernels of a working set, and the optimum over them.

    While there are few features the optimum is sought in their coefficients, which ``groups``
    holds; with many, and for kernels without features, in the weights of the kernels.
    """

    def __init__(self, problem: Problem, family: KernelFamily) -> None:
        self.problem, self.family = problem, family
        self.indices: list[Index] = []
        self.theta = np.empty(0)
        self.smooth = isinstance(problem.loss, SmoothLoss)
        bases = family.bases
        self.several = isinstance(bases, FeatureBlocks) and not bases.single
        self.solution: DualSolution
        self.groups: FeatureGroups | None = no_groups(problem) if family.explicit else None
        if self.groups is None:
            self.solution = solve(problem, system_of(family, [], self.theta))
        else:
            self._optimise(FINEST_GAP)

    @property
    def in_features(self) -> bool:
        """Whether the optimum is sought in the coefficients of features."""
        return self.groups is not None

    @property
    def most_features(self) -> float:
        """Number of features in the set beyond which interior points are faster."""
        rows = self.family.rows
        if not self.several:
            return rows / 2
        return 2 * rows if rows <= INTERIOR_ROWS else np.inf

    @property
    def limit(self) -> float:
        r"""The mean gradient :math:`\langle\theta, g\rangle`; all in use have it at the optimum."""
        if not self.indices:
            return 0.0
        return float(self.theta @ self.family.at(self.solution.alpha).gradients(self.indices))

    def affordable(self, fresh: list[Index]) -> list[Index]:
        """Return the first of some kernels, at least one, whose features may enter together."""
        if not self.several:
            return fresh
        room = max(ENTERING_FEATURES, sum(self.family.widths(self.indices)))
        fits = np.cumsum(self.family.widths(fresh)) <= room
        return fresh[: max(1, int(np.count_nonzero(fits)))]

    def start(self, start: Result) -> None:
        """Take over the kernels of a start and what is known of them."""
        fresh = list(start.indices)
        if self.groups is not None and start.solution.in_features:
            columns, owners = tall_columns(self.family, fresh)
            known = start.memory
            if isinstance(known, FeatureGroups) and known.columns.width == len(owners):
                columns = known.columns
            roots = np.sqrt(start.theta)[owners, None]
            coefficients = roots * start.solution.coefficients
            self.groups = FeatureGroups(columns, owners, coefficients, start.solution.intercept)
            self.indices, fresh = fresh, []
        self.solve(fresh, GAP_SHARE)

    def solve(self, fresh: list[Index], tol: float) -> None:
        """Add kernels; find the optimum over the set."""
        self.indices = self.indices + fresh
        if self.groups is not None:
            if fresh:
                self.groups = self.groups.add(*tall_columns(self.family, fresh))
            if self.smooth and self.groups.columns.width > self.most_features:
                self.groups = None
        self._optimise(tol)

    def _optimise(self, tol: float) -> None:
        """Find the optimum by the first method that suits, or the next where one gives up."""
        for method in INNER_METHODS:
            if method.suits(self) and method.solve(self, tol):
                return

    def adopt(self, groups: FeatureGroups, slopes: Array, live: Array) -> None:
        """Take over the coefficients of some groups, given by a mask, as the optimum."""
        groups = groups.keep(live)
        self.indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        # Columns that came and went must not be made again and again.
        columns = groups.columns.remade(maker(self.family, self.indices))
        self.groups = replace(groups, columns=columns)
        self.theta, self.solution = as_solution(self.problem, self.groups, slopes)

    def weigh(self, theta: Array, live: Array) -> None:
        """Take over the weights of some kernels, given by a mask."""
        self.indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        self.theta = theta[live] / theta[live].sum()

    def solved_at_weights(self) -> tuple[DualSolution, Array, float]:
        """Return the predictor of the weights, its gradients and relative gap over the set."""
        system = system_of(self.family, self.indices, self.theta)
        solution = solve(self.problem, system, self.solution)
        gradients = self.family.at(solution.alpha).gradients(self.indices)
        norm = float(gradients.max(initial=0.0))
        return solution, gradients, from_norm(self.problem, solution, norm, "exact").relative

    def state(self, k: int, certificate: Certificate) -> FinalState:
        """Return the kernels of positive weight and their predictor before round k."""
        live, solution = self.theta > 0, self.solution
        if live.all():
            return FinalState(k, self.indices, self.theta, solution, certificate, self.groups)
        indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        if solution.in_features:
            kept = live[self.family.owners(self.indices)]
            solution = replace(solution, coefficients=solution.coefficients[kept])
        return FinalState(k, indices, self.theta[live], solution, certificate)


def descent(kernels: WorkingKernels, tol: float) -> bool:
    """Descend over one kernel after another; give up near interpolation, where that is slow."""
    assert kernels.groups is not None
    groups, slopes = descend(kernels.problem, kernels.groups, tol)
    few = kernels.family.rows <= RESCUED_ROWS
    if few and restricted_gap(kernels.problem, groups, slopes) > tol:
        kernels.groups = None
        return False
    kernels.adopt(groups, slopes, groups.norms(groups.coefficients) > 0)
    return True


def newton_with_zeros(kernels: WorkingKernels, tol: float) -> bool:
    """Take Newton steps on the coefficients that are not zero."""
    assert kernels.groups is not None
    goal = min(tol, NEARLY_EXACT_GAP)
    groups, slopes = solve_restricted(kernels.problem, kernels.groups, goal)
    kernels.adopt(groups, slopes, groups.norms(groups.coefficients) > 0)
    return True


def proximal(kernels: WorkingKernels, tol: float) -> bool:
    """Do so for a sequence of smoothed losses; give up where it comes to a halt between kinks."""
    assert kernels.groups is not None
    everything = kernels.indices
    groups, slopes = solve_restricted(kernels.problem, kernels.groups, tol)
    # At kinks the slopes must be such that kernels without weight stay so: these stay too.
    kernels.adopt(groups, slopes, np.ones(groups.count, dtype=bool))
    gap = restricted_gap(kernels.problem, kernels.groups, slopes)
    # At kinks a loss has many slopes. Those of proximal steps certify zero weights too; the
    # dual solution is the more accurate one where there are few kernels or none.
    other, _, own = kernels.solved_at_weights()
    if own < gap and other.in_features:
        kernels.solution, gap = other, own
    if gap > tol and everything:
        kernels.groups, kernels.indices, kernels.theta = None, everything, np.empty(0)
        return False
    return True


def interior_points(kernels: WorkingKernels, tol: float) -> bool:
    """Take steps inside the simplex of weights."""
    # Near interpolation the gradients of points well inside lead to the right kernels, those of
    # exact optima of small sets astray.
    goal = min(tol, NEARLY_EXACT_GAP) if kernels.several else tol
    listed = KernelList(kernels.family, kernels.indices)
    theta, kernels.solution = solve_interior(kernels.problem, listed, goal)
    kernels.weigh(theta, theta > ZERO_WEIGHT * theta.max())
    # Ends at once but where interior points have failed (losses with jumps of curvature).
    return analytic_updates(kernels, 2 * tol)


def analytic_updates(kernels: WorkingKernels, tol: float) -> bool:
    """Update the weights until the gap over the set is small enough."""
    # Zeros are absorbing: new kernels start with as much as the average.
    total = len(kernels.indices)
    fresh = np.full(total - len(kernels.theta), 1 / max(1, total))
    kernels.weigh(np.concatenate([kernels.theta, fresh]), np.ones(total, dtype=bool))
    for _ in range(ANALYTIC_UPDATES):
        kernels.solution, gradients, gap = kernels.solved_at_weights()
        if gap <= tol:
            break
        theta = best_weights(kernels.theta, gradients, 1.0)
        kernels.weigh(theta, theta > ZERO_WEIGHT)
    return True


class InnerMethod(NamedTuple):
    """A way to the optimum over a working set.

    ``suits`` tells whether it is the right one for a set as it is now; ``solve`` takes the set and
    a relative gap, and tells whether it got there or another method must go on.
    """

    suits: Callable[[WorkingKernels], bool]
    solve: Callable[[WorkingKernels, float], bool]


INNER_METHODS = (
    # Kernels of several features: one after another, on quadratics (majorise.py).
    InnerMethod(lambda k: k.in_features and k.smooth and k.several and bool(k.indices), descent),
    # Few features: Newton's method with exact zeros (restricted.py).
    InnerMethod(lambda k: k.in_features and k.smooth, newton_with_zeros),
    # The same for a loss with kinks.
    InnerMethod(lambda k: k.in_features, proximal),
    # Many features, down to interpolation, or kernels without features (interior.py).
    InnerMethod(lambda k: k.smooth, interior_points),
    # Slow, but for any loss and from any point.
    InnerMethod(lambda k: True, analytic_updates),
)
"""The methods in the order in which they are asked whether they suit."""
