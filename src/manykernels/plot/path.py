"""Validation scores along a path of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arguments import refuse_unfitted
from ..arrays import Array
from ..estimators.apart import taken_apart
from ..estimators.base import BaseMKL
from ..fitting.choose import carried
from ..registry import CHOOSERS
from .style import GREY, PALETTE, RED, FigureDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PathDisplay(FigureDisplay):
    """Scores of cross-validation along the path from simple to rich models.

    A line is the mean over folds of the score, minus the mean loss on the rows left out; the band
    is one standard error either side. A line ends where the path of the first fold did.

    Parameters
    ----------
    sizes : array-like of shape (n_candidates, n_sizes)
        Strengths in descending order, or numbers of terms.
    scores : array-like of shape (n_candidates, n_sizes, n_folds)
        Scores, NaN behind the end of a path.
    names : sequence of str
        Names of the candidates.
    chosen : tuple of int
        Numbers of the chosen candidate and size.
    counts : bool
        Whether sizes are numbers of terms.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        A line for each candidate.
    marker_ : matplotlib.lines.Line2D
        The chosen model.
    """

    def __init__(
        self,
        sizes: Any,
        scores: Any,
        names: Sequence[str],
        chosen: tuple[int, int],
        counts: bool = False,
    ) -> None:
        self.sizes: Array = np.asarray(sizes, dtype=float)
        self.scores: Array = np.asarray(scores, dtype=float)
        self.names = list(names)
        self.chosen = chosen
        self.counts = counts

    @classmethod
    def from_estimator(cls, estimator_cv: Any, *, ax: Axes | None = None) -> Self:
        """Draw the scores of a fitted estimator that was cross-validated.

        Parameters
        ----------
        estimator_cv : MKLRegressorCV or MKLClassifierCV
            Fitted estimator, or a pipeline that ends with one. MKLRegressor and MKLClassifier will
            do where they chose the kind of model and its strength, as with nothing set.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        estimator_cv, _, _ = taken_apart(estimator_cv)
        if not isinstance(estimator_cv, BaseMKL):
            raise TypeError(
                f"estimator_cv must be {' or '.join(CHOOSERS)}; got "
                f"{type(estimator_cv).__name__}. Others have no path of models to compare."
            )
        refuse_unfitted(estimator_cv, "estimator_cv")
        if not hasattr(estimator_cv, "choice_"):
            raise TypeError(
                f"estimator_cv must have compared models; got {type(estimator_cv).__name__}, which "
                f"fitted one. Use {' or '.join(CHOOSERS)}."
            )
        choice = estimator_cv.choice_
        pairs = [(candidate.degree, candidate.p) for candidate in choice.candidates]
        several = [len(set(values)) > 1 for values in zip(*pairs, strict=True)]
        sizes = [candidate.sizes for candidate in choice.candidates]
        names = [_name(*pair, *several) for pair in pairs]
        scores = estimator_cv.score_path_
        return cls(sizes, scores, names, choice.best, choice.counts_terms).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.0

    def _draw(self, ax: Axes) -> None:
        folds = self.scores.shape[2]
        self.lines_ = []
        table = carried(self.scores)
        for number, (sizes, scores) in enumerate(zip(self.sizes, table, strict=True)):
            known = np.all(np.isfinite(scores), axis=1)
            x, mean = sizes[known], scores[known].mean(axis=1)
            color = PALETTE[number % len(PALETTE)]
            style = ["-", "--", "-.", ":"][number // len(PALETTE) % 4]
            self.lines_ += ax.plot(
                x, mean, style, marker=".", color=color, label=self.names[number]
            )
            if folds > 1:
                error = scores[known].std(axis=1, ddof=1) / np.sqrt(folds)
                ax.fill_between(x, mean - error, mean + error, color=color, alpha=0.2, linewidth=0)
        number, place = self.chosen
        best, score = self.sizes[number, place], table[number, place].mean()
        ax.axvline(best, color=GREY, linestyle=":", linewidth=1)
        label = f"chosen: {best:.3g} terms" if self.counts else f"chosen: alpha = {best:.3g}"
        (self.marker_,) = ax.plot(
            best, score, "*", markersize=13, color=RED, linestyle="", label=label, zorder=4
        )
        if self.counts:
            ax.set_xlabel("number of terms")
            ax.locator_params("x", integer=True)
        else:
            ax.set_xscale("log")
            ax.xaxis.set_inverted(True)
            ax.set_xlabel("strength of the penalty (weaker to the right)")
        ax.set_ylabel("score: minus mean loss on rows left out")
        named = self.lines_ if len(self.lines_) > 1 else []
        ax.legend(handles=[*named, self.marker_], frameon=False)


def _name(degree: int, p: float, degrees: bool, exponents: bool) -> str:
    """Return the name of a candidate by what tells it from others."""
    parts = [f"degree {degree}"] * degrees + [f"p = {p:.3g}"] * exponents
    return ", ".join(parts) or f"degree {degree}, p = {p:.3g}"
