"""Columns laid beside a Dask dataframe: rows are paired by their place, as in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from ..inputs import shown

TARGET, WEIGHT = "\0target", "\0weight"
"""Names of the columns that carry targets and sample weights through a dataframe: a column of the
user's cannot have them."""

SAID = {TARGET: "y", WEIGHT: "sample_weight"}
"""What these are called in messages."""


def laid_beside(X: Any, columns: dict[str, Any], empty: Callable[[Any], Any]) -> Any:
    """Return a Dask dataframe with further columns, each value beside the row in its place.

    Whatever the labels of the rows are, as for rows in memory. Where partitions are others but both
    collections know the labels that divide them, the column is cut like the frame, by its labels;
    these must then be those of the rows. All in one expression: each by itself Dask might read in
    partitions of another size. ``empty`` returns a collection's kinds of columns, without rows.
    """
    given = {name: column for name, column in columns.items() if column is not None}
    cut = {name: _cut_like(X, column, SAID[name]) for name, column in given.items()}
    by_label = [name for name in given if cut[name] is not given[name]]
    meta = _one_frame(empty(X), list(given), [], *map(empty, cut.values()))
    return X.map_partitions(
        _one_frame,
        list(given),
        by_label,
        *cut.values(),
        align_dataframes=False,
        enforce_metadata=False,
        meta=meta,
    )


def of_columns(X: Any, empty: Callable[[Any], Any]) -> Any:
    """Return a Dask dataframe of which each partition is refused unless it has its columns."""
    names, meta = list(X.columns), empty(X)
    return X.map_partitions(_with_columns, names, enforce_metadata=False, meta=meta)


def _with_columns(part: Any, names: list[Any]) -> Any:
    """Return one partition if it has the columns of the dataframe, in their order."""
    found = list(part.columns) if hasattr(part, "columns") else None
    if found != names:
        got = f"one of type {type(part).__name__}" if found is None else shown(found)
        raise ValueError(
            f"partitions of X must have its columns {shown(names)}, in this order; got {got}. Read "
            "or make them anew."
        )
    return part


def _cut_like(X: Any, column: Any, name: str) -> Any:
    """Return a column in as many partitions as a frame has; the column itself if it has."""
    if column.npartitions == X.npartitions:
        return column
    if not (X.known_divisions and column.known_divisions):
        raise ValueError(other_partitions(name, column.npartitions, X.npartitions))
    return column.repartition(divisions=X.divisions, force=True)


def other_partitions(name: str, found: int, expected: int) -> str:
    """Say that a column has not as many partitions as X."""
    return (
        f"{name} must have the partitions of X; got {found} and {expected}. Make both from one "
        "dataframe, or rechunk one like the other."
    )


def _one_frame(frame: Any, names: list[str], by_label: list[str], *columns: Any) -> Any:
    """Return one partition with columns beside it."""
    out = frame.copy(deep=False)
    for name, column in zip(names, columns, strict=True):
        values = column.iloc[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
        if values.ndim == 2 or len(values) != len(frame):
            raise ValueError(
                f"{SAID[name]} must have one value for each row of X; got shape {column.shape} for "
                f"{len(frame)} rows of a partition. Make both from one dataframe."
            )
        if name in by_label and not frame.index.equals(values.index):
            raise ValueError(
                f"{SAID[name]} must have the partitions of X, or rows of the same labels in the "
                "same order; got other labels. Make both from one dataframe."
            )
        out[name] = values.set_axis(frame.index)
    return out


def refuse_times(values: Any, name: str) -> None:
    """Raise TypeError for dates and spans of time, which are no numbers.

    Parts of dates (days of the week, hours) are made of tables in memory only.
    """
    kinds = {name: getattr(values, "dtype", None)}
    if isinstance(values, pd.DataFrame):
        kinds = {f"column {one!r} of {name}": kind for one, kind in values.dtypes.items()}
    for said, kind in kinds.items():
        letter = getattr(kind, "kind", "O")
        if letter == "m":
            raise TypeError(
                f"{said} must hold numbers in a Dask collection; got spans of time. Use seconds, "
                "for instance by .dt.total_seconds()."
            )
        if letter == "M":
            raise TypeError(
                f"{said} must hold numbers in a Dask collection; got dates. Use seconds since one "
                "of them, for instance by (column - column.min()).dt.total_seconds(), or "
                "X.compute()."
            )
