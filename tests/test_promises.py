"""The page of promises names tests that exist, and each promise has one."""

import ast
import re
from pathlib import Path

import numpy as np
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
