"""What every estimator that learns a kernel shares: check, scale, resolve, learn, predict."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..arrays import Array
from ..backend import HOST, beside, on_host, place_of, to_host
from ..bases import FeatureBlocks, GramStack
from ..kernels import FunctionKernels, KernelSet, PairwiseKernel, only_linear, resolve
from ..losses import Loss
from ..objective import Problem

ONE_THREAD_ROWS = 2_000
"""Up to so many rows a fit runs on one BLAS thread."""


def threads_for(rows: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread where the matrix products of a fit are too small for more."""
    few = rows <= ONE_THREAD_ROWS
    return threadpool_limits(1, user_api="blas") if few else nullcontext()


class Learnt(Protocol):
    """A learnt function and its kernel; a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def intercept(self) -> Array:
        """The constants, of shape (c,)."""
        ...

    def decision(self, bases: FeatureBlocks | GramStack) -> Array:
        """Return the function on new rows, of shape (n_new, c)."""
        ...

    def kernel(self, left: FeatureBlocks | GramStack, right: FeatureBlocks | GramStack) -> Array:
        """Return the learnt kernel between two sets of rows."""
        ...


class KernelMachine(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of all estimators: everything but the method and the kind of target.

    A subclass has the parameters kernels, alpha, fit_intercept and standardize.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.pairwise = isinstance(self.kernels, str) and self.kernels == "precomputed"
        return tags

    def _centres(self) -> bool:
        return isinstance(self.standardize, bool | np.bool_) and bool(self.standardize)

    def _takes_sparse(self) -> bool:
        return only_linear(self.kernels) and not self._centres()

    def _where(self, X: Any) -> Any:
        """Return where the work on given rows is done."""
        return place_of(X, getattr(self, "device", None))

    def _validate(self, X: Any, **options: Any) -> Any:
        """Check X (and y) on the host, with messages of our own for what cannot be taken."""
        if not on_host(self._where(X)):
            if sparse.issparse(X):
                raise TypeError(
                    "X must be dense where a device does the work; got a sparse matrix with "
                    f"device={self.device!r}. Use device=None or X.toarray()."
                )
            X = to_host(X) if not on_host(place_of(X, None)) else X
        if sparse.issparse(X) and not self._takes_sparse():
            raise TypeError(
                "X must be dense unless kernels are linear and not centred; got a sparse matrix "
                f"with kernels={self.kernels!r}, standardize={self.standardize!r}. Use "
                'kernels="linear" with standardize="scale" (or False), or X.toarray().'
            )
        return validate_data(
            self,
            X,
            accept_sparse=("csr", "csc") if self._takes_sparse() else False,
            dtype=np.float64,
            **options,
        )

    def _weights(self, X: Array, sample_weight: Any) -> Array:
        """Check sample weights; return one for each row."""
        sample_weight = as_host(sample_weight)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weights > 0):
            raise ValueError(
                "sample_weight must have a positive entry; got only zero weights. "
                "Use sample_weight=None to weigh rows equally."
            )
        return weights

    def _fit(
        self,
        X: Array,
        y: Array,
        weights: Array,
        loss: Loss,
        centre: float = 0.0,
        place: Any = HOST,
    ) -> None:
        """Fit to validated X, targets of shape (n, c), less ``centre``, and sample weights."""
        used = np.flatnonzero(weights > 0)
        problem, bases = self._prepare(X, y, weights, loss, self._final_degree(), place)
        with threads_for(len(used)):
            learnt, alpha = self._learn(problem, bases)
        self._predictor = replace(learnt, intercept=learnt.intercept + centre)
        dual = np.zeros((X.shape[0], alpha.shape[1]))
        dual[used] = alpha
        self.dual_coef_ = self._shape_outputs(dual.T)
        self.intercept_ = self._shape_outputs(self._predictor.intercept)

    def _prepare(
        self, X: Array, y: Array, weights: Array, loss: Loss, degree: int, place: Any
    ) -> tuple[Problem, FeatureBlocks | GramStack]:
        """Resolve the kernels; return problem and base kernels on the rows of positive weight.

        The degree is that of the products to come; the base kernels are put beside ``place``.
        """
        used = np.flatnonzero(weights > 0)
        rows = X if len(used) == X.shape[0] else X[used]
        targets, weights = y[used], weights[used] / weights[used].sum()
        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{j}" for j in range(X.shape[1])] if names is None else names.tolist()
        self._kernels: KernelSet = resolve(self.kernels, labels, degree)
        if isinstance(self._kernels, PairwiseKernel):
            self._kernels.use(used, X.shape)
        self._scaler = self._fit_scaler(rows, weights)
        bases = self._kernels.fit(self._scaled(rows), rows, weights, place)
        _refuse_overflow(bases, degree)
        return self._problem(targets, weights, loss), bases

    def _problem(self, y: Array, weights: Array, loss: Loss) -> Problem:
        return Problem(y, weights, loss, float(self.alpha), 2.0, bool(self.fit_intercept))

    def _highest_degree(self) -> int:
        """Return the largest number of base kernels in a product."""
        return int(self.degree)

    def _final_degree(self) -> int:
        """Return the degree of the fit to all rows."""
        return self._highest_degree()

    @abstractmethod
    def _learn(self, problem: Problem, bases: FeatureBlocks | GramStack) -> tuple[Learnt, Array]:
        """Learn kernel and predictor; store what is particular; return it and dual variables."""

    @abstractmethod
    def _shape_outputs(self, values: Array) -> Any:
        """Give an array with outputs first the shape that the kind of estimator stores."""

    def _fit_scaler(self, X: Array, weights: Array) -> StandardScaler | None:
        if (not self._centres() and self.standardize != "scale") or isinstance(
            self._kernels, PairwiseKernel
        ):
            return None
        scaler = StandardScaler(with_mean=self._centres())
        return scaler.fit(X, sample_weight=weights * len(weights))

    def _scaled(self, X: Array) -> Array:
        if self._scaler is None:
            return X
        if sparse.issparse(X):
            return self._scaler.transform(X)
        # One copy, column by column as features are held.
        return self._scaler.transform(np.array(X, order="F"), copy=False)

    @property
    def function_(self) -> Any:
        """SHIM."""
        from .function_shim import Function

        check_is_fitted(self)
        return Function(self)

    def _decision(self, X: Any) -> Array:
        """Return decision values of shape (n_new, c)."""
        check_is_fitted(self)
        place = self._where(X)
        X = self._validate(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._predictor.decision(self._kernels.on(self._scaled(X), X, place))
        if not np.all(np.isfinite(values)):
            raise ValueError(
                "X has values so large that products of degree "
                f"{self._highest_degree()} overflow; largest is {abs(X).max():.3g}. "
                "Check their units against the training data."
            )
        return values

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """Evaluate the learnt kernel.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows.
        Y : array-like of shape (m, n_features), default=X
            Other rows.

        Returns
        -------
        ndarray of shape (n, m)
            Kernel values; the method can be given to scikit-learn's kernel machines, as in
            ``SVC(kernel=model.kernel)``.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        Y = X if Y is None else self._validate(Y, reset=False)
        kernels = self._kernels
        if isinstance(kernels, PairwiseKernel):
            if Y is not X:
                raise ValueError(
                    'Y must be None for kernels="precomputed": X holds the values between its '
                    "rows and the training rows already."
                )
            stack = kernels.on(X, X)
            return self._predictor.kernel(stack, stack)
        if isinstance(kernels, FunctionKernels):
            stack = kernels.between(
                kernels.views(self._scaled(X), X), kernels.views(self._scaled(Y), Y)
            )
            return self._predictor.kernel(stack, stack)
        left, right = (kernels.on(self._scaled(rows), rows) for rows in (X, Y))
        return self._predictor.kernel(left, right)


def as_host(values: Any) -> Any:
    """Return values, or their copy on the host if they are on a device."""
    return values if on_host(place_of(values, None)) else to_host(values)


def like_input(values: Array, X: Any) -> Any:
    """Return results as arrays of the library that the rows came in, on their device."""
    place = place_of(X, None)
    return values if on_host(place) or values.dtype.kind not in "fiub" else beside(values, place)


def _refuse_overflow(bases: FeatureBlocks | GramStack, degree: int) -> None:
    power = 2 * degree if isinstance(bases, FeatureBlocks) else degree
    largest = bases.largest
    if largest > 1 and power * np.log10(largest) > 280:
        raise ValueError(
            f"X has values so large that products of degree {degree} overflow; the largest base "
            f"feature or kernel value is {largest:.3g}. Use standardize=True or a smaller degree."
        )


def refuse_infinite(value: float, alpha: float) -> None:
    """Raise ValueError for an objective or a duality gap that is no number."""
    if not np.isfinite(value):
        raise ValueError(
            "alpha, rho or the scale of y is beyond floating-point range; the duality gap is "
            f"not finite with alpha={alpha:g}. Use values nearer to 1, or rescale y."
        )
