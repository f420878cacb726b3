"""The score of a model next to those of simpler ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from ..words import SPACE, count, plural, score
from .subject import Subject

OURS = "this model"

FOLDS = 5
"""Folds of the linear model's cross-validation."""

MOST = 20_000
"""Rows that the linear model is cross-validated on; of more, so many are drawn."""


@dataclass(frozen=True)
class Scores:
    """Scores on one set of rows.

    Attributes
    ----------
    metric : str
        ``"R²"`` or ``"accuracy"``.
    values : dict
        Scores by the name of the model, ours first.
    where : str
        The rows, for instance ``"206 held-out rows"``.
    note : str
        What a reader must know to compare them.
    """

    metric: str
    values: dict[str, float]
    where: str
    note: str

    @property
    def ours(self) -> float:
        """The score of the model that the report is about."""
        return self.values.get(OURS, float("nan"))


def scores_of(subject: Subject) -> Scores:
    """Return the scores that the caller knows; without any, those on the rows given."""
    metric = "accuracy" if subject.classes else "R²"
    given = subject.summary.get("scores")
    if not given:
        return _computed(subject, metric)
    named = str(subject.summary.get("metric") or metric).replace("R^2", "R²")
    kind = str(subject.summary.get("evaluated_on") or "rows")
    rows = subject.summary.get("rows_test")
    where = kind if rows is None else f"{count(int(rows))} {kind}"
    values = {str(name): float(value) for name, value in given.items() if value is not None}
    return Scores(named, dict(sorted(values.items(), key=lambda item: item[0] != OURS)), where, "")


def _computed(subject: Subject, metric: str) -> Scores:
    size = len(subject.y)
    given = subject.summary.get("evaluated_on")
    where = str(given) if given else f"the {plural(size, 'row')} given to the report"
    if metric == "R²" and (size < 2 or np.ptp(subject.y) == 0):
        return Scores(metric, {}, where, "R² needs rows with different targets.")
    values = {OURS: float(subject.estimator.score(subject.X, subject.y))}
    linear = _linear(subject)
    note = "If the model was fitted to these rows, its score is too good."
    if linear is not None:
        values["linear model"] = linear
        which = "them" if size <= MOST else f"{count(MOST)} of them"
        note += (
            f" That of the linear model is the mean over {FOLDS} folds of {which}, each predicted "
            "by a model fitted to the others."
        )
    if subject.classes:
        _, sizes = np.unique(subject.y, return_counts=True)
        values["most frequent class"] = float(sizes.max()) / size
    else:
        values["mean"] = 0.0
    return Scores(metric, values, where, note)


def _linear(subject: Subject) -> float | None:
    """Return the cross-validated score of a linear model, None if there is none to be had."""
    if not any(subject.by_variables):
        return None  # the columns are row numbers or kernel values
    X, y = subject.X, subject.y
    if len(y) > MOST:
        drawn = np.random.default_rng(0).choice(len(y), MOST, replace=False)
        X, y = _safe_indexing(X, drawn), y[drawn]
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    last: Any = RidgeCV(np.logspace(-3, 5, 17))
    split: Any = KFold(FOLDS, shuffle=True, random_state=0)
    if subject.classes:
        last = LogisticRegression(max_iter=1000)
        split = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(with_mean=not sparse.issparse(X)), last)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(cross_val_score(model, rows, y, cv=split).mean())
        except ValueError:
            return None  # too few rows, or a class too rare
    return value if np.isfinite(value) else None


def headline(subject: Subject, scores: Scores) -> str:
    """Return how well the model predicts, as a sentence."""
    if not np.isfinite(scores.ours):
        return f"A model of {subject.target}"
    return (
        f"Predicts {subject.target} with {scores.metric}{SPACE}{score(scores.ours)} on "
        f"{scores.where}"
    )


def score_note(scores: Scores) -> str:
    """Return what the scores mean."""
    meaning = {
        "R²": "R² is the part of the target's variance that predictions explain: 1 if all are "
        "right, 0 for those of the mean.",
        "accuracy": "Accuracy is the part of the rows whose class is predicted right.",
    }
    parts = [meaning.get(scores.metric, ""), f"On {scores.where}." if scores.values else ""]
    return " ".join(part for part in [*parts, scores.note] if part)
