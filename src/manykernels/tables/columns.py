"""Kinds of columns and the numbers that stand for their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd

from ..arrays import Array
from ..store import refuse_fields, refuse_infinite
from ..words import plural
from .written import as_moments, as_numbers, as_words, decimal_years, refuse_objects, shown

OTHER, MISSING = "(other)", "(missing)"
"""Names of the level of rare categories, and of that of missing values."""


class TableError(ValueError):
    """Something is wrong with a table; the message says what and what to do."""


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    ``middle`` is its median, which stands for missing values. ``gaps`` tells whether values were
    missing in training: then a second column says which. ``style`` says how values are written: ""
    for plain numbers, "comma" for decimal commas; for dates it is the format.
    """

    name: str
    middle: float
    gaps: bool
    style: str = ""

    def values(self, column: pd.Series) -> Array:
        """Return the values as floats, NaN where missing."""
        found = as_numbers(column, self.style).to_numpy(dtype=float, na_value=np.nan)
        if not pd.api.types.is_numeric_dtype(column):
            self._refuse(column[column.notna() & np.isnan(found)], "numbers", "Correct the file.")
        if np.isinf(found).any():
            raise TableError(f"column {self.name!r} has infinite values. Correct the file.")
        return found

    def _refuse(self, bad: pd.Series, kind: str, remedy: str) -> None:
        if len(bad):
            others = f"{len(bad) - 1} others" if len(bad) > 1 else "no other such value"
            raise TableError(
                f"column {self.name!r} must hold {kind}, as in training; got "
                f"{shown(bad.iloc[0])} and {others}. {remedy}"
            )

    @property
    def levels_by_name(self) -> dict[str, list[str]]:
        """Labels of the numbers of each encoded column, none for numbers that are themselves."""
        return {self.name: []} | ({f"{self.name} is missing": ["no", "yes"]} if self.gaps else {})

    @property
    def example(self) -> object:
        """A value of the column."""
        return self.middle

    def unknown(self, column: pd.Series) -> list[str]:
        """Return categories that the model does not know: numbers have none."""
        return []

    def encode(self, column: pd.Series) -> dict[str, Array]:
        """Return the columns of numbers that stand for a column."""
        found = self.values(column)
        missing = np.isnan(found)
        out = {self.name: np.where(missing, self.middle, found)}
        if self.gaps:
            out[f"{self.name} is missing"] = missing.astype(float)
        return out


@dataclass(frozen=True)
class Moment(Number):
    """A column of dates or times, as decimal years: the middle of 2024 is 2024.5."""

    @property
    def example(self) -> object:
        """A value of the column."""
        return pd.Timestamp("2000-01-01", tz="UTC")

    def values(self, column: pd.Series) -> Array:
        """Return decimal years, NaN where missing."""
        found = as_moments(column, self.style or "ISO8601")
        bad = column[column.notna() & found.isna()]
        self._refuse(bad, "dates", "Write them as in training.")
        return decimal_years(found)


@dataclass(frozen=True)
class Category:
    """A column of categories, as numbers of its levels.

    Among the levels may be one for rare values and one for missing ones.
    """

    name: str
    levels: list[str]

    @property
    def levels_by_name(self) -> dict[str, list[str]]:
        """Labels of the numbers of the encoded column."""
        return {self.name: self.levels}

    @property
    def example(self) -> object:
        """A value of the column."""
        return self.levels[0]

    def unknown(self, column: pd.Series) -> list[str]:
        """Return categories that the model does not know, where there is no level for them."""
        words = set() if OTHER in self.levels else set(as_words(column.dropna()))
        return sorted(words - set(self.levels))

    def encode(self, column: pd.Series) -> dict[str, Array]:
        """Return numbers of levels; -1, which no kernel knows, for values new to the model."""
        codes = {level: number for number, level in enumerate(self.levels)}
        unknown = codes.get(OTHER, -1)
        words = as_words(column)
        found = words.map(codes).fillna(unknown).to_numpy(dtype=float)
        missing = column.isna().to_numpy()
        return {self.name: np.where(missing, codes.get(MISSING, unknown), found)}


