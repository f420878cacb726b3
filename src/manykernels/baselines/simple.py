"""The two simple models that a learnt function is compared with: a linear one and a constant.

The linear model is ridge regression for numbers, with the strength chosen by leave-one-out errors,
and logistic regression for classes, with the strength chosen in three folds; both on standardised
columns, with an indicator for each level of a category. The constant is the mean of the training
targets, or their most frequent class.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ..arrays import Array

FOLDS = 5
"""Folds in which a linear model is scored where its training rows are not known."""


@dataclass(frozen=True)
class SimpleModels:
    """A linear model and a constant, fitted to the same rows.

    Attributes
    ----------
    codes : list of list of float
        Codes of the levels of each column, none for a column of numbers.
    middle, spread : ndarray of shape (n_inputs,)
        Means and standard deviations of columns and indicators over the training rows.
    slopes, intercepts : ndarray of shape (n_inputs, n_outputs) and (n_outputs,)
        The linear function of the standardised inputs.
    classes : ndarray or None
        The classes, None for numbers.
    constant : float or str
        Mean of the training targets, or their most frequent class.
    """

    codes: list[list[float]]
    middle: Array
    spread: Array
    slopes: Array
    intercepts: Array
    classes: Array | None
    constant: Any

    @classmethod
    def fit(
        cls, X: Array, y: Array, codes: Sequence[Sequence[float]], classes: bool
    ) -> SimpleModels:
        """Fit both models to rows; ``codes`` are those of the levels of each column."""
        model = linear_model(classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about iterations, and names that change by version
            model.fit(indicators(X, codes), y)
        scaler, linear = model[0], model[-1]
        slopes, intercepts = np.atleast_2d(linear.coef_).T, np.atleast_1d(linear.intercept_)
        fitted = ([list(own) for own in codes], scaler.mean_, scaler.scale_, slopes, intercepts)
        if not classes:
            return cls(*fitted, None, float(np.mean(y)))
        labels, counts = np.unique(y, return_counts=True)
        return cls(*fitted, labels, labels[np.argmax(counts)].item())

    def predict(self, X: Array) -> Array:
        """Return the predictions of the linear model."""
        rows = (indicators(X, self.codes) - self.middle) / self.spread
        values = rows @ self.slopes + self.intercepts
        if self.classes is None:
            return values[:, 0]
        best = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
        return self.classes[best]

    def scores(self, X: Array, y: Array) -> dict[str, float]:
        """Return R^2 or the accuracy of both models on some rows, by name."""
        score, name = r2_score, "mean"
        if self.classes is not None:
            score, name = accuracy_score, "most frequent class"
        constant = np.full(len(y), self.constant)
        return {"linear model": float(score(y, self.predict(X))), name: float(score(y, constant))}


def linear_model(classes: bool, centre: bool = True) -> Pipeline:
    """Return the linear model, not fitted; sparse rows cannot be centred."""
    last: Any = RidgeCV(np.logspace(-3, 5, 17))
    if classes:
        grid: dict[str, Any] = {"Cs": np.logspace(-3, 2, 6), "l1_ratios": (0,), "cv": 3}
        last = LogisticRegressionCV(**grid, scoring="accuracy", use_legacy_attributes=False)
    return make_pipeline(StandardScaler(with_mean=centre), last)


def indicators(X: Array, codes: Sequence[Sequence[float]]) -> Array:
    """Return the columns of numbers, and an indicator for each code of the other columns."""
    parts = [
        X[:, [j]] if not len(own) else (X[:, [j]] == np.asarray(own)).astype(float)
        for j, own in enumerate(codes)
    ]
    return np.hstack(parts)


def cross_validated(X: Any, y: Array, classes: bool, centre: bool = True) -> float | None:
    """Return the mean score of the linear model in folds; None with too few rows of a class."""
    split = StratifiedKFold if classes else KFold
    folds = split(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(cross_val_score(linear_model(classes, centre), X, y, cv=folds).mean())
        except ValueError:
            return None
    return value if np.isfinite(value) else None
