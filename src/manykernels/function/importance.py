r"""How much a term matters: the one home of both measures.

The *spread* of a term is the standard deviation of what it adds to predictions, over the training
rows: in the unit of the target, for classes in that of decision values; with several outputs the
root of the sum of their variances. It is never negative.

The *loss without* a term is what the accuracy on the training rows loses if the term is left out
and all others, whose shapes stay, are scaled anew by the model's own problem:

.. math:: \min_{s,b} \sum_t w_t\,\ell(y_t, b + \sum_g s_g f_g(x_t)) + \tfrac12 \sum_g D_g s_g^2,

where :math:`D_g = -\sum_t w_t f_g(x_t)\,\ell'(y_t, f(x_t))` is the penalty at which the learnt
function, s = 1, is the optimum. For the squared loss it is a difference of R², for the logistic
loss one of the mean log loss (outputs added up).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from ..arrays import Array, Index
from ..deadline import OutOfTimeError, check, strictly
from ..families import KernelFamily
from ..losses import Logistic, Squared
from ..objective import Problem

MATTERS = 0.05
"""A term matters if its spread is at least this share of the largest. Set by judgement: what a term
below it adds to predictions varies by less than a twentieth of what the strongest does."""

SCALING_WORK = 4e9
"""Most multiplications for the losses without single terms: some 2 seconds on one core. Beyond it
they are not computed."""

SCALING_STEPS = 30
"""Most Newton steps for the scales of the other terms with the logistic loss. On fits of the tests
3 to 12 are enough."""

SMALL_DECREMENT = 1e-9
"""Newton decrement, as a share of the objective, at which scales are those of the optimum."""

SHORTEST = 1e-4
"""Shortest step for scales that is tried. Set by judgement, not measured."""

BLOCK_NUMBERS = 4_000_000
"""Most numbers in a block of errors without single terms: 32 MB."""

LEAST_RIDGE = 1e-13
"""Ridge, as a share of the trace, that keeps a system of terms that depend on each other regular.
Set by judgement: some hundred times the rounding of its entries."""


def together(family: KernelFamily, indices: Sequence[Index]) -> Array:
    """Return the number of the term that each kernel belongs to: those of one name are a term."""
    if len(set(family.names)) == len(family.names):
        return np.arange(len(indices))
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(family.name(index), len(numbers)) for index in indices], dtype=int
    )


def spread_of(parts: Array, weights: Array) -> float:
    """Return the standard deviation of values of shape (n, c), all outputs together."""
    return float(np.sqrt(np.sum(weights @ (parts - weights @ parts) ** 2)))


def members(terms: Array) -> list[Array]:
    """Return the positions of the kernels of each term, given the term of each kernel."""
    count = int(terms.max(initial=-1)) + 1
    order = np.argsort(terms, kind="stable")
    return np.split(order, np.searchsorted(terms[order], np.arange(1, count)))[:count]


def measure(
    parts: Iterable[Array], count: int, fitted: Array, problem: Problem
) -> tuple[Array, Array | None]:
    """Return spread and loss without it of each term.

    Parameters
    ----------
    parts : iterable of ndarray of shape (n, c)
        What each term adds to the function on the training rows.
    count : int
        Number of terms.
    fitted : ndarray of shape (n, c)
        The function on the training rows.
    problem : Problem
        Targets, loss and weights of the rows.

    Returns
    -------
    spreads, losses : ndarray, one value for each term
        Losses are None where they are too dear, the time is over, or the loss is no squared or
        logistic one.
    """
    steps = 1 if isinstance(problem.loss, Squared) else 10
    wanted = isinstance(problem.loss, Squared | Logistic)
    wanted &= steps * fitted.size * count**2 + count**3 <= SCALING_WORK
    spreads, columns = np.zeros(count), [np.empty((fitted.size, 0))]
    for number, values in enumerate(parts):
        spreads[number] = spread_of(values, problem.weights)
        if wanted:
            columns.append(values.T.reshape(-1, 1))
    if wanted:
        with suppress(OutOfTimeError), strictly():  # the model does without them
            return spreads, losses_without(np.hstack(columns), fitted, problem)
    return spreads, None


def losses_without(parts: Array, fitted: Array, problem: Problem) -> Array:
    """Return what the risk, or R², loses without each term.

    Parts of the function ``fitted`` are of shape (n c, T), one output below the other. O(n c T^2)
    for the squared loss, some steps of that for the logistic one.
    """
    n, outputs = fitted.shape
    count = parts.shape[1]
    free = np.kron(np.eye(outputs), np.ones((n, 1)))[:, : outputs * problem.intercept]
    columns, now = np.hstack([parts, free]), fitted.T.ravel()
    rest = now - parts.sum(axis=1)  # the intercept, and what is in no term that is listed
    loss, y, weights = problem.loss, problem.y.T.ravel(), np.tile(problem.weights, outputs)
    penalty, whole = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    penalty[:count] = np.maximum(-(parts.T @ (weights * loss.gradient(y, now))), 0.0)
    whole[:count] = 1.0
    assert isinstance(loss, Squared | Logistic)
    curved = (weights * loss.curvature(y, now))[:, None] * columns
    system = columns.T @ curved + np.diag(penalty)
    # Terms that are sums of others, or do not vary, would make it singular.
    system[np.diag_indices(len(whole))] += LEAST_RIDGE * (np.trace(system) or 1.0)
    inverse = np.linalg.inv(system)

    def objective(x: Array, values: Array) -> float:
        return float(weights @ loss.value(y, values) + penalty @ x**2 / 2)

    def risk(left_out: int | None) -> float:
        """Return the risk at the best scales, by Newton steps with one matrix."""
        check()
        x, step = whole.copy(), inverse
        if left_out is not None:
            own = inverse[left_out]
            x[left_out], step = 0.0, inverse - np.outer(own, own) / own[left_out]
        values = rest + columns @ x
        for _ in range(SCALING_STEPS):
            slope = columns.T @ (weights * loss.gradient(y, values)) + penalty * x
            way, size, before = -(step @ slope), 1.0, objective(x, values)
            if -(way @ slope) <= SMALL_DECREMENT * abs(before):
                break
            along = columns @ way
            while size > SHORTEST and objective(x + size * way, values + size * along) >= before:
                size /= 2
            if size <= SHORTEST:
                break
            x, values = x + size * way, values + size * along
        return float(weights @ loss.value(y, values))

    if not isinstance(loss, Squared):
        return np.array([risk(term) for term in range(count)]) - risk(None)
    # A quadratic: without term g the best scales are s - inverse[:, g] s_g / inverse[g, g].
    x = whole - inverse @ (columns.T @ (weights * loss.gradient(y, now)) + penalty * whole)
    best, losses = rest + columns @ x - y, np.empty(count)
    factors = x[:count] / np.diag(inverse)[:count]
    height = max(1, BLOCK_NUMBERS // len(y))
    for start in range(0, count, height):
        check()
        some = slice(start, min(start + height, count))
        errors = best[:, None] - (columns @ inverse[:, some]) * factors[some]
        losses[some] = weights @ errors**2 - weights @ best**2
    centred = problem.y - problem.weights @ problem.y
    return losses / (float(np.sum(problem.weights @ centred**2)) or np.inf)


def mattering(spreads: Sequence[float], columns: Sequence[Sequence[object]]) -> list[int]:
    """Return the places of the terms that matter, given spreads and variables of all.

    Those with a spread of at least MATTERS times the largest; and for each variable that is in none
    of them the strongest of its terms, if these together (root of the sum of squares) reach that.
    A term of which no variables are known (all that is in no other term) stands for itself.
    """
    sizes = np.nan_to_num(np.asarray(spreads, dtype=float))
    least = MATTERS * sizes.max(initial=0.0)
    if not least > 0:
        return []
    chosen = set(np.flatnonzero(sizes >= least).tolist())
    seen = {variable for place in chosen for variable in columns[place]}
    own: dict[object, list[int]] = {}
    for place, variables in enumerate(columns):
        for variable in variables:
            own.setdefault(variable, []).append(place)
    for variable, places in own.items():
        if variable not in seen and np.sqrt(np.sum(sizes[places] ** 2)) >= least:
            chosen.add(max(places, key=lambda place: sizes[place]))
    return sorted(chosen, key=lambda place: -sizes[place])
