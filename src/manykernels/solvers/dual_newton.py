"""Newton's method in the dual for very many kernels of one feature and few rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..arrays import Array
from ..backend import approximately, to_host
from ..certificate import from_norm
from ..deadline import check
from ..dual import DualSolution, GramSystem, solve
from ..families import KernelFamily, ProductFamily
from ..losses import Logistic, Squared
from ..objective import Problem, weights_of
from ..potentials import power_norm
from .base import Needs, Result
from .cost_model import system_bytes
from .full_pass import BOLD_EXPONENT, Pass, refuse_long_list
from .kept import frozen

SAMPLED_KERNELS = 100
"""Kernels in the approximate Hessian, in multiples of the rows: its relative error is about
2 / sqrt(100), so that each step leaves a fifth of the error. Set by judgement, not measured."""

CG_PRODUCTS = 30
"""Products of the Hessian with vectors, two matrix products for pairs of columns each, for which a
sampled Hessian of all rows is not made: the most that conjugate gradients take. Set by
judgement, not measured."""

CG_TOL = 0.1
"""Share of its right side to which conjugate gradients solve the equations of a step. Set by
judgement, not measured."""

CONSTANT_REACH = 40.0
"""How far beyond the values of a function its best constant is looked for: e^-40 is nothing beside
the weight of a row. Set by judgement, not measured."""

SHORTEST_STEP = 2.0**-16
"""Share of a step below which no increase of the dual is looked for: what is left is rounding. With
2**-10 a fifth of 60 fits of p = 1.1 near interpolation (30 rows, 91 kernels) ended at their first
step, with this one none."""


@dataclass(frozen=True)
class DualPoint:
    r"""Dual variables, and what takes matrix products for pairs of columns to make from them.

    Attributes
    ----------
    alpha : ndarray of shape (n, 1)
        The dual variables.
    inner : ndarray of shape (d, 1)
        Inner products of the features of all kernels with them; their squares are the gradients.
    norm : float
        The dual norm of the gradients.
    theta : ndarray of shape (d,)
        The weights that are best for the gradients.
    values : ndarray of shape (n, 1)
        The function :math:`K_\theta\alpha` on the training rows.
    """

    alpha: Array
    inner: Array
    norm: float
    theta: Array
    values: Array

    def scaled(self, factor: float) -> DualPoint:
        """Return the point at a multiple of the dual variables, where weights are the same."""
        alpha, inner, values = (factor * part for part in (self.alpha, self.inner, self.values))
        return replace(self, alpha=alpha, inner=inner, values=values, norm=factor**2 * self.norm)

    def on(self, there: KernelFamily) -> Array:
        """Return the function on the rows of the same family elsewhere."""
        return there.combine_all(self.theta[:, None] * self.inner)


@dataclass(frozen=True)
class DualNewton:
    r"""Newton's method for the dual variables, with all kernels in each gradient, for 1 < p < 2.

    For the squared and the logistic loss the dual of the whole problem is a smooth function of n
    variables,

    .. math:: -\sum_t s_t \ell^*(y_t, -\lambda\alpha_t/s_t) - \frac\lambda2 \|g(\alpha)\|_{\nu^*}.

    At a point the weights :math:`\theta_i = (g_i/\|g\|_{\nu^*})^{\nu^*-1}` give the primal point
    :math:`f = K_\theta\alpha`, which is also the gradient of the last norm, halved. Both take two
    matrix products for pairs of columns, O(n) for each kernel and no kernel matrix, and the gap
    between the two points is exact. The Hessian, :math:`(2\nu^*-1)K_\theta` less a matrix of rank
    one, needs O(n^2) for each kernel; kernels drawn in proportion to their weights stand for all
    of them. With many rows the Hessian is not made, and conjugate gradients solve for the step up
    to a tenth. That makes steps a little worse, and nothing else: a step that does not raise the
    dual, or leaves its domain, is halved.
    """

    needs = Needs(lambda p: 1 < p < 2, "1 < p < 2", listed=True)
    starts_from_values = True

    @staticmethod
    def suits(problem: Problem, family: KernelFamily) -> bool:
        """Tell whether sums over all kernels are two matrix products, and the loss is right.

        With fewer kernels than rows full passes are systems of as many features, and the n x n
        matrices here are far larger. With p near 1 the dual is nearly a maximum of very many
        functions, and no longer smooth.
        """
        return (
            BOLD_EXPONENT <= problem.nu < np.inf
            and isinstance(problem.loss, Squared | Logistic)
            and problem.y.shape[1] == 1
            and isinstance(family, ProductFamily)
            and family.in_pairs
            and family.rows <= family.distinct
            and system_bytes(family) <= family.room
        )

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[Pass]:
        """Yield the point before each step, from equal weights or from a start."""
        refuse_long_list(family)
        if kept is None:
            first, point = 1, self._first(problem, family, start)
        else:
            first, point = kept["k"], DualPoint(**kept["point"])
            rng.bit_generator.state = kept["rng"]
        for k in count(first):
            solution = primal_point(problem, point)
            certificate = from_norm(problem, solution, point.norm, "exact")
            power = problem.dual_exponent - 1
            kept = {"k": k, "point": point, "rng": rng.bit_generator.state}
            ahead = partial(_kept, kept)
            yield Pass(k, family, point.theta, solution, certificate, power, point, ahead)
            local = quadratic_model(problem, point.alpha)
            if SAMPLED_KERNELS * family.rows**2 <= CG_PRODUCTS * 2 * family.distinct:
                kernel = sampled_kernel(family, point.theta, rng)
                target = newton_point(local, kernel, point.alpha, point.values)
            else:
                target = newton_point_by_products(local, family, point)
            higher = climb(problem, family, point, target)
            if higher is None:
                return  # rounding: no step raises the dual any more
            point = higher

    @staticmethod
    def _first(problem: Problem, family: KernelFamily, start: Result | None) -> DualPoint:
        """Return the point to begin with: that of equal weights, or of the model of a start."""
        loss = problem.loss
        assert isinstance(loss, Squared | Logistic)
        if start is None:
            kernel = to_host(family.closed()) / approximately(family.size) ** (1 / problem.nu)
            alpha = solve(problem, GramSystem(kernel)).alpha
        elif isinstance(loss, Squared) and isinstance(start.memory, DualPoint):
            return start.memory.scaled(best_scale(problem, start.memory))
        else:  # the slopes of a model are those of a dual point at any strength
            values = start.solution.fitted
            if problem.intercept:
                values = values + best_constant(problem, values)
            alpha = problem.dual_point(loss.gradient(problem.y, values))
        point = made(problem, family, alpha, inner_of_all(family, alpha))
        return point.scaled(best_scale(problem, point)) if isinstance(loss, Squared) else point

    resume = iterate


def _kept(now: dict[str, Any]) -> dict[str, Any]:
    """Return what the steps go on from."""
    return {**now, "point": frozen(now["point"])}


def quadratic_model(problem: Problem, alpha: Array) -> Problem:
    r"""Return the problem of squared loss whose dual is the same at a point up to second order.

    Its targets are :math:`u - v/\ell''(u)` and its weights :math:`s\,\ell''(u)`, with u the value
    at which the loss has the slope v.
    """
    loss, slopes = problem.loss, problem.slopes(alpha)
    assert isinstance(loss, Squared | Logistic)
    values = loss.inverse_gradient(problem.y, slopes)
    curvature = loss.curvature(problem.y, values)
    targets, weights = values - slopes / curvature, problem.weights * curvature[:, 0]
    return replace(problem, y=targets, weights=weights, loss=Squared())


def ridge(problem: Problem, kernel: Array, target: Array) -> Array:
    """Return the dual variables of a ridge problem with a kernel matrix and a target."""
    linear = problem.weights[:, None] * target
    system = GramSystem(kernel)
    found = system.ridge(problem.weights, linear, problem.strength, problem.intercept)
    return found.pull / problem.strength


def inner_of_all(family: KernelFamily, alpha: Array) -> Array:
    """Return the inner products of the features of all kernels with dual variables."""
    inner = family.inner_of_all(alpha)
    if inner is None:
        raise ValueError(
            "DualNewton() needs kernels of one feature that are at most pairs of columns in "
            "memory; got others. Use solver='auto'."
        )
    return inner


def made(problem: Problem, family: KernelFamily, alpha: Array, inner: Array) -> DualPoint:
    """Return a dual point with its weights and the function they stand for."""
    gradients = inner[:, 0] ** 2
    norm = power_norm(gradients, problem.dual_exponent)
    theta = weights_of(gradients, problem.dual_exponent - 1, norm)
    return DualPoint(alpha, inner, norm, theta, family.combine_all(theta[:, None] * inner))


def best_scale(problem: Problem, point: DualPoint) -> float:
    """Return the multiple of a point with the largest dual value, a quadratic function of it."""
    none, once, twice = (problem.dual(c * point.alpha, c**2 * point.norm) for c in (0.0, 1.0, 2.0))
    bend = 2 * once - none - twice
    return (4 * once - 3 * none - twice) / (2 * bend) if bend > 0 else 1.0


def primal_point(problem: Problem, point: DualPoint) -> DualSolution:
    """Return the function of a dual point with its best constant."""
    alpha, values = point.alpha, point.values
    b = best_constant(problem, values) if problem.intercept else np.zeros(1)
    objective = problem.primal(values + b, float(np.sum(alpha * values)))
    return DualSolution(alpha, alpha, False, b, values + b, objective)


def best_constant(problem: Problem, values: Array) -> Array:
    """Return the constant that a function is best increased by, of shape (1,)."""
    y, weights, loss = problem.y, problem.weights[:, None], problem.loss
    if isinstance(loss, Squared):
        return problem.weights @ (y - values)
    assert isinstance(loss, Logistic)
    reach = float(np.abs(values).max()) + CONSTANT_REACH
    slope = lambda b: float(np.sum(weights * loss.gradient(y, values + b)))  # noqa: E731
    return np.array([brentq(slope, -reach, reach, xtol=1e-14)])


def sampled_kernel(family: KernelFamily, theta: Array, rng: np.random.Generator) -> Array:
    """Return an estimate of the weighted sum of all kernels, from evenly spaced draws."""
    sums = np.cumsum(theta)
    drawn = SAMPLED_KERNELS * family.rows
    places = (np.arange(drawn) + rng.random()) * (sums[-1] / drawn)
    chosen = np.minimum(np.searchsorted(sums, places, side="right"), len(theta) - 1)
    numbers, repeats = np.unique(chosen, return_counts=True)
    assert isinstance(family, ProductFamily)
    return to_host(family.gram_of_some(numbers, repeats * (sums[-1] / drawn)))


def newton_point(problem: Problem, kernel: Array, alpha: Array, values: Array) -> Array:
    """Return the maximum of the dual's quadratic model with an approximate kernel."""
    power = 2 * problem.dual_exponent
    own = kernel @ alpha
    size = float(np.sum(alpha * own))
    hessian = (power - 1) * kernel
    if size > 0:
        hessian -= (power - 2) / size * (own @ own.T)
    return ridge(problem, hessian, problem.y - values + hessian @ alpha)


