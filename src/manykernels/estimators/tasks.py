"""Regression and classification with a learnt kernel, whatever the method that learns it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..losses import ProbabilisticLoss
from ..partitions import is_partitioned
from .checks import check_parameters
from .loss_names import CLASSIFICATION, REGRESSION, resolve_loss
from .machine import KernelMachine, as_host, like_input
from .partitioned import fit_parts, lazily


class Regression(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine with real targets."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel and the predictor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self)
        loss = resolve_loss(self.loss, REGRESSION, "regressor")
        if is_partitioned(X):
            fit_parts(self, X, y, sample_weight, loss, labelled=False)
            return self
        place, y = self._where(X), as_host(y)
        _refuse_strings(y)
        X, y = self._validate(X, y=y, y_numeric=True, ensure_min_samples=2)
        weights = self._weights(X, sample_weight)
        targets = np.asarray(y, dtype=float)[:, None]
        # An intercept absorbs the mean; without it the arithmetic keeps more digits.
        centre = np.average(targets[:, 0], weights=weights) if self.fit_intercept else 0.0
        self._fit(X, targets - centre, weights, loss, centre, place)
        return self

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions; an array of the library of X, on its device.
        """
        if is_partitioned(X):
            return lazily(self, "predict", X)
        return like_input(self._decision(X)[:, 0], X)

    def _shape_outputs(self, values: Array) -> Any:
        return values[0]


def _has_probability(estimator: Classification) -> bool:
    loss = resolve_loss(estimator.loss, CLASSIFICATION, "classifier")
    if isinstance(loss, ProbabilisticLoss):
        return True
    raise AttributeError(
        f"predict_proba needs a loss that determines probabilities; got loss={estimator.loss!r}. "
        "Use loss='logistic'."
    )


class Classification(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine with classes: two, or each of several against the rest."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel and the predictor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self)
        loss = resolve_loss(self.loss, CLASSIFICATION, "classifier")
        if is_partitioned(X):
            fit_parts(self, X, y, sample_weight, loss, labelled=True)
            return self
        place, y = self._where(X), as_host(y)
        X, y = self._validate(X, y=y, ensure_min_samples=2)
        weights = self._weights(X, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        present = np.unique(codes[weights > 0])
        if len(present) < 2:
            raise ValueError(
                "y must have at least two classes with positive weight; got one class, "
                f"{self.classes_[present[0]]!r}. Check the target column or the split."
            )
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = np.column_stack([np.where(codes == c, 1.0, -1.0) for c in outputs])
        self._fit(X, targets, weights, loss, place=place)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; one column for each of more classes.
        """
        if is_partitioned(X):
            return lazily(self, "decision_function", X)
        return like_input(self._one_column(self._decision(X)), X)

    def _one_column(self, values: Array) -> Array:
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.
        """
        check_is_fitted(self)
        if is_partitioned(X):
            return lazily(self, "predict", X)
        values = self._one_column(self._decision(X))
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return like_input(np.asarray(self.classes_[chosen]), X)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of classes; for more than two they are normalised to add up to one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        check_is_fitted(self)
        if is_partitioned(X):
            return lazily(self, "predict_proba", X)
        loss = resolve_loss(self.loss, CLASSIFICATION, "classifier")
        assert isinstance(loss, ProbabilisticLoss)
        positive = loss.probability(self._decision(X))
        if len(self.classes_) == 2:
            return like_input(np.column_stack([1 - positive[:, 0], positive[:, 0]]), X)
        total = positive.sum(axis=1, keepdims=True)
        uniform = np.full_like(positive, 1 / positive.shape[1])
        shares = np.where(total > 0, positive / np.where(total > 0, total, 1), uniform)
        return like_input(shares, X)

    def _shape_outputs(self, values: Array) -> Any:
        return values


def _refuse_strings(y: Any) -> None:
    values = np.asarray(y)
    if values.dtype.kind in "US" or (
        values.dtype == object and any(isinstance(value, str) for value in values.ravel())
    ):
        raise ValueError(
            f"y must be numeric for regression; got strings such as {values.ravel()[0]!r}. "
            "Use MKLClassifier for classes, or convert y with astype(float)."
        )
