"""Columns that look like identifiers of subjects with several rows each."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

LEAST_SUBJECTS = 10
"""Fewest different values of such a column. Set by judgement: fewer are kinds, not subjects."""

LEAST_REPEATS = 2.0
"""Fewest rows of a value, in the mean. Set by judgement, not measured."""

IDENTIFIERS = frozenset(["id", "ids", "identifier", "uid", "uuid", "guid", "pid"])
"""Last words of names that say that a column identifies something."""

NUMBERS = frozenset(["no", "nr", "num", "number", "code", "key", "name"])
"""Last words that say so after the word for a subject."""

SUBJECTS = frozenset(
    [
        "patient",
        "subject",
        "person",
        "participant",
        "individual",
        "respondent",
        "customer",
        "client",
        "user",
        "member",
        "student",
        "pupil",
        "employee",
        "driver",
        "rider",
        "player",
        "animal",
        "device",
        "sensor",
        "machine",
        "household",
    ]
)
"""Words for what may be measured several times."""


def repeated_subjects(X: Any) -> dict[str, tuple[int, int]]:
    """Return columns that look like identifiers of subjects, with their values and rows.

    The rule: the name ends with a word for identifiers (``id``, ``uid``, ..), is a word for a
    subject (``patient``, ``customer``, ..), or has such a word before one like ``no`` or ``code``;
    and the values are text or whole numbers, ten different ones at least, with two rows each or
    more in the mean, and not all rows in one.
    """
    found = {}
    names = list(X.columns) if hasattr(X, "iloc") else list(getattr(X, "column_names", X.columns))
    for name in names:
        if not isinstance(name, str) or not names_subjects(name):
            continue
        column = X[name] if hasattr(X, "iloc") else X[name].to_pandas()
        known = column.dropna()
        if not _identifies(known):
            continue
        values = int(known.nunique())
        if values >= LEAST_SUBJECTS and len(known) >= LEAST_REPEATS * values:
            found[name] = (values, len(known))
    return found


def names_subjects(name: str) -> bool:
    """Tell whether a name is that of an identifier: ``patient_id``, ``userId``, ``Subject``."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))
    words = [word.lower() for word in words]
    if not words:
        return False
    *before, last = words
    plain = last if last in SUBJECTS else last.removesuffix("s")
    if not before and plain in SUBJECTS:
        return True
    return last in IDENTIFIERS or (last in NUMBERS and bool(before) and before[-1] in SUBJECTS)


def _identifies(known: pd.Series) -> bool:
    """Tell whether values may be identifiers: text, categories or whole numbers; no dates."""
    kinds = pd.api.types
    if kinds.is_bool_dtype(known) or kinds.is_datetime64_any_dtype(known):
        return False
    if not kinds.is_numeric_dtype(known):
        return True
    values = known.to_numpy(dtype=float)
    return bool(np.all(values == np.round(values)))
