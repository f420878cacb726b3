"""The weights of a set of kernels at p = 1: Newton's method on the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...deadline import check
from ...dual import DualSolution, System, solve
from ...objective import Problem
from ..working_set.interior import KernelList, half_curvature
from ..working_set.lengths import nonnegative_minimum
from .held import HeldKernels

WEIGHING_TOL = 1e-8
"""Relative duality gap to which the dual is solved at each step. Set by judgement, not measured."""

SUM_STIFFNESS = 10.0
"""How stiff the spring is that holds the sum of the weights at one within a Newton step, in units
of the largest curvature in a weight. Set by judgement, not measured."""

KEPT_DECREASE = 1e-4
"""Share of the decrease that the slope promises which a step must keep, or else is halved."""

STEP_HALVINGS = 8
"""Most times that a step is halved. Set by judgement, not measured."""


@dataclass(frozen=True)
class Weighed:
    r"""Weights of a set of kernels and what belongs to them.

    Attributes
    ----------
    theta : ndarray of shape (m,)
        Weights, many of them zero, which add up to one.
    solution : DualSolution
        Their predictor.
    gradients : ndarray of shape (m,)
        :math:`g_i = \alpha^\top K_i \alpha / \rho_i^2` of all kernels of the set.
    """

    theta: Array
    solution: DualSolution
    gradients: Array
    responses: Array
    system: System


def weigh(
    problem: Problem,
    kernels: KernelList | HeldKernels,
    theta: Array,
    tol: float,
    steps: int,
    start: DualSolution | None = None,
) -> Weighed:
    r"""Minimise :math:`J(\theta)` over the simplex, from given weights.

    Each step minimises the quadratic model of J at the present weights exactly over
    :math:`\theta \ge 0`, a nonnegative quadratic problem in which a spring and its multiplier hold
    the sum at one, so that weights become zero and leave zero at once. It costs one dual solution
    and one factorisation, O(n^3 + n^2 m). Ends when the duality gap over the set is below ``tol``
    times the objective, or after a number of steps.
    """
    now = at_weights(problem, kernels, theta, start)
    for _ in range(steps):
        check()
        if set_gap(problem, now) <= tol:
            break
        step = newton_step(problem, now)
        promised = problem.slope(now.gradients) @ step
        length, value = 1.0, now.solution.objective
        for _ in range(STEP_HALVINGS):
            trial = at_weights(problem, kernels, now.theta + length * step, now.solution)
            if trial.solution.objective <= value - KEPT_DECREASE * length * promised:
                now = trial
                break
            length /= 2
        else:
            break
    return now


def set_gap(problem: Problem, now: Weighed) -> float:
    """Return the relative duality gap over the kernels of a set."""
    solution, largest = now.solution, float(now.gradients.max())
    return problem.gap(solution.objective, solution.alpha, largest, solution.intercept)[1]


def at_weights(
    problem: Problem,
    kernels: KernelList | HeldKernels,
    theta: Array,
    start: DualSolution | None,
) -> Weighed:
    """Return the predictor and the gradients at given weights."""
    system = kernels.system(theta)
    solution = solve(problem, system, start, WEIGHING_TOL)
    responses = kernels.responses(solution.alpha)
    gradients = np.einsum("mnc,nc->m", responses, solution.alpha)
    return Weighed(theta, solution, gradients, responses, system)


def newton_step(problem: Problem, now: Weighed) -> Array:
    """Return the step to the minimum of the quadratic model over the simplex."""
    half = half_curvature(problem, now.system.matrix(), now.solution.fitted, now.responses)
    curvature = half.T @ half
    slopes = problem.slope(now.gradients)
    spring = SUM_STIFFNESS * float(np.diag(curvature).max())
    multiplier = float(now.theta @ slopes)
    downhill = slopes - multiplier + spring * (1 - now.theta.sum())
    point = now.theta + nonnegative_minimum(curvature + spring, downhill, now.theta)
    return point / point.sum() - now.theta if point.sum() > 0 else np.zeros_like(now.theta)
