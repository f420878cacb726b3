"""How a fit came to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from .spreads import check_family
from .style import BLUE, GREY, ORANGE, FigureDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKED_ITERATIONS = 40
"""Most iterations for which each has a marker on the lines. Set by judgement, not measured."""


class ConvergenceDisplay(FigureDisplay):
    """Objective and relative duality gap of a fit against time.

    Parameters
    ----------
    seconds : array-like of shape (n_iterations,)
        Time of each iteration.
    objective : array-like of shape (n_iterations,)
        Objective.
    gap : array-like of shape (n_iterations,)
        Relative duality gap; drawn where it is a positive number.
    tol : float
        The gap that the fit was asked for.

    Attributes
    ----------
    objective_line_ : matplotlib.lines.Line2D
        The objective.
    gap_line_, tol_line_ : matplotlib.lines.Line2D or None
        The gap and its goal, None for fits without gaps (greedy selection).
    gap_ax_ : matplotlib.axes.Axes or None
        Their axes, with a logarithmic scale at the right.
    """

    def __init__(self, seconds: Any, objective: Any, gap: Any, tol: float) -> None:
        self.seconds: Array = np.asarray(seconds, dtype=float)
        self.objective: Array = np.asarray(objective, dtype=float)
        self.gap: Array = np.asarray(gap, dtype=float)
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``history_``.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        estimator = check_family(estimator)
        history = estimator.history_
        display = cls(history["seconds"], history["objective"], history["gap"], estimator.tol)
        return display.plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 3.6

    def _draw(self, ax: Axes) -> None:
        self.gap_ax_ = self.gap_line_ = self.tol_line_ = None
        marker = "o" if len(self.seconds) <= MARKED_ITERATIONS else ""
        (self.objective_line_,) = ax.plot(
            self.seconds, self.objective, marker=marker, color=BLUE, label="objective"
        )
        ax.set(xlabel="seconds", ylabel="objective")
        lines = [self.objective_line_]
        known = np.isfinite(self.gap) & (self.gap > 0)
        if np.any(known):
            right = ax.twinx()
            right.set(yscale="log", ylabel="relative duality gap")
            (self.gap_line_,) = right.plot(
                self.seconds[known],
                self.gap[known],
                linestyle="--",
                marker="s" if marker else "",
                color=ORANGE,
                label="relative duality gap (right)",
            )
            label = f"tol = {self.tol:g} (right)"
            self.tol_line_ = right.axhline(self.tol, color=GREY, linestyle=":", label=label)
            self.gap_ax_ = right
            lines += [self.gap_line_, self.tol_line_]
        ax.legend(
            handles=lines,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            frameon=False,
            fontsize="small",
            columnspacing=1.2,
        )
