"""Cross-validated estimators against plain loops over folds and strengths."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from checks import regression
from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.fitting.choose import Candidate, carried, ended, exceeds, lowest_degree
from manykernels.kernels import Precomputed
from manykernels.limits import SPLIT_ROWS
from manykernels.losses import BY_NAME
from manykernels.notices import InterruptedWarning
from manykernels.solvers import FullPass, Greedy

ALPHAS = [1.0, 0.1, 0.01]
TIGHT = {"tol": 1e-7, "max_iter": 20_000}


def interaction(rng, n=200, r=6):
    """Return rows and a target that depends on x0 * x2 and x1."""
    X = rng.normal(size=(n, r))
    return X, X[:, 0] * X[:, 2] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def loss_of(name, y, f):
    """Return the mean loss of decision values, added over outputs."""
    y, f = (np.reshape(values, (len(y), -1)) for values in (y, f))
    return float(np.mean(np.sum(BY_NAME[name]().value(y, f), axis=1)))


def brute_scores(models, X, y, folds, loss="squared"):
    """Fit each model to each fold's training rows; return scores, of shape (models, folds)."""
    out = np.empty((len(models), len(folds)))
    for f, (train, test) in enumerate(folds):
        for m, model in enumerate(models):
            fitted = clone(model).fit(X[train], y[train])
            out[m, f] = -loss_of(loss, y[test], fitted.predict(X[test]))
    return out


def agree(path, expected, rtol, atol=0.0):
    """Assert that a path equals a table as far as it goes, and ends for lack of progress only."""
    assert path.shape == expected.shape
    for fold in range(path.shape[1]):
        known = ~np.isnan(path[:, fold])
        length = int(known.sum())
        assert known[:length].all()
        np.testing.assert_allclose(path[:length, fold], expected[:length, fold], rtol, atol)
        if length < len(path):
            assert length - np.argmax(path[:length, fold]) > 6


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("kernels", ["linear", "rbf", "auto"])
def test_scores_are_those_of_plain_fits(p, kernels, rng):
    X, y = interaction(rng, n=60, r=3)
    y = y + 0.5 * rng.normal(size=60)
    folds = list(KFold(3).split(X))
    options = {"degree": 2, "p": p, **TIGHT}
    model = MKLRegressorCV(kernels, alphas=ALPHAS[::-1], cv=3, **options).fit(X, y)
    plain = [MKLRegressor(kernels, alpha=a, **options) for a in ALPHAS]
    expected = brute_scores(plain, X, y, folds)
    np.testing.assert_array_equal(model.alphas_, [ALPHAS])
    agree(model.score_path_[0], expected, 3e-3)
    mean = expected.mean(axis=1)
    assert model.alpha_ == ALPHAS[int(mean.argmax())]
    assert model.best_score_ == pytest.approx(mean.max(), rel=3e-3)
    final = MKLRegressor(kernels, alpha=model.alpha_, **options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), final.predict(X), atol=1e-8)
    assert model.objective_ == pytest.approx(final.objective_)
    assert model.terms_ == final.terms_


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
@pytest.mark.parametrize("p", [1, 4 / 3])
def test_other_losses_of_regression(loss, p, rng):
    X, y = interaction(rng, n=45, r=3)
    folds = list(KFold(3).split(X))
    options = {"degree": 2, "p": p, "loss": loss, "tol": 1e-3}
    model = MKLRegressorCV(alphas=ALPHAS[:2], cv=3, **options).fit(X, y)
    plain = [MKLRegressor(alpha=a, **options) for a in ALPHAS[:2]]
    agree(model.score_path_[0], brute_scores(plain, X, y, folds, loss), 0.05, 0.03)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_classes_are_stratified(loss, classes, rng):
    X, y = interaction(rng, n=90, r=3)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    order = np.argsort(labels, kind="stable")  # plain folds would lack classes
    X, labels = X[order], labels[order]
    options = {"degree": 2, "p": 4 / 3, "loss": loss, **TIGHT}
    model = MKLClassifierCV(alphas=ALPHAS, cv=3, **options).fit(X, labels)
    names = [1] if classes == 2 else range(3)
    signs = np.column_stack([np.where(labels == c, 1.0, -1.0) for c in names])
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, labels)):
        for i, alpha in enumerate(ALPHAS):
            fitted = MKLClassifier(alpha=alpha, **options).fit(X[train], labels[train])
            expected = -loss_of(loss, signs[test], fitted.decision_function(X[test]))
            assert model.score_path_[0, i, fold] == pytest.approx(expected, rel=3e-3)
    final = MKLClassifier(alpha=model.alpha_, **options).fit(X, labels)
    np.testing.assert_allclose(
        model.decision_function(X), final.decision_function(X), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_array_equal(model.predict(X), final.predict(X))


@pytest.mark.parametrize(("kernels", "degree"), [("linear", 2), ("polynomial", 2), ("spline", 1)])
def test_greedy_scores(kernels, degree, rng):
    X, y = interaction(rng, n=80, r=4)
    y = y + rng.normal(size=80)
    folds = list(KFold(3).split(X))
    model = MKLRegressorCV(kernels, degree=degree, solver=Greedy(4), cv=3).fit(X, y)
    plain = [MKLRegressor(kernels, degree=degree, solver=Greedy(k)) for k in range(5)]
    expected = brute_scores(plain, X, y, folds)
    agree(model.score_path_[0], expected, 1e-6)
    assert model.n_terms_ == int(expected.mean(axis=1).argmax())
    assert not hasattr(model, "alpha_")
    final = MKLRegressor(kernels, degree=degree, solver=Greedy(model.n_terms_)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), final.predict(X), atol=1e-8)
    assert model.terms_ == final.terms_
    assert len(model.terms_) == model.n_terms_
    assert len(model.explain(None)) == model.n_terms_
    assert model.gap_kind_ == "none"


