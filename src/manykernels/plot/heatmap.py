"""Variables and pairs of them, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from .shares import Shares, SharesDisplay
from .style import DIVERGING, SEQUENTIAL, name_ticks, say, shorten, write_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN_VARIABLES = 12
"""Most variables for which shares are written into the cells. Set by judgement, not measured."""


class HeatmapDisplay(SharesDisplay):
    """Share of the variance by variable and by pair of variables, as a matrix.

    The diagonal has the shares of terms of a single variable, the rest those of terms of pairs; the
    ``top`` terms say which variables are shown, and cells add up all terms. A term of three or more
    variables is added in full to each of its pairs, so that the upper half with the diagonal adds
    up to one only where there are no such terms. Colours are on the scale of the square root, for
    small shares to be seen next to large ones.

    Parameters
    ----------
    variables : sequence of str
        Names of the variables.
    shares : array-like of shape (n_variables, n_variables)
        Symmetric matrix of shares.

    Attributes
    ----------
    image_ : matplotlib.image.AxesImage
        The matrix.
    """

    def __init__(self, variables: Sequence[str], shares: Any) -> None:
        self.variables = list(variables)
        self.shares: Array = np.asarray(shares, dtype=float)

    @classmethod
    def _of(cls, everything: Shares, chosen: Shares, names: Sequence[str]) -> Self:
        known = {name for term in chosen for name in term.variables}
        columns = [name for name in names if name in known]
        variables = columns + sorted(known - set(columns))
        numbers = {name: number for number, name in enumerate(variables)}
        shares = np.zeros((len(variables), len(variables)))
        for term in everything:
            here = [numbers[name] for name in term.variables if name in numbers]
            if len(term.variables) == 1:
                shares[here, here] += term.share
            for i, j in combinations(here, 2):
                shares[i, j] += term.share
                shares[j, i] += term.share
        return cls(variables, shares)

    def _size(self) -> tuple[float, float]:
        longest = max((len(shorten(name)) for name in self.variables), default=0)
        size = min(2.4 + 0.3 * len(self.variables), 8.0) + 0.07 * longest
        return size + 1.0, size

    def _draw(self, ax: Axes) -> None:
        names = [shorten(name) for name in self.variables]
        if not names:
            say(ax, "no variables: the model is a constant")
            return
        from matplotlib.colors import FuncNorm

        most = float(np.abs(self.shares).max()) or 1.0
        signed = bool(self.shares.min() < -0.01 * most)
        norm = FuncNorm((_root, _square), vmin=-most if signed else 0, vmax=most)
        self.image_ = ax.imshow(self.shares, norm=norm, cmap=DIVERGING if signed else SEQUENTIAL)
        name_ticks(ax.xaxis, names)
        name_ticks(ax.yaxis, names)
        if len(names) <= WRITTEN_VARIABLES:
            write_values(ax, self.shares, norm, least=0.005)
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.85)
        bar.set_label("share of variance")


def _root(values: Array) -> Array:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Array) -> Array:
    return np.sign(values) * np.square(values)