MOST_NAMED = 10
"""Most columns that one message names. Set by judgement, not measured."""


def some_of(names: Sequence[str]) -> str:
    """Return names in quotes, the first ones of many."""
    return ", ".join(map(repr, names[:MOST_NAMED])) + (", ..." if len(names) > MOST_NAMED else "")


Column = Number | Moment | Category

_NUMBER_FIELDS = {"name": str, "middle": float, "gaps": bool, "style": str}
FIELDS: dict[type, dict[str, type]] = {
    Number: _NUMBER_FIELDS,
    Moment: _NUMBER_FIELDS,
    Category: {"name": str, "levels": list},
}
"""Attributes of columns in files, and their types."""


@dataclass(frozen=True)
class TableEncoder:
    """Turns tables into tables of numbers, always the same way, by the columns in use."""

    columns: list[Column]

    @property
    def names(self) -> list[str]:
        """Names of the columns in use."""
        return [column.name for column in self.columns]

    @property
    def levels(self) -> dict[str, list[str]]:
        """Labels of the numbers of those encoded columns that hold categories."""
        return {name: own for name, own in self._encoded.items() if own}

    @property
    def codes(self) -> list[list[float]]:
        """Codes of the levels of each encoded column, none for those of numbers."""
        return [list(map(float, range(len(own)))) for own in self._encoded.values()]

    @property
    def _encoded(self) -> dict[str, list[str]]:
        return {n: own for column in self.columns for n, own in column.levels_by_name.items()}

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table of numbers; columns may come in any order, others are not looked at."""
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise TableError(self._missing(absent, frame))
        parts: dict[str, Array] = {}
        for column in self.columns:
            if why := refuse_objects(frame[column.name].dropna()):
                raise TableError(f"column {column.name!r} {why}. Write it as in training.")
            parts |= column.encode(frame[column.name])
        return pd.DataFrame(parts, index=frame.index)

    def example(self) -> pd.DataFrame:
        """Return a table of one row, as training rows were; TypeError if columns are none."""
        parts: dict[str, list[object]] = {}
        for column in self.columns:
            if not isinstance(column, Column):
                raise TypeError(f"a column is {type(column).__name__}")
            refuse_fields(column, FIELDS[type(column)], "a column")
            refuse_infinite(column, f"the column {column.name!r}")
            if isinstance(column, Category) and not all(type(one) is str for one in column.levels):
                raise TypeError(f"levels of {column.name!r} are no text")
            parts[column.name] = [column.example]
        return pd.DataFrame(parts)

    def _missing(self, absent: list[str], frame: pd.DataFrame) -> str:
        known = set(self.names)
        spare = [str(name) for name in frame.columns if name not in known]
        hints = [
            f"{name!r} may be its {close[0]!r}"
            for name in absent[:MOST_NAMED]
            if (close := get_close_matches(name, spare, 1, 0.6))
        ]
        has = ", ".join(map(repr, spare[:8])) or "none"
        return (
            f"the table lacks {plural(len(absent), 'column')} that the model needs: "
            f"{some_of(absent)}. Columns of it that the model does not know: {has}. "
            + (f"{'; '.join(hints)}: rename it." if hints else "Add them to the file.")
        )

    def unknown(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return values of categories that the model does not know, by column."""
        found = {column.name: column.unknown(frame[column.name]) for column in self.columns}
        return {name: new for name, new in found.items() if new}

    def kernels(self, kind: str) -> list[tuple[str, str]]:
        """Return the ``kernels`` argument for the encoded table: categories, and a kind of ours."""
        return [("categorical" if own else kind, name) for name, own in self._encoded.items()]


def missing_column(name: str, frame: pd.DataFrame, option: str) -> TableError:
    """Return the error that a table has no such column."""
    names = [str(column) for column in frame.columns]
    close = get_close_matches(name, names, 1, 0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return TableError(f"{option} {name!r} is no column of the table.{hint} It has {listed}.")
