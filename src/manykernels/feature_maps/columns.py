"""Features of single columns: smooth functions, orthogonal polynomials, categories.

All maps are centred over the training rows, so that a product of two of them has (nearly) no part
that belongs to one of its factors alone: terms of different order do not compete for the same
function (functional ANOVA). All are scaled so that the kernel's diagonal is one on average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from numbers import Integral
from typing import ClassVar, Protocol, Self

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import eigh

from ..arrays import Array
from ..limits import PRICING_WORK, PRODUCT_FEATURES

CATEGORIES = 10
"""Most distinct values of categories, for ``"auto"``. Set by judgement, not measured."""

DISCRETE_VALUES = 32
"""Most values, less one, of a column with a function for each. Set by judgement, not measured."""

COLUMN_FUNCTIONS = 20
"""Most functions of a column in one kernel, for ``"auto"``. Chosen on one or two splits of seven
tables of docs/benchmarks/tables.md."""

KNOTS = 64
"""Least number of knots of splines. Chosen by ridge fits on splits of concrete, california and bike
that the scores of docs/benchmarks/tables.md are not of (seeds 10 to 17)."""

LEVEL_FUNCTIONS = 3
"""Number k0 in the weight 1 / (k0 + k)^2 of a spline's function k: the first k0 functions weigh
about the same. Chosen on the same splits as the knots."""

RANK_SHARES = np.linspace(0, 1, 33)
"""Shares of the rows at whose quantiles a column's ranks are looked up; between them they are
interpolated. Set by judgement, not measured."""


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
        weights = np.full(len(x), 1 / len(x)) if weights is None else weights
        self._learn(x, weights)
        raw = self._raw(x)
        self.mean = weights @ raw
        size = float(weights @ np.sum((raw - self.mean) ** 2, axis=1))
        least = 1e-12 * float(weights @ np.sum(raw**2, axis=1))
        self.factor = 1 / np.sqrt(size) if size > least else 0.0
        return self

    def features(self, x: Array) -> Array:
        """Return centred features."""
        return (self._raw(x) - self.mean) * self.factor

    @abstractmethod
    def _learn(self, x: Array, weights: Array) -> None:
        """Learn the functions."""

    @abstractmethod
    def _raw(self, x: Array) -> Array:
        """Return the functions' values, of shape (n, m)."""


@dataclass
class Spline(Centred):
    r"""Smooth functions of a column, from straight to wiggly, the wigglier the dearer.

    Cubic splines with knots on a scale half of values and half of ranks, turned into functions
    :math:`u_0, u_1, \dots` that are orthonormal over the training rows, in the order of their
    roughness (Demmler and Reinsch). Function k has the weight :math:`(3 + k)^{-2}`: the first ones
    are nearly free, and kinks are not much dearer than bends. Between and beyond the training rows
    no function leaves the range of its values there.

    Parameters
    ----------
    rank : int, default=10
        Number of functions.
    band : pair of int, optional
        Which of the functions to use, first and last but one; by default all.
    """

    rank: int = 10
    band: tuple[int, int] | None = None
    name: ClassVar[str] = "spline"

    def __post_init__(self) -> None:
        check_rank(self.rank, 2)
        if self.band is not None and not 0 <= self.band[0] < self.band[1] <= self.rank:
            raise ValueError(
                f"band must be two numbers from 0 to rank={self.rank}, ascending; got "
                f"{self.band!r}. Use None for all functions."
            )

    def _learn(self, x: Array, weights: Array) -> None:
        self.places, self.evenly = even_scale(x, weights)
        count = max(KNOTS, self.rank)
        self.knots = np.arange(-3, count + 3) / (count - 1)
        self.axes = np.empty((count + 2, 0))
        self.lowest = self.highest = np.empty(0)
        if len(self.places) < 2:
            return
        inside = np.interp(x, self.places, self.evenly)
        basis = BSpline.design_matrix(inside, self.knots, 3)
        mean = weights @ basis
        spread = (basis.T @ basis.multiply(weights[:, None])).toarray() - np.outer(mean, mean)
        bends = np.diff(np.eye(count + 2), 2, axis=0)
        # The functions that vary most over the rows for how they bend, the constant excepted.
        # Some variance among the bends tells straight lines, which have none, from each other;
        # it is as large as that of four half waves.
        level = count * (4 * np.pi / (count - 1)) ** 4
        bent = bends.T @ bends + level * spread + 1 / count + 1e-10 * np.eye(count + 2)
        shares, axes = eigh(spread, bent)
        shares, axes = shares[::-1], axes[:, ::-1]
        axes = axes[:, shares > 1e-9 * shares[0]][:, : self.rank]
        number = np.arange(axes.shape[1])
        axes = axes / np.sqrt(shares[number]) / (LEVEL_FUNCTIONS + number)
        self.axes = axes if self.band is None else axes[:, slice(*self.band)]
        values = (basis @ self.axes)[weights > 0]
        self.lowest, self.highest = values.min(axis=0), values.max(axis=0)

    def _raw(self, x: Array) -> Array:
        inside = np.interp(x, self.places, self.evenly)
        values = BSpline.design_matrix(inside, self.knots, 3) @ self.axes
        return np.clip(values, self.lowest, self.highest)


