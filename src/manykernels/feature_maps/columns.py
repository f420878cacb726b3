"""Features of single columns: smooth functions, orthogonal polynomials, categories.

All maps are centred over the training rows, so that a product of two of them has (nearly) no part
that belongs to one of its factors alone: terms of different order do not compete for the same
function (functional ANOVA). All are scaled so that the kernel's diagonal is one on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, count, pairwise
from math import comb
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..limits import PRICING_WORK, PRODUCT_FEATURES
from .base import Centred, FeatureMap, check_rank, even_weights
from .splines import Spline, smooth_functions

CATEGORIES = 10
"""Most distinct values of categories, for ``"auto"``. Set by judgement, not measured."""

DISCRETE_VALUES = 32
"""Most values, less one, of a column with a function for each. Set by judgement, not measured."""

COLUMN_FUNCTIONS = 20
"""Most functions of a column in one kernel, for ``"auto"``. Chosen on one or two splits of seven
tables of docs/benchmarks/tables.md."""


def fit_maps(
    maps: Sequence[Sequence[FeatureMap]],
    x: Sequence[Array],
    weights: Array | None = None,
    learn: Sequence[bool] | None = None,
) -> list[list[Array]]:
    """Fit the maps of each of several columns; return their features on the same rows.

    ``x`` has what the maps of each list see: a column, or several. Splines of one rank are bands
    of the same functions, which are found once, for all columns together. Maps of columns that are
    not to ``learn`` stay as they are, and may be shared by columns; by default all learn.
    """
    weights = even_weights(x[0]) if weights is None else weights
    learn = [True] * len(maps) if learn is None else learn
    features: list[list[Array]] = [[np.empty(0)] * len(own) for own in maps]
    ranks: dict[int, dict[tuple[int, int] | None, list[tuple[int, int]]]] = {}
    for column, own in enumerate(maps):
        for place, one in enumerate(own):
            if isinstance(one, Spline):
                bands = ranks.setdefault(one.rank, {})
                bands.setdefault(one.band, []).append((column, place))
            else:
                fitted = (one if learn[column] else deepcopy(one)).fit(x[column], weights)
                features[column][place] = fitted.features(x[column])
    for rank, bands in ranks.items():
        columns = sorted(dict(chain.from_iterable(bands.values())))
        numbers = dict(zip(columns, count(), strict=False))
        functions = smooth_functions(np.stack([x[column] for column in columns]), weights, rank)
        for band, places in bands.items():
            part = functions.band(band, weights)
            counts = part.counts.tolist()
            for column, place in places:
                number = numbers[column]
                features[column][place] = part.features[number, : counts[number]].T
                if learn[column]:
                    maps[column][place].take(functions, part, number)  # type: ignore[attr-defined]
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


def choose_maps(values: int, widest: int, functions: int) -> list[FeatureMap]:
    """Return the maps that a column's number of values asks for, of some ``functions`` in all.

    Few distinct values are categories. Other columns have smooth functions and, as kernels of
    their own, fine and finest ones, none of more than ``widest``: where a term needs only the
    smooth ones it does not pay for the others. What functions are left of a column with some
    thirty values go to the last kernel.
    """
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
