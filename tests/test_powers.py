"""Powers of a sum of kernels, with learnt weights or equal ones."""

from itertools import combinations_with_replacement
from math import comb, factorial

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from checks import base_grams, conic_minimum, interaction, make_bases, random_problem, regression
from manykernels.baselines import (
    LpNormMKL,
    PolynomialCombination,
    UniformProductKernel,
    UniformProductKernelClassifier,
)
from manykernels.baselines.polynomial_combination import project
from manykernels.baselines.power_kernel import PowerKernel
from manykernels.bases import FeatureBlocks, GramStack
from manykernels.dual import GramSystem, solve
from manykernels.kernels import Precomputed
from manykernels.losses import Logistic, Squared
from manykernels.objective import Problem

REPRESENTATIONS = ["columns", "blocks", "sparse", "gram"]


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def columns_grams(X):
    """Return the kernels of single columns, the constant one first."""
    grams = X.T[:, :, None] * X.T[:, None, :]
    return np.concatenate([np.ones((1, len(X), len(X))), grams])


def ridge_value(K, y, strength, intercept=False):
    """Return the least mean squared loss / 2 plus penalty, by the closed form."""
    n = len(y)
    if intercept:
        middle = np.eye(n) - 1 / n
        K, y = middle @ K @ middle, y - y.mean()
    return strength / 2 * y @ np.linalg.solve(K + n * strength * np.eye(n), y)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_kernel_is_what_it_says(representation, degree, rng):
    bases = make_bases(representation, rng)
    mu = rng.random(4)
    power = PowerKernel(bases, mu, 0.3, degree)
    total = 0.3 + sum(m * gram for m, gram in zip(mu, base_grams(bases), strict=True))
    np.testing.assert_allclose(power.sum(), total)
    np.testing.assert_allclose(power.gram(), total**degree)
    if not isinstance(bases, GramStack):
        part = FeatureBlocks(bases.features[:5], bases.sizes)
        np.testing.assert_allclose(power.gram(part), (total**degree)[:, :5])
        np.testing.assert_allclose(
            PowerKernel(part, mu, 0.3, degree).gram(bases), (total**degree)[:5]
        )


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_slopes_are_those_of_the_objective(representation, loss, degree, rng):
    """Of J, by finite differences; and Euler's identity of homogeneous functions."""
    bases = make_bases(representation, rng)
    weights = 0.2 + rng.random(5)
    problem = random_problem(loss, rng, base_grams(bases)[0], strength=0.3, intercept=degree == 2)
    problem.y[:2, 0] = 1.0, -1.0  # two classes at least

    def at(weights):
        return PowerKernel(bases, weights[1:], weights[0], degree)

    def value(weights):
        return solve(problem, GramSystem(at(weights).gram()), tol=1e-13).objective

    alpha = solve(problem, GramSystem(at(weights).gram()), tol=1e-13).alpha
    slopes = at(weights).slopes(alpha)
    h = 1e-4
    numeric = [(value(weights + h * e) - value(weights - h * e)) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(
        -problem.strength / 2 * slopes, numeric, atol=2e-5 * np.abs(numeric).max()
    )
    energy = float(np.sum(alpha * (at(weights).gram() @ alpha)))
    assert weights @ slopes == pytest.approx(degree * energy)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("centre", [0.0, 0.2])
@pytest.mark.parametrize("radius", [0.5, 1.0, 10.0])
def test_projection(norm, centre, radius, rng):
    mu0 = np.full(4, centre)
    for _ in range(5):
        point = rng.normal(size=4) + 0.3
        found = project(point, mu0, radius, norm)
        assert np.all(found >= 0)
        assert np.linalg.norm(found - mu0, norm) <= radius * (1 + 1e-9)
        # The variational inequality, against random feasible points
        others = np.maximum(mu0 + rng.normal(size=(2000, 4)) * radius, 0.0)
        size = np.linalg.norm(others - mu0, norm, axis=1) / radius
        others = mu0 + (others - mu0) / np.maximum(size, 1.0)[:, None]
        assert np.all((others - found) @ (point - found) <= 1e-9)
        if norm == 2:
            fun = {"type": "ineq", "fun": lambda m: radius**2 - np.sum((m - mu0) ** 2)}
            guess = minimize(
                lambda m, point=point: np.sum((m - point) ** 2),
                mu0 + 0.01,
                bounds=[(0, None)] * 4,
                constraints=fun,
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            ).x
        else:  # split in positive and negative parts, which makes the norm linear
            fun = {"type": "ineq", "fun": lambda m: radius - np.sum(m)}
            inside = {"type": "ineq", "fun": lambda m: mu0 + m[:4] - m[4:]}
            split = minimize(
                lambda m, point=point: np.sum((mu0 + m[:4] - m[4:] - point) ** 2),
                np.full(8, 0.01),
                bounds=[(0, None)] * 8,
                constraints=[fun, inside],
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            ).x
            guess = mu0 + split[:4] - split[4:]
        np.testing.assert_allclose(found, guess, atol=1e-5)


def test_points_inside_stay(rng):
    mu0 = np.full(3, 0.2)
    inside = mu0 + np.array([0.1, -0.1, 0.2])
    for norm in (1, 2):
        np.testing.assert_allclose(project(inside, mu0, 1.0, norm), inside)
    on_axis = project(np.array([5.0, 0.0, 0.0]), np.zeros(3), 1.0, 1)
    np.testing.assert_allclose(on_axis, [1, 0, 0], atol=1e-12)


def search(grams, y, strength, degree, norm, centre, starts, intercept=False):
    """Minimise J over the ball with SLSQP from given starts; return the best value."""
    size, n = len(grams), len(y)

    def value(mu):
        S = np.tensordot(mu, grams, axes=1)
        K, target = S**degree, y
        if intercept:
            middle = np.eye(n) - 1 / n
            K, target = middle @ K @ middle, y - y.mean()
        alpha = np.linalg.solve(K + n * strength * np.eye(n), target)
        inner = degree * S ** (degree - 1) * np.outer(alpha, alpha)
        slopes = np.tensordot(grams, inner, axes=2)
        return strength / 2 * target @ alpha, -strength / 2 * slopes

    if norm == 2:
        ball = {
            "type": "ineq",
            "fun": lambda m: 1 - np.sum((m - centre) ** 2),
            "jac": lambda m: -2 * (m - centre),
        }
    else:  # optima have mu >= centre, where the norm is linear
        ball = {
            "type": "ineq",
            "fun": lambda m: 1 - np.sum(m - centre),
            "jac": lambda m: -np.ones(size),
        }
    results = [
        minimize(
            value, start, jac=True, bounds=[(centre if norm == 1 else 0, None)] * size,
            constraints=ball, method="SLSQP", options={"ftol": 1e-13, "maxiter": 500},
        )
        for start in starts
    ]  # fmt: skip
    return min(result.fun for result in results)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("centre", [0.0, 0.2])
@pytest.mark.parametrize("strength", [1e-4, 1e-2])
def test_a_local_minimum_as_good_as_those_of_many_starts(degree, norm, centre, strength, rng):
    X = rng.normal(size=(40, 3))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 0] + 0.1 * rng.normal(size=40)
    model = PolynomialCombination(
        degree=degree, norm=norm, centre=centre, alpha=strength, fit_intercept=False, tol=1e-9,
        max_iter=5000,
    ).fit(X, y)  # fmt: skip
    grams = columns_grams(standardised(X))
    weights = np.concatenate([[model.constant_], model.mu_])
    K = np.tensordot(weights, grams, axes=1) ** degree
    assert model.objective_ == pytest.approx(ridge_value(K, y, strength), rel=1e-6)
    assert np.linalg.norm(weights - centre, norm) == pytest.approx(1.0, abs=1e-6)
    assert np.all(weights >= centre - 1e-9)
    history = model.history_["objective"]
    assert np.all(np.diff(history) <= 0)
    assert len(history) == model.n_iter_ + 1
    assert model.objective_ <= history[-1]
    here = search(grams, y, strength, degree, norm, centre, [weights])
    assert model.objective_ <= here * (1 + 1e-3)
    starts = [centre + 0.9 * s / np.linalg.norm(s, norm) for s in rng.random((12, 4))]
    best = search(grams, y, strength, degree, norm, centre, starts)
    assert model.objective_ <= best * 1.05


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("kernels", ["linear", "rbf"])
def test_degree_1_is_lp_norm_learning(norm, constant, kernels, rng):
    X, y = regression(rng)
    y = y + X[:, 1]
    options = {"alpha": 0.02, "fit_intercept": False, "max_iter": 5000}
    power = PolynomialCombination(
        kernels, degree=1, norm=norm, constant=constant, tol=1e-10, **options
    ).fit(X, y)
    listed = LpNormMKL(
        kernels,
        p=1 if norm == 1 else 4 / 3,
        rho=None if constant else [1e8, 1.0],
        tol=1e-4 if norm == 1 else 1e-7,
        **options,
    ).fit(X, y)
    assert power.objective_ == pytest.approx(listed.objective_, rel=3e-4)
    theta = dict(zip(listed.terms_, listed.theta_, strict=True))
    np.testing.assert_allclose(power.mu_, [theta.get((j,), 0) for j in range(4)], atol=0.03)
    np.testing.assert_allclose(power.predict(X), listed.predict(X), atol=0.05)
    assert (power.constant_ > 0) <= constant


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("degree", [2, 3])
def test_tuples_of_kernels_are_at_least_as_good(norm, degree, rng):
    """The weights mu_{k_1} ... mu_{k_D} of tuples have norm 1: their optimum is below J(mu)."""
    X = rng.normal(size=(30, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=30)
    model = PolynomialCombination(degree=degree, norm=norm, alpha=0.01, fit_intercept=False)
    model.fit(X, y)
    Z = np.column_stack([np.ones(30), standardised(X)])
    counts, columns = [], []
    for index in combinations_with_replacement(range(3), degree):
        powers = [index.count(j) for j in range(3)]
        counts.append(factorial(degree) / np.prod([factorial(k) for k in powers]))
        columns.append(np.prod(Z[:, list(index)], axis=1))
    share = 0.0 if norm == 1 else 0.5  # 1 - 1/nu
    scaled = np.column_stack(columns) * np.array(counts) ** (share / 2)
    problem = Problem(y[:, None], np.full(30, 1 / 30), Squared(), 0.01, 1.0 if norm == 1 else 4 / 3)
    optimum, _, _ = conic_minimum(problem, scaled, np.arange(len(counts)))
    assert optimum <= model.objective_ * (1 + 1e-6)


def test_the_radius_only_rescales_alpha(rng):
    X, y = interaction(rng, n=50)
    one = PolynomialCombination(degree=2, alpha=0.01).fit(X, y)
    two = PolynomialCombination(degree=2, alpha=0.01 * 9, radius=3.0).fit(X, y)
    np.testing.assert_allclose(two.mu_, 3 * one.mu_, atol=1e-4)
    np.testing.assert_allclose(two.predict(X), one.predict(X), atol=1e-4)
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-6)