@dataclass
class Polynomial(Centred):
    """Orthonormal polynomials of a column.

    Parameters
    ----------
    rank : int, default=3
        Highest power.
    """

    rank: int = 3
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        check_rank(self.rank, 1)

    def _learn(self, x: Array, weights: Array) -> None:
        self.middle = float(weights @ x)
        self.reach = float(np.abs(x - self.middle).max()) or 1.0
        powers = self._powers(x)
        root = np.sqrt(weights)[:, None]
        _, triangle = np.linalg.qr(root * (powers - weights @ powers))
        good = np.abs(triangle.diagonal()) > 1e-8
        rank = int(np.argmin(good)) if not good.all() else len(good)
        self.axes = np.linalg.inv(triangle[:rank, :rank]) if rank else np.empty((0, 0))

    def _powers(self, x: Array) -> Array:
        scaled = np.clip((x - self.middle) / self.reach, -1.5, 1.5)
        return scaled[:, None] ** np.arange(1, self.rank + 1)

    def _raw(self, x: Array) -> Array:
        return self._powers(x)[:, : len(self.axes)] @ self.axes


@dataclass
class Categorical(Centred):
    """One indicator for each distinct value of a column; values not seen in training have none."""

    name: ClassVar[str] = "categorical"

    def _learn(self, x: Array, weights: Array) -> None:
        self.values = np.unique(x)

    def _raw(self, x: Array) -> Array:
        return np.asarray(x[:, None] == self.values, dtype=float)

    def features(self, x: Array) -> Array:
        """Return centred indicators; zero, the average, for values not seen in training."""
        return super().features(x) * np.isin(x, self.values)[:, None]


def check_rank(rank: object, least: int, other: str = "") -> None:
    """Raise unless a rank is an integer that is large enough."""
    if not isinstance(rank, Integral) or isinstance(rank, bool) or rank < least:
        raise ValueError(f"rank must be an integer >= {least}{other}; got {rank!r}. Use rank=10.")


def choose_maps(x: Array, widest: int, functions: int) -> list[FeatureMap]:
    """Return the maps that a column's values ask for, numeric ones of some ``functions`` in all.

    Few distinct values are categories. Other columns have smooth functions and, as kernels of
    their own, fine and finest ones, none of more than ``widest``: where a term needs only the
    smooth ones it does not pay for the others. What functions are left of a column with some
    thirty values go to the last kernel.
    """
    values = len(np.unique(x))
    if values <= CATEGORIES:
        return [Categorical()]
    smooth = 4 if widest >= 10 else 2
    few = values - 1 <= DISCRETE_VALUES and functions > smooth
    last = values - 1 if few else min(functions, values - 1)
    edges = sorted({0, last, *(edge for edge in (smooth, widest) if edge < last)})
    return [Spline(max(2, last), band) for band in pairwise(edges)]


def affordable_functions(degree: int, columns: int, rows: int) -> tuple[int, int]:
    """Return how many functions of a column a kernel may have, and all of its kernels together.

    A product of kernels has at most 256 features, and the inner products of the features of all
    products with a vector take at most about a second.
    """
    degree = max(1, min(degree, columns))
    terms = max(1, comb(columns, degree)) * max(1, rows)
    widest = min(COLUMN_FUNCTIONS, PRODUCT_FEATURES ** (1 / degree) + 1e-9)
    functions = min(2 * widest, max(1.0, (PRICING_WORK / terms) ** (1 / degree)))
    return int(min(widest, functions)), int(functions)


def even_scale(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return points of a column and where they lie on a scale from 0 to 1.

    A value lies half way between its place in the column's range and its rank: rows that are close
    to each other in a long tail are told apart, and so are rows in a crowd that an outlier presses
    together. Values between points lie between their places in proportion.
    """
    crowded, inverse = np.unique(quantiles(x, weights, RANK_SHARES), return_inverse=True)
    # Many steps at one value: it lies in their middle.
    ranks = np.bincount(inverse, RANK_SHARES) / np.bincount(inverse)
    points = np.union1d(crowded, np.linspace(crowded[0], crowded[-1], len(RANK_SHARES)))
    places = np.zeros(len(points))
    for values in (points, np.interp(points, crowded, ranks)):
        places += (values - values[0]) / ((values[-1] - values[0]) or 1.0)
    return points, places / 2


def quantiles(x: Array, weights: Array, shares: Array) -> Array:
    """Return the middle of the values with at least given shares of the weights on either side.

    Repeated rows and weighted ones give the same, and so do x and -x.
    """
    sides = []
    for values, wanted in ((x, shares), (-x, 1 - shares)):
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weights[order])
        # Rounding must not move a share that falls on the edge between two values.
        places = np.searchsorted(reached, wanted * reached[-1] - 1e-12)
        sides.append(values[order][np.minimum(places, len(x) - 1)])
    return np.asarray((sides[0] - sides[1]) / 2)
