"""What people give as X, as a pandas table."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..arguments import listed_names
from ..arrays import Array
from .columns import TableError, some_of
from .written import is_unicode


def is_table(X: Any) -> bool:
    """Tell whether X is a data frame of pandas, polars or another library that makes one of it."""
    shape = getattr(X, "shape", None)
    of_columns = isinstance(shape, tuple) and len(shape) == 2
    return of_columns and (hasattr(X, "iloc") or hasattr(X, "to_pandas"))


def as_frame(X: Any) -> pd.DataFrame:
    """Return a table with text for names; columns of an array are x0, x1, ..

    Raises
    ------
    TableError
        If two columns have the same name, or a name is no text that can be written.
    """
    if not is_table(X):
        table = pd.DataFrame(X).infer_objects()
        return table.rename(columns=lambda number: f"x{number}")
    table = X if hasattr(X, "iloc") else _to_pandas(X)
    table = plain_floats(table.set_axis(text_names(table), axis=1))
    twice = table.columns[table.columns.duplicated()].unique().tolist()
    if twice:
        raise TableError(
            f"names of columns must be distinct; got {some_of(twice)} more than once. Rename them."
        )
    return table


def _to_pandas(X: Any) -> pd.DataFrame:
    """Return a table of another library as pandas has it; TableError names a column that fails."""
    try:
        return X.to_pandas()
    except Exception as error:  # each library has its own
        for name in getattr(X, "column_names", X.columns):
            try:
                X[name].to_pandas()
            except Exception as own:
                raise TableError(
                    f"column {name!r} has values that pandas cannot hold: "
                    f"{' '.join(str(own).split())[:200]}. Convert it to 64-bit numbers or text."
                ) from None
        raise TableError(
            f"X must be a table that pandas can hold; got {' '.join(str(error).split())[:200]}. "
            "Give a table of pandas."
        ) from None


def plain_floats(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose floats are NumPy's: in Arrow's and nullable ones NaN is no gap."""
    places = [
        place
        for place, kind in enumerate(table.dtypes)
        if isinstance(kind, pd.api.extensions.ExtensionDtype) and _is_float(kind)
    ]
    if not places:
        return table
    columns = [table.iloc[:, place] for place in range(table.shape[1])]
    for place in places:
        values = columns[place].to_numpy(dtype=float, na_value=np.nan)
        columns[place] = pd.Series(values, table.index)
    return pd.concat(columns, axis=1, keys=range(len(columns))).set_axis(table.columns, axis=1)


def _is_float(kind: Any) -> bool:
    return pd.api.types.is_float_dtype(kind) and not isinstance(kind, pd.SparseDtype)


def refuse_unknown(names: Any, option: str, frame: pd.DataFrame) -> None:
    """Raise unless what an argument lists are columns of a table."""
    for name in listed_names(names, option):
        if name not in frame.columns:
            raise TableError(
                f"{option} must name columns of X; got {name!r}. It has "
                f"{some_of(frame.columns.tolist())}."
            )


def text_names(table: pd.DataFrame) -> list[str]:
    """Return the names of columns as text; TableError if one cannot be written."""
    names = [str(name) for name in table.columns]
    for name in names:
        if not is_unicode(name):
            raise TableError(
                f"names of columns must be Unicode text; got {name!a}, which has a lone "
                "surrogate. Rename it, or read the file with its encoding."
            )
    return names


def not_plain(X: Any) -> pd.DataFrame | None:
    """Return X as a table if it holds anything but numbers: text, dates, gaps; None if not.

    Sparse matrices, masked arrays and arrays on a device are taken for plain.
    """
    if is_table(X):
        table = as_frame(X) if not hasattr(X, "iloc") else plain_floats(X)
        text_names(table)
        plain = all(map(_numeric, table.dtypes)) and not bool(table.isna().any(axis=None))
        return None if plain else as_frame(table)
    if sparse.issparse(X) or isinstance(X, np.ma.MaskedArray):
        return None
    try:
        values = np.asarray(X)
    except (TypeError, ValueError, RuntimeError):  # ragged, or on a device
        return None
    if values.ndim != 2 or not values.size or values.dtype.kind not in "fOU":
        return None
    if values.dtype.kind != "f":
        try:
            values = values.astype(float)
        except (TypeError, ValueError):
            return as_frame(np.asarray(X))
        except OverflowError:  # an integer beyond floats, which is refused with all else
            return None
    return as_frame(np.asarray(X)) if np.isnan(values).any() else None


def filled(X: Any, middle: Array) -> Any:
    """Return rows of numbers with a value for each column where theirs are missing.

    Rows without gaps, and those with text, come back as they are.
    """
    table = not_plain(X)
    if (
        table is None
        or table.shape[1] != len(middle)
        or not all(map(_holds_numbers, table.items()))
    ):
        return X
    values = table.where(table.notna(), np.nan).to_numpy(dtype=float, na_value=np.nan)
    whole = np.where(np.isnan(values), middle, values)
    return pd.DataFrame(whole, table.index, table.columns) if is_table(X) else whole


def _holds_numbers(item: tuple[Any, pd.Series]) -> bool:
    """Tell whether a column holds numbers, also among objects such as None."""
    _, column = item
    known = column.dropna() if column.dtype == object else ()
    objects = all(isinstance(value, Real) and not isinstance(value, bool) for value in known)
    return _numeric(column.dtype) or (column.dtype == object and objects)


def _numeric(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
