import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR

from checks import LOSSES, random_problem
from manykernels.dual import Columns, FeatureSystem, GramSystem, solve
from manykernels.dual.systems import factorise
from manykernels.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Squared,
    SquaredHinge,
)
from manykernels.objective import Problem

ALL = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def relative_gap(problem, solution, K):
    quadratic = float(np.sum(solution.alpha * (K @ solution.alpha)))
    return (solution.objective - problem.dual(solution.alpha, quadratic)) / solution.objective


@ALL
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("width", [10, 70])
@pytest.mark.parametrize("strength", [10.0, 1e-1, 1e-3, 1e-5])
def test_gap_closes_in_both_systems(loss, intercept, width, strength, rng):
    F = rng.normal(size=(40, width)) / np.sqrt(width)
    K = F @ F.T
    problem = random_problem(loss, rng, F, strength, intercept=intercept)
    primal = solve(problem, FeatureSystem(F))
    dual = solve(problem, GramSystem(K))
    assert abs(relative_gap(problem, primal, K)) < 1e-8
    assert abs(relative_gap(problem, dual, K)) < (1e-8 if width >= 40 else 1e-6)
    assert primal.objective == pytest.approx(dual.objective, rel=1e-7)
    np.testing.assert_allclose(K @ primal.alpha + primal.intercept, primal.fitted, atol=1e-4)
    if intercept:
        assert abs(primal.alpha.sum()) < 1e-7 * np.abs(primal.alpha).sum()
    else:
        assert primal.intercept == 0.0


@ALL
@pytest.mark.parametrize("intercept", [False, True])
def test_warm_start_gives_the_same_solution(loss, intercept, rng):
    F = rng.normal(size=(30, 12))
    problem = random_problem(loss, rng, F, 0.01, intercept=intercept)
    start = solve(problem, FeatureSystem(F * rng.uniform(0.5, 1.5, size=12)))
    cold, warm = solve(problem, FeatureSystem(F)), solve(problem, FeatureSystem(F), start)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)


@ALL
def test_zero_kernel(loss, rng):
    """With no kernel, alpha = -s loss'(0) / lambda, and J is the mean loss at 0."""
    problem = random_problem(loss, rng, rng.normal(size=(20, 2)), 0.1)
    zero = np.zeros((20, 1))
    for system in (FeatureSystem(np.zeros((20, 0))), GramSystem(np.zeros((20, 20)))):
        solution = solve(problem, system)
        assert solution.objective == pytest.approx(problem.risk(zero), rel=1e-9)
        np.testing.assert_allclose(
            solution.alpha, problem.dual_point(loss.gradient(problem.y, zero)), atol=1e-7
        )


@ALL
def test_weights_are_repetitions(loss, rng):
    F = rng.normal(size=(15, 6))
    base = random_problem(loss, rng, F, 0.05, intercept=True, weighted=False)
    times = rng.integers(1, 4, size=15)
    weighted = Problem(base.y, times / times.sum(), loss, 0.05, intercept=True)
    rows = np.repeat(np.arange(15), times)
    repeated = Problem(base.y[rows], np.full(len(rows), 1 / len(rows)), loss, 0.05, intercept=True)
    one, other = solve(weighted, FeatureSystem(F)), solve(repeated, FeatureSystem(F[rows]))
    assert one.objective == pytest.approx(other.objective, rel=1e-8)
    np.testing.assert_allclose(one.fitted[rows], other.fitted, atol=1e-4)


def test_several_outputs_are_solved_separately(rng):
    F = rng.normal(size=(20, 5))
    for loss in (Squared(), Logistic(), Hinge()):
        y = np.where(rng.random((20, 3)) > 0.5, 1.0, -1.0)
        weights = np.full(20, 0.05)
        joint = solve(Problem(y, weights, loss, 0.1), FeatureSystem(F))
        singles = [
            solve(Problem(y[:, [c]], weights, loss, 0.1), FeatureSystem(F)) for c in range(3)
        ]
        assert joint.objective == pytest.approx(sum(s.objective for s in singles))
        np.testing.assert_allclose(joint.alpha, np.hstack([s.alpha for s in singles]), atol=1e-6)