def test_greedy_by_name(rng):
    X, y = interaction(rng)
    model = MKLRegressorCV(degree=2, solver="greedy", cv=3).fit(X, y)
    assert set(model.explain(2)["term"]) == {"x0 * x2", "x1"}
    assert model.score_path_.shape == (1, 101, 3)
    assert model.score(X, y) > 0.9
    labels = MKLClassifierCV(degree=2, solver=Greedy(4), cv=3).fit(X, y > 0)
    assert labels.terms_[0] in ((0, 2), (1,))
    assert labels.score(X, y > 0) > 0.85


def test_debiased_scores(rng):
    """The selection of p = 1, refitted by least squares on the rows of the fold."""
    X, y = interaction(rng, n=90, r=4)
    y = y + 0.5 * rng.normal(size=90)
    options = {"degree": 2, "p": 1, **TIGHT}
    model = MKLRegressorCV(alphas=ALPHAS, cv=3, debias=True, **options).fit(X, y)

    def refitted(train, test, alpha):
        terms = MKLRegressor(alpha=alpha, **options).fit(X[train], y[train]).terms_
        Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        F = np.column_stack([np.ones(len(X)), *(np.prod(Z[:, list(t)], axis=1) for t in terms)])
        return F[test] @ np.linalg.lstsq(F[train], y[train], rcond=None)[0]

    expected = np.array(
        [
            [
                -loss_of("squared", y[test], refitted(train, test, a))
                for train, test in KFold(3).split(X)
            ]
            for a in ALPHAS
        ]
    )
    agree(model.score_path_[0], expected, 1e-4)
    assert model.alpha_ == ALPHAS[int(expected.mean(axis=1).argmax())]
    everything = np.arange(90)
    np.testing.assert_allclose(
        model.predict(X), refitted(everything, everything, model.alpha_), atol=1e-6
    )


def with_last_scores(path):
    """Scores (models, folds) in which ended folds keep their last one, NaN where most have ended.

    Written as the rule is said, fold by fold.
    """
    known = ~np.isnan(path)
    whole = path.copy()
    for fold in range(path.shape[1]):
        length = int(known[:, fold].sum())
        whole[length:, fold] = path[length - 1, fold]
    whole[known.sum(axis=1) < path.shape[1] / 2] = np.nan
    return whole


def test_the_first_fold_to_end_does_not_end_the_comparison():
    nan = np.nan
    path = np.array(
        [[-9.0, -9.0, -9.0, -9.0], [-8, -8, -8, -8], [nan, -7, -7, -7], [nan, nan, -6, -6]]
    )
    path = np.vstack([path, [nan, nan, nan, -1.0]])
    table = carried(path[None])[0]
    np.testing.assert_array_equal(table[3], [-8, -7, -6, -6])
    assert np.all(np.isneginf(table[4]))  # one fold of four is not enough
    assert table.mean(axis=1).argmax() == 3
    np.testing.assert_array_equal(np.where(np.isinf(table), nan, table), with_last_scores(path))
    # A fold that was interrupted before a candidate knows none of its models.
    assert np.all(np.isneginf(carried(np.full((1, 3, 1), nan))))


def test_the_choice_is_the_best_mean(rng):
    X, y = interaction(rng, n=60)
    y = y + rng.normal(size=60)
    model = MKLRegressorCV(degree=2, p=2).fit(X, y)
    assert model.alphas_.shape == (1, 25)
    assert model.alphas_[0, 0] / model.alphas_[0, -1] == pytest.approx(1e6)
    assert np.all(np.diff(model.alphas_) < 0)
    assert model.score_path_.shape == (1, 25, 5)
    mean = with_last_scores(model.score_path_[0]).mean(axis=1)
    assert model.alpha_ == model.alphas_[0, int(np.nanargmax(mean))]
    assert model.best_score_ == pytest.approx(np.nanmax(mean))


