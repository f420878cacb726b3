"""The problem of p = 1 on a set of kernels, by an interior-point method in their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...arrays import Array, Index
from ...backend import add_to_diagonal, columnwise, copied, take, times, to_host
from ...bases import GramStack
from ...deadline import check
from ...dual import DualSolution, GramSystem, System, smaller_system, solve
from ...dual.systems import factorise, live_rows
from ...families import KernelFamily
from ...losses import SmoothLoss
from ...objective import Problem

INTERIOR_STEPS = 60
"""Most interior-point steps; some 20 are needed."""

BOUNDARY = 0.98
"""Share of the way to the boundary that a step may go. Customary for such methods, not measured."""

INTERIOR_TOL = 1e-10
"""Relative duality gap to which the dual is solved at each step. Set by judgement, not
measured."""


class KernelList:
    """Some kernels of a family, weighed again and again; their features, if any, side by side."""

    def __init__(self, family: KernelFamily, indices: Sequence[Index]) -> None:
        self.family, self.indices = family, indices
        if family.explicit:
            columns, self.owners = family.features(indices)
            self.columns = columnwise(columns)

    def system(self, theta: Array) -> System:
        """Return the kernel of given weights, in the smaller form; O(n^2 m)."""
        if not self.family.explicit:
            return GramSystem(self.family.gram(self.indices, theta))
        return smaller_system(self.columns, np.sqrt(theta)[self.owners])

    def responses(self, alpha: Array) -> Array:
        r"""Return :math:`K_i\alpha/\rho_i^2` for all kernels, of shape (m, n, c)."""
        if isinstance(self.family.bases, GramStack):
            products = self.family.products(self.indices)
            stack = [times(self.family.bases.product(one), alpha) for one in products]
            return np.array(stack) * self.family.weights(self.indices)[:, None, None]
        columns = to_host(self.columns)
        spread = (columns.T @ alpha)[:, None, :] * columns.T[:, :, None]
        starts = np.searchsorted(self.owners, np.arange(len(self.indices)))
        whole = len(starts) == columns.shape[1]
        return spread if whole else np.add.reduceat(spread, starts, axis=0)


def solve_interior(problem: Problem, kernels: KernelList, tol: float) -> tuple[Array, DualSolution]:
    r"""Minimise :math:`J(\theta)` over the simplex; return the weights and their predictor.

    With :math:`g = -\nabla J` the optimum has multipliers :math:`\tau` and
    :math:`z_i = \tau - g_i \ge 0` with :math:`\theta_i z_i = 0`. Each step follows Newton's
    direction for :math:`\theta_i z_i = \mu`, with Mehrotra's prediction of :math:`\mu` and
    correction. The second derivative is

    .. math:: \frac{\partial^2 J}{\partial\theta_i\partial\theta_j}
              = \lambda\, \alpha^\top K_i (K_\theta + \lambda D^{-1})^{-1} K_j \alpha,

    D the curvature of the weighted loss: a matrix of rank at most n, so a step costs
    O(n^2 m + n^3) for m kernels, however many weights are zero at the end. Steps hardly depend on
    the strength, unlike those of methods that start from zero coefficients. Stops when the
    duality gap over these kernels is below ``tol`` times the objective.
    """
    count = len(kernels.indices)
    theta = np.full(count, 1 / count)
    z: Array | None = None
    solution: DualSolution | None = None
    for _ in range(INTERIOR_STEPS):
        check()
        system = kernels.system(theta)
        solution = solve(problem, system, solution, INTERIOR_TOL)
        responses = kernels.responses(solution.alpha)
        masses = np.einsum("mnc,nc->m", responses, solution.alpha)
        gradients = problem.strength / 2 * masses
        largest = float(masses.max())
        if not largest > 0:  # slopes of the loss are zero, up to rounding: no weight matters
            break
        if problem.gap(solution.objective, solution.alpha, largest, solution.intercept)[1] <= tol:
            break
        if z is None:
            z = np.maximum(gradients.max() - gradients, 0.1 * float(theta @ gradients))
        half = half_curvature(problem, system.matrix(), solution.fitted, responses)
        move, change = direction(theta, z, gradients, newton_solver(theta, z, half))
        theta = theta + step_length(theta, move) * move
        theta = theta / theta.sum()
        z = z + step_length(z, change) * change
    assert solution is not None
    return theta, solution


def half_curvature(problem: Problem, gram: Array, fitted: Array, responses: Array) -> Array:
    r"""Return X with :math:`\partial^2 J = X^\top X`, of shape (rows, m)."""
    assert isinstance(problem.loss, SmoothLoss)
    bends = problem.weights[:, None] * problem.loss.curvature(problem.y, fitted)
    parts = [np.zeros((0, len(responses)))]
    for c in range(bends.shape[1]):
        live = live_rows(bends[:, c])
        if not live.any():
            continue
        rows = np.flatnonzero(live)
        matrix = copied(take(take(gram, rows, axis=0), rows, axis=1))
        matrix = add_to_diagonal(matrix, problem.strength / bends[live, c])
        factor, _ = factorise(matrix, even=True)
        part = factor.half_solve(responses[:, live, c].T)
        if problem.intercept:
            ones = factor.half_solve(np.ones((len(rows), 1)))[:, 0]
            ones /= np.linalg.norm(ones)
            part -= np.outer(ones, ones @ part)
        parts.append(part)
    return np.sqrt(problem.strength) * np.vstack(parts)


def newton_solver(theta: Array, z: Array, half: Array) -> Callable[[Array], Array]:
    r"""Return a solver of :math:`(X^\top X + \mathrm{diag}(z/\theta))\,d = b`."""
    inverse = theta / z
    if half.shape[1] <= half.shape[0]:
        matrix = half.T @ half
        matrix[np.diag_indices_from(matrix)] += 1 / inverse
        return factorise(matrix)[0].solve
    scaled = half * np.sqrt(inverse)
    matrix = scaled @ scaled.T
    matrix[np.diag_indices_from(matrix)] += 1.0
    factor, _ = factorise(matrix)
    return lambda b: inverse * (b - half.T @ factor.solve(half @ (inverse * b)))


def direction(
    theta: Array, z: Array, gradients: Array, apply: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Return Mehrotra's direction for the weights and their multipliers."""
    ones = apply(np.ones_like(theta))
    mean = float(theta @ z) / len(theta)
    products: Array | float = 0.0  # what theta and z are to have for products, first as predicted
    for corrected in (False, True):
        free = apply(products / theta + gradients)
        move = free - free.sum() / ones.sum() * ones
        change = (products - z * move) / theta - z
        if not corrected:
            first, second = step_length(theta, move, 1.0), step_length(z, change, 1.0)
            predicted = float((theta + first * move) @ (z + second * change)) / len(theta)
            products = mean * (predicted / mean) ** 3 - first * second * move * change
    return move, change


def step_length(point: Array, move: Array, boundary: float = BOUNDARY) -> float:
    """Return how far a positive point may go."""
    fall = float(np.max(-move / point))
    return min(1.0, boundary / fall) if fall > 0 else 1.0
