"""The Lasso over monomials against scikit-learn's, and its certificate against conic optima."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.preprocessing import PolynomialFeatures

from checks import interaction, regression
from manykernels.baselines import MonomialLasso
from manykernels.memory import refuse_bytes

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def standardised(X, weights=None):
    centre = np.average(X, axis=0, weights=weights)
    return (X - centre) / np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))


def design(Z, degree, interactions=False):
    """Return monomials, the constant included, and their indices."""
    made = PolynomialFeatures(degree, interaction_only=interactions).fit(Z)
    indices = [tuple(np.repeat(np.arange(len(row)), row).tolist()) for row in made.powers_]
    return made.transform(Z), indices


def coefficients(model, indices):
    """Return the coefficients of a model in the order of the indices."""
    found = dict(zip(model.terms_, model.term_coef_, strict=True))
    assert set(found) <= set(indices)
    return np.array([found.get(index, 0.0) for index in indices])


def lasso_optimum(columns, y, weights, strength, intercept):
    """Return the optimal value, by a conic solver."""
    w = cp.Variable(columns.shape[1])
    b = cp.Variable() if intercept else 0.0
    loss = cp.sum(cp.multiply(weights, cp.square(columns @ w + b - y))) / 2
    program = cp.Problem(cp.Minimize(loss + strength * cp.norm1(w)))
    program.solve(solver=cp.CLARABEL)
    return program.value


@quietly
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.3, 0.02])
def test_equals_scikit_learn(fit_intercept, degree, alpha, rng):
    X, y = interaction(rng, n=80, r=5)
    y = y + 2.0
    options = {"alpha": alpha, "fit_intercept": fit_intercept, "max_iter": 100_000}
    model = MonomialLasso(degree=degree, tol=1e-9, **options).fit(X, y)
    columns, indices = design(standardised(X), degree)
    reference = Lasso(tol=1e-12, **options).fit(columns, y)
    np.testing.assert_allclose(coefficients(model, indices), reference.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(reference.intercept_, abs=1e-4)
    np.testing.assert_allclose(model.predict(X), reference.predict(columns), atol=1e-3)
    risk = np.mean((y - model.predict(X)) ** 2) / 2
    assert model.objective_ == pytest.approx(risk + alpha * np.abs(model.term_coef_).sum())
    assert model.n_kernels_ == len(indices)
    np.testing.assert_allclose(
        model.theta_, np.abs(model.term_coef_) / np.abs(model.term_coef_).sum()
    )


@quietly
def test_interactions_and_rho(rng):
    X, y = interaction(rng, n=80, r=5)
    options = {"alpha": 0.02, "max_iter": 100_000}
    columns, indices = design(standardised(X), 2, interactions=True)
    model = MonomialLasso(index_set="interactions", tol=1e-9, **options).fit(X, y)
    reference = Lasso(tol=1e-12, **options).fit(columns, y)
    np.testing.assert_allclose(coefficients(model, indices), reference.coef_, atol=1e-4)
    model = MonomialLasso(index_set="interactions", rho=[1.0, 1.0, 3.0], tol=1e-9, **options).fit(
        X, y
    )
    columns[:, [len(index) == 2 for index in indices]] /= 3.0
    reference = Lasso(tol=1e-12, **options).fit(columns, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(columns), atol=1e-3)


@quietly
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_repeat_rows(fit_intercept, rng):
    X, y = interaction(rng, n=50, r=5)
    times = rng.integers(0, 4, size=50)
    options = {"alpha": 0.02, "fit_intercept": fit_intercept, "tol": 1e-9, "max_iter": 100_000}
    weighted = MonomialLasso(**options).fit(X, y, sample_weight=2.5 * times)
    repeated = MonomialLasso(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    live = times > 0
    Z = standardised(np.repeat(X, times, axis=0))
    columns, indices = design(Z, 2)
    reference = Lasso(alpha=0.02, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000)
    reference.fit(columns, np.repeat(y, times))
    np.testing.assert_allclose(coefficients(weighted, indices), reference.coef_, atol=1e-4)
    assert np.all(weighted.dual_coef_[~live] == 0)


@quietly
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("tol", "max_iter"), [(1e-1, 1000), (1e-4, 1000), (1e-8, 1), (1e-8, 5)])
def test_the_gap_is_certified(fit_intercept, weighted, tol, max_iter, rng):
    """Whether it has converged or not: objective - optimum <= gap."""
    X, y = interaction(rng, n=40, r=5)
    weights = rng.uniform(0.2, 2.0, size=40) if weighted else np.ones(40)
    weights /= weights.sum()
    model = MonomialLasso(alpha=0.01, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter)
    model.fit(X, y, sample_weight=weights)
    columns, _ = design(standardised(X, weights), 2)
    optimum = lasso_optimum(columns, y, weights, 0.01, fit_intercept)
    excess = model.objective_ - optimum
    assert -1e-6 * optimum <= excess <= model.gap_ * model.objective_ + 1e-6 * optimum


def test_unreached_tolerance_warns(rng):
    X, y = interaction(rng, n=60)
    with pytest.warns(ConvergenceWarning, match="above tol=1e-10"):
        MonomialLasso(alpha=1e-4, tol=1e-10, max_iter=2).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_strength_beyond_the_largest_that_matters(fit_intercept, rng):
    X, y = regression(rng)
    y = y + 1.0
    columns, _ = design(standardised(X), 2)
    target = y - y.mean() if fit_intercept else y
    centred = columns - columns.mean(axis=0) if fit_intercept else columns
    highest = np.abs(centred.T @ target).max() / 40
    model = MonomialLasso(alpha=1.001 * highest, fit_intercept=fit_intercept).fit(X, y)
    assert model.terms_ == []
    assert model.term_coef_.shape == (0,)
    np.testing.assert_allclose(model.predict(X), y.mean() if fit_intercept else 0.0, atol=1e-12)
    assert model.objective_ == pytest.approx(np.mean(target**2) / 2)
    assert model.gap_ == pytest.approx(0.0, abs=1e-12)
    assert len(model.explain()) == 0
    some = MonomialLasso(alpha=0.9 * highest, fit_intercept=fit_intercept).fit(X, y)
    assert len(some.terms_) >= 1


def test_no_predictor_and_perfect_targets(rng):
    X, y = regression(rng)
    flat = MonomialLasso().fit(X, np.full(40, 3.0))
    assert flat.terms_ == []
    np.testing.assert_allclose(flat.predict(X), 3.0)
    blank = MonomialLasso().fit(np.ones((40, 3)), y)
    np.testing.assert_allclose(blank.predict(np.ones((2, 3))), y.mean())


def test_finds_the_interaction_in_many_columns(rng):
    X, y = interaction(rng, n=150, r=40)
    model = MonomialLasso(alpha=0.1, tol=1e-4).fit(X, y)
    assert model.terms_[:2] == [(0, 2), (4,)]
    assert model.n_kernels_ == 861
    assert model.explain(None)["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5])
def test_tolerance_is_relative_to_the_objective(alpha, tol, fit_intercept, rng):
    """A small objective next to the variance of y is no excuse for a loose answer."""
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5
    model = MonomialLasso(alpha=alpha, tol=tol, max_iter=100_000, fit_intercept=fit_intercept)
    model.fit(X, y)
    columns, _ = design(standardised(X), 2)
    optimum = lasso_optimum(columns, y, np.full(60, 1 / 60), alpha, fit_intercept)
    assert model.gap_ <= tol
    assert model.objective_ <= optimum * (1 + 2 * tol) + 1e-9


@quietly
def test_sparse_equals_dense(rng):
    X = rng.normal(size=(80, 8)) * (rng.random((80, 8)) < 0.3)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=80)
    options = {"alpha": 0.01, "standardize": "scale", "tol": 1e-9, "max_iter": 100_000}
    dense = MonomialLasso(**options).fit(X, y)
    thin = MonomialLasso(**options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-4)


def test_large_tables_are_refused():
    with pytest.raises(ValueError, match="GiB"):
        refuse_bytes(10**20, "this", "much", "Use less.")
    X = np.random.default_rng(0).normal(size=(200, 2000))
    with pytest.raises(ValueError, match=r"1\.34e\+09 monomials on 200 rows.*GiB"):
        MonomialLasso(degree=3).fit(X, X[:, 0])
