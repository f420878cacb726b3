"""Rows of text files with more values than the first line has names: what these values are."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ..frames import TableError
from ..frames.written import shown
from ..notices import notify
from ..words import plural

NAMES_SAID = 8
"""Most names of columns in a message. Set by judgement."""

MOST_FIELD = 2**31 - 1
"""Most characters of a value: the most that the csv module can be told on every system."""


class TableWarning(UserWarning):
    """Something of a file was left out, or read in a way that its reader should know."""


@contextmanager
def fields_of_any_size() -> Iterator[None]:
    """Let the csv module read values of any size, as pandas does: for files known to fit."""
    usual = csv.field_size_limit(MOST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


@dataclass(frozen=True)
class Row:
    """The values of a row of text, the number of its line, and which values had quotes."""

    line: int
    values: list[str]
    first_quoted: bool
    all_quoted: bool


def rows_of(lines: Iterable[str], separator: str, before: int) -> Iterator[Row]:
    """Yield rows of text that are not empty; ``before`` lines of the file come before them."""
    own: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            own.append(line)
            yield line

    reader = csv.reader(remembered(), delimiter=separator, skipinitialspace=True)
    seen = 0
    for values in reader:
        text = "".join(own)
        line, seen = before + seen + 1, reader.line_num
        own.clear()
        if len(values) > 1 or any(value.strip() for value in values):
            quoted = text.lstrip(" ").startswith('"')
            yield Row(line, values, quoted, text.count('"') >= 2 * len(values))


@dataclass(frozen=True)
class Surplus:
    """How many values without a name a row has, and whether they stand in front."""

    count: int
    in_front: bool


def surplus_of(
    path: Path, names: Sequence[str], rows: Iterator[Row], advice: str
) -> Surplus | None:
    """Return what the values without a name are in rows of a text file; None if there are none.

    Empty ones at the end of every row come of separators too many. Those in front of every row are
    labels, as R writes them, where they can hardly be a column (see ``_are_labels``). ``advice`` is
    how to leave out what is above the names.

    Raises
    ------
    TableError
        If they are neither.
    """
    first = next(rows, None)
    if first is None or len(first.values) <= len(names):
        return None
    count, empty, bare = len(first.values) - len(names), True, False
    labels, quoted = [], True
    for row in chain([first], rows):
        if len(row.values) != len(first.values):
            raise _irregular(path, names, first, row)
        empty = empty and not any(value.strip() for value in row.values[len(names) :])
        labels.append(row.values[0].strip())
        quoted, bare = quoted and row.first_quoted, bare or not row.all_quoted
    if empty:
        return Surplus(count, in_front=False)
    if count == 1 and len(names) > 1 and _are_labels(labels, quoted and bare):
        notify(
            f"rows of {path.name} begin with a value that has no name, such as "
            f"{shown(labels[0])}: taken for labels of the rows, and left out. If they are a "
            "column, add its name in front of the others.",
            TableWarning,
        )
        return Surplus(count, in_front=True)
    raise TableError(
        f"{path} is no regular table: rows have {plural(count, 'value')} more than its first line "
        f"has names, {_listed(names)}. Leave out what is above the names{advice}, or add the names "
        "that are missing."
    )


def _are_labels(values: list[str], marked: bool) -> bool:
    """Tell whether the first values of rows are labels: all different, and hardly a column.

    That is words, numbers that have quotes where other values have none (``marked``), or the
    numbers of the rows.
    """
    if not all(values) or len(set(values)) < len(values):
        return False
    numbered = values == [str(i + 1) for i in range(len(values))]
    return marked or numbered or not any(map(_is_number, values))


def _is_number(text: str) -> bool:
    """Tell whether text is a number or a date in digits."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return not any(map(str.isalpha, text))


def _irregular(path: Path, names: Sequence[str], first: Row, other: Row) -> TableError:
    """Return the error that some rows are longer than others."""
    short, long = sorted((first, other), key=lambda row: len(row.values))
    return TableError(
        f"{path} is no regular table: line {long.line} has {plural(len(long.values), 'value')}, "
        f"but line {short.line} has {len(short.values)}, and there are "
        f"{plural(len(names), 'name')}, {_listed(names)}. Give all rows as many values as there "
        "are names: remove separators at the end of lines, and quote values that contain one."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:NAMES_SAID]))