@pytest.mark.parametrize("solver", ["auto", "greedy"])
def test_one_standard_error(solver, rng):
    X, y = interaction(rng, n=80)
    y = y + rng.normal(size=80)
    options = {"degree": 2, "p": 1, "solver": solver, "random_state": 0}
    best = MKLRegressorCV(**options).fit(X, y)
    simple = MKLRegressorCV(one_standard_error=True, **options).fit(X, y)
    np.testing.assert_array_equal(simple.score_path_, best.score_path_)
    path = with_last_scores(best.score_path_[0])
    mean = path.mean(axis=1)
    top = int(np.nanargmax(mean))
    error = path[top].std(ddof=1) / np.sqrt(5)
    place = int(np.flatnonzero(mean >= mean[top] - error)[0])
    assert place <= top
    assert simple.best_score_ == pytest.approx(mean[place])
    if solver == "auto":
        assert simple.alpha_ == best.alphas_[0, place]
        assert best.alpha_ == best.alphas_[0, top]
    else:
        assert (simple.n_terms_, best.n_terms_) == (place, top)


def test_lists_choose_as_separate_fits_do(rng):
    X, y = interaction(rng, n=90, r=4)
    y = y + 0.3 * rng.normal(size=90)
    degrees, exponents = [1, 2], [1, 4 / 3, 2]
    options = {"alphas": ALPHAS, "cv": 3, "random_state": 0, **TIGHT}
    model = MKLRegressorCV(degree=degrees, p=exponents, **options).fit(X, y)
    assert model.score_path_.shape == (6, 3, 3)
    assert model.alphas_.shape == (6, 3)
    apart = [MKLRegressorCV(degree=d, p=p, **options).fit(X, y) for d in degrees for p in exponents]
    for path, one in zip(model.score_path_, apart, strict=True):
        np.testing.assert_allclose(path, one.score_path_[0], rtol=3e-3)
    best = max(apart, key=lambda one: one.best_score_)
    assert (model.degree_, model.p_, model.alpha_) == (best.degree_, best.p_, best.alpha_)
    assert model.degree_ == 2
    np.testing.assert_allclose(model.predict(X), best.predict(X), atol=1e-2)


def test_degrees_with_scale_factors(rng):
    X, y = interaction(rng, n=60, r=3)
    rho = [1.0, 2.0, 0.5]
    options = {"alphas": [0.1], "cv": 3, "p": 2}
    model = MKLRegressorCV(degree=[1, 2], rho=rho, **options).fit(X, y)
    for i, degree in enumerate((1, 2)):
        one = MKLRegressorCV(degree=degree, rho=rho[: degree + 1], **options).fit(X, y)
        np.testing.assert_allclose(model.score_path_[i], one.score_path_[0])
    for bad in (5.0, [1.0, 1.0], [1.0, 1.0, 1.0, 1.0], "high"):
        with pytest.raises(ValueError, match="rho must hold"):
            MKLRegressorCV(degree=[1, 2], rho=bad, **options).fit(X, y)


@pytest.mark.parametrize("p", [1, 1.1, 4 / 3, 2])
@pytest.mark.parametrize("kernels", ["linear", "rbf", "spline"])
@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
def test_the_largest_strength_explains_one_percent(p, kernels, loss, rng):
    X, y = interaction(rng, n=80, r=4)
    options = {"degree": 2, "loss": loss, "random_state": 0}
    alpha = MKLRegressorCV(kernels, p=p, n_alphas=1, cv=2, **options).fit(X, y).alpha_
    model = MKLRegressor(kernels, p=p, alpha=alpha, tol=1e-4, **options).fit(X, y)
    constant = MKLRegressor(**{**options, "degree": 0}).fit(X, y)
    explained = 1 - loss_of(loss, y, model.predict(X)) / loss_of(loss, y, constant.predict(X))
    assert 0.003 < explained < 0.03


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_largest_strength_of_classes(p, loss, classes, rng):
    X, y = interaction(rng, n=90, r=4)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes - 0.1))
    options = {"degree": 2, "loss": loss, "random_state": 0}
    alpha = MKLClassifierCV(p=p, n_alphas=1, cv=2, **options).fit(X, labels).alpha_
    model = MKLClassifier(p=p, alpha=alpha, tol=1e-4, **options).fit(X, labels)
    constant = MKLClassifier(**{**options, "degree": 0}).fit(X, labels)
    names = [1] if classes == 2 else range(3)
    signs = np.column_stack([np.where(labels == c, 1.0, -1.0) for c in names])
    risks = [loss_of(loss, signs, one.decision_function(X)) for one in (model, constant)]
    assert 0.003 < 1 - risks[0] / risks[1] < 0.03


