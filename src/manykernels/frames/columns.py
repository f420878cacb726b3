"""Kinds of columns and the numbers that stand for their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, count

import numpy as np
import pandas as pd

from ..arrays import Array
from .dates import PARTS
from .written import MIDNIGHT, as_moments, as_numbers, as_words, decimal_years, shown, written_years

OTHER, MISSING = "(other)", "(missing)"
"""Names of the level of rare categories, and of that of missing values. A value that is written
like one of them is a level of its own, in quotes."""


def level_of(value: str) -> str:
    """Return the name of the level of a category, given how it is written."""
    return f"'{value}'" if value.strip("'") in (OTHER, MISSING) else value


SLACK = 0.1
"""How far values may lie beyond the training range before that is said, in widths of it: rows left
out at random are a little beyond. Set by judgement, not measured."""


class TableError(ValueError):
    """Something is wrong with a table; the message says what and what to do."""


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    ``middle`` is its median, which stands for missing values. ``gaps`` tells whether values were
    missing in training: then a second column says which. ``style`` says how values are written: ""
    for plain numbers, "comma" for decimal commas, then the unit ("%", "comma €"), "days" for spans
    of time; for dates it is the format. ``ends`` are the least and the largest value in training;
    None in files from before they were kept. ``slack`` is how far beyond them values are nothing to
    speak of, in widths of that range.
    """

    name: str
    middle: float
    gaps: bool
    style: str = ""
    ends: tuple[float, float] | None = None
    slack: float = SLACK

    def values(self, column: pd.Series) -> Array:
        """Return the values as floats, NaN where missing."""
        found = as_numbers(column, self.style).to_numpy(dtype=float, na_value=np.nan)
        if not pd.api.types.is_numeric_dtype(column):
            self._refuse(column[column.notna() & np.isnan(found)], "numbers", "Correct them.")
        return found

    def _refuse(self, bad: pd.Series, kind: str, remedy: str) -> None:
        if len(bad):
            others = f"{len(bad) - 1} others" if len(bad) > 1 else "no other such value"
            raise TableError(
                f"column {self.name!r} must hold {kind}, as in training; got "
                f"{shown(bad.iloc[0])} and {others}. {remedy}"
            )

    @property
    def limits(self) -> tuple[float, float]:
        """Between which values nothing is said of the training range: a little beyond it."""
        assert self.ends is not None
        low, high = self.ends
        room = self.slack * high - self.slack * low
        return low - room, high + room

    @property
    def range_in_words(self) -> str:
        """The training range."""
        assert self.ends is not None
        return " to ".join(f"{end:.10g}" for end in self.ends)

    @property
    def labels(self) -> dict[str, list[str]]:
        """Labels of the numbers of each encoded column, none for numbers that are themselves.

        Keys are what stands behind the column's name in that of the encoded one.
        """
        return {"": []} | self._labels_of_gaps

    @property
    def _labels_of_gaps(self) -> dict[str, list[str]]:
        return {" is missing": ["no", "yes"]} if self.gaps else {}

    @property
    def example(self) -> object:
        """A value of the column."""
        return self.middle

    def unknown(self, column: pd.Series) -> list[str]:
        """Return categories that the model does not know: numbers have none."""
        return []

    def encode(self, column: pd.Series) -> list[Array]:
        """Return the columns of numbers that stand for a column."""
        return self.encoded(self.values(column))

    def encoded(self, found: Array) -> list[Array]:
        """Return the columns of numbers that stand for values, NaN where missing."""
        if np.isinf(found).any():
            raise TableError(f"column {self.name!r} has infinite values. Correct them.")
        missing = np.isnan(found)
        whole = np.where(missing, self.middle, found)
        return [whole, missing.astype(float)] if self.gaps else [whole]


@dataclass(frozen=True)
class Moment(Number):
    """A column of dates or times, as decimal years: the middle of 2024 is 2024.5.

    ``parts`` are what else of the dates has a column, by name: "day of the week", "hour", "month",
    each with the number that stands in it for missing dates. Files from before there were parts
    have none.
    """

    parts: tuple[tuple[str, float], ...] = ()

    @property
    def labels(self) -> dict[str, list[str]]:
        """Labels of the numbers of each encoded column, by what stands behind the name."""
        parts = {f", {name}": PARTS[name].labels for name, _ in self.parts}
        return {"": [], **parts, **self._labels_of_gaps}

    @property
    def example(self) -> object:
        """A value of the column."""
        return pd.Timestamp("2000-01-01", tz="UTC")

    @property
    def range_in_words(self) -> str:
        """The training range."""
        assert self.ends is not None
        return " to ".join(written_years(*self.ends))

    def moments(self, column: pd.Series) -> pd.Series:
        """Return dates and times in UTC, NaT where missing."""
        found = as_moments(column, self.style or "ISO8601")
        bad = column[column.notna() & found.isna()]
        self._refuse(bad, "dates", "Write them as in training.")
        return found

    def values(self, column: pd.Series) -> Array:
        """Return decimal years, NaN where missing."""
        return decimal_years(self.moments(column))

    def encode(self, column: pd.Series) -> list[Array]:
        """Return the columns of numbers that stand for a column."""
        moments = self.moments(column)
        missing = moments.isna().to_numpy()
        years, *gaps = self.encoded(decimal_years(moments))
        parts = [
            np.where(missing, filling, PARTS[name].values(moments)) for name, filling in self.parts
        ]
        return [years, *parts, *gaps]


