"""Features of single columns: smooth functions, orthogonal polynomials, categories.

All maps are centred over the training rows, so that a product of two of them has (nearly) no part
that belongs to one of its factors alone: terms of different order do not compete for the same
function (functional ANOVA). All are scaled so that the kernel's diagonal is one on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..limits import PRICING_WORK, PRODUCT_FEATURES
from .base import Centred, FeatureMap, check_rank, even_weights
from .splines import SmoothFunctions, Spline, smooth_functions

CATEGORIES = 10
"""Most distinct values of categories, for ``"auto"``. Set by judgement, not measured."""

DISCRETE_VALUES = 32
"""Most values, less one, of a column with a function for each. Set by judgement, not measured."""

COLUMN_FUNCTIONS = 20
"""Most functions of a column in one kernel, for ``"auto"``. Chosen on one or two splits of seven
tables of docs/benchmarks/tables.md."""


def fit_maps(maps: Sequence[FeatureMap], x: Array, weights: Array | None = None) -> list[Array]:
    """Fit the maps of one column, or of several; return their features on the same rows.

    Splines of one rank are bands of the same functions, which are found once.
    """
    weights = even_weights(x) if weights is None else weights
    known: dict[int, SmoothFunctions] = {}
    features = []
    for one in maps:
        if isinstance(one, Spline):
            if one.rank not in known:
                known[one.rank] = smooth_functions(x, weights, one.rank)
            features.append(one.fit_band(known[one.rank], weights))
        else:
            features.append(one.fit(x, weights).features(x))
    return features


def features_of_maps(maps: Sequence[FeatureMap], x: Array) -> list[Array]:
    """Return the features of fitted maps of one column, or of several, on new rows.

    Splines on the same scale share the values of their B-splines.
    """
    features, last, basis = [], None, None
    for one in maps:
        if not isinstance(one, Spline):
            features.append(one.features(x))
            continue
        if last is None or not one.shares_scale(last):
            basis, last = one.basis(x), one
        features.append(one.features_from(basis))
    return features


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
