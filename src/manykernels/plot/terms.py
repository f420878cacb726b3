"""Terms by their spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..estimators.validation import column_names
from ..function.terms import OTHERS
from ..how_sure import how_sure_of
from ..words import number
from .spreads import Spreads, SpreadsDisplay, check_family, largest, measure_of, term_spreads
from .style import BLUE, GREEN, GREY, ORANGE, PURPLE, say, shorten_term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {
    0: ("constant or rest", GREY),
    1: ("single variables", BLUE),
    2: ("pairs", ORANGE),
    3: ("triples", GREEN),
    4: ("four or more", PURPLE),
}
"""Name and colour of terms, by their number of variables; the last holds for more of them too."""


def is_rest(name: str, order: int) -> bool:
    """Tell whether a line is the rest of a function, which is no term."""
    return name == OTHERS and not order


class TermsDisplay(SpreadsDisplay):
    """Spread by term, as horizontal bars.

    The spread is the standard deviation of what a term adds to predictions, over the training rows.
    It is never below zero, and small only if the term hardly changes predictions.

    Parameters
    ----------
    terms : sequence of str
        Names of terms, by descending spread.
    spreads : array-like of shape (n_terms,)
        Their spreads.
    orders : array-like of shape (n_terms,)
        Their numbers of variables.
    total : int
        Number of terms that the model has, without the rest.
    sure : sequence of bool, optional
        Which of the terms stand; they have a filled circle, the others an empty one.

    Attributes
    ----------
    bars_ : matplotlib.container.BarContainer
        The bars, in the order of the terms.
    """

    def __init__(
        self,
        terms: Sequence[str],
        spreads: Any,
        orders: Any,
        total: int,
        sure: Sequence[bool] | None = None,
    ) -> None:
        self.terms = list(terms)
        self.spreads: Array = np.asarray(spreads, dtype=float)
        self.orders: Array = np.asarray(orders, dtype=int)
        self.total = total
        self.sure = None if sure is None else [bool(value) for value in sure]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, top: int = 15, how_sure: Any = None, ax: Axes | None = None
    ) -> Self:
        """Draw the most important terms of a fitted estimator, by default 15 of them.

        Parameters are those of :meth:`NetworkDisplay.from_estimator`, and ``how_sure``: a fitted
        :class:`~manykernels.selection.SplitTest` or ``StabilitySelection``, to mark the terms that
        stand.
        """
        estimator = check_family(estimator)
        everything, names = term_spreads(estimator), column_names(estimator)
        shown = cls._of(everything, largest(everything, top), names)
        shown.measure = measure_of(estimator)
        if how_sure is not None:
            shown.sure = how_sure_of(how_sure, names).is_sure(shown.terms)
        return shown.plot(ax)

    @classmethod
    def _of(cls, everything: Spreads, chosen: Spreads, names: Sequence[str]) -> Self:
        return cls(
            [term.name for term in chosen],
            [term.spread for term in chosen],
            [len(term.variables) for term in chosen],
            sum(not is_rest(term.name, len(term.variables)) for term in everything),
        )

    def _size(self) -> tuple[float, float]:
        longest = max((len(shorten_term(term)) for term in self.terms), default=0)
        return 5.0 + 0.07 * longest, 1.1 + 0.27 * max(len(self.terms), 3)

    def _draw(self, ax: Axes) -> None:
        count = len(self.terms)
        kinds = np.minimum(self.orders, max(KINDS))
        self.bars_ = ax.barh(
            np.arange(count), self.spreads, color=[KINDS[kind][1] for kind in kinds.tolist()]
        )
        if not count:
            say(ax, "no terms: the model is a constant")
            return
        ax.set_yticks(range(count), [shorten_term(term) for term in self.terms])
        ax.set_ylim(count - 0.4, -0.6)
        words = [number(spread) for spread in self.spreads.tolist()]
        for height, spread in enumerate(self.spreads.tolist()):
            text = words[height] if self.sure is None else f"    {words[height]}"
            ax.annotate(text, (spread, height), (4, 0), textcoords="offset points", va="center")
        ax.margins(x=0.15)
        ax.set_xlim(left=0)
        ax.set_xlabel(self.measure.replace(": ", ":\n"))
        ax.spines[["top", "right"]].set_visible(False)
        pairs = zip(self.terms, self.orders.tolist(), strict=True)
        shown = sum(not is_rest(*pair) for pair in pairs)
        if shown < self.total:
            ax.set_title(f"{shown} of {self.total} terms", fontsize="medium")
        from matplotlib.patches import Patch

        present = [KINDS[kind] for kind in np.unique(kinds).tolist()]
        handles: list[Any] = [Patch(color=color, label=name) for name, color in present]
        handles += self._mark(ax)
        ax.legend(handles=handles, loc="lower right", frameon=False)

    def _mark(self, ax: Axes) -> list[Any]:
        """Draw a circle for each term, filled if it stands; return what the legend shows."""
        from matplotlib.lines import Line2D
        from matplotlib.transforms import offset_copy

        if self.sure is None:
            return []
        figure: Any = ax.figure
        beside = offset_copy(ax.transData, figure, 9, 0, units="points")
        handles = []
        for stands, words in ((True, "sure"), (False, "not sure")):
            places = [i for i, sure in enumerate(self.sure) if sure == stands]
            look: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": GREY}
            look |= {"markersize": 5, "markerfacecolor": GREY if stands else "none"}
            ax.add_line(Line2D(self.spreads[places], places, transform=beside, gid=words, **look))
            handles.append(Line2D([], [], label=words, **look))
        return handles
