"""lp-norm multiple kernel learning against conic solvers, closed forms and itself."""

from math import factorial

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from checks import (
    conic_minimum,
    interaction,
    make_bases,
    random_problem,
    regression,
    root_features,
)
from manykernels.baselines import LpNormMKL, LpNormMKLClassifier
from manykernels.baselines.lp_norm import AnalyticUpdates, best_weights
from manykernels.families import Interactions, ListFamily, Monomials, ProductFamily, Tuples
from manykernels.kernels import Precomputed
from manykernels.losses import Hinge, Squared
from manykernels.objective import Problem
from manykernels.solvers import run

EXPONENTS = [1.0, 1.2, 4 / 3, 1.6]
quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def solved(problem, family, passes=3000, tol=1e-7):
    """Run to a small gap; return the result and the states on the way."""
    states = []

    def remember(state, record):
        states.append(state)

    rng = np.random.default_rng(0)
    result = run(AnalyticUpdates(), problem, family, rng, passes, tol, callback=remember)
    return result, states


def setting(rng, representation="columns", p=4 / 3, loss=None, intercept=False, n=25, **options):
    bases = make_bases(representation, rng, n=n, r=3)
    kind = Interactions() if representation == "gram" else Monomials()
    family = ProductFamily(bases, options.pop("degree", 2), options.pop("kind", kind))
    columns, owners = root_features(family)
    problem = random_problem(
        loss or Squared(),
        rng,
        columns[:, 1:],
        p=p,
        intercept=intercept,
        **{"strength": 0.05, **options},
    )
    return problem, family, columns, owners


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of the conic solver, to 1e-8
@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("representation", ["columns", "blocks", "gram"])
@pytest.mark.parametrize("p", EXPONENTS)
def test_optimum_is_that_of_a_conic_solver(p, representation, loss, intercept, rng):
    """The gap bounds the distance to the optimum at every pass, and the objective never rises."""
    problem, family, columns, owners = setting(rng, representation, p, loss, intercept)
    optimum, _, _ = conic_minimum(problem, columns, owners)
    tol = 1e-3 if p == 1 else 1e-6
    result, states = solved(problem, family, passes=1000, tol=tol)
    objectives = np.array([state.solution.objective for state in states])
    gaps = np.array([state.certificate.gap for state in states])
    assert np.all(np.diff(objectives) <= 1e-8 * objectives[0])
    assert np.all(objectives - optimum >= -2e-6 * optimum)
    assert np.all(gaps >= objectives - optimum - 2e-6 * optimum)
    assert result.converged
    assert result.certificate.kind == "exact"
    assert result.solution.objective == pytest.approx(optimum, rel=tol + 2e-6)
    for state in states:
        assert np.sum(state.theta**problem.nu) == pytest.approx(1.0)
        assert np.all(state.theta >= 0)


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("p", [1.2, 4 / 3])
def test_estimators_solve_the_published_problem(p, intercept, weighted, rng):
    X, y = regression(rng, n=30, r=3)
    weights = rng.uniform(0.5, 2.0, size=30) if weighted else np.ones(30)
    share = weights / weights.sum()
    centre = share @ X
    Z = (X - centre) / np.sqrt(share @ (X - centre) ** 2)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    columns = np.column_stack([np.ones(30), Z, *(Z[:, i] * Z[:, j] for i, j in pairs)])
    columns[:, 4:] /= 2.0  # rho of degree 2
    options = {
        "degree": 2, "rho": [1.0, 1.0, 2.0], "p": p, "alpha": 0.05, "tol": 1e-6,
        "fit_intercept": intercept, "max_iter": 2000,
    }  # fmt: skip
    owners = np.arange(10)
    for model, target, loss in (
        (LpNormMKL(**options), y, Squared()),
        (LpNormMKLClassifier(**options), np.where(y > 0, 1.0, -1.0), Hinge()),
    ):
        problem = Problem(target[:, None], share, loss, 0.05, p, intercept)
        optimum, w, _ = conic_minimum(problem, columns, owners)
        model.fit(X, target, sample_weight=weights)
        assert model.objective_ == pytest.approx(optimum, rel=4e-6)
        assert model.gap_ <= 1e-6
        assert model.n_kernels_ == 10
        if loss == Squared():
            scale = np.where(np.array([len(term) for term in model.terms_]) == 2, 0.5, 1.0)
            found = np.array([np.prod(Z[:, list(term)], axis=1) for term in model.terms_]).T
            fitted = (found * scale) @ model.term_coef_ + model.intercept_
            np.testing.assert_allclose(fitted, model.predict(X), atol=1e-8)
            expected = columns @ w
            expected = expected + (share @ (y - expected) if intercept else 0.0)
            np.testing.assert_allclose(fitted, expected, atol=0.02 * np.std(y))


