"""What paths of models are made of: their first strength, greedy growth, refits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from ..certificate import affordable
from ..dual import solve
from ..families import KernelFamily
from ..families.pricing import pricer
from ..objective import Problem
from ..potentials import power_norm
from .base import Result, from_state
from .greedy import Greedy, debiased
from .systems import system_of

STRENGTH_DRAWS = 1_000
"""Draws behind the largest strength where gradients are too many to compute. Set by judgement."""


def at_no_effect(
    problem: Problem, family: KernelFamily, rng: np.random.Generator
) -> tuple[float, float]:
    r"""Return the risk of the best constant, and how fast kernels can lower it.

    The second is :math:`\|(u^\top K_i u/\rho_i^2)_i\|_{\nu^*}`, :math:`u_t = -s_t\ell'(f_0)`; for
    a large strength the best predictor is :math:`K_\theta u/\lambda` and lowers the risk by that
    norm divided by :math:`\lambda`. Estimated from draws where gradients are too many.
    """
    start = solve(problem, system_of(family, [], np.empty(0)))
    steepest, power = start.alpha * problem.strength, problem.dual_exponent
    if problem.p == 1 and (family.explicit or affordable(family, problem.y.shape[1])):
        best = pricer(family).top(steepest, 1)
        return start.objective, float(best.scores[0]) if best.indices else 0.0
    if affordable(family, problem.y.shape[1]):
        return start.objective, power_norm(family.at(steepest).all(), power)
    draw = family.at(steepest).draw(STRENGTH_DRAWS, rng)
    largest = float(draw.gradients.max(initial=0.0)) or 1.0
    values = draw.ratios / largest * (draw.gradients / largest) ** (power - 1)
    norm = largest * draw.mean(values) ** (1 / power) if np.isfinite(power) else largest
    return start.objective, norm


def growing(
    solver: Greedy,
    problem: Problem,
    family: KernelFamily,
    max_iter: int,
    max_time: float | None,
    rng: np.random.Generator,
) -> Iterator[Result]:
    """Yield the models of 0, 1, 2, ... terms, until iterations or seconds run out."""
    began = perf_counter()
    for state in solver.iterate(problem, family, rng):
        yield from_state(state)
        late = max_time is not None and perf_counter() - began > max_time
        if late or state.k > max_iter:
            return


def unpenalised(problem: Problem, family: KernelFamily, result: Result) -> Result:
    """Return the model of the same kernels without shrinkage."""
    model = from_state(debiased(problem, family, result.indices), result.history)
    return replace(model, interrupted=result.interrupted, n_iter=result.n_iter)
