"""Models of decreasing penalty, or of more and more terms, on one set of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ..arrays import Array, Index
from ..backend import to_host
from ..bases import FeatureBlocks, GramStack
from ..certificate import affordable
from ..dual import DualSolution, solve
from ..families import KernelFamily
from ..families.pricing import pricer
from ..objective import Problem
from ..potentials import power_norm
from ..predictor import make_predictor
from ..solvers import (
    Callback,
    Greedy,
    Result,
    Solver,
    debiased,
    from_state,
    run,
    system_of,
)

EXPLAINED = 0.01
"""Share of the risk that the model of the largest strength explains."""

SPAN = 1e-6
"""Smallest strength of a grid chosen from the data, relative to the largest."""

NOTHING = 1e-20
"""Kernels that explain so little of the risk at unit strength explain nothing but rounding."""

DRAWS = 1_000
"""Draws behind the largest strength where gradients are too many to compute."""


@dataclass(frozen=True)
class Limits:
    """When a fit of a path ends."""

    max_iter: int
    tol: float
    max_time: float | None


def largest_strength(problem: Problem, family: KernelFamily, rng: np.random.Generator) -> float:
    r"""Return the strength whose model explains about one percent of the risk.

    For a large strength the best predictor is :math:`K_\theta u/\lambda` with
    :math:`u_t = -s_t\ell'(f_0)` and lowers the risk by
    :math:`\|(u^\top K_i u/\rho_i^2)_i\|_{\nu^*}/\lambda`.
    """
    start = solve(problem, system_of(family, [], np.empty(0)))
    pull = start.alpha * problem.strength
    if problem.p == 1 and (family.explicit or affordable(family, problem.y.shape[1])):
        best = pricer(family).top(pull, 1)
        norm = float(best.scores[0]) if best.indices else 0.0
    elif affordable(family, problem.y.shape[1]):
        norm = power_norm(family.at(pull).all(), problem.dual_exponent)
    else:
        draw = family.at(pull).draw(DRAWS, rng)
        largest = float(draw.gradients.max(initial=0.0)) or 1.0
        power = problem.dual_exponent
        values = draw.ratios / largest * (draw.gradients / largest) ** (power - 1)
        norm = largest * draw.mean(values) ** (1 / power) if np.isfinite(power) else largest
    if not norm > NOTHING * start.objective:
        return 1.0
    return norm / (EXPLAINED * start.objective)


def strengths(
    problem: Problem, family: KernelFamily, count: int, rng: np.random.Generator
) -> Array:
    """Return a geometric grid of strengths, descending."""
    largest = largest_strength(problem, family, rng)
    return np.geomspace(largest, largest * SPAN, count) if count > 1 else np.array([largest])


def path(
    solver: Callable[[Problem, KernelFamily], Solver],
    problem: Problem,
    family: KernelFamily,
    alphas: Sequence[float] | Array,
    limits: Limits,
    debias: bool,
    rng: np.random.Generator,
    progress: Callable[[int], Callback],
) -> Iterator[Result]:
    """Yield the model of each strength, each one started from the one before.

    ``progress`` gives the callback for the model of each number.
    """
    last: Result | None = None
    for number, alpha in enumerate(alphas):
        here = replace(problem, strength=float(alpha))
        last = run(
            solver(here, family),
            here,
            family,
            rng,
            limits.max_iter,
            limits.tol,
            limits.max_time,
            progress(number),
            start=last,
        )
        yield refit(here, family, last) if debias else last


def refit(problem: Problem, family: KernelFamily, result: Result) -> Result:
    """Return the model of the same kernels without shrinkage."""
    model = from_state(debiased(problem, family, result.indices), result.history)
    return replace(model, interrupted=result.interrupted, n_iter=result.n_iter)


def growing(
    solver: Greedy,
    problem: Problem,
    family: KernelFamily,
    limits: Limits,
    rng: np.random.Generator,
) -> Iterator[Result]:
    """Yield the models of 0, 1, 2, ... terms."""
    began = perf_counter()
    for state in solver.iterate(problem, family, rng):
        yield from_state(state)
        late = limits.max_time is not None and perf_counter() - began > limits.max_time
        if late or state.k > limits.max_iter:
            return


class Evaluator:
    """Predictions of the models of one path on new rows.

    Features of a kernel on the new rows are made once for the whole path.
    """

    def __init__(
        self, family: KernelFamily, bases: FeatureBlocks | GramStack, weights: Array
    ) -> None:
        self.family, self.here, self.weights = family, family.on(bases), weights
        self.bases = bases
        self.columns: dict[Index, Array] = {}

    def __call__(self, result: Result) -> Array:
        """Return decision values, of shape (n_new, c)."""
        if not result.solution.in_features or result.closed:
            return make_predictor(self.family, result, self.weights).decision(self.bases)
        fresh = [index for index in result.indices if index not in self.columns]
        if fresh:
            columns, owners = self.here.features(fresh)
            columns = to_host(columns)
            for i, index in enumerate(fresh):
                self.columns[index] = columns[:, owners == i]
        return self._values(result.indices, result.theta, result.solution)

    def _values(self, indices: Sequence[Index], theta: Array, solution: DualSolution) -> Array:
        out = np.zeros((self.here.rows, solution.coefficients.shape[1])) + solution.intercept
        if not len(indices):
            return out
        parts = [self.columns[index] for index in indices]
        roots = np.repeat(np.sqrt(theta), [part.shape[1] for part in parts])
        return out + np.hstack(parts) @ (roots[:, None] * solution.coefficients)
