"""Folds that nobody gave: by values, not by places."""

import numpy as np
import pytest
from scipy import sparse

from manykernels.fitting.default_folds import default_folds, distinct_rows
from manykernels.rows import MemoryRows
from manykernels.spec import Search


def rows_of(X, y, weights=None, classes=()):
    weights = np.ones(len(y)) if weights is None else weights
    names = [f"x{j}" for j in range(X.shape[1])]
    targets = np.asarray(y, dtype=float)[:, None]
    return MemoryRows(X, targets, weights, np.array(classes), names, 0.0, None, False)


def search(**changes):
    return Search(None, 25, None, False, False, None, **changes)


def contents(rows, splits):
    """Return what is on each side of each fold, as sets of rows by their values."""
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    table = np.column_stack([X, rows.y])
    return [tuple({tuple(row) for row in table[side]} for side in split) for split in splits]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_order_of_rows_is_none_of_theirs(rng, kind):
    X, y = rng.integers(3, size=(60, 4)).astype(float), rng.normal(size=60)
    order = rng.permutation(60)
    one, other = rows_of(kind(X), y), rows_of(kind(X[order]), y[order])
    assert contents(one, default_folds(search(), one)) == contents(
        other, default_folds(search(), other)
    )


def test_equal_rows_are_never_on_both_sides_and_weights_are_repetitions(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    times = rng.integers(4, size=40)
    weighted = rows_of(X, y, times.astype(float))
    again = rng.permutation(np.repeat(np.arange(40), times))
    repeated = rows_of(X[again], y[again])
    known = contents(repeated, default_folds(search(), repeated))
    assert known == contents(weighted, default_folds(search(), weighted))
    assert all(not inside & outside for inside, outside in known)
    assert distinct_rows(weighted) == distinct_rows(repeated) == np.sum(times > 0)


def test_rows_that_other_targets_show_to_be_no_copies_are_drawn_one_by_one(rng):
    """In a table of few categories each side has rows of all values and targets.

    Held out together, rows of the same values and target would leave only rows behind that say the
    opposite: a model that knows nothing else would be wrong on more rows than it is right.
    """
    X = rng.integers(3, size=(600, 2)).astype(float)
    y = np.where(rng.random(600) < 0.2 + 0.3 * X[:, 0], 1.0, -1.0)
    rows = rows_of(X, y, classes=("a", "b"))
    cells = 3 * X[:, 0] + X[:, 1]
    splits = default_folds(search(), rows)
    assert distinct_rows(rows) == 600
    assert np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(600))
    for train, test in splits:
        shares = np.array([y[train][cells[train] == cell].mean() for cell in range(9)])
        left_out = np.array([y[test][cells[test] == cell].mean() for cell in range(9)])
        assert np.corrcoef(shares, left_out)[0, 1] > 0.8


def test_copies_stay_together_where_other_rows_repeat_with_other_targets(rng):
    X = np.r_[rng.normal(size=(30, 2)), np.zeros((30, 2))]
    y = np.r_[rng.normal(size=30), rng.integers(2, size=30)]
    twice = np.r_[np.arange(60), np.arange(30)]  # the first 30 rows are there twice
    rows = rows_of(X[twice], y[twice])
    assert distinct_rows(rows) == 60
    for train, test in default_folds(search(), rows):
        assert not set(twice[train][twice[train] < 30]) & set(twice[test])


def test_every_row_is_left_out_once_and_classes_have_their_share(rng):
    X, y = rng.normal(size=(203, 2)), np.r_[np.ones(43), -np.ones(160)]
    rows = rows_of(X, y, classes=("a", "b"))
    splits = default_folds(search(), rows)
    assert len(splits) == 5
    assert np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(203))
    for train, test in splits:
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(203))
        assert np.sum(y[test] > 0) in (8, 9)


def test_a_fifth_of_at_most_so_many_rows_is_held_out_where_they_are_many(rng):
    rows = rows_of(rng.normal(size=(1000, 2)), rng.normal(size=1000))
    ((train, test),) = default_folds(search(split_rows=500), rows)
    assert len(train) == 800
    assert len(test) == 200
    ((train, test),) = default_folds(search(split_rows=500, most_rows=400), rows)
    assert len(np.intersect1d(train, test)) == 0
    assert abs(len(train) - 320) <= 2
    assert abs(len(test) - 80) <= 2


def test_a_sorted_table_has_folds_like_any_other(rng):
    X = np.sort(rng.normal(size=100))[:, None]
    rows = rows_of(X, X[:, 0])
    means = [X[test].mean() for _, test in default_folds(search(), rows)]
    assert np.ptp(means) < 1.0


def test_rare_classes_keep_their_share_of_the_rows_drawn(rng):
    """Of each class as many as it has, but five at the least, so that it is on both sides."""
    y = np.repeat([0.0, 1.0, 2.0], [3_600, 392, 8])
    rows = rows_of(rng.normal(size=(4_000, 2)), y, classes=[0, 1, 2])
    ((train, test),) = default_folds(search(split_rows=100, most_rows=1_000), rows)
    drawn = np.bincount(y[np.concatenate([train, test])].astype(int))
    assert drawn.tolist() == [900, 98, 5]
    assert np.bincount(y[test].astype(int)).tolist() == [180, 20, 1]
