"""What a loss must offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..arrays import Array

DOMAIN_SLACK = 1e-12
"""A dual point computed in floating point may leave a closed domain by a rounding error; the
conjugates accept that much and no more."""


class Loss(Protocol):
    r"""A convex loss :math:`\ell(y, f)`, elementwise, with no mean inside.

    For classification ``y`` is -1 or +1. ``conjugate(y, v)`` is
    :math:`\ell^*(y, v) = \sup_f v f - \ell(y, f)`, infinite off its domain.
    """

    @property
    def classification(self) -> bool:
        """Whether ``y`` must be -1 or +1."""

    def value(self, y: Array, f: Array) -> Array:
        """Loss of predicting ``f`` where the truth is ``y``."""

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative in ``f`` (a subgradient where there is a kink)."""

    def conjugate(self, y: Array, v: Array) -> Array:
        """Convex conjugate in ``f``."""


@runtime_checkable
class SmoothLoss(Loss, Protocol):
    """A loss with a Lipschitz derivative: the dual is solved by Newton's method."""

    def curvature(self, y: Array, f: Array) -> Array:
        """Second derivative in ``f`` (one of its limits at a jump)."""


@runtime_checkable
class NonsmoothLoss(Loss, Protocol):
    """A piecewise linear loss: the dual is solved by proximal Newton steps."""

    def conjugate_prox(self, y: Array, v: Array, step: float) -> tuple[Array, Array]:
        r"""Return :math:`\arg\min_x (x-v)^2/2 + step\,\ell^*(y,x)` and its slope in ``v``."""


@runtime_checkable
class ProbabilisticLoss(Loss, Protocol):
    """A classification loss whose minimiser determines the class probability."""

    def probability(self, f: Array) -> Array:
        """Probability of the class +1 when the decision value is ``f``."""
