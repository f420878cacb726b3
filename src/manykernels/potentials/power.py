"""What a potential (the mirror map of mirror descent) must offer, and power-norm potentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from ..arrays import Array
from ..backend import approximately


class Potential(Protocol):
    r"""A potential :math:`\Psi`, strongly convex in some norm, and its Bregman projections.

    All vectors hold the coordinates of a sub-family of kernels; coordinates left out are zero.
    The set projected on is :math:`\Delta_\nu = \{\theta \ge 0, \|\theta\|_\nu \le 1\}`.
    """

    def value(self, theta: Array) -> float:
        r"""Return :math:`\Psi(\theta)`."""

    def gradient(self, theta: Array) -> Array:
        r"""Return :math:`\nabla \Psi(\theta)`."""

    def inverse_gradient(self, dual: Array) -> Array:
        r"""Return :math:`\theta` with :math:`\nabla \Psi(\theta)` equal to ``dual``."""

    def project(self, theta: Array, nu: float) -> Array:
        r"""Return the point of :math:`\Delta_\nu` nearest to ``theta`` in Bregman divergence."""

    def start(self, size: int, nu: float) -> float:
        r"""Return the value all ``size`` coordinates have at :math:`\arg\min_{\Delta_\nu} \Psi`."""

    def radius(self, size: int, nu: float) -> float:
        r"""Return :math:`\delta = \sup_{\Delta_\nu} \Psi - \Psi(\theta^{(0)})` of the theorem."""

    def strong_convexity(self) -> float:
        r"""Return the modulus :math:`\alpha` of the theorem, in the norm of ``dual_norm``."""

    def dual_norm(self, gradient: Array) -> float:
        r"""Return :math:`\|g\|_*`, dual to the norm in which :math:`\Psi` is strongly convex."""

    def projects_by_scaling(self, nu: float) -> bool:
        """Tell whether projections only scale, so that a step can leave other weights alone."""


@dataclass(frozen=True)
class PowerNorm:
    r"""Half a squared norm, :math:`\Psi_q(\theta) = \|\theta\|_q^2 / 2`, :math:`1 < q < \infty`.

    For :math:`q \le 2` it is :math:`(q-1)`-strongly convex in :math:`\|\cdot\|_q`; for q > 2 it is
    not strongly convex and the theorem does not apply. Its gradient is
    :math:`u_i = \theta_i^{q-1} \|\theta\|_q^{2-q}`, whose inverse is the same map with the
    conjugate exponent :math:`q' = q/(q-1)`.

    On the ball of its own norm (:math:`\nu = q`) the projection is a scaling. A step that
    touches a few coordinates then multiplies all others by one number
    (:meth:`sparse_step`), which keeps its cost independent of how many kernels are in use.

    Parameters
    ----------
    q : float, default=2
        Exponent of the norm; 2 is the Euclidean potential of the paper's Algorithm 2.
    """

    q: float = 2.0

    def __post_init__(self) -> None:
        if not 1 < self.q < np.inf:
            raise ValueError(f"q must satisfy 1 < q < inf; got {self.q}. Use PowerNorm(q=2).")

    def value(self, theta: Array) -> float:
        """Return the potential."""
        return power_norm(theta, self.q) ** 2 / 2

    def gradient(self, theta: Array) -> Array:
        """Return the gradient."""
        return _link(theta, self.q)

    def inverse_gradient(self, dual: Array) -> Array:
        """Return the inverse of the gradient."""
        return _link(dual, self.q / (self.q - 1))

    def start(self, size: int, nu: float) -> float:
        """Return the minimiser's coordinates: zero."""
        return 0.0

    def radius(self, size: int, nu: float) -> float:
        r"""Return :math:`\sup_{\Delta_\nu} \Psi_q`: 1/2, or more when :math:`\nu > q`."""
        return 0.5 * approximately(size) ** max(0.0, 2 / self.q - 2 / nu)

    def strong_convexity(self) -> float:
        """Return q - 1, or 0 for q > 2."""
        return self.q - 1 if self.q <= 2 else 0.0

    def dual_norm(self, gradient: Array) -> float:
        """Return the norm with the conjugate exponent."""
        return power_norm(gradient, self.q / (self.q - 1))

    def projects_by_scaling(self, nu: float) -> bool:
        """Tell whether the ball is that of the potential's own norm."""
        return nu == self.q

    def project(self, theta: Array, nu: float) -> Array:
        r"""Project on :math:`\Delta_\nu`.

        A scaling for :math:`\nu = q`, else one root finding. O(d) for each evaluation.
        """
        theta = np.maximum(theta, 0.0)
        if power_norm(theta, nu) <= 1:
            return theta
        if self.projects_by_scaling(nu):
            return theta / power_norm(theta, nu)
        dual = self.gradient(theta)
        return self._threshold(dual) if nu == 1 else self._shrink(dual, nu)

    def _threshold(self, dual: Array) -> Array:
        """Find the level to subtract from the dual point so that the weights sum to one."""

        def excess(level: float) -> float:
            return float(self.inverse_gradient(np.maximum(dual - level, 0.0)).sum()) - 1

        if excess(0.0) <= 0:  # on the sphere up to rounding
            theta = self.inverse_gradient(dual)
            return theta / max(1.0, float(theta.sum()))
        level = brentq(excess, 0.0, float(dual.max()), xtol=1e-300, rtol=1e-15, maxiter=500)
        theta = self.inverse_gradient(np.maximum(dual - level, 0.0))
        return theta / max(1.0, float(theta.sum()))

    def _shrink(self, dual: Array, nu: float) -> Array:
        r"""Solve :math:`N^{2-q}\theta_i^{q-1} + c\theta_i^{\nu-1} = u_i`, :math:`N = \|\theta\|_q`.

        With :math:`\theta = t/\|t\|_\nu` all solutions of norm one lie on the curve
        :math:`t_i^{q-1} + c' t_i^{\nu-1} = u_i`; what is left is one equation for :math:`c'`, whose
        left side is negative for a small :math:`c'` and grows without bound.
        """
        support = dual > 0
        log_u = np.log(dual[support])

        def log_norm(x: Array, exponent: float) -> float:
            return float(logsumexp(exponent * x)) / exponent

        def mismatch(log_c: float) -> float:
            x = _solve_two_powers(self.q - 1, log_c, nu - 1, log_u)
            own, ball = log_norm(x, self.q), log_norm(x, nu)
            return (2 - self.q) * (own - ball) - (self.q - 1) * ball

        low, high = -1.0, 1.0
        while mismatch(low) > 0:
            low *= 2
        while mismatch(high) < 0:
            high *= 2
        log_c = brentq(mismatch, low, high, xtol=1e-14, rtol=1e-14, maxiter=500)
        x = _solve_two_powers(self.q - 1, log_c, nu - 1, log_u)
        theta = np.zeros_like(dual)
        theta[support] = np.exp(x - log_norm(x, nu))
        return theta

    def sparse_step(
        self, touched: Array, increments: Array, norm: float
    ) -> tuple[Array, float, float]:
        r"""Add ``increments`` to a few coordinates of the dual point, then project by scaling.

        O(b), whatever the number of other coordinates. ``touched`` are the present weights of the
        b coordinates that change, all distinct, ``increments`` the step times the negative
        gradient estimate there, and ``norm`` is :math:`\|\theta\|_q` of the whole vector. Returned
        are the new weights of the touched coordinates, what every other weight is multiplied by,
        and the new norm, at most 1.
        """
        q, conjugate = self.q, self.q / (self.q - 1)
        dual = norm * (touched / norm) ** (q - 1) if norm else np.zeros_like(touched)
        moved = dual + increments
        peak = max(norm, float(moved.max(initial=0.0)))  # high powers underflow without it
        if peak == 0:
            return touched, 1.0, norm
        others = max((norm / peak) ** conjugate - float(np.sum((dual / peak) ** conjugate)), 0.0)
        total = others + float(np.sum((moved / peak) ** conjugate))
        new_norm = peak * total ** (1 / conjugate)
        values = new_norm * (moved / new_norm) ** (conjugate - 1)
        factor = 1.0 if norm == 0 else float((norm / new_norm) ** (conjugate - 2))
        scale = 1 / max(1.0, new_norm)
        return values * scale, factor * scale, min(new_norm, 1.0)


