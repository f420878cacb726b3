"""Kernels divided by their spreads: a Lasso, lists of kernels and conic solvers are the truth."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from checks import conic_minimum, make_bases, random_problem
from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, load
from manykernels.bases import FeatureBlocks
from manykernels.families import (
    Interactions,
    ListFamily,
    Monomials,
    ProductFamily,
    StandardizedFamily,
    TrainingSpreads,
    Tuples,
)
from manykernels.families.pricing import pricer
from manykernels.losses import Logistic, Squared
from manykernels.passes import choice as engine
from manykernels.solvers import FullPass, WorkingSet, run
from manykernels.solvers.dual_newton import DualNewton

KINDS = [Monomials(), Interactions(), Tuples(2.0)]
DEGREES = np.array([1.0, 0.5, 2.0, 3.0])


def table(rng, n=120, r=6):
    X = rng.normal(size=(n, r)) * np.arange(1, r + 1) + 1
    X[:, 3] = 0.9 * X[:, 2] + 0.4 * X[:, 3]
    return X, X[:, 0] + X[:, 1] * X[:, 2] * X[:, 4] + X[:, 4] ** 2 + rng.normal(size=n)


def standard(bases, kind, rng, centred, degree=3):
    """Return a standardised family, weights of its rows, and spreads by their definition."""
    family = ProductFamily(bases, degree, kind, DEGREES[: degree + 1])
    weights = rng.uniform(0.5, 2, size=bases.rows)
    weights /= weights.sum()
    spreads = []
    for index in family.indices():
        gram = family.gram([index], np.ones(1)) / family.weights([index])
        mean = weights @ gram @ weights
        spreads.append(weights @ np.diag(gram) - (mean if centred else 0.0))
    spreads = np.where(np.array(spreads) > 1e-9, spreads, np.inf)
    made = StandardizedFamily(family, TrainingSpreads(family, weights, centred))
    return made, weights, spreads


@pytest.mark.parametrize("rho", [None, [1, 1, 3, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_p_1_is_a_lasso_on_standardised_monomials(rho, weighted, rng):
    """The penalty is squared here: the Lasso's strength is alpha times the sum of coefficients."""
    X, y = table(rng)
    weights = rng.uniform(0.2, 3, size=len(y)) if weighted else np.ones(len(y))
    options = {"degree": 3, "p": 1, "alpha": 0.02, "tol": 1e-11, "standardize_terms": True}
    model = MKLRegressor(rho=rho, **options).fit(X, y, weights)
    assert model.gap_ <= 1e-11
    columns = StandardScaler().fit_transform(X, sample_weight=weights)
    powers = PolynomialFeatures(3, include_bias=False).fit(columns)
    scaler = StandardScaler().fit(powers.transform(columns), sample_weight=weights)
    prices = np.array([1.0] * 4 if rho is None else rho)[powers.powers_.sum(axis=1)]
    design = scaler.transform(powers.transform(columns)) / prices
    strength = 0.02 * np.abs(model.term_coef_).sum()
    lasso = Lasso(strength, tol=1e-13, max_iter=10**6).fit(design, y, weights)
    names = [tuple(np.repeat(np.arange(6), row).tolist()) for row in powers.powers_]
    truth = {name: c for name, c in zip(names, lasso.coef_, strict=True) if c != 0}
    assert set(model.terms_) == set(truth)
    found = [truth[term] for term in model.terms_]
    np.testing.assert_allclose(model.term_coef_, found, atol=1e-7 * np.abs(y).max())
    np.testing.assert_allclose(model.predict(X), lasso.predict(design), atol=1e-6)
    new, _ = table(rng)
    there = scaler.transform(powers.transform((new - X.mean(0)) / X.std(0))) / prices
    if not weighted:
        np.testing.assert_allclose(model.predict(new), lasso.predict(there), atol=1e-4)


@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse", "grams"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("centred", [True, False])
def test_scale_factors_are_spreads(representation, kind, centred, rng):
    family, _, spreads = standard(make_bases(representation, rng), kind, rng, centred)
    indices, alpha = family.indices(), rng.normal(size=(12, 2))
    plain = family.family
    weights = plain.weights(indices) / spreads
    np.testing.assert_allclose(family.weights(indices), weights, rtol=1e-7)
    truth = plain.at(alpha).all() / spreads
    np.testing.assert_allclose(family.at(alpha).all(), truth, rtol=1e-7, atol=1e-12)
    some = indices[3:9:2]
    np.testing.assert_allclose(family.at(alpha).gradients(some), truth[3:9:2], rtol=1e-7)
    theta = rng.random(len(indices))
    gram = plain.gram(indices, theta / spreads)
    np.testing.assert_allclose(family.gram_of_all(theta), gram, rtol=1e-7, atol=1e-9)
    if family.explicit:
        columns, owners = family.all_features()
        other = family.features(indices)
        np.testing.assert_allclose(columns, other[0])
        np.testing.assert_allclose((columns * theta[owners]) @ columns.T, gram, atol=1e-9)


