"""What a potential (the mirror map of mirror descent) must offer."""

from __future__ import annotations

from typing import Protocol

from ..arrays import Array


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
