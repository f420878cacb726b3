"""Rows to train on and rows to validate on, where nobody says which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)

from ..arrays import Array
from ..rows import Rows

DEFAULT_FOLDS = 5
"""Folds where nobody says how many: scikit-learn's number."""

Split = tuple[Array, Array]
"""Numbers of the rows to train on and of those to validate on."""


def folds_of(rows: Rows, cv: Any) -> Iterator[Any]:
    """Return the folds that a ``cv`` argument asks for; five if it is None.

    Rows of one group are never on both sides; with rows in the order of time one validates on later
    rows than those it trains on.
    """
    X, labels = rows.for_splitter()
    groups, classes = rows.groups, len(rows.classes) > 0
    if isinstance(cv, bytes) or (isinstance(cv, np.ndarray) and cv.ndim == 0):
        cv = str(cv)  # neither is iterable, nor a splitter: scikit-learn says so
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        return iter(cv)
    if groups is not None and (cv is None or isinstance(cv, int)):
        count = min(DEFAULT_FOLDS, len(np.unique(groups))) if cv is None else cv
        cv = (StratifiedGroupKFold if classes else GroupKFold)(count)
    elif rows.ordered and cv is None:
        cv = TimeSeriesSplit(DEFAULT_FOLDS)
    elif cv is None:  # a sorted table is no worse than another
        cv = (StratifiedKFold if classes else KFold)(DEFAULT_FOLDS, shuffle=True, random_state=0)
    found = check_cv(cv, labels if classes else None, classifier=classes)
    splits: Iterator[Any] = found.split(X, labels, groups)
    return splits


def one_split(rows: Rows, most: int | None = None) -> Split:
    """Return one fifth of the rows to validate on and the others to train on.

    Of more than ``most`` rows as many are drawn, the latest where rows are in the order of time.
    """
    X, labels = rows.for_splitter()
    count = len(labels) if most is None else min(most, len(labels))
    if rows.groups is not None:
        return _by_groups(rows.groups, count)
    if rows.ordered:
        first = len(labels) - count
        border = len(labels) - count // 5
        return np.arange(first, border), np.arange(border, len(labels))
    split = StratifiedShuffleSplit if len(rows.classes) else ShuffleSplit
    sizes: dict[str, Any] = {"test_size": 0.2}
    if count < len(labels):
        sizes = {"train_size": count - count // 5, "test_size": count // 5}
    train, test = next(split(1, **sizes, random_state=0).split(X, labels))
    return train, test


def _by_groups(groups: Array, count: int) -> Split:
    """Split whole groups, as many of them as have about ``count`` rows."""
    names, sizes = np.unique(groups, return_counts=True)
    order = np.random.default_rng(0).permutation(len(names))
    enough = max(2, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))
    chosen = np.flatnonzero(np.isin(groups, names[order[:enough]]))
    split = GroupShuffleSplit(1, test_size=0.2, random_state=0)
    train, test = next(split.split(chosen, groups=groups[chosen]))
    return chosen[train], chosen[test]
