"""Predictions as text that no spreadsheet runs."""

from __future__ import annotations

from typing import Any

import pandas as pd

PROBABILITY = "probability of "
"""What the names of columns of predictions begin with that hold the probability of a class."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What text begins with that a spreadsheet may run as a formula (OWASP: CSV injection);
the last four are = + - @ in full width."""


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and text cannot be formulas: those have an apostrophe in front.

    Numbers stay as they are, also where they are names of classes, such as -1, and so does what
    begins with something else, such as ``probability of =1+1``.
    """
    out = frame.copy()
    for name in out.columns:
        if not pd.api.types.is_numeric_dtype(out[name]):
            out[name] = out[name].map(_no_formula)
    return out.rename(columns=_no_formula)


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not value.lstrip(" ").startswith(FORMULA) or _is_number(value):
        return value
    return f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
