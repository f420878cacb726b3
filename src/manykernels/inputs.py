"""Values of rows, targets and weights that cannot be used: looked for once, named by column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from .arrays import Array

LARGEST_VALUE = 1e150
"""Largest size of a value of X or y, and of a sample weight: the sum of squares of 10^8 such values
is the largest that a double holds."""

LEAST_RANGE = 1e-150
"""Least difference between values of a column, or of y, that counts: squares of smaller ones are
next to the least number that a double holds."""

LEAST_WEIGHT = 1e-16
"""Share of the largest sample weight below which a weight counts as zero: half of the rounding of
sums of weights. Inverses of weights, and dual variables, keep a moderate size."""

ROUNDING_UNITS = 16
"""A column is constant if its values differ by no more units in the last place of the largest than
this: what a few operations leave of a constant. Set by judgement, not measured."""

VALUE_LENGTH = 200
"""Most characters of a value in a message. Set by judgement."""

LARGEST_INTEGER = 2**63 - 1
"""Largest integer that a parameter may be: that of 64 bits."""


def shown(value: Any) -> str:
    """Return a value as text, the beginning of one that is long."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # integers of more than 4,300 digits
        text = f"an {type(value).__name__} of very many digits"
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 3] + "..."


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite real number, and no truth value."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def is_integer(value: Any, lowest: int) -> bool:
    """Tell whether a value is an integer that is large enough, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= lowest


def refuse_huge(value: Any, name: str) -> None:
    """Raise ValueError if a value is an integer beyond 64 bits."""
    if isinstance(value, Integral) and abs(int(value)) > LARGEST_INTEGER:
        raise ValueError(
            f"{name} must be an integer below 2**63; got {shown(value)}. Use a smaller one."
        )


def refuse_more(others: dict[str, Any], groups: str = "") -> None:
    """Raise TypeError for what ``fit`` does not take; ``groups`` says what to do with groups."""
    for name, value in others.items():
        if name != "groups" or not groups:
            raise TypeError(f"fit must have no argument {name!r}; got one. Leave it out.")
        if value is not None:
            raise TypeError(groups)


def no_number(values: Any) -> Any:
    """Return a list of the first of some values that no float is made of; empty if all can be."""
    values = np.asarray(values, dtype=object).ravel()
    for value in values.tolist():
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return [value]
    return []


def repeated_name(names: Any) -> str:
    """Say that two columns of X have the same name; empty if they are distinct."""
    names = pd.Index(names)
    twice = names[names.duplicated()].tolist()
    if not twice:
        return ""
    return f"X must have distinct column names; got {shown(twice[0])} twice. Rename them."


def _infinite(values: Array, names: Sequence[str]) -> str:
    """Say which column has infinite values; empty if none has."""
    if values.dtype.kind != "f" or not np.isinf(values).any():
        return ""
    worst = int(np.argmax(np.isinf(values).any(axis=0)))
    return (
        f"column {names[worst]!r} of X has infinite values, in "
        f"{np.count_nonzero(np.isinf(values[:, worst]))} of {len(values)} rows. Correct them."
    )


def _of_time(values: Array) -> str:
    """Say that values are dates or spans of time, and what to do; empty if they are neither."""
    kind = values.dtype.kind
    first = values.ravel()[:1].tolist() if kind == "O" else []
    if kind == "m" or any(isinstance(value, timedelta) for value in first):
        return "spans of time. Divide them by pd.Timedelta(days=1): numbers of days."
    if kind == "M" or any(isinstance(value, date) for value in first):
        return "dates. Use days since one of them."
    return ""


def no_table(X: Any) -> str:
    """Say what keeps X from being a table of numbers; empty if nothing is found."""
    columns: list[tuple[str, Any]]
    if isinstance(X, pd.DataFrame):
        if twice := repeated_name(X.columns):
            return twice
        if not X.size:
            return f"X must have rows and columns; got a table of shape {X.shape}."
        if any(isinstance(kind, pd.SparseDtype) for kind in X.dtypes):
            return "X must be a dense table or a sparse matrix; got a sparse table. Use to_dense()."
        columns = [(str(name), X[name]) for name in X.columns]
        for name, one in columns:
            if pd.api.types.is_complex_dtype(one):
                return (
                    f"column {name!r} of X must be real; got complex numbers. Use its real and "
                    "imaginary parts as columns."
                )
        numbers = X.select_dtypes("number")
        values = numbers.to_numpy(dtype=float, na_value=np.nan)
        if words := _infinite(values, [str(name) for name in numbers.columns]):
            return words
        columns = [(name, one) for name, one in columns if not pd.api.types.is_numeric_dtype(one)]
    elif isinstance(X, np.ndarray | list | tuple) or hasattr(X, "__array__"):
        try:
            values = np.asarray(X)
        except ValueError:
            return "X must be a table; got rows of different lengths, or lists in a row."
        if values.dtype.names:
            return f"X must be a table of numbers; got records of {', '.join(values.dtype.names)}."
        if values.ndim == 2:
            words = _infinite(values, [f"x{j}" for j in range(values.shape[1])])
            if words:
                return words
        wide = values.ndim == 2 and values.dtype.kind not in "biufc"
        columns = [(f"x{j}", values[:, j]) for j in range(values.shape[1])] if wide else []
        if not wide and values.ndim < 2 and values.dtype.kind not in "biufc":
            return f"X must be a table of numbers; got {shown(X)}."
    elif np.ndim(X) == 0:
        return f"X must be a table of numbers, of two dimensions; got {shown(X)}."
    else:
        return ""
    for name, column in columns:
        if advice := _of_time(np.asarray(column)):
            return f"column {name!r} of X must hold numbers; got {advice}"
        for value in no_number(column):
            return (
                f"column {name!r} of X must hold numbers; got {shown(value)}. Encode it, for "
                "instance with sklearn.preprocessing.OneHotEncoder, or leave the column out."
            )
    return ""


def refuse_masked(values: Any, name: str) -> None:
    """Raise ValueError if an array has masked entries: their values mean nothing."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        count = int(np.count_nonzero(np.ma.getmaskarray(values)))
        raise ValueError(
            f"{name} must have no masked values; got {count}. Drop these rows, or fill the values "
            f"in, for instance with {name}.filled(...)."
        )