def power_norm(x: Array, exponent: float) -> float:
    """Return the norm of a nonnegative vector, safe from overflow; ``exponent`` may be inf."""
    largest = float(np.max(np.abs(x), initial=0.0))
    if largest == 0 or np.isinf(exponent) or not np.isfinite(largest):
        return largest
    shares = np.abs(x)
    shares /= largest
    return largest * float(np.sum(shares**exponent) ** (1 / exponent))


def _link(x: Array, exponent: float) -> Array:
    norm = power_norm(x, exponent)
    return x if norm == 0 else norm * (x / norm) ** (exponent - 1)


def _solve_two_powers(m: float, log_c: float, k: float, log_u: Array) -> Array:
    r"""Solve :math:`t^m + c\,t^k = u` for :math:`\ln t`, elementwise, with m, k > 0.

    In :math:`x = \ln t` the logarithm of the left side is convex with slopes between m and k, so
    Newton's method converges from everywhere; powers of t would underflow for k near 0.
    """
    x = np.minimum(log_u / m, (log_u - log_c) / k)
    for _ in range(100):
        total = np.logaddexp(m * x, log_c + k * x)
        slope = m * np.exp(m * x - total) + k * np.exp(log_c + k * x - total)
        move = (log_u - total) / slope
        x = x + move
        if np.max(np.abs(move)) < 1e-14 * max(1.0, float(np.max(np.abs(x)))):
            break
    return x
