"""Columns for kernels of free widths: their scales, categories, and the kernels argument."""

import numpy as np
import pytest

from manykernels.bases import WidthRows
from manykernels.kernels import resolve

NAMES = ["age", "bmi", "town"]


def test_scales_are_half_values_and_half_ranks(rng):
    X = np.column_stack([rng.normal(size=400), rng.lognormal(2.0, 1.5, size=400), np.zeros(400)])
    rows = resolve("widths", NAMES).fit(X, X)
    assert isinstance(rows, WidthRows)
    ranks = np.argsort(np.argsort(X[:, 1])) / 399
    truth = (X[:, 1] - X[:, 1].mean()) / X[:, 1].std() + np.sqrt(12) * (ranks - 0.5)
    truth = (truth - truth.mean()) / truth.std()
    np.testing.assert_allclose(rows.values[:, 1], truth, atol=0.05)
    np.testing.assert_allclose(rows.values[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.values[:, :2].std(axis=0), 1)
    np.testing.assert_array_equal(rows.values[:, 2], 0)


def test_scales_are_increasing_and_end_at_the_training_rows(rng):
    X = rng.lognormal(size=(300, 3))
    kernels = resolve("widths", NAMES)
    rows = kernels.fit(X, X)
    grid = np.linspace(X[:, 0].min() - 5, X[:, 0].max() + 50, 1000)
    new = kernels.on(None, np.column_stack([grid] * 3)).values[:, 0]
    assert np.all(np.diff(new) >= 0)
    assert new[0] == rows.values[:, 0].min()
    assert new[-1] == rows.values[:, 0].max()
    inside = (grid > X[:, 0].min()) & (grid < X[:, 0].max())
    assert np.all(np.diff(new[inside]) > 0)


def test_weights_are_repeated_rows(rng):
    X, counts = rng.normal(size=(40, 3)), rng.integers(1, 4, size=40)
    many = np.repeat(X, counts, axis=0)
    once = resolve("widths", NAMES).fit(X, X, counts / counts.sum()).values
    again = resolve("widths", NAMES).fit(many, many).values
    np.testing.assert_allclose(np.repeat(once, counts, axis=0), again, atol=1e-9)


def test_categories_are_told_apart_and_new_ones_are_unlike_all():
    X = np.array([[0.0, 1.0, 7.0], [1.0, 2.0, 3.0], [2.0, 4.0, 7.0]])
    kernels = resolve([("widths", ["age", "bmi"]), ("categorical", "town")], NAMES)
    rows = kernels.fit(X, X)
    assert rows.categories == {2: 2}
    new = kernels.on(None, np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 5.0]]))
    kernel = ("gaussian", (2,), (1.5,))
    unlike = np.exp(-1.5)
    truth = [[unlike, 1, unlike], [unlike, unlike, unlike]]
    np.testing.assert_allclose(new.kernel(kernel, rows), truth)


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (["widths", ("linear", "age")], r"kernels\[1\] must be \"widths\" or \"categorical\""),
        (["widths", ("categorical", "age")], "names column 'age' again"),
        ([("widths", "size")], "refers to column size, which X does not have"),
    ],
)
def test_lists_that_make_no_sense_are_refused_in_words(kernels, words):
    with pytest.raises(ValueError, match=words):
        resolve(kernels, NAMES)
