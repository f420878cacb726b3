"""Parquet files larger than memory: fitted row group by row group."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..estimators.base import fit_rows
from ..estimators.validation import remember_columns
from ..frames import TableEncoder, TableError
from ..frames.written import target_values
from ..limits import BASE_BYTES, GROUP_COPIES, SAMPLE_ROWS
from ..memory import as_bytes
from ..notices import named_as_options
from ..passes import Block
from ..rows import PartedRows
from ..rows.dask import at_a_time, parts_of_blocks
from ..words import count as in_words
from .fitting import (
    Settings,
    Split,
    finished,
    new_estimator,
    pass_on,
    refuse_missing,
    split_table,
    too_many_pairs,
)
from .model import TableModel
from .reading import refuse_absent, refuse_repeated, with_index

LEAST_GROUPS = 20
"""Fewest row groups that these rows are taken from, where there are as many: files are often
sorted. Set by judgement, not measured."""


def memory_size(text: str) -> int:
    """Return a number of bytes written as in 2GB, 500M or 1.5GiB."""
    found = as_bytes(text)
    if not found:
        raise TableError(f"--memory must be a size such as 2GB or 500MB; got {text!r}.")
    return found


@dataclass(frozen=True)
class RowGroups:
    """The row groups of a Parquet file, the numbers of their rows and the names of its columns.

    ``test`` is the share of rows that are held out, and ``seed`` that of the choice of these.
    """

    path: Path
    rows: list[int]
    columns: list[str]
    test: float
    seed: int

    def read(self, number: int) -> pd.DataFrame:
        """Return a row group as a table."""
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path, memory_map=True) as file:
            group = file.read_row_group(number, use_threads=False)
        return with_index(self.path, group.to_pandas())

    def held_out(self, number: int) -> Array:
        """Return which rows of a group are held out, always the same."""
        rng = np.random.default_rng([self.seed, number])
        return rng.random(self.rows[number]) < self.test

    def sample(self) -> tuple[pd.DataFrame, Array]:
        """Return some row groups from all over the file, and which of their rows are held out."""
        filled = [number for number, rows in enumerate(self.rows) if rows]
        typical = max(1, sum(self.rows) // len(filled))
        wanted = min(len(filled), max(LEAST_GROUPS, -(-SAMPLE_ROWS // typical)))
        places = np.unique(np.linspace(0, len(filled) - 1, wanted).round().astype(int))
        chosen = [filled[place] for place in places.tolist()]
        share = min(1.0, SAMPLE_ROWS / sum(self.rows[number] for number in chosen))
        frames, held = [], []
        for number in chosen:
            rng = np.random.default_rng([self.seed, number, 1])
            keep = rng.random(self.rows[number]) < share
            frames.append(self.read(number)[keep])
            held.append(self.held_out(number)[keep])
        return pd.concat(frames, ignore_index=True), np.concatenate(held)


def open_groups(path: Path, settings: Settings, memory: int) -> tuple[RowGroups, int]:
    """Return the row groups of a file, and how many can be worked on at a time.

    Raises
    ------
    TableError
        If it is no Parquet file, or if one row group does not fit.
    """
    rows, columns = _shape(path)
    free = memory - BASE_BYTES
    if free <= 0:
        raise TableError(
            f"--memory must be more than {BASE_BYTES // 2**20} MB, which Python and its libraries "
            f"take; got {memory / 2**20:,.0f} MB. Use --memory 2GB."
        )
    row = GROUP_COPIES * 8 * len(columns)
    needed = row * max(rows)
    if needed > free:
        raise TableError(
            f"{path.name} has row groups of {max(rows):,} rows, which take some "
            f"{needed / 2**20:,.0f} MB to work on, more than --memory allows. Write it with "
            f"smaller row groups (row_group_size={max(1, free // row):,} or less), or allow more "
            "memory."
        )
    at_once = max(1, min(os.cpu_count() or 1, free // needed))
    return RowGroups(path, rows, columns, settings.test, settings.seed), at_once


def _shape(path: Path) -> tuple[list[int], list[str]]:
    """Return the numbers of rows of the row groups of a file, and the names of its columns."""
    try:
        _, parquet = import_module("dask"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise TableError(
            f"--chunked needs {error.name}. Install it with: pip install 'manykernels[dask]'"
        ) from None
    refuse_absent(path)
    try:
        with parquet.ParquetFile(path) as file:
            facts = file.metadata
            rows = [facts.row_group(i).num_rows for i in range(facts.num_row_groups)]
            columns = [str(name) for name in file.schema_arrow.names]
    except Exception as error:  # pyarrow has many of its own
        raise TableError(
            f"--chunked needs a Parquet file; {path.name} cannot be read as one: "
            f"{str(error).splitlines()[0].rstrip('.')}. Write the table as Parquet, or leave "
            "--chunked out."
        ) from None
    if not any(rows):
        raise TableError(f"{path} has no rows. Export it again.")
    refuse_repeated(path, columns)
    return rows, columns


def fit_chunked(
    path: Path, settings: Settings, memory: int, verbose: int = 0, say: Any = None
) -> tuple[TableModel, Split]:
    """Fit a model to all rows of a Parquet file, a row group at a time.

    Kinds of columns are found from some 100,000 rows, and the score is on those of them that are
    held out; a share of all rows is. Every other row is trained on, whatever ``max_rows`` of the
    settings is. ``memory`` is what the process may take, in bytes. ``say`` is called with the
    number of rows, the sample and its split before the work begins; the split is also returned.
    """
    groups, at_once = open_groups(path, settings, memory)
    sample, held = groups.sample()
    split = split_table(sample.rename(columns=str), settings, held)
    if say is not None:
        say(sum(groups.rows), sample, split)
    classes = split.task == "classification"
    filled = [number for number, count in enumerate(groups.rows) if count]
    blocks = [(groups, number, split.encoder, settings, split.task) for number in filled]
    estimator = new_estimator(split, settings, verbose)
    names = list(split.encoder.encode(split.train.iloc[:1]).columns)
    began = perf_counter()
    recording = warnings.catch_warnings(record=True)
    with at_a_time(at_once), recording as caught, named_as_options():
        warnings.simplefilter("always")
        remember_columns(estimator, len(names), names)
        rows = PartedRows(parts_of_blocks(_block, blocks), names, classes)
        fit_rows(estimator, rows)
    seconds = perf_counter() - began
    pass_on(caught)
    notes = [
        "columns were judged, the linear model was fitted and all models are scored on "
        f"{in_words(len(sample))} of all rows."
    ]
    if settings.degree is None and estimator.degree_ == 1 < len(names):
        notes.append(too_many_pairs(len(split.encoder.names)))
    return finished(split, settings, estimator, caught, seconds, rows.count, notes), split


def _block(
    groups: RowGroups, number: int, encoder: TableEncoder, settings: Settings, task: str
) -> Block:
    """Return the rows of a group to train on."""
    target = settings.target
    frame = groups.read(number).rename(columns=str)
    used = ~groups.held_out(number) & frame[target].notna().to_numpy()
    frame = frame[used]
    if settings.missing == "refuse":
        refuse_missing(frame[encoder.names])
    rows = np.ascontiguousarray(encoder.encode(frame).to_numpy(dtype=float))
    try:
        y = target_values(frame[target], task)
        bad = task == "regression" and not np.all(np.isfinite(y))
    except (TypeError, ValueError):
        bad = True
    if bad:
        raise TableError(
            f"target {target!r} has values that are no numbers in row group {number + 1}. Correct "
            "the file, or use --task classification."
        )
    return Block(rows, y, np.ones(len(rows)))
