"""The loop around a solver, and what paths of models need: first strength, growth, refits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from ..certificate import FAILURE, Certificate, about_norm, affordable, exact, from_draws
from ..dual import DualSolution, solve, system_of
from ..families import KernelFamily
from ..families.pricing import pricer
from ..objective import Problem
from ..potentials import power_norm
from .base import HISTORY, Result, Solver, State, from_state
from .greedy import Greedy, debiased

FINAL_DRAWS = 1_000
"""Number of fresh draws behind the first certificate that may end a run, where it cannot be exact.
Set by judgement, not measured."""

MOST_DRAWS = 64_000
"""Most draws behind a certificate: at p >= 4/3 and 10^6 kernels their bound is within 5 % of the
exact gap (``docs/benchmarks/draw_certificates.md``)."""

DRAW_GROWTH = 4
"""How many times as many draws are made where a bound is not close yet. Set by judgement."""

CLOSE_BOUND = 1.1
"""A bound of the gap is close where it exceeds an estimate of it by no more than this factor. Set
by judgement."""

LATE_DRAWS = 50
"""Number of fresh draws behind the first certificate when the time limit has passed: as many as one
iteration takes. Set by judgement, not measured."""

LATE_SHARE = 0.1
"""Share of the time limit that may go by after it, for more draws. Set by judgement."""

RETRY_ITERATIONS = 5
"""Iterations after a gap that a final certificate did not confirm until the next try; the wait
doubles after each. Set by judgement, not measured."""

STRENGTH_DRAWS = 1_000
"""Draws behind the largest strength where gradients are too many to compute. Set by judgement."""

Callback = Callable[[State, dict[str, float]], bool | None]


def run(
    solver: Solver,
    problem: Problem,
    family: KernelFamily,
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    max_time: float | None = None,
    callback: Callback | None = None,
    start: Result | None = None,
) -> Result:
    """Run a solver until the gap is small enough, or iterations or seconds run out.

    Parameters
    ----------
    solver, problem, family, rng
        The algorithm, the objective, the kernels, and the source of all randomness.
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
    start : Result, optional
        Answer to the problem with another strength, to start from if the solver can.

    Returns
    -------
    Result
        With the weights of the last iterate, or the average one if the solver asks for it.
        Ctrl-C ends the run like a limit does, with ``interrupted`` set.
    """
    began = time.perf_counter()
    history: dict[str, list[float]] = {key: [] for key in HISTORY}
    state: State | None = None
    ended: tuple[DualSolution, Certificate] | None = None
    interrupted, finished = False, False
    looks, late = count(1), False
    wait, patience = 0, RETRY_ITERATIONS
    try:
        begin = solver.iterate
        if isinstance(solver, Greedy) and max_time is not None:
            begin = partial(solver.iterate, until=began + max_time)
        if start is not None and hasattr(solver, "resume"):
            begin = partial(solver.resume, start=start)
        for state in begin(problem, family, rng):
            seconds = time.perf_counter() - began
            gap = state.certificate.relative
            active = float(state.active)
            values = (state.k - 1, seconds, state.solution.objective, gap, active)
            record = dict(zip(HISTORY, values, strict=True))
            for key, value in record.items():
                history[key].append(value)
            if callback is not None and callback(state, record):
                break
            if gap <= tol and wait <= 0:
                if state.final:
                    break
                ended = finish(problem, family, state, rng, tol, looks)
                if ended[1].relative <= tol:
                    break
                wait, patience = patience, 2 * patience
            wait -= 1
            if state.k > max_iter:
                # Without a gap the number of steps is all that was asked for.
                finished = state.certificate.kind == "none"
                break
            if max_time is not None and seconds >= max_time and state.k > 1:
                late = True
                break
            ended = None
        else:
            finished = True
    except KeyboardInterrupt:
        if state is None:
            raise
        interrupted, ended = True, None
    assert state is not None
    solution, certificate = state.solution, state.certificate
    if not state.final:
        first, seconds = FINAL_DRAWS, np.inf
        if late and max_time is not None:
            first, seconds = LATE_DRAWS, LATE_SHARE * max_time
        solution, certificate = ended or finish(
            problem, family, state, rng, tol, looks, first, seconds
        )
    return Result(
        *state.weights,
        getattr(state, "closed", False),
        solution,
        certificate,
        getattr(state, "steps", state.k - 1),
        finished if certificate.kind == "none" else ended_by_itself(state, certificate, tol),
        interrupted,
        history,
        state.constants,
        state.memory,
        getattr(state, "gradient_power", None),
    )


def ended_by_itself(state: State, certificate: Certificate, tol: float) -> bool:
    """Tell whether a gap met the tolerance, or a solver that knows none came to its end."""
    return certificate.relative <= tol or getattr(state, "ended", False)


def finish(
    problem: Problem,
    family: KernelFamily,
    state: State,
    rng: np.random.Generator,
    tol: float,
    looks: Iterator[int],
    draws: int = FINAL_DRAWS,
    seconds: float = np.inf,
) -> tuple[DualSolution, Certificate]:
    """Return the solution at the state's weights, from scratch, and its best certificate.

    A state may have a way of its own, ``finish``.

    The kernel kept along a run carries the rounding of all its updates, and an interrupted step
    may be half done; here it is made anew and the dual solved to 1e-10. The certificate is exact
    where that is affordable. Else it is a bound from fresh draws, ``draws`` at first and more until
    it is below ``tol`` or close to an estimate of the gap, or until the ``seconds`` are over. A run
    may look at many bounds, numbered by ``looks``; look j may fail with probability
    0.01 / (j (j + 1)), which adds up to 0.01.
    """
    own = getattr(state, "finish", None)
    if own is not None:
        return own()
    began = time.perf_counter()
    kernels, _ = state.weights
    solution = solve(problem, system_of(family, *state.weights), state.solution)
    gradient = family.at(solution.alpha)
    if affordable(family, problem.y.shape[1]):
        return solution, exact(problem, solution, gradient)
    while True:
        look = next(looks)
        failure = FAILURE / (look * (look + 1))
        found, about = from_draws(problem, solution, gradient, draws, rng, kernels, failure)
        hopeless = found.kind != "bound" or np.isinf(found.relative) or draws >= MOST_DRAWS
        close = found.relative <= max(tol, CLOSE_BOUND * about)
        if close or hopeless or time.perf_counter() - began > seconds:
            return solution, found
        draws *= DRAW_GROWTH


def at_no_effect(
    problem: Problem, family: KernelFamily, rng: np.random.Generator
) -> tuple[float, float]:
    r"""Return the risk of the best constant, and how fast kernels can lower it.

    The second is :math:`\|(u^\top K_i u/\rho_i^2)_i\|_{\nu^*}`, :math:`u_t = -s_t\ell'(f_0)`; for
    a large strength the best predictor is :math:`K_\theta u/\lambda` and lowers the risk by that
    norm divided by :math:`\lambda`. Estimated from draws where gradients are too many.
    """
    start = solve(problem, system_of(family, [], np.empty(0)))
    steepest = start.alpha * problem.strength
    if problem.p == 1 and (family.explicit or affordable(family, problem.y.shape[1])):
        best = pricer(family).top(steepest, 1)
        return start.objective, float(best.scores[0]) if best.indices else 0.0
    power = problem.dual_exponent
    if affordable(family, problem.y.shape[1]):
        return start.objective, power_norm(family.at(steepest).all(), power)
    return start.objective, about_norm(problem, family.at(steepest).draw(STRENGTH_DRAWS, rng))


def growing(
    solver: Greedy,
    problem: Problem,
    family: KernelFamily,
    max_iter: int,
    max_time: float | None,
    rng: np.random.Generator,
) -> Iterator[Result]:
    """Yield the models of 0, 1, 2, ... terms, until iterations or seconds run out."""
    until = np.inf if max_time is None else time.perf_counter() + max_time
    for state in solver.iterate(problem, family, rng, until):
        yield from_state(state)
        if time.perf_counter() > until or state.k > max_iter:
            return


def unpenalised(problem: Problem, family: KernelFamily, result: Result) -> Result:
    """Return the model of the same kernels without shrinkage."""
    model = from_state(debiased(problem, family, result.indices), result.history)
    return replace(model, interrupted=result.interrupted, n_iter=result.n_iter)
