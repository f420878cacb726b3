"""Which solver is chosen, and what is refused."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from checks import make_bases
from manykernels import MKLRegressor
from manykernels.bases import FeatureBlocks
from manykernels.families import ProductFamily
from manykernels.fitting.progress import Progress
from manykernels.losses import Squared
from manykernels.notices import InterruptedWarning
from manykernels.objective import Problem
from manykernels.solvers import FullPass, Greedy, MirrorDescent, WorkingSet, choose, costs


def problem_of(rows, p):
    return Problem(np.zeros((rows, 1)), np.full(rows, 1 / rows), Squared(), 1.0, p)


@pytest.mark.parametrize(
    ("columns", "degree", "p", "expected"),
    [
        (20, 3, 1.0, WorkingSet),
        (20, 3, 4 / 3, FullPass),
        (1000, 3, 1.0, WorkingSet),
        (1000, 3, 4 / 3, MirrorDescent),
        (1000, 6, 1.0, MirrorDescent),
        (60, 30, 1.2, MirrorDescent),
    ],
)
def test_the_cheapest_that_ends_is_chosen(columns, degree, p, expected, rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(50, columns))), degree)
    assert type(choose("auto", problem_of(50, p), family)) is expected


@pytest.mark.parametrize("representation", ["columns", "blocks", "grams"])
def test_names(representation, rng):
    family = ProductFamily(make_bases(representation, rng), 2)
    for name, kind in (
        ("working-set", WorkingSet),
        ("full-pass", FullPass),
        ("mirror-descent", MirrorDescent),
        ("greedy", Greedy),
    ):
        assert type(choose(name, problem_of(12, 4 / 3), family)) is kind


@pytest.mark.parametrize("name", ["working-set", "full-pass", "greedy"])
def test_families_that_cannot_be_priced_are_refused(name, rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(50, 1000))), 9)
    with pytest.raises(ValueError, match=r"needs a family .* kernels on 50 rows"):
        choose(name, problem_of(50, 1.0), family)


def test_costs_count_multiplications(rng):
    """Of kernels with features: n each to price, n min(n, m) in a pass."""
    family = ProductFamily(FeatureBlocks(rng.normal(size=(50, 10))), 2)
    cost = costs(family, 3)
    assert cost.pricing == 3 * 50 * 66
    assert cost.full_pass == 50 * 66 * 50
    assert "one pricing 9.9e+03" in str(cost)


@pytest.mark.parametrize("representation", ["linear", "spline", "rbf"])
@pytest.mark.parametrize(("p", "solver"), [(1, "working-set"), (1.2, "full-pass")])
def test_solvers_by_name_reach_the_same_optimum(representation, p, solver, rng):
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60)
    settings = {"kernels": representation, "degree": 2, "p": p, "alpha": 0.02, "random_state": 0}
    settings["standardize_terms"] = False  # mirror descent takes kernels as they are
    best = MKLRegressor(solver=solver, tol=1e-5, **settings).fit(X, y)
    slow = MKLRegressor(solver="mirror-descent", tol=0.02, **settings).fit(X, y)
    assert best.gap_ <= 1e-5
    assert best.gap_kind_ == "exact"
    assert best.objective_ <= slow.objective_ <= best.objective_ * 1.03


@pytest.mark.parametrize("how", ["interrupt", "time"])
@pytest.mark.parametrize(
    ("solver", "p"), [("working-set", 1), ("full-pass", 4 / 3), ("mirror-descent", 4 / 3)]
)
def test_a_fit_cut_short_is_a_model_with_its_gap(solver, p, how, rng, monkeypatch):
    X = rng.normal(size=(80, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=80)
    settings = {"solver": solver, "p": p, "alpha": 1e-4, "tol": 1e-12, "random_state": 0}
    if how == "interrupt":

        def interrupt(self, state, record):
            if state.k == 3:
                raise KeyboardInterrupt

        monkeypatch.setattr(Progress, "__call__", interrupt)
        model = MKLRegressor(**settings)
        kind = InterruptedWarning
    else:
        model, kind = MKLRegressor(max_time=1e-6, **settings), ConvergenceWarning
    with pytest.warns(kind):
        model.fit(X, y)
    monkeypatch.undo()
    assert 0 < model.gap_ < np.inf
    # The gap belongs to the very model that predicts.
    best = MKLRegressor(**{**settings, "solver": "auto", "tol": 1e-6}).fit(X, y)
    assert best.objective_ <= model.objective_ * (1 + 1e-9)
    assert model.objective_ * (1 - model.gap_) <= best.objective_ * (1 + 1e-6)
    residual = np.mean((y - model.predict(X)) ** 2) / 2
    assert residual <= model.objective_
