import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import interaction
from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.certificate import Certificate
from manykernels.fitting.fit import warn_of
from manykernels.kernels import Precomputed
from manykernels.losses import Hinge, Huber
from manykernels.potentials import power_norm
from manykernels.solvers import MirrorDescent, UniformSampler


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        MKLRegressor(alpha=1e-3),
        MKLClassifier(alpha=1e-3),
        MKLRegressor(alpha=1e-3, standardize="scale", degree=2),
        MKLClassifier(alpha=1e-3, kernels="rbf", degree=2),
        MKLRegressor(alpha=1e-3, p=2),
        MKLRegressorCV(degree=2),
        MKLClassifierCV(degree=[1, 2], p=[1, 4 / 3], n_alphas=4, cv=2),
        MKLRegressorCV(solver="greedy"),
        MKLClassifier(solver="greedy"),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_finds_the_interaction_and_predicts(rng):
    X, y = interaction(rng)
    model = MKLRegressor(alpha=1e-3, degree=3, random_state=0).fit(X[:200], y[:200])
    assert model.terms_[:2] == [(0, 2), (4,)]
    assert model.score(X[200:], y[200:]) > 0.95
    assert model.n_kernels_ == 84
    assert model.gap_ <= model.tol
    assert model.gap_kind_ == "exact"
    assert power_norm(model.theta_, 2.0) <= 1 + 1e-9


def test_fitted_attributes_fit_together(rng):
    X, y = interaction(rng)
    model = MKLRegressor(degree=2, alpha=1e-3, random_state=0).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    features = np.column_stack([np.prod(Z[:, list(term)], axis=1) for term in model.terms_])
    np.testing.assert_allclose(features @ model.term_coef_ + model.intercept_, model.predict(X))
    K = (features * model.theta_) @ features.T
    np.testing.assert_allclose(model.kernel(X), K, atol=1e-8)
    np.testing.assert_allclose(K @ model.dual_coef_ + model.intercept_, model.predict(X), atol=1e-6)
    risk = np.mean((y - model.predict(X)) ** 2) / 2
    penalty = model.alpha / 2 * model.dual_coef_ @ K @ model.dual_coef_
    assert model.objective_ == pytest.approx(risk + penalty)
    p = 4 / 3  # the default
    norms = np.sum(np.abs(model.term_coef_) ** p) ** (2 / p)
    assert risk + model.alpha / 2 * norms <= model.objective_ + 1e-12


