"""What the regressor and the classifier have in common: check, resolve, solve, store."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..arrays import Array
from ..bases import FeatureBlocks, GramStack
from ..explain import table
from ..families import IndexSet, Interactions, Monomials, ProductFamily, Tuples
from ..kernels import FunctionKernels, KernelSet, PairwiseKernel, only_linear, resolve
from ..losses import BY_NAME, Loss, Squared
from ..objective import Problem, exponent
from ..predictor import make_predictor
from ..solvers import MirrorDescent, Result, run, solve_closed
from .progress import Progress

if TYPE_CHECKING:
    import pandas as pd


ONE_THREAD_ROWS = 2_000
"""Up to so many rows a fit runs on one BLAS thread."""


class BaseMKL(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of the estimators; it holds everything that does not depend on the kind of target."""

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 3,
        index_set: str = "auto",
        rho: Any = None,
        p: float = 4 / 3,
        loss: Any = "squared",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-2,
        max_time: float | None = None,
        standardize: bool | str = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.degree = degree
        self.index_set = index_set
        self.rho = rho
        self.p = p
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.pairwise = isinstance(self.kernels, str) and self.kernels == "precomputed"
        return tags

    def _centres(self) -> bool:
        return isinstance(self.standardize, bool | np.bool_) and bool(self.standardize)

    def _takes_sparse(self) -> bool:
        return only_linear(self.kernels) and not self._centres()

    def _validate(self, X: Any, **options: Any) -> Any:
        """Check X (and y), with a message of our own for sparse X that cannot be taken."""
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
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weights > 0):
            raise ValueError(
                "sample_weight must have a positive entry; got only zero weights. "
                "Use sample_weight=None to weigh rows equally."
            )
        return weights

    def _fit(self, X: Array, y: Array, weights: Array, loss: Loss, centre: float = 0.0) -> None:
        """Fit to validated X, targets of shape (n, c), less ``centre``, and sample weights."""
        used = np.flatnonzero(weights > 0)
        rows, targets = X[used], y[used]
        weights = weights[used] / weights[used].sum()
        rng = _generator(self.random_state)

        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{j}" for j in range(X.shape[1])] if names is None else names.tolist()
        self._kernels: KernelSet = resolve(self.kernels, labels)
        if isinstance(self._kernels, PairwiseKernel):
            self._kernels.use(used, X.shape)
        self._scaler = self._fit_scaler(rows, weights)
        bases = self._kernels.fit(self._scaled(rows), rows)
        _refuse_overflow(bases, self.degree)
        problem = Problem(
            targets, weights, loss, float(self.alpha), float(self.p), bool(self.fit_intercept)
        )
        family = ProductFamily(bases, self.degree, self._index_set(), self.rho, self._kernels.names)
        # Several threads make the many small matrix products of a fit slower, not faster.
        few = problem.y.shape[0] <= ONE_THREAD_ROWS
        with threadpool_limits(1, user_api="blas") if few else nullcontext():
            result = self._solve(problem, family, rng)
        self._judge(result)
        predictor = make_predictor(family, result, weights)
        self._predictor = replace(predictor, intercept=predictor.intercept + centre)
        self._store(family, result, used, X.shape[0])

    def _index_set(self) -> IndexSet:
        kind = self.index_set
        if kind == "auto":
            kind = "monomials" if self._kernels.explicit else "interactions"
        if kind == "tuples":
            return Tuples(exponent(self.p))
        return Monomials() if kind == "monomials" else Interactions()

    def _solve(self, problem: Problem, family: ProductFamily, rng: np.random.Generator) -> Result:
        if problem.p == 2:
            return solve_closed(problem, family, rng, self.tol)
        solver = self.solver if isinstance(self.solver, MirrorDescent) else MirrorDescent()
        progress = Progress(self.verbose, family.size, self.max_iter, self.max_time)
        return run(solver, problem, family, rng, self.max_iter, self.tol, self.max_time, progress)

    def _judge(self, result: Result) -> None:
        """Refuse a result that is no number; warn of one that is not what was asked for."""
        gap = result.certificate.relative
        if not np.isfinite(result.solution.objective + gap):
            raise ValueError(
                "alpha, rho or the scale of y is beyond floating-point range; the duality gap is "
                f"not finite with alpha={self.alpha:g}. Use values nearer to 1, or rescale y."
            )
        if result.interrupted:
            message = (
                f"Interrupted after {result.n_iter} iterations; the model is that of the last one, "
                f"with a relative duality gap of {gap:.2g}."
            )
        elif not result.converged:
            message = (
                f"The relative duality gap is {gap:.2g} ({result.certificate.kind}) after "
                f"{result.n_iter} iterations, above tol={self.tol:g}. "
            ) + (
                "With p = 2 that is rounding: use a larger alpha."
                if self.p == 2
                else "Raise max_iter or max_time, or accept a larger tol."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _store(self, family: ProductFamily, result: Result, used: Array, rows: int) -> None:
        predictor = self._predictor
        self.terms_ = list(predictor.indices)
        self.theta_ = predictor.theta
        self.objective_ = result.solution.objective
        self.gap_ = result.certificate.relative
        self.gap_kind_ = result.certificate.kind
        self.n_kernels_ = family.size
        self.n_iter_ = result.n_iter
        self.history_ = {key: np.array(values) for key, values in result.history.items()}
        dual = np.zeros((rows, result.solution.alpha.shape[1]))
        dual[used] = result.solution.alpha
        self.dual_coef_ = self._shape_outputs(dual.T)
        self.intercept_ = self._shape_outputs(predictor.intercept)
        if predictor.coefficients is not None:
            self.coef_ = self._shape_outputs(predictor.coefficients.T)
        elif hasattr(self, "coef_"):
            del self.coef_

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
        return X if self._scaler is None else self._scaler.transform(X)

    def _decision(self, X: Any) -> Array:
        """Return decision values of shape (n_new, c)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._predictor.decision(self._kernels.on(self._scaled(X), X))
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"X has values so large that products of degree {self.degree} overflow; largest is "
                f"{abs(X).max():.3g}. Check their units against the training data."
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

    def explain(self, top: int | None = 20) -> pd.DataFrame:
        """Return the most important terms as a table.

        Parameters
        ----------
        top : int or None, default=20
            How many terms; None for all.

        Returns
        -------
        pandas.DataFrame
            Columns ``term`` (by name), ``degree``, ``theta`` (kernel weight), ``share`` (of the
            variance of the fitted function over the training rows; shares of all kernels in use
            add up to one) and ``sign`` (of the coefficient; 0 where a term has no single
            coefficient). With p = 2 and more than 10,000 kernels only important ones are listed.
        """
        check_is_fitted(self)
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise ValueError(f"top must be an integer >= 0 or None; got {top!r}. Use top=20.")
        return table(self._predictor, top)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _refuse_overflow(bases: FeatureBlocks | GramStack, degree: int) -> None:
    values = bases.features if isinstance(bases, FeatureBlocks) else bases.grams
    power = 2 * degree if isinstance(bases, FeatureBlocks) else degree
    largest = float(abs(values).max()) if min(values.shape) else 0.0
    if largest > 1 and power * np.log10(largest) > 280:
        raise ValueError(
            f"X has values so large that products of degree {degree} overflow; the largest base "
            f"feature or kernel value is {largest:.3g}. Use standardize=True or a smaller degree."
        )


def resolve_loss(loss: Any, allowed: tuple[str, ...], kind: str) -> Loss:
    """Turn the public ``loss`` argument into a loss, or say what is wrong with it."""
    if isinstance(loss, str):
        if loss not in allowed:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, allowed))} for a {kind}, or a loss "
                f"object; got {loss!r}. See manykernels.losses."
            )
        return BY_NAME[loss]()
    missing = [name for name in ("value", "gradient", "conjugate") if not hasattr(loss, name)]
    if missing or not (hasattr(loss, "curvature") or hasattr(loss, "conjugate_prox")):
        raise ValueError(
            f"loss must be a name or have value, gradient, conjugate, and curvature or "
            f"conjugate_prox; got {loss!r}. See manykernels.losses."
        )
    classes = bool(getattr(loss, "classification", False))
    if kind == "regressor" and classes:
        raise ValueError(
            f"loss must be for real targets; got {loss!r}. Use MKLClassifier for classes."
        )
    if kind == "classifier" and not (classes or isinstance(loss, Squared)):
        raise ValueError(f"loss must be for classes; got {loss!r}. Use loss='logistic'.")
    return loss
