"""The score of a model next to those of simpler ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ..baselines.simple import FOLDS, cross_validated, indicators
from ..limits import MOST_VALIDATED
from ..words import SPACE, count, score
from .subject import Subject

OURS = "this model"
"""Name of the score of the model that a report is about."""


@dataclass(frozen=True)
class Scores:
    """Scores by the name of the model, ours first, on one set of rows.

    The metric is ``"R²"`` or ``"accuracy"``; ``where`` names the rows, for instance ``"206 held-out
    rows"``; the note says what a reader must know to compare the scores.
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
    size, where = len(subject.y), subject.where
    if metric == "R²" and (size < 2 or np.ptp(subject.y) == 0):
        return Scores(metric, {}, where, "R² needs rows with different targets.")
    values = {OURS: float(subject.estimator.score(subject.X, subject.y))}
    note = "If the model was fitted to these rows, its score is too good."
    if subject.summary.get("evaluated_on") == "training rows":
        note = "The models were fitted to these rows: on others their scores are lower."
    if subject.simple is not None:
        values |= subject.simple.scores(np.asarray(subject.X, dtype=float), subject.y)
        return Scores(metric, values, where, note)
    linear = _linear(subject)
    if linear is not None:
        values["linear model"] = linear
        which = "them" if size <= MOST_VALIDATED else f"{count(MOST_VALIDATED)} of them"
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
    X, y, classes = subject.X, subject.y, bool(subject.classes)
    if len(y) > MOST_VALIDATED:
        drawn = np.random.default_rng(0).choice(len(y), MOST_VALIDATED, replace=False)
        X, y = _safe_indexing(X, drawn), y[drawn]
    if sparse.issparse(X):
        return cross_validated(X, y, classes, centre=False)
    rows = np.asarray(X, dtype=float)
    codes = [
        np.unique(column).tolist() if name in subject.levels else []
        for name, column in zip(subject.columns, rows.T, strict=True)
    ]
    return cross_validated(indicators(rows, codes), y, classes)


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
