"""The theorem's bounds, with constants measured on a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