@pytest.mark.parametrize("p", [1.2, 4 / 3, 1.6])
def test_identical_kernels(p, rng):
    """m copies of a kernel act as one that is multiplied by m^(1 - 1/nu)."""
    nu, m = p / (2 - p), 5
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    K = x @ x.T + 1
    rows = np.arange(30)[:, None]
    options = {"alpha": 0.1, "fit_intercept": False, "tol": 1e-9}
    kernels = [Precomputed(K, f"k{i}") for i in range(m)]
    # Degree 1 has the constant kernel too; a large rho prices it out.
    model = LpNormMKL(kernels, p=p, rho=[1e8, 1.0], **options).fit(rows, y)
    single = KernelRidge(alpha=0.1 * 30, kernel="precomputed").fit(m ** (1 - 1 / nu) * K, y)
    residual = y - m ** (1 - 1 / nu) * K @ single.dual_coef_
    objective = (
        np.mean(residual**2) / 2
        + 0.05 * m ** (1 - 1 / nu) * single.dual_coef_ @ K @ single.dual_coef_
    )
    assert model.objective_ == pytest.approx(objective, rel=1e-8)
    np.testing.assert_allclose(model.predict(rows), y - residual, atol=1e-6)
    theta = model.theta_[[len(term) == 1 for term in model.terms_]]
    np.testing.assert_allclose(theta, m ** (-1 / nu), rtol=1e-6)


@pytest.mark.parametrize("p", EXPONENTS)
def test_one_kernel_is_ridge_or_a_support_vector_machine(p, rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    K = np.exp(-np.sum((x[:, None] - x[None]) ** 2, axis=2))
    family = ListFamily(make_bases("gram", rng, n=30, r=1), rho=[2.0])
    family.bases.grams[:] = K
    problem = Problem(y[:, None], np.full(30, 1 / 30), Squared(), 0.1, p)
    result, _ = solved(problem, family)
    alpha = np.linalg.solve(K / 4 + 3 * np.eye(30), y)
    np.testing.assert_allclose(result.solution.alpha[:, 0], alpha, atol=1e-10)
    assert result.solution.objective == pytest.approx(0.05 * y @ alpha)
    labels = np.where(y > 0, 1.0, -1.0)
    machine = SVC(C=1 / 3, kernel="precomputed", tol=1e-8).fit(K / 4, labels)
    problem = Problem(labels[:, None], np.full(30, 1 / 30), Hinge(), 0.1, p, True)
    result, _ = solved(problem, family)
    np.testing.assert_allclose(
        result.solution.fitted[:, 0], machine.decision_function(K / 4), atol=1e-4
    )


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=lambda loss: type(loss).__name__)
def test_ordered_tuples_are_a_list_with_repetitions(p, loss, rng):
    """The merged problem has the value and the predictor of the one that lists every order."""
    problem, family, _, _ = setting(rng, p=p, loss=loss, kind=Tuples(p / (2 - p)), n=20)
    x = family.bases.features
    tuples = [np.ones(20), *x.T, *(x[:, i] * x[:, j] for i in range(3) for j in range(3))]
    listed = np.column_stack(tuples)
    tol = 1e-4 if p == 1 else 1e-7
    merged, _ = solved(problem, family, tol=tol)
    optimum, w, _ = conic_minimum(problem, listed, np.arange(13))
    assert merged.solution.objective == pytest.approx(optimum, rel=tol + 2e-6)
    assert family.size == 13
    assert family.distinct == 10
    if p > 1 and isinstance(loss, Squared):
        np.testing.assert_allclose(merged.solution.fitted[:, 0], listed @ w, atol=2e-3)
    # and (0.4): multinomial coefficients to the power 1 - 1/nu are what merges them
    counts = np.array([factorial(len(i)) / (2 if len(set(i)) < len(i) else 1) for i in TWO])
    np.testing.assert_allclose(family.weights(TWO), counts ** (1 - 1 / (p / (2 - p))), rtol=1e-12)


