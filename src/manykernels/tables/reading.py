"""Files to tables: CSV, TSV, Parquet, Feather, Excel, folders; or what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..frames import TableError
from ..limits import MEMORY_SHARE
from ..memory import UNKNOWN_MACHINE, machine_bytes
from ..words import plural
from .surplus import Surplus, fields_of_any_size, rows_of, surplus_of

TEXT = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None}
"""Endings of text files, with the separator where the ending tells it."""

NO_SEPARATORS = '\r\n\0"'
"""Characters that cannot stand between values."""

MOST_HEADER = 2**24
"""Most characters of the row of names: 800 for each of 20,000 columns. Set by judgement."""

LOOKED_AT = 2**16
"""First bytes of a file that are looked at for what no text has. Set by judgement."""

TEXT_COPIES = 2
"""Memory that a text file takes when it is read, in multiples of its bytes. An order of magnitude:
zeros took three times theirs, numbers of fifteen digits take less than theirs."""

BINARY = {".parquet", ".pq", ".feather", ".arrow"}
"""Endings of files that pyarrow reads."""


EXCEL = {".xlsx", ".xlsm"}
"""Endings of files that openpyxl reads."""

SKIP = " with --skip-rows N"
"""How titles above the names are left out, at the end of a message."""


def read(
    path: Path,
    na: Sequence[str] = (),
    encoding: str = "utf-8",
    separator: str | None = None,
    sheet: str | None = None,
    skip_rows: int = 0,
) -> pd.DataFrame:
    """Read a table with a header row.

    Parameters
    ----------
    path : Path
        A file whose name ends in .csv, .tsv, .parquet or .feather, and possibly .gz, or in .xlsx;
        or a folder of such text or Parquet files with the same columns.
    na : sequence of str
        Values that mean missing, besides the usual ones (empty, NA, NaN, null, ...).
    encoding : str
        Encoding of a text file.
    separator : str, optional
        Separator of a text file; by default from its name or its header row.
    sheet : str, optional
        Sheet of an Excel file; by default the only one that holds values.
    skip_rows : int, default=0
        Rows above the names to leave out, of a text file or a sheet: titles, notes.

    Returns
    -------
    DataFrame
        With distinct column names.

    Raises
    ------
    TableError
        If the file is no such table.
    """
    if path.is_dir():
        from .folders import read_folder

        frame = read_folder(path, na, encoding, separator, skip_rows)
    else:
        frame = read_file(path, na, encoding, separator, sheet, skip_rows)
    if not len(frame):
        raise TableError(f"{path} has a header but no rows. Export it again.")
    refuse_repeated(path, frame.columns)
    return frame.rename(columns=str)


def ending(path: Path) -> tuple[str, bool]:
    """Return the ending that tells the kind of a file, and whether it is gzipped."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    return "".join(suffixes[:-1][-1:] if zipped else suffixes[-1:]), zipped


def read_file(
    path: Path,
    na: Sequence[str],
    encoding: str,
    separator: str | None,
    sheet: str | None = None,
    skip_rows: int = 0,
    words: bool = False,
) -> pd.DataFrame:
    """Read a file as it is; see ``read``. With ``words`` a text file is read as text alone."""
    refuse_absent(path)
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty. Export it again, with a header row.")
    kind, zipped = ending(path)
    if sheet is not None and kind not in EXCEL:
        raise TableError(
            f"--sheet {sheet!r} is for Excel files; {path.name} is none. Leave it out."
        )
    if kind in BINARY:
        refuse_skipped(path, skip_rows)
        return _binary(path, kind, zipped)
    if kind in TEXT:
        return _text(path, zipped, na, encoding, separator or TEXT[kind], skip_rows, words)
    if kind in EXCEL and not zipped:
        from .spreadsheets import read_sheet

        return read_sheet(path, na, sheet, skip_rows)
    raise TableError(
        f"{path} must be a .csv, .tsv, .parquet or .feather file, possibly with .gz, or an .xlsx "
        f"file; got {''.join(path.suffixes[-2:]) or 'no ending'!r}. Export it as CSV."
    )


