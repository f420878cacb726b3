"""Kinds of columns and the numbers that stand for their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd

from ..arrays import Array
from ..words import plural
from .written import as_moments, as_numbers, as_words, decimal_years

OTHER, MISSING = "(other)", "(missing)"
"""Names of the level of rare categories, and of that of missing values."""


class TableError(ValueError):
    """Something is wrong with a table; the message says what and what to do."""


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    Attributes
    ----------
    name : str
        Name of the column.
    middle : float
        Its median, which stands for missing values.
    gaps : bool
        Whether values were missing in training: then a second column says which.
    style : str
        How the values are written: "" for plain numbers, "comma" for decimal commas; for dates
        the format.
    """

    name: str
    middle: float
    gaps: bool
    style: str = ""

    def values(self, column: pd.Series) -> Array:
        """Return the values as floats, NaN where missing."""
        found = as_numbers(column, self.style).to_numpy(dtype=float, na_value=np.nan)
        bad = column.notna().to_numpy() & np.isnan(found)
        if bad.any():
            example = column[bad].iloc[0]
            raise TableError(
                f"column {self.name!r} must hold numbers, as in training; got {example!r} and "
                f"{_others(int(bad.sum()) - 1)}. Correct the file."
            )
        if np.isinf(found).any():
            raise TableError(f"column {self.name!r} has infinite values. Correct the file.")
        return found

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

    def values(self, column: pd.Series) -> Array:
        """Return decimal years, NaN where missing."""
        found = as_moments(column, self.style or "ISO8601")
        bad = column.notna() & found.isna()
        if bad.any():
            raise TableError(
                f"column {self.name!r} must hold dates, as in training; got "
                f"{column[bad].iloc[0]!r} and {_others(int(bad.sum()) - 1)}. Write them as in "
                "training."
            )
        return decimal_years(found)


@dataclass(frozen=True)
class Category:
    """A column of categories, as numbers of its levels.

    Attributes
    ----------
    name : str
        Name of the column.
    levels : list of str
        The levels; among them may be one for rare values and one for missing ones.
    """

    name: str
    levels: list[str]

    def encode(self, column: pd.Series) -> dict[str, Array]:
        """Return numbers of levels; -1, which no kernel knows, for values new to the model."""
        codes = {level: number for number, level in enumerate(self.levels)}
        unknown = codes.get(OTHER, -1)
        words = as_words(column)
        found = words.map(codes).fillna(unknown).to_numpy(dtype=float)
        missing = column.isna().to_numpy()
        return {self.name: np.where(missing, codes.get(MISSING, unknown), found)}


Column = Number | Moment | Category


@dataclass(frozen=True)
class TableEncoder:
    """Turns tables into tables of numbers, always the same way.

    Attributes
    ----------
    columns : list of Number, Moment or Category
        The columns in use.
    """

    columns: list[Column]

    @property
    def names(self) -> list[str]:
        """Names of the columns in use."""
        return [column.name for column in self.columns]

    @property
    def levels(self) -> dict[str, list[str]]:
        """Labels of the numbers of those encoded columns that hold categories."""
        found = {c.name: c.levels for c in self.columns if isinstance(c, Category)}
        gaps = [c.name for c in self.columns if isinstance(c, Number) and c.gaps]
        return found | {f"{name} is missing": ["no", "yes"] for name in gaps}

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table of numbers; columns may come in any order, others are not looked at."""
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise TableError(self._missing(absent, frame))
        parts: dict[str, Array] = {}
        for column in self.columns:
            parts |= column.encode(frame[column.name])
        return pd.DataFrame(parts, index=frame.index)

    def _missing(self, absent: list[str], frame: pd.DataFrame) -> str:
        spare = [str(name) for name in frame.columns if name not in self.names]
        hints = [
            f"{name!r} may be its {close[0]!r}"
            for name in absent
            if (close := get_close_matches(name, spare, 1, 0.6))
        ]
        has = ", ".join(map(repr, spare[:8])) or "none"
        return (
            f"the table lacks {plural(len(absent), 'column')} that the model needs: "
            f"{', '.join(map(repr, absent))}. Columns of it that the model does not know: {has}. "
            + (f"{'; '.join(hints)}: rename it." if hints else "Add them to the file.")
        )

    def unknown(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return values of categories that the model does not know, by column."""
        found = {}
        for column in self.columns:
            if isinstance(column, Category) and OTHER not in column.levels:
                words = as_words(frame[column.name].dropna())
                new = sorted(set(words) - set(column.levels))
                if new:
                    found[column.name] = new
        return found

    def codes(self, names: Iterable[str]) -> list[list[float]]:
        """Return the codes of the levels of encoded columns, none for those of numbers."""
        return [list(map(float, range(len(self.levels.get(name, ()))))) for name in names]

    def kernels(self, kind: str) -> list[tuple[str, str]]:
        """Return the ``kernels`` argument for the encoded table: categories, and a kind of ours."""
        names = self.levels
        encoded = [
            name
            for column in self.columns
            for name in (column.name, f"{column.name} is missing")
            if name == column.name or name in names
        ]
        return [("categorical" if name in names else kind, name) for name in encoded]


def _others(count: int) -> str:
    return "no other such value" if count == 0 else f"{count} others"


def missing_column(name: str, frame: pd.DataFrame, option: str) -> TableError:
    """Return the error that a table has no such column."""
    names = [str(column) for column in frame.columns]
    close = get_close_matches(name, names, 1, 0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return TableError(f"{option} {name!r} is no column of the table.{hint} It has {listed}.")
