"""The model that a report is about, and the rows that it is shown on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..arrays import Array
from ..baselines.simple import SimpleModels
from ..estimators.validation import column_names
from ..function import AnovaTerms, Terms
from ..how_sure import HowSure, how_sure_of
from ..limits import SHOWN_ROWS
from ..registry import ESTIMATORS
from ..words import count, number, plural

if TYPE_CHECKING:
    import pandas as pd

PLOTTED = 30
"""Most terms with a plot. Set by judgement, not measured."""

VARIABLES = 3
"""Most variables of a term with a plot: two axes and a panel for each value of a third."""


@dataclass(frozen=True)
class Subject:
    """A fitted model and the rows that it is shown on.

    Attributes
    ----------
    estimator : estimator
        The model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        Their targets.
    columns : list of str
        Names of the columns of X.
    target : str
        What is predicted.
    summary : mapping
        What the caller knows of the fit.
    levels : mapping
        What the codes of a column mean, by the column's name.
    simple : SimpleModels, optional
        Simple models that were fitted to the same rows as the model.
    how_sure : HowSure, optional
        What many sets of rows say of the terms.
    """

    estimator: Any
    X: Any
    y: Array
    columns: list[str]
    target: str
    summary: Mapping[str, Any]
    levels: Mapping[str, Any]
    simple: SimpleModels | None = None
    how_sure: HowSure | None = None

    @property
    def where(self) -> str:
        """The rows that the model is shown on, in words."""
        kind, size = self.summary.get("evaluated_on"), len(self.y)
        rows = self.summary.get("rows_test")  # 0 where all were trained on
        if not kind or rows not in (None, 0, size):
            return f"the {plural(size, 'row')} given to the report"
        return str(kind) if rows is None else f"{count(size)} {kind}"

    @cached_property
    def terms(self) -> Terms | AnovaTerms:
        """The terms of the learnt function."""
        terms: Terms | AnovaTerms = self.estimator.function_.terms
        return terms

    @cached_property
    def table(self) -> pd.DataFrame:
        """All terms as a table, those of largest share first."""
        return self.terms.table(None)

    @property
    def classes(self) -> list[Any]:
        """The classes, none for real targets."""
        return list(getattr(self.estimator, "classes_", np.empty(0)).tolist())

    @cached_property
    def label(self) -> Any:
        """The class whose effects are shown: with more than two the most frequent, else None."""
        if len(self.classes) <= 2:
            return None
        found = Counter(self.y.tolist())
        return max(self.classes, key=lambda label: found[label])

    @cached_property
    def predicted(self) -> Array:
        """Predictions for all rows."""
        return np.asarray(self.estimator.predict(self.X))

    @cached_property
    def rows(self) -> Any:
        """The rows that effects are shown on."""
        size = self.X.shape[0]
        if size <= SHOWN_ROWS:
            return self.X
        drawn = np.sort(np.random.default_rng(0).choice(size, SHOWN_ROWS, replace=False))
        return _safe_indexing(self.X, drawn)

    @cached_property
    def parts(self) -> pd.DataFrame:
        """What terms that may be plotted contribute on these rows, a column for each."""
        return self.estimator.contributions(self.rows, self.plottable, self.label)

    @cached_property
    def plottable(self) -> list[str]:
        """The strongest terms that are functions of at most three columns."""
        possible = (n for n in self.terms.names if 1 <= len(self.terms.columns(n)) <= VARIABLES)
        return list(islice(possible, PLOTTED))

    @cached_property
    def by_variables(self) -> dict[int, float]:
        """Share of the variance that belongs to terms of 1, 2, ... columns."""
        shares: dict[int, float] = {}
        for name, share in zip(self.table["term"], self.table["share"], strict=True):
            size = len(self.terms.columns(name))
            shares[size] = shares.get(size, 0.0) + float(share)
        return {size: shares[size] for size in sorted(shares) if size}

    @property
    def interacts(self) -> bool:
        """Whether a term joins two columns or more."""
        return any(size > 1 for size in self.by_variables)

    def value(self, column: int, row: int) -> str:
        """Return an entry of the rows as text: the name of a level, or a number."""
        values = _safe_indexing(self.rows, column, axis=1)
        entry = np.asarray(values.todense() if hasattr(values, "todense") else values).ravel()[row]
        return level(self.levels.get(self.columns[column]), float(entry))


def subject_of(
    model: Any,
    X: Any,
    y: Any,
    summary: Mapping[str, Any] | None,
    levels: Mapping[str, Any] | None,
    how_sure: Any = None,
) -> Subject:
    """Check what a report is asked of; take a table model apart."""
    estimator = model
    if hasattr(model, "encode") and hasattr(model, "estimator"):
        estimator, X = model.estimator, model.encode(X)
        levels = model.levels if levels is None else levels
        summary = model.summary if summary is None else summary
    if not hasattr(estimator, "explain") or not hasattr(estimator, "contributions"):
        raise TypeError(
            f"model must be an estimator with terms, such as {' or '.join(ESTIMATORS[::3])}; got "
            f"{type(model).__name__}. Of a pipeline, give the last step and X as it sees it."
        )
    check_is_fitted(estimator)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    targets = column_or_1d(y)
    if rows.shape[0] != len(targets) or not len(targets):
        raise ValueError(
            "X and y must have the same number of rows, at least one; got "
            f"{rows.shape[0]} and {len(targets)}. Give the rows to show the model on."
        )
    if not estimator.labelled:
        _refuse_no_numbers(targets)
    names = column_names(estimator)
    known = {name: value for name, value in (levels or {}).items() if name in names}
    summary = {} if summary is None else summary
    target = summary.get("target") or getattr(y, "name", None)
    target, simple = str(target or "the target"), getattr(model, "simple", None)
    how_sure = getattr(model, "how_sure", None) if how_sure is None else how_sure
    found = None if how_sure is None else how_sure_of(how_sure, names)
    return Subject(estimator, rows, targets, names, target, summary, known, simple, found)


def _refuse_no_numbers(targets: Array) -> None:
    """Raise ValueError unless targets are finite numbers."""
    try:
        good = np.isfinite(targets.astype(float))
    except (TypeError, ValueError):
        raise ValueError(
            f"y must be numbers for a regression; got {str(targets[0])[:60]!r}. Give the column "
            "that the model predicts."
        ) from None
    if not good.all():
        raise ValueError(
            f"y must be finite; got {np.count_nonzero(~good)} values that are NaN or infinity. "
            "Drop these rows."
        )


def level(levels: Mapping[Any, Any] | Sequence[Any] | None, value: float) -> str:
    """Return what a code means where that is known, else the number."""
    if levels is None or round(value) != value:
        return number(value)
    known = levels if isinstance(levels, Mapping) else dict(enumerate(levels))
    return str(known.get(round(value), "a new value" if value < 0 else number(value)))
