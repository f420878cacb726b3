"""The model that a report is about, and the rows that it is shown on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from ..arguments import refuse_no_table, refuse_unfitted
from ..arrays import Array
from ..baselines.simple import SimpleModels
from ..baselines.versus import remarks
from ..estimators.apart import of_table, taken_apart, truth_of
from ..estimators.validation import column_names
from ..frames import TableEncoder
from ..function import AnovaTerms, Terms, mattering
from ..how_sure import HowSure, how_sure_of
from ..inputs import refuse_target_size, shown
from ..limits import SHOWN_ROWS
from ..registry import ESTIMATORS
from ..words import count, plural
from .values import two_entries

if TYPE_CHECKING:
    import pandas as pd

PLOTTED = 30
"""Most terms with a plot. Set by judgement, not measured."""

LISTED_TERMS = 200
"""Most terms in the table, but for those that matter. Set by judgement, not measured."""

NAMED = 60
"""Most terms that matter with a plot; beyond it the page says so. Set by judgement."""

STRONGEST = 3
"""Terms that join columns, and terms that do not stand, that the text names at most. Set by
judgement."""

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
    measured : bool
        Whether scores are to be those on the rows given, whatever the summary says.
    dates : mapping
        What the numbers of columns made of dates are, by the column's name: a part of a date, such
        as "hour", or "" for decimal years.
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
    measured: bool = False
    dates: Mapping[str, str] = field(default_factory=dict)

    @property
    def believed(self) -> bool:
        """Whether scores are those that the caller gives, and none are measured."""
        return bool(self.summary.get("scores")) and not self.measured

    @cached_property
    def _judged(self) -> tuple[list[str], bool | None]:
        if self.believed:
            return [], None
        return remarks(self.estimator, self.X, self.y, self.simple, self.where)

    @property
    def remarks(self) -> list[str]:
        """What is to be said of the predictions for these rows beside simple ones."""
        return self._judged[0]

    @property
    def useful(self) -> bool | None:
        """Whether the model predicts these rows better than a constant; None if not known."""
        return self._judged[1]

    @cached_property
    def held_out(self) -> bool:
        """Whether the rows are those that a table's model was not trained on.

        As many as these, with the same score: other rows will not have that.
        """
        scores = self.summary.get("scores") or {}
        if len(self.y) != self.summary.get("rows_test") or "this model" not in scores:
            return False
        here = float(self.estimator.score(self.X, self.y))
        return bool(np.isclose(here, float(scores["this model"]), rtol=1e-9, atol=1e-12))

    @property
    def where(self) -> str:
        """The rows that the model is shown on, in words."""
        kind, size = self.summary.get("evaluated_on"), len(self.y)
        rows = self.summary.get("rows_test")  # 0 where all were trained on
        known = rows is None or (rows == 0 and size == self.summary.get("rows_train", size))
        known = known or (rows == size and (not self.measured or self.held_out))
        if not kind or not known:
            return f"the {plural(size, 'row')} given to the report"
        return str(kind) if rows is None else f"{count(size)} {kind}"

    @cached_property
    def terms(self) -> Terms | AnovaTerms:
        """The terms of the learnt function."""
        terms: Terms | AnovaTerms = self.estimator.function_.terms
        return terms

    @cached_property
    def table(self) -> pd.DataFrame:
        """All terms as a table, those of largest spread first."""
        return self.terms.table(None)

    @cached_property
    def names(self) -> list[str]:
        """Names of the terms, by descending spread, without the rest of the function."""
        return [name for name in self.table["term"] if name != self.terms.rest]

    @property
    def rest(self) -> bool:
        """Whether the function has a part that is in no term."""
        own = self.table.loc[self.table["term"] == self.terms.rest, "spread"]
        return bool((own > 0).any())

    @cached_property
    def matter(self) -> list[int]:
        """Places in the table of the terms that matter."""
        spreads = self.table["spread"]
        sizes = spreads if spreads.notna().all() else self.table["share"].abs()
        places = {name: place for place, name in enumerate(self.table["term"])}
        columns = [self.terms.columns(name) for name in self.names]
        found = mattering([sizes.iloc[places[name]] for name in self.names], columns)
        return [places[self.names[place]] for place in found]

    @cached_property
    def listed(self) -> list[int]:
        """Places of the terms in the table: the strongest, and those that matter."""
        return sorted({*range(min(LISTED_TERMS, len(self.table))), *self.matter[:NAMED]})

    @cached_property
    def joint(self) -> list[str]:
        """Names of the terms that join columns, by descending spread."""
        return [name for name in self.names if len(self.terms.columns(name)) > 1]

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

    @property
    def shown_rows(self) -> str:
        """The rows that effects are shown on, in words."""
        if len(self.y) <= SHOWN_ROWS:
            return self.where
        return f"{count(SHOWN_ROWS)} of {self.where.removeprefix('the ')}, drawn at random"

    @cached_property
    def parts(self) -> pd.DataFrame:
        """What terms that may be plotted contribute on these rows, a column for each."""
        return self.estimator.contributions(self.rows, self.plottable, self.label)

    @cached_property
    def plottable(self) -> list[str]:
        """Terms of at most three columns that have a plot: the strongest, and all that are named.

        Named are terms that matter, and those of the model that stand.
        """
        names = self.table["term"].tolist()
        possible = [n for n in names if 1 <= len(self.terms.columns(n)) <= VARIABLES]
        wanted = {names[place] for place in self.matter[:NAMED]}
        wanted.update(possible[:PLOTTED])
        if self.how_sure is not None:
            own = [name for group in self.how_sure.sure for name in group.terms]
            weak = [
                n for n, sure in zip(names, self.how_sure.is_sure(names), strict=True) if not sure
            ]
            wanted.update(own, weak[:STRONGEST])
        return [name for name in possible if name in wanted]

    def drawn(self, columns: Sequence[int]) -> Array:
        """Return the places of the shown rows that lie within what is drawn of columns."""
        from ..plot.evaluation import is_category
        from ..plot.variables import drawn_rows

        inside = np.ones(self.rows.shape[0], dtype=bool)
        for column in columns:
            labels = self.levels.get(self.columns[column])
            category = is_category(self.estimator, column)
            inside &= drawn_rows(self._entries(column), labels, category)
        return np.flatnonzero(inside)

    def _entries(self, column: int) -> Array:
        """Return the entries of a column in the rows that effects are shown on."""
        whole = _safe_indexing(self.rows, column, axis=1)
        return np.asarray(whole.todense() if hasattr(whole, "todense") else whole).ravel()

    @property
    def interacts(self) -> bool:
        """Whether a term joins two columns or more."""
        return bool(self.joint)

    def values(self, column: int, rows: Sequence[int]) -> tuple[str, str]:
        """Return a column's entries in two of the rows as texts that tell them apart."""
        entries, name = self._entries(column), self.columns[column]
        low, high = (float(entries[row]) for row in rows)
        return two_entries(low, high, self.levels.get(name), self.dates.get(name))


