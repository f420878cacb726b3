"""Bad or extreme input gives a clear error, or works."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from checks import interaction, regression
from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.kernels import Precomputed
from manykernels.losses import Hinge, Huber

BOTH = pytest.mark.parametrize("estimator", [MKLRegressor, MKLClassifier])


@BOTH
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, r"alpha must be a positive number; got -1\.0\. Use"),
        ({"alpha": 0}, "alpha must be a positive number; got 0"),
        ({"alpha": np.nan}, "alpha must be a positive number; got nan"),
        ({"alpha": "big"}, "alpha must be a positive number; got 'big'"),
        ({"p": 0.9}, r"p must satisfy 1 <= p <= 2; got 0\.9\."),
        ({"p": 2.1}, "p must satisfy 1 <= p <= 2"),
        ({"degree": -1}, "degree must be an integer >= 0; got -1"),
        ({"degree": 2.5}, r"degree must be an integer >= 0; got 2\.5"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_time": -3}, "max_time must be a positive number"),
        ({"index_set": "sets"}, "index_set must be one of 'auto', 'tuples'"),
        ({"standardize": "yes"}, "standardize must be one of True, False, 'scale'"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'working-set', 'full-pass'"),
        ({"solver": "mirror-descent", "p": 2}, "needs p < 2"),
        ({"solver": "working-set", "p": 4 / 3}, "needs p = 1; got p=1.33"),
        ({"solver": "full-pass", "p": 1}, "needs 1 < p < 2"),
        ({"fit_intercept": "no"}, "fit_intercept must be one of True, False"),
        ({"verbose": "yes"}, "verbose must be an integer >= 0"),
        ({"rho": "high"}, "rho must hold"),
        ({"rho": [1.0]}, r"rho must hold degree \+ 1 = 4 positive numbers"),
        ({"kernels": "cubic"}, "kernels must be one of"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"loss": 3}, "loss must be a name or have value"),
    ],
)
def test_bad_parameters(estimator, parameters, message, rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, y > 0 if estimator is MKLClassifier else y)


def test_losses_must_fit_the_task(rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match="Use MKLClassifier for classes"):
        MKLRegressor(alpha=1e-3, loss=Hinge()).fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of 'logistic'"):
        MKLClassifier(alpha=1e-3, loss="huber").fit(X, y > 0)
    with pytest.raises(ValueError, match="loss must be for classes"):
        MKLClassifier(alpha=1e-3, loss=Huber()).fit(X, y > 0)
    with pytest.raises(ValueError, match="top must be an integer"):
        MKLRegressor(alpha=1e-3, degree=1).fit(X, y).explain(-1)


@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_values(estimator, value, rng):
    X, y = regression(rng)
    target = y > 0 if estimator is MKLClassifier else y
    bad = X.copy()
    bad[3, 1] = value
    if np.isinf(value):
        with pytest.raises(ValueError, match="column 'x1' of X has infinite values, in 1 of"):
            estimator().fit(bad, target)
    with pytest.raises(ValueError, match=r"contains NaN|infinite"):  # values of a kernel
        estimator(kernels="precomputed").fit(bad @ bad.T, target)
    with pytest.raises(ValueError, match=r"y (contains|must have a value in each row)"):
        MKLRegressor(alpha=1e-3).fit(X, np.where(np.arange(40) == 2, value, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator().fit(X, target[:-1])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        estimator().fit(X[:1], target[:1])


def test_bad_targets_and_weights(rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match=r"y must be numeric for regression; got strings"):
        MKLRegressor(alpha=1e-3).fit(X, np.array(["a", "b"] * 20))
    with pytest.raises(ValueError, match=r"at least two classes .* got one class"):
        MKLClassifier(alpha=1e-3).fit(X, np.ones(40))
    with pytest.raises(ValueError, match="got one class"):
        MKLClassifier(alpha=1e-3).fit(X, y > 0, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match=r"(?i)zero"):
        MKLRegressor(alpha=1e-3).fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="Negative"):
        MKLRegressor(alpha=1e-3).fit(X, y, sample_weight=-np.ones(40))


def test_targets_of_objects(rng):
    X, y = regression(rng)
    for target in (y > 0, np.sign(y).astype(int)):
        model = MKLClassifier(alpha=1e-3, degree=1)
        plain = model.fit(X, target).predict(X)
        assert np.array_equal(model.fit(X, target.astype(object)).predict(X), plain)
        assert model.classes_.dtype == target.dtype
    with pytest.raises(ValueError, match=r"y must have labels of one kind.*; got int, str"):
        MKLClassifier(alpha=1e-3).fit(X, np.array([1, "a"] * 20, dtype=object))
    with pytest.raises(ValueError, match="Unknown label type"):
        MKLClassifier(alpha=1e-3).fit(X, y.astype(object))
    records = np.zeros(40, dtype=[("age", float), ("pay", float)])
    for model in (MKLRegressor(), MKLClassifier()):
        with pytest.raises(ValueError, match=r"got records of age, pay. Use one .* y\['age'\]"):
            model.fit(X, records)


def test_masked_groups(rng):
    X, y = regression(rng)
    groups = np.ma.array(np.arange(40) % 4, mask=np.arange(40) > 30)
    with pytest.raises(ValueError, match="groups must have no masked values; got 9"):
        MKLRegressorCV(degree=1).fit(X, y, groups=groups)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_rows_told_apart_without_a_loss():
    """Slopes of the loss are zero, up to rounding, and so are all multipliers."""
    X = np.array([[0.6, -0.57, 0.6], [1.5, -1.64, 1.5]])
    options = {"degree": 8, "index_set": "tuples", "standardize_terms": False}
    for alpha in (1e-12, 3e-11):
        model = MKLClassifier(p=1, loss="squared_hinge", alpha=alpha, tol=1e-4, **options)
        assert list(model.fit(X, [1, -1], [1.0, 21.0]).predict(X)) == [1, -1]


def test_bad_grams(rng):
    rows, y = np.arange(40)[:, None], rng.normal(size=40)
    F = rng.normal(size=(40, 3))
    with pytest.raises(ValueError, match="must be symmetric"):
        MKLRegressor(alpha=1e-3, kernels=[Precomputed(rng.normal(size=(40, 40)))]).fit(rows, y)
    with pytest.raises(ValueError, match="positive semi-definite"):
        MKLRegressor(alpha=1e-3, kernels="precomputed").fit(F @ F.T - np.eye(40), y)
    with pytest.raises(ValueError, match="must be a square kernel matrix"):
        MKLRegressor(alpha=1e-3, kernels="precomputed").fit(F, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", [1e-12, 1e-10, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("kernels", ["linear", "rbf"])
@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_extreme_strengths(alpha, kernels, p, rng):
    X, y = regression(rng, n=60)
    model = MKLRegressor(kernels, degree=2, alpha=alpha, p=p, max_iter=60, random_state=0)
    prediction = model.fit(X, y).predict(X)
    assert np.all(np.isfinite(prediction))
    assert np.all(model.theta_ >= 0)
    if alpha >= 1e6:
        np.testing.assert_allclose(prediction, y.mean(), atol=1e-3)
    elif alpha <= 1e-10 and kernels == "linear" and p != 1:
        # The limit is least squares on the 15 monomials.
        Z = np.column_stack(
            [np.ones(60), X, *(X[:, i] * X[:, j] for i in range(4) for j in range(i, 4))]
        )
        limit = Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
        np.testing.assert_allclose(prediction, limit, atol=0.02)
    labels = MKLClassifier(kernels, degree=2, alpha=alpha, p=p, max_iter=30, random_state=0)
    assert np.all(np.isfinite(labels.fit(X, y > 0).decision_function(X)))


def test_constant_columns_and_targets(rng):
    X, y = regression(rng)
    X[:, 2] = 7.0
    model = MKLRegressor(alpha=1e-3, degree=2, random_state=0).fit(X, y)
    assert not any(2 in term for term in model.terms_)
    flat = MKLRegressor(alpha=1e-3, degree=2).fit(X, np.full(40, 3.0))
    np.testing.assert_allclose(flat.predict(X), 3.0)
    assert flat.terms_ == []
    blank = MKLRegressor(alpha=1e-3, degree=2).fit(np.ones((40, 3)), y)
    np.testing.assert_allclose(blank.predict(np.ones((2, 3))), y.mean())


def test_degree_zero_is_a_constant(rng):
    X, y = regression(rng)
    model = MKLRegressor(alpha=1e-3, degree=0).fit(X, y)
    assert model.n_kernels_ == 1
    np.testing.assert_allclose(model.predict(X), y.mean())
    without = MKLRegressor(degree=0, fit_intercept=False, alpha=1e-6).fit(X, y)
    np.testing.assert_allclose(without.predict(X), y.mean(), atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_columns(rng):
    X = rng.normal(size=(30, 2_000))
    model = MKLRegressor(alpha=1e-3, degree=3, max_iter=1, random_state=0).fit(X, X[:, 5])
    assert model.n_kernels_ > 10**9
    assert np.all(np.isfinite(model.predict(X)))


def test_overflow_is_refused(rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match="products of degree 3 overflow"):
        MKLRegressor(alpha=1e-3, standardize=False).fit(X * 1e80, y)
    model = MKLRegressor(alpha=1e-3, random_state=0, tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match="so large that products of degree 3 overflow"):
        model.predict(np.full((1, 4), 1e200))


def test_wrong_columns_at_prediction(rng):
    X, y = regression(rng)
    model = MKLRegressor(alpha=1e-3, degree=1).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("abce")))
    with pytest.raises(ValueError, match="3 features"):
        MKLRegressor(alpha=1e-3, degree=1).fit(X, y).predict(X[:, :3])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("p", [1, 1.1, 4 / 3, 2])
@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("scales", [(1e4, 1.0, 1e-4, 1.0), (1e3, 1e3, 1e3, 1e3)])
def test_predictions_are_those_of_the_objective(p, alpha, scales, rng):
    """On badly scaled columns too: the loss of predictions is part of the objective."""
    X, y = regression(rng, n=80)
    X = X * np.array(scales)
    model = MKLRegressor(p=p, alpha=alpha, standardize=False, random_state=0, max_iter=100)
    loss = np.mean((model.fit(X, y).predict(X) - y) ** 2) / 2
    assert loss <= model.objective_ * (1 + 1e-6)
    assert model.explain(None)["share"].sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("kernels", ["linear", "rbf"])
def test_offsets_of_the_target_do_not_matter(loss, kernels, rng):
    X, y = regression(rng, n=80)
    options = {"degree": 2, "loss": loss, "alpha": 0.01, "random_state": 0}
    plain = MKLRegressor(kernels, **options).fit(X, y)
    for offset in (1e3, 1e8):
        shifted = MKLRegressor(kernels, **options).fit(X, y + offset)
        assert shifted.gap_ == pytest.approx(plain.gap_, rel=1e-3)
        np.testing.assert_allclose(shifted.predict(X) - offset, plain.predict(X), atol=1e-5)


@pytest.mark.parametrize("p", [1.0, 1.0001, 1.001, 1.01, 1.05])
def test_exponents_near_one(p, rng):
    X, y = interaction(rng)
    model = MKLRegressor(alpha=1e-3, p=p, degree=2, tol=0.05, random_state=0).fit(X, y)
    assert model.gap_ <= 0.05
    assert model.terms_[0] == (0, 2)


def test_shares_are_weighted(rng):
    X, y = interaction(rng, n=60)
    times = rng.integers(1, 4, size=60)
    options = {"degree": 2, "random_state": 0}
    weighted = MKLRegressor(**options).fit(X, y, sample_weight=times).explain(None)
    repeated = MKLRegressor(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    pd.testing.assert_frame_equal(weighted, repeated.explain(None), rtol=1e-5)


def test_a_class_without_weight(rng):
    X, _y = interaction(rng, n=90)
    labels = np.arange(90) % 3
    for loss in ("hinge", "logistic"):
        model = MKLClassifier(alpha=1e-3, loss=loss, degree=1, random_state=0)
        model.fit(X, labels, sample_weight=(labels != 2).astype(float))
        assert set(model.predict(X)) <= {0, 1}


def test_precomputed_with_zero_weights(rng):
    X, y = interaction(rng, n=60)
    K = X @ X.T
    weights = (np.arange(60) % 3 > 0).astype(float)
    kept = np.flatnonzero(weights)
    options = {"kernels": "precomputed", "degree": 2, "random_state": 0, "tol": 0.05}
    model = MKLRegressor(**options).fit(K, y, sample_weight=weights)
    small = MKLRegressor(**options).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(model.predict(K), small.predict(K[:, kept]), atol=1e-8)
    with pytest.raises(ValueError, match="Y must be None"):
        model.kernel(K, K[:5])


def test_sparse_blocks_of_linear_kernels(rng):
    X, y = interaction(rng, n=60)
    kernels = [("linear", [0, 1]), ("linear", slice(2, 4)), ("linear", [False] * 4 + [True] * 2)]
    options = {"kernels": kernels, "degree": 2, "standardize": "scale", "random_state": 0}
    dense = MKLRegressor(**options).fit(X, y)
    blocks = MKLRegressor(**options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(blocks.predict(X), dense.predict(X), atol=1e-6)
    assert dense.explain(1)["term"][0] == "linear(x0, x1) * linear(x2, x3)"


def test_max_time_takes_at_least_one_step(rng):
    X = rng.normal(size=(100, 300))
    with pytest.warns(ConvergenceWarning):
        model = MKLRegressor(alpha=1e-3, max_time=1e-3, random_state=0).fit(X, X[:, 0])
    assert model.n_iter_ >= 1
    assert len(model.terms_) > 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_beyond_floating_point(rng):
    X, y = regression(rng)
    for parameters, target, words in (
        ({"alpha": 1e-300}, y, "alpha must be at least 1e-140 times the largest size of y"),
        ({}, y * 1e160, "y has values as large as"),
    ):
        with pytest.raises(ValueError, match=words):
            MKLRegressor(max_iter=3, **parameters).fit(X, target)


@pytest.mark.parametrize("alpha", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("kernels", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_loss_at_small_strengths(alpha, kernels, fit_intercept, rng):
    """Flat, saturated and separable: the certified gap closes, and quickly."""
    X, y = regression(rng, n=80)
    options = {"degree": 2, "p": 2, "alpha": alpha, "fit_intercept": fit_intercept}
    for loss in ("logistic", "hinge", "squared_hinge"):
        assert MKLClassifier(kernels, loss=loss, **options).fit(X, y > 0).gap_ < 1e-3
    for loss in ("squared", "huber", "epsilon_insensitive"):
        assert MKLRegressor(kernels, loss=loss, **options).fit(X, y).gap_ < 1e-3
