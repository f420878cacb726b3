"""Newton's method in the dual: the same optimum as full passes, with exact certificates."""

import numpy as np
import pytest

from manykernels import MKLRegressorCV
from manykernels.bases import FeatureBlocks
from manykernels.families import Interactions, Monomials, ProductFamily
from manykernels.limits import LISTED_LIMIT
from manykernels.losses import Huber, Squared
from manykernels.objective import Problem, weights_of
from manykernels.potentials import power_norm
from manykernels.solvers import FullPass, run
from manykernels.solvers.dual_newton import DualNewton, sampled_kernel
from manykernels.solvers.match import choose


def family_and_problem(rng, p=4 / 3, intercept=True, degree=2, members=None, strength=1e-2):
    X = rng.normal(size=(30, 12))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 1.0)[:, None]
    family = ProductFamily(FeatureBlocks(X), degree, members or Monomials())
    weights = rng.dirichlet(np.ones(30))
    return family, Problem(y, weights, Squared(), strength, p, intercept)


@pytest.mark.parametrize("p", [1.1, 4 / 3, 1.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0])
def test_it_finds_the_optimum_of_full_passes(p, intercept, strength, rng):
    family, problem = family_and_problem(rng, p, intercept, strength=strength)
    truth = run(FullPass(), problem, family, rng, 300, 1e-8)
    found = run(DualNewton(), problem, family, rng, 200, 1e-6)
    assert found.converged
    assert found.certificate.kind == "exact"
    ours, theirs = found.solution.objective, truth.solution.objective
    assert ours <= theirs * (1 + 1e-6)
    assert theirs - truth.certificate.gap <= ours * (1 + 1e-12)
    assert power_norm(found.theta, problem.nu) == pytest.approx(1.0)
    # The predictor that is handed out is the one whose objective was certified.
    gram = family.gram(found.indices, found.theta)
    values = gram @ found.solution.coefficients
    np.testing.assert_allclose(values + found.solution.intercept, found.solution.fitted, atol=1e-9)
    quadratic = float(np.sum(found.solution.coefficients * values))
    objective = problem.primal(found.solution.fitted, quadratic)
    assert objective == pytest.approx(found.solution.objective, rel=1e-10)


def test_it_starts_from_the_answer_to_another_strength(rng):
    family, problem = family_and_problem(rng)
    first = run(DualNewton(), problem, family, rng, 100, 1e-4)
    _, other = family_and_problem(np.random.default_rng(0), strength=5e-3)
    cold = run(DualNewton(), other, family, rng, 100, 1e-4)
    warm = run(DualNewton(), other, family, rng, 100, 1e-4, start=first)
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2e-4)


def test_a_target_without_variation_needs_no_kernel(rng):
    family, problem = family_and_problem(rng)
    flat = Problem(0 * problem.y, problem.weights, Squared(), 1.0, 4 / 3, True)
    assert run(DualNewton(), flat, family, rng, 10, 1e-2).converged


@pytest.mark.parametrize("members", [Monomials(), Interactions()])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_inner_products_and_positions_of_all_kernels(members, degree, rng):
    family, _ = family_and_problem(rng, degree=degree, members=members)
    alpha = rng.normal(size=(30, 2))
    truth = family.features(family.indices())[0].T @ alpha
    np.testing.assert_allclose(family.inner_of_all(alpha), truth, atol=1e-12)
    chosen = np.flatnonzero(rng.random(family.distinct) < 0.3)
    assert family.listed(chosen) == [family.indices()[i] for i in chosen.tolist()]


def test_sampled_kernels_are_right_on_average(rng):
    family, problem = family_and_problem(rng)
    theta = weights_of(family.at(problem.y).all(), 1.0)
    truth = family.gram(family.indices(), theta)
    mean = np.mean([sampled_kernel(family, theta, rng) for _ in range(20)], axis=0)
    np.testing.assert_allclose(mean, truth, atol=0.02 * np.abs(truth).max())


def test_it_is_chosen_where_a_pass_takes_long(rng, monkeypatch):
    family, problem = family_and_problem(rng)
    assert isinstance(choose("auto", problem, family), FullPass)
    monkeypatch.setattr("manykernels.solvers.dual_newton.Squared", Huber)
    monkeypatch.setitem(choose.__globals__, "DUAL_WORK", 0.0)
    assert isinstance(choose("auto", problem, family), FullPass)
    monkeypatch.undo()
    monkeypatch.setitem(choose.__globals__, "DUAL_WORK", 0.0)
    assert isinstance(choose("auto", problem, family), DualNewton)
    assert LISTED_LIMIT >= 2_003_001  # pairs of 2,000 columns


def test_cross_validation_is_that_of_full_passes(rng, monkeypatch):
    X = rng.normal(size=(60, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=60)
    settings = {"degree": 2, "tol": 1e-6, "n_alphas": 6, "random_state": 0}
    truth = MKLRegressorCV(**settings).fit(X, y)
    monkeypatch.setitem(choose.__globals__, "DUAL_WORK", 0.0)
    found = MKLRegressorCV(**settings).fit(X, y)
    assert found.alpha_ == truth.alpha_
    np.testing.assert_allclose(found.score_path_, truth.score_path_, rtol=1e-2)
    np.testing.assert_allclose(found.predict(X), truth.predict(X), atol=1e-3)
    for one, other in zip(found.choice_.folds, truth.choice_.folds, strict=True):
        np.testing.assert_allclose(one.function.decision(X), other.function.decision(X), atol=2e-3)
