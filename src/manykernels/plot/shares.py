"""Shares of variance by term, and the variables that a term is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from ..estimators.base import FamilyMachine
from ..estimators.validation import column_names
from ..registry import ESTIMATORS
from .style import FigureDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class TermShare:
    """A term, the names of its variables, each once, and its share of the variance.

    A base kernel that sees a single column stands for that column, another one (of several columns,
    or given by a matrix) for itself. A constant has no variables.
    """

    name: str
    variables: tuple[str, ...]
    share: float


Shares = Sequence[TermShare]


def check_family(estimator: Any) -> FamilyMachine:
    """Return an estimator if it is a fitted one that knows its terms; else say what is wrong."""
    if not isinstance(estimator, FamilyMachine):
        raise TypeError(
            "estimator must be one of manykernels that weighs a family of kernels; got "
            f"{type(estimator).__name__}. Use {', '.join(ESTIMATORS)}; of a pipeline its last "
            "step, pipeline[-1]."
        )
    check_is_fitted(estimator)
    return estimator


def term_shares(estimator: FamilyMachine) -> list[TermShare]:
    """Return all terms of an estimator, by descending share."""
    terms, columns = estimator.function_.terms, column_names(estimator)
    kernels = terms.factor_names
    table = terms.table(None)
    found = []
    for name, share in zip(table["term"], table["share"], strict=True):
        seen = [
            columns[int(terms.inputs[j][0])] if len(terms.inputs[j]) == 1 else kernels[j]
            for j in terms.factors(name)
        ]
        found.append(TermShare(name, tuple(dict.fromkeys(seen)), float(share)))
    return found


def check_top(top: Any, usual: int) -> None:
    """Refuse what is no number of terms."""
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top must be an integer >= 1; got {top!r}. Use top={usual}.")


def largest(terms: Shares, top: int) -> list[TermShare]:
    """Return the terms of largest absolute share, by descending share."""
    check_top(top, 15)
    chosen = sorted(terms, key=lambda term: -abs(term.share))[:top]
    return sorted(chosen, key=lambda term: -term.share)


class SharesDisplay(FigureDisplay):
    """Base of displays of the shares of variance of terms."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 30, ax: Axes | None = None) -> Self:
        """Draw the most important terms of a fitted estimator, or their variables.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``explain``.
        top : int, default=30
            How many terms: those of largest absolute share.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        everything = term_shares(check_family(estimator))
        return cls._of(everything, largest(everything, top), column_names(estimator)).plot(ax)

    @classmethod
    def _of(cls, everything: Shares, chosen: Shares, names: Sequence[str]) -> Self:
        """Return the display of the chosen ones of all terms; the names are those of columns."""
        raise NotImplementedError
