"""Importances of variables against their definition, computed apart."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectFromModel

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
y = X[:, 0] * X[:, 2] + 2 * X[:, 3] + 0.1 * rng.normal(size=80)
CLASSES = np.digitize(y, [-1.0, 1.0])


def by_definition(model, rows, weights=None, labels=(None,)):
    """Spreads of contributions, in equal parts for the variables that a name has."""
    weights = np.full(len(rows), 1 / len(rows)) if weights is None else weights / weights.sum()
    total = dict.fromkeys(model.feature_names_in_, 0.0)
    parts = [model.contributions(rows, label=label) for label in labels]
    for term in parts[0].columns[1:]:
        variance = 0.0
        for part in parts:
            values = part[term].to_numpy()
            variance += np.sum(weights * (values - np.sum(weights * values)) ** 2)
        own = {name.split("^")[0].removesuffix(" is missing") for name in term.split(" * ")}
        for name in own - {"1"}:
            total[name] += np.sqrt(variance) / len(own)
    found = np.array(list(total.values()))
    return found / found.sum()


@pytest.mark.parametrize(
    "model",
    [
        MKLRegressor(degree=2),
        MKLRegressor(degree=2, p=1, alpha=1e-2, kernels="auto"),
        MKLRegressor(degree=2, kernels="rbf"),
        MKLRegressorCV(degree=2, solver="greedy"),
        MKLClassifier(degree=2),
    ],
    ids=["monomials", "functions", "matrices", "greedy", "classes"],
)
def test_importances_are_what_they_are_said_to_be(model, monkeypatch):
    table = pd.DataFrame(X, columns=list("abcd"))
    labels = (None,)
    target = y
    if isinstance(model, MKLClassifier):
        target, labels = CLASSES, (0, 1, 2)
    weights = np.random.default_rng(1).random(80)
    model = clone(model).fit(table, target, sample_weight=weights)
    found = model.feature_importances_
    assert found.shape == (4,)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0)
    if model.kernels == "rbf":  # names are rbf(a)
        assert found.argmax() in (0, 2, 3)
    else:
        np.testing.assert_allclose(found, by_definition(model, table, weights, labels), rtol=1e-8)


def test_gaps_and_categories_count_for_their_column():
    table = pd.DataFrame(X, columns=list("abcd"))
    table.loc[:9, "a"] = np.nan
    table["town"] = np.random.default_rng(2).choice(["Bonn", "Ulm"], 80)
    target = y + (table["town"] == "Ulm") + table["a"].isna()
    model = MKLRegressor(kernels="auto", degree=2, p=1, alpha=1e-2).fit(table, target)
    assert model.feature_importances_.shape == (5,)
    np.testing.assert_allclose(model.feature_importances_, by_definition(model, table), rtol=1e-8)


def test_selection_by_importance():
    model = MKLRegressorCV(degree=2, solver="greedy")
    mask = SelectFromModel(model, threshold=0.05).fit(X, y).get_support()
    assert mask.tolist() == [True, False, True, True]
    mask = RFE(MKLRegressor(degree=2, p=1, alpha=0.1), n_features_to_select=3).fit(X, y).support_
    assert mask.tolist() == [True, False, True, True]


def test_nothing_found_is_nothing():
    model = MKLRegressor(p=1, alpha=1e9).fit(X, y)
    assert model.feature_importances_.tolist() == [0.0] * 4


def test_kernels_with_widths():
    model = MKLRegressor(kernels="widths", max_iter=2, random_state=0).fit(X, y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    assert found[1] < 0.1


def test_unknown_importances_say_so():
    model = MKLRegressor(kernels="precomputed", alpha=1e-3).fit(X @ X.T, y)
    assert not hasattr(model, "feature_importances_")
