"""Variables and pairs of them, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from .shares import check_family, column_names, largest, term_shares
from .style import DIVERGING, SEQUENTIAL, name_ticks, new_or_given, say, shorten, write_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN = 12
"""Up to so many variables shares are written into the cells."""


class HeatmapDisplay:
    """Share of the variance by variable and by pair of variables, as a matrix.

    The diagonal has the shares of terms of a single variable, the rest those of terms of pairs. A
    term of three or more variables is added in full to each of its pairs, so that the upper half
    with the diagonal adds up to one only where there are no such terms. Colours are on the scale of
    the square root, for small shares to be seen next to large ones.

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
    ax_ : matplotlib.axes.Axes
        Axes.
    figure_ : matplotlib.figure.Figure
        Figure.
    """

    def __init__(self, variables: Sequence[str], shares: Any) -> None:
        self.variables = list(variables)
        self.shares: Array = np.asarray(shares, dtype=float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 30, ax: Axes | None = None) -> Self:
        """Draw the variables of the most important terms of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``explain``.
        top : int, default=30
            How many terms to take the variables from: those of largest absolute share. Cells add up
            all terms of their variables.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        HeatmapDisplay
            The display.
        """
        everything = term_shares(check_family(estimator))
        known = {name for term in largest(everything, top) for name in term.variables}
        columns = [name for name in column_names(estimator) if name in known]
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
        return cls(variables, shares).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        self
            The display.
        """
        count = len(self.variables)
        names = [shorten(name) for name in self.variables]
        size = min(2.4 + 0.3 * count, 8.0) + 0.07 * max(map(len, names), default=0)
        ax = new_or_given(ax, size + 1.0, size)
        self.ax_, self.figure_ = ax, ax.figure
        if not count:
            say(ax, "no variables: the model is a constant")
            return self
        from matplotlib.colors import FuncNorm

        most = float(np.abs(self.shares).max()) or 1.0
        signed = bool(self.shares.min() < -0.01 * most)
        norm = FuncNorm((_root, _square), vmin=-most if signed else 0, vmax=most)
        self.image_ = ax.imshow(self.shares, norm=norm, cmap=DIVERGING if signed else SEQUENTIAL)
        name_ticks(ax.xaxis, names)
        name_ticks(ax.yaxis, names)
        if count <= WRITTEN:
            write_values(ax, self.shares, norm, least=0.005)
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.85)
        bar.set_label("share of variance")
        return self


def _root(values: Array) -> Array:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Array) -> Array:
    return np.sign(values) * np.square(values)