def refuse_complex(values: Any, name: str) -> None:
    """Raise ValueError for an array of complex numbers."""
    if np.iscomplexobj(values):
        raise ValueError(
            f"{name} must be real; got complex numbers. Use {name}.real, or {name}.real and "
            f"{name}.imag as columns of their own."
        )


def unboxed(values: Array) -> Array:
    """Return numbers, or truth values, that are objects as NumPy has them; others as they are."""
    kinds = ("integer", "boolean", "floating", "mixed-integer-float")
    if values.dtype.kind != "O" or pd.api.types.infer_dtype(values, skipna=False) not in kinds:
        return values
    return np.array(values.tolist())  # of objects still, where integers are beyond 64 bits


def refuse_bad_targets(y: Any, numeric: bool) -> None:
    """Raise ValueError if targets are no list of values, or some are missing.

    If they must be ``numeric``, also for text, dates and integers that no float holds.
    """
    try:
        values = np.asarray(y)
    except ValueError:
        raise ValueError(
            "y must have one value for each row; got lists of different lengths. Use a list of "
            "numbers or classes."
        ) from None
    if values.dtype.names:
        raise ValueError(
            f"y must have one value for each row; got records of {', '.join(values.dtype.names)}. "
            f"Use one of them: y[{values.dtype.names[0]!r}]."
        )
    if y is None or values.dtype.kind not in "fOUSmM":
        return
    gaps = pd.isna(values)
    if numeric and values.dtype.kind != "f":
        _refuse_no_numbers(values[~gaps])
    elif values.dtype == object and values.ndim == 1:
        _refuse_no_labels(values[~gaps])
    if values.ndim in (1, 2) and gaps.any():
        rows = np.flatnonzero(gaps.reshape(len(values), -1).any(axis=1))
        raise ValueError(
            f"y must have a value in each row; got {shown(values[gaps][0])} in {len(rows)} of "
            f"{len(values)} rows, the first in row {rows[0]}, counted from 0. Drop these rows, for "
            "instance by known = pandas.notna(y), then X[known] and y[known]."
        )


