"""Features of single columns: smooth functions, orthogonal polynomials, categories.

All maps are centred over the training rows, so that a product of two of them has (nearly) no part
that belongs to one of its factors alone: terms of different order do not compete for the same
function (functional ANOVA). All are scaled so that the kernel's diagonal is one on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Protocol, Self

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from .arrays import Array

CATEGORIES = 10
"""Columns with at most so many distinct values are categories for ``"auto"``."""

SKEWED = 2.0
"""A column whose standard deviation is so many times what its quartiles suggest is heavy-tailed."""


class FeatureMap(Protocol):
    """Features of one column, learnt from the training rows."""

    name: ClassVar[str]

    def fit(self, x: Array) -> Self:
        """Learn from a column of shape (n,)."""
        ...

    def features(self, x: Array) -> Array:
        """Return the features of new values, of shape (n_new, m)."""
        ...


class Centred:
    """Raw functions of a column, centred and brought to unit size on the training rows."""

    def fit(self, x: Array) -> Self:
        """Learn the functions, their means and their size."""
        self._learn(x)
        raw = self._raw(x)
        self.mean = raw.mean(axis=0)
        size = float(np.mean(np.sum((raw - self.mean) ** 2, axis=1)))
        self.factor = 1 / np.sqrt(size) if size > 1e-12 * float(np.mean(raw**2) or 1.0) else 0.0
        return self

    def features(self, x: Array) -> Array:
        """Return centred features."""
        return (self._raw(x) - self.mean) * self.factor

    def _learn(self, x: Array) -> None:
        raise NotImplementedError

    def _raw(self, x: Array) -> Array:
        raise NotImplementedError


def even_scale(x: Array) -> Array:
    """Return points that a column is spread over evenly: x value at 0, 1/64, .., 1 of the way.

    Quantiles for skewed or heavy-tailed columns, else equal steps from least to largest.
    """
    steps = np.linspace(0, 1, 65)
    low, high = np.quantile(x, [0.25, 0.75])
    spread = (high - low) / 1.349
    if not spread > 0 or x.std() > SKEWED * spread or _lopsided(x):
        return np.asarray(np.quantile(x, steps))
    return x.min() + steps * (x.max() - x.min())


def _lopsided(x: Array) -> bool:
    centred = x - x.mean()
    return bool(abs(np.mean(centred**3)) > SKEWED * x.std() ** 3)


@dataclass
class Spline(Centred):
    r"""Smooth functions of a column, from straight to wiggly, the wigglier the dearer.

    Cubic splines on evenly spread knots, turned into functions :math:`u_k` that are orthonormal
    over the training rows and have increasing roughness :math:`\gamma_k` (Demmler and Reinsch);
    function k has the weight :math:`1/(1 + \gamma_k/\gamma_5)`, so that some five of them are free.

    Parameters
    ----------
    rank : int, default=10
        Number of functions.
    """

    rank: int = 10
    name: ClassVar[str] = "spline"

    def __post_init__(self) -> None:
        _check_rank(self.rank, 2)

    def _learn(self, x: Array) -> None:
        points = even_scale(x)
        self.places, first = np.unique(points, return_index=True)
        self.evenly = np.linspace(0, 1, 65)[first]
        inner = np.linspace(0, 1, self.rank)
        step = inner[1]
        self.knots = np.concatenate([step * np.arange(-3, 0), inner, 1 + step * np.arange(1, 4)])
        if len(self.places) < 2:
            self.axes = np.empty((len(self.knots) - 4, 0))
            return
        basis = self._basis(x)
        centred = basis - basis.mean(axis=0)
        gram = centred.T @ centred / len(x)
        bend = np.diff(np.eye(len(gram)), 2, axis=0)
        # A little of everything, for functions that the rows do not tell apart.
        gram += 1e-9 * np.trace(gram) * np.eye(len(gram)) / len(gram)
        roughness, axes = eigh(bend.T @ bend, gram)
        # The first of zero roughness is the constant, whose length is only that little.
        lengths = np.einsum("ik,ij,jk->k", axes, centred.T @ centred / len(x), axes)
        keep = np.flatnonzero(lengths > 0.5)[: self.rank]
        gamma = np.maximum(roughness[keep], 0.0)
        level = gamma[min(4, len(gamma) - 1)] if len(gamma) else 1.0
        self.axes = axes[:, keep] / np.sqrt(1 + gamma / (level or 1.0))

    def _basis(self, x: Array) -> Array:
        if len(self.places) < 2:
            return np.zeros((len(x), len(self.knots) - 4))
        inside = np.interp(x, self.places, self.evenly)
        return np.asarray(BSpline.design_matrix(inside, self.knots, 3).toarray())

    def _raw(self, x: Array) -> Array:
        return self._basis(x) @ self.axes


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

    def _learn(self, x: Array) -> None:
        self.middle, self.reach = float(x.mean()), float(np.abs(x - x.mean()).max()) or 1.0
        powers = self._powers(x)
        self.axes = np.eye(powers.shape[1])
        centred = powers - powers.mean(axis=0)
        _, triangle = np.linalg.qr(centred / np.sqrt(len(x)))
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
    r"""Gaussian kernel of a column by features: its values at a few points of the column.

    Parameters
    ----------
    rank : int, default=12
        Number of points, evenly spread.
    width : float, default=0.2
        Width of the kernel, as a share of the (evenly spread) range.
    """

    rank: int = 12
    width: float = 0.2
    name: ClassVar[str] = "nystroem"

    def __post_init__(self) -> None:
        _check_rank(self.rank, 1)
        if not (isinstance(self.width, Real) and 0 < self.width < np.inf):
            raise ValueError(f"width must be a positive number; got {self.width!r}. Use width=0.2.")

    def _learn(self, x: Array) -> None:
        points = even_scale(x)
        self.places, first = np.unique(points, return_index=True)
        self.evenly = np.linspace(0, 1, 65)[first]
        self.points = np.linspace(0, 1, self.rank)
        values, axes = np.linalg.eigh(self._kernel(self.points))
        keep = values > 1e-8 * values[-1]
        self.axes = axes[:, keep] / np.sqrt(values[keep])

    def _kernel(self, inside: Array) -> Array:
        gamma = 0.5 / self.width**2
        return np.asarray(rbf_kernel(inside[:, None], self.points[:, None], gamma=gamma))

    def _raw(self, x: Array) -> Array:
        return self._kernel(np.interp(x, self.places, self.evenly)) @ self.axes


@dataclass
class Categorical(Centred):
    """One indicator for each distinct value of a column; values not seen in training have none."""

    name: ClassVar[str] = "categorical"

    def _learn(self, x: Array) -> None:
        self.values = np.unique(x)

    def _raw(self, x: Array) -> Array:
        return np.asarray(x[:, None] == self.values, dtype=float)

    def features(self, x: Array) -> Array:
        """Return centred indicators; zero, the average, for values not seen in training."""
        return super().features(x) * np.isin(x, self.values)[:, None]


def _check_rank(rank: object, least: int) -> None:
    if not isinstance(rank, Integral) or isinstance(rank, bool) or rank < least:
        raise ValueError(f"rank must be an integer >= {least}; got {rank!r}. Use rank=10.")


def choose_map(x: Array) -> FeatureMap:
    """Return the map that a column's values ask for."""
    return Categorical() if len(np.unique(x)) <= CATEGORIES else Spline()


BY_NAME = {kind.name: kind for kind in (Spline, Polynomial, Nystroem, Categorical)}
