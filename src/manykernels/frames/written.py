"""Values as people write them: numbers, dates, words, and what is wrong with a mixture."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..words import plural
from .ways import Ways

CELL_LENGTH = 60
"""Most characters of a value in a message. Set by judgement."""

SEVERAL = (list, tuple, dict, set, np.ndarray, pd.Series, pd.DataFrame, pd.Index)
"""Types of values that are several values."""

BYTES = (bytes, bytearray, memoryview)
"""Types of values that are no text and no numbers."""

LISTS, BLOBS = "holds lists, not single values", "holds binary data"
COMPLEX = "holds complex numbers"
"""What is wrong with columns whose values cannot be used, not even as categories."""

YEAR = 365.2425 * 86_400
"""Seconds in a year."""


MIDNIGHT = " 00:00:00"
"""How the time of a date is written where it is written, too."""


def as_words(column: pd.Series) -> pd.Series:
    """Return values as text, different numbers as different text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [*as_words(column.cat.categories.to_series()), ""]
        return pd.Series([names[code] for code in column.cat.codes], column.index, dtype=object)
    if pd.api.types.is_datetime64_any_dtype(column):  # as text all together, one depends on others
        codes, moments = pd.factorize(column)
        names = [*map(word, moments), ""]
        return pd.Series([names[code] for code in codes], column.index, dtype=object)
    if column.dtype != object and not pd.api.types.is_numeric_dtype(column):
        return column.astype(str).str.strip()
    return pd.Series([word(value) for value in column], column.index, dtype=object)


def word(value: Any) -> str:
    """Return a value as text; whole numbers look the same whether integers or floats.

    A moment at midnight is written as its date.
    """
    if isinstance(value, datetime) and not pd.isna(value) and value.tzinfo is None:
        return str(value).removesuffix(MIDNIGHT)
    if isinstance(value, float | np.floating | Fraction) and isfinite(value):
        value = float(value)
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).strip()


EUROPEAN = r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?"
"""Numbers with decimal commas, in which points set thousands apart: 3,5 and 17.593,03."""

AMERICAN = r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?"
"""Numbers in which commas set thousands apart: 17,593.03."""


GROUPED = r"[+-]?\d{1,3}([\s'])\d{3}(\1\d{3})*([.,]\d+)?"
"""Numbers in which spaces or apostrophes set thousands apart: 17 593.03 and 17'593."""

CURRENCIES = "$€£¥"
"""Signs of currencies, before or after a number."""

MARKED = (
    rf"(?P<sign>[+-]?)\s*(?P<front>[{CURRENCIES}]?)\s*(?P<body>[^{CURRENCIES}%]*?)\s*"
    rf"(?P<back>[{CURRENCIES}%]?)"
)
"""A number with its unit, a currency or percent: -$3.50, 12 %, 7 €."""


WORD = r"\d\s*(?P<word>(?:°|[^\W\d_])(?:[^\W\d_]|[°²³/]){0,11}[23]?)"
"""What stands behind a number as its unit in words: kg, m², km/h, °C."""


def unit_word(words: pd.Series) -> str:
    """Return the word that stands behind all values as their unit, as in 12 kg; empty if none."""
    if not len(words):
        return ""
    for part in (words.iloc[:1], words):  # most columns of text have none
        found = part.astype(object).str.extract(rf"{WORD}\Z")["word"]
        plain = pd.to_numeric(part, errors="coerce").notna()  # such as 1e5
        if plain.any() or not (found == found.iloc[0]).all() or found.iloc[0] == "comma":
            return ""
    return str(found.iloc[0])


