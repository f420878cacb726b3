"""What feature maps are, and those whose functions are centred on the training rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from ..arrays import Array
from ..inputs import LARGEST_INTEGER, is_integer, refuse_huge, shown


class FeatureMap(Protocol):
    """Features of one column, or of several, learnt from the training rows."""

    name: ClassVar[str]

    def fit(self, x: Array, weights: Array | None = None) -> Self:
        """Learn from a column of shape (n,), or from several of shape (n, c).

        Row weights add up to one, by default equal.
        """

    def features(self, x: Array) -> Array:
        """Return the features of new values, of shape (n_new, m)."""


class Centred(ABC):
    """Raw functions of a column, centred and brought to unit size on the training rows."""

    def fit(self, x: Array, weights: Array | None = None) -> Self:
        """Learn the functions, their means and their size."""
        refuse_other_values(x)
        weights = even_weights(x) if weights is None else weights
        self._learn(x, weights)
        return self._centre(self._raw(x), weights)

    def features(self, x: Array) -> Array:
        """Return centred features."""
        refuse_other_values(x)
        return self._centred(self._raw(x))

    def _centre(self, raw: Array, weights: Array) -> Self:
        """Learn means and size from the functions' values on the training rows."""
        mean, factor = centring(raw.T[None], weights)
        self.mean, self.factor = mean[0], float(factor[0])
        return self

    def _centred(self, raw: Array) -> Array:
        return (raw - self.mean) * self.factor

    @abstractmethod
    def _learn(self, x: Array, weights: Array) -> None:
        """Learn the functions."""

    @abstractmethod
    def _raw(self, x: Array) -> Array:
        """Return the functions' values, of shape (n, m)."""


def centring(raw: Array, weights: Array) -> tuple[Array, Array]:
    """Return the means of m functions of each of c columns, and what brings them to unit size.

    ``raw`` has their values on n rows, of shape (c, m, n); the means are of shape (c, m), and the
    factors (c,): functions whose variance is rounding have factor 0.
    """
    mean = raw @ weights
    size = np.sum((raw - mean[:, :, None]) ** 2 @ weights, axis=1)
    least = 1e-12 * np.sum(raw**2 @ weights, axis=1)
    varies = size > least
    return mean, np.where(varies, 1 / np.sqrt(np.where(varies, size, 1.0)), 0.0)


def check_rank(rank: Any, least: int, other: str = "") -> None:
    """Raise unless a rank is an integer that is large enough."""
    if not is_integer(rank, least):
        raise ValueError(
            f"rank must be an integer >= {least}{other}; got {shown(rank)}. Use rank=10."
        )
    if int(rank) > LARGEST_INTEGER:
        refuse_huge(rank, "rank")


def refuse_other_values(x: Array) -> None:
    """Raise if values of columns are missing or infinite: functions have no value there."""
    finite = np.isfinite(x)
    if not finite.all():
        first = np.argwhere(~finite)[0]
        raise ValueError(
            f"values of columns must be finite numbers; got {float(x[tuple(first)])!r} in row "
            f"{first[0]}. Leave such rows out, or put a number in its place."
        )


def even_weights(x: Array) -> Array:
    """Return equal weights of rows, adding up to one."""
    return np.full(len(x), 1 / len(x))
