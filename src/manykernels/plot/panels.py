"""Drawings of functions of one or two variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from .style import BLUE, DIVERGING, GREY, PALETTE, RED, legend_beside, name_ticks, write_values
from .variables import DISTINCT, Variable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

CURVES = 12
"""Most curves in one drawing; those of the most frequent categories are drawn. Set by judgement."""

DENSITY_BINS = 40
"""Bins of the histogram of the rows below a curve. Set by judgement."""

DENSITY_HEIGHT = 0.1
"""Height of that histogram, as a share of the axes. Set by judgement."""

WRITTEN_CELLS = 60
"""Most cells for which each has its value written in. Set by judgement, not measured."""


def draw_one(ax: Axes, variable: Variable, values: Array) -> None:
    """Draw a function of one variable: a curve over the density of the rows, or bars.

    Bars of many categories, or of long names, lie on their sides: names are then read as they are.
    """
    if variable.names is None:
        ax.plot(variable.points, values, color=BLUE, linewidth=2)
        few = np.unique(variable.rows)
        if len(few) <= DISTINCT:
            heights = np.interp(few, variable.points, values)
            ax.plot(few, heights, linestyle="", marker="o", color=BLUE, markersize=5)
        draw_density(ax, variable)
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0.5)
        ax.set_xlabel(variable.title)
        return
    colors = [BLUE if value >= 0 else RED for value in values]
    names = variable.counted
    title = f"{variable.title} (number of rows)"
    if variable.lies:
        ax.barh(range(len(values)), values, height=0.7, color=colors)
        ax.set_ylim(len(values) - 0.2, -0.8)
        ax.set_yticks(range(len(names)), names, fontsize="small" if len(names) > 12 else None)
        ax.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
        ax.set_ylabel(title)
    else:
        places = variable.places
        ax.bar(places, values, width=0.7, color=colors)
        ax.set_xlim(places[0] - 0.8, places[-1] + 0.8)
        ax.set_xticks(places, [name.replace(" (", "\n(") for name in names])
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0.5)
        ax.set_xlabel(title)


def draw_curves(
    ax: Axes, number: Variable, category: Variable, values: Array, legend: bool = True
) -> None:
    """Draw a function of a number and a category: a curve for each category.

    Values are of shape (n_numbers, n_categories).
    """
    import matplotlib as mpl

    assert category.names is not None
    shown = category
    if len(category.points) > CURVES:
        shown = category.keep(CURVES)
        values = values[:, np.isin(category.points, shown.points)]
    assert shown.names is not None
    few = len(shown.points) <= len(PALETTE)
    # More than a handful of colours are told apart by their order only.
    shades = mpl.colormaps["viridis"](np.linspace(0.25, 0.88, len(shown.points)))
    for k, name in enumerate(shown.names):
        ax.plot(
            number.points,
            values[:, k],
            color=PALETTE[k] if few else shades[k],
            linestyle=["-", "--", "-.", ":"][k % 4],
            label=f" {name}" if name.startswith("_") else name,
        )
    draw_density(ax, number)
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0.5)
    ax.set_xlabel(number.title)
    if legend:
        legend_beside(ax, shown.title)


def draw_cells(ax: Axes, first: Variable, second: Variable, values: Array, most: float) -> QuadMesh:
    """Draw a function of two numbers or two categories as colours, from -most to most.

    Values are of shape (n_first, n_second).
    """
    from matplotlib.colors import Normalize

    norm = Normalize(-most, most)
    mesh = ax.pcolormesh(
        _edges(first), _edges(second), values.T, cmap=DIVERGING, norm=norm, rasterized=True
    )
    for axis, variable in ((ax.xaxis, first), (ax.yaxis, second)):
        axis.set_label_text(variable.title)
        if variable.names is not None:
            name_ticks(axis, variable.names)
    if first.names is None:
        draw_rug(ax, first)
    if second.names is None:
        draw_rug(ax, second, across=False)
    if first.names is not None and second.names is not None and values.size <= WRITTEN_CELLS:
        write_values(ax, values.T, norm)
    return mesh


def draw_density(ax: Axes, variable: Variable) -> None:
    """Draw where rows are: a histogram along the lower edge, a tenth of the axes high."""
    counts, edges = np.histogram(variable.rows, DENSITY_BINS)
    heights = DENSITY_HEIGHT * counts / max(counts.max(), 1)
    ax.bar(
        edges[:-1],
        heights,
        np.diff(edges),
        align="edge",
        color=(GREY, 0.45),
        transform=ax.get_xaxis_transform(),
        zorder=0.4,
        gid="density",
    )
    low, high = ax.get_ylim()
    # Room below the curve, so that it does not run through the histogram.
    ax.set_ylim(low - DENSITY_HEIGHT * (high - low), high)


def draw_rug(ax: Axes, variable: Variable, across: bool = True) -> None:
    """Draw ticks where rows are, along the lower edge or along the left one."""
    edge = np.zeros(len(variable.rows))
    style: dict[str, Any] = {"linestyle": "", "color": GREY, "markersize": 7, "alpha": 0.6}
    if across:
        ax.plot(variable.rows, edge, marker="|", transform=ax.get_xaxis_transform(), **style)
    else:
        ax.plot(edge, variable.rows, marker="_", transform=ax.get_yaxis_transform(), **style)


def _edges(variable: Variable) -> Array:
    """Return the edges of cells around points; categories are at 0, 1, .."""
    if variable.names is not None:
        return np.arange(len(variable.points) + 1) - 0.5
    points = variable.points
    half = (points[1] - points[0]) / 2
    return np.append(points - half, points[-1] + half)
