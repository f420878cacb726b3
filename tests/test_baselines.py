"""What all competitors share: scikit-learn's conventions, input forms, refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import manykernels.baselines as baselines
from checks import full_gradient_optimum, interaction, make_bases, random_problem, regression
from manykernels import MKLClassifier, MKLRegressor
from manykernels.baselines import (
    HierarchicalKernelLearning,
    HierarchicalKernelLearningClassifier,
    LpNormMKL,
    LpNormMKLClassifier,
    MonomialLasso,
    PolynomialCombination,
    UniformCoordinateDescent,
    UniformCoordinateDescentClassifier,
    UniformProductKernel,
    UniformProductKernelClassifier,
)
from manykernels.families import ProductFamily
from manykernels.kernels import Precomputed
from manykernels.losses import Squared
from manykernels.solvers import DecreasingStep, HarmonicStep, MirrorDescent, UniformSampler, run

ALL = [
    HierarchicalKernelLearning(total_degree=2),
    HierarchicalKernelLearningClassifier(total_degree=2),
    LpNormMKL(degree=2),
    LpNormMKLClassifier(degree=2),
    MonomialLasso(),
    PolynomialCombination(),
    UniformCoordinateDescent(degree=2, max_iter=200, random_state=0),
    UniformCoordinateDescentClassifier(degree=2, max_iter=200, random_state=0),
    UniformProductKernel(),
    UniformProductKernelClassifier(),
]
EVERY = pytest.mark.parametrize("estimator", ALL, ids=lambda model: type(model).__name__)
WITH_KERNELS = pytest.mark.parametrize(
    "estimator",
    [model for model in ALL if not isinstance(model, MonomialLasso)],
    ids=lambda model: type(model).__name__,
)
quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quietly
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ALL)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def fit(estimator, X, y, **options):
    """Fit a fresh copy, to classes if it is a classifier."""
    return clone(estimator).fit(X, y > 0 if is_classifier(estimator) else y, **options)


def values(model, X):
    """Return real values of a fitted model."""
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def tight(estimator):
    """Return a copy that goes as far as it can in short time."""
    steps = 60 if hasattr(estimator, "draws") else 400
    close = {"tol": 1e-7, "max_iter": steps, "alpha": 0.05}
    return clone(estimator).set_params(
        **{key: value for key, value in close.items() if key in estimator.get_params()}
    )


def test_every_class_is_here():
    assert {type(model).__name__ for model in ALL} == set(baselines.__all__)
    assert len(ALL) == 10


@quietly
@EVERY
def test_finds_an_interaction(estimator, rng):
    X, y = interaction(rng, n=300)
    model = fit(estimator, X[:200], y[:200])
    target = y[200:] > 0 if is_classifier(model) else y[200:]
    assert model.score(X[200:], target) > 0.7
    if hasattr(model, "terms_"):
        assert (0, 2) in model.terms_[:3]
        assert "x0 * x2" in model.explain(top=3)["term"].tolist()
        assert model.explain(None)["share"].sum() == pytest.approx(1.0, abs=1e-6)
        assert model.gap_kind_ == "exact"


@quietly
@EVERY
def test_data_frames_keep_their_names(estimator, rng):
    X, y = interaction(rng, n=60)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit(estimator, frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_allclose(values(model, frame), values(fit(estimator, X, y), X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    if hasattr(model, "terms_"):
        assert "a * c" in model.explain(None)["term"].tolist()


@quietly
@EVERY
def test_weights_repeat_rows(estimator, rng):
    X, y = interaction(rng, n=60)
    times = rng.integers(0, 4, size=60)
    weighted = fit(tight(estimator), X, y, sample_weight=3.7 * times)
    repeated = fit(tight(estimator), np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-3)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-4)
    assert np.all(weighted.dual_coef_[..., times == 0] == 0)


@quietly
@EVERY
def test_sparse_equals_dense(estimator, rng):
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)
    for standardize in ("scale", False):
        model = tight(estimator).set_params(standardize=standardize)
        dense, thin = fit(model, X, y), fit(model, sparse.csr_array(X), y)
        np.testing.assert_allclose(values(thin, sparse.csc_array(X)), values(dense, X), atol=1e-4)
        np.testing.assert_allclose(
            thin.kernel(sparse.csr_array(X)[:5], sparse.csr_array(X)),
            dense.kernel(X[:5], X),
            atol=1e-3,
        )
    with pytest.raises(TypeError, match=r"got a sparse matrix .* standardize=\"scale\""):
        fit(estimator, sparse.csr_array(X), y)


@quietly
@EVERY
def test_clones_and_pickles(estimator, rng):
    X, y = interaction(rng, n=60)
    model = fit(estimator, X, y)
    parameters = estimator.get_params()
    assert clone(model).get_params() == parameters
    assert type(model)(**parameters).get_params() == parameters
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(again, X), values(model, X))
    np.testing.assert_array_equal(values(fit(model, X, y), X), values(model, X))
    np.testing.assert_array_equal(again.kernel(X[:3], X), model.kernel(X[:3], X))


@quietly
@WITH_KERNELS
def test_forms_of_kernels(estimator, rng):
    """A matrix, a list of matrices, blocks and functions of the same kernels agree."""
    X, y = interaction(rng, n=50)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows, block = np.arange(50)[:, None], [0, 2]
    K = np.exp(-np.sum((Z[:, None, block] - Z[None][:, :, block]) ** 2, axis=2) / 4)
    model = tight(estimator)
    named = fit(model.set_params(kernels=[("rbf", block)]), X, y)
    made = fit(model.set_params(kernels=[Precomputed(K, "k")]), rows, y)
    matrix = fit(model.set_params(kernels="precomputed"), K, y)
    np.testing.assert_allclose(values(made, rows), values(named, X), atol=1e-6)
    np.testing.assert_allclose(values(matrix, K), values(named, X), atol=1e-6)
    np.testing.assert_allclose(named.kernel(X[:4], X), made.kernel(rows[:4], rows), atol=1e-3)
    every = fit(model.set_params(kernels="rbf"), X, y)
    listed = fit(model.set_params(kernels=[("rbf", [j]) for j in range(6)]), X, y)
    np.testing.assert_allclose(values(every, X), values(listed, X), atol=1e-8)


@quietly
def test_precomputed_kernels_under_cross_validation(rng):
    X, y = interaction(rng, n=90)
    for model in (LpNormMKL("precomputed"), PolynomialCombination("precomputed")):
        model.set_params(degree=2, alpha=1e-3)
        if isinstance(model, LpNormMKL):
            model.set_params(index_set="monomials")
        K = X[:, [0, 2, 4]] @ X[:, [0, 2, 4]].T
        assert cross_val_score(model, K, y, cv=3).mean() > 0.8
    search = GridSearchCV(LpNormMKL(degree=2), {"alpha": [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}


BAD = [
    ({"draws": 0}, "draws must be an integer >= 1; got 0. Use draws=50"),
    ({"draws": 2.5}, r"draws must be an integer >= 1; got 2\.5"),
    ({"step": 0.3}, r"step must be a step size or None; got 0\.3\. Use"),
    ({"step": "harmonic"}, "step must be a step size or None; got 'harmonic'"),
    ({"constant": 1}, "constant must be one of True, False; got 1"),
    ({"constant": "yes"}, "constant must be one of True, False"),
    ({"norm": 3}, r"norm must be 1 or 2; got 3\. Use norm=2"),
    ({"norm": 0}, "norm must be an integer >= 1; got 0. Use norm=1 or norm=2"),
    ({"norm": 1.5}, r"norm must be an integer >= 1; got 1\.5"),
    ({"norm": np.inf}, "norm must be an integer >= 1; got inf"),
    ({"centre": -0.1}, r"centre must be a number >= 0; got -0\.1\. Use centre=0"),
    ({"centre": np.nan}, "centre must be a number >= 0; got nan"),
    ({"radius": 0}, "radius must be a positive number; got 0. Use radius=1"),
    ({"radius": "large"}, "radius must be a positive number; got 'large'"),
    ({"alpha": -1.0}, r"alpha must be a positive number; got -1\.0"),
    ({"tol": 0.0}, "tol must be a positive number"),
    ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ({"degree": -1}, "degree must be an integer >= 0"),
    ({"p": 3}, "p must satisfy 1 <= p <= 2"),
    ({"index_set": "sets"}, "index_set must be one of 'auto', 'tuples'"),
    ({"rho": [1.0]}, r"rho must hold degree \+ 1"),
    ({"kernels": "cubic"}, "kernels must be one of"),
    ({"loss": "absolute"}, "loss must be one of"),
    ({"standardize": "yes"}, "standardize must be one of True, False, 'scale'"),
]


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        pytest.param(model, parameters, message, id=f"{type(model).__name__}-{parameters}")
        for model in ALL
        for parameters, message in BAD
        if set(parameters) <= set(model.get_params())
    ],
)
def test_bad_parameters(estimator, parameters, message, rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match=message):
        fit(clone(estimator).set_params(**parameters), X, y)


@EVERY
def test_bad_values(estimator, rng):
    X, y = regression(rng)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinite values"):
        fit(estimator, bad, y)
    bad[3, 1] = np.nan
    if get_tags(estimator).input_tags.allow_nan:
        assert len(fit(estimator, bad, y).predict(bad)) == len(y)
    else:
        with pytest.raises(ValueError, match="contains NaN"):
            fit(estimator, bad, y)
    with pytest.raises(ValueError, match=r"minimum of 2 is required"):
        fit(estimator, X[:1], y[:1])
    with pytest.raises(ValueError, match="products of degree 2 overflow"):
        fit(clone(estimator).set_params(standardize=False), X * 1e90, y)


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (LpNormMKL(degree=3), r"1\.34e\+09 kernels"),
        (LpNormMKLClassifier(degree=3), r"1\.34e\+09 kernels"),
        (LpNormMKL(degree=30), "the list of all kernels"),
        (MonomialLasso(degree=3), r"1\.34e\+09 monomials on 200 rows"),
        (MonomialLasso(degree=30), "the table of"),
    ],
    ids=str,
)
def test_lists_too_large_for_memory_are_refused_before_work(estimator, what, rng, monkeypatch):
    monkeypatch.setattr(ProductFamily, "indices", lambda family: pytest.fail("listed"))
    X = rng.normal(size=(200, 2000))
    with pytest.raises(ValueError, match=what + r".* GiB, of .* GiB\. Use a smaller"):
        fit(estimator, X, X[:, 0])


def test_too_many_rows_are_refused_at_once(rng, monkeypatch):
    X, y = regression(rng)
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # a machine of 10 kB
    for estimator in (UniformProductKernel(), PolynomialCombination()):
        with pytest.raises(
            ValueError, match=r"three kernel matrices must fit in memory; got 40 rows: .* GiB"
        ):
            estimator.fit(X, y)


PAIRS = [
    (UniformCoordinateDescent, MKLRegressor, {}),
    (UniformCoordinateDescentClassifier, MKLClassifier, {"loss": "squared_hinge"}),
]


@quietly
@pytest.mark.parametrize(("uniform", "ours", "options"), PAIRS, ids=["regressor", "classifier"])
@pytest.mark.parametrize("step", [None, DecreasingStep(0.3)], ids=["harmonic", "decreasing"])
def test_uniform_coordinate_descent_is_our_loop_with_another_sampler(
    uniform, ours, options, step, rng
):
    X, y = interaction(rng, n=60)
    target = y > 0 if "loss" in options else y
    options = {"degree": 3, "max_iter": 40, "tol": 1e-9, "random_state": 3, **options}
    model = uniform(draws=20, step=step, **options).fit(X, target)
    solver = MirrorDescent(20, UniformSampler(), step or HarmonicStep())
    same = ours(solver=solver, **options).fit(X, target)
    assert model.terms_ == same.terms_
    np.testing.assert_array_equal(model.theta_, same.theta_)
    np.testing.assert_array_equal(model.history_["objective"], same.history_["objective"])
    again = uniform(draws=20, step=step, **options).fit(X, target)
    np.testing.assert_array_equal(again.theta_, model.theta_)
    other = uniform(draws=20, step=step, **{**options, "random_state": 4}).fit(X, target)
    assert not np.array_equal(other.history_["objective"], model.history_["objective"])


@quietly
@pytest.mark.parametrize("p", [1.2, 4 / 3, 1.6])
def test_uniform_coordinate_descent_reaches_the_optimum(p, rng):
    X, y = interaction(rng, n=60, r=5)
    options = {"degree": 2, "p": p, "alpha": 0.02}
    model = UniformCoordinateDescent(
        draws=100, max_iter=1000, tol=1e-3, random_state=0, **options
    ).fit(X, y)
    optimum = LpNormMKL(tol=1e-6, max_iter=2000, **options).fit(X, y).objective_
    assert (1 - 1e-6) * optimum <= model.objective_ <= 1.05 * optimum
    assert model.objective_ - optimum <= (model.gap_ + 1e-6) * model.objective_
    closed = UniformCoordinateDescent(degree=2, p=2, alpha=0.02).fit(X, y)
    assert closed.objective_ == pytest.approx(
        LpNormMKL(degree=2, p=2, alpha=0.02).fit(X, y).objective_
    )


def test_uniform_draws_visit_all_kernels_alike(rng):
    """The control differs from ours in its draws only: after many, all kernels have been hit."""
    family = ProductFamily(make_bases("columns", rng, n=30, r=4), 2)
    problem = random_problem(Squared(), rng, family.bases.features, strength=0.02)
    optimum, _, _ = full_gradient_optimum(problem, family)
    result = run(MirrorDescent(100, UniformSampler()), problem, family, rng, 300, 1e-9)
    assert len(result.indices) == 15
    assert result.solution.objective <= 1.05 * optimum


@quietly
@EVERY
def test_kernel_and_dual_variables_give_the_predictor(estimator, rng):
    X, y = interaction(rng, n=60)
    model = fit(tight(estimator), X, y)
    expansion = model.kernel(X) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(np.ravel(expansion), values(model, X), atol=2e-3)
