"""Features made a block of rows at a time, against the same held whole."""

import numpy as np
import pytest

from manykernels.dual import FeatureSystem, TallColumns, TallSystem, tall

MODES = ["whole", "blocks"]


@pytest.fixture(params=MODES)
def columns(request, rng, monkeypatch):
    """Return columns and the array that they stand for."""
    if request.param == "blocks":
        monkeypatch.setattr(tall, "TALL_BYTES", 0)
        monkeypatch.setattr(tall, "TALL_ENTRIES", 30)
        monkeypatch.setattr(tall, "TALL_ROWS", 1)
    values = rng.normal(size=(23, 5)) + 10 * rng.normal(size=5)
    return TallColumns(lambda rows: values[rows], 23, 5), values


def same(columns, values, rng):
    """Assert that columns are those of an array, with the right products."""
    w, v, bend = rng.normal(size=(values.shape[1], 2)), rng.normal(size=(23, 2)), rng.random(23)
    np.testing.assert_allclose(columns.dot(w), values @ w)
    np.testing.assert_allclose(columns.transposed_dot(v), values.T @ v, atol=1e-12)
    centre, products = columns.products(bend)
    mean = bend @ values / bend.sum()
    np.testing.assert_allclose(centre, mean)
    expected = (values - mean).T @ ((values - mean) * bend[:, None])
    np.testing.assert_allclose(products, expected, atol=1e-10)


def test_products_are_those_of_the_whole(columns, rng):
    same(*columns, rng)


def test_one_row_with_most_of_the_weight(columns):
    """Its distance to the others is what products are made of; digits of its size would hide it."""
    made, values = columns
    bend = np.full(23, 1e-14)
    bend[7] = 1.0
    exact, wide = values.astype(np.longdouble), bend.astype(np.longdouble)
    away = exact - wide @ exact / wide.sum()
    np.testing.assert_allclose(made.products(bend)[1], (away.T * wide) @ away, rtol=1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_parts_and_sums_know_their_products(columns, known, rng):
    made, values = columns
    bend = rng.random(23)
    if known:
        made.products(bend)
    more = rng.normal(size=(23, 3))
    chosen = np.array([True, False, True, True, False])
    other = made.keep(chosen).add(TallColumns(lambda rows: more[rows], 23, 3))
    expected = np.hstack([values[:, chosen], more])
    mean = bend @ expected / bend.sum()
    centre, products = other.products(bend)
    np.testing.assert_allclose(centre, mean)
    centred = expected - mean
    np.testing.assert_allclose(products, centred.T @ (centred * bend[:, None]), atol=1e-10)
    same(other, expected, rng)
    again = other.remade(lambda rows: expected[rows])
    np.testing.assert_allclose(again.products(bend)[1], products)
    same(again, expected, rng)


@pytest.mark.parametrize("intercept", [False, True])
def test_system_is_that_of_the_features(columns, intercept, rng):
    made, values = columns
    factors, bend, linear = rng.random(5), rng.random(23), rng.normal(size=(23, 2))
    ours, theirs = TallSystem(made, factors), FeatureSystem(values * factors)
    one = ours.ridge(bend, linear, 0.3, intercept)
    two = theirs.ridge(bend, linear, 0.3, intercept)
    for mine, truth in zip(one, two, strict=True):
        np.testing.assert_allclose(mine, truth, atol=1e-9)
    alpha = rng.normal(size=(23, 2))
    np.testing.assert_allclose(ours.matrix(), theirs.matrix())
    np.testing.assert_allclose(ours.from_dual(alpha), theirs.from_dual(alpha), atol=1e-12)
    w = ours.from_dual(alpha)
    np.testing.assert_allclose(ours.values(w), theirs.values(w))
    np.testing.assert_allclose(ours.inner(w, w, ours.values(w)), np.sum(w * w, axis=0))


def test_no_columns(rng):
    none = TallColumns(lambda rows: np.empty((len(range(23)[rows]), 0)), 23, 0)
    np.testing.assert_array_equal(none.dot(np.empty((0, 2))), np.zeros((23, 2)))
    assert none.products(rng.random(23))[1].shape == (0, 0)
