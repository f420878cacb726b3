"""What the columns of a table are, from their values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pandas as pd

from ..arrays import Array
from ..words import plural
from .columns import (
    MISSING,
    MOST_NAMED,
    OTHER,
    Category,
    Column,
    Moment,
    Number,
    TableEncoder,
    TableError,
    some_of,
)
from .written import (
    as_moments,
    as_numbers,
    as_words,
    date_formats,
    decimal_years,
    mixture,
    number_style,
    quoted,
    refuse_objects,
    shown,
)

MOST_CATEGORIES = 30
"""Most categories of a column that have a level of their own; rarer ones are one level together.
Set by judgement, not measured."""

LEAST_IDENTIFIERS = 20
"""Fewest values of a column that may look like an identifier. Set by judgement, not measured."""


@dataclass
class Findings:
    """What was found while a table was looked at: notes for people, and columns left out."""

    notes: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False


def learn_columns(
    frame: pd.DataFrame, categories: Collection[str], keep: Collection[str]
) -> tuple[TableEncoder, list[str]]:
    """Return an encoder for training rows without the target, and notes about them.

    ``categories`` names columns to take as categories whatever they look like, ``keep`` those that
    are no identifiers though they look like it.
    """
    findings, columns = Findings(), []
    for name in frame.columns:
        column = frame[name]
        known = column.dropna()
        numeric = pd.api.types.is_numeric_dtype(known)
        if not numeric and (why := refuse_objects(known)):
            findings.unusable[str(name)] = why
        elif known.empty:
            findings.left_out.setdefault("no values", []).append(str(name))
        elif len(known) == len(column) and (known == known.iloc[0]).all():
            findings.left_out.setdefault("the same value everywhere", []).append(str(name))
        else:
            found = _learn(str(name), column, known, name in categories, name in keep, findings)
            columns += [] if found is None else [found]
    if findings.unusable:
        shown = dict(islice(findings.unusable.items(), MOST_NAMED))
        more = " ..." if len(findings.unusable) > len(shown) else ""
        listed = "; ".join(f"{name!r} {why}" for name, why in shown.items()) + more
        drops = " ".join(f"--drop {quoted(name)}" for name in shown) + more
        doubt = ", or, if it is no identifier, as it is with --keep NAME"
        raise TableError(
            f"{plural(len(findings.unusable), 'column')} cannot be used as "
            f"{'it is' if len(findings.unusable) == 1 else 'they are'}: {listed}. Correct the "
            f"file; or drop with: {drops}; or take a column as categories with --category NAME"
            f"{doubt if findings.doubtful else ''}."
        )
    if not columns:
        raise TableError("no column is left to predict from. Look at the notes above it.")
    left_out = [note for why, names in findings.left_out.items() for note in _notes(why, names)]
    return TableEncoder(columns), left_out + findings.notes


def _notes(why: str, names: list[str]) -> list[str]:
    """Return a note for each column that is left out, or one for many of them."""
    if len(names) > MOST_NAMED:
        return [f"{len(names):,} columns have {why}; they are left out: {some_of(names)}."]
    return [f"column {name!r} has {why}; it is left out." for name in names]


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
            f"{shown(words.iloc[0])}; write them as 2024-05-31)"
        )
        return None
    distinct, length = words.nunique(), float(words.str.len().mean())
    many = distinct > MOST_CATEGORIES and distinct > 0.5 * len(words)
    if not keep and len(words) >= LEAST_IDENTIFIERS and (many or (length > 40 and distinct > 10)):
        kind = "free text" if length > 20 else "identifiers or free text"
        found.unusable[name] = (
            f"looks like {kind} ({distinct} different values in {len(words)} rows, such as "
            f"{_cut(words.iloc[0])!r})"
        )
        found.doubtful = True
        return None
    return _category(name, column, found)


def _category(name: str, column: pd.Series, found: Findings) -> Category:
    words = as_words(column.dropna())
    counts = words.value_counts(sort=False)
    common = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES].tolist()
    levels = sorted(common)
    if len(counts) > MOST_CATEGORIES:
        levels.append(OTHER)
        found.notes.append(
            f"column {name!r} has {len(counts)} categories; the {MOST_CATEGORIES} most frequent "
            f"have a level each, the rest is {OTHER!r}."
        )
    if column.isna().any():
        levels.append(MISSING)
    return Category(name, levels)


def _row_numbers(values: Array) -> bool:
    if len(values) < LEAST_IDENTIFIERS or np.any(values != np.round(values)):
        return False
    # Some rows may be missing: held out for the score, say.
    return len(np.unique(values)) == len(values) and bool(np.ptp(values) < 1.6 * len(values))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
