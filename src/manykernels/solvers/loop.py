"""The loop around mirror descent: when to stop, what to remember, what to return."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..certificate import Certificate, affordable, exact, from_draws
from ..dual import DualSolution, solve
from ..families import KernelFamily
from ..objective import Problem
from .iterate import system_of
from .mirror_descent import MirrorDescent, State
from .result import HISTORY, Result
from .theory import Constants

FINAL_DRAWS = 1_000
"""Fresh draws behind a certificate that ends a run, where it cannot be exact."""

FEW_DRAWS = 50
"""As many when time has run out."""

PATIENCE = 5
"""After a gap that a final certificate did not confirm, iterations before the next try; twice as
many after each."""

Callback = Callable[[State, dict[str, float]], bool | None]


def run(
    solver: MirrorDescent,
    problem: Problem,
    family: KernelFamily,
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> Result:
    """Run mirror descent until the gap is small enough, or iterations or seconds run out.

    Parameters
    ----------
    solver : MirrorDescent
        The algorithm.
    problem : Problem
        The objective.
    family : KernelFamily
        The kernels.
    rng : numpy.random.Generator
        Source of all randomness.
    max_iter : int
        Largest number of steps.
    tol : float
        Relative duality gap to reach. The gap of an iteration is confirmed by a certificate of
        the solver's answer before it ends the run.
    max_time : float, optional
        Seconds after which no further step is taken, but for the first. The solution is then
        made from scratch once more, which can take as long as an iteration and its draws.
    callback : callable, optional
        Called before each step with the state and the entry of the history; a true value ends
        the run.

    Returns
    -------
    Result
        With the weights of the last iterate, or the average one if the solver asks for it.
        Ctrl-C ends the run like a limit does, with ``interrupted`` set.
    """
    began = time.perf_counter()
    history: dict[str, list[float]] = {key: [] for key in HISTORY}
    meter = _Meter(problem, solver, family)
    state: State | None = None
    ended: tuple[DualSolution, Certificate] | None = None
    interrupted, draws = False, FINAL_DRAWS
    wait, patience = 0, PATIENCE
    try:
        for state in solver.iterate(problem, family, rng):
            seconds = time.perf_counter() - began
            gap = state.certificate.relative
            active = float(state.iterate.active)
            values = (state.k - 1, seconds, state.solution.objective, gap, active)
            record = dict(zip(HISTORY, values, strict=True))
            for key, value in record.items():
                history[key].append(value)
            if callback is not None and callback(state, record):
                break
            if gap <= tol and wait <= 0:
                ended = finish(problem, family, state, rng, draws)
                if ended[1].relative <= tol:
                    break
                wait, patience = patience, 2 * patience
            wait -= 1
            if state.k > max_iter:
                break
            if max_time is not None and seconds >= max_time and state.k > 1:
                draws = FEW_DRAWS
                break
            ended = None
            meter.observe(state)
    except KeyboardInterrupt:
        if state is None:
            raise
        interrupted, ended = True, None
    assert state is not None
    solution, certificate = ended or finish(problem, family, state, rng, draws)
    return Result(
        *state.weights,
        False,
        solution,
        certificate,
        state.k - 1,
        certificate.relative <= tol,
        interrupted,
        history,
        meter.constants(),
    )


def finish(
    problem: Problem, family: KernelFamily, state: State, rng: np.random.Generator, draws: int
) -> tuple[DualSolution, Certificate]:
    """Return the solution at the state's weights, from scratch, and its best certificate.

    The kernel kept along a run carries the rounding of all its updates, and an interrupted step
    may be half done; here it is made anew and the dual solved to 1e-10. The certificate is exact
    where that is affordable, else from so many fresh draws.
    """
    solution = solve(problem, system_of(family, *state.weights), state.solution)
    gradient = family.at(solution.alpha)
    if affordable(family, problem.y.shape[1]):
        return solution, exact(problem, solution, gradient)
    return solution, from_draws(problem, solution, gradient.draw(draws, rng))


class _Meter:
    """Measures the theorem's constants along a run."""

    def __init__(self, problem: Problem, solver: MirrorDescent, family: KernelFamily) -> None:
        self.potential = solver.mirror_map(family, problem.nu)
        self.radius = self.potential.radius(family.distinct, problem.nu)
        self.problem = problem
        self.second_moment = self.largest = 0.0
        self.steps = 0

    def observe(self, state: State) -> None:
        self.steps += 1
        if state.draw.total:
            squares = self.problem.slope(state.draw.ratios) ** 2
            self.second_moment = max(self.second_moment, state.draw.mean(squares))
            self.largest = max(self.largest, float(squares.max()))

    def constants(self) -> Constants:
        modulus = self.potential.strong_convexity()
        return Constants(self.second_moment, self.largest, self.radius, modulus, self.steps)
