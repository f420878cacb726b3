"""Does a model predict better than no model, and than a linear one? Judged on one set of rows.

Models are compared by their losses, row by row: squared errors for numbers, log losses for classes
(mistakes where there are no probabilities). No model at all is a constant: the mean of the training
targets, or the frequencies of their classes; where the training rows are not known, those of the
rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..backend import error_of_mean
from ..feature_maps import Categorical
from ..kernels import LinearKernels, MapKernels
from ..words import count, percent
from .simple import SimpleModels

CLEAR = 2.0
"""Standard errors, over rows or groups of them, by which the mean loss of a model must be below
that of another to be called better. By convention: chance exceeds it on one set in forty."""

ALIKE = 0.05
"""Share of a model's mean loss by which another's may differ if it is said to predict as well. Set
by judgement, not measured."""

HARDLY = 0.1
"""A class is hardly ever predicted if the rows with that prediction are fewer than this share of
the rows of the class. Set by judgement, not measured."""

NAMED_CLASSES = 3
"""Most classes with a sentence of their own that says so. Set by judgement."""

LEAST_PROBABILITY = float(np.finfo(float).eps)
"""Least probability in a log loss, as in scikit-learn: no single row makes it infinite."""

NO_TERMS = "Do not read much into its terms, unless a test says that they stand."
"""What is said of a model that is not shown to predict better than a constant."""


@dataclass(frozen=True)
class Lead:
    """By how much the mean loss of a model is below another's, with its standard error."""

    amount: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the model is better by more than chance."""
        return self.amount > CLEAR * self.error

    @property
    def behind(self) -> bool:
        """Whether the other model is better by more than chance."""
        return -self.amount > CLEAR * self.error


def lead(own: Array, other: Array, groups: Array | None = None) -> Lead:
    """Return how two models compare, given their losses on the same rows.

    Rows of a group may go wrong together, so that the standard error is over the sums of what the
    groups differ by from the mean difference, where ``groups`` has the group of each row.
    """
    parts = other - own
    mean = float(np.mean(parts))
    if groups is None:
        sums = parts
    else:
        numbers = np.unique(groups, return_inverse=True)[1]
        sums = np.bincount(numbers, parts - mean)
    error = len(sums) / len(parts) * error_of_mean(sums) if len(sums) > 1 else np.inf
    return Lead(mean, error)


@dataclass(frozen=True)
class Versus:
    """A model beside a constant and a linear model on one set of rows.

    Attributes
    ----------
    constant : Lead
        How it compares with the constant.
    own : bool
        Whether its mean loss is at most that of the constant of these rows themselves: R² is not
        below zero.
    linear : Lead or None
        How it compares with the linear model; None where there is none.
    classes : bool
        Whether it predicts classes.
    trained : bool
        Whether the constant is that of the training rows; else these are not known.
    loss : float
        Its mean loss.
    straight : bool
        Whether it is a linear model itself.
    chances : bool
        Whether a model of classes is judged by their probabilities, else by its mistakes.
    """

    constant: Lead
    own: bool
    linear: Lead | None
    classes: bool
    trained: bool
    loss: float = 1.0
    straight: bool = False
    chances: bool = True

    @property
    def useful(self) -> bool | None:
        """Whether it predicts better than no model at all; None if the rows are too few to tell."""
        return None if self.open else self.constant.clear and self.own

    @property
    def open(self) -> bool:
        """Whether its losses are lower than those of no model, but perhaps by chance."""
        return self.constant.amount > 0 and not self.constant.clear and self.own

    def said(self, where: str) -> list[str]:
        """Return what is to be known of the comparison, in words; often nothing.

        ``where`` names the rows, such as ``"80 held-out rows"``.
        """
        return [*self._of_constant(where), *self._of_linear(where)]

    @property
    def _measure(self) -> str:
        if not self.classes:
            return "squared error"
        return "log loss" if self.chances else "share of mistakes"

    def _of_constant(self, where: str) -> list[str]:
        """Return what is to be known of the comparison with no model."""
        what = "the frequencies of the classes in" if self.classes else "the mean of"
        rows = "the training rows" if self.trained else "these rows"
        if self.open:
            return [
                f"{_who(where)} are too few to tell whether this model predicts better than {what} "
                f"{rows}: its {self._measure} is lower, but not by two standard errors. {NO_TERMS}"
            ]
        if not self.constant.clear:
            text = f"this model predicts no better than {what} {rows} on {where}: its "
            text += f"{self._measure} is not lower by two standard errors. {NO_TERMS}"
            if not self.own and not self.classes:
                text += " R² below zero means worse than the mean of the rows predicted."
            return [text]
        if not self.own:
            below = "" if self.classes else ": R² is below zero"
            text = f"this model predicts worse than {what} the rows predicted ({where}){below}."
            return [f"{text} {NO_TERMS}"]
        return []

    def _of_linear(self, where: str) -> list[str]:
        """Return what is to be known of the comparison with a linear model."""
        if self.linear is None:
            return []
        if self.linear.behind:
            share = percent(-self.linear.amount / self.loss)
            better = f"predicts better on {where}: its {self._measure} is lower by {share}."
            if self.straight:
                return [f"this model is linear, and another linear model {better}"]
            return [f"a linear model {better}"]
        if not self.useful or self.linear.clear:
            return []
        other = "another linear model" if self.straight else "a linear model"
        first = "this model is linear, and " if self.straight else ""
        ahead = self.linear.amount / self.loss if self.loss > 0 else 0.0
        if abs(ahead) < ALIKE:
            alike = f"predicts as well on {where}: the difference is within two standard errors."
            return [f"{first}{other} {alike}"]
        how, size = ("as well", "higher") if ahead > 0 else ("better", "lower")
        return [
            f"{first}{_who(where)} are too few to tell whether {other} predicts {how}: its "
            f"{self._measure} is {size} by {percent(abs(ahead))}, but not by two standard errors."
        ]


def _who(where: str) -> str:
    """Return words for rows as the subject of a sentence: what explains them ends with a comma."""
    return f"{where}," if ", " in where else where


def is_linear(estimator: Any) -> bool:
    """Tell whether a fitted estimator is a linear function of columns and levels of categories."""
    kernels = getattr(getattr(estimator, "function_", None), "kernels", None)
    if getattr(estimator, "degree_", None) != 1:
        return False
    if isinstance(kernels, MapKernels):
        return all(one is None or isinstance(one, Categorical) for _, one, _ in kernels.fitted)
    return isinstance(kernels, LinearKernels)


def versus(
    estimator: Any,
    X: Any,
    y: Array,
    simple: SimpleModels | None = None,
    groups: Array | None = None,
) -> Versus | None:
    """Return how a fitted estimator compares on rows; None if these are too few to tell.

    ``simple`` has the models fitted to the same rows as the estimator, if these are known, and
    ``groups`` the group of each row, where rows belong together.
    """
    classes = getattr(estimator, "classes_", None)
    if len(y) < 2 or (classes is None and not np.ptp(np.asarray(y, dtype=float)) > 0):
        return None
    chances = classes is not None and hasattr(estimator, "predict_proba")
    own = losses(y, estimator.predict_proba(X) if chances else estimator.predict(X), classes)
    here = losses(y, constant_of(y, classes, chances), classes)
    before, linear, known = here, None, None
    if simple is not None:
        rows = np.asarray(X, dtype=float)
        linear = losses(y, simple.probabilities(rows) if chances else simple.predict(rows), classes)
        known = simple.frequencies if chances else simple.constant
    if known is not None:
        before = losses(y, np.tile(known, (len(y), 1)) if chances else known, classes)
    return Versus(
        lead(own, before, groups),
        float(np.mean(own)) <= float(np.mean(here)),
        None if linear is None else lead(own, linear, groups),
        classes is not None,
        known is not None,
        float(np.mean(own)),
        is_linear(estimator),
        chances,
    )


def remarks(
    estimator: Any,
    X: Any,
    y: Array,
    simple: SimpleModels | None,
    where: str,
    groups: Array | None = None,
) -> tuple[list[str], bool | None]:
    """Return what is to be said of predictions for rows, and whether they beat a constant.

    None in place of that where the rows do not tell.
    """
    found = versus(estimator, X, y, simple, groups)
    said = [] if found is None else found.said(where)
    if hasattr(estimator, "classes_"):
        predicted = np.asarray(estimator.predict(X))
        said += hardly_predicted(y, predicted, estimator.classes_.tolist(), where)
    return said, None if found is None else found.useful


def constant_of(y: Array, classes: Array | None, chances: bool) -> Any:
    """Return the best constant for targets: mean, frequencies, or the most frequent class."""
    if classes is None:
        return float(np.mean(np.asarray(y, dtype=float)))
    frequencies = np.mean(np.asarray(y)[:, None] == classes, axis=0)
    return np.tile(frequencies, (len(y), 1)) if chances else classes[int(frequencies.argmax())]


def losses(y: Array, predicted: Any, classes: Array | None) -> Array:
    """Return the loss of each row: of numbers, of classes, or of their probabilities (n, k)."""
    if classes is None:
        return (np.asarray(predicted, dtype=float) - np.asarray(y, dtype=float)) ** 2
    if np.ndim(predicted) < 2:
        return np.asarray(np.asarray(y) != predicted, dtype=float)
    true = np.asarray(y)[:, None] == classes
    given = np.sum(np.where(true, predicted, 0.0), axis=1)
    return -np.log(np.maximum(given, LEAST_PROBABILITY))


def hardly_predicted(y: Array, predicted: Array, classes: Sequence[Any], where: str) -> list[str]:
    """Return which classes are never or hardly ever predicted on rows, a sentence for each."""
    found = []
    for label in classes:
        true, said = int(np.sum(y == label)), int(np.sum(predicted == label))
        if said >= HARDLY * true:
            continue
        if not said:
            verb = "has" if true == 1 else "have"
            found.append(
                f"the class {label} is never predicted, though {count(true)} of {_who(where)} "
                f"{verb} it."
            )
        else:
            found.append(
                f"the class {label} is hardly ever predicted: for {count(said)} of {where}, though "
                f"{count(true)} have it."
            )
    more = len(found) - NAMED_CLASSES
    if more > 1:
        rest = f"{count(more)} more classes are never or hardly ever predicted."
        return [*found[:NAMED_CLASSES], rest]
    return found