@pytest.mark.parametrize("solver", ["auto", "greedy"])
@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_noise_is_not_fitted(solver, p, rng):
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    model = MKLRegressorCV(degree=2, p=p, solver=solver, random_state=0).fit(X, y)
    mean = np.mean(
        [-np.mean((y[test] - y[train].mean()) ** 2) / 2 for train, test in KFold(5).split(X)]
    )
    # The first model of a path explains (nearly) nothing, so the best one is not worse.
    assert 1.03 * mean <= model.best_score_ <= 0.85 * mean
    new = rng.normal(size=(2000, 5))
    assert np.mean((model.predict(new) - y.mean()) ** 2) < 0.3


@pytest.mark.parametrize(
    "options", [{"p": 1}, {"p": 4 / 3}, {"p": 2}, {"solver": Greedy(5)}, {"p": 1, "debias": True}]
)
@pytest.mark.parametrize("kernels", ["linear", "auto"])
def test_rows_of_no_weight_are_not_there(options, kernels, rng):
    n = 300 if kernels == "auto" else 100  # more than features, or refits leave them open
    X, y = interaction(rng, n=n, r=4)
    weights = rng.uniform(0.5, 2.0, size=n) * (rng.random(n) < 0.7)
    kept = np.flatnonzero(weights)
    number = np.cumsum(weights > 0) - 1
    folds = list(KFold(3).split(X))
    fewer = [tuple(number[part[weights[part] > 0]] for part in fold) for fold in folds]
    if "solver" not in options:
        options = {**options, "alphas": ALPHAS, **TIGHT}
    degree = 1 if kernels == "auto" else 2
    model = MKLRegressorCV(kernels, degree=degree, cv=folds, random_state=0, **options)
    small = clone(model).set_params(cv=fewer).fit(X[kept], y[kept], sample_weight=weights[kept])
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.score_path_, small.score_path_, rtol=1e-3)
    assert model.best_score_ == pytest.approx(small.best_score_, rel=1e-3)
    np.testing.assert_allclose(model.predict(X), small.predict(X), atol=1e-2)
    assert np.all(model.dual_coef_[weights == 0] == 0)


def test_weights_count_in_the_score(rng):
    X, y = regression(rng, n=60)
    weights = rng.uniform(0.5, 2.0, size=60)
    model = MKLRegressorCV(degree=1, p=2, alphas=[0.1], cv=3).fit(X, y, sample_weight=weights)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        plain = MKLRegressor(degree=1, p=2, alpha=0.1)
        plain.fit(X[train], y[train], sample_weight=weights[train])
        losses = (plain.predict(X[test]) - y[test]) ** 2 / 2
        expected = -np.average(losses, weights=weights[test])
        assert model.score_path_[0, 0, fold] == pytest.approx(expected)


def test_kinds_of_folds(rng):
    X, y = regression(rng, n=60)
    options = {"degree": 1, "p": 2, "n_alphas": 5}
    by_number = MKLRegressorCV(cv=4, **options).fit(X, y)
    for cv in (KFold(4), list(KFold(4).split(X)), KFold(4).split(X)):
        other = MKLRegressorCV(cv=cv, **options).fit(X, y)
        np.testing.assert_array_equal(other.score_path_, by_number.score_path_)
    assert MKLRegressorCV(**options).fit(X, y).score_path_.shape == (1, 5, 5)
    single = ShuffleSplit(1, test_size=0.3, random_state=0)
    for one_standard_error in (False, True):
        model = MKLRegressorCV(cv=single, one_standard_error=one_standard_error, **options)
        assert model.fit(X, y).score_path_.shape == (1, 5, 1)
    with pytest.raises(ValueError, match="n_splits"):
        MKLRegressorCV(cv=1, **options).fit(X, y)
    with pytest.raises(ValueError, match=r"(?i)fold|split"):
        MKLRegressorCV(cv=[], **options).fit(X, y)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
def test_folds_that_lack_a_class(loss, rng):
    X, _y = regression(rng, n=60)
    model = MKLClassifierCV(degree=1, cv=KFold(2), loss=loss, n_alphas=3)
    with pytest.raises(ValueError, match="class"):
        model.fit(X, np.arange(60) >= 30)


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_constant_columns_and_targets(p, rng):
    X, y = regression(rng, n=60)
    flat = MKLRegressorCV(degree=2, p=p).fit(X, np.full(60, 3.0))
    np.testing.assert_allclose(flat.predict(X), 3.0)
    blank = MKLRegressorCV(degree=2, p=p, n_alphas=5).fit(np.ones((60, 3)), y)
    np.testing.assert_allclose(blank.predict(np.ones((2, 3))), y.mean(), atol=1e-6)
    assert blank.alpha_ > 1e-10


