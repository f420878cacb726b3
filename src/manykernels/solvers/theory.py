"""Step sizes of mirror descent; the theorem's bounds, with constants measured on a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np


def expectation_bound(
    second_moment: float, radius: float, strong_convexity: float, iterations: int
) -> float:
    r"""Bound of :math:`E J(\bar\theta) - \min J` after T steps of the theorem's constant step.

    .. math:: \sqrt{2 B \delta / (\alpha T)}

    Parameters
    ----------
    second_moment : float
        B, with :math:`E[\|\hat g_k\|_*^2 \mid F_{k-1}] \le B`.
    radius : float
        :math:`\delta = \sup \Psi - \Psi(\theta^{(0)})`.
    strong_convexity : float
        :math:`\alpha`, the modulus of the potential.
    iterations : int
        T; the average is over :math:`\theta^{(0)}, \dots, \theta^{(T-1)}`.
    """
    return float(np.sqrt(2 * second_moment * radius / (strong_convexity * iterations)))


def high_probability_bound(
    largest: float, radius: float, strong_convexity: float, iterations: int, epsilon: float
) -> float:
    r"""Bound of :math:`J(\bar\theta) - \min J` that holds with probability :math:`1 - \epsilon`.

    .. math:: \sqrt{2 B' \delta / (\alpha T)} + 4\sqrt{2 B' \delta \ln(1/\epsilon) / (\alpha T)}

    with :math:`\|\hat g_k\|_*^2 \le B'`. The paper has 4 in place of :math:`4\sqrt 2`: it bounds
    the diameter of the feasible set by :math:`\sqrt{2\delta/\alpha}`, which is the distance of a
    point to the start, and the diameter of :math:`\Delta_2` is :math:`\sqrt2`.
    """
    scale = largest * radius / (strong_convexity * iterations)
    return float(np.sqrt(2 * scale) + 4 * np.sqrt(2 * scale * np.log(1 / epsilon)))


@dataclass(frozen=True)
class Constants:
    r"""What the theorem needs to know of a run.

    Attributes
    ----------
    second_moment : float
        The largest mean, over the draws of an iteration, of :math:`\|\hat g\|_*^2` of one draw:
        with draws from q, :math:`B = \max_k C_{k-1}^2`. Several draws in one estimate only
        lower it.
    largest : float
        The largest :math:`\|\hat g_k\|_*^2` of a single draw that was seen. With draws from q over
        distinct kernels all draws of an iteration have the same, so this is :math:`B'`.
    radius, strong_convexity : float
        :math:`\delta` and :math:`\alpha` of the potential.
    iterations : int
        Steps taken, T.
    """

    second_moment: float
    largest: float
    radius: float
    strong_convexity: float
    iterations: int

    def after(self, second_moment: float, largest: float) -> Constants:
        """Return the constants after one more step, of whose estimate the moments are given."""
        return replace(
            self,
            second_moment=max(self.second_moment, second_moment),
            largest=max(self.largest, largest),
            iterations=self.iterations + 1,
        )

    def expectation_bound(self) -> float:
        """Return the bound in expectation."""
        return expectation_bound(
            self.second_moment, self.radius, self.strong_convexity, self.iterations
        )

    def high_probability_bound(self, epsilon: float = 0.01) -> float:
        """Return the bound with probability 1 - epsilon."""
        return high_probability_bound(
            self.largest, self.radius, self.strong_convexity, self.iterations, epsilon
        )


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