def number_style(words: pd.Series) -> str:
    """Return how numbers are written: "comma" for decimal commas, then the unit if there is one.

    Decimal commas are those of "3,5", "17.593,03", "1.234.567"; not of "1,200": that may be a
    thousand, unless another value has both, points first. Words among the numbers say nothing; one
    that all of them have behind them is their unit.
    """
    words = words.drop_duplicates()
    if word := unit_word(words):
        commas = number_style(words.str.removesuffix(word))
        return f"{commas} {word}".strip() if commas in ("", "comma") else ""
    bare, units = _bare(words)
    like = bare.str.fullmatch(r"[+-]?[\d.,]+")
    bare, units = bare[like], units[like]
    marked = bare.str.contains(",") | (bare.str.count(r"\.") > 1)
    european = bare.str.fullmatch(EUROPEAN)[marked].all()
    proof = bare.str.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+,\d+").any()
    doubtful = bare.str.fullmatch(AMERICAN).any()
    comma = bool(marked.any() and european and (proof or not doubtful))
    found = set(units) - {""}
    unit = found.pop() if len(found) == 1 else ""
    return f"{'comma' if comma else ''} {unit}".strip()


def as_numbers(column: pd.Series, style: str) -> pd.Series:
    """Return numbers, NaN for what is none, or has another unit than the style.

    Currencies, percent and thousands are understood. Numbers without a unit may stand beside a
    currency, and beside percent only zero may.
    """
    if pd.api.types.is_numeric_dtype(column):
        return pd.to_numeric(column, errors="coerce")
    days = as_days(column)
    if days is not None:
        return days if style == DAYS else days * np.nan
    numbers, units = _read(as_words(column).where(column.notna()), style)
    unit = unit_of(style)
    currencies = set(units) - {"", "%"}
    if not unit and len(currencies) == 1:
        unit = currencies.pop()
    return numbers.where((units == unit) | ((units == "") & ((unit != "%") | (numbers == 0))))


def unit_of(style: str) -> str:
    """Return the unit of numbers that are written in a style, empty if they have none."""
    first, _, rest = style.partition(" ")
    return rest if first == "comma" else style


DAYS = "days"
"""Style of a column of spans of time, which are numbers of days."""


def as_days(column: pd.Series) -> pd.Series | None:
    """Return spans of time as numbers of days; None for a column of anything else."""
    kind = getattr(column.dtype, "kind", "")
    if kind == "O" and pd.api.types.infer_dtype(column) != "timedelta":
        return None
    if kind not in "mO":
        return None
    spans = pd.to_timedelta(column.astype("timedelta64[ns]"))
    return (spans / pd.Timedelta(days=1)).astype(float)


def mixed_units(words: pd.Series) -> str:
    """Say that numbers have different units, naming two; empty if they do not."""
    numbers, units = _read(words, number_style(words))
    used = numbers.notna() & ((units != "") | (numbers != 0))
    first = {unit: words[used & (units == unit)].iloc[0] for unit in units[used].unique()}
    marks = [unit for unit in first if unit]
    if numbers.notna().mean() < 0.5 or not (len(marks) > 1 or ("%" in first and "" in first)):
        return ""
    one, two = list(first.values())[:2] if len(marks) < 2 else [first[unit] for unit in marks[:2]]
    return f"mixes units (such as {shown(one)} and {shown(two)}; write all values in the same one)"


def _read(words: pd.Series, style: str) -> tuple[pd.Series, pd.Series]:
    """Return numbers, NaN for what is none, and their units; each word is read once."""
    codes, distinct = pd.factorize(words.astype(object), use_na_sentinel=False)
    bare, units = _bare(pd.Series(distinct, dtype=object), unit_of(style))
    if style.partition(" ")[0] == "comma":
        european = bare.str.fullmatch(EUROPEAN)
        points = bare.str.contains(".", regex=False)
        bare = bare.where(european | ~points, "")  # a point that sets no thousands apart
        bare = bare.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    else:
        grouped = bare.str.fullmatch(AMERICAN)
        bare = bare.where(~grouped, bare.str.replace(",", "", regex=False))
    numbers = pd.to_numeric(bare, errors="coerce")
    read = (own.take(codes).set_axis(words.index) for own in (numbers, units))
    return next(read), next(read)