@pytest.mark.parametrize("options", [{"p": 4 / 3}, {"p": [1, 2]}, {"solver": "greedy"}])
def test_several_jobs(options, rng):
    X, y = interaction(rng, n=60, r=3)
    model = MKLRegressorCV(degree=2, cv=3, n_alphas=4, random_state=3, **options).fit(X, y)
    parallel = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(parallel.score_path_, model.score_path_, rtol=1e-9)
    np.testing.assert_allclose(parallel.predict(X), model.predict(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("state", [7, "generator"])
def test_same_seed_same_model(state, rng):
    X, y = interaction(rng, n=60)

    def fit():
        source = np.random.default_rng(7) if state == "generator" else state
        model = MKLRegressorCV(
            degree=2, solver="mirror-descent", max_iter=5, n_alphas=3, cv=3, random_state=source
        )
        return model.fit(X, y)

    one, two = fit(), fit()
    np.testing.assert_array_equal(one.score_path_, two.score_path_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_precomputed_kernels(p, rng):
    X, y = interaction(rng, n=60, r=4)
    K = X @ X.T
    options = {"degree": 2, "index_set": "monomials", "p": p, "cv": 3, "alphas": ALPHAS, **TIGHT}
    blocks = MKLRegressorCV([("linear", None)], standardize=False, **options).fit(X, y)
    square = MKLRegressorCV("precomputed", **options).fit(K, y)
    rows = np.arange(60)[:, None]
    numbers = MKLRegressorCV([Precomputed(K)], **options).fit(rows, y)
    for model in (square, numbers):
        np.testing.assert_allclose(model.score_path_, blocks.score_path_, rtol=3e-3)
        assert model.alpha_ == blocks.alpha_
    np.testing.assert_allclose(square.predict(K[:7]), blocks.predict(X[:7]), atol=1e-2)
    np.testing.assert_allclose(numbers.predict(rows[:7]), blocks.predict(X[:7]), atol=1e-2)
    weights = (np.arange(60) % 4 > 0).astype(float)
    kept = np.flatnonzero(weights)
    part = clone(square).set_params(cv=[(kept[::2], kept[1::2])])
    part.fit(K, y, sample_weight=weights)
    assert part.score_path_[0, 0, 0] < 0


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("options", [{"p": 4 / 3}, {"p": 2}, {"solver": Greedy(5)}])
def test_sparse_equals_dense(make, options, rng):
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.4)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=80)
    model = MKLRegressorCV(degree=2, standardize="scale", alphas=ALPHAS, cv=3, tol=1e-6, **options)
    dense = clone(model).fit(X, y)
    model.fit(make(X), y)
    np.testing.assert_allclose(model.score_path_, dense.score_path_, rtol=1e-3)
    np.testing.assert_allclose(model.predict(make(X)), dense.predict(X), atol=1e-3)


def test_data_frames_and_pickles(rng):
    X, y = interaction(rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = MKLRegressorCV(degree=2, p=1, cv=3, n_alphas=8).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert set(model.explain(2)["term"]) == {"a * c", "b"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    named = MKLRegressorCV([("spline", "a"), ("linear", ["b", "c"])], degree=2, cv=3, n_alphas=4)
    assert "spline(a) * linear(b, c)" in set(named.fit(frame, y).explain(None)["term"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"debias": True, "p": 4 / 3}, r"debias=True needs p = 1 or solver='greedy'; got p=1\.3"),
        ({"debias": True, "p": [1, 2]}, r"debias=True needs p = 1"),
        ({"debias": True, "p": 1, "kernels": "rbf"}, "debias=True needs kernels with features"),
        ({"debias": "yes"}, "debias must be one of True, False"),
        ({"one_standard_error": 1}, "one_standard_error must be one of"),
        ({"alphas": []}, r"alphas must be a list of positive numbers or None; got \[\]"),
        ({"alphas": [0.1, 0.0]}, "alphas must be a list of positive numbers"),
        ({"alphas": [0.1, np.nan]}, "alphas must be a list of positive numbers"),
        ({"alphas": [[0.1]]}, "alphas must be a list of positive numbers"),
        ({"alphas": 0.1}, "alphas must be a list of positive numbers"),
        ({"n_alphas": 0}, "n_alphas must be an integer >= 1; got 0"),
        ({"n_alphas": 2.5}, "n_alphas must be an integer >= 1"),
        ({"degree": []}, r"degree must be an integer >= 0; got \[\]"),
        ({"degree": [1, 2.5]}, r"degree must be an integer >= 0; got 2\.5"),
        ({"degree": [2, -1]}, "degree must be an integer >= 0; got -1"),
        ({"p": [1, 3]}, "p must satisfy 1 <= p <= 2; got 3"),
        ({"p": []}, "p must satisfy 1 <= p <= 2"),
        ({"p": [1, 2], "solver": "mirror-descent"}, "needs p < 2"),
        ({"p": [4 / 3], "solver": "working-set"}, "needs p = 1"),
        ({"p": [1, 4 / 3], "solver": "full-pass"}, "needs 1 < p < 2"),
        ({"kernels": "rbf", "solver": "greedy"}, "greedy selection needs kernels with features"),
    ],
)
@pytest.mark.parametrize("estimator", [MKLRegressorCV, MKLClassifierCV])
def test_bad_parameters(estimator, parameters, message, rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, y > 0 if estimator is MKLClassifierCV else y)


def test_lists_may_be_tuples_or_arrays(rng):
    X, y = regression(rng)
    for make in (tuple, np.array):
        model = MKLRegressorCV(degree=make([1, 2]), p=make([1, 2]), alphas=make(ALPHAS), cv=2)
        assert model.fit(X, y).score_path_.shape == (4, 3, 2)
        with pytest.warns(ConvergenceWarning):
            MKLRegressorCV(p=make([1.2, 1.5]), alphas=[1e-3], max_iter=1, tol=1e-9, cv=2).fit(X, y)


class Stopping:
    """Full passes; Ctrl-C comes in a given state, counted over all fits."""

    seen = 0
    stop: float = np.inf
    fits: tuple[int, ...] = ()

    def iterate(self, problem, family, rng):
        Stopping.fits += (Stopping.seen,)
        for state in FullPass().iterate(problem, family, rng):
            Stopping.seen += 1
            if Stopping.seen == Stopping.stop:
                raise KeyboardInterrupt
            yield state


@pytest.fixture
def stopping(rng):
    """Return data, a model, the states before each of its fits, and its uninterrupted scores."""
    X, y = interaction(rng, n=60, r=3)
    Stopping.seen, Stopping.stop, Stopping.fits = 0, np.inf, ()
    model = MKLRegressorCV(degree=2, solver=Stopping(), alphas=ALPHAS, cv=3, tol=1e-6)
    whole = clone(model).fit(X, y).score_path_
    fits = Stopping.fits
    assert len(fits) == 10
    Stopping.seen, Stopping.fits = 0, ()
    yield X, y, model, fits, whole
    Stopping.seen, Stopping.stop, Stopping.fits = 0, np.inf, ()


def test_ctrl_c_before_anything_is_passed_on(stopping):
    X, y, model, _, _ = stopping
    Stopping.stop = 1
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)


