"""Where one prediction comes from."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from ..arguments import refuse_no_table
from ..arrays import Array
from ..estimators.apart import taken_apart
from ..estimators.validation import column_names, new_rows
from ..function.terms import OTHERS
from .evaluation import dense
from .spreads import check_family, check_top
from .style import (
    BLUE,
    GREY,
    LONGEST_NAME,
    RED,
    FigureDisplay,
    quantity,
    shorten,
    shorten_term,
    written,
)
from .variables import Levels, check_levels, name_of_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContributionsDisplay(FigureDisplay):
    """What each term adds to one prediction, as a waterfall from the intercept down to it.

    Parameters
    ----------
    names : sequence of str
        Names of the parts.
    values : array-like of shape (n_parts,)
        What each adds.
    intercept : float
        Where they begin.
    prediction : float
        Where they end; for classes the decision value.
    unit : str, default="prediction"
        What the parts add up to.

    Attributes
    ----------
    bars_ : matplotlib.container.BarContainer
        A bar for each part.
    ends_ : matplotlib.collections.PathCollection
        Markers of intercept and prediction.
    """

    def __init__(
        self,
        names: Sequence[str],
        values: Any,
        intercept: float,
        prediction: float,
        unit: str = "prediction",
    ) -> None:
        self.names = list(names)
        self.values: Array = np.asarray(values, dtype=float)
        self.intercept = float(intercept)
        self.prediction = float(prediction)
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        row: int = 0,
        *,
        top: int = 10,
        label: Any = None,
        levels: Levels | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what the terms of a fitted estimator add to the prediction for one row.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``contributions``; or a pipeline that ends with one, or a model of
            a table from :func:`manykernels.load`, with rows of that table.
        X : array-like of shape (n_samples, n_features)
            Rows.
        row : int, default=0
            Number of the row in X.
        top : int, default=10
            How many terms: those that add or take most; the others are one bar.
        label, levels, ax :
            As for :meth:`EffectDisplay.from_estimator`.
        """
        estimator, X, known = taken_apart(estimator, X)
        estimator = check_family(estimator)
        columns = column_names(estimator)
        levels = check_levels(known if levels is None else levels, columns)
        refuse_no_table(X)
        size = X.shape[0] if hasattr(X, "shape") else len(X)
        if not isinstance(row, Integral) or not 0 <= row < size:
            raise ValueError(
                f"row must be an integer from 0 to {size - 1}; got {row!r}. Rows are counted "
                "from 0."
            )
        check_top(top, 10)
        rows = _safe_indexing(X, [int(row)])
        parts = estimator.contributions(rows, label=label).iloc[0]
        function, numbers = estimator.function_, new_rows(estimator, rows)
        prediction = float(function.decision(numbers)[0, function.output(label)])
        intercept, parts = float(parts.iloc[0]), parts.iloc[1:]
        order = np.argsort(-np.abs(parts.to_numpy()), kind="stable")
        order = order[[parts.index[i] != OTHERS for i in order]]
        chosen = parts.iloc[order[:top]]
        row_values = dense(numbers)[0].tolist()
        names = []
        for name in chosen.index:
            own = {columns[c]: row_values[c] for c in function.terms.columns(name)}
            names.append(_name(name, own, levels))
        heights = chosen.tolist()
        left = len(order) - len(names)
        if left or OTHERS in parts:
            names.append(f"rest of {left} terms" if OTHERS not in parts else OTHERS)
            heights.append(prediction - intercept - sum(heights))
        unit = quantity(estimator, label)
        return cls(names, heights, intercept, prediction, unit).plot(ax)

    def _size(self) -> tuple[float, float]:
        width = 4.6 + 0.07 * max(map(len, self.names), default=0)
        return width, 1.2 + 0.28 * (len(self.names) + 2)

    def _draw(self, ax: Axes) -> None:
        count = len(self.names)
        levels = self.intercept + np.concatenate([[0.0], np.cumsum(self.values)])
        heights = np.arange(1, count + 1)
        colors = [BLUE if value >= 0 else RED for value in self.values]
        self.bars_ = ax.barh(heights, self.values, left=levels[:-1], color=colors)
        for height, level in enumerate(levels):
            ax.plot([level, level], [height, height + 1], color=GREY, linewidth=0.8, zorder=0.5)
        ends = [self.intercept, self.prediction]
        self.ends_ = ax.scatter(ends, [0, count + 1], marker="D", color=GREY, zorder=3)
        most = float(np.abs(self.values).max(initial=0.0))
        texts = [f"{self.intercept:.4g}", *written(self.values, most, 3, "+")]
        for height, text in enumerate([*texts, f"{self.prediction:.4g}"]):
            sides = levels[max(height - 1, 0) : height + 1] if height <= count else levels[-1:]
            ax.annotate(
                text,
                (float(np.max(sides)), height),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
            )
        ax.set_yticks(range(count + 2), ["intercept", *self.names, self.unit.split(" of ")[0]])
        ax.set_ylim(count + 1.6, -0.6)
        low, high = float(levels.min()), float(levels.max())
        wide = (high - low) or 1.0
        ax.set_xlim(low - 0.05 * wide, high + 0.16 * wide)
        ax.set_xlabel(self.unit)
        ax.spines[["top", "right"]].set_visible(False)


def _name(term: str, values: dict[str, float], levels: Levels) -> str:
    """Return the name of a term with the values of its variables, as in ``age = 28``."""
    if not values:
        return shorten_term(term)
    longest = max(8, LONGEST_NAME // len(values))
    texts = [name_of_value(value, levels.get(name), longest) for name, value in values.items()]
    more = ["…"] * (len(values) > 3)
    if term == " * ".join(values):
        pairs = [
            f"{shorten(name, longest)} = {text}" for name, text in zip(values, texts, strict=True)
        ]
        return ", ".join(pairs[:3] + more)
    short = " * ".join(shorten(factor, longest) for factor in term.split(" * "))
    return f"{short} ({', '.join(texts[:3] + more)})"
