import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from checks import make_bases, random_problem
from manykernels import deadline
from manykernels.certificate import Certificate
from manykernels.dual import FeatureSystem, solve, system_of
from manykernels.families import ProductFamily
from manykernels.losses import Squared
from manykernels.solvers import HISTORY, MirrorDescent, run, solve_closed


@pytest.fixture
def setting(rng):
    family = ProductFamily(make_bases("columns", rng, n=30, r=4), 2, enumerate_below=0.0)
    columns, _ = family.features(family.indices())
    return random_problem(Squared(), rng, columns, strength=0.02), family


def test_stops_on_tolerance(setting, rng):
    result = run(MirrorDescent(), *setting, rng, 5000, 0.02)
    assert result.converged
    assert result.certificate.relative <= 0.02
    assert result.n_iter < 5000


def test_stops_on_iterations(setting, rng):
    result = run(MirrorDescent(), *setting, rng, 7, 1e-12)
    assert not result.converged
    assert result.n_iter == 7
    assert len(result.history["objective"]) == 8


def test_stops_on_seconds(setting, rng, monkeypatch):
    monkeypatch.setattr(deadline, "now", time.perf_counter)
    result = run(MirrorDescent(), *setting, rng, 10**9, 1e-12, max_time=0.2)
    assert result.n_iter >= 1
    # The step that was under way is cut: no state but the first ones comes behind the limit.
    assert all(before < 0.2 for before in result.history["seconds"][2:-1])


def test_stops_on_callback(setting, rng):
    result = run(
        MirrorDescent(), *setting, rng, 100, 1e-12, callback=lambda state, record: state.k > 3
    )
    assert result.n_iter == 3


def test_history(setting, rng):
    seen = []
    result = run(
        MirrorDescent(),
        *setting,
        rng,
        20,
        1e-12,
        callback=lambda state, record: seen.append(record),
    )
    assert tuple(result.history) == HISTORY
    for key in HISTORY:
        assert [record[key] for record in seen] == result.history[key]
    assert result.history["iteration"] == list(range(21))
    assert np.all(np.diff(result.history["seconds"]) >= 0)
    assert result.solution.objective == pytest.approx(result.history["objective"][-1], rel=1e-9)


@pytest.mark.parametrize("when", ["between", "in the dual"])
def test_interrupt_keeps_the_model(setting, rng, when, monkeypatch):
    problem, family = setting
    if when == "between":

        def stop(state, record):
            if state.k == 6:
                raise KeyboardInterrupt

        result = run(MirrorDescent(), problem, family, rng, 100, 1e-12, callback=stop)
    else:
        import manykernels.solvers.mirror_descent as module

        real, calls = module.solve, []

        def interrupted(*arguments):
            calls.append(1)
            if len(calls) == 6:
                raise KeyboardInterrupt
            return real(*arguments)

        monkeypatch.setattr(module, "solve", interrupted)
        result = run(MirrorDescent(), problem, family, rng, 100, 1e-12)
    assert result.interrupted
    assert np.sum(result.theta**2) <= 1 + 1e-9
    assert np.isfinite(result.certificate.relative)
    assert result.solution.objective < problem.risk(np.zeros_like(problem.y))


def test_interrupt_before_the_first_state_is_passed_on(setting, rng, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("manykernels.solvers.mirror_descent.solve", stop)
    with pytest.raises(KeyboardInterrupt):
        run(MirrorDescent(), *setting, rng, 100, 1e-12)


def test_same_seed_same_result(setting):
    one, two = (
        run(MirrorDescent(), *setting, np.random.default_rng(3), 30, 1e-12) for _ in range(2)
    )
    assert one.indices == two.indices
    np.testing.assert_array_equal(one.theta, two.theta)


@pytest.mark.parametrize("n", [10, 60])
def test_closed_form(n, rng):
    family = ProductFamily(make_bases("columns", rng, n=n, r=3), 3)
    columns, _ = family.features(family.indices())
    problem = random_problem(Squared(), rng, columns, strength=0.02, p=2.0)
    result = solve_closed(problem, family, rng)
    assert result.closed == (n == 10)
    assert result.certificate.relative == pytest.approx(0.0, abs=1e-10)
    K = columns @ columns.T
    ridge = problem.strength / problem.weights
    np.testing.assert_allclose(
        result.solution.alpha, np.linalg.solve(K + np.diag(ridge), problem.y), rtol=1e-6
    )


def test_closed_form_of_a_family_too_large_to_list(rng):
    family = ProductFamily(make_bases("columns", rng, n=15, r=40), 4)
    columns = family.bases.features
    problem = random_problem(Squared(), rng, columns, strength=0.02, p=2.0)
    result = solve_closed(problem, family, rng)
    assert 0 < len(result.indices) <= 1000
    assert result.closed


class Scripted:
    """A solver whose states are given: three of falling gap, then no more."""

    def __init__(self, problem, family, final):
        self.final = final
        indices, theta = family.indices(), np.full(family.distinct, family.distinct**-0.5)
        system = FeatureSystem(family.features(indices)[0] * np.sqrt(theta))
        self.solution = replace(solve(problem, system), objective=123.0)
        self.weights = indices, theta

    def iterate(self, problem, family, rng):
        for k in (1, 2, 3):
            yield SimpleNamespace(
                k=k,
                solution=self.solution,
                certificate=Certificate(10.0**-k, 10.0**-k, "exact"),
                active=k,
                weights=self.weights,
                final=self.final,
                constants=None,
                memory=None,
            )


def test_a_final_state_is_taken_as_it_is(setting, rng):
    solver = Scripted(*setting, final=True)
    result = run(solver, *setting, rng, 100, 0.02)
    assert result.solution is solver.solution
    assert result.n_iter == 1
    assert result.converged
    assert result.certificate.relative == 0.01
    assert result.history["gap"] == [0.1, 0.01]
    assert result.history["active"] == [1, 2]
    assert result.constants is None
    assert result.indices == solver.weights[0]


def test_a_state_that_is_not_final_is_judged_anew(setting, rng):
    solver = Scripted(*setting, final=False)
    result = run(solver, *setting, rng, 100, 0.02)
    truth = solve(setting[0], system_of(setting[1], *solver.weights))
    assert result.solution.objective == pytest.approx(truth.objective)
    # The uniform weights are not optimal: the claimed gap is not confirmed, and the run goes on.
    assert result.n_iter == 2
    assert not result.converged
    assert result.certificate.relative > 0.02


def test_a_solver_that_ends_by_itself(setting, rng):
    result = run(Scripted(*setting, final=True), *setting, rng, 100, 1e-9)
    assert result.n_iter == 2
    assert not result.converged
    assert result.certificate.relative == 1e-3
