"""Folds where none are given: the same for rows in any order, copies of a row together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..spec import Search
from .splits import DEFAULT_FOLDS


def default_folds(search: Search, rows: Any) -> list[tuple[Array, Array]]:
    """Return five folds, or a fifth held out where rows are many; of classes their share each.

    Rows are drawn by their values, not by their places: folds do not depend on the order of rows, a
    sorted table is no worse than another, copies of a row are never on both sides, and a row of
    weight two is the same as two rows. Rows of weight zero are in no fold.

    Where rows of the same values have different targets, as in a table of few categories, rows
    that agree in their target, too, are no copies: each is an observation of its own, and drawn by
    itself. Held out together they would leave those of the other targets behind, which say the
    opposite of what is held out. (Of these a row of weight two is not the same as two rows.)

    Parameters
    ----------
    search : Search
        From how many rows on a fifth is held out, and of how many rows at most.
    rows : MemoryRows
        Rows in memory.
    """
    live = np.flatnonzero(rows.weights > 0)
    labels = rows.for_splitter()[1][live]
    kinds = units(rows, live)
    order = np.random.default_rng(0).permutation(int(kinds.max()) + 1)[kinds]
    count, most = int(kinds.max()) + 1, search.most_rows
    labels = labels if len(rows.classes) else np.zeros(len(live))
    numbers = _numbers(order, labels)
    if count < search.split_rows:
        folds = numbers % min(DEFAULT_FOLDS, int(numbers.max()) + 1)
        return [(live[folds != fold], live[folds == fold]) for fold in range(int(folds.max()) + 1)]
    test = numbers % DEFAULT_FOLDS == 0
    if most is None or count <= most:
        return [(live[~test], live[test])]
    sizes = np.empty(len(live), dtype=np.int64)
    for label in np.unique(labels):
        sizes[labels == label] = numbers[labels == label].max() + 1
    drawn = numbers < np.maximum(sizes * most / count, DEFAULT_FOLDS)  # of each class its share
    return [(live[drawn & ~test], live[drawn & test])]


def distinct_rows(rows: Any) -> int:
    """Return the number of rows of positive weight, copies of a row as one."""
    return int(units(rows, np.flatnonzero(rows.weights > 0)).max()) + 1


def units(rows: Any, live: Array) -> Array:
    """Return the places of rows in the order of their values, copies of a row at the same place.

    The first column decides, then the second, .. and last the target: O(n log n) for each column
    that is needed to tell rows apart. Rows of the same values and targets are copies, unless other
    rows of these values have other targets.
    """
    if rows.pairwise:  # columns are rows, too: they have no order of their own
        return np.arange(len(live))
    X = rows.X.tocsc() if issparse(rows.X) else rows.X
    values = _places(len(live), (dense(X[:, [j]])[live, 0] for j in range(X.shape[1])))
    if values.max() == len(live) - 1:
        return values
    places = _places(len(live), chain([values], rows.y[live].T))
    firsts = np.unique(places, return_index=True)[1]
    noisy = (np.bincount(values[firsts]) > 1)[values]
    return _places(len(live), [places, np.where(noisy, _copies(places), 0)])


def _places(count: int, columns: Iterable[Array]) -> Array:
    """Return the places of rows in the order of columns, those equal in all at the same place."""
    places = np.zeros(count, dtype=np.int64)
    for values in columns:
        codes = np.unique(values, return_inverse=True)[1]
        places = np.unique(places * count + codes, return_inverse=True)[1]
        if places.max() == count - 1:
            break
    return places


def _copies(places: Array) -> Array:
    """Return for each row how many rows before it have its place."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(places[order]) > 0])
    copies = np.empty(len(places), dtype=np.int64)
    sizes = np.diff(np.r_[starts, len(places)])
    copies[order] = np.arange(len(places)) - np.repeat(starts, sizes)
    return copies


def dense(values: Any) -> Array:
    """Return a dense array of one that may be sparse."""
    return values.toarray() if issparse(values) else values


def _numbers(order: Array, labels: Array) -> Array:
    """Return for each row which of its class it is, in an order; copies of a row are one."""
    numbers = np.empty(len(order), dtype=np.int64)
    for label in np.unique(labels):
        own = labels == label
        numbers[own] = np.unique(order[own], return_inverse=True)[1]
    return numbers
