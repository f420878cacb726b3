"""Sheets of Excel files to tables, or what is wrong with them."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from ..frames import TableError
from ..frames.columns import some_of
from ..limits import MEMORY_SHARE
from ..memory import UNKNOWN_MACHINE, machine_bytes
from ..words import plural
from .reading import SKIP, no_rows_left, refuse_repeated

SHEET_COPIES = 4
"""Memory that a sheet takes when it is read, in multiples of its bytes unzipped. An order of
magnitude: cells of openpyxl took three to four times theirs."""

GAPS = "#N/A, #N/A N/A, #NA, -1.#IND, -1.#QNAN, -NaN, -nan, 1.#IND, 1.#QNAN, <NA>, N/A, NA, NULL, "
GAPS += "NaN, None, n/a, nan, null"
"""Words that mean missing, as in text files."""


def read_sheet(
    path: Path, na: Sequence[str], sheet: str | None, skip_rows: int = 0
) -> pd.DataFrame:
    """Read a sheet of an Excel file, by default the only one that holds values.

    The first row that is not empty, after those to leave out, holds the names. Of a formula its
    value is taken; the cells of a merged range within one column all have its value.
    """
    book = _opened(path, values=True)
    chosen = _chosen(path, book, sheet)
    rows, first = _rows(chosen, skip_rows)
    if not rows and skip_rows:
        raise no_rows_left(path, skip_rows)
    if not rows:
        raise TableError(f"sheet {chosen.title!r} of {path} is empty. Name another with --sheet.")
    names, kept = _names(path, chosen, rows, first)
    _fill_merged(path, chosen, rows, first)
    rows = [row for row in rows[1:] if any(value is not None for value in row)]
    if any(row[j] is None for row in rows for j in kept):
        _refuse_formulas(path, chosen)
    missing = {*GAPS.split(", "), *na}
    columns = {
        name: [None if _is_missing(row[j], missing) else row[j] for row in rows]
        for name, j in zip(names, kept, strict=True)
    }
    return pd.DataFrame({name: _column(own) for name, own in columns.items()})


def _opened(path: Path, values: bool) -> Any:
    """Open an Excel file, with the values of formulas or with the formulas."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise TableError(
            f"{path} needs openpyxl to be read. Install it with: pip install openpyxl"
        ) from None
    try:
        with zipfile.ZipFile(path) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size * SHEET_COPIES > MEMORY_SHARE * (machine_bytes() or UNKNOWN_MACHINE):
            raise TableError(
                f"{path} is too large for the memory of this machine once it is unzipped and read. "
                "Export it as CSV."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and rules that it does not know
            return openpyxl.load_workbook(path, data_only=values)
    except TableError:
        raise
    except zipfile.BadZipFile:
        raise TableError(
            f"{path} is no .xlsx file: it is text, an old .xls file or has a password. Save it as "
            ".xlsx without one, or export it as CSV."
        ) from None
    except Exception as error:  # openpyxl has many of its own
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise TableError(
            f"{path} cannot be read as an Excel file: {reason}. Save it again, or export it as CSV."
        ) from None


def _chosen(path: Path, book: Any, name: str | None) -> Any:
    """Return the sheet that is named, or the only one in sight that holds values."""
    sheets = {one.title: one for one in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise TableError(
                f"--sheet {name!r} is no sheet of {path.name}. It has {some_of(list(sheets))}."
            )
        return sheets[name]
    filled = [one for one in sheets.values() if one.sheet_state == "visible" and _rows(one)[0]]
    if len(filled) == 1:
        return filled[0]
    if not filled:
        raise TableError(f"{path} has no sheet in sight that holds values. Save it again.")
    raise TableError(
        f"{path} has {len(filled)} sheets that hold values: "
        f"{some_of([one.title for one in filled])}. Say which: --sheet NAME."
    )


def _rows(sheet: Any, skip_rows: int = 0) -> tuple[list[list[Any]], int]:
    """Return the values of a sheet from its first row with any, and the number of that row."""
    rows = [
        [None if isinstance(value, str) and not value.strip() else value for value in row]
        for row in sheet.iter_rows(min_row=skip_rows + 1, values_only=True)
    ]
    filled = [k for k, row in enumerate(rows) if any(value is not None for value in row)]
    first = skip_rows + 1
    return (rows[filled[0] : filled[-1] + 1], filled[0] + first) if filled else ([], first)


def _names(
    path: Path, sheet: Any, rows: list[list[Any]], first: int
) -> tuple[list[str], list[int]]:
    """Return the names of columns and where these are; columns without any value have none."""
    head, body = rows[0], rows[1:]
    used = [j for j in range(len(head)) if any(row[j] is not None for row in body)]
    nameless = [_letter(j) for j in used if head[j] is None]
    if nameless:
        raise TableError(
            f"sheet {sheet.title!r} of {path} has {plural(len(nameless), 'column')} with values "
            f"but no name in row {first}: {some_of(nameless)}. Give each a name there. If that row "
            f"is a title above the names, leave it out{_skipped(rows, used, first)}."
        )
    kept = [j for j in range(len(head)) if head[j] is not None]
    names = [str(head[j]).strip() for j in kept]
    refuse_repeated(path, names)
    return names, kept


def _skipped(rows: list[list[Any]], used: list[int], first: int) -> str:
    """Return the option that leaves out what is above the first row with text in all columns."""
    for place, row in enumerate(rows):
        if all(isinstance(row[j], str) for j in used):
            return f" with --skip-rows {first - 1 + place}"
    return SKIP


def _fill_merged(path: Path, sheet: Any, rows: list[list[Any]], first: int) -> None:
    """Give all cells of a merged range its value; ranges of several columns are refused."""
    for merged in sheet.merged_cells.ranges:
        if merged.max_row < first:  # a title
            continue
        if merged.min_col != merged.max_col or merged.min_row <= first <= merged.max_row:
            raise TableError(
                f"sheet {sheet.title!r} of {path} has merged cells across columns or in the row of "
                f"names ({merged.coord}). Split them, and give each cell its value."
            )
        column = merged.min_col - 1
        value = sheet.cell(merged.min_row, merged.min_col).value
        for row in range(merged.min_row, merged.max_row + 1):
            if 0 <= row - first < len(rows):
                rows[row - first][column] = value


def _refuse_formulas(path: Path, sheet: Any) -> None:
    """Raise if cells are empty because the values of their formulas were never computed."""
    formulas = _opened(path, values=False)[sheet.title]
    bad = [
        cell.coordinate
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f" and sheet[cell.coordinate].value is None
    ]
    if bad:
        raise TableError(
            f"sheet {sheet.title!r} of {path} has {plural(len(bad), 'formula')} without a value "
            f"({some_of(bad)}). Open the file in a spreadsheet program and save it, which computes "
            "them."
        )


def _is_missing(value: Any, missing: set[str]) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip() in missing
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and (f"{value:.15g}" in missing or str(value) in missing)


def _column(values: list[Any]) -> pd.Series:
    """Return values as a column of the kind that they all are of."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, date) for value in known):
        return pd.to_datetime(pd.Series(values, dtype=object))
    if any(isinstance(value, bool) for value in known):  # not to be taken for 1 and 0
        words = pd.Series(values, dtype=object)
        return words.astype(bool) if len(known) == len(values) == _bools(known) else words
    return pd.Series(values, dtype=object).infer_objects()


def _bools(values: list[Any]) -> int:
    return sum(isinstance(value, bool) for value in values)


def _letter(column: int) -> str:
    """Return what a spreadsheet calls a column."""
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column + 1))
