"""What all figures have in common: colours, names that fit, axes, words for what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..inputs import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap, Normalize

BLUE, ORANGE, GREEN, PURPLE, RED, SKY = PALETTE = (
    "#3182bd",
    "#e08a00",
    "#1f9e77",
    "#c06ba5",
    "#d55e00",
    "#5ab4e5",
)
"""Okabe and Ito's colours, the dark ones lighter: to be seen on white and on dark pages."""

GREY = "#8a8a8a"
"""Colour of lines that are no data."""

INK = "#222222"
"""Colour of text on coloured cells: not black, which a dark page turns into white."""

DIVERGING = "RdBu"
"""Colour map of values with a sign: blue above zero as in bars, red below."""

SEQUENTIAL = ("#3182bd00", "#3182bd80", "#3182bd", "#1c4f79")
"""Colours of values that are never below zero: clear, so that the page is seen through it, up to
dark blue. White would glare on a dark page."""

LONGEST_NAME = 28
"""Most characters of a name that is not shortened. Set by judgement, not measured."""


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name with an ellipsis in its middle if it is long, for a text of matplotlib.

    A dollar sign would begin a formula, and is escaped.
    """
    name = " ".join(str(name).split())
    if len(name) > longest:
        head = longest // 2
        name = f"{name[:head]}…{name[len(name) - (longest - 1 - head) :]}"
    return name.replace("$", r"\$")


def shorten_term(term: str) -> str:
    """Return the name of a term with each of its variables' names shortened if it is long."""
    parts = term.split(" * ")
    if len(term) <= LONGEST_NAME:
        return shorten(term)
    return " * ".join(shorten(part, max(10, (LONGEST_NAME + 12) // len(parts))) for part in parts)


class FigureDisplay:
    """A figure; its attributes hold the numbers that are drawn.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes that it was last drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.
    """

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the numbers, on other axes if asked to.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        self.ax_ = new_axes(1, *self._size())[0] if ax is None else as_axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure in inches."""
        raise NotImplementedError

    def _draw(self, ax: Axes) -> None:
        """Draw on axes."""
        raise NotImplementedError


def need_matplotlib() -> None:
    """Say what to install where there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "Figures need matplotlib, which is not installed. "
            "Install it with: pip install 'manykernels[plot]'",
            name=error.name,
        ) from None


def new_axes(count: int, width: float, height: float) -> list[Axes]:
    """Return axes side by side in a new figure."""
    need_matplotlib()
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, count, figsize=(width, height), squeeze=False)
    # Room at the edges, in inches: names beside a square matrix come out up to 0.03 too far.
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
    return list(axes[0])


def as_axes(ax: Any) -> Axes:
    """Return what is to be drawn on; TypeError if that are no axes of matplotlib."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be axes of matplotlib or None; got {shown(ax)}. Use ax=None for a new figure."
        )
    return ax


def say(ax: Axes, words: str) -> None:
    """Write words in place of a drawing for which there is nothing to draw."""
    ax.text(0.5, 0.5, words, ha="center", va="center", transform=ax.transAxes)
    ax.set_axis_off()


def name_ticks(axis: Axis, names: Sequence[str]) -> None:
    """Put names at 0, 1, ..; slanted on a horizontal axis where they would run into another."""
    axis.set_ticks(range(len(names)), names)
    if axis is axis.axes.xaxis and len(names) * (max(map(len, names), default=0) + 2) > 55:
        steep = 40 if len(names) <= 10 else 90
        for label in axis.get_ticklabels():
            label.set(rotation=steep, ha="right", rotation_mode="anchor")
            if steep == 90:
                label.set(va="center")
    if len(names) > 20:
        axis.set_tick_params(labelsize="small" if len(names) <= 30 else "x-small")


def legend_beside(ax: Axes, title: str | None = None) -> None:
    """Add a legend right of the axes; no frame, which would be white on dark pages."""
    ax.legend(title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def written(values: Array, most: float, digits: int, sign: str = "") -> list[str]:
    """Return values as texts, all with as many decimals as the largest needs to have ``digits``.

    The sign is that of a format: ``"+"`` to show it also above zero.
    """
    decimals = max(0, digits - 1 - int(np.floor(np.log10(most)))) if most > 0 else 0
    rounded = np.round(np.ravel(values), decimals) + 0.0  # no zeros below zero
    return [f"{value:{sign}.{decimals}f}" for value in rounded.tolist()]


def share_ends(shares: Array) -> tuple[float, float]:
    """Return the ends of an axis of shares or probabilities: 0 and 1, unless all are in one half.

    Those of a rare class would be in a corner: then one end is a round number beyond them.
    """
    low, high = float(np.min(shares)), float(np.max(shares))
    if high <= 0.5:
        return 0.0, _round_up(high)
    return (1.0 - _round_up(1.0 - low), 1.0) if low >= 0.5 else (0.0, 1.0)


def _round_up(share: float) -> float:
    """Return the next number with a digit of 1 to 9 that is no smaller, at least a thousandth."""
    unit = 10.0 ** np.floor(np.log10(max(share, 1e-3)))
    return float(unit * np.ceil(max(share, 1e-3) / unit - 1e-9))


def sequential() -> Colormap:
    """Return the colour map of values that are never below zero."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("clear to blue", list(SEQUENTIAL))


def write_values(
    ax: Axes,
    values: Array,
    norm: Normalize,
    least: float = 0.0,
    light: str = INK,
    digits: int = 2,
) -> None:
    """Write values into the cells of a matrix, row i at height i, in a colour to be read there.

    The darkest colours are those of the largest values of a norm, and the smallest if below zero.
    Absolute values below the least are not worth a text. ``light`` is the colour of text on light
    cells: black, which a dark page turns into white, where these let the page through. Texts have
    as many decimals as the largest value needs to have ``digits``.
    """
    rounded = written(values, norm.vmax or 1.0, digits)
    for i, j in np.argwhere(np.abs(values) >= least):
        place = float(norm(values[i, j]))
        dark = place > 0.6 if norm.vmin == 0 else abs(place - 0.5) > 0.3
        color = "#f7f7f7" if dark else light
        text = rounded[i * values.shape[1] + j]
        if not float(text) and abs(values[i, j]) >= least > 0:  # small, and not nothing
            text = f"{values[i, j]:.1g}"
        ax.text(j, i, text, ha="center", va="center", fontsize="small", color=color)


def quantity(estimator: Any, label: Any, short: bool = False) -> str:
    """Return what the contributions of an estimator's terms add up to, in words."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return "prediction"
    if short:
        return "decision value" if len(classes) == 2 else "decision values"
    return f"decision value of {shorten(str(classes[1] if label is None else label))}"
