"""Terms by their share of the variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from .shares import Shares, SharesDisplay
from .style import BLUE, GREEN, GREY, ORANGE, PURPLE, say, shorten_term, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {
    0: ("constant", GREY),
    1: ("single variables", BLUE),
    2: ("pairs", ORANGE),
    3: ("triples", GREEN),
    4: ("four or more", PURPLE),
}
"""Name and colour of terms, by their number of variables; the last holds for more of them too."""


class TermsDisplay(SharesDisplay):
    """Share of the variance by term, as horizontal bars.

    A share is the covariance of a term's part of the fitted function with the whole, over the
    variance of the whole. Shares of all terms add up to one; one below zero belongs to a term that
    works against the others.

    Parameters
    ----------
    terms : sequence of str
        Names of terms, by descending share.
    shares : array-like of shape (n_terms,)
        Their shares of the variance.
    orders : array-like of shape (n_terms,)
        Their numbers of variables.
    total : int
        Number of terms that the model has.

    Attributes
    ----------
    bars_ : matplotlib.container.BarContainer
        The bars, in the order of the terms.
    """

    def __init__(self, terms: Sequence[str], shares: Any, orders: Any, total: int) -> None:
        self.terms = list(terms)
        self.shares: Array = np.asarray(shares, dtype=float)
        self.orders: Array = np.asarray(orders, dtype=int)
        self.total = total

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 15, ax: Axes | None = None) -> Self:
        """Draw the most important terms of a fitted estimator, by default 15 of them.

        Parameters are those of :meth:`NetworkDisplay.from_estimator`.
        """
        return super().from_estimator(estimator, top=top, ax=ax)

    @classmethod
    def _of(cls, everything: Shares, chosen: Shares, names: Sequence[str]) -> Self:
        return cls(
            [term.name for term in chosen],
            [term.share for term in chosen],
            [len(term.variables) for term in chosen],
            len(everything),
        )

    def _size(self) -> tuple[float, float]:
        longest = max((len(shorten_term(term)) for term in self.terms), default=0)
        return 5.0 + 0.07 * longest, 1.1 + 0.27 * max(len(self.terms), 3)

    def _draw(self, ax: Axes) -> None:
        count = len(self.terms)
        kinds = np.minimum(self.orders, max(KINDS))
        self.bars_ = ax.barh(
            np.arange(count), self.shares, color=[KINDS[kind][1] for kind in kinds.tolist()]
        )
        if not count:
            say(ax, "no terms: the model is a constant")
            return
        ax.set_yticks(range(count), [shorten_term(term) for term in self.terms])
        ax.set_ylim(count - 0.4, -0.6)
        words = written(self.shares, min(float(np.abs(self.shares).max()), 0.09), 2)
        for height, share in enumerate(self.shares.tolist()):
            # Right of zero also for shares below: left of it are the names.
            spot = (max(share, 0.0), height)
            ax.annotate(words[height], spot, (4, 0), textcoords="offset points", va="center")
        ax.margins(x=0.15)
        if np.any(self.shares < 0):
            ax.axvline(0, color=GREY, linewidth=0.8)
        else:
            ax.set_xlim(left=0)
        ax.set_xlabel("share of variance")
        ax.spines[["top", "right"]].set_visible(False)
        if count < self.total:
            ax.set_title(f"{count} of {self.total} terms", fontsize="medium")
        from matplotlib.patches import Patch

        present = [KINDS[kind] for kind in np.unique(kinds).tolist()]
        handles = [Patch(color=color, label=name) for name, color in present]
        ax.legend(handles=handles, loc="lower right", frameon=False)