TWO = [(0, 0), (0, 1), (1, 2), (2, 2)]


@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse"])
def test_features_made_anew_equal_features_kept(representation, rng, monkeypatch):
    problem, family, _, _ = setting(rng, representation, n=12)
    kept, _ = solved(problem, family)
    monkeypatch.setattr("manykernels.solvers.full_pass.KEPT_BYTES", 0)
    monkeypatch.setattr("manykernels.bases.features.BATCH_ENTRIES", 12 * 3)
    anew, states = solved(problem, family)
    assert anew.solution.objective == pytest.approx(kept.solution.objective, rel=1e-10)
    np.testing.assert_allclose(anew.theta, kept.theta, atol=1e-8)
    assert len(states) == len(kept.history["gap"])


@pytest.mark.parametrize("kernels", ["linear", "rbf"])
def test_p_2_is_the_plain_sum_of_kernels(kernels, rng):
    X, y = interaction(rng, n=60, r=5)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    grams = Z.T[:, :, None] * Z.T[:, None, :]
    if kernels == "rbf":
        grams = np.exp(-((Z.T[:, :, None] - Z.T[:, None, :]) ** 2) / 2)
    K = 1 + grams.sum(axis=0)
    model = LpNormMKL(kernels, p=2, alpha=0.02, fit_intercept=False).fit(X, y)
    ridge = KernelRidge(alpha=0.02 * 60, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(K), atol=1e-8)
    assert model.gap_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("nu", [1.0, 1.5, 2.0, 4.0])
