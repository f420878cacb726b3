"""p = 2: the optimum is the sum of all kernels, no search needed."""

from __future__ import annotations

import numpy as np

from ..arrays import Index, approximately
from ..certificate import from_norm
from ..dual import FeatureSystem, GramSystem, System, solve
from ..families import KernelFamily
from ..objective import Problem
from .iterate import system_of
from .result import HISTORY, Result

LISTED = 10_000
"""Largest family whose kernels are all listed in the result."""

DRAWN = 1_000
"""Kernels drawn to find the important ones of a larger family."""


def solve_closed(
    problem: Problem, family: KernelFamily, rng: np.random.Generator, tol: float = 1e-2
) -> Result:
    r"""Solve the problem with p = 2, where :math:`\theta = 1` is optimal.

    The kernel is :math:`\sum_d \rho_d^{-2} Q_d` for a product family. With fewer features than
    rows it is a ridge problem in feature space, else one with an n x n matrix. Of a family of
    more than 10,000 kernels the result lists those that 1,000 draws from q hit.
    """
    small = family.distinct <= LISTED
    indices: list[Index] = family.indices() if small else []
    system: System | None = None
    if small and family.distinct < family.rows:
        system = system_of(family, indices, np.ones(len(indices)))
    closed = not isinstance(system, FeatureSystem)
    if system is None or closed:
        system = GramSystem(family.closed())
    solution = solve(problem, system)
    gradient = family.at(solution.alpha)
    if not small:
        indices = gradient.draw(DRAWN, rng).indices
    # The dual norm over the family is the sum of all gradients: alpha' K alpha of this kernel.
    coefficients = system.from_dual(solution.alpha)
    values = system.values(coefficients)
    norm = float(system.inner(coefficients, coefficients, values).sum())
    certificate = from_norm(problem, solution, norm, "exact")
    record = (0, 0.0, solution.objective, certificate.relative, approximately(family.distinct))
    history = {key: [value] for key, value in zip(HISTORY, record, strict=True)}
    theta = np.ones(len(indices))
    converged = certificate.relative <= tol
    return Result(indices, theta, closed, solution, certificate, 1, converged, history=history)
