"""The two simple models that a learnt function is compared with: a linear one and a constant.

The linear model is ridge regression for numbers, with the strength chosen by leave-one-out errors,
and logistic regression for classes, with the strength chosen in three folds; both on standardised
columns, with an indicator for each level of a category. The constant is the mean of the training
targets, or their most frequent class with the classes' frequencies as probabilities. Both are
fitted to the training rows of the model that they are compared with, and scored on the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ..arrays import Array


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
    frequencies : ndarray of shape (n_classes,), optional
        Frequencies of the classes in the training rows; None for numbers, and in model files from
        before they were kept.
    """

    codes: list[list[float]]
    middle: Array
    spread: Array
    slopes: Array
    intercepts: Array
    classes: Array | None
    constant: Any
    frequencies: Array | None = None

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
        return cls(*fitted, labels, labels.tolist()[int(np.argmax(counts))], counts / counts.sum())

    def decision(self, X: Array) -> Array:
        """Return the values of the linear function, of shape (n, n_outputs)."""
        rows = (indicators(X, self.codes) - self.middle) / self.spread
        return np.asarray(rows @ self.slopes + self.intercepts)

    def predict(self, X: Array) -> Array:
        """Return the predictions of the linear model."""
        values = self.decision(X)
        if self.classes is None:
            return values[:, 0]
        best = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
        return self.classes[best]

    def probabilities(self, X: Array) -> Array:
        """Return the linear model's probabilities of the classes."""
        values = self.decision(X)
        if values.shape[1] > 1:
            return np.asarray(softmax(values, axis=1))
        second = expit(values)
        return np.hstack([1 - second, second])

    def measures(self, X: Array, y: Array) -> dict[str, dict[str, float]]:
        """Return the measures of both models on some rows, by the model's name."""
        constant = np.full(len(y), self.constant)
        if self.classes is None:
            return {"linear model": measures(y, self.predict(X)), "mean": measures(y, constant)}
        known = None
        if self.frequencies is not None:
            known = np.tile(self.frequencies, (len(y), 1))
        return {
            "linear model": measures(y, self.predict(X), self.probabilities(X), self.classes),
            "most frequent class": measures(y, constant, known, self.classes),
        }


def measures(
    y: Array, predicted: Array, probabilities: Array | None = None, classes: Array | None = None
) -> dict[str, float]:
    """Return how good predictions are, by the name of the measure; the first is the main one.

    For numbers R² (unless targets are all the same), the root of the mean squared error and the
    mean absolute error, both in the unit of the target. For classes, with probabilities, the mean
    log loss and the area under the ROC curve (AUC): with more than two classes the mean over the
    classes, each against the others. Without rows of all classes there is no AUC. Last comes
    accuracy, which of a rare class says little.
    """
    if classes is None:
        errors = np.asarray(predicted, dtype=float) - np.asarray(y, dtype=float)
        found = {} if len(y) < 2 or not np.ptp(y) > 0 else {"R²": float(r2_score(y, predicted))}
        return found | {
            "RMSE": float(np.sqrt(np.mean(errors**2))),
            "mean absolute error": float(np.mean(np.abs(errors))),
        }
    accuracy = {"accuracy": float(accuracy_score(y, predicted))}
    if probabilities is None:
        return accuracy
    found = {"log loss": float(log_loss(y, probabilities, labels=classes))}
    truth = np.asarray(y)[:, None] == classes
    if truth.any(axis=0).all() and len(classes) > 1:
        pairs = [(truth[:, 1], probabilities[:, 1])]
        if len(classes) > 2:
            pairs = list(zip(truth.T, probabilities.T, strict=True))
        found["AUC"] = float(np.mean([roc_auc_score(*pair) for pair in pairs]))
    return found | accuracy


def own_constant(estimator: Any, y: Array) -> dict[str, dict[str, float]]:
    """Return the measures of the best constant for rows: nothing simple can be better there.

    For rows whose model was fitted to others that are not known.
    """
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        mean = np.full(len(y), np.mean(np.asarray(y, dtype=float)))
        return {"mean of these rows": measures(y, mean)}
    frequencies = np.mean(np.asarray(y)[:, None] == classes, axis=0)
    known = None
    if hasattr(estimator, "predict_proba"):
        known = np.tile(frequencies, (len(y), 1))
    most = np.full(len(y), classes[int(frequencies.argmax())])
    return {"most frequent class of these rows": measures(y, most, known, classes)}


def measures_of(estimator: Any, X: Any, y: Array) -> dict[str, float]:
    """Return how good the predictions of a fitted estimator are on some rows, by measure."""
    known = estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else None
    return measures(y, estimator.predict(X), known, getattr(estimator, "classes_", None))


def linear_model(classes: bool) -> Pipeline:
    """Return the linear model, not fitted."""
    last: Any = RidgeCV(np.logspace(-3, 5, 17))
    if classes:
        grid: dict[str, Any] = {"Cs": np.logspace(-3, 2, 6), "l1_ratios": (0,), "cv": 3}
        last = LogisticRegressionCV(**grid, scoring="neg_log_loss", use_legacy_attributes=False)
    return make_pipeline(StandardScaler(), last)


def indicators(X: Array, codes: Sequence[Sequence[float]]) -> Array:
    """Return the columns of numbers, and an indicator for each code of the other columns."""
    parts = [
        X[:, [j]] if not len(own) else (X[:, [j]] == np.asarray(own)).astype(float)
        for j, own in enumerate(codes)
    ]
    return np.hstack(parts)
