"""Step sizes of mirror descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class GradientMoments:
    r"""What is known of the gradient estimate before it is drawn.

    Attributes
    ----------
    first : float
        Predicted root of :math:`E\|\hat g\|_*^2` at the start.
    now : float
        The same at the present iteration (both positive).
    curvature : float
        Predicted :math:`\tau_k = \|g\|_{\nu^*}` if the potential is that of the ball's own norm,
        else 0.
    radius : float
        :math:`\delta` of the theorem.
    strong_convexity : float
        :math:`\alpha` of the theorem.
    """

    first: float
    now: float
    curvature: float
    radius: float
    strong_convexity: float


class StepSize(Protocol):
    r"""A rule for :math:`\eta_{k-1}` that depends on the past only, as the theorem needs."""

    def __call__(self, k: int, moments: GradientMoments) -> float:
        """Return the step of iteration k = 1, 2, ..."""


@dataclass(frozen=True)
class TheoremStep:
    r"""The constant step of the theorem, :math:`\eta = \sqrt{2\alpha\delta/(BT)}`.

    Parameters
    ----------
    horizon : int
        The number of iterations T that the run will have.
    bound : float, optional
        B, an upper bound of :math:`E\|\hat g_k\|_*^2`. By default its value at the start, where
        the gradient is largest in practice; use the measured maximum of a first run to be sure.
    """

    horizon: int
    bound: float | None = None

    def __call__(self, k: int, moments: GradientMoments) -> float:
        """Return the step."""
        bound = moments.first**2 if self.bound is None else self.bound
        return float(
            np.sqrt(2 * moments.strong_convexity * moments.radius / (bound * self.horizon))
        )


@dataclass(frozen=True)
class DecreasingStep:
    r"""The normalised step :math:`\eta_k = \gamma / (m_k \sqrt k)`.

    :math:`m_k^2 \approx E\|\hat g_k\|_*^2` follows the gradient, which shrinks by orders of
    magnitude in the first iterations when the strength is small; a constant step would be
    lost there.

    Parameters
    ----------
    scale : float, default=0.3
        :math:`\gamma`.
    """

    scale: float = 0.3

    def __call__(self, k: int, moments: GradientMoments) -> float:
        """Return the step."""
        return self.scale / (moments.now * float(np.sqrt(k)))


@dataclass(frozen=True)
class HarmonicStep:
    r"""The step :math:`\eta_k = 1/(\tau_k k + m_k)`; it has no parameter to tune.

    Here :math:`m_k^2 \approx E\|\hat g_k\|_*^2` and :math:`\tau_k \approx \|g\|_{\nu^*}`, both
    predicted from earlier draws; the reasoning below is for a fixed, known :math:`\tau`, so
    with a predicted one the step is a well founded heuristic, not a theorem.

    Why: the constraint :math:`\|\theta\|_\nu \le 1` is active at the optimum with multiplier
    :math:`\tau`, so the constrained problem has the same solution as minimising
    :math:`J + \tau\Psi`, :math:`\Psi = \|\theta\|_\nu^2/2`. That function is
    :math:`\tau`-strongly convex relative to :math:`\Psi`, however flat J is, and for such
    functions stochastic mirror descent with the step :math:`1/(\tau(k+1))` has an error of
    O(1/k). Up to a scaling of the iterate, which the projection undoes, that is the projected
    step on J with :math:`\eta_k = 1/(\tau k)`. The term :math:`m_k` keeps the first steps, while
    the estimate is mostly noise, no longer than the size of the ball. The theorem's O(1/sqrt k)
    is for functions with no such structure.

    For a potential that is not the ball's own (nu = 1, or by choice) there is no such structure
    and the theorem's step is taken with k for the horizon and :math:`m_k^2` for B,
    :math:`\eta_k = \sqrt{2\alpha\delta} / (m_k\sqrt k)`.
    """

    def __call__(self, k: int, moments: GradientMoments) -> float:
        """Return the step."""
        if moments.curvature > 0:
            return 1 / (moments.curvature * k + moments.now)
        scale = np.sqrt(2 * moments.strong_convexity * moments.radius)
        return float(scale / (moments.now * np.sqrt(k)))