def subject_of(
    model: Any,
    X: Any,
    y: Any,
    summary: Mapping[str, Any] | None,
    levels: Mapping[str, Any] | None,
    how_sure: Any = None,
    train: Any = None,
) -> Subject:
    """Check what a report is asked of; take a table model apart."""
    measured = False
    named = getattr(y, "name", None)
    estimator, X, known = taken_apart(model, X)
    levels = known if levels is None else levels
    if of_table(model):
        y = truth_of(model, y)
        measured = summary is None
        summary = model.summary if summary is None else summary
    if not hasattr(estimator, "explain") or not hasattr(estimator, "contributions"):
        raise TypeError(
            f"model must be an estimator with terms, such as {' or '.join(ESTIMATORS[::3])}; got "
            f"{type(model).__name__}. Give one, or a pipeline that ends with one."
        )
    refuse_unfitted(estimator, "model")
    refuse_no_table(X)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    targets = column_or_1d(y)
    if rows.shape[0] != len(targets) or not len(targets):
        raise ValueError(
            "X and y must have the same number of rows, at least one; got "
            f"{rows.shape[0]} and {len(targets)}. Give the rows to show the model on."
        )
    if not estimator.labelled:
        _refuse_no_numbers(targets)
    elif not set(estimator.classes_.tolist()) & set(targets.tolist()):
        raise ValueError(
            f"y must be classes of the model, such as {estimator.classes_.tolist()[0]!r}; got "
            f"{shown(targets[0])}. Give the column that the model predicts."
        )
    names = column_names(estimator)
    known = {name: value for name, value in (levels or {}).items() if name in names}
    summary = {} if summary is None else summary
    target = summary.get("target") or named
    target, simple = str(target or "the target"), getattr(model, "simple", None)
    how_sure = getattr(model, "how_sure", None) if how_sure is None else how_sure
    found = None if how_sure is None else how_sure_of(how_sure, names)
    if simple is None and train is not None:
        simple = simple_models(model, train, names, known, bool(estimator.labelled))
    fields = (target, summary, known, simple, found, measured, dates_of(model))
    return Subject(estimator, rows, targets, names, *fields)


def dates_of(model: Any) -> dict[str, str]:
    """Return the columns that an encoder of the model makes of dates, with the parts they are."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    encoders = [getattr(one, "encoder", getattr(one, "encoder_", one)) for one in steps]
    return {
        name: part
        for one in encoders
        if isinstance(one, TableEncoder)
        for name, part in one.dates.items()
    }


def simple_models(
    model: Any, train: Any, names: Sequence[str], levels: Mapping[str, Any], classes: bool
) -> SimpleModels:
    """Return the simple models of training rows as the model takes them; levels: categories."""
    if not isinstance(train, tuple) or len(train) != 2:
        raise TypeError(
            f"train must be a pair of X and y; got {type(train).__name__}. Use train=(X, y) with "
            "the rows of the fit."
        )
    refuse_no_table(train[0], "X of train")
    rows = taken_apart(model, train[0])[1]
    X = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=float)
    y = column_or_1d(train[1])
    if X.ndim != 2 or X.shape != (len(y), len(names)):
        raise ValueError(
            f"train must be rows of {plural(len(names), 'column')} and as many targets; got "
            f"{X.shape} and {len(y)}. Use the rows of the fit."
        )
    given = [str(name) for name in getattr(rows, "columns", names)]
    if given != list(names) and set(given) == set(names):
        raise ValueError(
            "train must have its columns in the order of the fit; got another. Use the rows of the "
            "fit."
        )
    pairs = zip(names, X.T, strict=True)
    codes = [np.unique(column).tolist() if name in levels else [] for name, column in pairs]
    return SimpleModels.fit(X, y, codes, classes)


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
    refuse_target_size(targets.astype(float), 0.0)
