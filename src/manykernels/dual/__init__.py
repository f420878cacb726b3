"""The dual solution for given weights (Proposition 1 of the paper), for every loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..losses import NonsmoothLoss, SmoothLoss, Squared
from ..objective import Problem
from .conjugate import ConjugateSystem
from .libsvm import solvable, solve_libsvm
from .newton import newton, proximal_newton
from .systems import FeatureSystem, GramSystem, Ridge
from .tall import (
    Columns,
    System,
    TallColumns,
    TallSystem,
    smaller_system,
    system_of,
    tall_columns,
)

__all__ = [
    "Columns",
    "ConjugateSystem",
    "DualSolution",
    "FeatureSystem",
    "GramSystem",
    "System",
    "TallColumns",
    "TallSystem",
    "smaller_system",
    "solve",
    "system_of",
    "tall_columns",
]


@dataclass(frozen=True)
class DualSolution:
    r"""The predictor of given kernel weights, and the dual point that certifies it.

    Attributes
    ----------
    alpha : ndarray of shape (n, c)
        Dual variables, feasible for the dual; :math:`\sum_t \alpha_t \kappa_\theta(x_t, \cdot) + b`
        is the predictor up to the solver's tolerance.
    coefficients : ndarray of shape (m, c) or (n, c)
        The predictor itself: weights of the system's features, or an expansion in its kernel.
    in_features : bool
        Which of the two.
    intercept : ndarray of shape (c,)
        The constants b.
    fitted : ndarray of shape (n, c)
        Predictions on the training rows.
    objective : float
        The primal value of the predictor, :math:`J(\theta)` up to the solver's tolerance.
    strength : float
        The strength of the penalty, where that was found on the way.
    """

    alpha: Array
    coefficients: Array
    in_features: bool
    intercept: Array
    fitted: Array
    objective: float
    strength: float = np.nan


def solve(
    problem: Problem, system: System, start: DualSolution | None = None, tol: float = 1e-10
) -> DualSolution:
    r"""Find :math:`\alpha^*(\theta)` and :math:`J(\theta)`.

    Closed form for the squared loss (one factorisation for all outputs), Newton's method for
    smooth losses, proximal Newton steps for the others, started from libsvm's solution where
    there is an intercept.

    Parameters
    ----------
    problem, system
        The data, loss and strength; the kernel, as a matrix or as features.
    start : DualSolution, optional
        Solution for other weights to start from.
    tol : float, default=1e-10
        Largest inner duality gap, relative to the objective.
    """
    if isinstance(problem.loss, Squared):
        linear = problem.weights[:, None] * problem.y
        w, b, _, pull = system.ridge(problem.weights, linear, problem.strength, problem.intercept)
        alpha = pull / problem.strength
    else:
        fitted = np.zeros_like(problem.y) if start is None else start.fitted
        alpha = np.zeros_like(problem.y) if start is None else start.alpha
        parts = [
            _solve_output(problem.output(c), system, fitted[:, [c]], alpha[:, [c]], tol)
            for c in range(problem.y.shape[1])
        ]
        w = np.hstack([point.coefficients for point, _ in parts])
        b = np.concatenate([point.intercept for point, _ in parts])
        alpha = np.hstack([own for _, own in parts])
    # The values that predictions will have, not those that the equations say they should have:
    # if a solve was inaccurate, objective and gap must show it.
    values = system.values(w)
    objective = problem.primal(values + b, float(system.inner(w, w, values).sum()))
    in_features = not isinstance(system, (GramSystem, ConjugateSystem))
    return DualSolution(alpha, w, in_features, b, values + b, objective, problem.strength)


def _solve_output(
    problem: Problem, system: System, fitted: Array, alpha: Array, tol: float
) -> tuple[Ridge, Array]:
    """Return the predictor and the dual variables of a single output."""
    loss = problem.loss
    if isinstance(loss, NonsmoothLoss):
        v = problem.slopes(alpha)
        if solvable(problem):
            start, v = solve_libsvm(problem, system)
            fitted = start.fitted
        point, v = proximal_newton(problem, loss, system, fitted, v, tol)
    elif isinstance(loss, SmoothLoss):
        point = newton(problem, loss, system, fitted, tol)
        v = loss.gradient(problem.y, point.fitted)
    else:
        raise TypeError(
            f"loss must have a method curvature (smooth) or conjugate_prox (nonsmooth); got "
            f"{loss!r}. See manykernels.losses."
        )
    return point, problem.dual_point(v)