@pytest.mark.parametrize("kernels", ["linear", "rbf"])
@pytest.mark.parametrize("constant", [True, False])
def test_predictions_on_new_rows(kernels, constant, rng):
    X, y = interaction(rng, n=80)
    options = {"kernels": kernels, "degree": 2, "constant": constant, "alpha": 0.01}
    Z = standardised(X[:60])
    new = (X[60:] - X[:60].mean(axis=0)) / X[:60].std(axis=0)
    differences = new[:, None, :] - Z[None]
    parts = new[:, None, :] * Z[None] if kernels == "linear" else np.exp(-(differences**2) / 2)
    for model in (PolynomialCombination(**options), UniformProductKernel(**options)):
        model.fit(X[:60], y[:60])
        level = getattr(model, "constant_", 1 / 7 if constant else 0.0)
        K = (level + parts @ model.mu_) ** 2
        np.testing.assert_allclose(
            model.predict(X[60:]), K @ model.dual_coef_ + model.intercept_, atol=1e-8
        )
        np.testing.assert_allclose(model.kernel(X[60:], X[:60]), K, atol=1e-10)


def test_learns_which_columns_matter(rng):
    X = rng.normal(size=(200, 6))
    y = X[:, 1] * X[:, 3]
    model = PolynomialCombination(degree=2, alpha=1e-3).fit(X, y)
    assert set(np.argsort(-model.mu_)[:2].tolist()) == {1, 3}
    plain = UniformProductKernel(degree=2, alpha=1e-3).fit(X[:100], y[:100])
    learnt = PolynomialCombination(degree=2, alpha=1e-3).fit(X[:100], y[:100])
    assert learnt.score(X[100:], y[100:]) > plain.score(X[100:], y[100:])


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_other_losses(loss, rng):
    X, y = interaction(rng, n=60)
    model = PolynomialCombination(degree=2, loss=loss, alpha=0.01).fit(X, y)
    history = model.history_["objective"]
    assert np.all(np.diff(history) <= 1e-12)
    weights = np.append(model.mu_, model.constant_)
    assert np.linalg.norm(weights) == pytest.approx(1.0, abs=1e-6)
    even = PolynomialCombination(degree=2, loss=loss, alpha=0.01, max_iter=1, tol=1e6).fit(X, y)
    assert model.objective_ < even.history_["objective"][0]


