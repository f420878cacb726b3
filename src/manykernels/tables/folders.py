"""Folders of files with the same columns, as one table."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

from ..frames import TableError
from ..frames.columns import some_of
from .reading import BINARY, EXCEL, TEXT, ending, read_file, refuse_skipped, with_index

FILE_KINDS = {
    **dict.fromkeys(TEXT, "text"),
    **dict.fromkeys(BINARY, "Feather"),
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((*EXCEL, ".xls", ".ods"), "spreadsheets"),
}
"""Kinds of files by their endings."""


def read_folder(
    path: Path, na: Sequence[str], encoding: str, separator: str | None, skip_rows: int = 0
) -> pd.DataFrame:
    """Read the text files, or the Parquet files, of a folder as one table, in order of their names.

    Sub-folders that are named as in year=2024 are read too, and are columns. Files that are no
    tables are not looked at, nor are those whose names begin with a point or an underscore.
    """
    files = _files(path)
    if not files:
        raise TableError(f"{path} has no .csv, .tsv or .parquet files. Give another folder.")
    kinds = Counter(FILE_KINDS[ending(file)[0]] for file in files)
    if len(kinds) > 1 or not set(kinds) <= {"text", "Parquet"}:
        listed = ", ".join(f"{count} of {kind}" for kind, count in kinds.most_common())
        raise TableError(
            f"{path} must hold text files or Parquet files, of one kind; got {listed}. Move the "
            "others elsewhere, or give one file."
        )
    if "Parquet" in kinds:
        refuse_skipped(path, skip_rows)
        return _parquet(path, files)
    how = (na, encoding, separator, None, skip_rows)
    frames = [read_file(file, *how) for file in files]
    _refuse_other_columns(path, files, [list(frame.columns) for frame in frames])
    names = list(frames[0].columns)
    if any(len({_kind(frame[name]) for frame in frames}) > 1 for name in names):
        # What a column is depends on all of its values, as if they were those of one file.
        frames = [read_file(file, *how, words=True) for file in files]
    parts = [
        frame[names].assign(**_from_folders(path, file))
        for frame, file in zip(frames, files, strict=True)
    ]
    whole = pd.concat(parts, ignore_index=True)
    words = [name for name in whole.columns if not pd.api.types.is_numeric_dtype(whole[name])]
    if words:
        text = io.StringIO(whole[words].to_csv(index=False))
        whole[words] = pd.read_csv(text, low_memory=False, skip_blank_lines=False)
    return whole


def _kind(column: pd.Series) -> str:
    return "number" if column.dtype.kind in "iuf" else column.dtype.kind


def _files(path: Path) -> list[Path]:
    """Return the tables in a folder and in those of its sub-folders that are named as columns."""
    found = []
    for place, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        own = [name for name in sorted(names) if name[0] not in "._"]
        files = [Path(place, name) for name in own if ending(Path(name))[0] in FILE_KINDS]
        inside = Path(place).relative_to(path).parts
        if files and not all("=" in part for part in inside):
            raise TableError(
                f"{path} has a sub-folder with tables, {str(Path(*inside))!r}. Give that folder; "
                "or move its files elsewhere; or, if it is a value of a column, name it as in "
                "year=2024."
            )
        found += files
    return found


def _from_folders(path: Path, file: Path) -> dict[str, str]:
    """Return the columns that the names of a file's folders stand for."""
    parts = file.relative_to(path).parts[:-1]
    return {unquote(k): unquote(v) for k, _, v in (part.partition("=") for part in parts)}


def _refuse_other_columns(path: Path, files: list[Path], columns: list[list[str]]) -> None:
    """Raise unless all files have the same columns, in any order, and folders name others."""
    for file, names in zip(files, columns, strict=True):
        odd = set(names) ^ set(columns[0])
        if odd:
            first, more = files[0].relative_to(path), [name for name in odd if name in names]
            lacks = sorted(odd - set(more))
            said = [f"lacks {some_of(lacks)}"] * bool(lacks)
            said += [f"has {some_of(sorted(more))}, which that lacks"] * bool(more)
            raise TableError(
                f"files of {path} must have the same columns; {str(file.relative_to(path))!r} "
                f"differs from {str(first)!r}: it {' and '.join(said)}. Correct the file, or move "
                "it elsewhere."
            )
        own = _from_folders(path, file)
        if set(own) & set(names) or own.keys() != _from_folders(path, files[0]).keys():
            raise TableError(
                f"folders of {path} must name the same columns for all files, and none that files "
                f"have; got {str(file.relative_to(path))!r}. Rename the folders."
            )


def _parquet(path: Path, files: list[Path]) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.dataset as sets
    except ModuleNotFoundError:
        raise TableError(
            f"{path} needs pyarrow to be read. Install it with: pip install pyarrow"
        ) from None
    try:
        schemas = [sets.dataset(file, format="parquet").schema for file in files]
        _refuse_other_columns(path, files, [list(map(str, schema.names)) for schema in schemas])
        names, found = [str(file) for file in files], sets.HivePartitioning.discover()
        options = {"format": "parquet", "partitioning": found, "partition_base_dir": str(path)}
        fields = [sets.dataset(names, **options).schema, *schemas]
        common = pa.unify_schemas(fields, promote_options="permissive")
        whole = sets.dataset(names, schema=common, **options).to_table()
        return with_index(path, whole.to_pandas())
    except TableError:
        raise
    except Exception as error:  # pyarrow has many of its own
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise TableError(
            f"{path} cannot be read as Parquet files: {reason}. Columns must hold the same kind of "
            "values in all files; copy or export them again."
        ) from None
