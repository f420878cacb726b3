"""How much terms matter, and the variables that a term is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arguments import refuse_unfitted
from ..estimators.apart import taken_apart
from ..estimators.base import FamilyMachine
from ..estimators.validation import column_names
from ..function import mattering
from ..registry import ESTIMATORS
from .style import FigureDisplay, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class TermSpread:
    """A term, the names of its variables, each once, and its spread.

    A base kernel that sees a single column stands for that column, another one (of several columns,
    or given by a matrix) for itself. A constant has no variables. The spread is the standard
    deviation of what the term adds to predictions over the training rows; see :func:`measure_of`
    for model files of earlier versions.
    """

    name: str
    variables: tuple[str, ...]
    spread: float


Spreads = Sequence[TermSpread]


def check_family(estimator: Any) -> FamilyMachine:
    """Return a fitted estimator that knows its terms, as one of numbers; else say what is wrong.

    Of a pipeline it is the last step, with the names that the steps before give.
    """
    estimator, _, _ = taken_apart(estimator)
    if not isinstance(estimator, FamilyMachine):
        raise TypeError(
            "estimator must be one of manykernels that weighs a family of kernels; got "
            f"{type(estimator).__name__}. Use {', '.join(ESTIMATORS)}, a pipeline that ends with "
            "one, or a model that manykernels.load reads."
        )
    refuse_unfitted(estimator)
    return estimator


def measure_of(estimator: FamilyMachine) -> str:
    """Return what terms are drawn by: the spread, or what else is known of them."""
    if estimator.function_.terms.table(None)["spread"].isna().any():
        return "size of the share of variance (spreads are not known)"
    return f"spread: standard deviation of the part of the {quantity(estimator, None, short=True)}"


def combined(spreads: Sequence[float]) -> float:
    """Return the root of the sum of squares: the spread of terms that do not correlate."""
    return float(np.sqrt(np.sum(np.square(spreads))))


def term_spreads(estimator: FamilyMachine) -> list[TermSpread]:
    """Return all terms of an estimator, by descending spread."""
    terms, columns = estimator.function_.terms, column_names(estimator)
    kernels = terms.factor_names
    table = terms.table(None)
    sizes = table["spread"] if table["spread"].notna().all() else table["share"].abs()
    found = []
    for name, size in zip(table["term"], sizes, strict=True):
        seen = [
            columns[int(terms.inputs[j][0])] if len(terms.inputs[j]) == 1 else kernels[j]
            for j in terms.factors(name)
        ]
        found.append(TermSpread(name, tuple(dict.fromkeys(seen)), float(size)))
    return sorted(found, key=lambda term: -term.spread)


def check_top(top: Any, usual: int) -> None:
    """Refuse what is no number of terms."""
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top must be an integer >= 1; got {top!r}. Use top={usual}.")


def largest(terms: Spreads, top: int) -> list[TermSpread]:
    """Return the terms of largest spread, and for each variable that matters at least one."""
    check_top(top, 15)
    matter = mattering([term.spread for term in terms], [term.variables for term in terms])
    chosen = list(terms[:top])
    seen = {name for term in chosen for name in term.variables}
    for term in (terms[place] for place in matter):
        if not seen.issuperset(term.variables):
            chosen.append(term)
            seen.update(term.variables)
    return chosen


class SpreadsDisplay(FigureDisplay):
    """Base of displays of the spreads of terms."""

    measure = "spread"

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 30, ax: Axes | None = None) -> Self:
        """Draw the most important terms of a fitted estimator, or their variables.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``explain``; a pipeline that ends with one, or a model of a
            table from :func:`manykernels.load`.
        top : int, default=30
            How many terms: those of largest spread, and one more for each variable that matters
            and would be missing.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        estimator = check_family(estimator)
        everything = term_spreads(estimator)
        shown = cls._of(everything, largest(everything, top), column_names(estimator))
        shown.measure = measure_of(estimator)
        return shown.plot(ax)

    @classmethod
    def _of(cls, everything: Spreads, chosen: Spreads, names: Sequence[str]) -> Self:
        """Return the display of the chosen ones of all terms; the names are those of columns."""
        raise NotImplementedError
