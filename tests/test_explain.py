"""Terms and their parts of predictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.baselines import LpNormMKL
from manykernels.function.importance import losses_without
from manykernels.function.terms import OTHERS
from manykernels.kernels import Precomputed
from manykernels.losses import Squared
from manykernels.objective import Problem

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(80, 4)), columns=["u", "v", "w", "z"])
X["w"] = np.round(2 * X["w"])
y = X["u"] * X["v"] + np.sin(2 * X["z"]) + (X["w"] > 0) + 5
new = X.iloc[:9] + 0.1

MODELS = {
    "monomials": MKLRegressor(degree=3, p=1, alpha=1e-3),
    "dense": MKLRegressor(degree=2, p=4 / 3, alpha=1e-3),
    "closed": MKLRegressor(degree=2, p=2, alpha=1e-3),
    "closed sum": MKLRegressor(kernels="rbf", degree=3, p=2, alpha=1e-3),
    "tuples": MKLRegressor(degree=2, index_set="tuples", alpha=1e-3),
    "maps": MKLRegressor(kernels="auto", degree=3, p=1, alpha=1e-3),
    "matrices": MKLRegressor(kernels="rbf", degree=2, alpha=1e-3),
    "few rows": MKLRegressor(p=4 / 3, kernels="spline", degree=2, alpha=1e-4),
    "mixed": MKLRegressor(
        kernels=[("rbf", ["u", "v"]), ("linear", "w")], degree=2, alpha=1e-3, fit_intercept=False
    ),
    "chosen": MKLRegressorCV(degree=2, solver="greedy", standardize="scale"),
    "competitor": LpNormMKL(kernels="rbf", degree=2, alpha=1e-3),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_contributions_add_up_to_predictions(model):
    model = model.fit(X, y)
    parts = model.contributions(new)
    prediction = model.predict(new)
    assert np.allclose(parts.sum(axis=1), prediction, rtol=1e-10, atol=1e-10)
    assert parts.index.equals(new.index)
    assert np.all(parts["intercept"] == model.intercept_)
    listed = model.explain(None)["term"].tolist()
    assert parts.columns.tolist() == ["intercept", *listed]
    assert OTHERS not in parts.columns


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_shares_are_covariances_of_contributions(model):
    model = model.fit(X, y)
    parts = model.contributions(X).drop(columns="intercept")
    f = model.predict(X)
    shares = [np.cov(part, f, ddof=0)[0, 1] / f.var() for _, part in parts.items()]
    table = model.explain(None)
    assert np.allclose(table["share"], shares[: len(table)], atol=1e-6)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_spreads_are_deviations_of_contributions(model):
    model = model.fit(X, y)
    parts = model.contributions(X).drop(columns="intercept")
    table = model.explain(None)
    assert np.allclose(table["spread"], parts.std(ddof=0)[: len(table)], atol=1e-6)
    assert table["spread"].is_monotonic_decreasing
    assert parts.columns[: len(table)].tolist() == table["term"].tolist()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_term_is_a_function_of_its_own_columns(model):
    model = model.fit(X, y)
    terms = model.function_.terms
    for name in terms.names[:6]:
        columns = terms.columns(name)
        assert {X.columns[c] for c in columns} == {c for c in X.columns if c in name}
        other = X.sample(frac=1, random_state=1).reset_index(drop=True)
        other.iloc[:, columns] = X.iloc[:, columns]
        one, two = (model.contributions(rows, [name])[name] for rows in (X, other))
        assert np.allclose(one, two, atol=1e-10)


def test_contributions_of_named_terms():
    model = MODELS["maps"].fit(X, y)
    everything = model.contributions(new)
    names = everything.columns[[3, 1]].tolist()
    some = model.contributions(new, names)
    assert some.columns.tolist() == names
    assert np.allclose(some, everything[names], atol=1e-12)
    assert model.contributions(new, names[0]).columns.tolist() == names[:1]
    with pytest.raises(ValueError, match=r"got 'nothing'\. It has"):
        model.contributions(new, ["nothing"])


def test_contributions_to_decision_values():
    two = MKLClassifier(degree=2, alpha=1e-2).fit(X, y > 6)
    assert np.allclose(two.contributions(new).sum(axis=1), two.decision_function(new))
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [4.5, 6])]
    several = MKLClassifier(degree=2, alpha=1e-2).fit(X, labels)
    values = several.decision_function(new)
    for number, label in enumerate(several.classes_):
        parts = several.contributions(new, label=label)
        assert np.allclose(parts.sum(axis=1), values[:, number])
    with pytest.raises(ValueError, match="label must be one of 'high', 'low', 'middle'; got None"):
        several.contributions(new)
    with pytest.raises(ValueError, match="label must be None for a single output; got 'low'"):
        two.contributions(new, label="low")


def test_kernels_of_whole_rows_have_no_columns():
    gram = X.to_numpy() @ X.to_numpy().T
    rows = np.arange(len(X)).reshape(-1, 1)
    model = MKLRegressor(kernels=[Precomputed(gram, "all")], degree=1, alpha=1e-3).fit(rows, y)
    assert model.function_.terms.columns("all") == []
    assert np.allclose(model.contributions(rows[:5]).sum(axis=1), model.predict(rows[:5]))
    whole = MKLRegressor(kernels="precomputed", degree=2, alpha=1e-3).fit(gram, y)
    assert whole.function_.terms.columns("precomputed") == []
    assert np.allclose(whole.contributions(gram[:5]).sum(axis=1), whole.predict(gram[:5]))


def test_what_is_not_listed_of_a_sum_has_a_column(monkeypatch):
    monkeypatch.setattr("manykernels.solvers.closed_form.LISTED_KERNELS", 4)
    monkeypatch.setattr("manykernels.solvers.closed_form.DRAWN_KERNELS", 3)
    model = MKLRegressor(degree=3, p=2, alpha=1e-3, random_state=0).fit(X, y)
    parts = model.contributions(new)
    assert len(model.terms_) <= 3
    assert parts.columns[-1] == OTHERS
    assert np.abs(parts[OTHERS]).min() > 1e-3
    assert np.allclose(parts.sum(axis=1), model.predict(new), rtol=1e-10)


def test_a_column_may_be_named_intercept():
    named = X.rename(columns={"u": "intercept"})
    model = MKLRegressor(degree=1, alpha=1e-3).fit(named, y)
    parts = model.contributions(named)
    assert parts.columns[0] == "(intercept)"
    assert "intercept" in parts.columns
    assert np.allclose(parts.sum(axis=1), model.predict(named))


def test_products_with_a_matrix_are_no_functions_of_columns():
    rows = np.column_stack([np.arange(len(X)), X["u"]])
    gram = X.to_numpy() @ X.to_numpy().T
    kernels = [Precomputed(gram, "all"), ("rbf", 1)]
    model = MKLRegressor(kernels=kernels, degree=2, alpha=1e-3).fit(rows, y)
    assert model.function_.terms.columns("rbf(x1)") == [1]
    assert model.function_.terms.columns("all * rbf(x1)") == []


@pytest.mark.parametrize("outputs", [1, 2])
def test_losses_without_terms_are_those_of_a_general_minimiser(rng, outputs):
    """Others are scaled anew by least squares with the penalty at which the function is optimal."""
    weights = rng.gamma(2.0, size=40)
    weights /= weights.sum()
    y = rng.normal(size=(40, outputs))
    features = rng.normal(size=(40, 5))
    root = np.sqrt(weights)[:, None]
    ridge = np.vstack([root * features, np.sqrt(0.2) * np.eye(5)])
    target = np.vstack([root * (y - weights @ y), np.zeros((5, outputs))])
    coefficients = np.linalg.lstsq(ridge, target, rcond=None)[0]
    parts = np.vstack([features * coefficients[:, c] for c in range(outputs)])
    fitted = features @ coefficients + weights @ y
    problem = Problem(y, weights, Squared(), 0.2, 1.0, True)
    found = losses_without(parts, fitted, problem)

    long, heavy = y.T.ravel(), np.tile(weights, outputs)
    slope = heavy * (fitted.T.ravel() - long)
    penalty = np.maximum(-(parts.T @ slope), 0)

    def risk(left_out):
        inside = [g for g in range(5) if g != left_out]

        def errors(x):
            constants = np.repeat(x[len(inside) :], 40)
            return parts[:, inside] @ x[: len(inside)] + constants - long

        def objective(x):
            return heavy @ errors(x) ** 2 / 2 + penalty[inside] @ x[: len(inside)] ** 2 / 2

        best = minimize(objective, np.ones(len(inside) + outputs), tol=1e-14, method="BFGS").x
        return heavy @ errors(best) ** 2

    whole = np.sum(weights @ (y - weights @ y) ** 2)
    expected = [(risk(g) - risk(None)) / whole for g in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