@pytest.mark.parametrize("fit", [0, 1, 2, 3, 4, 5, 8])
def test_ctrl_c_in_a_fold(fit, stopping):
    X, y, model, fits, whole = stopping
    Stopping.stop = fits[fit] + 3
    assert Stopping.stop <= fits[fit + 1]
    with pytest.warns(InterruptedWarning, match="Interrupted: the choice rests on"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert len(model.explain()) > 0
    # Folds go in step: models that all folds have finished are kept, or else the folds that have
    # finished the first model, or else what there is.
    place, fold = divmod(fit, 3)
    if place:
        np.testing.assert_array_equal(model.score_path_[0, :place], whole[0, :place])
        assert np.all(np.isnan(model.score_path_[0, place:]))
        assert model.alpha_ == ALPHAS[int(whole[0, :place].mean(axis=1).argmax())]
    elif fold:
        np.testing.assert_array_equal(model.score_path_[0, :1], whole[0, :1, :fold])
    else:
        assert model.score_path_.shape == (1, 3, 1)
        assert model.score_path_[0, 0, 0] != whole[0, 0, 0]


def test_ctrl_c_in_the_last_fit(stopping):
    X, y, model, fits, whole = stopping
    Stopping.stop = fits[9] + 3
    with pytest.warns(InterruptedWarning, match="Interrupted after"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.score_path_, whole)
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("fold", [0, 1, 2])
@pytest.mark.parametrize("terms", [0, 2])
def test_ctrl_c_in_greedy_selection(fold, terms, rng, monkeypatch):
    """Models that all folds know are kept, or else the folds that know one."""
    X, y = interaction(rng, n=60, r=3)
    whole = MKLRegressorCV(degree=2, solver="greedy", cv=3).fit(X, y).score_path_
    real, calls = Greedy.iterate, []

    def iterate(self, *arguments):
        calls.append(1)
        number = len(calls)
        for state in real(self, *arguments):
            if number == fold + 1 and state.active == terms:
                raise KeyboardInterrupt
            yield state

    monkeypatch.setattr(Greedy, "iterate", iterate)
    model = MKLRegressorCV(degree=2, solver="greedy", cv=3)
    if fold == terms == 0:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        return
    folds = 3 if terms else fold
    with pytest.warns(InterruptedWarning, match=f"the choice rests on {folds} of 3 folds"):
        model.fit(X, y)
    known = max(terms, 1)
    np.testing.assert_array_equal(model.score_path_[0, :known], whole[0, :known, :folds])
    assert np.all(np.isnan(model.score_path_[0, known:]))
    assert model.n_terms_ == len(model.terms_) < known
    assert len(model.explain(None)) == len(model.terms_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "options",
    [{"p": 1}, {"p": 4 / 3}, {"p": 2}, {"solver": "greedy"}, {"solver": "mirror-descent"}],
)
def test_little_time(options, rng):
    X, y = interaction(rng, n=60)
    model = MKLRegressorCV(
        degree=2, cv=3, n_alphas=4, max_time=1e-4, tol=1e-9, random_state=0, **options
    ).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert len(model.explain(None)) == len(model.terms_)
    assert np.isfinite(model.best_score_)


def test_greedy_keeps_to_its_limit(rng):
    """The number of terms is chosen among those that max_iter allows."""
    X, y = interaction(rng, n=60)
    model = MKLRegressorCV(degree=2, solver="greedy", cv=3, max_iter=1).fit(X, y)
    assert model.n_terms_ == len(model.terms_) <= 1


@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({}, 4 / 3),
        ({"kernels": "auto"}, 1),
        ({"kernels": [("spline", 0), ("linear", 1)]}, 1),
        ({"kernels": "auto", "p": 4 / 3}, 4 / 3),
        ({"kernels": "auto", "solver": "full-pass"}, 4 / 3),
        ({"debias": True}, 1),
        ({"solver": "working-set"}, 1),
    ],
)
def test_default_exponent(parameters, p, rng):
    X, y = interaction(rng, n=60, r=3)
    model = MKLRegressorCV(degree=1, n_alphas=4, cv=2, **parameters).fit(X, y)
    assert model.p_ == pytest.approx(p)


