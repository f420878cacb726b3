"""All widths and weights at once, downhill in the objective: a local search after each pricing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from ...arrays import Array
from ...backend import to_host
from ...bases.width_rows import TERMS, WidthKernel
from ...dual import DualSolution, GramSystem, solve
from ...families import WidthFamily
from ...objective import Problem
from .ascent import LARGEST_WIDTH, LEAST_WIDTH, kernel_of, widths_of
from .scores import WidthScores, paired_columns
from .threads import Together, side_by_side

SLIDE_TOL = 1e-8
"""Relative duality gap to which the dual is solved on the way. Set by judgement, not measured."""


def slide(
    problem: Problem,
    family: WidthFamily,
    kernels: Sequence[WidthKernel],
    theta: Array,
    steps: int,
) -> tuple[list[WidthKernel], Array]:
    r"""Return kernels and weights of a lower objective, near those given.

    The objective J is a function of the weights, here :math:`\theta_i \propto e^{\phi_i}`, and of
    all widths, with :math:`\partial J/\partial\ln s_{ij} = -\frac\lambda2 \theta_i \rho_i^{-2}
    \partial(\alpha^\top K_i\alpha)/\partial\ln s_{ij}`: L-BFGS in :math:`\phi` and :math:`\ln s`.
    An evaluation costs O(n^3 + m n^2 r) for m kernels. Kernels keep their columns but for those
    whose widths become flat. Spline terms have a weight and no widths; they stand last.
    """
    free = [place for place, kernel in enumerate(kernels) if kernel != TERMS]
    if not free:
        return list(kernels), theta
    if len(free) < len(kernels):
        order = [*free, kernels.index(TERMS)]
        kernels, theta = [kernels[place] for place in order], theta[order]
    fixed = to_host(family.bases.kernel(TERMS)) if len(free) < len(kernels) else None
    count, moving = family.bases.count, kernels[: len(free)]
    widths = np.array([widths_of(kernel, count) for kernel in moving])
    inside = widths > 0
    scores = WidthScores(family.bases, paired_columns(moving))
    shapes = [kernel[0] for kernel in moving]
    scales, size = family.weights(kernels), len(kernels)
    solution: DualSolution | None = None

    def objective(point: Array, together: Together) -> tuple[float, Array]:
        nonlocal solution
        shares = np.exp(point[:size] - point[:size].max())
        shares /= shares.sum()
        widths[inside] = np.exp(point[size:])
        values = scores.values(shapes, widths, together)
        factors = shares * scales
        gram = scores.summed(factors[: len(free)], values)
        if fixed is not None:
            gram += factors[-1] * fixed
        solution = solve(problem, GramSystem(gram), solution, SLIDE_TOL)
        scores.at(solution.alpha)
        own, moves = scores.scored(shapes, widths, values, together)
        if fixed is not None:
            own = np.append(own, np.sum(solution.alpha * (fixed @ solution.alpha)))
        slopes = problem.slope(scales * own)
        by_width = problem.slope(factors[: len(free), None] * moves)
        by_share = shares * (slopes - shares @ slopes)
        gradient = -np.concatenate([by_share, by_width[inside]])
        return float(np.log(solution.objective)), gradient / solution.objective

    logs = np.log(np.clip(widths[inside], LEAST_WIDTH, LARGEST_WIDTH))
    start = np.concatenate([np.log(theta), logs])
    bounds = [(-20.0, 20.0)] * size + [(np.log(LEAST_WIDTH), np.log(LARGEST_WIDTH))] * len(logs)
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-6}
    with side_by_side() as together:
        best = minimize(
            objective,
            start,
            args=(together,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
    shares = np.exp(best.x[:size] - best.x[:size].max())
    widths[inside] = np.exp(best.x[size:])
    out: dict[WidthKernel, float] = {}
    for kernel, own, share in zip(moving, widths, shares.tolist(), strict=False):
        index = kernel_of(kernel[0], own)
        if index is not None:
            out[index] = out.get(index, 0.0) + share
    if fixed is not None:
        out[TERMS] = float(shares[-1])
    values = np.array(list(out.values()))
    return list(out), values / values.sum()
