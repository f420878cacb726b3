"""What every estimator shares: check, specify, gather rows, fit, keep; predict and explain."""

from __future__ import annotations

import os
from abc import ABCMeta
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arguments import as_path
from ..arrays import Array
from ..fitting import Outcome
from ..function import Predictor, scaled
from ..how_sure import how_sure_of
from ..inputs import ranges, refuse_more, shown
from ..rows import Rows
from ..spec import Spec
from ..specify import specify
from ..store import save
from .by_groups import FitByGroups, groups_apart, warn_of_subjects
from .checks import check_parameters
from .importances import importances
from .kept import kept_fit
from .loaded import refuse_unusable
from .notebook import html
from .validation import (
    as_numbers,
    column_names,
    fitted_anew,
    gather,
    new_rows,
    pairwise,
    takes_sparse,
    workplace,
)

if TYPE_CHECKING:
    import pandas as pd


class KernelMachine(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of all estimators: everything but the method and the kind of target.

    A subclass has the parameters kernels, alpha, fit_intercept and standardize.
    """

    takes_parts = False  # whether it can be fitted to rows in parts
    takes_widths = False  # whether it can learn widths
    takes_tables = True  # whether it can be fitted to text, categories, dates and gaps
    labelled: bool  # whether targets are classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self)
        tags.input_tags.pairwise = pairwise(self)
        tables = self.takes_tables and not pairwise(self)
        tags.input_tags.allow_nan = tags.input_tags.string = tables
        # Checks of those that say so draw classes of one row, which no fold can do without.
        tags.input_tags.categorical = tables and not (self.labelled and hasattr(self, "cv"))
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Self:
        """Learn the kernel and the predictor.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. Text, categories, booleans, dates and missing values are taken as they
            come; see :class:`manykernels.TableEncoder`.
        y : array-like of shape (n_samples,)
            Real targets, or classes for classifiers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter, and those below 1e-16 of the largest
            count as zero. Where widths are learnt and rows of the same values have different
            targets, weights also say how many rows there are.
        **others
            Nothing. ``groups`` are for the estimators that cross-validate, as the error says.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_more(others, groups_apart(self))
        warn_of_subjects(self, X)
        check_parameters(self)
        with fitted_anew(self):
            X = as_numbers(self, X, sample_weight)
            spec = self._specify()
            rows = gather(self, spec, X, y, sample_weight)
            self._keep(kept_fit(self, spec, rows))
        return self

    def _specify(self) -> Spec:
        """Return what was asked for, resolved; a method of its own says here what it is."""
        return specify(self, self.labelled)

    def _keep(self, outcome: Outcome) -> None:
        """Store what a fit gave as public attributes."""
        function, result, choice = outcome.function, outcome.result, outcome.choice
        learnt, dual = function.predictor, outcome.dual
        kept = {"function_": function, "intercept_": learnt.intercept, **outcome.facts}
        if len(function.classes):
            kept["classes_"] = function.classes
        if dual is not None:
            kept["dual_coef_"] = dual.T
        if result is not None and isinstance(learnt, Predictor):
            kept |= {
                "terms_": list(learnt.indices),
                "theta_": learnt.theta,
                "objective_": result.solution.objective,
                "gap_": result.certificate.relative,
                "gap_kind_": result.certificate.kind,
                "n_kernels_": outcome.size,
                "degree_": outcome.degree,
                "p_": outcome.p,
                "n_iter_": result.n_iter,
                "history_": {key: np.array(values) for key, values in result.history.items()},
            }
            if outcome.strength is not None:
                kept["alpha_"] = float(outcome.strength)
            if learnt.coefficients is not None:
                kept["term_coef_"] = learnt.coefficients.T
        if choice is not None:
            kept |= {
                "choice_": choice,
                "score_path_": choice.scores,
                "best_score_": choice.score,
            }
            if choice.counts_terms:
                kept["n_terms_"] = choice.size
            else:
                kept["alphas_"] = np.array([candidate.sizes for candidate in choice.candidates])
        outputs = ("term_coef_", "dual_coef_", "intercept_")  # outputs first; of numbers only one
        if not self.labelled:
            kept |= {name: kept[name][0] for name in outputs if name in kept}
        self.__dict__.update(kept)

    def _decision(self, X: Any) -> Array:
        """Return decision values of shape (n_new, c)."""
        check_is_fitted(self)
        place = workplace(self, X)
        X = new_rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.function_.decision(X, place)
        self._refuse_overflow(values, X)
        return values

    def _refuse_overflow(self, values: Any, X: Any) -> None:
        """Raise ValueError if what was computed from rows X is not finite; say which column."""
        if np.all(np.isfinite(values)):
            return
        family = getattr(self.function_.predictor, "family", None)
        family = getattr(family, "family", family)  # that of one with standardised kernels
        degree = getattr(family, "degree", None)
        if degree is None:  # of a method that weighs no family
            degree = max(self._specify().degrees)
        products = f"products of degree {degree}"
        with np.errstate(over="ignore"):
            low, high = ranges(scaled(self.function_.scaler, X))
        worst = int(np.argmax(np.maximum(np.abs(low), np.abs(high))))
        raise ValueError(
            f"X has values so large that {products} overflow; column "
            f"{column_names(self)[worst]!r} has ones up to {abs(X[:, [worst]]).max():.3g}. "
            "Check their units against the training data."
        )

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
        X, Y = new_rows(self, X), None if Y is None else new_rows(self, Y)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.function_.kernel(X, Y)
            sizes = [float(abs(rows).max()) for rows in (X, Y) if rows is not None]
        self._refuse_overflow(values, X if Y is None or sizes[0] >= sizes[1] else Y)
        return values


class FamilyMachine(KernelMachine):
    """Base of estimators that weigh the kernels of a family: they have terms.

    A subclass has the parameters of :class:`KernelMachine` and degree, index_set, rho, p, tol.
    """

    @property
    def feature_importances_(self) -> Array:
        """Importance of each column of X: adds up to one, all zero if nothing was found.

        The spread, the standard deviation over the training rows, of what each term
        adds to predictions, in equal parts for the variables of the term, added up and divided by
        the total.
        """
        check_is_fitted(self)
        return importances(self)

    def explain(self, top: int | None = 20, how_sure: Any = None) -> pd.DataFrame:
        """Return the most important terms as a table.

        Parameters
        ----------
        top : int or None, default=20
            How many terms; None for all.
        how_sure : SplitTest or StabilitySelection, optional
            Of :mod:`manykernels.selection`, fitted to the same rows as the model.

        Returns
        -------
        pandas.DataFrame
            By descending spread. Columns ``term`` (by name), ``degree``, ``theta`` (kernel weight),
            ``share`` (covariance of the term with the fitted function, over the variance of the
            latter, over the training rows: shares add up to one, and are below zero for a term
            that works against others; for kernels with widths the share of the variance if columns
            were independent), ``sign`` (of the coefficient; 0 where a term has no single
            coefficient), ``spread`` (standard deviation of what the term adds to predictions over
            the training rows, for kernels with widths and many rows over a sample of them: in the
            unit of the target, for classes of decision values) and
            ``loss_without`` (what R² on the training rows loses if the term is left out and the
            others, whose shapes stay, are scaled anew; with the logistic loss what the log loss
            gains; NaN where it is not computed: other losses, kernels with widths, rows in parts,
            very many terms). With p = 2 and more than 10,000 kernels only important ones are
            listed.
            With ``how_sure`` also ``frequency`` (share of the splits, or halves, that selected the
            term), ``p_value`` (of a test), ``group`` (number; missing if never selected) and
            ``sure``.
        """
        check_is_fitted(self)
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise ValueError(f"top must be an integer >= 0 or None; got {top!r}. Use top=20.")
        table = self.function_.terms.table(top)
        if how_sure is None:
            return table
        return how_sure_of(how_sure, column_names(self)).join(table)

    def contributions(self, X: Any, terms: Any = None, label: Any = None) -> pd.DataFrame:
        """Return what each term contributes to each prediction.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        terms : list of str, optional
            Names of terms, as in :meth:`explain`; by default all, and the intercept.
        label : object, optional
            With more than two classes: the class whose decision values to explain.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_terms + 1)
            Columns ``intercept`` and the terms' names, by descending spread. Without
            ``terms`` they add up to the prediction, for classes to the decision value: each term
            is a function of its own variables, and the model is their sum. What :meth:`explain`
            does not list (with p = 2) is a column ``other terms``.
        """
        check_is_fitted(self)
        listed = isinstance(terms, Iterable) and not isinstance(terms, bytes)
        if terms is not None and (not listed or getattr(terms, "ndim", 1) == 0):
            raise ValueError(
                f"terms must be names of terms, as in explain, or None; got {shown(terms)}. Use "
                "for instance model.explain()['term'][:3]."
            )
        names = None if terms is None else [terms] if isinstance(terms, str) else list(terms)
        index = X.index if hasattr(X, "iloc") else None
        self.function_.output(label)  # a wrong label is said before X is looked at
        rows = new_rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            frame = self.function_.contributions(rows, names, label)
        self._refuse_overflow(frame, rows)
        return frame if index is None else frame.set_axis(index, axis=0)

    def _repr_html_inner(self) -> str:
        # In scikit-learn this is the value of the property _repr_html_.
        return html(self, self.explain(None) if hasattr(self, "terms_") else None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown


class BaseMKL(FamilyMachine):
    """Base of our own estimators: the solver that the problem asks for, or the one asked for."""

    takes_parts = takes_widths = True

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to a file that :func:`manykernels.load` reads.

        Parameters
        ----------
        path : str or path
            The file, by custom ``NAME.mk``: a zip of JSON and plain arrays with checksums.

        Returns
        -------
        Path
            The file. The model that is read from it predicts bit for bit the same. What belongs
            to training rows (``dual_coef_``) is left out unless predictions need it, and ``cv``
            and ``random_state`` are None if they were objects.
        """
        from .. import __version__

        check_is_fitted(self)
        return save(self, as_path(path), __version__)

    def check_loaded(self) -> None:
        """Raise if a model that was read from a file cannot predict; for the reader of files."""
        specification(self)
        refuse_unusable(self)


@dataclass(eq=False, repr=False)
class PlainMKL(BaseMKL):
    """Base of the estimators whose strength is given."""

    kernels: Any = None
    degree: Any = "auto"
    index_set: str = "auto"
    rho: Any = None
    p: float | None = None
    loss: Any = "squared"
    alpha: float | None = None
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-2
    max_time: float | None = None
    max_memory: Any = None
    subsample: str | None = None
    standardize: bool | str = True
    standardize_terms: bool | str = "auto"
    device: str | None = None
    random_state: Any = None
    verbose: int = 0
    checkpoint: Any = None


@dataclass(eq=False, repr=False)
class BaseCV(FitByGroups, BaseMKL):
    """Base of the estimators that choose their strength."""

    kernels: Any = None
    degree: Any = "auto"
    index_set: str = "auto"
    rho: Any = None
    p: Any = None
    loss: Any = "squared"
    alphas: Any = None
    n_alphas: int = 25
    cv: Any = None
    one_standard_error: bool = False
    debias: bool = False
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-2
    max_time: float | None = None
    max_memory: Any = None
    subsample: str | None = None
    standardize: bool | str = True
    standardize_terms: bool | str = "auto"
    device: str | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    checkpoint: Any = None


def specification(estimator: KernelMachine) -> Spec:
    """Return what the parameters of an estimator, if they are right, ask for."""
    check_parameters(estimator)
    return estimator._specify()


def fit_rows(estimator: KernelMachine, rows: Rows) -> None:
    """Fit an estimator to rows that are gathered and known to scikit-learn already."""
    spec = specification(estimator)
    estimator._keep(kept_fit(estimator, spec, rows))