def _refuse_no_labels(values: Array) -> None:
    """Raise ValueError if a class is a date or a number of a kind that classes have not."""
    for value in values:
        if isinstance(value, date | timedelta | pd.Period | pd.Interval | Decimal):
            raise ValueError(
                "y must hold classes as text, whole numbers or booleans; got "
                f"{shown(value)}, of type {type(value).__name__}. Use their names, for instance "
                "y.astype(str); or MKLRegressor on numbers, such as days since one of the dates."
            )


def _refuse_no_numbers(values: Array) -> None:
    """Raise ValueError if a target is text, a date or no number at all."""
    if advice := _of_time(values):
        raise ValueError(f"y must be numeric for regression; got {advice}")
    found = no_number(values) or (values.ravel()[:1].tolist() if values.dtype.kind in "US" else [])
    for value in found:
        text = isinstance(value, str)
        raise ValueError(
            f"y must be numeric for regression; got {'strings such as ' if text else ''}"
            f"{shown(value)}. "
            + ("Use MKLClassifier for classes, or convert y with astype(float)." if text else "")
        )


def sound_sparse(X: Any) -> Any:
    """Return a sparse matrix whose indices are those of rows and columns there are.

    Numbers beyond would be read and written outside of its memory.
    """
    if not sparse.issparse(X):
        return X
    try:
        if X.format == "coo":
            for places, size in zip(X.coords, X.shape, strict=True):
                if len(places) and not (places.min() >= 0 and places.max() < size):
                    raise ValueError(f"an index is {places.max()} and the size {size}")
        elif X.format not in ("csr", "csc", "bsr"):
            X = X.tocsr()
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"X must be a sparse matrix with sound indices; got one in which {error}. Make it "
            "anew from rows, columns and values."
        ) from None
    return X


def ranges(X: Any) -> tuple[Array, Array]:
    """Return the least and the largest value of each column."""
    if not sparse.issparse(X):
        return X.min(axis=0), X.max(axis=0)
    low, high = X.min(axis=0), X.max(axis=0)
    return low.toarray().ravel(), high.toarray().ravel()


def constant_columns(low: Array, high: Array) -> Array:
    """Tell which columns are constant, up to rounding, from their least and largest values."""
    # Halves: the difference of the largest doubles overflows.
    size = np.maximum(np.abs(low), np.abs(high))
    return high / 2 - low / 2 <= ROUNDING_UNITS / 2 * np.finfo(float).eps * size


def refuse_large(low: Array, high: Array, names: Sequence[str]) -> None:
    """Raise ValueError if a column has values whose squares overflow."""
    size = np.maximum(np.abs(low), np.abs(high))
    if np.any(size > LARGEST_VALUE):
        worst = int(np.argmax(size))
        others = int(np.count_nonzero(size > LARGEST_VALUE)) - 1
        raise ValueError(
            f"column {names[worst]!r} of X has values as large as {size[worst]:.3g}"
            f"{f', and {others} others have such' if others else ''}; at most "
            f"{LARGEST_VALUE:g} can be worked with, whose square does not overflow. Divide the "
            "column by its unit, take logarithms, or leave it out."
        )


