"""Every solver, by name and as an object: refused in words, or right by a conic solver."""

import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from checks import LOSSES, conic_minimum, make_bases
from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV, load
from manykernels.bases import FeatureBlocks
from manykernels.families import Monomials, ProductFamily
from manykernels.limits import DUAL_WORK
from manykernels.losses import SmoothLoss, Squared
from manykernels.notices import SlowWarning
from manykernels.objective import Problem
from manykernels.potentials import Entropy, PowerNorm
from manykernels.solvers import (
    NAMES,
    ClosedForm,
    DecreasingStep,
    FullPass,
    Greedy,
    MirrorDescent,
    Needs,
    TheoremStep,
    UniformSampler,
    WorkingSet,
    costs,
    describe,
    match,
    refuse_needs,
    run,
)

EXPONENTS = [1.0, 1.1, 4 / 3, 1.7, 2.0]
SOLVERS = [
    WorkingSet(),
    WorkingSet(batch=1),
    FullPass(),
    FullPass(memory=0),
    ClosedForm(),
    Greedy(),
    Greedy(terms=3, pool=1),
    MirrorDescent(),
    MirrorDescent(draws=1, average=True),
    MirrorDescent(known=5, sampler=UniformSampler()),
    MirrorDescent(step=DecreasingStep()),
    MirrorDescent(step=TheoremStep(15)),
    MirrorDescent(potential=PowerNorm(2)),
    MirrorDescent(potential=Entropy()),
]
RIGHT = {
    WorkingSet: lambda p: p == 1,
    FullPass: lambda p: 1 < p < 2,
    MirrorDescent: lambda p: p < 2,
    ClosedForm: lambda p: p == 2,
    Greedy: lambda p: True,
}
WORDS = {
    WorkingSet: "needs p = 1; got p=",
    FullPass: r"needs 1 < p < 2 \(p = 2 has a closed form\); got p=",
    MirrorDescent: r"needs p < 2 \(p = 2 has a closed form\); got p=",
    ClosedForm: "needs p = 2; got p=",
}
TOL = 1e-4


def name(loss):
    return type(loss).__name__


@cache
def setting(number, p):
    """Return a small problem, its family and the minimum that a conic solver finds."""
    loss, rng = LOSSES[number], np.random.default_rng(number)
    X = rng.normal(size=(14, 4))
    family = ProductFamily(FeatureBlocks(X), 2, Monomials())
    y = X[:, :1] * X[:, 1:2] + X[:, 2:3] + 0.5 * rng.normal(size=(14, 1))
    y = np.where(y > 0, 1.0, -1.0) if loss.classification else y
    weights = rng.uniform(0.5, 2.0, size=14)
    problem = Problem(y, weights / weights.sum(), loss, 0.05, p, intercept=number % 2 == 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        warnings.filterwarnings("ignore", "pnorm with p")
        return problem, family, conic_minimum(problem, *family.features(family.indices()))[0]


def answer(asked, problem, family):
    """Return what a solver finds within a few steps."""
    solver = match(asked, problem, family)
    steps = 15 if isinstance(solver, MirrorDescent) else 60
    return run(solver, problem, family, np.random.default_rng(0), steps, TOL)


def confirmed(result, problem, optimum):
    """Assert that the gap of a result bounds its distance to the minimum."""
    slack = 1e-5 * optimum + 1e-8
    distance = result.solution.objective - optimum
    assert result.certificate.kind == "exact"
    assert -slack <= distance <= result.certificate.gap + slack
    # The objective is that of the predictor, whatever the solver says of it.
    assert problem.risk(result.solution.fitted) <= result.solution.objective


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("number", range(len(LOSSES)), ids=lambda i: name(LOSSES[i]))
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_solver_is_refused_or_right(solver, number, p):
    problem, family, optimum = setting(number, p)
    kind, smooth = type(solver), isinstance(problem.loss, SmoothLoss)
    if not RIGHT[kind](p):
        with pytest.raises(ValueError, match=rf"^solver={kind.__name__}\(\) {WORDS[kind]}"):
            match(solver, problem, family)
    elif kind is Greedy and not smooth:
        with pytest.raises(ValueError, match=f"loss must be smooth .* got {name(problem.loss)}"):
            match(solver, problem, family)
    elif kind is Greedy:
        result = answer(solver, problem, family)
        assert result.certificate.kind == "none"
        assert np.isnan(result.certificate.gap)
        assert np.isnan(result.certificate.relative)
    else:
        assert match(solver, problem, family) is solver
        result = answer(solver, problem, family)
        confirmed(result, problem, optimum)
        if kind is not MirrorDescent and solver != FullPass(memory=0):
            assert result.converged


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("number", range(len(LOSSES)), ids=lambda i: name(LOSSES[i]))
def test_auto_is_never_refused_and_right(number, p):
    problem, family, optimum = setting(number, p)
    result = answer("auto", problem, family)
    confirmed(result, problem, optimum)
    assert result.converged


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("asked", NAMES[1:])
def test_names_are_treated_as_objects_are(asked, p):
    problem, family, _ = setting(0, p)
    kinds = {
        "working-set": WorkingSet,
        "full-pass": FullPass,
        "mirror-descent": MirrorDescent,
        "greedy": Greedy,
    }
    if RIGHT[kinds[asked]](p):
        assert type(match(asked, problem, family)) is kinds[asked]
        refuse_needs(asked, p, problem.loss)
        return
    for refuse in (lambda: match(asked, problem, family), lambda: refuse_needs(asked, p)):
        with pytest.raises(ValueError, match=f"^solver='{asked}' {WORDS[kinds[asked]]}"):
            refuse()


def test_what_is_said_of_objects():
    said = "solver=WorkingSet() needs p = 1; got p=1.33333. Use solver='auto'."
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        refuse_needs(WorkingSet(batch=3), 4 / 3)


@pytest.mark.parametrize(
    "solver", [WorkingSet(), FullPass(), Greedy(), MirrorDescent(potential=Entropy())], ids=str
)
def test_objects_cost_what_names_do(solver, rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(50, 1000))), 9)
    p = 1.0 if RIGHT[type(solver)](1.0) else 4 / 3
    problem = Problem(np.zeros((50, 1)), np.full(50, 1 / 50), Squared(), 1.0, p)
    with pytest.raises(ValueError, match=r"\(\) needs a family .* kernels on 50 rows"):
        match(solver, problem, family)
    sampling = MirrorDescent()
    assert match(sampling, problem, family) is sampling


