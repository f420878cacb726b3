"""Features of columns: smooth functions, orthogonal polynomials, Gaussian kernels, categories.

All maps are centred over the training rows, so that a product of two of them has (nearly) no part
that belongs to one of its factors alone: terms of different order do not compete for the same
function (functional ANOVA). All are scaled so that the kernel's diagonal is one on average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from numbers import Integral, Real
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from .arrays import Array
from .scales import even_scale

CATEGORIES = 10
"""Most distinct values of categories, for ``"auto"``. Set by judgement, not measured."""

DISCRETE_VALUES = 32
"""Most values, less one, of a column with a function for each. Set by judgement, not measured."""

COLUMN_FUNCTIONS = 20
"""Most functions of a column in one kernel, for ``"auto"``. Chosen on one or two splits of seven
tables of docs/benchmarks/tables.md."""

PRODUCT_FEATURES = 256
"""Most features of a product of kernels, for ``"auto"``. Set by judgement, not measured."""

PRICING_WORK = 1e10
"""Most multiplications of the features of all products with a vector, for ``"auto"``: about a
second on one core."""

KNOTS = 64
"""Least number of knots of splines. Chosen by ridge fits on splits of concrete, california and bike
that the scores of docs/benchmarks/tables.md are not of (seeds 10 to 17)."""

LEVEL_FUNCTIONS = 3
"""Number k0 in the weight 1 / (k0 + k)^2 of a spline's function k: the first k0 functions weigh
about the same. Chosen on the same splits as the knots."""

PIVOT_ROWS = 8_000
"""Most rows that a Gaussian kernel's points are chosen from. Set by judgement, not measured."""

GAUSSIAN_FEATURES = 200
"""Most features of a Gaussian kernel for ``rank="auto"``: 1.6 GB at a million rows."""

GAUSSIAN_VALUES = 2**24
"""Most values of a Gaussian kernel held at a time: 128 MB. Set by judgement, not measured."""


