"""Newton's method for one output of a regularised risk, and its proximal form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.optimize import brentq

from ..arrays import Array
from ..deadline import check
from ..losses import NonsmoothLoss, SmoothLoss
from ..objective import Problem
from .systems import Ridge
from .tall import System

M = TypeVar("M")
"""A model: a function of a space, or coefficients of features."""

DAMPING = 1e-8
"""Least share of the largest curvature that is added after a step that had to be cut. Set by
judgement, not measured."""

PROXIMAL_STEPS = 100
"""Most smoothed problems that stand for one problem with kinks. Set by judgement, not measured."""

WIDTHS = (1.0, 1e-2)
"""Widths of the smoothing in the first proximal steps and in all others, in units of the mean size
of the targets. Set by judgement, not measured."""

PROXIMAL_PATIENCE = 10
"""Number of proximal steps after which the next must lower the gap by a tenth. Set by judgement,
not measured."""


@dataclass(frozen=True)
class Smoothed:
    r"""A nonsmooth loss whose conjugate has a quadratic added.

    .. math::
        \ell_\sigma(y, f) = \max_v\; v f - \ell^*(y, v) - \frac\sigma2 (v - v_0)^2

    Its derivative is the maximiser. It is the augmented Lagrangian of the nonsmooth loss with
    multiplier :math:`v_0`, the ``centre`` of shape (n, 1); :math:`\sigma` is the ``width``.
    """

    loss: NonsmoothLoss
    centre: Array
    width: float

    def _prox(self, y: Array, f: Array) -> tuple[Array, Array]:
        return self.loss.conjugate_prox(y, self.centre + f / self.width, 1 / self.width)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        v = self._prox(y, f)[0]
        return v * f - self.loss.conjugate(y, v) - self.width / 2 * (v - self.centre) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative."""
        return self._prox(y, f)[0]

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative."""
        return self._prox(y, f)[1] / self.width


def squared_norm(system: System, point: Ridge) -> float:
    """Return the squared norm of a function."""
    return float(system.inner(point.coefficients, point.coefficients, point.values).sum())


def newton(
    problem: Problem,
    loss: SmoothLoss | Smoothed,
    system: System,
    fitted: Array,
    tol: float,
    steepest: float = 1.0,
) -> Ridge:
    """Minimise a smooth regularised risk of one output by damped Newton steps.

    Each is one ridge solve. The first one starts from the values ``fitted``, which need not be
    those of a function of this space: of another one, say, with other weights. Losses with a
    piecewise constant curvature (squared hinge, Huber, smoothed hinge) end at the exact solution
    after finitely many steps. Stops when half the squared Newton decrement, which estimates the
    distance to the minimum, is below ``tol`` times the objective.

    A step is as long as the minimum along it asks for: where the loss is flat (all rows
    saturated) a Newton step is far too long. If it had to be cut, some share of ``steepest``,
    about the largest curvature of the loss, is added to the curvature of the next one.
    """
    y, s, strength = problem.y, problem.weights[:, None], problem.strength

    def objective(point: Ridge) -> float:
        risk = float(np.sum(s * loss.value(y, point.fitted)))
        return risk + strength / 2 * squared_norm(system, point)

    def step_from(fitted: Array, slope: Array, extra: float) -> Ridge:
        curvature = s * (loss.curvature(y, fitted) + extra)
        linear = curvature * fitted - slope
        return system.ridge(curvature[:, 0], linear, strength, problem.intercept)

    flat = 1e-4 * steepest
    zero = system.from_dual(np.zeros_like(y))
    point = Ridge(zero, np.zeros(1), np.zeros_like(y))
    value = objective(point)
    guess = step_from(fitted, s * loss.gradient(y, fitted), flat)
    if objective(guess) < value:
        point, value = guess, objective(guess)
    extra, stalled = 0.0, 0
    for _ in range(300):
        check()
        slope = s * loss.gradient(y, point.fitted)
        if float(np.sum(s * loss.curvature(y, point.fitted))) < 1e-4 * flat:
            # An intercept has no Newton step without curvature; this much leaves the penalty's.
            extra = max(extra, min(flat, strength))
        full = step_from(point.fitted, slope, extra)
        move = full.coefficients - point.coefficients
        change = full.values - point.values
        shift = full.intercept - point.intercept
        inner = float(system.inner(move, point.coefficients, point.values)[0])
        descent = float(np.sum(slope * (change + shift))) + strength * inner
        if -descent / 2 <= tol * abs(value) and (extra <= flat or descent >= 0):
            # The decrement is that of the last point; the full step is closer still.
            return full if objective(full) <= value * (1 + 1e-12) else point
        squared = float(system.inner(move, move, change)[0])

        def slope_at(length: float) -> float:
            fitted = point.fitted + length * (change + shift)  # noqa: B023
            risk = float(np.sum(s * loss.gradient(y, fitted) * (change + shift)))  # noqa: B023
            return risk + strength * (inner + length * squared)  # noqa: B023

        length = 1.0
        if slope_at(1.0) > 0 and descent < 0:
            length = brentq(slope_at, 0.0, 1.0, xtol=1e-15, rtol=1e-10, disp=False)
        trial = full
        if length < 1:
            coefficients, b = point.coefficients + length * move, point.intercept + length * shift
            trial = Ridge(coefficients, b, point.values + length * change)
        trial_value = objective(trial)
        stalled = stalled + 1 if trial_value >= value * (1 - 1e-13) else 0
        if stalled > 3:  # rounding: no further progress is possible
            return point
        if trial_value <= value:
            point, value = trial, trial_value
        extra = max(DAMPING * steepest, 10 * extra) if length < 0.1 else extra / 10
        extra = 0.0 if extra < DAMPING * steepest else min(extra, steepest)
    return point


def proximal_steps(
    problem: Problem,
    loss: NonsmoothLoss,
    start: M,
    slopes: Array,
    tol: float,
    step: Callable[[Smoothed, M, float], tuple[M, Array, float]],
    patience: int,
) -> tuple[M, Array]:
    r"""Minimise a nonsmooth regularised risk by proximal steps on its dual.

    Each step solves the risk of a :class:`Smoothed` loss around the last dual point
    :math:`v = \ell'(f)`: ``step`` takes that loss, the last model and a tolerance and returns the
    next model, its slopes and the relative duality gap of the original problem. Because the dual
    is piecewise quadratic a fixed width ends at the exact solution after finitely many steps; a
    smaller one needs fewer steps and makes worse conditioned systems. Stops when the gap is below
    ``tol`` or, after ``patience`` steps, does not fall by a tenth.
    """
    # The width divides predictions, so it is measured in the units of y.
    unit = float(np.sum(problem.weights[:, None] * np.abs(problem.y))) or 1.0
    model, best = start, np.inf
    for number in range(PROXIMAL_STEPS):
        smoothed = Smoothed(loss, slopes, unit * WIDTHS[min(number, len(WIDTHS) - 1)])
        # Almost exactly: what is left of the stationarity condition is divided by the strength
        # when a dual point is made of the slopes.
        model, slopes, gap = step(smoothed, model, 1e-5 * tol)
        if gap <= tol or (number > patience and gap > 0.9 * best):
            break
        best = min(best, gap)
    return model, slopes


def proximal_newton(
    problem: Problem, loss: NonsmoothLoss, system: System, fitted: Array, v: Array, tol: float
) -> tuple[Ridge, Array]:
    """Minimise a nonsmooth regularised risk of one output by :func:`proximal_steps`.

    It starts from values ``fitted``, which need not be those of a function of this space.
    """

    def step(smoothed: Smoothed, last: Ridge, goal: float) -> tuple[Ridge, Array, float]:
        point = newton(problem, smoothed, system, last.fitted, goal, 1 / smoothed.width)
        v = smoothed.gradient(problem.y, point.fitted)
        alpha = problem.dual_point(v)
        generated = system.from_dual(alpha)
        norm = float(system.inner(generated, generated, system.values(generated)).sum())
        primal = problem.primal(point.fitted, squared_norm(system, point))
        return point, v, problem.gap(primal, alpha, norm, point.intercept)[1]

    start = Ridge(np.empty(0), np.zeros(1), fitted)
    return proximal_steps(problem, loss, start, v, tol, step, PROXIMAL_PATIENCE)
