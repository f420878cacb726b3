"""Entries of a table as a reader wrote them: names of levels, dates, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..frames.dates import HOUR
from ..frames.written import moments_of
from ..words import MINUS, number

FEWEST_DIGITS, MOST_DIGITS = 3, 17
"""Digits of a number that is not whole: at least, and as many as tell any two numbers apart."""

SEPARATED = 10_000
"""Size from which on thousands stand apart: below it are years, and numbers of things."""


def two_entries(
    low: float,
    high: float,
    levels: Mapping[Any, Any] | Sequence[Any] | None,
    part: str | None = None,
) -> tuple[str, str]:
    """Return two entries of one column as texts that tell them apart.

    ``levels`` says what codes mean, and ``part`` which part of a date numbers are: "" says that
    they are decimal years.
    """
    if levels is not None:
        return level(levels, low), level(levels, high)
    if part == "":
        return two_dates(low, high)
    if part == HOUR:
        return two_times(low, high)
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        texts = plain(low, digits), plain(high, digits)
        if low == high or texts[0] != texts[1]:
            break
    return texts


def plain(value: float, digits: int = FEWEST_DIGITS) -> str:
    r"""Return a number as it may stand in a table: whole ones in full.

    Examples
    --------
    >>> plain(2022), plain(2015.04), plain(-31250), plain(0.01234), plain(1999.96, 6)
    ('2022', '2015', '−31,250', '0.0123', '1999.96')
    """
    size = abs(value)
    if value == round(value) and size < 1e15:
        text = f"{int(size):,}"
    else:
        text = number(size, max(digits, len(str(int(size))) if size < 1e6 else 0))
    text = text.replace(",", "") if size < SEPARATED else text
    return f"{MINUS}{text}" if value < 0 else text


def two_dates(low: float, high: float) -> tuple[str, str]:
    """Return two decimal years as dates, with the time where the days are the same.

    Examples
    --------
    >>> two_dates(2019.855, 2022.5)
    ('2019-11-09', '2022-07-02')
    """
    moments = moments_of(low, high)
    if not moments:
        return f"{low:.10g}", f"{high:.10g}"
    first, last = moments
    if first == last or first.date() != last.date():
        return first.date().isoformat(), last.date().isoformat()
    fine = "seconds" if first.replace(second=0) == last.replace(second=0) else "minutes"
    return first.isoformat(" ", fine), last.isoformat(" ", fine)


def two_times(low: float, high: float) -> tuple[str, str]:
    """Return two hours since midnight as times of day, with seconds where the minutes are the same.

    Examples
    --------
    >>> two_times(8.5, 23.25)
    ('08:30', '23:15')
    """
    seconds = [min(round(3600 * value), 86_399) for value in (low, high)]
    texts = [f"{one // 3600:02}:{one // 60 % 60:02}" for one in seconds]
    if texts[0] == texts[1] and low != high:
        texts = [f"{text}:{one % 60:02}" for text, one in zip(texts, seconds, strict=True)]
    return texts[0], texts[1]


def level(levels: Mapping[Any, Any] | Sequence[Any], value: float) -> str:
    """Return what a code means where that is known, else the number."""
    if round(value) != value:
        return plain(value)
    known = levels if isinstance(levels, Mapping) else dict(enumerate(levels))
    return str(known.get(round(value), "a new value" if value < 0 else plain(value)))