def newton_point_by_products(problem: Problem, family: KernelFamily, point: DualPoint) -> Array:
    """Return about the same with all kernels, by conjugate gradients on the change of ``alpha``.

    With an intercept the change adds up to zero, and so do all directions.
    """
    alpha, values = point.alpha, point.values
    power, size = 2 * problem.dual_exponent, float(np.sum(alpha * values))
    own = problem.strength / problem.weights[:, None]

    def hessian(change: Array) -> Array:
        out = (power - 1) * family.expansion_of_all(point.theta, change, family)
        if size > 0:
            out -= (power - 2) / size * np.sum(values * change) * values
        return np.asarray(out + own * change)

    def solved(rest: Array) -> Array:
        constant = np.sum(rest / own) / np.sum(1 / own) if problem.intercept else 0.0
        return np.asarray((rest - constant) / own)

    rest = problem.y - own * alpha - values
    change, near = np.zeros_like(alpha), solved(rest)
    direction, energy = near, float(np.sum(rest * near))
    goal = CG_TOL**2 * energy
    for _ in range(CG_PRODUCTS):
        check()
        if not energy > goal:
            break
        product = hessian(direction)
        step = energy / float(np.sum(direction * product))
        change, rest = change + step * direction, rest - step * product
        near, before = solved(rest), energy
        energy = float(np.sum(rest * near))
        direction = near + energy / before * direction
    return np.asarray(alpha + change)


def climb(
    problem: Problem, family: KernelFamily, point: DualPoint, target: Array
) -> DualPoint | None:
    """Return a point with a larger dual value on the way to a target; None if there is none.

    Inner products are linear along the way.
    """
    share, before = 1.0, problem.dual(point.alpha, point.norm)
    way, inner = target - point.alpha, inner_of_all(family, target) - point.inner
    while share > SHORTEST_STEP:
        check()
        there, along = point.alpha + share * way, point.inner + share * inner
        norm = power_norm(along[:, 0] ** 2, problem.dual_exponent)
        if problem.dual(there, norm) > before:
            return made(problem, family, there, along)
        share /= 2
    return None
