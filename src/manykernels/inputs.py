"""Values of rows, targets and weights that cannot be used: looked for once, named by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .arrays import Array

LARGEST_VALUE = 1e150
"""Largest size of a value of X or y, and of a sample weight: the sum of squares of 10^8 such values
is the largest that a double holds."""

LEAST_RANGE = 1e-150
"""Least difference between values of a column, or of y, that counts: squares of smaller ones are
next to the least number that a double holds."""

ROUNDING_UNITS = 16
"""A column is constant if its values differ by no more units in the last place of the largest than
this: what a few operations leave of a constant. Set by judgement, not measured."""


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


def refuse_missing_targets(y: Any) -> None:
    """Raise ValueError if targets are objects and some of them are None or the like."""
    values = np.asarray(y)
    if values.dtype == object and values.ndim == 1:
        gaps = pd.isna(values)
        if gaps.any():
            raise ValueError(
                f"y must have a value in each row; got {values[gaps][0]!r} in {int(gaps.sum())} of "
                f"{len(values)} rows. Drop these rows."
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


def weights_in_range(weights: Array) -> Array:
    """Return sample weights, of which only ratios matter, so that sums of them do not overflow."""
    largest = float(weights.max(initial=0.0))
    if largest > LARGEST_VALUE or 0 < largest < LEAST_RANGE:
        return weights / largest
    return weights
