"""How often classes come true, beside their predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..arguments import refuse_unfitted
from ..arrays import Array
from ..estimators.apart import of_table, taken_apart, truth_of
from .style import BLUE, GREY, FigureDisplay, share_ends, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS = 10
"""Most groups of rows, of about the same size, that the plot has a point for. Set by judgement."""

LEAST_GROUP_ROWS = 10
"""Rows of a group at least, so that its frequency is more than chance. Set by judgement."""


class CalibrationDisplay(FigureDisplay):
    """Frequencies of a class against its predicted probabilities, in groups of rows.

    Rows are sorted by the probability and cut into groups of about the same size. Bars reach two
    standard errors of a frequency up and down. With more than two classes each row counts once for
    each class.

    Parameters
    ----------
    predicted : array-like of shape (n_groups,)
        Mean predicted probability of each group.
    frequency : array-like of shape (n_groups,)
        Share of its rows that are of the class.
    rows : array-like of shape (n_groups,)
        Number of its rows.
    label : str
        The class.

    Attributes
    ----------
    points_ : matplotlib.container.ErrorbarContainer
        The groups.
    """

    def __init__(self, predicted: Any, frequency: Any, rows: Any, label: str) -> None:
        self.predicted: Array = np.asarray(predicted, dtype=float)
        self.frequency: Array = np.asarray(frequency, dtype=float)
        self.rows: Array = np.asarray(rows, dtype=int)
        self.label = label

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the calibration of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Any of scikit-learn's kind with ``predict_proba``, pipelines too; or a model of a table
            from :func:`manykernels.load`.
        X : array-like of shape (n_samples, n_features)
            Rows, better not those of the fit.
        y : array-like of shape (n_samples,)
            Their classes.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        if of_table(estimator):
            y = truth_of(estimator, y)
            estimator, X, _ = taken_apart(estimator, X)
        refuse_unfitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                "estimator must be a classifier with predict_proba; got "
                f"{type(estimator).__name__}. Use PredictionsDisplay, or a classifier with "
                "loss='logistic'."
            )
        classes = estimator.classes_
        chances = estimator.predict_proba(X)
        targets = column_or_1d(y)
        check_consistent_length(chances, targets)
        truth = targets[:, None] == classes
        label = "all classes"
        if len(classes) == 2:
            chances, truth, label = chances[:, 1:], truth[:, 1:], str(classes[1])
        values, came_true = chances.ravel(), truth.ravel().astype(float)
        order = np.argsort(values, kind="stable")
        count = int(np.clip(len(order) // LEAST_GROUP_ROWS, 1, GROUPS))
        groups = np.array_split(order, count)
        predicted, frequency = (
            [part[own].mean() for own in groups] for part in (values, came_true)
        )
        return cls(predicted, frequency, [len(own) for own in groups], label).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 4.6, 4.6

    def _draw(self, ax: Axes) -> None:
        shares = self.frequency
        errors = 2 * np.sqrt(shares * (1 - shares) / self.rows)
        reach = np.array([np.minimum(errors, shares), np.minimum(errors, 1 - shares)])
        low, high = share_ends(
            np.concatenate([self.predicted, shares - reach[0], shares + reach[1]])
        )
        ax.plot([low, high], [low, high], linestyle="--", color=GREY, linewidth=1.2)
        self.points_ = ax.errorbar(self.predicted, shares, reach, fmt="o", color=BLUE, capsize=3)
        room = 0.03 * (high - low)
        ends = low - room, high + room
        ax.set(xlim=ends, ylim=ends, aspect="equal")
        ax.set_xlabel(f"predicted probability of {shorten(self.label)}")
        ax.set_ylabel("how often it came true")
