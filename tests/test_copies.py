"""Copies of rows in a table: never on both sides of the score's split."""

import numpy as np
import pandas as pd
import pytest

from manykernels.tables import Settings, split_table
from manykernels.tables.apart import units_of


def table(rng, size=60):
    frame = pd.DataFrame({"u": rng.normal(size=size), "k": rng.choice(list("ab"), size)})
    return frame.assign(y=frame["u"] + rng.normal(size=size))


@pytest.mark.parametrize("classes", [False, True])
def test_copies_are_held_out_together(rng, classes):
    frame = table(rng)
    if classes:
        frame["y"] = np.where(frame["y"] > frame["y"].median(), "high", "low")
    frame.loc[3, "u"] = None
    whole = pd.concat([frame, frame.iloc[:30], frame.iloc[3:5]], ignore_index=True)
    split = split_table(whole, Settings("y"))
    assert not set(split.train["u"]) & set(split.test["u"])
    assert len(split.train) + len(split.test) == 92
    assert "32 rows are copies of others, target and all; copies are held out together." in (
        split.notes
    )


def test_without_copies_the_split_is_as_before(rng):
    from sklearn.model_selection import train_test_split

    frame = table(rng)
    split = split_table(frame, Settings("y", seed=5))
    train, test = train_test_split(np.arange(60), test_size=0.2, random_state=5)
    assert split.train.index.tolist() == train.tolist()
    assert split.test.index.tolist() == test.tolist()
    assert not any("copies" in note for note in split.notes)


def test_copies_are_those_of_values_and_targets():
    """As in the folds: where rows of the same values have several targets, each is for itself."""
    X = pd.DataFrame({"a": [1, 1, 1, 2, 2, 2, None, None], "b": list("xxxyyyzz")})
    y = np.array([5.0, 5.0, 5.0, 1.0, 1.0, 0.0, 3.0, 3.0])
    assert units_of(X, y).tolist() == [0, 0, 0, 1, 2, 3, 4, 4]
    wide = pd.DataFrame(np.zeros((4, 12))).assign(last=[0, 0, 1, 2])
    assert units_of(wide, np.zeros(4)).tolist() == [0, 0, 1, 2]
    assert units_of(wide, np.arange(4.0)).tolist() == [0, 1, 2, 3]


def test_rows_alike_by_chance_are_observations_of_their_own(rng):
    """Of 24 kinds of rows none is left out of training: the score would be that of new kinds."""
    X = pd.DataFrame({"a": rng.choice(list("uvw"), 200), "b": rng.choice(list("pq"), 200)})
    X["c"] = rng.integers(0, 4, size=200)
    y = np.where((X["a"] == "u") ^ (X["b"] == "p"), 1.0, 0.0)  # without noise
    assert units_of(X, y).tolist() == list(range(200))
    split = split_table(X.assign(y=y), Settings("y"))
    assert not any("copies" in note for note in split.notes)
    numbers = X.assign(d=rng.normal(size=200))  # here they are copies
    twice = pd.concat([numbers, numbers], ignore_index=True)
    assert units_of(twice, np.tile(y, 2)).tolist() == [*range(200), *range(200)]


def test_columns_of_lists_are_left_to_be_refused():
    assert units_of(pd.DataFrame({"a": [[1], [1]]}), np.zeros(2)).tolist() == [0, 1]


def test_a_class_of_copies_only_is_on_both_sides(rng):
    frame = table(rng).assign(y="usual")
    rare = frame.iloc[[0] * 12].assign(y="rare", u=9.0)
    split = split_table(pd.concat([frame, rare], ignore_index=True), Settings("y"))
    assert {"usual", "rare"} == set(split.y_train) == set(split.y_test)
