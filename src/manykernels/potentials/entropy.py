"""The negative entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega, xlogy

from ..arrays import Array
from .power import power_norm


@dataclass(frozen=True)
class Entropy:
    r"""Negative entropy, :math:`\Psi(\theta) = \sum_i \theta_i (\ln \theta_i - 1)`.

    Every weight starts positive, so a solver that uses it must list the whole family: it is for
    families of at most some 10^5 kernels. It is 1-strongly convex in the 1-norm on
    :math:`\Delta_1`; on a larger ball the modulus is smaller and the theorem's constants, which
    are stated for :math:`\nu = 1`, do not apply.
    """

    def value(self, theta: Array) -> float:
        """Return the potential."""
        return float(np.sum(xlogy(theta, theta) - theta))

    def gradient(self, theta: Array) -> Array:
        """Return the gradient."""
        with np.errstate(divide="ignore"):
            return np.log(theta)

    def inverse_gradient(self, dual: Array) -> Array:
        """Return the inverse of the gradient."""
        return np.exp(dual)

    def start(self, size: int, nu: float) -> float:
        r"""Return the minimiser's coordinates, :math:`d^{-1/\nu}`."""
        return float(size) ** (-1 / nu)

    def radius(self, size: int, nu: float) -> float:
        r"""Return :math:`\sup \Psi - \Psi(\theta^{(0)})`; :math:`\ln d` for :math:`\nu = 1`.

        A convex function is largest at an extreme point. For :math:`\nu > 1` the supremum is 0,
        at :math:`\theta = 0`; for :math:`\nu = 1` the theorem may be applied on the simplex,
        where it is -1.
        """
        start = self.start(size, nu)
        lowest = size * start * (np.log(start) - 1)
        return float((-1.0 if nu == 1 else 0.0) - lowest)

    def strong_convexity(self) -> float:
        """Return 1 (in the 1-norm, on the simplex)."""
        return 1.0

    def dual_norm(self, gradient: Array) -> float:
        """Return the largest entry."""
        return power_norm(gradient, np.inf)

    def projects_by_scaling(self, nu: float) -> bool:
        """Tell that the sparse route is not open: all weights are positive from the start."""
        return False

    def project(self, theta: Array, nu: float) -> Array:
        r"""Project on :math:`\Delta_\nu`; O(d), with one root finding for :math:`\nu > 1`.

        Stationarity is :math:`\ln(\theta_i/y_i) + c\,\theta_i^{\nu-1}/(\nu-1) = 0`, solved by
        the Wright omega function: :math:`c\,\theta_i^{\nu-1} = \omega(\ln c + (\nu-1)\ln y_i)`.
        """
        if power_norm(theta, nu) <= 1:
            return theta
        if nu == 1:
            return theta / theta.sum()
        support = theta > 0
        log_y = np.log(theta[support])

        def on_sphere(log_c: float) -> Array:
            powers = wrightomega(log_c + (nu - 1) * log_y)
            return np.asarray(np.exp((np.log(powers) - log_c) / (nu - 1)))

        def excess(log_c: float) -> float:
            return float(np.sum(on_sphere(log_c) ** nu)) - 1

        low, high = -1.0, 1.0
        while excess(low) < 0:
            low *= 2
        while excess(high) > 0:
            high *= 2
        inner = on_sphere(brentq(excess, low, high, xtol=1e-14, rtol=1e-14, maxiter=500))
        projected = np.zeros_like(theta)
        projected[support] = inner / max(1.0, power_norm(inner, nu))
        return projected
