"""Values of a table in SQL: names and text in quotes, columns as standardised numbers."""

from __future__ import annotations

from typing import Any

from ..frames.dates import DAY_OF_WEEK, HOUR, MONTH
from ..frames.written import YEAR
from .formula import Formula
from .sources import Source
from .sql_categories import category

ROW = "manykernels_row"
"""Name of the column that numbers the rows."""

SPACES = "".join(c for c in map(chr, range(1, 0x3001)) if c.isspace())
"""What is cut off before and after a category, as Python does it."""

LARGE = 9e15
"""Size above which whole numbers and floats may differ in a comparison. It is about 2^53."""


def number(value: float) -> str:
    """Return a number as a literal of a float: with an exponent, at its full precision."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def identifier(name: str) -> str:
    """Return the name of a table or column in quotes."""
    return '"' + _clean(name, "name").replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a class or a category as a literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    return "'" + _clean(str(value), "text").replace("'", "''") + "'"


def _clean(text: str, what: str) -> str:
    # SQLite gives columns of a subquery other names if they are called true or false.
    bad = what == "name" and text.lower() in ("", "true", "false")
    if bad or "\0" in text or any(0xD800 <= ord(c) < 0xE000 for c in text):
        raise ValueError(
            f"the model cannot be written as SQL, which has no {what} such as {text!r}. Rename it, "
            "or export to Python."
        )
    return text


def value_steps(formula: Formula, query: Any) -> None:
    """Add steps that make the standardised columns z0, z1, ... of the columns of the table.

    A column of dates is read once for all its parts, under the number of the first of them.
    """
    sources, dates = formula.sources, dates_of(formula.sources)
    words, numbers = [], []
    for j, source in sources.items():
        if source.kind == "moment" and dates[source.column] != j:
            continue
        raw = f"p.{identifier(source.column)}"
        text = f"trim(CAST({raw} AS VARCHAR), {literal(SPACES)})"
        words += [f"{raw} AS r{j}", f"{text} AS x{j}"]
    query.step("mk_words", [f"p.{ROW}", *words])
    for j in dates.values():
        bare = f"replace(replace(replace(p.x{j}, '+00:00', ''), '+00', ''), 'Z', '')"
        numbers.append(f"{bare} AS m{j}")
    for j, source in sources.items():
        if source.kind in ("plain", "number"):
            numbers.append(f"CAST({_numeric_text(j)} AS DOUBLE PRECISION) AS n{j}")
    if numbers:
        query.step("mk_numbers", ["p.*", *numbers])
    if dates:
        _moment_steps(sources, dates, query)
    columns = []
    for j, source in sources.items():
        seen = dates[source.column] if source.kind == "moment" else j
        columns.append(f"{_value(j, seen, source, formula)} AS z{j}")
    query.step("mk_values", [f"p.{ROW}", *columns])


def dates_of(sources: dict[int, Source]) -> dict[str, int]:
    """Return the columns of dates, each with the number of its first part that is in use."""
    found: dict[str, int] = {}
    for j, source in sources.items():
        if source.kind == "moment":
            found.setdefault(source.column, j)
    return found


def _numeric_text(j: int) -> str:
    """Return a raw value that can be cast: text without any, as of files, is none."""
    return f"CASE WHEN p.x{j} = '' THEN NULL ELSE p.r{j} END"


def _value(j: int, seen: int, source: Source, formula: Formula) -> str:
    """Return a standardised column; NULL where the value cannot be used.

    ``seen`` is the number under which the table's column was read.
    """
    shift, scale = float(formula.shifts[j]), float(formula.scales[j])

    def standard(value: float) -> str:
        return number((value - shift) / scale)

    gap = f"(p.r{seen} IS NULL OR p.x{seen} = '' OR lower(p.x{seen}) = 'nan')"
    if source.kind == "missing":
        return f"CASE WHEN {gap} THEN {standard(1.0)} ELSE {standard(0.0)} END"
    if source.kind == "category":
        return category(j, source, standard, literal)
    filled = "NULL" if source.middle is None else standard(source.middle)
    if source.kind == "moment":
        value = f"p.k{j}"
        fits = f"{value} IS NOT NULL"
    else:
        value = f"p.n{j}"
        finite = f"{value} BETWEEN {number(-1.7e308)} AND {number(1.7e308)}"
        # Text that is no number is cast to 0 in SQLite.
        fits = f"{finite} AND (p.r{j} = {value} OR abs({value}) > {number(LARGE)})"
    return (
        f"CASE WHEN {gap} THEN {filled} WHEN {fits} "
        f"THEN ({value} - {number(shift)}) / {number(scale)} ELSE NULL END"
    )


def _clock(text: str) -> str:
    """Return the seconds since midnight of a time of day such as 19:36, 7:36:05 or 7:36 PM."""
    upper = f"upper({text})"
    bare = f"trim(replace(replace({upper}, 'AM', ''), 'PM', ''))"
    after = f"substr({bare}, instr({bare}, ':') + 1)"
    hour = f"CAST('0' || substr({bare}, 1, instr({bare} || ':', ':') - 1) AS INTEGER)"
    half = f"{hour} % 12 + CASE WHEN instr({upper}, 'P') > 0 THEN 12 ELSE 0 END"
    hour = f"CASE WHEN instr({upper}, 'M') > 0 THEN {half} ELSE {hour} END"
    minutes, seconds = (
        f"CAST('0' || {part} AS DOUBLE PRECISION)"
        for part in (f"substr({after}, 1, 2)", f"substr({after}, 4)")
    )
    return f"3600 * ({hour}) + 60 * {minutes} + {seconds}"


def _moment_steps(sources: dict[int, Source], dates: dict[str, int], query: Any) -> None:
    """Add steps that make numbers of dates as text, in UTC: decimal years, or a part of the date.

    ``dates`` has the numbers under which columns of dates were read.
    """
    parts = []
    for j in dates.values():
        source, m = sources[j], f"p.m{j}"
        iso = f"instr({m}, '-') = 5"
        iso = iso if source.style else f"({iso} OR instr({m}, '/') = 5)"
        cut = {
            "y": f"substr({m}, 1, 4)",
            "m": f"substr({m}, 6, 2)",
            "d": f"substr({m}, 9, 2)",
        }
        written = number(0.0)
        if source.style:
            mark, words = literal(source.style[0]), f"replace({m}, ',', ' ')"
            date = f"substr({words}, 1, instr({words} || ' ', ' ') - 1)"
            rest = f"substr({date}, instr({date}, {mark}) + 1)"
            written = _clock(f"trim(substr({words}, instr({words} || ' ', ' ')))")
            pieces = [
                f"substr({date}, 1, instr({date}, {mark}) - 1)",
                f"substr({rest}, 1, instr({rest}, {mark}) - 1)",
                f"substr({rest}, instr({rest}, {mark}) + 1)",
            ]
            for letter, piece in zip(source.style[1:], pieces, strict=True):
                cut[letter] = f"CASE WHEN {iso} THEN {cut[letter]} ELSE {piece} END"
        for letter, text in cut.items():
            parts.append(f"CAST('0' || {text} AS INTEGER) AS {letter}{j}_")
        clock = f"substr({m}, 12)"
        plain = f"{iso} AND instr({clock}, '+') = 0 AND instr({clock}, '-') = 0"
        seconds = [
            f"{factor} * CAST('0' || substr({m}, {start}{size}) AS DOUBLE PRECISION)"
            for factor, start, size in ((3600, 12, ", 2"), (60, 15, ", 2"), (1, 18, ""))
        ]
        zoned = f"{iso} AND NOT ({plain})"
        parts.append(
            f"CASE WHEN {zoned} THEN NULL WHEN {iso} THEN {' + '.join(seconds)} "
            f"ELSE {written} END AS s{j}_"
        )
    query.step("mk_parts", ["p.*", *parts])
    moments = [
        f"{_moment(dates[source.column], source.part)} AS k{j}"
        for j, source in sources.items()
        if source.kind == "moment"
    ]
    query.step("mk_days", ["p.*", *moments])


def _moment(j: int, part: str) -> str:
    """Return decimal years, or a part of a date, of year, month, day and seconds; NULL if none."""
    y, m, d, s = (f"p.{letter}{j}_" for letter in "ymds")
    leap = f"({y} % 4 = 0 AND ({y} % 100 <> 0 OR {y} % 400 = 0))"
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    before = " ".join(f"WHEN {k + 1} THEN {sum(lengths[:k])}" for k in range(12))
    longest = (
        f"CASE WHEN {m} IN (4, 6, 9, 11) THEN 30 WHEN {m} = 2 AND {leap} THEN 29 "
        f"WHEN {m} = 2 THEN 28 ELSE 31 END"
    )
    last = f"({y} - 1)"
    leaps = " ".join(
        f"{sign} ({last} - {last} % {n}) / {number(n)}"
        for sign, n in (("+", 4), ("-", 100), ("+", 400))
    )
    count = (
        f"365 * ({y} - 1970) {leaps} - 477 + CASE {m} {before} END "
        f"+ CASE WHEN {m} > 2 AND {leap} THEN 1 ELSE 0 END + {d} - 1"
    )
    share = f"({s} / {number(86400.0)})"
    value = {
        "": f"{number(1970.0)} + ({number(86400.0)} * ({count}) + {s}) / {number(YEAR)}",
        # The first day of 1970 was a Thursday; remainders may be negative.
        DAY_OF_WEEK: f"((CAST({count} AS INTEGER) + 3) % 7 + 7) % 7",
        HOUR: f"{s} / {number(3600.0)}",
        MONTH: f"{m} + ({d} - 1 + {share}) / ({longest})",
    }[part]
    valid = f"{m} BETWEEN 1 AND 12 AND {d} BETWEEN 1 AND {longest} AND {y} > 0"
    return f"CASE WHEN {valid} AND {s} IS NOT NULL THEN {value} END"