@pytest.mark.parametrize("representation", ["columns", "blocks", "grams"])
@pytest.mark.parametrize("kind", KINDS[:2], ids=lambda kind: kind.name)
def test_the_best_of_all_kernels(representation, kind, rng):
    family, weights, spreads = standard(make_bases(representation, rng), kind, rng, True)
    alpha = rng.normal(size=(12, 1))
    truth = family.family.at(alpha).all() / spreads
    for bits in (32, 64):
        listed = pricer(family, bits=bits).top(alpha, 7)
        order = np.argsort(-truth, kind="stable")[:7]
        np.testing.assert_allclose(listed.scores, truth[order], rtol=1e-7)
        assert listed.indices == [family.indices()[i] for i in order.tolist()]
    # Relative to spreads, as greedy selection prices them, kernels are what they were.
    relative, plain = (pricer(one, weights).top(alpha, 5) for one in (family, family.family))
    assert relative.indices == plain.indices
    assert np.array_equal(relative.scores, plain.scores)


def test_pairs_have_their_short_cuts(rng):
    family, _, _ = standard(make_bases("columns", rng), Monomials(), rng, True, degree=2)
    indices, alpha = family.indices(), rng.normal(size=(12, 1))
    theta, other = rng.random(len(indices)), family.on(make_bases("columns", rng, n=5))
    truth = other.gram(indices, theta, family) @ alpha
    np.testing.assert_allclose(family.expansion_of_all(theta, alpha, other), truth)
    np.testing.assert_allclose(family.inner_of_all(alpha), family.inner(list(indices), alpha))


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("representation", ["columns", "blocks"])
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_optima_are_those_of_lists_and_conic_solvers(p, representation, loss, rng):
    bases = make_bases(representation, rng, n=40)
    family, _, spreads = standard(bases, Interactions(), rng, True)
    live = np.isfinite(spreads)
    plain, owners = family.family.features(family.indices())
    columns = plain / np.sqrt(spreads)[owners]
    problem = random_problem(loss, rng, plain[:, 1:], strength=0.05, p=p, intercept=True)
    solver = WorkingSet() if p == 1 else FullPass()
    result = run(solver, problem, family, rng, 500, 1e-9)
    assert result.certificate.relative <= 1e-9
    used = live[owners]
    numbers = np.cumsum(live)[owners[used]] - 1
    value, _, _ = conic_minimum(problem, columns[:, used], numbers)
    assert result.solution.objective == pytest.approx(value, rel=1e-5)
    listed = ListFamily(FeatureBlocks(columns[:, used], np.bincount(numbers)))
    again = run(solver, problem, listed, rng, 500, 1e-9)
    assert result.solution.objective == pytest.approx(again.solution.objective, rel=1e-7)


def test_units_of_columns_play_no_part(rng):
    X, y = table(rng)
    options = {"p": 1, "alpha": 0.02, "standardize": False, "standardize_terms": True}
    options |= {"tol": 1e-9, "fit_intercept": False}
    model = MKLRegressor(**options).fit(X, y)
    units = np.array([1e3, 1e-2, 1, 5, 0.3, 1e-3])
    other = MKLRegressor(**options).fit(X * units, y)
    assert other.terms_ == model.terms_
    np.testing.assert_allclose(other.predict(X * units), model.predict(X), atol=1e-6)


def test_kernels_that_do_not_vary_are_never_used(rng):
    X = rng.choice([-1.0, 1.0], size=(80, 4))
    X[:, 3] = 7.0
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=80)
    model = MKLRegressor(p=1, alpha=1e-3, standardize=False, standardize_terms=True, tol=1e-8).fit(
        X, y
    )
    assert model.gap_ <= 1e-8
    assert not {(), (0, 0), (3,), (3, 3), (3, 3, 3)} & set(model.terms_)


