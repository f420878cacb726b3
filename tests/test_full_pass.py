"""Accelerated full passes against conic solvers, the plain updates and themselves."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from checks import LOSSES, conic_minimum, make_bases, random_problem, random_setting
from manykernels.baselines.lp_norm import AnalyticUpdates
from manykernels.families import ListFamily, Monomials, ProductFamily, Tuples
from manykernels.losses import Hinge, Squared
from manykernels.solvers import run
from manykernels.solvers.full_pass import FullPass, accelerated, normalised

REPRESENTATIONS = ["columns", "blocks", "sparse", "grams"]
STRENGTHS = [1e-6, 1e-3, 0.1, 10.0]
EXPONENTS = [1.01, 1.05, 1.2, 4 / 3, 1.6, 1.9]
inaccurate = pytest.mark.filterwarnings("ignore:Solution may be inaccurate", "ignore:pnorm with p")


def name(loss):
    return type(loss).__name__


def solved(problem, family, solver=None, tol=1e-6, passes=1000, start=None):
    """Run to a small gap; return the result and the states on the way."""
    states = []

    def remember(state, record):
        states.append(state)

    rng = np.random.default_rng(0)
    solver = solver or FullPass()
    return run(solver, problem, family, rng, passes, tol, callback=remember, start=start), states


@inaccurate
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_optimum_is_that_of_a_conic_solver(loss, representation, strength, rng):
    """The gap bounds the distance to the optimum at every pass."""
    p = float(rng.choice([1.1, 1.2, 4 / 3, 1.6, 1.9]))
    problem, family, columns, owners = random_setting(rng, loss, representation, strength, p)
    optimum, _, _ = conic_minimum(problem, columns, owners)
    result, states = solved(problem, family)
    objectives = np.array([state.solution.objective for state in states])
    gaps = np.array([state.certificate.gap for state in states])
    slack = 5e-6 * optimum + 1e-8
    assert result.converged
    assert result.certificate.kind == "exact"
    assert result.solution.objective == pytest.approx(optimum, abs=slack)
    assert np.all(objectives >= optimum - slack)
    assert np.all(gaps >= objectives - optimum - slack)


@pytest.mark.parametrize("memory", [0, 1, 5])
@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_objective_never_rises(loss, p, memory, rng):
    problem, family, _, _ = random_setting(rng, loss, "columns", 10 ** rng.uniform(-5, 0), p)
    _, states = solved(problem, family, FullPass(memory), 1e-7, 40)
    objectives = np.array([state.solution.objective for state in states])
    assert np.all(np.diff(objectives) <= 1e-11 * objectives[:-1])
    assert [state.k for state in states] == list(range(1, len(states) + 1))


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_answer_is_that_of_analytic_updates(representation, p, rng):
    loss = LOSSES[rng.integers(len(LOSSES))]
    problem, family, _, _ = random_setting(rng, loss, representation, 0.02, p)
    tol = 1e-4 if p < 1.2 else 1e-7
    fast, _ = solved(problem, family, tol=tol)
    plain, _ = solved(problem, family, AnalyticUpdates(), tol)
    assert fast.converged
    assert plain.converged
    assert fast.solution.objective == pytest.approx(plain.solution.objective, rel=tol)
    if p >= 1.2:
        span = 1e-3 * np.ptp(problem.y)
        np.testing.assert_allclose(fast.solution.fitted, plain.solution.fitted, atol=span)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_states_are_consistent(loss, p, rng):
    """Weights are on the ball, coefficients give the predictions, these give the objective."""
    problem, family, _, _ = random_setting(rng, loss, "blocks", 0.05, p)
    _, states = solved(problem, family, passes=15)
    for state in states:
        indices, theta = state.weights
        assert np.all(theta > 0)
        assert np.sum(theta**problem.nu) == pytest.approx(1.0)
        assert state.active == len(indices) == len(theta)
        solution = state.solution
        columns, owners = family.features(indices)
        columns = columns * np.sqrt(theta)[owners]
        coefficients = solution.coefficients
        if not solution.in_features:
            coefficients = columns.T @ coefficients
        fitted = columns @ coefficients + solution.intercept
        np.testing.assert_allclose(fitted, solution.fitted, atol=1e-7)
        value = problem.risk(fitted) + problem.strength / 2 * np.sum(coefficients**2)
        assert solution.objective == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("strength", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("p", [1.2, 4 / 3, 1.6, 1.9])
def test_acceleration_costs_few_passes_where_it_saves_none(p, strength, rng):
    """Without a penalty the analytic update is exact; the bolder one takes some passes more."""
    problem, family, _, _ = random_setting(rng, Squared(), "columns", strength, p)
    fast, _ = solved(problem, family, tol=1e-8)
    plain, _ = solved(problem, family, AnalyticUpdates(), 1e-8)
    assert fast.converged
    assert fast.n_iter <= plain.n_iter + 4


@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse"])
def test_features_made_anew_equal_features_kept(representation, rng, monkeypatch):
    problem, family, _, _ = random_setting(rng, Squared(), representation, 0.01, 4 / 3)
    kept, states = solved(problem, family)
    monkeypatch.setattr("manykernels.solvers.full_pass.KEPT_BYTES", 0)
    monkeypatch.setattr("manykernels.bases.features.BATCH_ENTRIES", 3 * family.rows)
    anew, again = solved(problem, family)
    assert len(again) == len(states)
    assert anew.solution.objective == pytest.approx(kept.solution.objective, rel=1e-9)
    np.testing.assert_allclose(anew.theta, kept.theta, atol=1e-6)


@pytest.mark.parametrize("p", [1.05, 4 / 3, 1.6])
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=name)
def test_a_start_changes_the_way_and_not_the_answer(loss, p, rng):
    problem, family, _, _ = random_setting(rng, loss, "columns", 0.02, p)
    other, _ = solved(replace(problem, strength=0.1), family)
    cold, _ = solved(problem, family)
    warm, _ = solved(problem, family, start=other)
    assert warm.converged
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2e-6)
    again, _ = solved(problem, family, start=cold)
    assert again.n_iter <= 3


@pytest.mark.parametrize("p", EXPONENTS)
def test_first_pass_has_equal_weights_of_tuples(p, rng):
    """Every order of a product has the same weight, so the first kernel is a closed form."""
    nu = p / (2 - p)
    family = ProductFamily(make_bases("columns", rng, n=9, r=4), 2, Tuples(nu))
    problem = random_problem(Squared(), rng, family.bases.features, p=p)
    _, states = solved(problem, family, passes=1)
    kernel = family.gram(states[0].indices, states[0].theta)
    base = family.bases.features @ family.bases.features.T
    np.testing.assert_allclose(kernel, (1 + base + base**2) / family.size ** (1 / nu), atol=1e-10)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
def test_kernels_without_gradient_lose_their_weight(intercept, p, rng):
    bases = make_bases("columns", rng, n=25, r=4)
    bases.features[:, 2] = 0.0
    family = ProductFamily(bases, 2, Monomials())
    problem = random_problem(Squared(), rng, bases.features[:, :2], p=p, intercept=intercept)
    result, _ = solved(problem, family, tol=1e-5)
    assert result.converged
    theta = dict(zip(result.indices, result.theta, strict=True))
    assert theta.get((2,), 0.0) <= 1e-2 * max(result.theta)


@pytest.mark.parametrize("p", EXPONENTS)
def test_a_target_without_signal(p, rng):
    family = ListFamily(make_bases("columns", rng))
    problem = replace(random_problem(Squared(), rng, family.bases.features, p=p), intercept=True)
    result, _ = solved(replace(problem, y=np.full((12, 1), 3.0)), family)
    assert result.converged
    np.testing.assert_allclose(result.solution.fitted, 3.0)


def test_a_list_too_long_is_refused(rng):
    family = ProductFamily(make_bases("columns", rng, n=30), 200)
    problem = random_problem(Squared(), rng, family.bases.features)
    with pytest.raises((MemoryError, ValueError), match="list of all kernels"):
        solved(problem, family)


@pytest.mark.parametrize("nu", [1.02, 2.0, 19.0])
def test_normalised_logarithms_are_of_norm_one(nu, rng):
    x = 30 * rng.normal(size=8)
    theta = np.exp(normalised(x, nu))
    assert np.sum(theta**nu) == pytest.approx(1.0)
    np.testing.assert_allclose(np.diff(normalised(x, nu)), np.diff(x))


def test_anderson_finds_the_fixed_point_of_an_affine_map(rng):
    """With as many updates in memory as there are dimensions, but for the ridge."""
    slope = 0.9 * np.linalg.qr(rng.normal(size=(4, 4)))[0]
    shift = rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - slope, shift)
    points = rng.normal(size=(6, 4))
    past = deque((slope @ x + shift, slope @ x + shift - x) for x in points)
    np.testing.assert_allclose(accelerated(past, np.ones(4)), fixed, atol=1e-4)