@pytest.mark.parametrize(("rows", "folds"), [(SPLIT_ROWS - 1, 5), (SPLIT_ROWS, 1)])
@pytest.mark.parametrize("estimator", [MKLRegressorCV, MKLClassifierCV])
def test_many_rows_are_split_once(estimator, rows, folds, rng):
    X = rng.normal(size=(rows, 2))
    y = X[:, 0] if estimator is MKLRegressorCV else X[:, 0] > 1.5
    model = estimator(degree=1, alphas=[0.1, 0.01]).fit(X, y)
    assert model.score_path_.shape == (1, 2, folds)


def row_losses(means, error=0.02):
    """Return losses of 40 rows with given sums and standard errors of all differences."""
    waves = [np.cos(2 * np.pi * (k + 1) * (np.arange(40) + 0.5) / 40) for k in range(len(means))]
    return (np.array(means)[:, None] + error * np.sqrt(39) * np.array(waves)) / 40


@pytest.mark.parametrize(
    ("losses", "kind", "over"),
    [
        ([1.0], "", False),
        ([1.0, 0.5], "", False),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "", False),  # nothing has entered yet
        ([1.0, 1.01, 1.02, 1.03, 1.04, 1.035], "", False),  # it may still get better
        ([1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 1.006, 1.007], "", False),
        ([1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 1.006, 1.007, 1.008], "", True),  # long enough
        ([1.0, 1.05], "", False),  # one bad model
        ([1.0, 1.03, 1.06], "", True),  # hopeless
        ([1.0, 1.02, 1.045], "", False),
        ([1.0, 0.96, 0.97, 0.98], "", False),  # what was found is little
        ([1.0, 0.96, 0.97, 1.02], "", True),
        ([1.0, 0.5, 0.51], "", False),
        ([1.0, 0.5, 0.51, 0.52], "", True),
        ([1.0, 0.5, 0.51, 0.51 + 1e-12], "", False),  # the same one again
        ([1.0, 0.5, 0.4, 0.39, 0.38, 0.37], "", False),
        ([1.0, 0.5, 0.4, 0.3995, 0.399], "", True),  # not worth the time
        ([1.0, 0.999, 0.998, 0.997], "", False),  # a weak signal is still growing
        ([1.0, 0.95, 0.945, 0.947], "", False),  # little, but not little of what was gained
        ([1.0, 0.5, 0.51, 0.52, 0.53], "small", False),
        ([1.0, 0.5, 0.51, 0.52, 0.53, 0.54], "small", True),
        ([1.0, 0.5, 0.4, 0.3995, 0.399], "small", False),
        ([1.0, 0.97, 0.98, 0.99, 0.98, 0.99, 0.98], "small", False),
        ([1.0, 0.5, 0.51, 0.52], "guess", True),
        ([1.0, 0.97, 0.98, 1.0], "guess", True),
        ([1.0, 0.97, 0.98], "guess", False),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], "greedy", False),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6], "greedy", True),
    ],
)
def test_when_a_path_ends(losses, kind, over):
    sizes = np.arange(40) if kind == "greedy" else np.geomspace(1, 1e-6, 25)
    assert ended(row_losses(losses), sizes, **({kind: True} if kind else {})) == over


