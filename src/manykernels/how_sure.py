"""What many sets of rows say of the terms of a model: a table to join, and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from .function.terms import OTHERS
from .words import count, listing, number, p_value, percent, plural

if TYPE_CHECKING:
    import pandas as pd

SAID_GROUPS = 12
"""Most groups of terms that a sentence names. Set by judgement, not measured."""


@dataclass(frozen=True)
class Group:
    """Terms that the rows cannot tell apart; one term alone where they can.

    Attributes
    ----------
    terms : tuple of str
        Names of the terms, that of the first, which stands in the middle of the others, before.
    correlations : tuple of float
        Correlation of each with the first.
    frequency : float
        Share of the sets of rows that selected a term of the group.
    p_value : float or None
        Of the group as one; None where nothing is tested.
    sure : bool
        Whether it counts as sure.
    """

    terms: tuple[str, ...]
    correlations: tuple[float, ...]
    frequency: float
    p_value: float | None = None
    sure: bool = False

    @property
    def standing(self) -> str:
        """How each of its terms stands: "yes", "one of 3" where these are alike; nothing if not."""
        alone = len(self.terms) == 1
        return ("yes" if alone else f"one of {count(len(self.terms))}") if self.sure else ""

    def __str__(self) -> str:
        if len(self.terms) <= 3:
            return " or ".join(self.terms)
        return f"{self.terms[0]} or one of {len(self.terms) - 1} like it"


@dataclass(frozen=True)
class HowSure:
    """What a finished :class:`~manykernels.selection.SplitTest` or ``StabilitySelection`` found.

    It is the attribute ``how_sure_`` of these, holds names and numbers only, and is stored in the
    files of table models.

    Attributes
    ----------
    groups : tuple of Group
        All terms that some rows selected, in groups, those called sure first.
    frequencies : dict of str to float
        Share of the splits, or halves, that selected each term.
    tested : bool
        Whether there are p-values; otherwise there are frequencies only.
    meaning : str
        What can be relied on and what not, in words.
    rows : int
        Number of rows.
    done, wanted : int
        Number of splits, or pairs of halves, that were made and that were asked for.
    columns : tuple of str
        Names of the columns.
    """

    groups: tuple[Group, ...]
    frequencies: dict[str, float]
    tested: bool
    meaning: str
    rows: int
    done: int
    wanted: int
    columns: tuple[str, ...]

    @property
    def sure(self) -> list[Group]:
        """The groups that stand."""
        return [group for group in self.groups if group.sure]

    def places(self, terms: Sequence[str]) -> list[int | None]:
        """Return the number of each term's group, from 1; None where no rows selected it."""
        owners = {name: i for i, group in enumerate(self.groups, 1) for name in group.terms}
        return [owners.get(name) for name in terms]

    def is_sure(self, terms: Sequence[str]) -> list[bool]:
        """Tell of each term whether it stands, by itself or as one of a group."""
        return [bool(text) for text in self.standing(terms)]

    def standing(self, terms: Sequence[str]) -> list[str]:
        """Return of each term "yes" if it stands, "one of 3" if as one of a group, else nothing."""
        owners = [None if place is None else self.groups[place - 1] for place in self.places(terms)]
        return ["" if one is None else one.standing for one in owners]

    @property
    def untested(self) -> bool:
        """Whether terms were to be tested, and none could be."""
        return self.tested and not self.groups

    def join(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of terms with what is known of each.

        Parameters
        ----------
        table : DataFrame
            With a column ``term``, as ``explain`` returns it.

        Returns
        -------
        DataFrame
            The same lines with the columns ``frequency`` (share of the splits, or halves, that
            selected the term), ``p_value`` (of its group, where terms were tested; 1 if no split
            selected it, NaN if no term could be tested), ``group`` (number, missing if no rows
            selected it) and ``sure``. The line of the other terms, which is no term, has neither
            frequency nor p-value.
        """
        import pandas as pd

        names = table["term"].tolist()
        places = self.places(names)
        kept = table["term"].ne(OTHERS)
        shares = [self.frequencies.get(name, 0.0) for name in names]
        found: dict[str, Any] = {"frequency": pd.Series(shares, table.index, float).where(kept)}
        if self.tested:
            none = nan if self.untested else 1.0
            own = [none if place is None else self.groups[place - 1].p_value for place in places]
            found["p_value"] = pd.Series(own, table.index, float).where(kept)
        found["group"] = pd.array(places, dtype="Int64")
        return table.assign(**found, sure=self.is_sure(names))

    def sentences(self, table: pd.DataFrame, useful: bool | None = None) -> list[str]:
        """Return in words which terms stand, which are not sure, and what that means.

        ``table`` is that of all terms of the model, with their spreads. ``useful`` tells whether
        the model predicts rows held out better than a constant does; None if that is not known.
        """
        if self.untested:
            return [self._no_tests()]
        said = [
            self._basis(),
            self._standing(),
            *self._together(),
            *self._alike(),
            *self._absent(table["term"].tolist()),
        ]
        return [*said, *self._others(table, useful), self.meaning]

    def _basis(self) -> str:
        cut = "" if self.done == self.wanted else f" ({count(self.wanted)} were asked for)"
        if self.tested:
            return (
                f"Terms were selected on a part of the {plural(self.rows, 'training row')} and "
                f"tested on the others, on {plural(self.done, 'split')} at random{cut}."
            )
        return (
            f"Terms were selected on halves of the {plural(self.rows, 'training row')}, on "
            f"{plural(self.done, 'pair')} of them at random{cut}."
        )

    def _no_tests(self) -> str:
        """Say that nothing was found out, which is nothing against the terms."""
        return (
            f"No term could be tested: {plural(self.rows, 'training row')} are too few for a test "
            "of the features of one, or none was selected. Which terms stand is not known. Tests "
            "take more rows; of classes, more of the rarest one."
        )

    def _standing(self) -> str:
        sure = self.sure
        if not sure:
            return (
                "No term stands. That does not say that none has an effect: these rows do not "
                "show it."
            )
        verb = "stands" if len(sure) == 1 else "stand"
        named = [f"{group} ({self.evidence(group)})" for group in sure]
        return f"{plural(len(sure), 'term')} {verb}: {_first(named)}."

    def evidence(self, group: Group) -> str:
        """Return the p-value of a group, if any, and how often it was selected."""
        sets = "splits" if self.tested else "halves"
        often = f"selected by {percent(group.frequency)} of the {sets}"
        return often if group.p_value is None else f"p-value {p_value(group.p_value)}, {often}"

    def _together(self) -> Iterator[str]:
        """Yield which of the groups that stand show that variables act together."""
        names = [name for group in self.groups for name in group.terms]
        if not self.sure or not any(self._joins(name) for name in names):
            return
        joint = [str(group) for group in self.sure if all(map(self._joins, group.terms))]
        if not joint:
            yield "None of that shows that variables act together."
        elif len(joint) < len(self.sure):
            yield f"Of these, variables act together in {_first(joint)}."
        else:
            yield f"In {'it' if len(joint) == 1 else 'all of these'}, variables act together."

    def _joins(self, term: str) -> bool:
        """Tell whether a term is one of several variables."""
        return " * " in term and term not in self.columns

    def _alike(self) -> Iterator[str]:
        """Yield a sentence for each group of several terms that stands."""
        for group in self.sure[:SAID_GROUPS]:
            if len(group.terms) == 1:
                continue
            first, *others = group.terms
            least, most = min(group.correlations[1:]), max(group.correlations[1:])
            spread = f"{least:.2f}" if most - least < 0.005 else f"{least:.2f} to {most:.2f}"
            noun = "correlation" if len(others) == 1 else "correlations"
            named = listing(others if len(others) <= 3 else [f"{len(others)} others"])
            yield (
                f"{first} cannot be told apart from {named} ({noun} {spread}): at least one of "
                "them matters, or something that they reflect; the rows do not say which."
            )

    def _absent(self, terms: list[str]) -> Iterator[str]:
        """Yield which groups stand though the model has none of their terms."""
        missing = [str(group) for group in self.sure if not set(group.terms) & set(terms)]
        if missing:
            who = "it stands" if len(missing) == 1 else "they stand"
            yield f"Not in the model, though {who}: {_first(missing)}."

    def _others(self, table: pd.DataFrame, useful: bool | None) -> Iterator[str]:
        """Yield which terms of the model do not stand."""
        own = table[~table["term"].eq(OTHERS) & (table["degree"] > 0)]
        weak = own[[not sure for sure in self.is_sure(own["term"].tolist())]]
        if not len(weak):
            if len(own):
                yield "Every term of the model stands."
            return
        largest = [
            name if isnan(spread) else f"{name} (spread {number(spread, 2)})"
            for name, spread in zip(weak["term"][:3], weak["spread"][:3], strict=True)
        ]
        one = len(weak) == 1
        said = (
            f"{plural(len(weak), 'term')} of the model {'is' if one else 'are'} not sure: "
            f"{listing(largest)}{'' if len(weak) <= 3 else ' before the others'}. These rows do "
            f"not show that {'it is' if one else 'they are'} needed beside the other terms."
        )
        if useful:
            said += (
                f" {'It' if one else 'They'} may be useful for prediction: on rows held out the "
                "model as a whole predicts better than a constant."
            )
        yield said


def _first(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - SAID_GROUPS
    return listing([*names[:SAID_GROUPS], *([f"{count(more)} more"] if more > 0 else [])])


def how_sure_of(given: Any, columns: Sequence[str]) -> HowSure:
    """Return what a finished selection found, if it is about the columns of a model."""
    found = getattr(given, "how_sure_", given)
    if not isinstance(found, HowSure):
        raise TypeError(
            "how_sure must be a SplitTest or StabilitySelection after fit; got "
            f"{type(given).__name__}. Use SplitTest(model).fit(X, y) with the rows of the fit."
        )
    if list(found.columns) != list(columns):
        raise ValueError(
            "how_sure must be about the columns of the model; got "
            f"{_some(found.columns)} for {_some(columns)}. Fit it to the rows of the model."
        )
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f", .. ({len(names)})" if len(names) > 3 else "")


def how_to_run(command: str | None) -> str:
    """Return how to find out how sure terms are, where that was not done."""
    if command is None:
        way = (
            "in Python, give SplitTest(model).fit(X, y) of manykernels.selection to explain or "
            "report.write as how_sure"
        )
    else:
        way = command if "--how-sure" in command else f"{command} --how-sure"
    return f"Which terms stand was not tested. To test them: {way}"
