"""Smooth functions of columns: splines in the order of their roughness, many columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from ..arrays import Array
from ..inputs import is_integer, shown
from .base import Centred, centring, check_rank, even_weights, refuse_other_values
from .scales import even_scales

KNOTS = 64
"""Least number of knots of splines. Chosen by ridge fits on splits of concrete, california and bike
that the scores of docs/benchmarks/tables.md are not of (seeds 10 to 17)."""

LEVEL_FUNCTIONS = 3
"""Number k0 in the weight 1 / (k0 + k)^2 of a spline's function k: the first k0 functions weigh
about the same. Chosen on the same splits as the knots."""

LEAST_BENDS = 1e-10
"""Bends of every function of unit coefficients, so that none has none. Set by judgement, not
measured."""

LEAST_SHARE = 1e-9
"""Variance of a function for how it bends, as a share of the largest one, below which it is
rounding. Set by judgement, not measured."""


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
        band = self.band
        if band is None:
            return
        pair = isinstance(band, tuple) and len(band) == 2 and all(is_integer(k, 0) for k in band)
        if not pair or not band[0] < band[1] <= self.rank:
            raise ValueError(
                f"band must be a tuple of two integers from 0 to rank={self.rank}, ascending; got "
                f"{shown(band)}. Use None for all functions."
            )

    def take(self, functions: SmoothFunctions, part: Band, column: int) -> None:
        """Learn the functions of one of the columns that a band was fitted to."""
        own = slice(part.start, part.start + int(part.counts[column]))
        size = own.stop - own.start
        self.places, self.evenly = functions.scales[column]
        self.knots, self.axes = functions.knots, functions.axes[column][:, own]
        self.lowest, self.highest = part.lowest[column, :size], part.highest[column, :size]
        self.mean, self.factor = part.mean[column, :size], float(part.factor[column])

    def fit(self, x: Array, weights: Array | None = None) -> Self:
        """Learn the functions, their means and their size."""
        refuse_other_values(x)
        self._learn(x, even_weights(x) if weights is None else weights)
        return self

    def _learn(self, x: Array, weights: Array) -> None:
        functions = smooth_functions(x[None], weights, self.rank)
        self.take(functions, functions.band(self.band, weights), 0)

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


class Band(NamedTuple):
    """Some of the functions of each of c columns, centred and of unit size on their rows.

    Attributes
    ----------
    start : int
        The first of the functions.
    counts : ndarray of shape (c,)
        How many of the m functions of a band each column has.
    lowest, highest, mean : ndarray of shape (c, m)
        Their least and largest values, and their means once they are kept between these.
    factor : ndarray of shape (c,)
        What brings all of them to unit size.
    features : ndarray of shape (c, m, n)
        Their centred values on the rows; zero for functions that a column does not have.
    """

    start: int
    counts: Array
    lowest: Array
    highest: Array
    mean: Array
    factor: Array
    features: Array


@dataclass
class SmoothFunctions:
    """The functions of c columns that splines of one rank take their bands from.

    Attributes
    ----------
    scales : list of pair of ndarray
        Points of each column and where they lie on an even scale.
    knots : ndarray
        The knots there.
    values : ndarray of shape (c, rank, n)
        Values on the training rows, zero for functions that a column does not have.
    counts : ndarray of shape (c,)
        How many functions each column has.
    axes : ndarray of shape (c, number of B-splines, rank)
        The functions as sums of B-splines.
    """

    scales: list[tuple[Array, Array]]
    knots: Array
    values: Array
    counts: Array
    axes: Array

    def band(self, band: tuple[int, int] | None, weights: Array) -> Band:
        """Return some of the functions of each column, by default all; O(number of values)."""
        start, stop = band or (0, self.values.shape[1])
        values = self.values[:, start:stop]
        seen = values if np.all(weights > 0) else values[:, :, weights > 0]
        lowest, highest = seen.min(axis=2), seen.max(axis=2)
        raw = np.clip(values, lowest[:, :, None], highest[:, :, None])
        mean, factor = centring(raw, weights)
        raw -= mean[:, :, None]
        raw *= factor[:, None, None]
        counts = np.clip(self.counts - start, 0, stop - start)
        return Band(start, counts, lowest, highest, mean, factor, raw)


class Bends(NamedTuple):
    """How much sums of B-splines bend, in terms of their coefficients.

    Attributes
    ----------
    form : ndarray
        A quadratic form, with a little more, also for the constant, so that it is positive
        definite.
    share : float
        How much of the variance over the rows is added to it: it tells straight lines, which have
        no bends, from each other, and is as large as the bends of four half waves.
    kernel : ndarray
        The inverse of the form but for the straight line, an eigenvector: its eigenvalue is
        ``LEAST_BENDS``.
    line : ndarray
        That line, of length one.
    """

    form: Array
    share: float
    kernel: Array
    line: Array


def smooth_functions(x: Array, weights: Array, rank: int) -> SmoothFunctions:
    """Return the smooth functions of columns, at most ``rank``, by descending smoothness.

    Columns are the rows of ``x``. What is found for a column does not depend on the others, to the
    last bit. With n rows it takes O(n^3) for each column, or O(n + q^3) with q, the number of
    B-splines, if rows are more than these.
    """
    scales = even_scales(x, weights)
    count = max(KNOTS, rank)
    knots = np.arange(-3, count + 3) / (count - 1)
    inside, constant = np.empty(x.shape), np.empty(len(x), dtype=bool)
    for number, (points, places) in enumerate(scales):
        inside[number] = np.interp(x[number], points, places)
        constant[number] = len(points) < 2
    find = functions_of_few_rows if x.shape[1] < count + 2 else functions_of_rows
    values, counts, axes = find(inside, weights, count, rank)
    values[constant], counts[constant] = 0.0, 0
    return SmoothFunctions(scales, knots, values, counts, axes)


Found = tuple[Array, Array, Array]
"""Values, counts and axes of ``SmoothFunctions``."""


def functions_of_rows(inside: Array, weights: Array, count: int, rank: int) -> Found:
    """Return functions of columns on an even scale: those that vary most for how they bend.

    They have mean zero over the rows, those of a column are orthogonal, and their variances are
    their weights; from smooth to wiggly.
    """
    values = np.zeros((len(inside), rank, inside.shape[1]))
    axes = np.zeros((len(inside), count + 2, rank))
    counts = np.zeros(len(inside), dtype=int)
    for number, own in enumerate(inside):
        basis = cubic_basis(own, count)
        found = axes_of_rows(basis, weights)[:, :rank]
        counts[number] = size = found.shape[1]
        axes[number, :, :size] = found / (LEVEL_FUNCTIONS + np.arange(size))
        values[number, :size] = (basis @ axes[number, :, :size]).T
    return values, counts, axes


def axes_of_rows(basis: sparse.csr_array, weights: Array) -> Array:
    """Return functions of a column, of unit variance, as sums of B-splines."""
    size, mean = basis.shape[1], weights @ basis
    # The products of the four B-splines of each row, added up where they belong.
    cells, own = basis.indices.reshape(-1, 4), basis.data.reshape(-1, 4)
    products = (weights[:, None] * own)[:, :, None] * own[:, None, :]
    places_of = size * cells[:, :, None] + cells[:, None, :]
    spread = np.bincount(places_of.ravel(), products.ravel(), size**2).reshape(size, size)
    spread -= np.outer(mean, mean)
    bending = bends(size - 2)
    shares, axes = eigh(spread, bending.form + bending.share * spread)
    shares, axes = shares[::-1], axes[:, ::-1]
    used = np.flatnonzero(shares > LEAST_SHARE * shares[0])
    axes = axes[:, used] / np.sqrt(shares[used])
    return np.asarray(axes - mean @ axes)  # B-splines add up to one


def functions_of_few_rows(inside: Array, weights: Array, count: int, rank: int) -> Found:
    r"""Return the same for fewer rows n than B-splines, by an eigenproblem of size n.

    With C the centred B-splines on the rows, times the roots of their weights, and
    A = R + s C'C how much they bend, eigenvectors u of F = C A^-1 C' are the values of functions,
    and A^-1 C'u their coefficients. The inverse of R is that of the rest, E, and 1 / r for the
    straight line l. With G = C E C', a = C l, b = (I + sG)^-1 a and the size t = r + s a'b

        F = (I + sG)^-1 G + b b' / t,    A^-1 C'u = (1 - sf) E C'u + l b'u / t

    for an eigenvalue f: E is the same for all columns, and systems are n x n.
    """
    columns, rows = inside.shape
    _, share, kernel, line = bends(count)
    root = np.sqrt(weights)
    cells, own = cubic_values(inside, count)
    basis = np.zeros((columns, rows, count + 2))
    np.put_along_axis(basis, cells[:, :, None] + np.arange(4), own, axis=2)
    turned = basis.transpose(0, 2, 1)
    whole = basis @ kernel @ turned
    whole -= (weights @ whole)[:, None, :]
    whole -= (whole @ weights)[:, :, None]
    straight = (line[1] - line[0]) * (count - 1) * inside
    straight -= np.sum(weights * straight, axis=1)[:, None]
    gram, rooted = root[:, None] * whole * root, root * straight
    sides = np.concatenate([gram, rooted[:, :, None]], axis=2)
    solved = np.linalg.solve(np.eye(rows) + share * gram, sides)
    form, lean = solved[:, :, :rows], solved[:, :, rows]
    size = LEAST_BENDS + share * np.sum(rooted * lean, axis=1)
    form += lean[:, :, None] * (lean / size[:, None])[:, None, :]
    shares, vectors = np.linalg.eigh(form)
    shares = shares[:, ::-1][:, :rank]
    vectors = vectors[:, :, ::-1][:, :, :rank].transpose(0, 2, 1)
    used = shares > LEAST_SHARE * shares[:, :1]
    levels = np.where(used, shares, np.inf) * (LEVEL_FUNCTIONS + np.arange(shares.shape[1]))
    bent = vectors * ((1 - share * shares) / levels)[:, :, None]
    slopes = (vectors @ lean[:, :, None])[:, :, 0] / (levels * size[:, None])
    pulls = (root * bent).transpose(0, 2, 1)
    pulls = pulls - weights[:, None] * pulls.sum(axis=1)[:, None, :]
    own_axes = kernel @ (turned @ pulls) + line[:, None] * slopes[:, None, :]
    own_axes -= weights @ (basis @ own_axes)[:, None]  # B-splines add up to one
    axes = np.zeros((columns, count + 2, rank))
    axes[:, :, : shares.shape[1]] = own_axes
    values = axes.transpose(0, 2, 1) @ turned
    return values, np.count_nonzero(used, axis=1), axes


@cache
def bends(count: int) -> Bends:
    """Return what bends of sums of B-splines on ``count`` knots are."""
    second = np.diff(np.eye(count + 2), 2, axis=0)
    form = second.T @ second + 1 / count + LEAST_BENDS * np.eye(count + 2)
    line = np.arange(count + 2) - (count + 1) / 2
    line /= np.linalg.norm(line)
    outer = np.outer(line, line)
    kernel = np.linalg.inv(form + outer) - outer / (1 + LEAST_BENDS)
    return Bends(form, float(count * (4 * np.pi / (count - 1)) ** 4), kernel, line)


def cubic_basis(places: Array, count: int) -> sparse.csr_array:
    """Return the values of the cubic B-splines on ``count`` even knots from 0 to 1.

    Of shape (n, count + 2), with four neighbours in each row, zeros among them included.
    """
    cells, values = cubic_values(places, count)
    columns = (cells[:, None] + np.arange(4, dtype=np.int32)).ravel()
    starts = np.arange(0, 4 * len(places) + 1, 4, dtype=np.int32)
    return sparse.csr_array((values.ravel(), columns, starts), (len(places), count + 2))


def cubic_values(places: Array, count: int) -> tuple[Array, Array]:
    """Return the number of the first B-spline at each place, and the values of it and three more.

    Of the shape of ``places``, and that with a last axis of 4. Places are from 0 to 1; the numbers
    are those of B-splines there are wherever places lie.
    """
    if count < 2:
        raise ValueError(f"splines must have at least 2 knots; got {count}. Use more of them.")
    scaled = places * (count - 1)
    # Between the first and the last for any number, and for what is none: cells are memory.
    cells = np.fmax(np.fmin(scaled, count - 2), 0).astype(np.int32)
    u = scaled - cells
    square, cube = u * u, u * u * u
    values = np.empty((*places.shape, 4))
    values[..., 0] = (1 - u) * (1 - u) * (1 - u)
    values[..., 1] = 3 * cube - 6 * square + 4
    values[..., 2] = -3 * cube + 3 * square + 3 * u + 1
    values[..., 3] = cube
    values /= 6
    return cells, values