def _bare(words: pd.Series, word: str = "") -> tuple[pd.Series, pd.Series]:
    """Return text without a unit and what sets thousands apart, but points and commas; the unit.

    That is a currency or percent, or the word given. Empty text stands for what cannot be a number.
    """
    words = words.astype(object).str.strip()
    known = pd.Series(data=False, index=words.index)
    if word:
        known = words.str.extract(rf"{WORD}\Z")["word"] == word
        words = words.where(~known, words.str.removesuffix(word))
    parts = words.str.extract(rf"\A{MARKED}\Z").astype(object).fillna("")
    bare = parts["sign"] + parts["body"]
    grouped = bare.str.fullmatch(GROUPED)
    bare = bare.where(~grouped, bare.str.replace(r"[\s']", "", regex=True))
    twice = (parts["front"] != "") & (parts["back"] != "")
    units = parts["front"] + parts["back"]
    return bare.where(~twice, ""), units.where(~known, units + word)


DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
"""Ways to write a date with slashes that some days can be read in both of."""

DATES = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", DAY_FIRST, MONTH_FIRST, "%d-%m-%Y")
"""Ways to write a date, in the order in which they are tried on all values of a column. A time of
day may follow each."""

CLOCK = r"(?:,?\s+(\d|[01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*([AaPp][Mm])?)?"
"""A time of day behind a date, if there is one: 19:36, 7:36:05.5 or 7:36 PM."""

ZONE = r":[\d.]+([+-]\d\d:?(?:\d\d)?)$"
"""The hours and minutes that a time is ahead of UTC, behind it: 19:36:05+02:00."""

DATE_AND_CLOCK = rf"(\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}){CLOCK}"
"""A date as people write it, and its time of day."""

FIRST_LOOK = 100
"""Values of a column that are looked at before all: most columns of text hold no dates. Set by
judgement."""


def date_formats(column: pd.Series) -> list[str]:
    """Return the ways in which all values of a column can be read as dates."""
    if pd.api.types.is_numeric_dtype(column):
        return []
    if pd.api.types.is_datetime64_any_dtype(column):
        return [DATES[0]]
    found = list(DATES)
    for part in (column.iloc[:FIRST_LOOK], column):
        found = [style for style in found if as_moments(part, style).notna().all()]
    return found


def is_ambiguous(formats: Collection[str]) -> bool:
    """Tell whether dates that can be read in these ways may begin with the day or the month."""
    return {DAY_FIRST, MONTH_FIRST} <= set(formats)


