"""Losses for real targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..inputs import is_number, shown
from .base import DOMAIN_SLACK


@dataclass(frozen=True)
class Squared:
    r"""Half squared error, :math:`\ell(y, f) = (f - y)^2 / 2`.

    The conjugate is :math:`\ell^*(y, v) = v^2 / 2 + v y`, finite everywhere. On targets -1 and
    +1 its minimiser is :math:`f = 2 P(y=1) - 1`, hence the probability.
    """

    classification: ClassVar[bool] = False

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, infinite where it is too large for a double."""
        with np.errstate(over="ignore"):
            return (f - y) ** 2 / 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative."""
        return f - y

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative."""
        return np.ones_like(f)

    def inverse_gradient(self, y: Array, v: Array) -> Array:
        """Return the value at which the derivative is v."""
        return v + y

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        return v**2 / 2 + v * y

    def probability(self, f: Array) -> Array:
        """Return the probability of the class +1."""
        return np.clip((1 + f) / 2, 0.0, 1.0)


@dataclass(frozen=True)
class Huber:
    r"""Huber's loss: :math:`z^2/2` for :math:`|z| \le \delta`, else :math:`\delta|z| - \delta^2/2`.

    Here :math:`z = y - f`. The conjugate is :math:`v^2/2 + v y` on :math:`|v| \le \delta`.
    """

    delta: float = 1.35
    classification: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_number(self.delta) and self.delta > 0):
            raise ValueError(f"delta must be > 0; got {shown(self.delta)}. Try Huber(delta=1.35).")
        object.__setattr__(self, "delta", float(self.delta))  # of a fraction, for instance

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        size = np.abs(y - f)
        return np.where(size <= self.delta, size**2 / 2, self.delta * (size - self.delta / 2))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative."""
        return np.clip(f - y, -self.delta, self.delta)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative."""
        return (np.abs(y - f) <= self.delta).astype(float)

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        return np.where(np.abs(v) <= self.delta * (1 + DOMAIN_SLACK), v**2 / 2 + v * y, np.inf)


@dataclass(frozen=True)
class EpsilonInsensitive:
    r"""Support-vector regression's loss, :math:`\ell(y, f) = (|y - f| - \epsilon)_+`.

    The conjugate is :math:`v y + \epsilon |v|` on :math:`|v| \le 1`.
    """

    epsilon: float = 0.1
    classification: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_number(self.epsilon) and self.epsilon >= 0):
            raise ValueError(
                f"epsilon must be >= 0; got {shown(self.epsilon)}. Try "
                "EpsilonInsensitive(epsilon=0.1)."
            )
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        return np.maximum(np.abs(y - f) - self.epsilon, 0.0)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a subgradient."""
        return np.sign(f - y) * (np.abs(f - y) > self.epsilon)

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        size = np.abs(v)
        return np.where(size <= 1 + DOMAIN_SLACK, v * y + self.epsilon * size, np.inf)

    def conjugate_prox(self, y: Array, v: Array, step: float) -> tuple[Array, Array]:
        """Return the proximal point of the conjugate and its slope."""
        shifted = v - step * y
        shrunk = np.sign(shifted) * np.maximum(np.abs(shifted) - step * self.epsilon, 0.0)
        point = np.clip(shrunk, -1.0, 1.0)
        return point, ((shrunk != 0) & (np.abs(shrunk) <= 1)).astype(float)
