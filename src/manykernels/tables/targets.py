"""What the target of a table is, from its values: numbers or classes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..arrays import Array
from ..frames import TableError
from ..frames.written import (
    as_numbers,
    as_words,
    date_formats,
    mixed_units,
    mixture,
    number_style,
    refuse_objects,
    shown,
    target_values,
)
from ..words import count, plural
from .options import COMMAND

MOST_CLASSES = 50
"""Most classes of a target. Set by judgement, not measured."""

FEW_VALUES = 0.005
"""Share of the rows that is said to have half of the squares of a target: of 800 rows one in a
table of which two were outliers, 47 of 900 where prices were skewed. Set by judgement."""


def target_of(column: pd.Series, task: str, name: str, notes: list[str]) -> tuple[str, Array]:
    """Return the kind of a target, and its values; add notes of what people should know."""
    if why := refuse_objects(column):
        raise TableError(f"target {name!r} {why}. Is it the right column?")
    column = _as_written(column, task, name)
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    distinct = column.nunique()
    if distinct == 1:
        raise TableError(
            f"target {name!r} has the same value in all rows. There is nothing to fit."
        )
    if task == "auto":
        task = "regression" if numeric and distinct > 2 else "classification"
        if numeric and 2 < distinct <= 10:
            notes.append(
                f"target {name!r} has {distinct} distinct numbers and is predicted as a number; "
                "use --task classification if they are classes."
            )
        if numeric and distinct == 2 and (column % 1 != 0).any():
            low, high = sorted(column.unique().tolist())
            notes.append(
                f"target {name!r} has two distinct numbers, {low:g} and {high:g}, which are "
                "predicted as classes; use --task regression if they are quantities."
            )
    if task == "regression" and not numeric:
        raise TableError(
            f"target {name!r} must hold numbers for a regression; got "
            f"{shown(column.iloc[0])}. Correct the file, or use --task classification."
        )
    if task == "classification" and distinct > MOST_CLASSES:
        what = "numbers" if numeric else "texts"
        raise TableError(
            f"target {name!r} has {distinct} different {what}, too many for classes (at most "
            f"{MOST_CLASSES}). {'Use --task regression.' if numeric else 'Is it the right column?'}"
        )
    if task == "regression" and np.isinf(column.to_numpy(dtype=float)).any():
        raise TableError(f"target {name!r} has infinite values. Correct the file.")
    values = target_values(column, task)
    notes += _outliers(values, name) if task == "regression" else []
    return task, values


def _outliers(values: Array, name: str) -> list[str]:
    """Return a note if a few values have half of the squares by which a model is learnt."""
    sizes = np.abs(values - np.median(values))
    squares = (sizes / sizes.max()) ** 2
    order = np.argsort(-squares, kind="stable")
    few = int(np.searchsorted(np.cumsum(squares[order]), squares.sum() / 2)) + 1
    if few > max(1, FEW_VALUES * len(values)):
        return []
    return [
        f"target {name!r} has values far from the others, such as {values[order[0]]:.4g}: "
        f"{count(few)} of {plural(len(values), 'row')} {'has' if few == 1 else 'have'} half of the "
        "squared differences from its median, and as much of a say in the fit and its scores. "
        "Correct or remove them if they are mistakes. In Python loss='huber' counts them less, for "
        "predictions of usual rows."
    ]


def _as_written(column: pd.Series, task: str, name: str) -> pd.Series:
    """Return text that means numbers as numbers; refuse dates, and numbers mixed with text."""
    if pd.api.types.is_numeric_dtype(column) or task == "classification":
        return column
    words = as_words(column)
    numbers = as_numbers(words, number_style(words))
    if why := mixed_units(words):
        raise TableError(f"target {name!r} {why}.")
    if numbers.notna().all():
        return numbers
    if float(numbers.notna().mean()) >= 0.5:
        raise TableError(f"target {name!r} {mixture(column, numbers, COMMAND)}.")
    if pd.api.types.is_datetime64_any_dtype(column) or (
        column.nunique() > MOST_CLASSES and date_formats(column)
    ):
        raise TableError(
            f"target {name!r} holds dates, which cannot be predicted. Turn them into numbers, such "
            "as days from some day on."
        )
    return column
