"""The variables of a term and the values at which its function is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import refuse_no_mapping
from ..arrays import Array
from .style import LONGEST_NAME, shorten

Levels = Mapping[str, Sequence[object]]
"""Names of the categories 0, 1, .. of columns, by the columns' names."""

DISTINCT = 12
"""Most distinct values of a number that are marked on its curve. Set by judgement, not measured."""

MOST_LEVELS = 30
"""Most categories in one drawing. Set by judgement, not measured."""

SLICES = 4
"""Most categories of a third variable that have a panel. Set by judgement, not measured."""

LEAST_GAP = 0.06
"""Least distance of two values as a share of their range with which bars stand at the values. Set
by judgement, not measured."""

RUG = 200
"""Most values of a column that show where its rows are. Set by judgement, not measured."""

LINE_CHARACTERS = 62
"""Characters of names side by side below the axes of a figure 5.6 inches wide."""


@dataclass(frozen=True)
class Variable:
    """A variable of a term, as an axis.

    The function is drawn at ``points``, ascending; ``names`` are theirs where each stands for
    itself, as categories do. For numbers ``rows`` are some values of the column, evenly spread over
    its rows; for categories ``counts`` are the rows at each point, and ``left_out`` says how many
    are not drawn, for there are too many. Values of ``numeric`` categories are numbers, not codes.
    """

    name: str
    points: Array
    names: tuple[str, ...] | None
    rows: Array
    counts: Array
    left_out: int = 0
    numeric: bool = False

    @property
    def places(self) -> Array:
        """Where bars of its values stand: numbers at their own distances if these can be seen."""
        if self.numeric and len(self.points) > 1:
            gaps = np.diff(self.points)
            if gaps.min() > LEAST_GAP * np.ptp(self.points):
                return self.points / gaps.min()
        return np.arange(len(self.points), dtype=float)

    @property
    def title(self) -> str:
        """Name of its axis."""
        most = f" ({len(self.points)} most frequent)" if self.left_out else ""
        return shorten(self.name) + most

    @property
    def counted(self) -> list[str]:
        """Names of its categories with the numbers of their rows."""
        return [f"{name} ({count:,})" for name, count in self._pairs]

    @property
    def lies(self) -> bool:
        """Whether bars of its categories lie on their sides, for their names to be read."""
        if self.names is None:
            return False
        longest = max((max(len(n), len(f"({c:,})")) for n, c in self._pairs), default=0)
        return len(self.names) * (longest + 2) > LINE_CHARACTERS

    @property
    def _pairs(self) -> list[tuple[str, int]]:
        return list(zip(self.names or (), self.counts.tolist(), strict=True))

    def keep(self, most: int) -> Variable:
        """Return the variable with its most frequent categories only."""
        kept = np.sort(np.argsort(-self.counts, kind="stable")[:most])
        assert self.names is not None
        return replace(
            self,
            points=self.points[kept],
            names=tuple(self.names[i] for i in kept.tolist()),
            counts=self.counts[kept],
            left_out=self.left_out + len(self.points) - len(kept),
        )


def check_levels(levels: Levels | None, columns: Sequence[str]) -> Levels:
    """Return names of categories, or say which column there is not."""
    refuse_no_mapping(levels, "levels")
    levels = {} if levels is None else levels
    for name in levels:
        if name not in columns:
            raise ValueError(
                f"levels must name columns of X; got {name!r}. X has "
                f"{', '.join(map(repr, columns[:5]))}{', ..' if len(columns) > 5 else ''}."
            )
    return levels


def make_variable(
    name: str,
    column: Array,
    labels: Sequence[object] | None,
    grid: int,
    category: bool = False,
) -> Variable:
    """Return a column as an axis: its values if it is a category, else points of its range.

    The range is that from the first to the 99th percentile. Whether the column is a category the
    model knows, and not the rows: a few of them have a few values.
    """
    values, counts = np.unique(column, return_counts=True)
    if labels is not None or category or len(values) == 1:
        names = tuple(name_of_value(value, labels) for value in values.tolist())
        whole = Variable(name, values, names, np.empty(0), counts, numeric=labels is None)
        return whole.keep(MOST_LEVELS) if len(values) > MOST_LEVELS else whole
    low, high = np.quantile(column, [0.01, 0.99])
    if not low < high:
        low, high = values[0], values[-1]
    inside = np.sort(column[(column >= low) & (column <= high)])
    some = np.unique(np.linspace(0, len(inside) - 1, RUG).round().astype(int))
    return Variable(name, np.linspace(low, high, grid), None, inside[some], np.empty(0))


def drawn_rows(column: Array, labels: Sequence[object] | None, category: bool) -> Array:
    """Return which rows have a value of a column that is within what is drawn of it."""
    axis = make_variable("", column, labels, 2, category)
    if axis.names is not None:
        return np.isin(column, axis.points)
    return (column >= axis.points[0]) & (column <= axis.points[-1])


def make_slices(
    name: str, column: Array, labels: Sequence[object] | None, category: bool = False
) -> Variable:
    """Return a column as three of its percentiles, or as its most frequent categories."""
    whole = make_variable(name, column, labels, 2, category)
    if whole.names is not None:
        return whole.keep(SLICES)
    points = np.unique(np.quantile(column, [0.1, 0.5, 0.9]))
    names = tuple(f"{point:.3g}" for point in points.tolist())
    return replace(whole, points=points, names=names)


def name_of_value(
    value: float, labels: Sequence[object] | None, longest: int = LONGEST_NAME
) -> str:
    """Return the name of a category, or the number."""
    if labels is not None and value == int(value) and 0 <= value < len(labels):
        return shorten(str(labels[int(value)]), longest)
    return f"{value:.4g}"
