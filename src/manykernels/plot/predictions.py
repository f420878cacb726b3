"""Predictions next to the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import is_classifier

from ..arguments import refuse_unfitted
from ..arrays import Array
from ..estimators.apart import of_table, taken_apart, truth_of
from ..limits import HEXAGON_ROWS
from .style import (
    BLUE,
    GREY,
    ORANGE,
    FigureDisplay,
    name_ticks,
    sequential,
    share_ends,
    shorten,
    write_values,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 25
"""Number of bins of a histogram. Set by judgement, not measured."""

RARE = 0.05
"""Height of the highest bar of one class beside that of the other, below which bars of the first
would hardly be seen. Set by judgement."""

WRITTEN_CLASSES = 12
"""Most classes for which counts are written into the confusion matrix. Set by judgement."""


class PredictionsDisplay(FigureDisplay):
    """Predictions against the truth.

    Real targets: predicted against observed values. Two classes: histograms of the predicted
    probability of the second (of decision values where there are no probabilities), by true class.
    More classes: the confusion matrix.

    Parameters
    ----------
    observed : array-like of shape (n_samples,)
        Targets or classes.
    predicted : array-like of shape (n_samples,)
        Predicted values; for two classes probabilities or decision values of the second; for more
        predicted classes.
    score : float
        Coefficient of determination, or share of classes that are right.
    classes : array-like of shape (n_classes,), optional
        The classes, if targets are classes.
    probability : bool, default=True
        For two classes: whether predictions are probabilities.

    Attributes
    ----------
    points_ : matplotlib.collections.Collection or None
        Points or hexagons of real targets.
    histograms_ : list of ndarray or None
        Counts for each of two classes.
    confusion_ : sklearn.metrics.ConfusionMatrixDisplay or None
        Confusion matrix of more than two classes.
    """

    def __init__(
        self,
        observed: Any,
        predicted: Any,
        *,
        score: float,
        classes: Any = None,
        probability: bool = True,
    ) -> None:
        self.observed: Array = np.ravel(observed)
        self.predicted: Array = np.ravel(predicted)
        self.score = score
        self.classes: Array | None = None if classes is None else np.asarray(classes)
        self.probability = probability

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the predictions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted regressor or classifier
            Any of scikit-learn's kind, pipelines too; or a model of a table from
            :func:`manykernels.load`.
        X : array-like of shape (n_samples, n_features)
            Rows, better not those of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        if of_table(estimator):
            y = truth_of(estimator, y)
            estimator, X, _ = taken_apart(estimator, X)
        refuse_unfitted(estimator)
        classes = estimator.classes_ if is_classifier(estimator) else None
        probability = hasattr(estimator, "predict_proba")
        if classes is None or len(classes) > 2:
            predicted = estimator.predict(X)
        elif probability:
            predicted = estimator.predict_proba(X)[:, 1]
        else:
            predicted = estimator.decision_function(X)
        score = float(estimator.score(X, y))
        display = cls(y, predicted, score=score, classes=classes, probability=probability)
        return display.plot(ax)

    def _size(self) -> tuple[float, float]:
        count = 0 if self.classes is None else len(self.classes)
        side = 4.6 if count != 2 else 4.0
        side = min(side + 0.2 * max(count - 5, 0), 10.0)
        return side + 0.9, side

    def _draw(self, ax: Axes) -> None:
        self.points_: Any = None
        self.histograms_: list[Array] | None = None
        self.confusion_: Any = None
        if self.classes is None:
            self._draw_values(ax)
            ax.set_title(f"$R^2$ = {self.score:.3f}", fontsize="medium")
        else:
            if len(self.classes) == 2:
                self._draw_histograms(ax, self.classes)
            else:
                self._draw_confusion(ax, self.classes)
            ax.set_title(f"accuracy = {self.score:.3f}", fontsize="medium")

    def _draw_values(self, ax: Axes) -> None:
        both = np.concatenate([self.observed, self.predicted])
        ends = [float(both.min()), float(both.max())]
        if len(self.observed) < HEXAGON_ROWS:
            alpha = 0.7 if len(self.observed) <= 500 else 0.35
            self.points_ = ax.scatter(
                self.observed, self.predicted, s=14, color=BLUE, alpha=alpha, linewidths=0
            )
        else:
            self.points_ = ax.hexbin(
                self.observed,
                self.predicted,
                gridsize=45,
                mincnt=1,
                bins="log",
                cmap="viridis",
                rasterized=True,
            )
            ax.figure.colorbar(self.points_, ax=ax, label="rows", shrink=0.85)
        ax.plot(ends, ends, linestyle="--", color=GREY, linewidth=1.2)
        ax.set(xlabel="observed", ylabel="predicted", aspect="equal")
        ax.set_adjustable("datalim")

    def _draw_histograms(self, ax: Axes, classes: Array) -> None:
        ends = share_ends(self.predicted) if self.probability else None
        edges = np.histogram_bin_edges(self.predicted, BINS, ends)
        self.histograms_ = []
        for color, name in zip((ORANGE, BLUE), classes, strict=True):
            counts, _, _ = ax.hist(
                self.predicted[self.observed == name],
                edges.tolist(),
                color=(color, 0.45),
                edgecolor=color,
                histtype="stepfilled",
                label=f"true class {shorten(name)}",
            )
            self.histograms_.append(np.asarray(counts))
        self._show_rare(ax)
        middle = 0.5 if self.probability else 0.0
        if ends is None or ends[0] <= middle <= ends[1]:
            ax.axvline(middle, color=GREY, linestyle="--", linewidth=1.2)
        what = "predicted probability" if self.probability else "decision value"
        amount = "rows" if ax.get_yscale() == "linear" else "rows (on a logarithmic scale)"
        ax.set(xlabel=f"{what} of {shorten(classes[1])}", ylabel=amount)
        ax.legend(frameon=False)

    def _show_rare(self, ax: Axes) -> None:
        """Make the axis of counts logarithmic where the bars of a class would not be seen."""
        tops = sorted(counts.max(initial=0) for counts in self.histograms_ or [])
        if 0 < tops[0] < RARE * tops[1]:
            ax.set_yscale("symlog", linthresh=1)
            ax.yaxis.set_major_formatter("{x:,.0f}")
            ax.set_ylim(0, 2 * tops[1])

    def _draw_confusion(self, ax: Axes, classes: Array) -> None:
        from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

        names = [shorten(name) for name in classes]
        counts = confusion_matrix(self.observed, self.predicted, labels=classes)
        self.confusion_ = ConfusionMatrixDisplay(counts, display_labels=names)
        most = max(1, int(counts.max()))
        scale = {"vmin": 0, "vmax": most}
        self.confusion_.plot(ax=ax, cmap=sequential(), include_values=False, im_kw=scale)
        if len(classes) <= WRITTEN_CLASSES:
            # Scikit-learn takes the colour of text on dark cells from the light end of the map:
            # ours is clear there.
            norm = self.confusion_.im_.norm
            write_values(ax, counts, norm, light="black", digits=1)
        name_ticks(ax.xaxis, names)
        name_ticks(ax.yaxis, names)
        ax.set(xlabel="predicted class", ylabel="true class")