@pytest.mark.parametrize(
    "options",
    [
        {"p": 1, "alpha": 1e-2},
        {"p": 1.5, "alpha": 1e-2, "degree": 2},
        {"p": 1, "alpha": 1e-2, "kernels": "spline", "degree": 2},
        {"p": 1, "alpha": 1e-2, "kernels": "rbf", "degree": 2},
    ],
    ids=repr,
)
def test_models_keep_the_spreads_of_their_training_rows(options, rng, tmp_path):
    X, y = table(rng, n=60, r=5)
    model = MKLRegressor(standardize_terms=True, **options).fit(X, y)
    new, _ = table(rng, n=30, r=5)
    truth = model.predict(new)
    alone = np.concatenate([model.predict(row[None]) for row in new])
    np.testing.assert_allclose(alone, truth, rtol=1e-9, atol=1e-9)
    again = load(model.save(tmp_path / "model.mk"))
    assert np.array_equal(again.predict(new), truth)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(new), truth)
    np.testing.assert_allclose(again.kernel(new), model.kernel(new))
    parts = model.contributions(new).sum(axis=1)
    np.testing.assert_allclose(parts, truth, rtol=1e-7, atol=1e-8)
    if options.get("kernels") != "rbf":
        held = model.function_.predictor.family
        assert held.rows == 0
        assert not isinstance(held.spreads, TrainingSpreads)


def test_folds_have_spreads_of_their_own(rng):
    X, y = table(rng)
    X[:60] *= 3  # so that spreads differ
    train, test = np.arange(60), np.arange(60, 120)
    options = {"degree": 2, "p": 1, "tol": 1e-8, "standardize_terms": True}
    model = MKLRegressorCV(alphas=[0.1, 0.03], cv=[(train, test)], **options).fit(X, y)
    alone = MKLRegressor(alpha=model.alpha_, **options).fit(X[train], y[train])
    loss = np.mean((alone.predict(X[test]) - y[test]) ** 2) / 2
    assert model.best_score_ == pytest.approx(-loss, rel=1e-4)
    whole = MKLRegressor(alpha=model.alpha_, **options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-4 * np.abs(y).max())


def test_greedy_selection_compares_so_anyway(rng):
    X, y = table(rng)
    plain = MKLRegressor(solver="greedy").fit(X, y)
    model = MKLRegressor(solver="greedy", standardize_terms=True).fit(X, y)
    assert model.terms_ == plain.terms_
    assert np.array_equal(model.predict(X), plain.predict(X))


PARTED = [
    ({"degree": 3, "p": 1}, 10**4),
    ({"degree": 4, "p": 1}, 10**4),
    ({"degree": 2, "p": 1.5}, 10**4),
    ({"degree": 3, "p": 1, "rho": [1, 1, 2, 3]}, 3),
    ({"degree": 2, "p": 1, "kernels": "spline"}, 30),
    ({"degree": 2, "p": 1, "fit_intercept": False}, 3),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("options", "most"), PARTED, ids=repr)
def test_rows_in_parts_give_the_same(options, most, rng, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(engine, "MOST_FEATURES", most)
    X = rng.normal(size=(300, 3 if "kernels" in options else 4)) + 1
    X[:, 0] *= 10
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=300)
    options = {"alpha": 1e-2, "tol": 1e-9, "standardize_terms": True, **options}
    whole = MKLRegressor(**options).fit(X, y)
    cut = da.from_array(X, chunks=(90, 2)), da.from_array(y, chunks=90)
    model = MKLRegressor(**options).fit(*cut)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-4 * np.abs(y).max())
    assert not isinstance(model.function_.predictor.family.spreads, TrainingSpreads)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classes_in_parts(rng):
    da = pytest.importorskip("dask.array")
    X, y = table(rng, n=300, r=5)
    labels = (y > np.median(y)).astype(int)
    options = {"degree": 2, "p": 1, "alpha": 1e-2, "tol": 1e-7, "standardize_terms": True}
    whole = MKLClassifier(**options).fit(X, labels)
    cut = da.from_array(X, chunks=(90, 2)), da.from_array(labels, chunks=90)
    model = MKLClassifier(**options).fit(*cut)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 2}, "standardize_terms must be False for p=2"),
        ({"p": 4 / 3, "solver": "mirror-descent"}, "needs a solver that looks at every kernel"),
        ({"p": 4 / 3, "solver": DualNewton(), "degree": 2}, "looks at every kernel"),
        ({"kernels": "widths"}, "must be False for kernels with free widths"),
        ({"standardize_terms": "yes"}, "standardize_terms must be one of"),
    ],
    ids=repr,
)
def test_what_cannot_be_had_is_refused(options, message, rng):
    X, y = table(rng, n=40)
    with pytest.raises(ValueError, match=message):
        MKLRegressor(**{"standardize_terms": True, **options}).fit(X, y)
