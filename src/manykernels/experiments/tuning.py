"""Choice of the strength on validation rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..baselines.monomial_lasso import Table
from ..bases import FeatureBlocks
from ..families import ProductFamily
from ..losses import Squared
from ..notices import InterruptedWarning
from ..objective import Problem
from .methods import Method

WIDEST_EXPONENT = 8
"""Largest exponent, up or down, of the powers of ten that are tried as strengths, next to a sum of
losses."""

STEPS_A_DECADE, DECADES, MOST_DECADES = 8, 2, 8
"""Lasso's strengths: how many there are in a decade; how many decades below the largest that
matters are always tried; and how many at the most, while the best is in the last one."""


@dataclass(frozen=True)
class SplitRows:
    """Training, validation and test rows, standardised with the statistics of the first."""

    X: Array
    y: Array
    train: slice
    validation: slice
    test: slice

    def mse(self, model: Any, part: slice) -> float:
        """Return the mean squared error of a fitted model."""
        return float(np.mean((model.predict(self.X[part]) - self.y[part]) ** 2))

    def misclassified(self, model: Any, part: slice) -> float:
        """Return the share of rows on the wrong side; for standardised targets of -1 and +1."""
        middle = (self.y[part].max() + self.y[part].min()) / 2
        return float(np.mean((model.predict(self.X[part]) > middle) != (self.y[part] > middle)))


def split(
    X: Array, y: Array, sizes: Sequence[int], seed: int | None, centre: bool = True
) -> SplitRows:
    """Cut rows into three parts, in an order given by a seed or as they are, and standardise."""
    order = np.arange(len(y)) if seed is None else np.random.RandomState(seed).permutation(len(y))
    X, y = X[order], y[order]
    first, second, third = np.cumsum(sizes).tolist()
    scale = X[:first].std(axis=0)
    level = X[:first].mean(axis=0) if centre else 0.0
    X = (X - level) / np.where(scale > 0, scale, 1.0)
    y = (y - y[:first].mean()) / y[:first].std()
    return SplitRows(X, y, slice(0, first), slice(first, second), slice(second, third))


@dataclass(frozen=True)
class TunedFit:
    """A fitted model, its error on validation rows and its training time.

    ``ridge`` is the strength in the scale of a sum of losses (of a mean of losses for a path of its
    own), ``validation`` the mean squared error.
    """

    ridge: float
    model: Any
    validation: float
    seconds: float

    @property
    def gap(self) -> float:
        """Relative duality gap at which the fit stopped; NaN for a method that has none."""
        return float(getattr(self.model, "gap_", np.nan))


class Tuner:
    """Fits a method at strengths that are asked for, each once."""

    def __init__(self, method: Method, parts: SplitRows) -> None:
        self.method, self.parts = method, parts
        self.fits: dict[float, TunedFit] = {}

    def fit(self, alpha: float, ridge: float) -> TunedFit:
        """Fit at one strength."""
        X, y = self.parts.X[self.parts.train], self.parts.y[self.parts.train]
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # limits are part of the settings
            warnings.simplefilter("error", InterruptedWarning)
            try:
                model = self.method.make(alpha, X.shape[1]).fit(X, y)
            except InterruptedWarning:  # a model that was cut short is no result
                raise KeyboardInterrupt from None
        seconds = perf_counter() - began
        return TunedFit(ridge, model, self.parts.mse(model, self.parts.validation), seconds)

    def best(self, exponents: Sequence[int]) -> TunedFit:
        """Return the fit of least validation error over powers of ten, in the sum scale."""
        rows = self.parts.train.stop
        for k in exponents:
            if k not in self.fits:
                self.fits[k] = self.fit(10.0**k / rows, 10.0**k)
        return min((self.fits[k] for k in exponents), key=lambda fit: fit.validation)

    def best_wide(self, exponents: Sequence[int]) -> TunedFit:
        """Return the same over a grid that grows as long as its best value is at its edge."""
        grid = sorted(exponents)
        while True:
            chosen = round(np.log10(self.best(grid).ridge))
            if chosen == grid[-1] and chosen < WIDEST_EXPONENT:
                grid = [*grid, chosen + 1]
            elif chosen == grid[0] and chosen > -WIDEST_EXPONENT:
                grid = [chosen - 1, *grid]
            else:
                return self.best(grid)


def best_lasso(method: Method, parts: SplitRows) -> TunedFit:
    """Choose Lasso's strength along a path of its own, then fit at the one chosen."""
    X, y = parts.X[parts.train], parts.y[parts.train]
    example = method.make(1.0, X.shape[1])
    family = ProductFamily(FeatureBlocks(X), example.degree)
    weights = np.full(len(y), 1 / len(y))
    table = Table.of(Problem(y[:, None], weights, Squared(), 1.0, 1.0, True), family)
    indices = family.indices()
    there = family.on(FeatureBlocks(parts.X[parts.validation]))

    def error(w: Array) -> float:
        live = np.flatnonzero(w)
        level = np.mean(y - table.columns[:, live] @ w[live])
        columns, _ = there.features([indices[i] for i in live.tolist()])
        return float(np.mean((columns @ w[live] + level - parts.y[parts.validation]) ** 2))

    largest, last = table.largest_strength(), None
    errors: list[float] = []
    for decade in range(MOST_DECADES):
        if decade >= DECADES and np.argmin(errors) < len(errors) - STEPS_A_DECADE:
            break
        strengths = [
            largest * 10.0 ** -(decade + k / STEPS_A_DECADE) for k in range(STEPS_A_DECADE)
        ]
        paths = table.path(strengths, example.tol, example.max_iter, last)
        errors += [error(w) for w in paths]
        last = paths[-1]
    alpha = largest * 10.0 ** (-int(np.argmin(errors)) / STEPS_A_DECADE)
    return Tuner(method, parts).fit(alpha, alpha)


def choose(method: Method, parts: SplitRows, exponents: Sequence[int]) -> TunedFit:
    """Tune a method over powers of ten, or over a path of its own."""
    return best_lasso(method, parts) if method.own_path else Tuner(method, parts).best(exponents)
