"""Newton's method for one output of a regularised risk, and its proximal form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..losses import NonsmoothLoss, SmoothLoss
from .systems import System

WIDTHS = (1.0, 1e-2)
"""Smoothing of the first proximal steps; the last one is kept."""


@dataclass(frozen=True)
class Smoothed:
    r"""A nonsmooth loss whose conjugate has a quadratic added.

    .. math::
        \ell_\sigma(y, f) = \max_v\; v f - \ell^*(y, v) - \frac\sigma2 (v - v_0)^2

    Its derivative is the maximiser. It is the augmented Lagrangian of the nonsmooth loss with
    multiplier :math:`v_0`.

    Parameters
    ----------
    loss : NonsmoothLoss
        The loss.
    centre : ndarray of shape (n, 1)
        :math:`v_0`.
    width : float
        :math:`\sigma`.
    """

    loss: NonsmoothLoss
    centre: Array
    width: float

    @property
    def classification(self) -> bool:
        """Whether y must be -1 or +1."""
        return self.loss.classification

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

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        return self.loss.conjugate(y, v) + self.width / 2 * (v - self.centre) ** 2


@dataclass(frozen=True)
class Point:
    """A function of the space plus a constant, one output; ``values`` are without the constant."""

    coefficients: Array
    intercept: Array
    values: Array

    @property
    def fitted(self) -> Array:
        """Values with the constant."""
        return self.values + self.intercept


def squared_norm(system: System, point: Point) -> float:
    """Return the squared norm of a function."""
    return float(system.inner(point.coefficients, point.coefficients, point.values).sum())


def newton(
    loss: SmoothLoss,
    y: Array,
    weights: Array,
    strength: float,
    intercept: bool,
    system: System,
    start: Point,
    tol: float,
) -> Point:
    """Minimise a smooth regularised risk by damped Newton steps, each one ridge solve.

    Losses with a piecewise constant curvature (squared hinge, Huber, smoothed hinge) end at the
    exact solution after finitely many steps. Stops when half the squared Newton decrement,
    which estimates the distance to the minimum, is below ``tol`` times the objective.
    """
    s = weights[:, None]

    def objective(point: Point) -> float:
        risk = float(np.sum(s * loss.value(y, point.fitted)))
        return risk + strength / 2 * squared_norm(system, point)

    point, value = start, objective(start)
    for _ in range(100):
        slope = s * loss.gradient(y, point.fitted)
        curvature = s * loss.curvature(y, point.fitted)
        if intercept and curvature.sum() < 1e-8:
            # Without curvature an intercept has no Newton step; this makes it a gradient step,
            # whose length the line search settles.
            curvature = 1e-4 * s
        linear = curvature * point.fitted - slope
        full = Point(*system.ridge(curvature[:, 0], linear, strength, intercept))
        move = full.coefficients - point.coefficients
        inner = system.inner(move, point.coefficients, point.values)[0]
        descent = float(np.sum(slope * (full.fitted - point.fitted)) + strength * inner)
        if -descent / 2 <= tol * abs(value):
            # The decrement is that of the last point; the full step is closer still.
            return full if objective(full) <= value else point
        length = 1.0
        while True:
            trial = Point(
                point.coefficients + length * move,
                point.intercept + length * (full.intercept - point.intercept),
                point.values + length * (full.values - point.values),
            )
            trial_value = objective(trial)
            if trial_value <= value + 1e-4 * length * descent:
                break
            length /= 2
            if length < 1e-10:  # rounding: no further progress is possible
                return point
        point, value = trial, trial_value
    return point


def proximal_newton(
    loss: NonsmoothLoss,
    y: Array,
    weights: Array,
    strength: float,
    intercept: bool,
    system: System,
    start: Point,
    v: Array,
    tol: float,
) -> tuple[Point, Array]:
    r"""Minimise a nonsmooth regularised risk by proximal steps on its dual.

    Each step solves the risk of a :class:`Smoothed` loss around the last dual point
    :math:`v = \ell'(f)`, by Newton's method. Because the dual is piecewise quadratic a fixed
    width ends at the exact solution after finitely many steps; a smaller one needs fewer steps
    and makes worse conditioned systems. Stops when the duality gap of the original problem is
    below ``tol`` times the objective.
    """
    s = weights[:, None]
    point = start
    for step in range(100):
        if _gap(loss, y, s, strength, system, point, v) <= tol:
            break
        smoothed = Smoothed(loss, v, WIDTHS[min(step, len(WIDTHS) - 1)])
        point = newton(smoothed, y, weights, strength, intercept, system, point, tol / 10)
        v = smoothed.gradient(y, point.fitted)
    return point, v


def _gap(
    loss: NonsmoothLoss,
    y: Array,
    s: Array,
    strength: float,
    system: System,
    point: Point,
    v: Array,
) -> float:
    """Return the duality gap of a primal and a dual point, relative to the primal value."""
    generated = system.from_dual(-s * v / strength)
    dual_norm = float(system.inner(generated, generated, system.values(generated)).sum())
    risk = float(np.sum(s * loss.value(y, point.fitted)))
    primal = risk + strength / 2 * squared_norm(system, point)
    dual = -float(np.sum(s * loss.conjugate(y, v))) - strength / 2 * dual_norm
    return (primal - dual) / primal if primal > 0 else 0.0
