"""Categories in SQL: databases hold them as text, numbers, true and false, or dates.

What a database reads from a file is often no text: DuckDB takes yes and no for true and false, 1.0
for a number, 31/01/2024 for a date. Each kind of value is looked up among what the levels are when
they are read in this way. Where two levels are the same, or none is of that kind, nothing can be
known: NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite

import pandas as pd

from ..frames.written import as_moments, date_formats, word
from .sources import Source

Forms = dict[str, set[float]]
"""Codes of the levels that a value may be, by how the value is written."""

TRUE = frozenset({"true", "t", "yes", "y", "1"})
FALSE = frozenset({"false", "f", "no", "n", "0"})
"""What is true and false in a database, in lower case."""

GAP_WORDS = ("nan", "-nan", "na", "n/a", "#n/a", "null", "none", "<na>")
"""Words, in lower case, that files have for missing values and databases keep as text."""

SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMERIC = (*SIZES, *(f"U{size}" for size in SIZES), "BIGNUM", "REAL", "FLOAT", "DOUBLE")
"""Types of numbers; besides them there are DECIMAL(18,3) and the like."""

WRITTEN_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T,].*)?"
TIME_OF_DAY = r"(\d{1,2}):(\d\d)(?::(\d\d)(\.\d+)?)?"
"""Numbers, dates and times of day as text."""


def category(
    j: int, source: Source, standard: Callable[[float], str], literal: Callable[[str], str]
) -> str:
    """Return the code of a category, NULL where it cannot be known.

    The raw value is p.r and its text p.x, with the number of the column; ``standard`` returns the
    literal of a code, ``literal`` that of a text.
    """
    assert source.codes is not None
    refuse_near_numbers(source)
    codes, x, unknown = source.codes, f"p.x{j}", standard(source.unknown)
    kind = f"upper(typeof(p.r{j}))"

    def looked_up(forms: Forms, value: str = x, other: str = unknown) -> str:
        return _cases(forms, value, other if forms else "NULL", standard, literal)

    numbers = _number_forms(codes)
    by_number = looked_up(numbers)
    if numbers:
        # Decimal types write 7 as 7.000.
        bare = f"CASE WHEN instr({x}, '.') > 0 THEN rtrim(rtrim({x}, '0'), '.') ELSE {x} END"
        by_number = looked_up(numbers, other=f"({looked_up(numbers, f'({bare})')})")
    dates, sure = _date_forms(codes)
    by_date = looked_up(dates, other=unknown if sure else "NULL")
    listed = ", ".join(literal(name) for name in NUMERIC)
    return (
        f"CASE WHEN p.r{j} IS NULL THEN {standard(source.gap)} "
        f"WHEN {kind} = 'BOOLEAN' THEN {looked_up(_truth_forms(codes))} "
        f"WHEN {kind} IN ({listed}) OR {kind} LIKE 'DECIMAL%' THEN {by_number} "
        f"WHEN {kind} LIKE '%WITH TIME ZONE' THEN NULL "
        f"WHEN {kind} LIKE 'DATE%' OR {kind} LIKE 'TIMESTAMP%' THEN {by_date} "
        f"WHEN {kind} LIKE 'TIME%' THEN {looked_up(_clock_forms(codes))} "
        f"ELSE {_by_text(source, x, standard, literal)} END"
    )


def _by_text(
    source: Source, x: str, standard: Callable[[float], str], literal: Callable[[str], str]
) -> str:
    """Return the code of a category that is text in the database."""
    codes, other = source.codes or {}, standard(source.unknown)
    if source.gap != source.unknown:
        # The text may be a new category, or a gap that nobody took for one.
        words = ", ".join(literal(one) for one in GAP_WORDS)
        other = (
            f"CASE WHEN {x} = '' THEN {standard(source.gap)} WHEN lower({x}) IN ({words}) "
            f"THEN NULL ELSE {other} END"
        )
    if codes and set(codes) <= {"True", "False"}:
        truth = {name.lower(): {code} for name, code in codes.items()}
        other = _cases(truth, f"lower({x})", other, standard, literal)
    elif codes and all(_canonical(level) for level in codes):
        other = _other_digits(codes, x, other, standard, literal)
        other = _cases(_number_forms(codes), x, other, standard, literal)
    return _cases({level: {code} for level, code in codes.items()}, x, other, standard, literal)


def _other_digits(
    codes: Mapping[str, float],
    x: str,
    other: str,
    standard: Callable[[float], str],
    literal: Callable[[str], str],
) -> str:
    """Return the code of text of digits, where levels were numbers: 01 is 1, and 1.50 is 1.5.

    NULL for what may be a number written in another way, such as 1e3.
    """
    forms = {form: own for form, own in _number_forms(codes).items() if form[:1] != "-"}
    if "0" in forms:
        forms[""] = forms["0"]
    left = f"ltrim(ltrim({x}, '+'), '0')"
    first = f"CASE WHEN instr({left}, '.') = 1 THEN '0' || {left} ELSE {left} END"
    bare = f"CASE WHEN instr({x}, '.') > 0 THEN rtrim(rtrim({first}, '0'), '.') ELSE {left} END"
    digits = (
        f"{x} <> '' AND ltrim({x}, '+0123456789.') = '' "
        f"AND instr(substr({x}, instr({x}, '.') + 1), '.') = 0"
    )
    known = _cases(forms, f"({bare})", other, standard, literal)
    marks = f"(lower({x}) LIKE '%e%' OR instr({x}, '-') > 0)"
    strange = f"{marks} AND ltrim(lower({x}), '+-.e0123456789') = ''"
    return (
        f"CASE WHEN {digits} THEN {known} WHEN {x} <> '' AND {strange} THEN NULL ELSE {other} END"
    )


def _cases(
    forms: Mapping[str, Iterable[float]],
    value: str,
    other: str,
    standard: Callable[[float], str],
    literal: Callable[[str], str],
) -> str:
    """Return the code of what a value is written as, NULL for what is several levels."""
    texts: dict[str, list[str]] = {}
    for form, codes in forms.items():
        own = list(codes)
        result = standard(own[0]) if len(own) == 1 else "NULL"
        texts.setdefault(result, []).append(literal(form))
    cases = "".join(
        f" WHEN {value} IN ({', '.join(own)}) THEN {result}" for result, own in texts.items()
    )
    return f"CASE{cases} ELSE {other} END" if cases else other


def _truth_forms(codes: Mapping[str, float]) -> Forms:
    """Return levels as true and false; none if there is no such level."""
    forms: Forms = {}
    for name, words in (("true", TRUE), ("false", FALSE)):
        own = {code for level, code in codes.items() if level.lower() in words}
        if own:
            forms[name] = own
    return forms


def _canonical(level: str) -> bool:
    """Tell whether a level is written as numbers are when they become categories."""
    return bool(re.fullmatch(WRITTEN_NUMBER, level, re.ASCII)) and word(float(level)) == level


def _number_forms(codes: Mapping[str, float]) -> Forms:
    """Return how a database may write levels that are numbers; true and false are 1 and 0."""
    forms: Forms = {}
    for level, code in codes.items():
        for form in _written(level):
            forms.setdefault(form, set()).add(code)
    return forms


def refuse_near_numbers(source: Source) -> None:
    """Raise if two levels are numbers that SQLite writes alike, with 15 digits."""
    seen: dict[str, str] = {}
    for level in source.codes or ():
        if _canonical(level) and not re.fullmatch(r"-?\d+", level):
            other = seen.setdefault(f"{float(level):.15g}", level)
            if other != level:
                raise ValueError(
                    f"the model cannot be written as SQL, which may not tell the categories "
                    f"{level} and {other} of {source.column!r} apart. Export it to Python."
                )


def _written(level: str) -> list[str]:
    if level in ("True", "False"):
        return [str(int(level == "True"))]
    if re.fullmatch(r"0x[0-9a-f]+", level, re.ASCII | re.IGNORECASE):
        return [str(int(level, 16))]
    if not re.fullmatch(WRITTEN_NUMBER, level, re.ASCII | re.IGNORECASE) or not isfinite(
        float(level)
    ):
        return []
    value, texts = float(level), []
    if re.fullmatch(r"[+-]?\d+", level, re.ASCII):
        texts.append(str(int(level)))
    elif abs(value) < 2**53:
        texts.append(word(value))
    for text in (repr(value), f"{value:.15g}"):  # SQLite has 15 digits
        mantissa, mark, power = text.partition("e")
        texts += [text, text.replace("e+", "e")]
        texts += [f"{mantissa}.0e{power}"] if mark and "." not in mantissa else []
    return texts


def _date_forms(codes: Mapping[str, float]) -> tuple[Forms, bool]:
    """Return how a database writes levels that are dates, and whether they are read in one way.

    Where the day or the month may come first, what is different then is several levels or none.
    """
    levels = pd.Series(list(codes), dtype=object)
    if not len(levels) or not levels.str.fullmatch(DATE).all():
        return {}, False
    read = [
        _dates(zip(as_moments(levels, style), codes.values(), strict=True))
        for style in date_formats(levels)
    ]
    if len(read) < 2:
        return (read[0], True) if read else ({}, False)
    same = {form: own for form, own in read[0].items() if all(one.get(form) == own for one in read)}
    return same, False


def _dates(moments: Iterable[tuple[pd.Timestamp, float]]) -> Forms:
    """Return how a database writes moments."""
    forms: Forms = {}
    for moment, code in moments:
        bare = moment.tz_localize(None)
        texts = [str(bare).rstrip("0") if bare.microsecond else str(bare)]
        texts += [str(bare.date())] if bare == bare.normalize() else []
        for form in texts:
            forms.setdefault(form, set()).add(code)
    return forms


def _clock_forms(codes: Mapping[str, float]) -> Forms:
    """Return how a database writes levels that are times of day."""
    forms: Forms = {}
    for level, code in codes.items():
        found = re.fullmatch(TIME_OF_DAY, level, re.ASCII)
        if found:
            hour, minute, second, rest = found.groups()
            form = f"{int(hour):02d}:{minute}:{second or '00'}{(rest or '').rstrip('0')}"
            forms.setdefault(form.rstrip("."), set()).add(code)
    return forms
