"""Losses for targets -1 and +1, functions of the margin ``y f``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, logit, logsumexp, xlogy

from ..arrays import Array
from .base import DOMAIN_SLACK


@dataclass(frozen=True)
class Hinge:
    r"""Support-vector classification's loss, :math:`\ell(y, f) = (1 - y f)_+`.

    The conjugate is :math:`\ell^*(y, v) = y v` on :math:`-1 \le y v \le 0`. The decision value
    does not determine a probability.
    """

    classification: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        return np.maximum(1 - y * f, 0.0)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a subgradient."""
        return -y * (y * f < 1)

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        inside = (y * v >= -1 - DOMAIN_SLACK) & (y * v <= DOMAIN_SLACK)
        return np.where(inside, y * v, np.inf)

    def conjugate_prox(self, y: Array, v: Array, step: float) -> tuple[Array, Array]:
        """Return the proximal point of the conjugate and its slope."""
        margin = y * v - step
        return y * np.clip(margin, -1.0, 0.0), ((margin >= -1) & (margin <= 0)).astype(float)


@dataclass(frozen=True)
class SquaredHinge:
    r"""Half squared hinge, :math:`\ell(y, f) = (1 - y f)_+^2 / 2`.

    The conjugate is :math:`v^2/2 + y v` on :math:`y v \le 0`. The minimiser of the expected loss
    is :math:`f = 2 P(y=1) - 1`, hence the probability.
    """

    classification: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        return np.maximum(1 - y * f, 0.0) ** 2 / 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative."""
        return -y * np.maximum(1 - y * f, 0.0)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative."""
        return (y * f < 1).astype(float)

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        return np.where(y * v <= DOMAIN_SLACK, v**2 / 2 + y * v, np.inf)

    def probability(self, f: Array) -> Array:
        """Return the probability of the class +1."""
        return np.clip((1 + f) / 2, 0.0, 1.0)


@dataclass(frozen=True)
class Logistic:
    r"""Logistic loss, :math:`\ell(y, f) = \log(1 + e^{-y f})`.

    With :math:`s = -y v` the conjugate is :math:`s \ln s + (1-s) \ln(1-s)` on
    :math:`0 \le s \le 1`, and the probability is :math:`1 / (1 + e^{-f})`.
    """

    classification: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""
        return np.logaddexp(0.0, -y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative."""
        return -y * expit(-y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative."""
        return expit(f) * expit(-f)

    def inverse_gradient(self, y: Array, v: Array) -> Array:
        """Return the value at which the derivative is v; some 36 at the ends of its range."""
        least = np.finfo(float).eps
        return -y * logit(np.clip(-y * v, least, 1 - least))

    def conjugate(self, y: Array, v: Array) -> Array:
        """Return the conjugate."""
        s = -y * v
        inside = (s >= -DOMAIN_SLACK) & (s <= 1 + DOMAIN_SLACK)
        s = np.clip(s, 0.0, 1.0)
        return np.where(inside, xlogy(s, s) + xlogy(1 - s, 1 - s), np.inf)

    def probability(self, f: Array) -> Array:
        """Return the probability of the class +1."""
        return expit(f)


def log_chances(f: Array, softmax: bool) -> Array:
    r"""Return the logarithms of probabilities of more than two classes, which add up to one.

    They are proportional to :math:`1 / (1 + e^{-f})`, the logistic probability of each class
    against the others, or with ``softmax`` to :math:`e^f`.

    Parameters
    ----------
    f : ndarray of shape (n, classes)
        Decision values.
    softmax : bool
        Which of the two.
    """
    values = f if softmax else log_expit(f)
    return values - logsumexp(values, axis=1, keepdims=True)


def class_losses(y: Array, f: Array, softmax: bool) -> Array:
    """Return the log loss of each row, with the column of -1 and +1 of each class as ``y``."""
    return -np.where(y > 0, log_chances(f, softmax), 0.0).sum(axis=1)


def class_targets(codes: Array, count: int) -> Array:
    """Return a column of -1 and +1 for each of ``count`` classes; one column for two classes.

    ``codes`` has the number of the class of each row. With two classes +1 is the second.
    """
    outputs = [1] if count == 2 else range(count)
    return np.column_stack([np.where(codes == c, 1.0, -1.0) for c in outputs])