class FeatureMap(Protocol):
    """Features of one column, or of several, learnt from the training rows."""

    name: ClassVar[str]

    def fit(self, x: Array, weights: Array | None = None) -> Self:
        """Learn from a column of shape (n,), or from several of shape (n, c).

        Row weights add up to one, by default equal.
        """
        ...

    def features(self, x: Array) -> Array:
        """Return the features of new values, of shape (n_new, m)."""
        ...


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
        _check_rank(self.rank, 2)
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
        basis = self._basis(x)
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

    def _basis(self, x: Array) -> csr_array:
        inside = np.interp(x, self.places, self.evenly)
        return BSpline.design_matrix(inside, self.knots, 3)

    def _raw(self, x: Array) -> Array:
        return np.clip(self._basis(x) @ self.axes, self.lowest, self.highest)


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
        _check_rank(self.rank, 1)

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
class Nystroem(Centred):
    r"""Gaussian kernel of one column or several by features: its values at a few points.

    The kernel is :math:`\exp(-d^2 / (2 w^2))` with the width w and the root mean square d of two
    rows' differences in the columns. A single column is measured on a scale from 0 to 1 that it is
    spread over evenly; several are taken as they come, which is standardised in estimators.

    Parameters
    ----------
    rank : int or "auto", optional
        Number of features; by default 12 for a single column and ``"auto"`` for several.
        ``"auto"``: the smallest number that leaves out no more than ``tol`` of the kernel, 200 at
        most. An integer means evenly spread points for a single column. Otherwise points are drawn
        among the training rows by randomly pivoted Cholesky factorisation [1]_, up to twice as
        many as features, and the features are the directions in which the rows differ most.
    width : float, optional
        Width of the kernel; by default 0.2, as a share of the range, for a single column and 1 for
        several, which is the kernel ``"rbf"``.
    tol : float, default=1e-3
        Share of the trace of the centred kernel matrix that ``rank="auto"`` may leave out; of more
        than 8,000 training rows, that of a sample of 8,000. Rows unlike those lose more.

    References
    ----------
    .. [1] Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky: Practical approximation of
       a kernel matrix with few entry evaluations", 2022.
    """

    rank: int | Literal["auto"] | None = None
    width: float | None = None
    tol: float = 1e-3
    name: ClassVar[str] = "nystroem"

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank != "auto":
            _check_rank(self.rank, 1, ' or "auto"')
        positive = isinstance(self.width, Real) and 0 < self.width < np.inf
        if self.width is not None and not positive:
            raise ValueError(f"width must be a positive number; got {self.width!r}. Use width=0.2.")
        if not (isinstance(self.tol, Real) and 0 < self.tol < 1):
            raise ValueError(
                f"tol must be a number between 0 and 1; got {self.tol!r}. Use tol=1e-3."
            )

    def _learn(self, x: Array, weights: Array) -> None:
        if x.ndim == 1:
            self.places, self.evenly = even_scale(x, weights)
            if self.rank != "auto":
                self.points = np.linspace(0, 1, self.rank or 12)
                self.axes = _inverse_root(self._kernel(self.points, self.points))
                return
        if self.rank is None or self.rank == "auto":
            most, tol = GAUSSIAN_FEATURES, self.tol
        else:
            most, tol = self.rank, 0.0
        rows, shares = _sample(x, weights)
        inside = self._inside(rows)
        self.points = inside[self._pivots(inside, shares, 2 * most, tol / 2)]
        axes = _inverse_root(self._kernel(self.points, self.points))
        features = self._kernel(inside, self.points) @ axes
        self.axes = axes @ _directions(features, shares, most, tol)

    def _pivots(self, rows: Array, weights: Array, most: int, tol: float) -> list[int]:
        """Draw rows, each by what those before it leave out, until that is a small share."""
        rng = np.random.default_rng(0)  # a map of the same rows is the same
        factor = np.empty((len(rows), most))
        left = np.ones(len(rows))
        pivots: list[int] = []
        kept = 0.0
        for count in range(most):
            reached = np.cumsum(weights * left)
            if reached[-1] <= max(tol * kept, 1e-10):
                break
            pivot = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
            values = self._kernel(rows, rows[pivot : pivot + 1])[:, 0]
            column = (values - factor[:, :count] @ factor[pivot, :count]) / np.sqrt(left[pivot])
            factor[:, count] = column
            left = np.maximum(left - column**2, 0.0)
            left[pivot] = 0.0
            pivots.append(pivot)
            kept += weights @ column**2 - (weights @ column) ** 2
        return pivots

    def _kernel(self, inside: Array, points: Array) -> Array:
        width = self.width or (0.2 if points.ndim == 1 else 1.0)
        inside, points = inside.reshape(len(inside), -1), points.reshape(len(points), -1)
        return np.asarray(rbf_kernel(inside, points, gamma=0.5 / width**2 / points.shape[1]))

    def _inside(self, x: Array) -> Array:
        return np.interp(x, self.places, self.evenly) if x.ndim == 1 else x

    def _raw(self, x: Array) -> Array:
        out = np.empty((len(x), self.axes.shape[1]))
        step = max(1, GAUSSIAN_VALUES // len(self.points))
        for start in range(0, len(x), step):
            inside = self._inside(x[start : start + step])
            out[start : start + step] = self._kernel(inside, self.points) @ self.axes
        return out


def _sample(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct rows and their weights, of a sample by weight if there are many."""
    if len(x) > PIVOT_ROWS:
        reached = np.cumsum(weights)
        shares = (np.arange(PIVOT_ROWS) + np.random.default_rng(0).random(PIVOT_ROWS)) / PIVOT_ROWS
        chosen = np.searchsorted(reached, shares * reached[-1], side="right")
        x, weights = x[chosen], np.full(PIVOT_ROWS, 1 / PIVOT_ROWS)
    rows, inverse = np.unique(x, axis=0, return_inverse=True)
    return rows, np.bincount(inverse.ravel(), weights)


def _inverse_root(gram: Array) -> Array:
    values, axes = np.linalg.eigh(gram)
    keep = values > 1e-8 * values[-1]
    return np.asarray(axes[:, keep] / np.sqrt(values[keep]))


def _directions(features: Array, weights: Array, most: int, tol: float) -> Array:
    """Return the few directions of features that leave out a share of the kernel's trace.

    What the features themselves leave out of a kernel whose diagonal is one counts too.
    """
    centred = np.sqrt(weights)[:, None] * (features - weights @ features)
    values, axes = np.linalg.eigh(centred.T @ centred)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    kept = np.cumsum(values)
    left = max(0.0, 1 - float(weights @ np.sum(features**2, axis=1)))
    needed = int(np.searchsorted(kept, (1 - tol) * kept[-1] + left)) + 1
    known = int(np.sum(values > 1e-10 * values[0]))
    return np.asarray(axes[:, : min(needed, most, known)])


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


def _check_rank(rank: object, least: int, other: str = "") -> None:
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


MAPS = {kind.name: kind for kind in (Spline, Polynomial, Nystroem, Categorical)}
"""Feature maps by their names in the ``kernels`` argument."""
