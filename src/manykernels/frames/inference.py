"""What the columns of a table are, from their values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pandas as pd

from ..arrays import Array
from ..inputs import weighted_median
from ..words import listing, plural
from .columns import (
    MISSING,
    MOST_NAMED,
    OTHER,
    SLACK,
    Category,
    Column,
    Moment,
    Number,
    TableError,
    level_of,
    plain_numbers,
    some_of,
)
from .dates import parts_of_dates
from .ways import PYTHON, Ways
from .written import (
    DAYS,
    as_days,
    as_moments,
    as_numbers,
    as_words,
    date_formats,
    decimal_years,
    is_ambiguous,
    mixed_units,
    mixture,
    names_zones,
    number_style,
    refuse_objects,
    shown,
    unit_word,
)

MOST_CATEGORIES = 100
"""Most categories of a column that have a level of their own; rarer ones are one level together. Of
30 and 100, on drawn tables of 400 to 5,000 rows with 60 to 100 categories, two each: R2 .26 and .91
where these alone matter, .64 and .86 beside four numbers, .64 and .85 with two more such columns,
.78 and .89 where few are frequent, .90 and .90 where they do nothing; in about the same time."""

MANY_VALUES = 30
"""Values from which on a column of text may be identifiers or free text, if most of its rows have
one of their own. Set by judgement, not measured."""

LEAST_IDENTIFIERS = 20
"""Fewest values of a column that may look like an identifier. Set by judgement, not measured."""


STEPS = 10
"""How far dates may lie beyond the training range before that is said, in mean steps from one date
to the next: a day left out at random of a drawn table is as far beyond once in 20,000 times."""


@dataclass
class Findings:
    """What was found while a table was looked at: notes for people, and columns left out.

    Columns ``no_values`` hold lists or the like, which are no categories either.
    """

    ways: Ways = PYTHON
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    no_values: list[str] = field(default_factory=list)
    doubtful: dict[str, str] = field(default_factory=dict)


def learn_columns(
    frame: pd.DataFrame,
    weights: Array,
    categories: Collection[str] = (),
    keep: Collection[str] = (),
    ways: Ways = PYTHON,
    strict: bool = False,
) -> tuple[list[Column], list[str]]:
    """Return the columns in use of training rows without the target, and notes about all.

    ``weights`` are those of the rows, all positive; medians and the most frequent categories are
    by them. ``categories`` names columns to take as categories whatever they look like, ``keep``
    those that are no identifiers though they look like it, ``ways`` has what messages advise. Other
    identifiers and free text are left out with a note; ``strict`` raises in place of that.
    """
    findings, plain = Findings(ways), plain_numbers(frame)
    columns: list[Column] = []
    for name in frame.columns:
        if name in plain and name not in categories:
            there = ~np.isnan(plain[name])
            values = plain[name][there]
            if not len(values):
                findings.left_out.setdefault("no values", []).append(str(name))
            elif len(values) == len(frame) and (values == values[0]).all():
                findings.left_out.setdefault("the same value everywhere", []).append(str(name))
            else:
                gaps = len(values) < len(frame)
                number = _number(str(name), values, weights[there], gaps, name in keep, findings)
                columns += [] if number is None else [number]
            continue
        column = frame[name]
        known = column.dropna()
        gaps = len(known) < len(column)
        if why := refuse_objects(known):
            findings.unusable[str(name)] = why
            findings.no_values.append(str(name))
        elif known.empty:
            findings.left_out.setdefault("no values", []).append(str(name))
        elif not gaps and (known == known.iloc[0]).all():
            findings.left_out.setdefault("the same value everywhere", []).append(str(name))
        else:
            own = weights[column.notna().to_numpy()]
            found = _learn(str(name), known, own, gaps, name in categories, name in keep, findings)
            columns += [] if found is None else [found]
    if strict:
        findings.unusable = findings.doubtful | findings.unusable
    if findings.unusable:
        shown = dict(islice(findings.unusable.items(), MOST_NAMED))
        able = next((name for name in shown if name not in findings.no_values), "")
        more = " ..." if len(findings.unusable) > len(shown) else ""
        listed = "; ".join(f"{name!r} {why}" for name, why in shown.items()) + more
        raise TableError(
            f"{plural(len(findings.unusable), 'column')} cannot be used as "
            f"{'it is' if len(findings.unusable) == 1 else 'they are'}: {listed}. "
            + ways.out(list(shown), able, strict and bool(findings.doubtful), bool(more))
        )
    left_out = [note for why, names in findings.left_out.items() for note in _notes(why, names)]
    doubts = _doubts(findings.doubtful, ways)
    for note in doubts:
        ways.tell(note)
    left_out += doubts
    return columns, left_out + findings.notes


def _doubts(doubtful: dict[str, str], ways: Ways) -> list[str]:
    """Return a note for each column left out that looks like an identifier, or one for many."""
    if len(doubtful) > MOST_NAMED:
        names = list(doubtful)
        return [
            f"{len(names):,} columns look like identifiers or free text; they are left out: "
            f"{some_of(names)}. {ways.kept(names[0])}"
        ]
    return [
        f"column {name!r} {why}; it is left out. {ways.kept(name)}"
        for name, why in doubtful.items()
    ]


def _notes(why: str, names: list[str]) -> list[str]:
    """Return a note for each column that is left out, or one for many of them."""
    if len(names) > MOST_NAMED:
        return [f"{len(names):,} columns have {why}; they are left out: {some_of(names)}."]
    return [f"column {name!r} has {why}; it is left out." for name in names]


def _learn(
    name: str,
    known: pd.Series,
    weights: Array,
    gaps: bool,
    as_category: bool,
    keep: bool,
    found: Findings,
) -> Column | None:
    """Return a column of a kind, given its values and their weights, or say why it is of none."""
    words = pd.api.types.is_bool_dtype(known) or isinstance(known.dtype, pd.CategoricalDtype)
    if as_category or words:
        return _category(name, known, weights, gaps, found)
    if pd.api.types.is_datetime64_any_dtype(known):
        return _moment(name, known, weights, gaps, "", found)
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_complex_dtype(known):
        return _number(name, known.to_numpy(dtype=float), weights, gaps, keep, found)
    days = as_days(known)
    if days is not None:
        found.notes.append(f"column {name!r} holds spans of time; they are taken as days.")
        return Number(name, *_middle(days.to_numpy(), weights, gaps, DAYS))
    return _words(name, known, weights, gaps, keep, found)


def _number(
    name: str,
    values: Array,
    weights: Array,
    gaps: bool,
    keep: bool,
    found: Findings,
    style: str = "",
) -> Number | None:
    """Return a column of numbers, given those that are not missing, or say why it is none."""
    if np.isinf(values).any():
        found.unusable[name] = "has infinite values"
        return None
    if _row_numbers(values) and not keep:
        found.doubtful[name] = "looks like row numbers (whole, all different, few gaps)"
        return None
    return Number(name, *_middle(values, weights, gaps, style))


def _middle(
    values: Array, weights: Array, gaps: bool, style: str
) -> tuple[float, bool, str, tuple[float, float]]:
    """Return what is kept of values: the median, whether some were missing, how, and the ends."""
    ends = float(values.min()), float(values.max())
    return float(weighted_median(values, weights)), gaps, style, ends


def _moment(
    name: str, known: pd.Series, weights: Array, gaps: bool, style: str, found: Findings
) -> Moment:
    """Return a column of dates, given those that are not missing; note what it becomes."""
    moments = as_moments(known, style)
    years = decimal_years(moments)
    slack = min(SLACK, STEPS / len(np.unique(years)))
    parts = parts_of_dates(moments, weights)
    others = [repr(f"{name}, {part}") for part, _ in parts]
    becomes = listing(["its decimal year", *others])
    zone = ", in UTC" if parts and names_zones(known) else ""
    found.notes.append(f"column {name!r} holds dates: it becomes {becomes}{zone}.")
    return Moment(name, *_middle(years, weights, gaps, style), slack, parts)


def _words(
    name: str, known: pd.Series, weights: Array, gaps: bool, keep: bool, found: Findings
) -> Column | None:
    """Return a column of text as dates or categories, or say why it is neither."""
    words = as_words(known)
    style = number_style(words)
    numbers = as_numbers(words, style)
    share = float(np.average(numbers.notna(), weights=weights))
    if why := mixed_units(words):
        found.unusable[name] = why
        return None
    if numbers.notna().all():
        values = numbers.to_numpy(dtype=float)
        if word := unit_word(words):
            found.notes.append(f"column {name!r} holds numbers with the unit {word!r}.")
            return _number(name, values, weights, gaps, keep, found, style)
        return Number(name, *_middle(values, weights, gaps, style))
    if share >= 0.5:
        found.unusable[name] = mixture(known, numbers, found.ways)
        return None
    formats = date_formats(known)
    if formats and not is_ambiguous(formats):
        return _moment(name, known, weights, gaps, formats[0], found)
    if formats:
        found.unusable[name] = (
            f"has dates that may begin with the day or with the month (such as "
            f"{shown(words.iloc[0])}; write them as 2024-05-31)"
        )
        return None
    distinct, length = words.nunique(), float(words.str.len().mean())
    many = distinct > MANY_VALUES and distinct > 0.5 * len(words)
    if not keep and len(words) >= LEAST_IDENTIFIERS and (many or (length > 40 and distinct > 10)):
        kind = "free text" if length > 20 else "identifiers or free text"
        found.doubtful[name] = (
            f"looks like {kind} ({distinct} different values in {len(words)} rows, such as "
            f"{_cut(words.iloc[0])!r})"
        )
        return None
    return _category(name, known, weights, gaps, found)


def _category(name: str, known: pd.Series, weights: Array, gaps: bool, found: Findings) -> Category:
    counts = pd.Series(weights).groupby(as_words(known).to_numpy(), sort=False).sum()
    common = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES].tolist()
    levels = _in_order(list(map(level_of, common)), known)
    if len(counts) > MOST_CATEGORIES:
        levels.append(OTHER)
        found.notes.append(
            f"column {name!r} has {len(counts)} categories; the {MOST_CATEGORIES} most frequent "
            f"have a level each, the rest is {OTHER!r}."
        )
    if gaps:
        levels.append(MISSING)
    return Category(name, levels)


def _in_order(levels: list[str], known: pd.Series) -> list[str]:
    """Return levels as an ordered categorical type has them, else by name."""
    if not (isinstance(known.dtype, pd.CategoricalDtype) and known.cat.ordered):
        return sorted(levels)
    order = as_words(known.cat.categories.to_series()).map(level_of).tolist()
    return sorted(levels, key=order.index)


def _row_numbers(values: Array) -> bool:
    if len(values) < LEAST_IDENTIFIERS or np.any(values != np.round(values)):
        return False
    # Some rows may be missing: held out for the score, say.
    return len(np.unique(values)) == len(values) and bool(np.ptp(values) < 1.6 * len(values))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
