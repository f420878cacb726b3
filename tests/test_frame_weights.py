"""Sample weights of tables with gaps, text and dates: they are repeated rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from manykernels import MKLClassifier, MKLRegressor, TableEncoder
from manykernels.inputs import weighted_median
from manykernels.selection import SplitTest

ROWS = 60
CLOSE = {"p=1": 1e-9, "classifier": 1e-9, "auto": 1e-6}
"""How far predictions may be apart, as a share of the largest: that of tables without gaps."""

ESTIMATORS = {
    "p=1": MKLRegressor(degree=2, p=1, alpha=0.01, tol=1e-10, kernels="linear"),
    "classifier": MKLClassifier(degree=1, p=1, alpha=0.01, tol=1e-10, kernels="spline"),
    "auto": MKLRegressor(degree=2, p=1, alpha=0.01, tol=1e-10, kernels="auto"),
}

CASES = [("p=1", "numbers"), ("p=1", "dates")]
CASES += [
    (name, kinds) for name in ("classifier", "auto") for kinds in ("numbers", "text", "dates")
]
CASES.append(("auto", "text and dates"))
"""Names of estimators and kinds of columns; linear kernels are not for text."""


def table(kinds, seed):
    """Return a table with gaps in columns of some kinds, targets and whole weights, some zero."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    if "text" in kinds:
        X["town"] = rng.choice(["Bonn", "Ulm", "Jena"], ROWS)
        X["many"] = rng.choice([f"k{i}" for i in range(34)], ROWS)
    if "dates" in kinds:
        days = pd.to_timedelta(rng.integers(0, 900, ROWS), "D")
        X["sold"] = pd.Timestamp("2020-01-01") + days
        X["price"] = [f"${value:,.2f}" for value in rng.uniform(10, 5000, ROWS)]
    y = X["a"] * X["b"] + rng.normal(size=ROWS)
    X = X.mask(rng.random(X.shape) < 0.15)
    return X, y.to_numpy(), rng.integers(0, 4, ROWS)


def target_of(estimator, y):
    return np.where(y > 0, "up", "down") if isinstance(estimator, MKLClassifier) else y


def compare(name, model, other, X):
    decide = "decision_function" if name == "classifier" else "predict"
    one, two = getattr(model, decide)(X), getattr(other, decide)(X)
    np.testing.assert_allclose(one, two, rtol=0, atol=CLOSE[name] * np.abs(two).max())


@pytest.mark.filterwarnings("ignore:column .* has values that the model does not know")
@pytest.mark.parametrize(("name", "kinds"), CASES)
def test_weights_are_repeated_rows(name, kinds):
    X, y, weights = table(kinds, 0)
    target = target_of(ESTIMATORS[name], y)
    model = clone(ESTIMATORS[name]).fit(X, target, sample_weight=weights)
    rows = np.repeat(np.arange(ROWS), weights)
    again = clone(ESTIMATORS[name]).fit(X.iloc[rows], target[rows])
    assert model.encoder_.columns_ == again.encoder_.columns_
    compare(name, model, again, X)


@pytest.mark.filterwarnings("ignore:column .* has values that the model does not know")
@pytest.mark.parametrize(("name", "kinds"), CASES)
def test_rows_of_weight_zero_change_nothing(name, kinds):
    X, y, _ = table(kinds, 1)
    target = target_of(ESTIMATORS[name], y)
    wild = X.iloc[:9].assign(a=1e6, b=np.nan)
    for column in set(X) & {"town", "many"}:
        wild[column] = [None, "wild", *["strange"] * 7]
    rows = pd.concat([wild, X])
    weights = np.r_[np.zeros(9), np.ones(ROWS)]
    both = np.r_[target[:9], target]
    model = clone(ESTIMATORS[name]).fit(rows, both, sample_weight=weights)
    alone = clone(ESTIMATORS[name]).fit(X, target)
    assert model.encoder_.columns_ == alone.encoder_.columns_
    compare(name, model, alone, X)


def test_gaps_in_rows_of_weight_zero_alone():
    X, y, _ = table("numbers", 2)
    whole = X.fillna(0.5).assign(row=np.arange(ROWS))
    rows = pd.concat([whole, whole.iloc[:3] * np.nan])
    weights = np.r_[np.ones(ROWS), np.zeros(3)]
    for used, known in ((rows, whole), (rows.to_numpy(), whole.to_numpy())):
        model = MKLRegressor(degree=1).fit(used, np.r_[y, y[:3]], sample_weight=weights)
        assert not hasattr(model, "encoder_")
        plain = MKLRegressor(degree=1).fit(known, y)
        np.testing.assert_allclose(model.predict(known), plain.predict(known), atol=1e-12)


def test_medians_of_numbers_without_gaps_are_weighted():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    X[weights == 0] = 1e6
    model = MKLRegressor(degree=1).fit(X, rng.normal(size=40), sample_weight=weights)
    np.testing.assert_array_equal(model.medians_, np.median(np.repeat(X, weights, 0), axis=0))


def test_selections_read_tables_by_weights():
    X, y, weights = table("text", 4)
    simple = MKLRegressor(kernels="auto", degree=1, p=1)
    found = SplitTest(simple, n_splits=2, random_state=0).fit(X, y, sample_weight=weights)
    assert found.encoder_.columns_ == TableEncoder().fit(X, None, weights).columns_


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 6)), min_size=1, max_size=12),
    st.sampled_from([1.0, 1 / 3, 1e-9, 7e11]),
)
def test_weighted_medians_are_those_of_repeated_values(pairs, unit):
    values, weights = np.array(pairs, dtype=float).T
    known = np.median(np.repeat(values, weights.astype(int)))
    assert weighted_median(values, weights * unit) == known
    twice = np.column_stack([values, -values])
    np.testing.assert_array_equal(weighted_median(twice, weights * unit), [known, -known])


@pytest.mark.parametrize("wrong", [np.array(2.0), np.ones(3), -np.ones(ROWS), np.zeros(ROWS)])
def test_weights_that_are_none_are_named(wrong):
    X, y, _ = table("text", 5)
    for fit in (
        lambda: TableEncoder().fit(X, sample_weight=wrong),
        lambda: MKLRegressor(kernels="auto", degree=1).fit(X, y, wrong),
        lambda: MKLRegressor(degree=1).fit(X[["a"]].fillna(0.0), y, wrong),
    ):
        with pytest.raises(ValueError, match=r"(?i)sample_weight|sample weight"):
            fit()