@pytest.mark.parametrize("asked", ["greedy", Greedy()])
def test_greedy_selection_needs_features(asked, rng):
    family = ProductFamily(make_bases("grams", rng), 2)
    problem = Problem(np.zeros((12, 1)), np.full(12, 1 / 12), Squared(), 1.0, 1.0)
    with pytest.raises(ValueError, match="greedy selection needs kernels with features"):
        match(asked, problem, family)


class Own:
    """A solver of somebody else's, which does not say what it needs."""

    iterate = FullPass.iterate


def test_a_solver_that_says_nothing_needs_nothing():
    solver = Own()
    for p in EXPONENTS:
        problem, family, _ = setting(0, p)
        assert match(solver, problem, family) is solver
    assert Needs().p(1.5)


def test_the_closed_form_is_a_solver(rng):
    problem, family, _ = setting(0, 2.0)
    assert match("auto", problem, family) == ClosedForm()
    assert describe(ClosedForm(), problem, family).startswith("ClosedForm for p = 2: one pricing")
    result = answer("auto", problem, family)
    assert result.closed  # 15 features on 14 rows
    assert result.n_iter == 1
    assert result.history["iteration"] == [0]
    assert result.history["active"] == [15.0]
    np.testing.assert_array_equal(result.theta, 1.0)


# Estimators


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=60)