def refuse_faint(low: Array, high: Array, names: Sequence[str]) -> None:
    """Raise ValueError if a column varies so little that the squares of differences vanish."""
    faint = (high - low < LEAST_RANGE) & ~constant_columns(low, high)
    if np.any(faint):
        worst = int(np.argmax(faint))
        raise ValueError(
            f"column {names[worst]!r} of X varies by {high[worst] - low[worst]:.3g} only; at least "
            f"{LEAST_RANGE:g} can be worked with, whose square is not zero. Multiply the column "
            "by its unit, take logarithms, or leave it out."
        )


def refuse_target_size(y: Array, centre: float) -> None:
    """Raise ValueError if squares of real targets overflow, or vanish though targets differ."""
    size = float(np.abs(y).max(initial=0.0))
    # What is left of a constant is rounding.
    left = 0.0 if centre and np.ptp(y) == 0 else float(np.abs(y - centre).max(initial=0.0))
    if size > LARGEST_VALUE:
        raise ValueError(
            f"y has values as large as {size:.3g}; at most {LARGEST_VALUE:g} can be worked with, "
            "whose square does not overflow. Divide y by its unit, or take logarithms."
        )
    if 0 < left < LEAST_RANGE and left > ROUNDING_UNITS * np.finfo(float).eps * abs(centre):
        raise ValueError(
            f"y differs from {centre:.3g} by {left:.3g} at most; at least {LEAST_RANGE:g} can be "
            "worked with, whose square is not zero. Multiply y by its unit, or take logarithms."
        )


def _refuse_no_weights(weights: Any) -> None:
    """Raise ValueError if sample weights are no numbers, or a single one in an array."""
    try:
        values = np.asarray(weights)
    except ValueError:
        values = np.array([weights], dtype=object)
    if isinstance(weights, np.ndarray) and values.ndim == 0:
        raise ValueError(
            f"sample_weight must have an entry for each row; got {shown(weights)}, which has no "
            "dimension. Use sample_weight=None to weigh rows equally."
        )
    found = no_number(values) if values.dtype.kind in "OUSmM" else []
    if found or values.dtype.kind in "USmMV":
        raise ValueError(
            f"sample_weight must hold numbers; got {shown(found[0] if found else weights)}. Use "
            "sample_weight=None to weigh rows equally."
        )


def row_weights(sample_weight: Any, count: int) -> Array:
    """Return the weight of each of ``count`` rows, or say what is wrong with sample weights.

    Only their ratios matter: they are such that sums do not overflow, and those next to nothing
    beside the largest are zero.
    """
    refuse_masked(sample_weight, "sample_weight")
    if sample_weight is not None:
        _refuse_no_weights(sample_weight)
    weights: Array = _check_sample_weight(
        sample_weight, np.empty((count, 0)), dtype=np.float64, ensure_non_negative=True
    )
    largest = float(weights.max(initial=0.0))
    if not largest > 0:
        raise ValueError(
            "sample_weight must have a positive entry; got only zero weights. "
            "Use sample_weight=None to weigh rows equally."
        )
    weights = np.where(weights < LEAST_WEIGHT * largest, 0.0, weights)
    if largest > LARGEST_VALUE or largest < LEAST_RANGE:
        return weights / largest
    return weights


def weighted_median(values: Array, weights: Array) -> Array:
    """Return the median of values, or of each column, of rows that count as their weights say.

    For whole weights it is that of rows repeated so often; only ratios of weights matter. Weights
    are positive.
    """
    if np.all(weights == weights[0]):
        return np.asarray(np.median(values, axis=0))
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    shares = np.cumsum(weights[order], axis=0)
    shares = shares / shares[-1]
    rounding = len(values) * np.finfo(float).eps  # of the sums
    ends = [np.argmax(shares >= 0.5 - rounding, axis=0), np.argmax(shares > 0.5 + rounding, axis=0)]
    low, high = (np.take_along_axis(ordered, end[None], axis=0)[0] for end in ends)
    return np.asarray((low + high) / 2)