def test_agrees_with_ridge(rng):
    F, s = rng.normal(size=(30, 8)), rng.uniform(0.5, 2, size=30)
    y = rng.normal(size=30)
    solution = solve(
        Problem(y[:, None], s / s.sum(), Squared(), 0.2, intercept=True), FeatureSystem(F)
    )
    reference = Ridge(alpha=0.2 * s.sum()).fit(F, y, sample_weight=s)
    np.testing.assert_allclose(solution.fitted[:, 0], reference.predict(F))


def test_agrees_with_logistic_regression(rng):
    F = rng.normal(size=(60, 5))
    y = np.where(F[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    solution = solve(
        Problem(y[:, None], np.full(60, 1 / 60), Logistic(), 0.02, intercept=True),
        FeatureSystem(F),
    )
    reference = LogisticRegression(C=1 / (60 * 0.02), tol=1e-10, max_iter=1000).fit(F, y)
    np.testing.assert_allclose(solution.fitted[:, 0], reference.decision_function(F), atol=1e-5)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)], ids=repr)
def test_agrees_with_support_vector_machines(loss, rng):
    F = rng.normal(size=(50, 4))
    problem = random_problem(loss, rng, F, 0.01, intercept=True)
    options = {"kernel": "linear", "C": 100.0, "tol": 1e-8}
    machine = SVC(**options) if loss.classification else SVR(epsilon=0.1, **options)
    machine.fit(F, problem.y[:, 0], sample_weight=problem.weights)
    reference = machine.decision_function(F) if loss.classification else machine.predict(F)
    np.testing.assert_allclose(solve(problem, FeatureSystem(F)).fitted[:, 0], reference, atol=1e-4)


def test_libsvm_is_only_a_start(rng, monkeypatch):
    """Rows above its limit, or a libsvm cut short, end at the same solution."""
    F = rng.normal(size=(40, 6))
    problem = random_problem(Hinge(), rng, F, 0.01, intercept=True)
    reference = solve(problem, FeatureSystem(F))
    monkeypatch.setattr("manykernels.dual.libsvm.LIBSVM_STEPS", 3)
    cut = solve(problem, FeatureSystem(F))
    monkeypatch.setattr("manykernels.dual.libsvm.LIBSVM_ROWS", 10)
    without = solve(problem, FeatureSystem(F))
    assert cut.objective == pytest.approx(reference.objective, rel=1e-9)
    assert without.objective == pytest.approx(reference.objective, rel=1e-9)