def as_moments(column: pd.Series, style: str) -> pd.Series:
    """Return dates and times, NaT for what is none."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return pd.to_datetime(column, utc=True)
    if pd.api.types.is_numeric_dtype(column):
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns, UTC]")
    words = column.astype(str).str.strip().where(column.notna())
    if style in ("", "ISO8601"):
        return pd.to_datetime(words, format="ISO8601", errors="coerce", utc=True)
    parts = words.astype(object).str.extract(f"^{DATE_AND_CLOCK}$")
    days = pd.to_datetime(parts[0], format=style, errors="coerce", utc=True)
    return days + _clock(parts[1], parts[2], parts[3], parts[4])


def names_zones(column: pd.Series) -> bool:
    """Tell whether a column of dates says that some are of another time zone than UTC."""
    if pd.api.types.is_datetime64_any_dtype(column):
        zone = getattr(getattr(column.dtype, "pyarrow_dtype", column.dtype), "tz", None)
        return zone is not None and str(zone) != "UTC"
    shifts = column.astype(str).str.strip().str.extract(ZONE)[0].dropna()
    return bool(shifts.str.contains("[1-9]").any())


def _clock(hours: pd.Series, minutes: pd.Series, seconds: pd.Series, half: pd.Series) -> pd.Series:
    """Return the time since midnight, zero where none is written, NaT for an hour such as 13 PM."""
    hour, half = pd.to_numeric(hours).fillna(0), half.astype(object).str.upper()
    wrong = half.notna() & ~hour.between(1, 12)
    hour = hour.where(half.isna(), hour % 12 + 12 * (half == "PM"))
    whole = 3600 * hour + 60 * pd.to_numeric(minutes).fillna(0) + pd.to_numeric(seconds).fillna(0)
    return pd.to_timedelta(whole.where(~wrong), unit="s")


def decimal_years(moments: pd.Series) -> Array:
    """Return moments as years since year 0, with fractions."""
    seconds = (moments - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(seconds=1)
    return 1970 + seconds.to_numpy(dtype=float) / YEAR


def moments_of(*years: float) -> list[datetime]:
    """Return decimal years as moments, to the second; none if one is beyond the calendar."""
    if not all(MINYEAR <= year < MAXYEAR for year in years):
        return []
    return [datetime(1970, 1, 1) + timedelta(seconds=round((y - 1970) * YEAR)) for y in years]


def written_years(*years: float) -> list[str]:
    """Return decimal years as dates, with the time of day if one of them is not at midnight."""
    moments = moments_of(*years)
    if not moments:
        return [f"{year:.10g}" for year in years]
    days = all(moment.hour == moment.minute == moment.second == 0 for moment in moments)
    return [f"{moment:%Y-%m-%d}" if days else f"{moment:%Y-%m-%d %H:%M}" for moment in moments]


def mixture(column: pd.Series, numbers: pd.Series, ways: Ways) -> str:
    """Say what is wrong with a column of which only most values are numbers."""
    odd = column[numbers.isna()]
    first = odd.iloc[0]
    text = isinstance(first, str) and len(first) <= CELL_LENGTH
    meant = f"; if that stands for a missing value, {ways.gap(first)}" if text else ""
    kind = "text" if isinstance(first, str) else f"values of {type(first).__name__}"
    return f"mixes numbers and {kind} (such as {shown(first)}, in {plural(len(odd), 'row')}{meant})"


def shown(value: Any) -> str:
    """Return a value for a message, the beginning of a long one."""
    if isinstance(value, str) and len(value) > CELL_LENGTH:
        value = value[: CELL_LENGTH - 3] + "..."
    text = repr(value)
    return text if len(text) <= 2 * CELL_LENGTH else text[: 2 * CELL_LENGTH] + "..."


def refuse_objects(column: pd.Series) -> str:
    """Say why the values of a column are no text, date or real number each; empty if they are."""
    if pd.api.types.is_complex_dtype(column):
        return COMPLEX
    if isinstance(column.dtype, pd.ArrowDtype):
        kind = column.dtype.type
        return LISTS if issubclass(kind, list | dict) else BLOBS if kind is bytes else ""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _no_unicode(column.cat.categories)
    if column.dtype != object and getattr(column.dtype, "storage", "") != "python":
        return ""
    for kinds, why in ((SEVERAL, LISTS), (BYTES, BLOBS), (complex | np.complexfloating, COMPLEX)):
        if column.map(lambda value, kinds=kinds: isinstance(value, kinds)).any():
            return why
    return _no_unicode(column)


def _no_unicode(values: Iterable[Any]) -> str:
    """Say which value is text that cannot be written; empty if there is none."""
    for value in values:
        if isinstance(value, str) and not is_unicode(value):
            return f"holds text that is no Unicode, such as {shown(value)}"
    return ""


def is_unicode(text: str) -> bool:
    """Tell whether text can be written: it has no lone surrogates, left by a wrong encoding."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def target_values(column: pd.Series, task: str) -> Array:
    """Return a target as an estimator takes it: floats, or classes by name."""
    if task == "regression":
        words = column if pd.api.types.is_numeric_dtype(column) else as_words(column)
        style = "" if words is column else number_style(words)
        return as_numbers(words, style).to_numpy(dtype=float)
    return as_words(column).to_numpy(dtype=str)
