"""The problem of p = 1 on a few kernels: Newton's method with exact zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...arrays import Array
from ...deadline import check
from ...dual import DualSolution, TallColumns
from ...dual.newton import Smoothed, proximal_steps
from ...dual.systems import factorise
from ...losses import Loss, NonsmoothLoss, SmoothLoss, Squared
from ...objective import Problem, in_weights
from .lengths import minimum_in_lengths

NEWTON_STEPS = 100
"""Most Newton steps for one smooth problem. Set by judgement, not measured."""

PATIENT_STEPS = 20
"""Number of smoothed problems after which the next must lower the gap by a tenth. Set by judgement,
not measured."""

PIVOTS = 20
"""Most times that one Newton step is solved anew without the groups that changed sign. Set by
judgement, not measured."""

HALVINGS = 30
"""Most times that one step is halved: down to a billionth of it."""

FLAT = 1e-6
"""Mean curvature of a loss, as a share of its largest, below which some is added so that Newton
steps have a length. Set by judgement, not measured."""

TWIN_MARGIN = 1e-10
"""Share by which the gradient of a column must exceed the limit to enter. By rounding alone the
twin of a column in use would, and make the system of both singular; a problem in lengths is not."""

OBJECTIVE_ROUNDING = 1e-14
"""Relative change of an objective that is no more than rounding."""


@dataclass(frozen=True)
class FeatureGroups:
    """Columns in groups, and coefficients of theirs.

    Attributes
    ----------
    columns : TallColumns
        The features of some kernels side by side, of shape (n, m).
    owners : ndarray of int of shape (m,)
        The group that each column belongs to, ascending.
    coefficients : ndarray of shape (m, c)
        Coefficients of the columns, one column for each output.
    intercept : ndarray of shape (c,)
        The constants.
    """

    columns: TallColumns
    owners: Array
    coefficients: Array
    intercept: Array

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.owners.max(initial=-1)) + 1

    def norms(self, values: Array) -> Array:
        """Return the norm of each group of rows of an array of shape (m, c)."""
        return np.sqrt(np.bincount(self.owners, np.sum(values**2, axis=1)))

    @cached_property
    def fitted(self) -> Array:
        """Predictions on the training rows."""
        return self.columns.dot(self.coefficients) + self.intercept

    def keep(self, groups: Array) -> FeatureGroups:
        """Return some of the groups, given by a mask."""
        rows = groups[self.owners]
        numbers = np.cumsum(groups) - 1
        return replace(
            self,
            columns=self.columns.keep(rows),
            owners=numbers[self.owners[rows]],
            coefficients=self.coefficients[rows],
        )

    def add(self, columns: TallColumns, owners: Array) -> FeatureGroups:
        """Return these groups and more, with coefficients of zero."""
        nothing = np.zeros((columns.width, self.coefficients.shape[1]))
        return replace(
            self,
            columns=self.columns.add(columns),
            owners=np.concatenate([self.owners, owners + self.owners.max(initial=-1) + 1]),
            coefficients=np.vstack([self.coefficients, nothing]),
        )


def no_groups(problem: Problem) -> FeatureGroups:
    """Return no groups at all, and constants of zero."""
    rows, outputs = problem.y.shape
    columns = TallColumns(lambda part: np.empty((len(range(rows)[part]), 0)), rows, 0)
    none = np.empty(0, dtype=int)
    return FeatureGroups(columns, none, np.empty((0, outputs)), np.zeros(outputs))


def value(problem: Problem, loss: Loss | Smoothed, groups: FeatureGroups) -> float:
    r"""Return :math:`\sum_t s_t\ell(f_t) + \frac\lambda2 (\sum_i \|w_i\|)^2`."""
    risk = float(np.sum(problem.weights[:, None] * loss.value(problem.y, groups.fitted)))
    return risk + problem.strength / 2 * float(groups.norms(groups.coefficients).sum()) ** 2


def solve_restricted(
    problem: Problem, groups: FeatureGroups, tol: float
) -> tuple[FeatureGroups, Array]:
    r"""Minimise over the coefficients of all groups; return them and slopes :math:`\ell'(f)`.

    Stops when the duality gap over these groups is below ``tol`` times the objective. A nonsmooth
    loss is solved as a sequence of smooth ones around the last slopes (see
    :func:`manykernels.dual.newton.proximal_steps`).
    """
    loss = problem.loss
    if isinstance(loss, SmoothLoss):
        groups = newton(problem, loss, groups, tol)
        return groups, loss.gradient(problem.y, groups.fitted)
    assert isinstance(loss, NonsmoothLoss)

    def step(
        smoothed: Smoothed, last: FeatureGroups, goal: float
    ) -> tuple[FeatureGroups, Array, float]:
        found = newton(problem, smoothed, last, goal, 1 / smoothed.width)
        slopes = smoothed.gradient(problem.y, found.fitted)
        return found, slopes, restricted_gap(problem, found, slopes)

    slopes = loss.gradient(problem.y, groups.fitted)
    return proximal_steps(problem, loss, groups, slopes, tol, step, PATIENT_STEPS)


def restricted_gap(problem: Problem, groups: FeatureGroups, slopes: Array) -> float:
    """Return the duality gap over these groups, relative to the objective."""
    alpha = problem.dual_point(slopes)
    largest = float(groups.norms(groups.columns.transposed_dot(alpha)).max(initial=0.0)) ** 2
    primal = value(problem, problem.loss, groups)
    return problem.gap(primal, alpha, largest, groups.intercept)[1]


def smooth_gap(problem: Problem, groups: FeatureGroups, slopes: Array, gradient: Array) -> float:
    r"""Return the duality gap over these groups where the slopes are those of the predictor.

    Then :math:`\ell(f) + \ell^*(v) = v f`, and no conjugate is needed. ``gradient`` is that of the
    risk in the coefficients: inner products of the columns with the weighted slopes.
    """
    alpha = problem.dual_point(slopes)
    size = float(groups.norms(groups.coefficients).sum())
    largest = float(groups.norms(gradient).max(initial=0.0)) / problem.strength
    inner = float(np.sum(alpha * (groups.fitted - groups.intercept)))
    slack = problem.infeasibility(alpha, groups.intercept)
    return problem.strength / 2 * (size**2 - 2 * inner + largest**2) + slack


def newton(
    problem: Problem,
    loss: SmoothLoss | Smoothed,
    groups: FeatureGroups,
    tol: float,
    steepest: float = 1.0,
) -> FeatureGroups:
    r"""Minimise a smooth risk with the squared sum of norms by Newton's method on the support.

    The penalty is smooth while no group is zero: with directions :math:`u_i = w_i/\|w_i\|` and
    :math:`\sigma = \sum_i\|w_i\|` its derivative is :math:`\lambda\sigma u` and its second
    derivative :math:`\lambda(uu^\top + \mathrm{diag}(\sigma(I - u_iu_i^\top)/\|w_i\|))`. For
    groups of one coefficient it is quadratic, so that for the squared loss a step ends at the
    exact optimum of its support. FeatureGroups that a step would turn around are set to zero; zero
    groups with a gradient above :math:`\lambda\sigma` enter in its direction. O(n m^2 + m^3)
    a step for m coefficients in the support.
    """
    objective, extra = value(problem, loss, groups), 0.0
    slopes = loss.gradient(problem.y, groups.fitted)
    gradient = groups.columns.transposed_dot(problem.weights[:, None] * slopes)
    gap = smooth_gap(problem, groups, slopes, gradient)
    for _ in range(NEWTON_STEPS):
        check()
        if gap <= tol * objective:
            break
        curvature: Array | None = None
        if not isinstance(loss, Squared):
            curvature = loss.curvature(problem.y, groups.fitted)
            if float(problem.weights @ curvature.min(axis=1)) < FLAT * steepest:
                # Much more than the penalty's own curvature would make of them steps downhill.
                extra = max(extra, min(100 * FLAT * steepest, problem.strength))
            curvature = curvature + extra
        model = Model(problem, groups, slopes, gradient, curvature)
        for trial in model.trials():
            check()
            moved, halvings = trial(), 0
            reached = value(problem, loss, moved)
            while reached > objective * (1 + OBJECTIVE_ROUNDING) and halvings < HALVINGS:
                moved, halvings = between(groups, moved), halvings + 1
                reached = value(problem, loss, moved)
            after = loss.gradient(problem.y, moved.fitted)
            further = moved.columns.transposed_dot(problem.weights[:, None] * after)
            left = smooth_gap(problem, moved, after, further)
            # Near the optimum the gap still shows what the objective no longer does.
            if reached < objective * (1 - OBJECTIVE_ROUNDING) or left < 0.9 * gap:
                break
        else:
            if extra >= steepest or isinstance(loss, Squared):
                break  # rounding: no further progress is possible
            extra = max(FLAT * steepest, 100 * extra)
            continue
        groups, objective, slopes, gradient, gap = moved, reached, after, further, left
        # Where a loss is flat Newton steps are far too long; some curvature shortens them.
        extra = max(FLAT * steepest, 10 * extra) if halvings > 3 else extra / 10
        extra = 0.0 if extra < FLAT * steepest else extra
    return groups


def between(groups: FeatureGroups, other: FeatureGroups) -> FeatureGroups:
    """Return the coefficients half way between two sets of them."""
    return replace(
        groups,
        coefficients=(groups.coefficients + other.coefficients) / 2,
        intercept=(groups.intercept + other.intercept) / 2,
    )


class Model:
    """The quadratic model of the objective around given coefficients."""

    def __init__(
        self,
        problem: Problem,
        groups: FeatureGroups,
        slopes: Array,
        gradient: Array,
        curvature: Array | None,
    ) -> None:
        self.problem, self.groups, self.gradient = problem, groups, gradient
        weights, outputs = problem.weights[:, None], range(problem.y.shape[1])
        self.slope = np.sum(weights * slopes, axis=0)
        self.norms, steep = groups.norms(groups.coefficients), groups.norms(gradient)
        self.total = float(self.norms.sum())
        self.single = len(groups.owners) == groups.count
        margin = TWIN_MARGIN if self.single else OBJECTIVE_ROUNDING
        self.free = (self.norms > 0) | (steep > problem.strength * self.total * (1 + margin))
        new = self.norms == 0
        lengths = np.where(new, steep, self.norms)
        lengths = np.where(lengths > 0, lengths, 1.0)[groups.owners, None]
        # Unit vectors: of the coefficients, or down the slope from zero.
        self.directions = (
            np.where(new[groups.owners, None], -gradient, groups.coefficients) / lengths
        )
        # The same array each time where curvature is one, so that products are made only once.
        bends = [
            problem.weights if curvature is None else (weights * curvature)[:, c].copy()
            for c in outputs
        ]
        linear = np.stack(bends, axis=1) * groups.fitted - weights * slopes
        self.columns = groups.columns
        self.inside = np.ones(len(groups.owners), dtype=bool)
        if curvature is not None:
            self.inside = self.free[groups.owners]
            self.columns = self.columns.keep(self.inside)
        totals = np.array([float(bend.sum()) for bend in bends])
        self.levels = linear.sum(axis=0) / totals if problem.intercept else np.zeros(len(bends))
        self.right = self.columns.transposed_dot(linear - self.levels * np.stack(bends, axis=1))
        self.centres, self.matrices = [], []
        for bend, total in zip(bends, totals.tolist(), strict=True):
            centre, products = self.columns.products(bend)
            self.centres.append(centre if problem.intercept else np.zeros_like(centre))
            if not problem.intercept:
                products = products + total * np.outer(centre, centre)
            self.matrices.append(products)

    def trials(self) -> tuple[Callable[[], FeatureGroups], ...]:
        """Return the steps to try, one after another, until one lowers the objective."""
        if self.single and len(self.matrices) == 1:
            return self.bold_step, self.careful_step
        return partial(self.step_in_lengths, True), partial(self.step_in_lengths, False)

    def step_in_lengths(self, bold: bool) -> FeatureGroups:
        """Return the minimum over lengths that are not negative; a bold one has exact zeros."""
        groups, rows = self.groups, self.free[self.groups.owners]
        numbers = np.cumsum(self.free) - 1
        weights = np.where(self.norms > 0, self.norms, self.short) / (self.total or self.short)
        local = rows[self.inside]
        centres, owners = np.stack(self.centres)[:, local], numbers[groups.owners[rows]]
        step, lengths = minimum_in_lengths(
            [matrix[np.ix_(local, local)] for matrix in self.matrices],
            centres.T * self.slope - self.gradient[rows],
            self.directions[rows],
            owners,
            self.norms[self.free],
            weights[self.free],
            self.problem.strength,
        )
        found = groups.coefficients[rows] + step
        if bold:
            found = found * (lengths > 0)[owners, None]
        return self._with(rows, found, centres)

    def _with(self, rows: Array, found: Array, centres: Array) -> FeatureGroups:
        """Return coefficients of some columns, all others zero, and the best constants."""
        coefficients = np.zeros_like(self.groups.coefficients)
        coefficients[rows] = found
        intercept = self.levels - np.sum(centres * found.T, axis=1)
        return replace(self.groups, coefficients=coefficients, intercept=intercept)

    @property
    def short(self) -> float:
        """A length for groups that have none yet: small beside the mean of the others'."""
        return 1e-3 * (self.total / max(1, int(np.count_nonzero(self.norms))) or 1.0)

    def bold_step(self) -> FeatureGroups:
        """Return the minimum without the groups that turn around, one set after another."""
        free = self.free
        for _ in range(PIVOTS):
            check()
            moved = self.minimum(free)
            turned = free & (self.along(moved) <= 0)
            if not turned.any():
                break
            free = free & ~turned
        return moved

    def careful_step(self) -> FeatureGroups:
        """Return the way to the minimum up to where the first group reaches zero."""
        free = self.free
        while True:
            moved = self.minimum(free)
            length = self.along(moved)
            stuck = free & (self.norms == 0) & (length <= 0)
            if not stuck.any():
                break
            free = free & ~stuck
        turned = np.flatnonzero(length < 0)
        if not len(turned):
            return moved
        times = self.norms[turned] / (self.norms[turned] - length[turned])
        share, first = float(times.min()), int(turned[times.argmin()])
        start = self.groups
        coefficients = start.coefficients + share * (moved.coefficients - start.coefficients)
        coefficients[start.owners == first] = 0.0
        intercept = start.intercept + share * (moved.intercept - start.intercept)
        return replace(start, coefficients=coefficients, intercept=intercept)

    def along(self, moved: FeatureGroups) -> Array:
        """Return the length of each group along its direction."""
        inner = np.sum(moved.coefficients * self.directions, axis=1)
        return np.bincount(self.groups.owners, inner)

    def minimum(self, free: Array) -> FeatureGroups:
        """Return the minimum of the model over some coefficients, others zero; of one output."""
        rows = free[self.groups.owners]
        local, axis = rows[self.inside], self.directions[rows, 0]
        whole = self.matrices[0][np.ix_(local, local)]
        whole = whole + self.problem.strength * np.outer(axis, axis)
        found = np.zeros_like(axis)
        if len(axis):
            found = factorise(whole)[0].solve(self.right[local, 0])
        return self._with(rows, found[:, None], np.stack(self.centres)[:, local])


def as_solution(
    problem: Problem, groups: FeatureGroups, slopes: Array
) -> tuple[Array, DualSolution]:
    r"""Return the weights :math:`\theta_i = \|w_i\|/\sum_j\|w_j\|` and the predictor in them."""
    theta, scaled = in_weights(groups.coefficients, groups.owners)
    alpha, fitted = problem.dual_point(slopes), groups.fitted
    objective = value(problem, problem.loss, groups)
    return theta, DualSolution(alpha, scaled, True, groups.intercept, fitted, objective)
