"""Laws of widths: their transforms, their parts, and draws of a width given the other columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.special import gammainc, gammaincinv

from ...arrays import Array
from ...deadline import check
from ..base import nonnegative
from .exponential_integral import exponential_integral

MOST_NEWTON_STEPS = 200
"""Steps of the search for a width. Each shrinks its bracket; some eight are usual, and a density
that vanishes at the point looked for took 18."""

START_BINS = 256
"""Number of bins of distances, equal in the logarithm, from which the search for a width starts:
a thousandth of the distances of a thousand rows. Set by judgement, not measured."""


class WidthLaw(ABC):
    r"""A probability law :math:`\mu` of the width s > 0 of one column.

    The widths of the columns of a kernel are independent. Where two values are :math:`t \ge 0`
    apart (squared for the Gaussian shape), a one-column kernel is :math:`e^{-st}`.
    """

    @abstractmethod
    def transform(self, distances: Array) -> Array:
        r"""Return the mean kernel :math:`L(t) = \int e^{-st} \mu(ds)` at distances t."""

    @abstractmethod
    def quantile(self, points: Array) -> Array:
        """Return the widths below which the law has given shares in (0, 1)."""

    @abstractmethod
    def split(self, count: int) -> list[Self]:
        """Return the laws given that the width is in one of ``count`` cells of equal mass.

        In ascending order; their transforms are the mean kernels of the cells.
        """

    @abstractmethod
    def conditional(self, distances: Array, masses: Array, points: Array) -> Array:
        r"""Draw widths with density :math:`\langle M, e^{-st}\rangle` relative to the law.

        Parameters
        ----------
        distances : ndarray of shape (m,)
            The values of t, ascending.
        masses : ndarray of shape (k, m) or (1, m)
            M for each draw, or for all; of any sign, but the density is not negative.
        points : ndarray of shape (k,)
            Uniform numbers in (0, 1), at which the distribution functions are inverted.

        Returns
        -------
        widths : ndarray of shape (k,)
        """


class ContinuousLaw(WidthLaw):
    """A law on an interval, with the distribution functions of its conditional laws in closed form.

    Attributes
    ----------
    lowest, highest : float
        The ends of the interval.
    """

    lowest: float
    highest: float

    @abstractmethod
    def cumulative(self, distances: Array, widths: Array | float) -> Array:
        r"""Return :math:`\int^s e^{-\sigma t} \mu(d\sigma)`, up to a function of t alone."""

    def transform(self, distances: Array) -> Array:
        r"""Return the mean kernel :math:`L(t)`; O(1) for each t."""
        ends = self.cumulative(distances, self.highest), self.cumulative(distances, self.lowest)
        return ends[0] - ends[1]

    def split(self, count: int) -> list[Self]:
        """Return the law on each of ``count`` intervals of equal mass."""
        inner = self.quantile(np.arange(1, count) / count).tolist()
        ends = pairwise([self.lowest, *inner, self.highest])
        return [replace(self, lowest=low, highest=high) for low, high in ends]  # type: ignore[type-var]

    def conditional(self, distances: Array, masses: Array, points: Array) -> Array:
        """Invert the distribution function by bracketed Newton steps to rounding; O(m) a step.

        The unknown is the share v of the law below the width: there the bracket is [0, 1] for
        every law, and the slope is the density itself. Steps start from the answer with distances
        in bins.
        """
        masses = np.broadcast_to(masses, (len(points), len(distances)))
        start = points
        if len(distances) > 2 * START_BINS:
            start = self._share(*binned(distances, masses), points, points)
        return self.quantile(self._share(distances, masses, points, start))

    def _share(self, distances: Array, masses: Array, points: Array, start: Array) -> Array:
        """Return the shares of the law below the widths of :meth:`conditional`.

        The density has neither a sign of its slope nor a convex logarithm, so a step that leaves
        the bracket is replaced by its middle.
        """
        means = self.transform(distances)
        target = masses @ self.cumulative(distances, self.lowest)
        target = target + points * nonnegative(masses @ means)
        rounding = np.finfo(float).eps * (np.abs(masses) @ means)
        low, high = np.zeros_like(points), np.ones_like(points)
        out, live = start.copy(), np.arange(len(points))
        for _ in range(MOST_NEWTON_STEPS):
            check()
            here, widths = out[live], self.quantile(out[live])[:, None]
            excess = _dots(masses[live], self.cumulative(distances, widths)) - target[live]
            slope = _dots(masses[live], np.exp(-widths * distances))
            below = excess < 0
            low[live[below]], high[live[~below]] = here[below], here[~below]
            newton = here - np.divide(excess, slope, out=np.full_like(here, 2.0), where=slope > 0)
            inside = (newton > low[live]) & (newton < high[live])
            there = np.where(inside, newton, (low[live] + high[live]) / 2)
            there = np.where(np.abs(excess) <= rounding[live], here, there)
            out[live] = there
            live = live[np.abs(there - here) > np.finfo(float).eps * here]
            if not len(live):
                break
        return out


@dataclass(frozen=True)
class LogUniform(ContinuousLaw):
    r"""Logarithms of widths are uniform between two ends.

    .. math:: L(t) = \frac{E_1(at) - E_1(bt)}{\ln(b/a)}\ (t > 0), \qquad L(0) = 1

    Parameters
    ----------
    lowest, highest : float, default=1e-3, 30
        The ends a < b. For columns scaled to a spread of about one these go from kernels that
        are nearly linear to bumps of a few percent of the range.
    """

    lowest: float = 1e-3
    highest: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.lowest < self.highest < np.inf:
            raise ValueError(
                f"lowest and highest must be positive numbers in ascending order; got "
                f"{self.lowest!r} and {self.highest!r}. Use LogUniform(1e-3, 30)."
            )

    @property
    def _length(self) -> float:
        return float(np.log(self.highest / self.lowest))

    def cumulative(self, distances: Array, widths: Array | float) -> Array:
        r"""Return :math:`-E_1(st)`, and :math:`\ln s` at t = 0, over :math:`\ln(b/a)`."""
        apart = distances * self.lowest > 0
        integral = -exponential_integral(widths * np.where(apart, distances, 1.0))
        return np.where(apart, integral, np.log(widths)) / self._length

    def quantile(self, points: Array) -> Array:
        r"""Return :math:`a (b/a)^v`."""
        return self.lowest * np.exp(points * self._length)


@dataclass(frozen=True)
class Gamma(ContinuousLaw):
    r"""Widths have a Gamma law, all of it or what lies in an interval.

    On all of the half-line :math:`L(t) = (1 + t/c)^{-k}`.

    Parameters
    ----------
    shape, rate : float, default=1, 1
        k and c: the mean is k/c, and 1 is the exponential law.
    lowest, highest : float, default=0, inf
        The ends of the interval.
    """

    shape: float = 1.0
    rate: float = 1.0
    lowest: float = 0.0
    highest: float = np.inf

    def __post_init__(self) -> None:
        if not (self.shape > 0 and self.rate > 0 and 0 <= self.lowest < self.highest):
            raise ValueError(
                f"shape and rate must be positive, and lowest below highest; got {self!r}. "
                "Use Gamma(1, 1)."
            )

    @property
    def _shares(self) -> Array:
        """Shares of the whole law below the two ends."""
        return gammainc(self.shape, self.rate * np.array([self.lowest, self.highest]))

    def cumulative(self, distances: Array, widths: Array | float) -> Array:
        r"""Return :math:`(1 + t/c)^{-k} P(k, (c + t)s)`, P the regularised incomplete function."""
        share = gammainc(self.shape, (self.rate + distances) * widths)
        low, high = self._shares
        return (1 + distances / self.rate) ** -self.shape * share / (high - low)

    def quantile(self, points: Array) -> Array:
        """Return the inverse of the incomplete Gamma function."""
        low, high = self._shares
        return gammaincinv(self.shape, low + points * (high - low)) / self.rate


@dataclass(frozen=True)
class WidthGrid(WidthLaw):
    """Finitely many widths of equal probability.

    Parameters
    ----------
    widths : tuple of float
        The widths, ascending.
    """

    widths: tuple[float, ...]

    def __post_init__(self) -> None:
        widths = np.asarray(self.widths, dtype=float)
        if not (widths.ndim == 1 and widths.size and widths[0] > 0 and np.all(np.diff(widths) > 0)):
            raise ValueError(
                f"widths must be positive numbers in ascending order; got {self.widths!r}. "
                "Use WidthGrid((0.1, 1.0))."
            )

    def transform(self, distances: Array) -> Array:
        """Return the mean of the kernels; O(G) for each t."""
        return np.mean([np.exp(-s * distances) for s in self.widths], axis=0)

    def quantile(self, points: Array) -> Array:
        """Return the widths of the cells that the points are in."""
        cells = (np.asarray(points) * len(self.widths)).astype(int)
        return np.asarray(self.widths)[cells]

    def split(self, count: int) -> list[Self]:
        """Return grids of as many neighbouring widths each."""
        size, rest = divmod(len(self.widths), count)
        if rest:
            raise ValueError(
                f"cells must divide the number of widths, {len(self.widths)}; got {count}. "
                f"Use cells={len(self.widths)}."
            )
        starts = range(0, len(self.widths), size)
        return [type(self)(self.widths[start : start + size]) for start in starts]

    def conditional(self, distances: Array, masses: Array, points: Array) -> Array:
        """Choose widths in proportion to their masses; O(G m) for each row of masses."""
        table = np.exp(-np.outer(distances, self.widths))
        sums = np.cumsum(nonnegative(masses @ table), axis=1)
        cells = np.sum(points[:, None] * sums[:, -1:] >= sums, axis=1)
        return np.asarray(self.widths)[np.minimum(cells, len(self.widths) - 1)]


def binned(distances: Array, masses: Array) -> tuple[Array, Array]:
    """Return ascending distances in bins, by one distance of each, and the masses of bins."""
    first = int(np.argmax(distances > 0))
    edges = np.geomspace(distances[first], distances[-1], START_BINS)
    starts = np.unique(np.searchsorted(distances[:-1], np.append(0.0, edges)))
    ends = np.append(starts[1:], len(distances))
    return distances[(starts + ends) // 2], np.add.reduceat(masses, starts, axis=1)


def _dots(left: Array, right: Array) -> Array:
    """Return the inner products of the rows of two matrices."""
    return np.einsum("km,km->k", left, right)