@pytest.mark.parametrize(
    ("p", "solver", "words"),
    [
        (4 / 3, WorkingSet(), r"solver=WorkingSet\(\) needs p = 1; got p=1\.33"),
        (2, WorkingSet(), r"solver=WorkingSet\(\) needs p = 1; got p=2"),
        (2, MirrorDescent(), r"solver=MirrorDescent\(\) needs p < 2"),
        (2, FullPass(), r"solver=FullPass\(\) needs 1 < p < 2"),
        (1, FullPass(), r"solver=FullPass\(\) needs 1 < p < 2"),
        (1, ClosedForm(), r"solver=ClosedForm\(\) needs p = 2"),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", [MKLRegressor, MKLRegressorCV])
def test_estimators_refuse_objects_as_they_refuse_names(estimator, p, solver, words, rows):
    """An objective 22 % above the optimum was certified; folds and final fit disagreed."""
    with pytest.raises(ValueError, match=words):
        estimator(p=p, solver=solver, degree=2).fit(*rows)


def test_a_list_of_exponents_is_refused_for_one_of_them(rows):
    with pytest.raises(ValueError, match=r"MirrorDescent\(\) needs p < 2"):
        MKLRegressorCV(p=[1, 2], solver=MirrorDescent()).fit(*rows)


def test_kinked_losses_are_refused_for_greedy_selection(rows):
    X, y = rows
    with pytest.raises(ValueError, match="loss must be smooth"):
        MKLClassifierCV(loss="hinge", solver=Greedy(), degree=1).fit(X, y > 0)


@pytest.mark.parametrize(
    ("p", "solver"),
    [
        (1, WorkingSet(batch=1)),
        (4 / 3, FullPass(memory=2)),
        (1.7, MirrorDescent()),
        (2, ClosedForm()),
    ],
    ids=str,
)
def test_estimators_with_the_right_object_reach_the_optimum(p, solver, rows):
    settings = {"degree": 2, "p": p, "alpha": 0.1, "random_state": 0}
    best = MKLRegressor(tol=1e-8, **settings).fit(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MKLRegressor(solver=solver, max_iter=300, **settings).fit(*rows)
    assert model.gap_kind_ == "exact"
    slack = 1e-7 * best.objective_
    distance = model.objective_ - best.objective_
    assert -slack <= distance <= model.gap_ * model.objective_ + slack


@pytest.mark.parametrize("solver", ["auto", ClosedForm()], ids=str)
def test_the_closed_form_in_folds_and_in_the_final_fit(solver, rows, tmp_path):
    model = MKLRegressorCV(p=2, degree=2, solver=solver, n_alphas=5, cv=2).fit(*rows)
    assert model.n_iter_ == 1
    assert model.gap_ < 1e-8
    single = MKLRegressor(p=2, degree=2, alpha=model.alpha_).fit(*rows)
    np.testing.assert_allclose(model.predict(rows[0]), single.predict(rows[0]))
    again = load(model.save(tmp_path / "model.mk"))
    assert again.solver == solver
    np.testing.assert_array_equal(again.predict(rows[0]), model.predict(rows[0]))


@pytest.mark.parametrize(
    ("lacking", "p", "solvers"),
    [
        ("listable", 4 / 3, ["full-pass", FullPass()]),
        ("priceable", 1.0, ["working-set", WorkingSet(), "greedy", Greedy(3)]),
        ("drawable", 4 / 3, ["mirror-descent", MirrorDescent()]),
        ("summable", 2.0, ["auto", ClosedForm()]),
    ],
)
def test_families_that_cannot_do_what_a_solver_needs_are_refused(lacking, p, solvers, rng):
    class Unable(ProductFamily):
        pass

    setattr(Unable, lacking, False)
    X = rng.normal(size=(20, 3))
    family = Unable(FeatureBlocks(X), 2)
    problem = Problem(rng.normal(size=(20, 1)), np.full(20, 1 / 20), Squared(), 0.1, p)
    for solver in solvers:
        with pytest.raises(ValueError, match=r"kernels can be .*; those of Unable cannot"):
            match(solver, problem, family)
    if lacking == "listable":  # found by pricing, or drawn, without a list
        assert isinstance(match("auto", replace(problem, p=1.0), family), WorkingSet)
        assert isinstance(match("auto", problem, family), MirrorDescent)


def test_a_solver_that_takes_minutes_for_a_step_says_so_before():
    X = np.random.default_rng(0).normal(size=(200, 2_000))
    problem = Problem(X[:, :1], np.full(200, 1 / 200), Squared(), 1.0, 1.0, True)
    family = ProductFamily(FeatureBlocks(X), 3, Monomials())
    with pytest.warns(SlowWarning, match=r"1\.34e\+09 kernels on 200 rows .* smaller degree"):
        match("greedy", problem, family)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match("greedy", problem, ProductFamily(FeatureBlocks(X), 2, Monomials()))


def test_many_rows_of_few_kernels_need_no_matrix_of_all_rows(rng):
    bases = FeatureBlocks(rng.normal(size=(60_000, 30)))
    family = ProductFamily(bases, 2)
    y = np.ones((60_000, 1))
    problem = Problem(y, np.full(60_000, 1 / 60_000), Squared(), 1e-3, 4 / 3)
    assert costs(family, 1).full_pass > DUAL_WORK
    assert isinstance(match("auto", problem, family), FullPass)