def _text(
    path: Path,
    zipped: bool,
    na: Sequence[str],
    encoding: str,
    separator: str | None,
    skip_rows: int,
    words: bool,
) -> pd.DataFrame:
    if separator is not None and (len(separator) != 1 or separator in NO_SEPARATORS):
        raise TableError(
            "--separator must be one character, and no line break, quote or zero; got "
            f"{separator!r}. Use ',' or ';'."
        )
    try:
        "a".encode(encoding)
    except (LookupError, ValueError):  # ValueError: characters that no name of a codec may have
        raise TableError(f"--encoding {encoding!r} is unknown. Use utf-8 or cp1252.") from None
    _refuse_disguised(path, zipped, encoding)
    try:
        with _opened(path, zipped, encoding) as file:
            head = _header(path, file, skip_rows)
            if len(head) > MOST_HEADER:
                raise TableError(
                    f"{path} is no regular table: its first line has more than {MOST_HEADER:,} "
                    "characters. Export it again, with a line for each row."
                )
        separator = separator or _guess(head)
        names = next(csv.reader([head], delimiter=separator), [])
        refuse_repeated(path, [name for name in names if name])
        if not any(name.strip() for name in names):
            raise TableError(
                f"{path} has no header row: its first line is empty. Add names, or leave out what "
                f"is above them{SKIP}."
            )
        how: dict[str, Any] = {
            "sep": separator,
            "encoding": "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding,
            "na_values": list(na),
            "low_memory": False,
            "skipinitialspace": True,
            "skiprows": skip_rows,
            "dtype": str if words else None,
        }
        with Bounded(path, zipped) as content:
            frame = pd.read_csv(content, **how)
        with _opened(path, zipped, how["encoding"]) as file, fields_of_any_size():
            for _ in range(skip_rows):
                file.readline()
            rows = rows_of(file, separator, skip_rows)
            next(rows)
            surplus = surplus_of(path, list(frame.columns), rows, SKIP)
        if surplus is None:
            return frame
        with Bounded(path, zipped) as content:
            return _without(surplus, content, list(frame.columns), how)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise TableError(
            f"{path} is not {encoding} text: it has the byte 0x{byte:02x}. Save it as UTF-8, or "
            "say what it is, for instance --encoding cp1252 (as Excel writes) or latin-1."
        ) from None
    except UnicodeError as error:
        raise TableError(
            f"{path} is not {encoding} text: {error}. Leave --encoding out, or use utf-16-le or "
            "utf-16-be for text without a mark."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise TableError(
            f"{path} is no regular table: {reason}. All rows must have as many values as the "
            "header has names; quote values that contain the separator, and leave out what is "
            f"above the names{SKIP}."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}. Copy or export it again.") from None


def _opened(path: Path, zipped: bool, encoding: str) -> Any:
    """Open a text file to read its lines."""
    return gzip.open(path, "rt", encoding=encoding) if zipped else path.open(encoding=encoding)


def _without(surplus: Surplus, content: Any, names: list[str], how: dict[str, Any]) -> pd.DataFrame:
    """Read a text file whose rows have values without a name, and leave these out."""
    width = len(names) + surplus.count
    first = surplus.count if surplus.in_front else 0
    kept = list(range(first, first + len(names)))
    frame = pd.read_csv(content, header=0, names=list(range(width)), usecols=kept, **how)
    return frame.set_axis(names, axis=1)


def _header(path: Path, file: Any, skip_rows: int) -> str:
    """Return the line of names of a text file: the first, or that after the rows to leave out."""
    for _ in range(skip_rows):
        file.readline()
    head = str(file.readline(MOST_HEADER + 1))
    while skip_rows and head and not head.strip():  # below a title there is often an empty line
        head = str(file.readline(MOST_HEADER + 1))
    if skip_rows and not head:
        raise no_rows_left(path, skip_rows)
    return head.lstrip("\ufeff")


def no_rows_left(path: Path, skip_rows: int) -> TableError:
    """Return the error that all rows of a file are left out."""
    return TableError(f"--skip-rows {skip_rows} leaves nothing of {path.name}. Use a smaller one.")


def refuse_skipped(path: Path, skip_rows: int) -> None:
    """Raise if rows are to be left out of a file whose names stand in no row."""
    if skip_rows:
        raise TableError(
            f"--skip-rows {skip_rows} is for text and Excel files; {path.name} is none. Leave it "
            "out."
        )


def _refuse_disguised(path: Path, zipped: bool, encoding: str) -> None:
    """Recognise files of other kinds by their first bytes."""
    with path.open("rb") as file:
        head = file.read(8)
    wide = "16" in encoding or "32" in encoding
    what = None
    if head.startswith(b"PK"):
        what = (
            "is an Excel file or a zip, whatever its name says. If it is an Excel file, rename it "
            f"to {path.stem}.xlsx; else unzip it."
        )
    elif head.startswith(b"\x1f\x8b") and not zipped:
        what = f"is gzipped. Rename it to {path.name}.gz."
    elif head.startswith(b"PAR1"):
        what = f"is a Parquet file. Rename it to {path.stem}.parquet."
    elif head[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        what = None if "32" in encoding else "is UTF-32 text. Use --encoding utf-32."
    elif head[:2] in (b"\xff\xfe", b"\xfe\xff") and not wide:
        what = "is UTF-16 text. Use --encoding utf-16."
    elif not wide and b"\0" in _beginning(path, zipped):
        what = (
            "has bytes of zero, as binary files have and UTF-16 text without a mark. Export it as "
            "CSV, or use --encoding utf-16-le or utf-16-be."
        )
    if what:
        raise TableError(f"{path} {what}")


def _binary(path: Path, kind: str, zipped: bool) -> pd.DataFrame:
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise TableError(
            f"{path} needs pyarrow to be read. Install it with: pip install pyarrow"
        ) from None
    reader = pd.read_parquet if kind in (".parquet", ".pq") else pd.read_feather
    try:
        if not zipped:
            return with_index(path, reader(path))
        with Bounded(path, zipped) as file:
            from io import BytesIO

            return with_index(path, reader(BytesIO(file.read())))
    except TableError:
        raise
    except Exception as error:  # pyarrow has many of its own
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise TableError(
            f"{path} cannot be read as {kind}: {reason}. Copy or export it again."
        ) from None


def with_index(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table of a file with its named indices as columns, which they are in the file."""
    names = [str(name) for name in frame.index.names if name is not None]
    if not names:
        return frame
    refuse_repeated(path, [*names, *map(str, frame.columns)])
    unnamed = [level for level, name in enumerate(frame.index.names) if name is None]
    return (frame.reset_index(level=unnamed, drop=True) if unnamed else frame).reset_index()


def _beginning(path: Path, zipped: bool) -> bytes:
    """Return the first bytes of a file, unzipped; none if that fails."""
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            return file.read(LOOKED_AT)
    except (OSError, EOFError, zlib.error):
        return b""


class Bounded(io.RawIOBase):
    """The bytes of a file, unzipped, up to as many as this machine has memory for.

    A small file may hold gigabytes when it is unzipped.
    """

    def __init__(self, path: Path, zipped: bool) -> None:
        self.path = path
        self.file = gzip.open(path) if zipped else path.open("rb")  # noqa: SIM115 closed below
        self.room = int(MEMORY_SHARE / TEXT_COPIES * (machine_bytes() or UNKNOWN_MACHINE))

    def readable(self) -> bool:
        """Tell that it can be read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as fit; a table that is too large is refused."""
        content = self.file.read(len(buffer))
        self.room -= len(content)
        if self.room < 0:
            raise TableError(
                f"{self.path} is too large for the memory of this machine once it is unzipped and "
                "read. Write it as Parquet and use --chunked, or give fewer rows."
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the file."""
        self.file.close()
        super().close()


def _guess(head: str) -> str:
    """Return the separator that occurs most often in a header row."""
    return max(",\t;|", key=head.count)


def refuse_absent(path: Path) -> None:
    """Raise if a path is that of no file."""
    if not path.exists():
        raise TableError(f"{path} does not exist. Check the name and the folder.")
    if path.is_dir():
        raise TableError(f"{path} is a folder. Give a file.")
    if not path.is_file():
        raise TableError(f"{path} is a device or a pipe. Write its rows to a file first.")


def refuse_repeated(path: Path, names: Iterable[str]) -> None:
    """Raise if a file has the same name for several columns."""
    repeated = [str(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"{path} has {plural(len(repeated), 'column name')} more than once: "
            f"{', '.join(map(repr, repeated))}. Give each column a name of its own."
        )
