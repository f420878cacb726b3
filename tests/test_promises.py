"""The page of promises names tests that exist, and each promise has one."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLClassifier, MKLRegressor, load

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "held by" not in line]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[^`]*::[^`]*)`", PAGE))))
def test_tests_that_are_named_exist(name):
    path, function = name.split("::")
    tree = ast.parse((ROOT / path).read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_a_test():
    assert len(ROWS) > 25
    for line in ROWS:
        assert re.search(r"`tests/test_\w+\.py::|`tests/attack/test_\w+\.py::", line), line


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_models_of_infinite_exponents_can_be_loaded(p, tmp_path, rng):
    """The exponent of tuples is infinite for p = 2: such files could be written and not read."""
    X = rng.normal(size=(30, 3))
    model = MKLRegressor(index_set="tuples", degree=2, p=p).fit(X, X[:, 0])
    assert np.array_equal(load(model.save(tmp_path / "m.mk")).predict(X), model.predict(X))


ROUNDED = [
    [0.3, 0.3 + 2**-54],  # the last digit
    [1e16, 1e16 + 2],
    [1e13, 1e13 + 2**-9],
    [0.0, 5e-324],
]
SEARCHED = (None, "widths", "both")
"""Kinds of kernels whose search takes its time."""

KINDS = (*SEARCHED, "linear", "auto", "spline", "polynomial", "nystroem", "matrix")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [MKLRegressor, MKLClassifier])
def test_models_of_columns_constant_up_to_rounding_can_be_loaded(
    estimator, kind, gaps, tmp_path, rng
):
    """Their scale is infinite, and rows that try a model from a file had infinite values."""
    x = rng.normal(size=50)
    X = np.column_stack([x, *(np.array(own)[np.arange(50) % 2] for own in ROUNDED)])
    kernels = [("rbf", "a"), ("rbf", list("bcde"))] if kind == "matrix" else kind
    model = estimator(kernels, max_time=2) if kind in SEARCHED else estimator(kernels, degree=1)
    table = pd.DataFrame(X, columns=list("abcde"))
    table.loc[3, "b"] = np.nan if gaps else table.loc[3, "b"]
    model.fit(table, x if estimator is MKLRegressor else x > 0)
    loaded = load(model.save(tmp_path / "m.mk"))
    assert np.array_equal(loaded.predict(table), model.predict(table))


def test_weights_next_to_nothing_count_as_zero(rng):
    X = rng.normal(size=(40, 3))
    y, weights = X[:, 0] + rng.normal(size=40), np.ones(40)
    weights[:10] = 1e-17
    small = MKLRegressor(degree=1).fit(X, y, weights)
    zero = MKLRegressor(degree=1).fit(X, y, np.where(weights < 1, 0.0, 1.0))
    assert np.array_equal(small.predict(X), zero.predict(X))
    labels = (np.arange(40) < 10).astype(int)
    with pytest.raises(ValueError, match="two classes with positive weight"):
        MKLClassifier(degree=1).fit(X, labels, weights)
