"""Variables and pairs of them, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from .spreads import Spreads, SpreadsDisplay
from .style import name_ticks, say, sequential, shorten, write_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN_VARIABLES = 12
"""Most variables for which shares are written into the cells. Set by judgement, not measured."""


class HeatmapDisplay(SpreadsDisplay):
    """Spread by variable and by pair of variables, as a matrix.

    The diagonal has the spreads of terms of a single variable, the rest those of terms of pairs;
    the ``top`` terms say which variables are shown. Where a cell has several terms it is the root
    of the sum of their squared spreads; a term of three or more variables counts in each of its
    pairs. Colours are on the scale of the square root, for small spreads to be seen next to large
    ones.

    Parameters
    ----------
    variables : sequence of str
        Names of the variables.
    spreads : array-like of shape (n_variables, n_variables)
        Symmetric matrix of spreads.

    Attributes
    ----------
    image_ : matplotlib.image.AxesImage
        The matrix.
    """

    def __init__(self, variables: Sequence[str], spreads: Any) -> None:
        self.variables = list(variables)
        self.spreads: Array = np.asarray(spreads, dtype=float)

    @classmethod
    def _of(cls, everything: Spreads, chosen: Spreads, names: Sequence[str]) -> Self:
        known = {name for term in chosen for name in term.variables}
        columns = [name for name in names if name in known]
        variables = columns + sorted(known - set(columns))
        numbers = {name: number for number, name in enumerate(variables)}
        squares = np.zeros((len(variables), len(variables)))
        for term in everything:
            here = [numbers[name] for name in term.variables if name in numbers]
            if len(term.variables) == 1:
                squares[here, here] += term.spread**2
            for i, j in combinations(here, 2):
                squares[i, j] += term.spread**2
                squares[j, i] += term.spread**2
        return cls(variables, np.sqrt(squares))

    def _size(self) -> tuple[float, float]:
        longest = max((len(shorten(name)) for name in self.variables), default=0)
        size = min(2.4 + 0.3 * len(self.variables), 8.0) + 0.07 * longest
        return size + 1.0, size

    def _draw(self, ax: Axes) -> None:
        names = [shorten(name) for name in self.variables]
        if not names:
            say(ax, "no variables: the model is a constant")
            return
        from matplotlib.colors import PowerNorm

        most = float(self.spreads.max()) or 1.0
        norm = PowerNorm(0.5, vmin=0, vmax=most)
        self.image_ = ax.imshow(self.spreads, norm=norm, cmap=sequential())
        name_ticks(ax.xaxis, names)
        name_ticks(ax.yaxis, names)
        if len(names) <= WRITTEN_VARIABLES:
            write_values(ax, self.spreads, norm, least=0.005 * most, light="black")
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.85)
        bar.set_label(self.measure.split(":")[0])
