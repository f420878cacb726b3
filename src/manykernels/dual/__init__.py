"""The dual solution for given weights (Proposition 1 of the paper), for every loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..losses import NonsmoothLoss, SmoothLoss, Squared
from ..objective import Problem
from .libsvm import solvable, solve_libsvm
from .newton import Point, newton, proximal_newton, squared_norm
from .systems import FeatureSystem, GramSystem, System

__all__ = ["DualSolution", "FeatureSystem", "GramSystem", "System", "solve"]


@dataclass(frozen=True)
class DualSolution:
    r"""The predictor of given kernel weights.

    Attributes
    ----------
    alpha : ndarray of shape (n, c)
        Dual variables; the predictor is :math:`\sum_t \alpha_t \kappa_\theta(x_t, \cdot) + b`.
    intercept : ndarray of shape (c,)
        The constants b.
    fitted : ndarray of shape (n, c)
        Predictions on the training rows.
    quadratic : float
        Squared norm of the predictor, added over outputs.
    objective : float
        The primal value, :math:`J(\theta)` up to the solver's tolerance.
    """

    alpha: Array
    intercept: Array
    fitted: Array
    quadratic: float
    objective: float


def solve(
    problem: Problem, system: System, start: DualSolution | None = None, tol: float = 1e-10
) -> DualSolution:
    r"""Find :math:`\alpha^*(\theta)` and :math:`J(\theta)`.

    Closed form for the squared loss (one factorisation for all outputs), Newton's method for
    smooth losses, proximal Newton steps for the others, started from libsvm's solution where
    there is an intercept.

    Parameters
    ----------
    problem : Problem
        The data, loss and strength.
    system : System
        The kernel, as a matrix or as features.
    start : DualSolution, optional
        Solution for other weights to start from.
    tol : float, default=1e-10
        Largest inner duality gap, relative to the objective.
    """
    n, outputs = problem.y.shape
    if isinstance(problem.loss, Squared):
        linear = problem.weights[:, None] * problem.y
        point = Point(*system.ridge(problem.weights, linear, problem.strength, problem.intercept))
        alpha = system.to_dual(point.coefficients)
        if alpha is None:
            alpha = problem.dual_point(point.fitted)
        return _solution(problem, system, point, alpha)
    first = start.alpha if start is not None else np.zeros((n, outputs))
    constants = start.intercept if start is not None else np.zeros(outputs)
    points, duals = [], []
    for c in range(outputs):
        y, alpha = problem.y[:, [c]], first[:, [c]]
        coefficients = system.from_dual(alpha)
        point = Point(coefficients, constants[[c]], system.values(coefficients))
        arguments = (y, problem.weights, problem.strength, problem.intercept, system, point)
        if isinstance(problem.loss, NonsmoothLoss):
            v = -problem.strength * alpha / problem.weights[:, None]
            if solvable(problem.loss, problem.intercept, n):
                point, v = solve_libsvm(problem.loss, y, problem.weights, problem.strength, system)
                arguments = (*arguments[:-1], point)
            point, v = proximal_newton(problem.loss, *arguments, v, tol)
        elif isinstance(problem.loss, SmoothLoss):
            point = newton(problem.loss, *arguments, tol)
            v = problem.loss.gradient(y, point.fitted)
        else:
            raise TypeError(
                f"loss must have a method curvature (smooth) or conjugate_prox (nonsmooth); got "
                f"{problem.loss!r}. See manykernels.losses."
            )
        points.append(point)
        duals.append(-problem.weights[:, None] * v / problem.strength)
    joint = Point(
        np.hstack([point.coefficients for point in points]),
        np.concatenate([point.intercept for point in points]),
        np.hstack([point.values for point in points]),
    )
    return _solution(problem, system, joint, np.hstack(duals))


def _solution(problem: Problem, system: System, point: Point, alpha: Array) -> DualSolution:
    quadratic = squared_norm(system, point)
    objective = problem.primal(point.fitted, quadratic)
    return DualSolution(alpha, point.intercept, point.fitted, quadratic, objective)
