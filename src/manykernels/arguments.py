"""Arguments of public functions that are of the wrong kind: one check for each kind of argument."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .inputs import is_integer, shown


def as_path(value: Any, name: str = "path") -> Path:
    """Return the path that an argument names; TypeError if it names none."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(
            f"{name} must be text or a path; got {shown(value)}. Use the name of a file."
        )
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ValueError(f"{name} must name a file; got {shown(value)}. Use a name.")
    return Path(value)


def refuse_no_text(value: Any, name: str, instead: str) -> None:
    """Raise TypeError unless an argument is text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text; got {shown(value)}. Use {name}={instead!r}.")


def refuse_outside(value: Any, name: str, low: int, high: int, instead: int) -> None:
    """Raise ValueError unless an argument is an integer between two."""
    if not is_integer(value, low) or value > high:
        raise ValueError(
            f"{name} must be an integer from {low} to {high}; got {shown(value)}. Use "
            f"{name}={instead}."
        )


def refuse_no_mapping(value: Any, name: str) -> None:
    """Raise TypeError unless an argument is a mapping or None."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping or None; got {shown(value)}. Use a dict.")


def listed_names(value: Any, name: str) -> list[Any]:
    """Return the names of columns that an argument lists; TypeError if it is no list of them."""
    if value is None:
        return []
    single = isinstance(value, str | bytes | type) or not isinstance(value, Iterable)
    single = single or getattr(value, "shape", None) == ()
    names = [] if single else list(value)
    if single or not all(isinstance(one, Hashable) for one in names):
        raise TypeError(
            f"{name} must be a list of names of columns, or None; got {shown(value)}. Use for "
            f"instance {name}=['town']."
        )
    return names


def refuse_no_table(value: Any, name: str = "X") -> None:
    """Raise TypeError unless an argument has rows and columns."""
    shape = getattr(value, "shape", None)
    if shape is None and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        try:
            shape = np.shape(value)
        except ValueError:  # rows of different lengths
            shape = None
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(
            f"{name} must be a table; got {shown(value)}. Use a data frame, or an array of two "
            "dimensions."
        )


def refuse_unfitted(value: Any, name: str = "estimator") -> None:
    """Raise unless an argument is a fitted estimator.

    Raises
    ------
    TypeError
        If it is no estimator.
    NotFittedError
        If it is not fitted.
    """
    try:
        check_is_fitted(value)
    except NotFittedError:
        raise
    except (TypeError, AttributeError):  # classes; feature maps, which have a fit method
        raise TypeError(
            f"{name} must be a fitted estimator; got {shown(value)}. Give one, or a pipeline that "
            "ends with one."
        ) from None