def test_explain(rng):
    X, y = interaction(rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = MKLRegressor(alpha=1e-3, degree=2, random_state=0).fit(frame, -y)
    table = model.explain(top=2)
    assert table["term"].tolist() == ["a * c", "e"]
    assert table["degree"].tolist() == [2, 1]
    assert table["sign"].tolist() == [-1, -1]
    assert model.explain(top=None)["share"].sum() == pytest.approx(1.0)
    assert len(model.explain(top=None)) == len(model.terms_)
    # A share is the covariance of a term's part of the function with the whole.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    part = Z[:, 0] * Z[:, 2] * model.term_coef_[0]
    f = model.predict(frame)
    assert table["share"][0] == pytest.approx(np.cov(part, f)[0, 1] / np.var(f, ddof=1))


def test_shares_of_kernels_without_features(rng):
    X, y = interaction(rng, n=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MKLRegressor(alpha=1e-3, kernels="rbf", degree=2, random_state=0).fit(X, y)
    assert model.explain(None)["share"].sum() == pytest.approx(1.0)
    assert not hasattr(model, "term_coef_")
    assert model.explain()["sign"].eq(0).all()
    assert all(len(set(term)) == len(term) for term in model.terms_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_keep_their_names(frame, rng):
    X, y = interaction(rng)
    named = frame({f"c{j}": X[:, j] for j in range(6)})
    model = MKLRegressor(alpha=1e-3, degree=2, random_state=0).fit(named, y)
    assert model.feature_names_in_.tolist() == [f"c{j}" for j in range(6)]
    assert model.explain(1)["term"][0] == "c0 * c2"
    np.testing.assert_allclose(
        model.predict(named),
        MKLRegressor(alpha=1e-3, degree=2, random_state=0).fit(X, y).predict(X),
    )


def test_sparse_equals_dense(rng):
    X = rng.normal(size=(80, 12)) * (rng.random((80, 12)) < 0.2)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=80)
    for standardize in ("scale", False):
        options = {"degree": 2, "standardize": standardize, "random_state": 0}
        dense = MKLRegressor(**options).fit(X, y)
        for make in (sparse.csr_matrix, sparse.csc_array):
            model = MKLRegressor(**options).fit(make(X), y)
            np.testing.assert_allclose(model.predict(make(X)), dense.predict(X), atol=1e-6)
    with pytest.raises(TypeError, match=r"got a sparse matrix .* standardize=\"scale\""):
        MKLRegressor(alpha=1e-3).fit(sparse.csr_matrix(X), y)


def test_scale_keeps_a_raw_monomial_a_single_term(rng):
    X = rng.uniform(1, 3, size=(200, 4))
    y = X[:, 0] * X[:, 1] * X[:, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MKLRegressor(
            p=1.05, standardize="scale", alpha=1e-4, random_state=0, max_iter=300
        ).fit(X, y)
    assert model.terms_[0] == (0, 1, 2)


def test_intercept(rng):
    X, y = interaction(rng)
    options = {"degree": 2, "random_state": 0, "alpha": 0.1, "tol": 1e-3, "max_iter": 3000}
    shifted = MKLRegressor(**options).fit(X, y + 100)
    plain = MKLRegressor(**options).fit(X, y)
    np.testing.assert_allclose(shifted.predict(X), plain.predict(X) + 100, atol=1e-6)
    assert abs(shifted.dual_coef_.sum()) < 1e-6 * np.abs(shifted.dual_coef_).sum()
    without = MKLRegressor(fit_intercept=False, **options).fit(X, y + 100)
    assert without.intercept_ == 0
    assert () in without.terms_


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", Huber(0.5)])
def test_regression_losses(loss):
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    model = MKLRegressor(degree=2, loss=loss, alpha=0.05, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.4


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared", Hinge()])
def test_classification_losses(loss):
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["malignant", "benign"])[y]
    model = MKLClassifier(degree=2, loss=loss, alpha=0.01, random_state=0).fit(
        X[:400], labels[:400]
    )
    assert model.score(X[400:], labels[400:]) > 0.93
    assert model.term_coef_.shape[0] == 1
    scores = model.decision_function(X[400:])
    assert np.all((scores > 0) == (model.predict(X[400:]) == model.classes_[1]))
    if isinstance(loss, str) and loss != "hinge":
        probabilities = model.predict_proba(X[400:])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert np.all((probabilities[:, 1] > 0.5) == (scores > 0))
    else:
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError) as error:
            model.predict_proba(X)
        assert "loss='logistic'" in str(error.value.__cause__)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_multiclass_shares_one_theta(loss):
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(degree=2, loss=loss, alpha=0.003, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.term_coef_.shape == (3, len(model.terms_))
    assert model.dual_coef_.shape == (3, 150)
    assert model.theta_.shape == (len(model.terms_),)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(probabilities.argmax(axis=1) == y) > 0.95


def test_closed_form_is_kernel_ridge_with_a_polynomial_kernel(rng):
    """With tuples and rho_d^-2 = binom(D, d), the sum of all kernels is (1 + x'z)^D."""
    X, y = interaction(rng, n=60)
    rho = [1.0, 3**-0.5, 3**-0.5, 1.0]
    model = MKLRegressor(
        p=2, index_set="tuples", rho=rho, alpha=0.1, fit_intercept=False, standardize=False
    ).fit(X, y)
    reference = KernelRidge(alpha=0.1 * 60, kernel="poly", degree=3, gamma=1, coef0=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(X))
    np.testing.assert_allclose(model.kernel(X[:5], X), (1 + X[:5] @ X.T) ** 3, atol=1e-10)
    assert model.gap_ == pytest.approx(0.0, abs=1e-10)


def test_learnt_kernel_in_a_support_vector_machine(rng):
    X, y = interaction(rng)
    labels = y > 0
    model = MKLClassifier(alpha=1e-3, degree=2, random_state=0).fit(X[:150], labels[:150])
    machine = SVC(kernel=model.kernel, C=10).fit(X[:150], labels[:150])
    plain = SVC(kernel="linear").fit(X[:150], labels[:150])
    assert machine.score(X[150:], labels[150:]) > plain.score(X[150:], labels[150:]) + 0.1
    rbf = MKLClassifier(alpha=1e-3, kernels="rbf", degree=2, max_iter=20, tol=1.0).fit(
        X[:50], labels[:50]
    )
    K = rbf.kernel(X[:50])
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(rbf.kernel(X[:7], X[:50]), K[:7])
    scores = K @ rbf.dual_coef_[0] + rbf.intercept_[0]
    np.testing.assert_allclose(scores, rbf.decision_function(X[:50]), atol=1e-6)


def test_precomputed_kernels_under_cross_validation(rng):
    X, y = interaction(rng, n=90)
    first, second = X[:, :3] @ X[:, :3].T, X[:, 3:] @ X[:, 3:].T
    rows = np.arange(90)[:, None]
    kernels = [Precomputed(first, "left"), Precomputed(second, "right")]
    model = MKLRegressor(kernels=kernels, degree=2, index_set="monomials", alpha=0.01)
    scores = cross_val_score(model.set_params(random_state=0, tol=0.05), rows, y, cv=3)
    assert scores.mean() > 0.8
    assert model.fit(rows, y).explain(1)["term"][0] in ("left^2", "left * right")
    one = MKLRegressor(alpha=1e-3, kernels="precomputed", degree=2, index_set="monomials", tol=0.05)
    assert cross_val_score(one.set_params(random_state=0), X @ X.T, y, cv=3).mean() > 0.8
    fitted = clone(one).fit(X @ X.T, y)
    np.testing.assert_allclose(fitted.kernel(X @ X.T).shape, (90, 90))


def test_works_with_the_rest_of_scikit_learn(rng):
    X, y = interaction(rng, n=120)
    model = make_pipeline(StandardScaler(), MKLRegressor(alpha=1e-3, degree=2, random_state=0))
    search = GridSearchCV(model, {"mklregressor__alpha": [1e-3, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"mklregressor__alpha": 1e-3}
    fitted = search.best_estimator_
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_allclose(clone(fitted).fit(X, y).predict(X), fitted.predict(X))


def test_a_fitted_linear_model_keeps_no_training_rows(rng):
    X = rng.normal(size=(2000, 20))
    model = MKLRegressor(alpha=1e-3, degree=2, max_iter=5, tol=1e3).fit(X, X[:, 0])
    assert len(pickle.dumps(model)) < X.nbytes / 2


def test_sample_weight(rng):
    X, y = interaction(rng, n=60)
    times = rng.integers(0, 4, size=60)
    options = {"degree": 2, "random_state": 0}
    weighted = MKLRegressor(**options).fit(X, y, sample_weight=3.7 * times)
    repeated = MKLRegressor(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)
    assert np.all(weighted.dual_coef_[times == 0] == 0)


def test_reproducible(rng):
    X, y = interaction(rng)
    one, two = (MKLRegressor(alpha=1e-3, random_state=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.theta_, two.theta_)
    generator = MKLRegressor(alpha=1e-3, random_state=np.random.default_rng(5)).fit(X, y)
    assert generator.gap_ <= 1e-2


def test_solver_object(rng):
    X, y = interaction(rng)
    solver = MirrorDescent(sampler=UniformSampler(), draws=200)
    model = MKLRegressor(alpha=1e-3, solver=solver, degree=2, random_state=0, tol=0.05).fit(X, y)
    assert model.terms_[0] == (0, 2)


def test_unreached_tolerance_warns(rng):
    X, y = interaction(rng)
    with pytest.warns(ConvergenceWarning, match=r"after 3 iterations .* above tol=1e-06\. Raise"):
        model = MKLRegressor(alpha=1e-3, max_iter=3, tol=1e-6, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.n_iter_ == 3
    assert len(model.history_["gap"]) == 4


def test_interrupt_warns_and_keeps_the_model(rng, monkeypatch):
    X, y = interaction(rng)

    def stop(self, state, record):
        if state.k == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("manykernels.fitting.progress.Progress.__call__", stop)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 3 iterations"):
        model = MKLRegressor(alpha=1e-3, random_state=0, tol=1e-9).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))


def test_notebooks_show_the_terms(rng):
    X, y = interaction(rng)
    frame = pd.DataFrame(X, columns=["<b>age", *(f"c{j}" for j in range(1, X.shape[1]))])
    model = MKLRegressor(degree=2, p=1, alpha=1e-2)
    plain = model._repr_html_()
    assert "spread (" not in plain
    model.fit(frame, y)
    text = model._repr_html_()
    assert (
        model._repr_mimebundle_()["text/html"].count("spread (standard deviation of its part)") == 1
    )
    assert "&lt;b&gt;age * c2" in text
    assert "<b>age" not in text.split("spread (")[1]
    assert f"from {model.n_kernels_} kernels" in text
    assert "can lower the objective by more than" in text
    greedy = MKLRegressorCV(degree=1, solver="greedy", cv=2).fit(X, y)
    assert "no certificate" in greedy._repr_html_()


def test_a_fit_by_far_too_few_draws_names_a_way_out():
    stop = SimpleNamespace(tol=1e-2)
    spec = SimpleNamespace(strength=1.0, exponents=(4 / 3,), stop=stop)
    result = SimpleNamespace(
        certificate=Certificate(5.0, 5.0, "bound"),
        solution=SimpleNamespace(objective=1.0),
        indices=[],
        interrupted=False,
        converged=False,
        n_iter=60,
    )
    with pytest.warns(ConvergenceWarning, match="Use a smaller degree, p=1 or solver='greedy'"):
        warn_of(spec, result)
    result.certificate = Certificate(0.5, 0.5, "bound")
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or max_time"):
        warn_of(spec, result)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"kernels": "linear", "alpha": 0.1, "degree": 1}),
        ({"kernels": "linear", "degree": 1}, {"kernels": "precomputed"}),
    ],
)
def test_nothing_is_left_of_an_earlier_fit(before, after, rng):
    X = rng.normal(size=(40, 2))
    y, rows = X[:, 0] + 0.1 * rng.normal(size=40), X @ X.T if "precomputed" in str(after) else X
    model = MKLRegressor(random_state=0).set_params(**before).fit(X, y).set_params(**after)
    fresh = clone(model).fit(rows, y)
    assert set(vars(model.fit(rows, y))) == set(vars(fresh))


def test_what_a_subclass_stored_before_its_fit_stays(rng):
    class Scaled(MKLRegressor):
        def fit(self, X, y, sample_weight=None):
            self.spread_ = X.std(axis=0)
            return super().fit(X / self.spread_, y, sample_weight)

        def predict(self, X):
            return super().predict(X / self.spread_)

    X = rng.normal(size=(40, 2))
    model = Scaled(degree=1, alpha=0.1).fit(X, X[:, 0]).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()
