"""Nested random subsets of the rows of a problem: a small problem on the way to a large one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..families import KernelFamily
from ..objective import Problem
from .answers import remembered
from .base import Result, Slot, Solver
from .loop import Callback, run

GROWTH = 4
"""How many times as many rows the next subset has. With 2 the subsets took two to
three times as long and their starts saved no more rounds (Friedman's function, 20,000 rows, p = 1,
two strengths; tried before starts kept the directions of coefficients)."""

FEWEST_ROWS = 500
"""Rows of the smallest subset at the least. Set by judgement, not measured."""


def nested_rows(
    problem: Problem, sizes: Sequence[int], rng: np.random.Generator
) -> list[Array | None]:
    """Return subsets of rows, each part of the next; None for all rows, where there are no more.

    Rows are drawn at random, for classes in the same shares as in the whole. Sizes beyond the
    number of rows count as all rows, once.

    Parameters
    ----------
    problem : Problem
        The rows.
    sizes : sequence of int
        Ascending numbers of rows.
    rng : Generator
        The source of randomness.
    """
    total = len(problem.y)
    order = mixed_order(problem, rng)
    subsets: list[Array | None] = [np.sort(order[:size]) for size in sizes if size < total]
    return subsets + [None] * any(size >= total for size in sizes)


def mixed_order(problem: Problem, rng: np.random.Generator) -> Array:
    """Return the rows in a random order in which each beginning has the shares of all classes."""
    total = len(problem.y)
    places = np.empty(total)
    groups = np.zeros(total, dtype=int)
    if problem.loss.classification:
        groups = np.unique(problem.y, axis=0, return_inverse=True)[1].ravel()
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        places[own] = (rng.permutation(len(own)) + rng.random()) / len(own)
    return np.argsort(places, kind="stable")


def part_of(problem: Problem, rows: Array | None) -> Problem:
    """Return the problem on some of its rows, or as it is for None.

    The penalty keeps its weight beside the *sum* of the losses: fewer rows need a larger strength.
    With kernels found on 3,000 of 9,000 rows of kin40k (strength 0.1 / n, a fifth held out) R2 was
    .9752, and .9726 with one strength for all subsets; california_housing .8614 and .8606,
    grid_stability .9707 and .9706. As a start of a fit to 20,000 rows of Friedman's function
    (p = 1, splines of up to two columns, strengths 1e-3 and 1e-4) fits to 1,250 and 5,000 rows took
    .07 and .6 s, and .26 and 8.5 s with one strength for all, as they had many more kernels.
    """
    if rows is None:
        return problem
    weights = problem.weights[rows]
    strength = problem.strength * len(problem.y) / len(rows)
    copies = None if problem.copies is None else problem.copies[rows]
    some = {"y": problem.y[rows], "weights": weights / weights.sum(), "copies": copies}
    return replace(problem, strength=strength, **some)


class Part(NamedTuple):
    """A problem and its kernels on the same rows."""

    problem: Problem
    family: KernelFamily


def run_on_subsets(
    solver: Solver,
    whole: Part,
    family_on: Callable[[Array], KernelFamily],
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    max_time: float | None = None,
    callback: Callback | None = None,
    slot: Slot | None = None,
) -> Result:
    r"""Run a solver on growing subsets of the rows, each from the answer before; then on all rows.

    A problem on m rows drawn at random tells the optimum of all rows up to some 1/m of the
    objective. It is solved to that relative gap, or to ``tol`` if that is larger. The answer is
    that of all rows, with their certificate; seconds of its history count from the first subset.

    Parameters
    ----------
    solver : Solver
        One with a method ``resume``.
    whole : Part
        All rows.
    family_on : callable
        Returns the kernels on some of the rows, given by their numbers.
    rng, max_iter, tol, max_time, callback
        As for :func:`~.loop.run`. Seconds are those of all subsets together; the callback sees all
        rows only.
    slot : Slot, optional
        Where the answers on subsets, and the state on all rows, are kept.

    Returns
    -------
    Result
        Ctrl-C on a subset ends the run at the first state on all rows, with ``interrupted`` set.
    """
    began = time.perf_counter()
    last, before = None, whole
    for rows in nested_rows(whole.problem, growing_sizes(len(whole.problem.y)), rng):
        left = None if max_time is None else max_time - (time.perf_counter() - began)
        if rows is None or (left is not None and left <= 0):
            break
        problem = part_of(whole.problem, rows)
        if lacks_a_class(problem):
            continue
        here = Part(problem, family_on(rows))
        start = None if last is None else carried(solver, last, before, here)
        ask = partial(run, solver, *here, rng, max_iter, max(tol, 1 / len(rows)), left, None, start)
        if slot is None:
            last = ask()
        else:
            part = slot.at(f"{len(rows)} rows")
            last = remembered(part, here.family, here.problem.weights, rng, ask)
        before = here
        if last.interrupted:
            max_iter = 0
            break
    start = None if last is None else carried(solver, last, before, whole)
    spent = time.perf_counter() - began
    left = None if max_time is None else max(0.0, max_time - spent)
    result = run(solver, *whole, rng, max_iter, tol, left, callback, start, slot)
    seconds = [spent + value for value in result.history["seconds"]]
    stopped = result.interrupted or (last is not None and last.interrupted)
    return replace(result, interrupted=stopped, history={**result.history, "seconds": seconds})


def growing_sizes(total: int) -> list[int]:
    """Return the sizes of growing subsets of rows, without that of all rows; none for few rows."""
    sizes = []
    while total >= GROWTH * FEWEST_ROWS:
        total //= GROWTH
        sizes.append(total)
    return sizes[::-1]


def lacks_a_class(problem: Problem) -> bool:
    """Tell whether some rows have no row of a class, or of the others: it has no optimum then."""
    return problem.loss.classification and bool(np.any(np.ptp(problem.y, axis=0) == 0))


def carried(solver: Solver, result: Result, here: Part, there: Part) -> Result:
    """Return an answer on some rows as a start on others: without what belongs to its rows.

    The noise that a search for widths has found, a number, does not.
    A solver that starts from the values of the function (``starts_from_values``) gets those on the
    other rows.
    """
    solution = result.solution
    if getattr(solver, "starts_from_values", False):
        other, coefficients = there.family, solution.coefficients
        values = here.family.expansion_of_all(result.theta, coefficients, other)
        solution = replace(solution, fitted=values + solution.intercept)
    memory = result.memory if isinstance(result.memory, float) else None
    return replace(result, memory=memory, solution=solution)