def test_best_weights_minimise_over_the_ball(nu, rng):
    theta, gradients = rng.random(5) + 0.1, rng.random(5) + 0.1
    squares = theta**2 * gradients
    best = best_weights(theta, gradients, nu)
    found = minimize(
        lambda t: np.sum(squares / t),
        np.full(5, 0.5 * 5 ** (-1 / nu)),
        jac=lambda t: -squares / t**2,
        bounds=[(1e-6, 1)] * 5,
        constraints={
            "type": "ineq",
            "fun": lambda t: 1 - np.sum(t**nu),
            "jac": lambda t: -nu * t ** (nu - 1),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert np.sum(best**nu) == pytest.approx(1.0)
    assert np.sum(squares / best) <= found.fun * (1 + 1e-9)
    np.testing.assert_allclose(best, found.x, atol=1e-4)


def test_best_weights_at_extremes():
    theta = np.array([1e-300, 1e-3, 0.0, 0.5])
    gradients = np.array([1.0, 1e-200, 1.0, 1e-290])
    for nu in (1.0, 2.0, 50.0):
        best = best_weights(theta, gradients, nu)
        assert np.all(np.isfinite(best))
        assert best[2] == 0
        assert np.sum(best**nu) == pytest.approx(1.0)
    np.testing.assert_array_equal(best_weights(theta, np.zeros(4), 2.0), theta)


@quietly
@pytest.mark.parametrize("p", EXPONENTS)
def test_a_list_of_precomputed_kernels_is_plain_multiple_kernel_learning(p, rng):
    """Degree 1 with an intercept: the constant kernel is idle, the rest is Kloft's problem."""
    x = rng.normal(size=(30, 6))
    grams = np.stack([x[:, :2] @ x[:, :2].T, x[:, 2:4] @ x[:, 2:4].T, x[:, 4:] @ x[:, 4:].T])
    labels = np.where(x[:, 0] + 0.5 * x[:, 3] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0)
    kernels = [Precomputed(gram, name) for gram, name in zip(grams, "abc", strict=True)]
    rows = np.arange(30)[:, None]
    tol = 1e-3 if p == 1 else 1e-6
    model = LpNormMKLClassifier(kernels, p=p, alpha=0.02, tol=tol, max_iter=2000).fit(rows, labels)
    problem = Problem(labels[:, None], np.full(30, 1 / 30), Hinge(), 0.02, p, True)
    optimum, _, norms = conic_minimum(problem, x, np.repeat(np.arange(3), 2))
    assert model.objective_ == pytest.approx(optimum, rel=tol + 3e-6)
    assert model.n_kernels_ == 4
    if p > 1:
        nu = p / (2 - p)
        best = norms ** (2 / (nu + 1))
        best = best / np.sum(best**nu) ** (1 / nu)
        theta = dict(zip(model.terms_, model.theta_, strict=True))
        np.testing.assert_allclose([theta[j,] for j in range(3)], best, atol=0.02)
        assert theta.get((), 0.0) < 1e-3


def test_orthogonal_features(rng):
    """p = 1 on orthogonal columns is water-filling; nu = 2 solves scalar equations."""
    n, lam = 30, 0.01
    basis = np.linalg.qr(rng.normal(size=(n, 4)))[0]
    sizes = np.array([30.0, 20.0, 10.0, 5.0])
    bases = make_bases("columns", rng, n=n, r=4)
    bases.features[:] = basis * np.sqrt(sizes)
    y = basis @ np.array([3.0, 2.0, 1.0, 0.3]) * 3 + 0.1 * rng.normal(size=n)
    c = basis.T @ y
    for p, nu in ((1.0, 1.0), (4 / 3, 2.0)):
        problem = Problem(y[:, None], np.full(n, 1 / n), Squared(), lam, p)
        result, _ = solved(problem, ListFamily(bases), passes=20_000, tol=1e-7)
        theta = result.theta
        slopes = lam / 2 * sizes * c**2 / (n * lam + theta * sizes) ** 2
        if nu == 2:
            np.testing.assert_allclose(slopes / theta, (slopes / theta)[0], rtol=1e-2)
        else:
            assert np.all(slopes <= slopes[0] * (1 + 1e-3))
            live = theta > 1e-3
            np.testing.assert_allclose(slopes[live], slopes[0], rtol=1e-3)
        rest = y @ y - c @ c
        value = lam / 2 * (rest / (n * lam) + np.sum(c**2 / (n * lam + theta * sizes)))
        assert result.solution.objective == pytest.approx(value, rel=1e-9)


def test_symmetries(rng):
    X, y = interaction(rng, n=60, r=5)
    options = {"degree": 2, "alpha": 0.01, "tol": 1e-8, "max_iter": 2000}
    model = LpNormMKL(**options).fit(X, y)
    order, columns = rng.permutation(60), rng.permutation(5)
    moved = LpNormMKL(**options).fit(X[order][:, columns], y[order])
    np.testing.assert_allclose(moved.predict(X[:, columns]), model.predict(X), atol=1e-4)
    larger = LpNormMKL(**options).fit(X, 7.0 * y)
    np.testing.assert_allclose(larger.predict(X), 7.0 * model.predict(X), atol=1e-6)
    assert larger.objective_ == pytest.approx(49 * model.objective_)


def test_large_nu_approaches_the_sum(rng):
    X, y = interaction(rng, n=40, r=5)
    near = LpNormMKL(degree=2, p=1.995, alpha=0.01, tol=1e-6).fit(X, y)
    plain = LpNormMKL(degree=2, p=2, alpha=0.01).fit(X, y)
    assert near.objective_ == pytest.approx(plain.objective_, rel=0.02)
    assert near.objective_ >= plain.objective_ * (1 - 1e-6)


def test_the_history_is_that_of_passes(rng):
    X, y = interaction(rng, n=80, r=5)
    model = LpNormMKL(degree=2, tol=1e-5).fit(X, y)
    assert model.n_iter_ == len(model.history_["gap"]) - 1
    assert np.all(np.diff(model.history_["objective"]) <= 1e-10)
    assert model.history_["objective"][-1] == model.objective_
    assert model.history_["gap"][-1] == model.gap_ <= 1e-5
    assert model.history_["active"][0] == 21


def test_a_target_without_signal(rng):
    X, _ = regression(rng)
    flat = LpNormMKL(degree=2).fit(X, np.full(40, 3.0))
    np.testing.assert_allclose(flat.predict(X), 3.0)
    assert flat.gap_ == 0
    blank = LpNormMKL(degree=2).fit(np.ones((40, 3)), np.arange(40.0))
    np.testing.assert_allclose(blank.predict(np.ones((2, 3))), 19.5)


def test_kernels_without_weight_are_no_terms(rng):
    X, y = regression(rng)
    X[:, 2] = 7.0
    model = LpNormMKL(degree=2).fit(X, y)
    assert np.all(model.theta_ > 0)
    assert not any(2 in term for term in model.terms_)
