"""The loop around a solver, and what paths of models need: first strength, growth, refits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .. import deadline
from ..certificate import (
    FAILURE,
    UNKNOWN,
    Certificate,
    about_norm,
    affordable,
    exact,
    from_draws,
)
from ..deadline import OutOfTimeError
from ..dual import DualSolution, solve, system_of
from ..families import KernelFamily
from ..families.pricing import pricer
from ..objective import Problem
from ..potentials import power_norm
from .base import HISTORY, Result, Slot, Solver, State, from_state
from .cost_model import costs
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

RETRY_ITERATIONS = 5
"""Iterations after a gap that a final certificate did not confirm until the next try; the wait
doubles after each. Set by judgement, not measured."""

STRENGTH_SHARE = 0.1
"""Share of the time left that a look at all kernels for the largest strength may take; of those
that it does not come to, none counts. Set by judgement."""

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
    slot: Slot | None = None,
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
        Seconds after which no further step is taken, but for the first, and the one under way
        is cut. The model is that of the last state. What there would be no model without, and the
        certificate, may take a little longer (:mod:`..deadline`); a gap that there is no time for
        is infinite. Raises OutOfTimeError if there is no state by then.
    callback : callable, optional
        Called before each step with the state and the entry of the history; a true value ends
        the run.
    start : Result, optional
        Answer to the problem with another strength, to start from if the solver can.
    slot : Slot, optional
        Where the state before each step is kept; a run that was killed goes on from there.

    Returns
    -------
    Result
        With the weights of the last iterate, or the average one if the solver asks for it.
        Ctrl-C ends the run like a limit does, with ``interrupted`` set.
    """
    with deadline.allowed(max_time):
        return _run(solver, problem, family, rng, max_iter, tol, callback, start, slot)


def _run(
    solver: Solver,
    problem: Problem,
    family: KernelFamily,
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    start: Result | None,
    slot: Slot | None,
) -> Result:
    """Run a solver until the deadline that is kept to; see :func:`run`."""
    began, clock = time.perf_counter(), deadline.current()
    history: dict[str, list[float]] = {key: [] for key in HISTORY}
    state: State | None = None
    ended: tuple[DualSolution, Certificate] | None = None
    interrupted, finished = False, False
    looks: list[float] = []
    late = False
    wait, patience = 0, RETRY_ITERATIONS
    limit = ExitStack()
    known = None if slot is None else slot.read()
    if known is not None:
        history, began = known["history"], began - known["seconds"]
        wait, patience, looks = known["waits"]
    try:
        begin = solver.iterate
        if start is not None and hasattr(solver, "resume"):
            begin = partial(solver.resume, start=start)
        if known is not None:
            begin = partial(begin, kept=known["solver"])  # type: ignore[call-arg]
        for state in begin(problem, family, rng):
            seconds = time.perf_counter() - began
            if slot is not None and getattr(state, "kept", None) is not None:
                waits = wait, patience, looks
                slot.offer(partial(_kept, state, history, seconds, waits))
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
            if state.k > 1:
                if clock.passed:
                    late = True
                    break
                limit.enter_context(deadline.strictly())
            ended = None
        else:
            finished = True
    except KeyboardInterrupt:
        if state is None:
            raise
        interrupted, ended = True, None
    except OutOfTimeError:
        if state is None:
            raise
        late, ended = True, None
    finally:
        limit.close()
    assert state is not None
    solution, certificate = state.solution, state.certificate
    if not state.final:
        draws = LATE_DRAWS if late else FINAL_DRAWS
        solution, certificate = ended or finish(problem, family, state, rng, tol, looks, draws)
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


def _kept(
    state: State, history: dict[str, list[float]], seconds: float, waits: tuple[Any, ...]
) -> dict[str, Any]:
    """Return what a run goes on from, before a state is recorded."""
    assert hasattr(state, "kept")
    return {"solver": state.kept(), "history": history, "seconds": seconds, "waits": waits}