def test_losses_exceed_others_by_a_share_and_by_paired_errors(rng):
    outcomes = set()
    for shift in np.linspace(0.02, 0.2, 60):
        others = rng.exponential(size=100)
        losses = others + shift + rng.choice([0.03, 0.5]) * rng.normal(size=100)
        t = stats.ttest_rel(losses, others).statistic
        clear, much = t > 2, losses.sum() > 1.05 * others.sum()
        assert exceeds(losses, others) == (clear and much)
        outcomes.add((bool(clear), bool(much)))
    assert len(outcomes) == 4
    # A single part has no error.
    assert exceeds(np.array([1.1]), np.array([1.0]))
    assert not exceeds(np.array([1.01]), np.array([1.0]))


@pytest.mark.parametrize("degree", [[1, 2], [2, 1], [2, 2]])
def test_degrees_with_kernels_of_their_own(degree, rng):
    """Each degree has as many functions of a column as it can afford."""
    X, y = interaction(rng, n=120, r=3)
    model = MKLRegressorCV("auto", degree=degree, n_alphas=8, cv=3).fit(X, y)
    assert model.degree_ == 2
    assert len(model.score_path_) == len(set(degree))
    sizes = [fitted.rank for _, fitted, _ in model.function_.kernels.fitted]
    assert set(sizes) == {32}
    again = MKLRegressor("auto", degree=2, p=1, alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-8)


def test_refits_stay_the_same_until_a_term_enters(rng):
    """A path of refits goes on over plateaus: products enter late next to strong effects."""
    sizes = np.geomspace(1, 1e-6, 25)
    assert not ended(row_losses([1.0, *[0.5] * 9]), sizes)
    assert not ended(row_losses([1.0, 0.5, *[0.6] * 9]), sizes)
    assert ended(row_losses([1.0, 0.5, *[0.6] * 9, 0.61]), sizes)
    X = rng.normal(size=(700, 4)) * np.arange(1, 5) + 1
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=700)
    model = MKLRegressorCV(degree=2, p=1, debias=True, cv=3).fit(X, y)
    assert set(model.terms_) >= {(0,), (1,), (2,), (1, 2)}


def test_the_lowest_degree_that_is_not_clearly_worse():
    sizes = np.array([2.0, 1.0])
    candidates = [Candidate(3, 1.0, sizes), Candidate(1, 1.0, sizes), Candidate(2, 1.0, sizes)]
    # Degree 1 is always worse by about 1; degree 2 is sometimes better than degree 3.
    scores = {3: [-1.0, -2.0, -1.2, -1.9], 1: [-2.0, -3.1, -2.1, -3.0], 2: [-1.1, -1.9, -1.3, -2.0]}
    table = np.full((3, 2, 4), -9.0)
    for number, candidate in enumerate(candidates):
        table[number, 1] = scores[candidate.degree]
    assert lowest_degree(candidates, table, (0, 1)) == (2, 1)
    table[2, 1] -= 1.0
    assert lowest_degree(candidates, table, (0, 1)) == (0, 1)
    table[1, 1] = table[0, 1]
    assert lowest_degree(candidates, table, (0, 1)) == (1, 1)
    # One fold tells nothing about errors.
    assert lowest_degree(candidates, table[:, :, :1], (0, 1)) == (0, 1)


def test_a_degree_that_is_needed_is_chosen(rng):
    X, y = interaction(rng, n=120)
    assert MKLRegressorCV(degree=[1, 2, 3], p=1, n_alphas=8).fit(X, y).degree_ == 2
    assert MKLRegressorCV(degree=[1, 2], solver="greedy").fit(X, X[:, 0] + X[:, 1]).degree_ == 1


@pytest.mark.parametrize("n", [160, 320])
def test_a_product_without_effects_of_its_factors_is_found(n, rng):
    X, new = rng.normal(size=(n, 3)), rng.normal(size=(500, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n)
    model = MKLRegressorCV(kernels="auto", degree=2).fit(X, y)
    assert model.explain(1)["term"].tolist() == ["x0 * x1"]
    assert model.score(new, new[:, 0] * new[:, 1]) > 0.85
