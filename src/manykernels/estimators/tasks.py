"""Regression and classification with a learnt kernel, whatever the method that learns it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..losses import ProbabilisticLoss, log_chances
from ..rows.dask import is_partitioned, lazily
from ..specify import resolve_loss
from .base import KernelMachine
from .validation import like_input


class Regression(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine with real targets."""

    labelled = False

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
            return lazily(self.predict, X, one_row(self))
        return like_input(self._decision(X)[:, 0], X)


def _has_probability(estimator: Classification) -> bool:
    loss = resolve_loss(estimator.loss, labelled=True)
    if isinstance(loss, ProbabilisticLoss):
        return True
    raise AttributeError(
        f"predict_proba needs a loss that determines probabilities; got loss={estimator.loss!r}. "
        "Use loss='logistic'."
    )


class Classification(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine with classes: two, or each of several against the rest."""

    labelled = True

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
            return lazily(self.decision_function, X, one_row(self))
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
            return lazily(self.predict, X, one_row(self))
        values = self._one_column(self._decision(X))
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return like_input(np.asarray(self.classes_[chosen]), X)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of classes.

        Each of more than two is judged against the others, and the logistic probabilities are
        divided by their sum; or the softmax of decision values is taken, where cross-validation of
        the fit has found that to have the lower log loss.

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
            return lazily(self.predict_proba, X, one_row(self))
        loss = resolve_loss(self.loss, labelled=True)
        assert isinstance(loss, ProbabilisticLoss)
        values = self._decision(X)
        if self.function_.softmax:
            return like_input(np.exp(log_chances(values, softmax=True)), X)
        positive = loss.probability(values)
        if len(self.classes_) == 2:
            return like_input(np.column_stack([1 - positive[:, 0], positive[:, 0]]), X)
        total = positive.sum(axis=1, keepdims=True)
        uniform = np.full_like(positive, 1 / positive.shape[1])
        shares = np.where(total > 0, positive / np.where(total > 0, total, 1), uniform)
        return like_input(shares, X)


def one_row(estimator: Any) -> Any:
    """Return a row with the columns of the fit: of zeros, or of values as they were there."""
    if hasattr(estimator, "encoder_"):
        return estimator.encoder_.example()
    row: Any = np.zeros((1, estimator.n_features_in_))
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        row = pd.DataFrame(row, columns=names)
    return row