@dataclass(frozen=True)
class Category:
    """A column of categories, as numbers of its levels.

    Among the levels may be one for rare values and one for missing ones.
    """

    name: str
    levels: list[str]

    @property
    def labels(self) -> dict[str, list[str]]:
        """Labels of the numbers of the encoded column, which has the same name."""
        return {"": self.levels}

    @property
    def example(self) -> object:
        """A value of the column."""
        return self.levels[0]

    def unknown(self, column: pd.Series) -> list[str]:
        """Return categories that the model does not know, where there is no level for them."""
        words = set() if OTHER in self.levels else set(as_words(column.dropna()))
        return sorted(words - set(self.codes))

    @property
    def codes(self) -> dict[str, float]:
        """Numbers of levels by how their values are written."""
        values = ((level, float(code)) for code, level in enumerate(self.levels))
        known = {
            level[1:-1] if level_of(level[1:-1]) == level else level: code
            for level, code in values
            if level not in (OTHER, MISSING)
        }
        # Dates were written with their midnight in files of older versions.
        return {level.removesuffix(MIDNIGHT): code for level, code in known.items()} | known

    @property
    def unknown_code(self) -> float:
        """The number of values that have no level of their own; -1, which no kernel knows."""
        return float(self.levels.index(OTHER)) if OTHER in self.levels else -1.0

    @property
    def missing_code(self) -> float:
        """The number of missing values."""
        return float(self.levels.index(MISSING)) if MISSING in self.levels else self.unknown_code

    def encode(self, column: pd.Series) -> list[Array]:
        """Return numbers of levels."""
        found = as_words(column).map(self.codes).fillna(self.unknown_code).to_numpy(dtype=float)
        return [np.where(column.isna().to_numpy(), self.missing_code, found)]


MOST_NAMED = 10
"""Most columns that one message names. Set by judgement, not measured."""


def some_of(names: Sequence[str]) -> str:
    """Return names in quotes, the first ones of many."""
    return ", ".join(map(repr, names[:MOST_NAMED])) + (", ..." if len(names) > MOST_NAMED else "")


Column = Number | Moment | Category


def encoded_names(columns: Sequence[Column]) -> list[list[str]]:
    """Return the names of the encoded columns of each column, all of them distinct.

    What says that values of ``a`` are missing is ``a is missing``, or ``a is missing (2)`` where
    the table has a column of that name; parts of dates are ``a, hour`` or ``a, hour (2)``.
    """
    taken, names = {column.name for column in columns}, []
    for column in columns:
        own = [column.name]
        for ending in list(column.labels)[1:]:
            wanted = f"{column.name}{ending}"
            tries = (f"{wanted} ({number})" for number in count(2))
            own.append(next(name for name in chain([wanted], tries) if name not in taken))
        taken.update(own)
        names.append(own)
    return names


_NUMBER_FIELDS = {"name": str, "middle": float, "gaps": bool, "style": str}
FIELDS: dict[type, dict[str, type]] = {
    Number: _NUMBER_FIELDS,
    Moment: _NUMBER_FIELDS,
    Category: {"name": str, "levels": list},
}
"""Attributes of columns in files, and their types."""


def refuse_parts(column: Moment) -> None:
    """Raise TypeError if what a file has as parts of dates are none, or one is there twice."""
    parts = column.parts
    pairs = type(parts) is tuple and all(type(one) is tuple and len(one) == 2 for one in parts)
    known = pairs and all(type(name) is str and name in PARTS for name, _ in parts)
    if (
        not known
        or len(dict(parts)) < len(parts)
        or any(type(one) is not float for _, one in parts)
    ):
        raise TypeError(f"parts of {column.name!r} are no parts of dates")


def plain_numbers(frame: pd.DataFrame) -> dict[str, Array]:
    """Return the columns that NumPy has as numbers, by name, as floats; NaN where missing.

    All at once: of a table of 20,000 columns, to take one after another was most of a fit's time.
    """
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    names = [name for name, kind in kinds if isinstance(kind, np.dtype) and kind.kind in "iuf"]
    own = frame if len(names) == frame.shape[1] else frame[names]
    return dict(zip(names, own.to_numpy(dtype=float).T, strict=True))


def missing_column(name: str, frame: pd.DataFrame, option: str) -> TableError:
    """Return the error that a table has no such column."""
    names = [str(column) for column in frame.columns]
    close = get_close_matches(name, names, 1, 0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    title = ""
    if not close and (len(names) == 1 or any(one.startswith("Unnamed: ") for one in names)):
        title = " If that is a title above the names, leave it out with --skip-rows N."
    said = f"{option} {name!r} is no column of the table.{hint} It has {listed}."
    return TableError(f"{said}{title}")
