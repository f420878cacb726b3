"""Variables and the terms that join them, as a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..words import number
from .spreads import Spreads, SpreadsDisplay, combined
from .style import BLUE, GREEN, GREY, ORANGE, say, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST_EDGE = 9.0
"""Width of an edge with the spread of the largest node, in points. Set by judgement, not
measured."""

LARGEST_NODE = 900.0
"""Area of the node of largest spread, in square points. Set by judgement, not measured."""

BESIDE = 12
"""Most variables whose names stand beside their nodes; those of more stand in columns left and
right of the circle. Set by judgement, not measured."""


class NetworkDisplay(SpreadsDisplay):
    """Variables on a circle, joined by the terms they have in common.

    Areas of nodes show the spread of all terms that a variable is in, together; widths of edges
    show the spreads of pairs, opacities of polygons those of terms of three or more variables, all
    relative to the largest node: a pair that hardly changes predictions has a thin edge. Several
    terms together have the root of the sum of their squared spreads.

    Parameters
    ----------
    variables : sequence of str
        Names of variables, in their order on the circle.
    totals : array-like of shape (n_variables,)
        Spread of the terms that each is in, together.
    groups : sequence of tuple of int
        Terms of two or more variables, by the variables' numbers.
    spreads : array-like of shape (n_groups,)
        Their spreads.

    Attributes
    ----------
    nodes_ : matplotlib.collections.PathCollection
        The nodes.
    edges_, polygons_ : dict
        The lines of pairs and the polygons of larger groups, by their variables' numbers.
    """

    def __init__(
        self, variables: Sequence[str], totals: Any, groups: Sequence[tuple[int, ...]], spreads: Any
    ) -> None:
        self.variables = list(variables)
        self.totals: Array = np.asarray(totals, dtype=float)
        self.groups = list(groups)
        self.spreads: Array = np.asarray(spreads, dtype=float)

    @classmethod
    def _of(cls, everything: Spreads, chosen: Spreads, names: Sequence[str]) -> Self:
        own: dict[str, list[float]] = {name: [] for term in chosen for name in term.variables}
        for term in everything:
            for name in term.variables:
                if name in own:
                    own[name].append(term.spread)
        totals = {name: combined(spreads) for name, spreads in own.items()}
        groups_of: dict[frozenset[str], list[float]] = {}
        for term in chosen:
            if len(term.variables) > 1:
                groups_of.setdefault(frozenset(term.variables), []).append(term.spread)
        joint = {group: combined(spreads) for group, spreads in groups_of.items()}
        order = _around(totals, joint)
        numbers = {name: number for number, name in enumerate(order)}
        groups = [tuple(sorted(numbers[name] for name in group)) for group in joint]
        return cls(order, [totals[name] for name in order], groups, list(joint.values()))

    def _size(self) -> tuple[float, float]:
        return (9.0, 5.6) if len(self.variables) > BESIDE else (6.4, 5.2)

    def _draw(self, ax: Axes) -> None:
        self.edges_, self.polygons_ = {}, {}
        if not self.variables:
            say(ax, "no variables: the model is a constant")
            return
        from matplotlib.patches import Polygon

        angles = np.pi / 2 - 2 * np.pi * np.arange(len(self.variables)) / len(self.variables)
        places = np.column_stack([np.cos(angles), np.sin(angles)])
        most = self.totals.max() or 1.0
        for group, spread in zip(self.groups, self.spreads.tolist(), strict=True):
            corners, part = places[list(group)], spread / most
            if len(group) == 2:
                width = max(WIDEST_EDGE * part, 0.6)
                (self.edges_[group],) = ax.plot(
                    *corners.T, color=ORANGE, linewidth=width, alpha=0.75, zorder=2
                )
            else:
                shape = Polygon(corners, facecolor=(GREEN, 0.08 + 0.4 * part), edgecolor=GREEN)
                self.polygons_[group] = ax.add_patch(shape)
        sizes = np.maximum(LARGEST_NODE * self.totals / most, 12.0)
        self.nodes_ = ax.scatter(places[:, 0], places[:, 1], s=sizes, color=BLUE, zorder=3)
        self._add_names(ax, places, sizes)
        self._add_legend(ax)

    def _add_names(self, ax: Axes, places: Array, sizes: Array) -> None:
        if len(places) <= BESIDE:
            # Points from the middle of a node to its name.
            spots = places * (np.sqrt(sizes / np.pi) + 4)[:, None]
            options: dict[str, Any] = {"textcoords": "offset points"}
        else:
            spots = _in_columns(places)
            options = {"arrowprops": {"arrowstyle": "-", "color": GREY, "linewidth": 0.6}}
        for name, place, spot in zip(self.variables, places.tolist(), spots, strict=True):
            x, y = place if len(places) <= BESIDE else (float(np.sign(spot[0])), 0.0)
            side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
            height = "center" if abs(y) < 0.2 else "bottom" if y > 0 else "top"
            ax.annotate(shorten(name), place, tuple(spot), ha=side, va=height, zorder=1, **options)
        # Neither limits nor a square box: names need all of the width.
        ax.update_datalim([(-1.15, -1.15), (1.15, 1.15)])
        ax.margins(0)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_axis_off()

    def _add_legend(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        total = self.totals.max()
        handles: list[Any] = [
            Line2D(
                [],
                [],
                color=BLUE,
                marker="o",
                linestyle="",
                label=f"variable, up to {number(total)}",
            )
        ]
        joined = list(zip(self.groups, self.spreads.tolist(), strict=True))
        pairs = [spread for group, spread in joined if len(group) == 2]
        rest = [spread for group, spread in joined if len(group) > 2]
        if pairs:
            words = f"pair, up to {number(max(pairs))}"
            handles.append(Line2D([], [], color=ORANGE, linewidth=3, label=words))
        if rest:
            words = f"three or more, up to {number(max(rest))}"
            handles.append(Patch(facecolor=(GREEN, 0.3), edgecolor=GREEN, label=words))
        ax.legend(
            handles=handles,
            title=self.measure.split(":")[0],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=3,
            frameon=False,
        )


def _around(totals: dict[str, float], joint: dict[frozenset[str], float]) -> list[str]:
    """Return variables in an order on the circle that has strongly joined ones side by side."""
    left = sorted(totals, key=lambda name: -totals[name])
    order = left[:1]
    del left[:1]
    while left:
        last = order[-1]
        ties = [sum(s for g, s in joint.items() if {last, name} <= g) for name in left]
        order.append(left.pop(int(np.argmax(ties))))
    return order


def _in_columns(places: Array) -> Array:
    """Return places for names: in two columns beside the circle, in the order of their nodes."""
    spots = np.empty_like(places)
    right = places[:, 0] > -1e-9
    for side, x in ((right, 1.3), (~right, -1.3)):
        order = np.flatnonzero(side)[np.argsort(-places[side, 1], kind="stable")]
        spots[order] = np.column_stack([np.full(len(order), x), np.linspace(1.1, -1.1, len(order))])
    return spots
