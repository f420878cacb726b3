"""How good a model is next to simpler ones, on one set of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..baselines.simple import measures_of, own_constant
from ..words import SPACE, count, number, score
from .subject import Subject

OURS = "this model"
"""Name of the model that a report is about, among the scores."""

MEANINGS = {
    "R²": "R² is the part of the target's variance that predictions explain: 1 if all are right, 0 "
    "for those of the mean of these rows.",
    "RMSE": "RMSE is the root of the mean squared error, in the unit of the target.",
    "mean absolute error": "The mean absolute error is in the unit of the target, too.",
    "accuracy": "Accuracy is the part of the rows whose class is predicted right.",
    "log loss": "The log loss is the mean of minus the logarithm of the probability given to the "
    "true class: the lower the better, 0 if all are right and sure.",
    "AUC": "AUC is the probability that a row of a class is ranked before a row of another: 0.5 by "
    "chance, 1 at best{several}.",
}
"""What each measure means, in a sentence."""

SCALED = ("R²", "accuracy", "AUC")
"""Measures whose best value is one, to be drawn as bars."""


@dataclass(frozen=True)
class Scores:
    """Measures by the name of the model, ours first, on one set of rows.

    ``where`` names the rows, for instance ``"206 held-out rows"``; the note says what a reader must
    know to compare the models.
    """

    values: dict[str, dict[str, float]]
    where: str
    note: str

    @property
    def names(self) -> list[str]:
        """Names of the measures, the main one first."""
        return list(dict.fromkeys(name for own in self.values.values() for name in own))

    def ours(self, name: str) -> float:
        """Return a measure of the model that the report is about, NaN if it has none."""
        return self.values.get(OURS, {}).get(name, float("nan"))


def scores_of(subject: Subject) -> Scores:
    """Return the scores that the caller gives; without any, those on the rows given."""
    given = subject.summary.get("scores")
    if given and subject.believed:
        main = "accuracy" if subject.classes else "R²"
        main = str(subject.summary.get("metric") or main).replace("R^2", "R²")
        kind = str(subject.summary.get("evaluated_on") or "rows")
        rows = subject.summary.get("rows_test")
        where = kind if rows is None else f"{count(int(rows))} {kind}"
        values = {
            str(name): {main: float(value)} for name, value in given.items() if value is not None
        }
        return Scores(dict(sorted(values.items(), key=lambda item: item[0] != OURS)), where, "")
    values = {OURS: measures_of(subject.estimator, subject.X, subject.y)}
    note = "If the model was fitted to these rows, its scores are too good."
    if subject.summary.get("evaluated_on") == "training rows":
        note = "The models were fitted to these rows: on others their scores are worse."
    elif subject.held_out:
        note = "No model was fitted to these rows."
    if subject.simple is not None:
        values |= subject.simple.measures(np.asarray(subject.X, dtype=float), subject.y)
        note += " The linear model was fitted to the same rows as this model."
    elif len(subject.y) > 1:
        values |= own_constant(subject.estimator, subject.y)
    if subject.simple is None and any(map(subject.terms.columns, subject.terms.names)):
        note += (
            " To compare with a linear model, give report.write the rows of the fit: train=(X, y)."
        )
    if not subject.classes and "R²" not in values[OURS]:
        note += " There is no R²: it needs rows with different targets."
    return Scores(values, subject.where, note)


def headline(subject: Subject, scores: Scores) -> str:
    """Return how well the model predicts, as a sentence."""
    main = scores.names[0] if scores.names else ""
    ours = scores.ours(main)
    if not np.isfinite(ours) or main not in (*SCALED, "log loss"):
        return f"A model of {subject.target}"
    said = f"{main}{SPACE}{shown(main, ours)}"
    if main == "log loss":  # says little without that of a constant
        *_, constant = scores.values
        if constant != OURS:
            said += f" ({shown(main, scores.values[constant][main])} without a model)"
        if len(subject.classes) == 2 and np.isfinite(scores.ours("AUC")):
            said += f" and AUC{SPACE}{shown('AUC', scores.ours('AUC'))}"
    return f"Predicts {subject.target} with {said} on {scores.where}"


def score_note(subject: Subject, scores: Scores) -> str:
    """Return what the scores mean, and on which rows they are."""
    several = ", the mean over the classes, each against the others" * (len(subject.classes) > 2)
    said = [MEANINGS[name].format(several=several) for name in scores.names if name in MEANINGS]
    where = f"All scores are on {scores.where}." if scores.values else ""
    return " ".join(part for part in [where, *said, scores.note] if part)


def shown(name: str, value: float) -> str:
    """Return a measure as text."""
    return score(value) if name in SCALED else number(value)