def test_too_few_steps_warn(rng):
    X, y = interaction(rng, n=60)
    with pytest.warns(ConvergenceWarning, match=r"last of max_iter=2 steps\. Raise max_iter"):
        model = PolynomialCombination(max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 2
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_equal_weights_are_a_polynomial_kernel(degree, constant, rng):
    X, y = interaction(rng, n=60)
    model = UniformProductKernel(
        degree=degree, constant=constant, alpha=0.01, fit_intercept=False
    ).fit(X, y)
    Z, scale = standardised(X), 1 / (6 + constant)
    reference = KernelRidge(
        alpha=0.6, kernel="poly", degree=degree, gamma=scale, coef0=scale * constant
    ).fit(Z, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(Z), atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, reference.dual_coef_, atol=1e-6)
    K = (scale * (Z @ Z.T + constant)) ** degree
    assert model.objective_ == pytest.approx(ridge_value(K, y, 0.01))
    np.testing.assert_allclose(model.mu_, scale)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equal_weights_are_ridge_on_scaled_monomials(fit_intercept, rng):
    X, y = interaction(rng, n=40, r=5)
    Z, columns = standardised(X), []
    for d in range(4):
        for index in combinations_with_replacement(range(5), d):
            repeats = np.prod([factorial(index.count(j)) for j in set(index)])
            scale = np.sqrt(comb(3, d) * factorial(d) / repeats / 6**3)
            columns.append(scale * np.prod(Z[:, list(index)], axis=1))
    design = np.column_stack(columns)
    model = UniformProductKernel(degree=3, alpha=0.01, fit_intercept=fit_intercept).fit(X, y)
    ridge = Ridge(alpha=0.01 * 40, fit_intercept=fit_intercept).fit(design, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(design), atol=1e-8)
    np.testing.assert_allclose(model.kernel(X), design @ design.T, atol=1e-10)


@pytest.mark.parametrize("constant", [True, False])
def test_equal_weights_in_a_support_vector_machine(constant, rng):
    X, y = interaction(rng, n=60)
    labels = y > 0
    model = UniformProductKernelClassifier(degree=2, constant=constant, alpha=0.01).fit(X, labels)
    K = ((standardised(X) @ standardised(X).T + constant) / (6 + constant)) ** 2
    machine = SVC(C=1 / 0.6, kernel="precomputed", tol=1e-6).fit(K, labels)
    np.testing.assert_allclose(model.decision_function(X), machine.decision_function(K), atol=1e-3)
    dual = np.zeros(60)
    dual[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(model.dual_coef_[0], dual, atol=0.02)


def test_several_classes(rng):
    X = rng.normal(size=(90, 4))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    model = UniformProductKernelClassifier(degree=2, loss="logistic", alpha=1e-4).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.dual_coef_.shape == (3, 90)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_given_matrices(rng):
    X, y = interaction(rng, n=50)
    grams = [X[:, [0, 2]] @ X[:, [0, 2]].T, X[:, 4:5] @ X[:, 4:5].T]
    rows = np.arange(50)[:, None]
    kernels = [Precomputed(gram, name) for gram, name in zip(grams, "ab", strict=True)]
    blocks = [("linear", [0, 2]), ("linear", [4])]
    for maker in (PolynomialCombination, UniformProductKernel):
        options = {"degree": 2, "alpha": 0.01, "standardize": False}
        given = maker(kernels, **options).fit(rows, y)
        made = maker(blocks, **options).fit(X, y)
        np.testing.assert_allclose(given.predict(rows), made.predict(X), atol=1e-5)
    one = UniformProductKernel("precomputed", degree=2, alpha=0.01).fit(grams[0], y)
    listed = UniformProductKernel(kernels[:1], degree=2, alpha=0.01).fit(rows, y)
    np.testing.assert_allclose(one.predict(grams[0]), listed.predict(rows), atol=1e-8)


@pytest.mark.parametrize("maker", [PolynomialCombination, UniformProductKernel])
@pytest.mark.parametrize("constant", [True, False])
def test_degree_zero_is_a_constant(maker, constant, rng):
    X, y = regression(rng)
    model = maker(degree=0, constant=constant).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-8)


@pytest.mark.parametrize("maker", [PolynomialCombination, UniformProductKernel])
def test_columns_and_targets_without_signal(maker, rng):
    X, y = regression(rng)
    X[:, 2] = 7.0
    assert np.all(np.isfinite(maker().fit(X, y).predict(X)))
    np.testing.assert_allclose(maker().fit(X, np.full(40, 3.0)).predict(X), 3.0)
    blank = maker(constant=False).fit(np.ones((40, 3)), y)
    np.testing.assert_allclose(blank.predict(np.ones((2, 3))), y.mean())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("maker", [PolynomialCombination, UniformProductKernel])
def test_beyond_floating_point(maker, rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match="y has values as large as"):
        maker().fit(X, y * 1e160)
    with pytest.raises(ValueError, match=r"beyond floating-point range|at least 1e-140"):
        maker(alpha=1e-12).fit(X, y * 1e145)


@pytest.mark.parametrize(("norm", "away"), [(1, 1e8), (2, 1e18)])
@pytest.mark.parametrize("centre", [0.0, 0.2])
def test_points_far_away_are_projected_too(norm, away, centre, rng):
    direction = rng.uniform(0.1, 1.0, size=5)
    point = project(away * direction, np.full(5, centre), 0.7, norm)
    assert np.linalg.norm(point - centre, norm) == pytest.approx(0.7, rel=1e-6)