def test_singular_kernel_with_a_ridge_below_rounding(rng):
    F = rng.normal(size=(30, 2)) * 1e4
    y = rng.normal(size=(30, 1))
    problem = Problem(y, np.full(30, 1 / 30), Squared(), 1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(problem, GramSystem(F @ F.T))
    residual = y - F @ np.linalg.lstsq(F, y, rcond=None)[0]
    np.testing.assert_allclose(solution.fitted, y - residual, atol=0.02)


def test_loss_without_a_solver_is_refused(rng):
    class Bare:
        classification = False

        def value(self, y, f):
            return f

        gradient = conjugate = value

    problem = Problem(np.ones((3, 1)), np.full(3, 1 / 3), Bare(), 1.0)
    with pytest.raises(TypeError, match="loss must have a method curvature"):
        solve(problem, GramSystem(np.eye(3)))


@pytest.mark.parametrize("loss", [Logistic(), Huber(), SquaredHinge(), Hinge()], ids=repr)
@pytest.mark.parametrize("strength", [1e-5, 1e-9, 1e-12])
@pytest.mark.parametrize("intercept", [False, True])
def test_start_from_a_very_different_kernel(loss, strength, intercept, rng):
    """From no kernel at all: the old dual point is huge, the old values are not."""
    F = rng.normal(size=(60, 4))
    problem = random_problem(loss, rng, F, strength, intercept=intercept)
    start = solve(problem, FeatureSystem(np.zeros((60, 0))))
    cold, warm = solve(problem, FeatureSystem(F)), solve(problem, FeatureSystem(F), start)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert cold.objective < problem.risk(np.zeros_like(problem.y))
    assert abs(relative_gap(problem, warm, F @ F.T)) < 1e-3


@pytest.mark.parametrize("unit", [1e-5, 1e-3, 1e3])
@pytest.mark.parametrize("intercept", [False, True])
def test_units_of_the_target_do_not_matter(unit, intercept, rng):
    F = rng.normal(size=(50, 5))
    base = random_problem(EpsilonInsensitive(0.1), rng, F, 0.01, intercept=intercept)
    other = Problem(
        base.y * unit, base.weights, EpsilonInsensitive(0.1 * unit), 0.01 / unit, 4 / 3, intercept
    )
    one, two = solve(base, FeatureSystem(F)), solve(other, FeatureSystem(F))
    np.testing.assert_allclose(two.fitted / unit, one.fitted, atol=1e-5)


def test_single_label_needs_no_libsvm(rng):
    F = rng.normal(size=(20, 3))
    problem = Problem(-np.ones((20, 1)), np.full(20, 0.05), Hinge(), 0.1, intercept=True)
    assert solve(problem, FeatureSystem(F)).objective == pytest.approx(0.0, abs=1e-9)


def test_columns_of_very_different_scale(rng):
    F = rng.normal(size=(50, 4)) * np.array([1e8, 1.0, 1e-4, 1e4])
    y = (F / np.array([1e8, 1.0, 1e-4, 1e4])).sum(axis=1, keepdims=True)
    problem = Problem(y, np.full(50, 0.02), Squared(), 1e-12)
    np.testing.assert_allclose(solve(problem, FeatureSystem(F)).fitted, y, atol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_columns_used_again_with_other_factors(intercept, rng):
    values = rng.normal(size=(30, 6))
    columns = Columns(values)
    problem = random_problem(Squared(), rng, values, intercept=intercept)
    for _ in range(3):
        factors = rng.uniform(0.1, 2.0, size=6)
        again = solve(problem, columns.system(factors))
        fresh = solve(problem, FeatureSystem(values * factors))
        assert again.coefficients == pytest.approx(fresh.coefficients, abs=1e-10)
        assert again.objective == pytest.approx(fresh.objective)
    other = random_problem(Squared(), rng, values, intercept=not intercept)
    again = solve(other, columns.system(factors))
    assert again.objective == pytest.approx(solve(other, FeatureSystem(values * factors)).objective)


@pytest.mark.parametrize("loss", [Squared(), Huber()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("width", [6, 40])
@pytest.mark.parametrize("strength", [1e-110, 1e-76, 1e-30, 1e-12, 1e-3])
@pytest.mark.parametrize("spread", [11, 14, 16])
def test_rows_of_little_weight_keep_their_curvature(loss, intercept, width, strength, spread, rng):
    """Weights that span many decades and next to no penalty: no predictor is worse than none."""
    F = rng.normal(size=(12, width))
    y = rng.normal(size=(12, 1))
    weights = 10.0 ** -rng.permutation(np.linspace(0, spread, 12))
    weights /= weights.sum()
    problem = Problem(y, weights, loss, strength, intercept=intercept)
    # Kernel matrices that have no inverse lose digits of what is left.
    systems = [FeatureSystem(F)] + [GramSystem(F @ F.T)] * (width > 12)
    for system in systems:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = solve(problem, system)
        assert solution.objective <= problem.risk(np.zeros_like(y)) * (1 + 1e-9)


def test_matrices_with_entries_below_zero_by_rounding_have_a_factor():
    factor, added = factorise(np.diag([1.0, 2.0, -0.1]))
    np.testing.assert_array_equal(added > 0, True)
    assert np.all(np.isfinite(factor.solve(np.ones((3, 1)))))
