"""Newton's method in the dual: the same optimum as full passes, with exact certificates."""

import numpy as np
import pytest

from manykernels import MKLRegressorCV
from manykernels.bases import FeatureBlocks
from manykernels.families import Interactions, Monomials, ProductFamily, Tuples
from manykernels.limits import LISTED_LIMIT
from manykernels.losses import Huber, Logistic, Squared
from manykernels.objective import Problem, weights_of
from manykernels.potentials import power_norm
from manykernels.solvers import FullPass, run
from manykernels.solvers.dual_newton import (
    DualNewton,
    best_constant,
    made,
    quadratic_model,
    sampled_kernel,
)
from manykernels.solvers.match import choose

LOSSES = pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda x: type(x).__name__)


@pytest.fixture(params=["sampled", "products"])
def steps(request, monkeypatch):
    """Take steps by a Hessian of sampled kernels, or by products with that of all."""
    if request.param == "sampled":
        monkeypatch.setattr("manykernels.solvers.dual_newton.CG_PRODUCTS", 10**6)


def family_and_problem(
    rng, p=4 / 3, intercept=True, degree=2, members=None, strength=1e-2, loss=None
):
    X = rng.normal(size=(30, 12))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 1.0)[:, None]
    family = ProductFamily(FeatureBlocks(X), degree, members or Monomials())
    weights = rng.dirichlet(np.ones(30))
    if isinstance(loss, Logistic):
        y = np.where(y > 1.0, 1.0, -1.0)
    return family, Problem(y, weights, loss or Squared(), strength, p, intercept)


@pytest.mark.parametrize("p", [1.1, 4 / 3, 1.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0])
@LOSSES
@pytest.mark.usefixtures("steps")
def test_it_finds_the_optimum_of_full_passes(loss, p, intercept, strength, rng):
    family, problem = family_and_problem(rng, p, intercept, strength=strength, loss=loss)
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


@LOSSES
@pytest.mark.usefixtures("steps")
def test_it_starts_from_the_answer_to_another_strength(loss, rng):
    family, problem = family_and_problem(rng, loss=loss)
    first = run(DualNewton(), problem, family, rng, 100, 1e-4)
    _, other = family_and_problem(np.random.default_rng(0), strength=5e-3, loss=loss)
    cold = run(DualNewton(), other, family, rng, 100, 1e-4)
    warm = run(DualNewton(), other, family, rng, 100, 1e-4, start=first)
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2e-4)


@LOSSES
def test_the_constant_is_the_best(loss, rng):
    _, problem = family_and_problem(rng, loss=loss)
    values = 3 * rng.normal(size=(30, 1))
    b = best_constant(problem, values)
    risks = [problem.risk(values + b + change) for change in (-1e-3, 0.0, 1e-3)]
    assert risks[1] < min(risks[0], risks[2])


@LOSSES
def test_the_quadratic_model_touches_the_dual(loss, rng):
    """By values of the dual at a point, and at neighbours on either side."""
    _, problem = family_and_problem(rng, loss=loss, intercept=False)
    alpha = problem.dual_point(loss.gradient(problem.y, rng.normal(size=(30, 1))))
    model, change = quadratic_model(problem, alpha), 1e-4 * alpha * rng.normal(size=(30, 1))
    moved = [
        [one.dual(alpha + side * change, 0.0) - one.dual(alpha, 0.0) for side in (-1, 1)]
        for one in (problem, model)
    ]
    np.testing.assert_allclose(moved[1], moved[0], rtol=1e-3, atol=1e-11)
    np.testing.assert_allclose(sum(moved[1]), sum(moved[0]), rtol=1e-2, atol=1e-13)


def test_a_target_without_variation_needs_no_kernel(rng):
    family, problem = family_and_problem(rng)
    flat = Problem(0 * problem.y, problem.weights, Squared(), 1.0, 4 / 3, True)
    assert run(DualNewton(), flat, family, rng, 10, 1e-2).converged


@pytest.mark.parametrize("members", [Monomials(), Interactions()])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("columns", [2, 100])
def test_products_with_the_features_of_all_kernels(members, degree, columns, rng, monkeypatch):
    """Pairs of columns in one block, and in several."""
    monkeypatch.setattr("manykernels.bases.pairs.PAIR_COLUMNS", columns)
    family, _ = family_and_problem(rng, degree=degree, members=members)
    alpha, features = rng.normal(size=(30, 2)), family.features(family.indices())[0]
    np.testing.assert_allclose(family.inner_of_all(alpha), features.T @ alpha, atol=1e-12)
    coefficients = rng.normal(size=(family.distinct, 2))
    truth = features @ coefficients
    np.testing.assert_allclose(family.combine_all(coefficients), truth, atol=1e-12)
    monkeypatch.setattr("manykernels.families.products.BATCH_ENTRIES", 0)
    order = rng.permutation(family.distinct)
    mixed = [family.indices()[i] for i in order.tolist()]
    np.testing.assert_allclose(family.combine(mixed, coefficients[order]), truth, atol=1e-12)


@pytest.mark.parametrize("members", [Monomials(), Interactions(), Tuples(2.0)])
def test_sums_of_some_kernels_by_their_positions(members, rng):
    X = rng.normal(size=(9, 5))
    family = ProductFamily(FeatureBlocks(X), 3, members, [1.0, 2.0, 3.0, 4.0])
    chosen = np.flatnonzero(rng.random(family.distinct) < 0.3)
    theta = rng.random(len(chosen))
    truth = family.gram([family.indices()[i] for i in chosen.tolist()], theta)
    np.testing.assert_allclose(family.gram_of_some(chosen, theta), truth, atol=1e-12)


def test_it_says_what_kernels_it_can_take(rng):
    family, problem = family_and_problem(rng, degree=3)
    with pytest.raises(ValueError, match="pairs of columns in memory; got others"):
        run(DualNewton(), problem, family, rng, 1, 1e-2)


def test_a_point_is_known_at_its_multiples(rng):
    family, problem = family_and_problem(rng)
    alpha = rng.normal(size=(30, 1))
    point, other = (
        made(problem, family, c * alpha, family.inner_of_all(c * alpha)) for c in (1.0, -3.0)
    )
    for name, value in vars(point.scaled(-3.0)).items():
        np.testing.assert_allclose(value, getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name)
    there = family.on(FeatureBlocks(rng.normal(size=(4, 12))))
    truth = there.gram(family.indices(), point.theta, family) @ alpha
    np.testing.assert_allclose(point.on(there), truth, atol=1e-10)


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
        np.testing.assert_allclose(one.function.decision(X), other.function.decision(X), atol=5e-3)
