"""Smooth functions of a column: splines in the order of their roughness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from ..arrays import Array
from .base import Centred, check_rank

KNOTS = 64
"""Least number of knots of splines. Chosen by ridge fits on splits of concrete, california and bike
that the scores of docs/benchmarks/tables.md are not of (seeds 10 to 17)."""

LEVEL_FUNCTIONS = 3
"""Number k0 in the weight 1 / (k0 + k)^2 of a spline's function k: the first k0 functions weigh
about the same. Chosen on the same splits as the knots."""

LEAST_SHARE = 1e-9
"""Variance of a function for how it bends, as a share of the largest one, below which it is
rounding. Set by judgement, not measured."""

RANK_SHARES = np.linspace(0, 1, 33)
"""Shares of the rows at whose quantiles a column's ranks are looked up; between them they are
interpolated. Set by judgement, not measured."""


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

    def fit_band(self, all_functions: SmoothFunctions, weights: Array) -> Array:
        """Take the band from all functions of a column; return the features on its rows."""
        band = slice(0, self.rank) if self.band is None else slice(*self.band)
        self.places, self.evenly = all_functions.places, all_functions.evenly
        self.knots, self.axes = all_functions.knots, all_functions.axes[:, band]
        values = all_functions.values[:, band]
        self.lowest = values[weights > 0].min(axis=0)
        self.highest = values[weights > 0].max(axis=0)
        raw = self._clipped(values)
        return self._centre(raw, weights)._centred(raw)

    def _learn(self, x: Array, weights: Array) -> None:
        self.fit_band(smooth_functions(x, weights, self.rank), weights)

    def _raw(self, x: Array) -> Array:
        return self._clipped(self.basis(x) @ self.axes)

    def _clipped(self, values: Array) -> Array:
        return np.clip(values, self.lowest, self.highest)

    def basis(self, x: Array) -> sparse.csr_array:
        """Return the values of the B-splines that the functions are made of."""
        return cubic_basis(np.interp(x, self.places, self.evenly), len(self.knots) - 6)

    def shares_scale(self, other: Spline) -> bool:
        """Tell whether another spline is made of the same B-splines of the same column."""
        pairs = ((self.places, other.places), (self.evenly, other.evenly))
        same = all(one is two or np.array_equal(one, two) for one, two in pairs)
        return same and len(self.knots) == len(other.knots)

    def features_from(self, basis: sparse.csr_array) -> Array:
        """Return centred features from the values of the B-splines."""
        return self._centred(self._clipped(basis @ self.axes))


class SmoothFunctions(NamedTuple):
    """The functions of a column that splines of one rank take their bands from.

    Attributes
    ----------
    places, evenly : ndarray
        Points of the column and where they lie on an even scale.
    knots : ndarray
        The knots there.
    axes : ndarray of shape (number of B-splines, rank)
        The functions as sums of B-splines.
    values : ndarray of shape (n, rank)
        Their values on the training rows.
    """

    places: Array
    evenly: Array
    knots: Array
    axes: Array
    values: Array


def smooth_functions(x: Array, weights: Array, rank: int) -> SmoothFunctions:
    """Return the smooth functions of a column, at most ``rank``, by descending smoothness."""
    places, evenly = even_scale(x, weights)
    count = max(KNOTS, rank)
    knots = np.arange(-3, count + 3) / (count - 1)
    if len(places) < 2:
        return SmoothFunctions(places, evenly, knots, np.empty((count + 2, 0)), x[:, None][:, :0])
    basis = cubic_basis(np.interp(x, places, evenly), count)
    find = axes_of_few_rows if len(x) < count + 2 else axes_of_rows
    axes = find(basis, weights)[:, :rank]
    axes = axes / (LEVEL_FUNCTIONS + np.arange(axes.shape[1]))
    return SmoothFunctions(places, evenly, knots, axes, basis @ axes)


def axes_of_rows(basis: sparse.csr_array, weights: Array) -> Array:
    """Return functions as sums of B-splines: those that vary most over the rows for how they bend.

    They have unit variance, and the constant is none of them; from smooth to wiggly.
    """
    size, mean = basis.shape[1], weights @ basis
    # The products of the four B-splines of each row, added up where they belong.
    cells, own = basis.indices.reshape(-1, 4), basis.data.reshape(-1, 4)
    products = (weights[:, None] * own)[:, :, None] * own[:, None, :]
    places_of = size * cells[:, :, None] + cells[:, None, :]
    spread = np.bincount(places_of.ravel(), products.ravel(), size**2).reshape(size, size)
    spread -= np.outer(mean, mean)
    shares, axes = eigh(spread, bends(spread))
    shares, axes = shares[::-1], axes[:, ::-1]
    used = np.flatnonzero(shares > LEAST_SHARE * shares[0])
    return np.asarray(axes[:, used] / np.sqrt(shares[used]))


def axes_of_few_rows(basis: sparse.csr_array, weights: Array) -> Array:
    """Return the same for fewer rows n than B-splines, by an eigenproblem of size n.

    With C the centred B-splines on the rows and A their bends, eigenvectors u of C A^-1 C' are the
    values of functions on the rows, and A^-1 C' u their coefficients.
    """
    whole = basis.toarray()
    centred = np.sqrt(weights)[:, None] * (whole - weights @ whole)
    _, solved, _ = dposv(bends(centred.T @ centred), centred.T)
    shares, values = np.linalg.eigh(centred @ solved)
    shares, values = shares[::-1], values[:, ::-1]
    used = np.flatnonzero(shares > LEAST_SHARE * shares[0])
    return np.asarray(solved @ (values[:, used] / shares[used]))


def bends(spread: Array) -> Array:
    """Return how much sums of B-splines bend, as a quadratic form, with some of their variance.

    It tells straight lines, which have no bends, from each other, and is as large as that of four
    half waves.
    """
    count = len(spread) - 2
    return np.asarray(roughness(count) + count * (4 * np.pi / (count - 1)) ** 4 * spread)


@cache
def roughness(count: int) -> Array:
    """Return the bends of sums of B-splines on ``count`` knots, as a quadratic form.

    With a little more, also for the constant, so that it is positive definite.
    """
    bends = np.diff(np.eye(count + 2), 2, axis=0)
    return np.asarray(bends.T @ bends + 1 / count + 1e-10 * np.eye(count + 2))


def cubic_basis(places: Array, count: int) -> sparse.csr_array:
    """Return the values of the cubic B-splines on ``count`` even knots from 0 to 1.

    Of shape (n, count + 2), with four neighbours in each row, zeros among them included.
    """
    cells = np.minimum((places * (count - 1)).astype(np.int32), count - 2)
    u = places * (count - 1) - cells
    square, cube = u * u, u * u * u
    values = np.empty((len(places), 4))
    values[:, 0] = (1 - u) ** 3
    values[:, 1] = 3 * cube - 6 * square + 4
    values[:, 2] = -3 * cube + 3 * square + 3 * u + 1
    values[:, 3] = cube
    values /= 6
    columns = (cells[:, None] + np.arange(4, dtype=np.int32)).ravel()
    starts = np.arange(0, 4 * len(places) + 1, 4, dtype=np.int32)
    return sparse.csr_array((values.ravel(), columns, starts), (len(places), count + 2))


def even_scale(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return points of a column and where they lie on a scale from 0 to 1.

    A value lies half way between its place in the column's range and its rank: rows that are close
    to each other in a long tail are told apart, and so are rows in a crowd that an outlier presses
    together. Values between points lie between their places in proportion.
    """
    crowded, ranks = ranks_of(x, weights, RANK_SHARES)
    points = np.union1d(crowded, np.linspace(crowded[0], crowded[-1], len(RANK_SHARES)))
    places = np.zeros(len(points))
    for values in (points, np.interp(points, crowded, ranks)):
        places += (values - values[0]) / ((values[-1] - values[0]) or 1.0)
    return points, places / 2


def ranks_of(x: Array, weights: Array, shares: Array) -> tuple[Array, Array]:
    """Return the distinct quantiles of a column at given shares of the rows, and their ranks."""
    points, inverse = np.unique(quantiles(x, weights, shares), return_inverse=True)
    # Many steps at one value: it lies in their middle.
    return points, np.bincount(inverse, shares) / np.bincount(inverse)


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
