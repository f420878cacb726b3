"""Columns of a table and the numbers that stand for their values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..words import plural

LEVELS = 30
"""Most categories of a column that have a level of their own; rarer ones are one level together."""

OTHER, MISSING = "(other)", "(missing)"

FEW_ROWS = 20
"""With fewer values than this nothing looks like an identifier."""

YEAR = 365.2425 * 86_400
"""Seconds in a year."""


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
class Encoder:
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


@dataclass
class Findings:
    """What was found while a table was looked at: notes for people, and columns left out."""

    notes: list[str] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False


def learn_columns(frame: pd.DataFrame, categories: Collection[str], keep: Collection[str]) -> Any:
    """Return an encoder for a table, and notes about it.

    Parameters
    ----------
    frame : DataFrame
        Training rows without the target.
    categories : collection of str
        Columns to take as categories whatever they look like.
    keep : collection of str
        Columns that are not identifiers, though they look like it.
    """
    findings, columns = Findings(), []
    for name in frame.columns:
        column = frame[name]
        known = column.dropna()
        if known.map(lambda value: isinstance(value, list | dict | np.ndarray)).any():
            findings.unusable[str(name)] = "holds lists, not single values"
        elif known.empty:
            findings.notes.append(f"column {name!r} has no values; it is left out.")
        elif len(known) == len(column) and (known == known.iloc[0]).all():
            findings.notes.append(f"column {name!r} has the same value everywhere; it is left out.")
        else:
            found = _learn(str(name), column, known, name in categories, name in keep, findings)
            columns += [] if found is None else [found]
    if findings.unusable:
        listed = "; ".join(f"{name!r} {why}" for name, why in findings.unusable.items())
        drops = " ".join(f"--drop {_quoted(name)}" for name in findings.unusable)
        doubt = ", or, if it is no identifier, as it is with --keep NAME"
        raise TableError(
            f"{plural(len(findings.unusable), 'column')} cannot be used as "
            f"{'it is' if len(findings.unusable) == 1 else 'they are'}: {listed}. Correct the "
            f"file; or drop with: {drops}; or take a column as categories with --category NAME"
            f"{doubt if findings.doubtful else ''}."
        )
    if not columns:
        raise TableError("no column is left to predict from. Look at the notes above it.")
    return Encoder(columns), findings.notes


def _learn(
    name: str, column: pd.Series, known: pd.Series, as_category: bool, keep: bool, found: Findings
) -> Column | None:
    gaps = len(known) < len(column)
    if as_category or known.dtype == bool or isinstance(known.dtype, pd.CategoricalDtype):
        return _category(name, column, found)
    if pd.api.types.is_datetime64_any_dtype(known):
        return Moment(name, float(np.median(decimal_years(as_moments(known, "")))), gaps)
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_complex_dtype(known):
        values = known.to_numpy(dtype=float)
        if np.isinf(values).any():
            found.unusable[name] = "has infinite values"
            return None
        if _row_numbers(values) and not keep:
            found.unusable[name] = "looks like row numbers (whole, all different, few gaps)"
            found.doubtful = True
            return None
        return Number(name, float(np.median(values)), gaps)
    return _words(name, column, known, keep, found)


def _words(
    name: str, column: pd.Series, known: pd.Series, keep: bool, found: Findings
) -> Column | None:
    """Return a column of text as dates or categories, or say why it is neither."""
    words = as_words(known)
    gaps = len(known) < len(column)
    style = number_style(words)
    numbers = as_numbers(words, style)
    share = float(numbers.notna().mean())
    if share == 1:
        return Number(name, float(numbers.median()), gaps, style)
    if share >= 0.5:
        found.unusable[name] = mixture(words, numbers)
        return None
    formats = date_formats(known)
    if formats and not {"%d/%m/%Y", "%m/%d/%Y"} <= set(formats):
        years = decimal_years(as_moments(known, formats[0]))
        return Moment(name, float(np.median(years)), gaps, formats[0])
    if formats:
        found.unusable[name] = (
            f"has dates that may begin with the day or with the month (such as "
            f"{words.iloc[0]!r}; write them as 2024-05-31)"
        )
        return None
    distinct, length = words.nunique(), float(words.str.len().mean())
    many = distinct > LEVELS and distinct > 0.5 * len(words)
    if not keep and len(words) >= FEW_ROWS and (many or (length > 40 and distinct > 10)):
        kind = "free text" if length > 20 else "identifiers or free text"
        found.unusable[name] = (
            f"looks like {kind} ({distinct} different values in {len(words)} rows, such as "
            f"{_cut(words.iloc[0])!r})"
        )
        found.doubtful = True
        return None
    return _category(name, column, found)


def mixture(words: pd.Series, numbers: pd.Series) -> str:
    """Say what is wrong with a column of which only most values are numbers."""
    odd = words[numbers.isna()]
    return (
        f"mixes numbers and text (such as {odd.iloc[0]!r}, in {plural(len(odd), 'row')}; if that "
        f"stands for a missing value, use --na {_quoted(odd.iloc[0])})"
    )


def _category(name: str, column: pd.Series, found: Findings) -> Category:
    words = as_words(column.dropna())
    counts = words.value_counts(sort=False)
    common = counts.sort_values(ascending=False, kind="stable").index[:LEVELS].tolist()
    levels = sorted(common)
    if len(counts) > LEVELS:
        levels.append(OTHER)
        found.notes.append(
            f"column {name!r} has {len(counts)} categories; the {LEVELS} most frequent have a "
            f"level each, the rest is {OTHER!r}."
        )
    if column.isna().any():
        levels.append(MISSING)
    return Category(name, levels)


def as_words(column: pd.Series) -> pd.Series:
    """Return values as text; whole numbers look the same whether stored as integers or floats."""
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return column.astype(str).str.strip()
    return column.map(lambda value: f"{value:.15g}" if pd.notna(value) else "")


def number_style(words: pd.Series) -> str:
    """Return "comma" for text with decimal commas, such as "3,5"; not "1,200", a thousand."""
    bare = _bare(words)
    decimal = bare.str.fullmatch(r"[+-]?\d+(,\d+)?") & ~bare.str.fullmatch(r"[+-]?\d{1,3}(,\d{3})+")
    commas = bare.str.contains(",")
    return "comma" if bool(commas.any() and decimal[commas].all()) else ""


def as_numbers(column: pd.Series, style: str) -> pd.Series:
    """Return numbers, NaN for what is none; currencies, percent and thousands are understood."""
    if pd.api.types.is_numeric_dtype(column):
        return pd.to_numeric(column, errors="coerce")
    bare = _bare(column.astype(str).where(column.notna()))
    if style == "comma":
        bare = bare.str.replace(",", ".", regex=False)
    else:
        grouped = bare.str.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?").fillna(False).astype(bool)
        bare = bare.where(~grouped, bare.str.replace(",", "", regex=False))
    return pd.to_numeric(bare, errors="coerce")


def _bare(words: pd.Series) -> pd.Series:
    """Return text without spaces, a currency in front or behind, and percent signs."""
    bare = words.astype(object).str.replace(r"[\s\u00a0']", "", regex=True)
    return bare.str.replace(r"^([+-]?)[$€£¥]|[$€£¥%]$", r"\1", regex=True)


DATES = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
"""How dates may be written; the first that fits all values, but for days and months."""


def date_formats(column: pd.Series) -> list[str]:
    """Return the ways in which all values of a column can be read as dates."""
    if pd.api.types.is_numeric_dtype(column):
        return []
    return [style for style in DATES if as_moments(column, style).notna().all()]


def as_moments(column: pd.Series, style: str) -> pd.Series:
    """Return dates and times, NaT for what is none."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return pd.to_datetime(column, utc=True)
    if pd.api.types.is_numeric_dtype(column):
        return pd.Series(pd.NaT, index=column.index)
    words = column.astype(str).str.strip().where(column.notna())
    return pd.to_datetime(words, format=style or "ISO8601", errors="coerce", utc=True)


def decimal_years(moments: pd.Series) -> Array:
    """Return moments as years since year 0, with fractions."""
    seconds = (moments - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(seconds=1)
    return 1970 + seconds.to_numpy(dtype=float) / YEAR


def _row_numbers(values: Array) -> bool:
    if len(values) < FEW_ROWS or np.any(values != np.round(values)):
        return False
    # Some rows may be missing: held out for the score, say.
    return len(np.unique(values)) == len(values) and bool(np.ptp(values) < 1.6 * len(values))


def _others(count: int) -> str:
    return "no other such value" if count == 0 else f"{count} others"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'


def missing_column(name: str, frame: pd.DataFrame, option: str) -> TableError:
    """Return the error that a table has no such column."""
    names: Sequence[str] = [str(column) for column in frame.columns]
    close = get_close_matches(name, names, 1, 0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return TableError(f"{option} {name!r} is no column of the table.{hint} It has {listed}.")