def ended_by_itself(state: State, certificate: Certificate, tol: float) -> bool:
    """Tell whether a gap met the tolerance, or a solver that knows none came to its end."""
    return certificate.relative <= tol or getattr(state, "ended", False)


def finish(
    problem: Problem,
    family: KernelFamily,
    state: State,
    rng: np.random.Generator,
    tol: float,
    looks: list[float],
    draws: int = FINAL_DRAWS,
) -> tuple[DualSolution, Certificate]:
    """Return the solution at the state's weights, from scratch, and its best certificate.

    A state may have a way of its own, ``finish``.

    The kernel kept along a run carries the rounding of all its updates, and an interrupted step
    may be half done; here it is made anew and the dual solved to 1e-10. The certificate is exact
    where that is affordable. Else it is a bound from fresh draws, ``draws`` at first and more until
    it is below ``tol`` or close to an estimate of the gap, or until there is no time. A run
    may look at many bounds, which ``looks`` lists; look j may fail with probability
    0.01 / (j (j + 1)), which adds up to 0.01.
    """
    own = getattr(state, "finish", None)
    if own is not None:
        return own()
    kernels, _ = state.weights
    solution = solve(problem, system_of(family, *state.weights), state.solution)
    gradient, found = family.at(solution.alpha), UNKNOWN
    try:
        with deadline.strictly(deadline.current().enough):
            if affordable(family, problem.y.shape[1]):
                return solution, exact(problem, solution, gradient)
            while True:
                look = len(looks) + 1
                failure = FAILURE / (look * (look + 1))
                found, about = from_draws(problem, solution, gradient, draws, rng, kernels, failure)
                looks.append(found.relative)
                hopeless = found.kind != "bound" or np.isinf(found.relative) or draws >= MOST_DRAWS
                close = found.relative <= max(tol, CLOSE_BOUND * about)
                if close or hopeless:
                    return solution, found
                draws *= DRAW_GROWTH
    except OutOfTimeError:  # what is known by then
        return solution, found


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
    cost = costs(family, problem.y.shape[1])
    if problem.p == 1 and family.priceable and cost.pricing <= cost.limit:
        until = deadline.current().part(STRENGTH_SHARE).over
        best = pricer(family).top(steepest, 1, until=until)
        return start.objective, float(best.scores[0]) if best.indices else 0.0
    power = problem.dual_exponent
    if affordable(family, problem.y.shape[1]):
        return start.objective, power_norm(family.at(steepest).all(), power)
    field = family.at(steepest)
    try:
        with deadline.keeping(deadline.current().part(STRENGTH_SHARE)), deadline.strictly():
            draw = field.draw(STRENGTH_DRAWS, rng)
    except OutOfTimeError:
        draw = field.draw(LATE_DRAWS, rng)
    return start.objective, about_norm(problem, draw)


def growing(
    solver: Greedy,
    problem: Problem,
    family: KernelFamily,
    max_iter: int,
    max_time: float | None,
    rng: np.random.Generator,
    slot: Slot | None = None,
) -> Iterator[Result]:
    """Yield the models of 0, 1, 2, ... terms, until iterations or seconds run out.

    What pricings have found is kept in the slot.
    """
    with deadline.allowed(max_time) as own:
        clock = own  # a generator must not keep to it: its caller would
    known = None if slot is None else slot.read()
    if known is not None:
        known = {**known, "k": 1}  # all models are wanted
    pricings = 0 if known is None else len(known["pools"])
    for state in solver.iterate(problem, family, rng, clock.over, known):
        if slot is not None and state.kept is not None:
            found = len(state.kept()["pools"])
            if found > pricings and slot.offer(state.kept):
                pricings = found
        yield from_state(state)
        if clock.passed or state.k > max_iter:
            return


def unpenalised(problem: Problem, family: KernelFamily, result: Result) -> Result:
    """Return the model of the same kernels without shrinkage."""
    model = from_state(debiased(problem, family, result.indices), result.history)
    return replace(model, interrupted=result.interrupted, n_iter=result.n_iter)
