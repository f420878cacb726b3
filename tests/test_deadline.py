"""``max_time`` is that of a whole call, and every long loop looks at it."""

import pickle
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV, deadline
from manykernels.baselines import HierarchicalKernelLearning, LpNormMKL, hierarchy
from manykernels.bases import SHAPES, TERMS, FeatureBlocks, TermRows, WidthRows
from manykernels.deadline import NEVER, Deadline, OutOfTimeError
from manykernels.families import ProductFamily, products
from manykernels.function.importance import measure
from manykernels.limits import SIDE_ENTRIES
from manykernels.losses import Logistic, Squared
from manykernels.objective import Problem
from manykernels.solvers import loop


class Clock:
    """A clock that goes on by a step each time somebody looks at it."""

    def __init__(self, step):
        self.step, self.time = step, 100.0

    def __call__(self):
        self.time += self.step
        return self.time


@pytest.fixture
def clock(monkeypatch):
    own = Clock(0.02)
    monkeypatch.setattr(deadline, "now", own)
    return own


def drawn(rng, rows, columns):
    X = rng.normal(size=(rows, columns))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=rows)


def test_the_narrower_of_two_limits_holds(clock):
    clock.step = 0.0
    assert deadline.current() is NEVER
    deadline.check()
    with deadline.allowed(10.0) as outer:
        assert (outer.over, outer.last) == (110.0, pytest.approx(110.6))
        with deadline.allowed(100.0) as same:
            assert same == outer
        with deadline.allowed(2.0) as inner:
            assert inner == Deadline(10.0, 102.0, pytest.approx(102.6))
        with deadline.allowed(None) as none:
            assert none == outer
        clock.time = 110.3
        deadline.check()
        with deadline.strictly(), pytest.raises(OutOfTimeError, match=r"max_time .* got 10 sec"):
            deadline.check()
        clock.time = 110.7
        with pytest.raises(TimeoutError, match="Use a larger max_time"):
            deadline.check()
    assert deadline.current() is NEVER
    deadline.check()


def test_a_part_leaves_time_for_the_rest(clock):
    clock.step = 0.0
    with deadline.allowed(10.0) as whole:
        part = whole.part(0.5)
        assert (part.over, part.last) == (105.0, pytest.approx(107.8))
        assert whole.sooner(0.5) == Deadline(10.0, 105.0, whole.last)
        assert not part.passed
        assert (whole.left, NEVER.left) == (10.0, np.inf)
    assert NEVER.part(0.5) is NEVER
    assert not NEVER.passed


def test_the_error_goes_between_processes():
    again = pickle.loads(pickle.dumps(OutOfTimeError(3.0)))
    assert str(again) == str(OutOfTimeError(3.0))


CASES = {
    "powers of columns": (MKLRegressor(degree=50, max_time=1), 40, 4),
    "powers, p = 1": (MKLRegressor(degree=50, p=1, max_time=1), 40, 4),
    "powers, p = 2": (MKLRegressor(degree=50, p=2, max_time=1), 40, 4),
    "powers of a matrix": (MKLRegressor(kernels="rbf", degree=300, max_time=1), 30, 4),
    "many columns": (MKLRegressor(degree=2, max_time=1), 30, 3000),
    "many columns, p = 1": (MKLRegressor(degree=2, p=1, max_time=1), 30, 3000),
    "functions of columns": (MKLRegressor(kernels="auto", degree=3, max_time=1), 40, 10),
    "cross-validation": (MKLRegressorCV(degree=3, max_time=1), 60, 100),
    "greedy": (MKLRegressor(degree=3, solver="greedy", max_time=1), 60, 200),
    "greedy, cross-validated": (MKLRegressorCV(degree=3, solver="greedy", max_time=1), 60, 200),
    "widths": (MKLRegressor(kernels="widths", max_time=1), 100, 6),
    "the best kernels": (MKLRegressorCV(kernels="best", max_time=1), 60, 4),
    "both kernels": (MKLRegressorCV(kernels="both", max_time=1), 60, 4),
    "every kernel": (LpNormMKL(degree=6, max_time=1), 40, 6),
    "hierarchical": (HierarchicalKernelLearning(max_time=1), 40, 6),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_a_fit_ends_in_time(case, clock, rng):
    """By a clock of looks: what looks at it too seldom takes long, what goes on is behind it."""
    model, rows, columns = CASES[case]
    X, y = drawn(rng, rows, columns)
    began, work = clock.time, time.process_time()
    try:
        assert np.all(np.isfinite(model.fit(X, y).predict(X)))
    except OutOfTimeError as error:
        assert "got 1 seconds" in str(error)  # noqa: PT017
    assert clock.time - began < 2.0 + 0.2
    assert time.process_time() - work < 20


def test_a_certificate_leaves_time_for_the_model(clock, rng):
    """Draws for the gap are cut before what there would be no model without."""
    clock.step = 5e-4
    X, y = drawn(rng, 40, 300)
    model = MKLRegressor(degree=4, solver="mirror-descent", max_time=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Stopped after"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert len(model.terms_)


@pytest.mark.parametrize("estimator", [MKLRegressorCV, MKLClassifierCV])
def test_a_choice_cut_short_says_what_it_rests_on(estimator, clock, rng):
    X, y = drawn(rng, 60, 5)
    y = y if estimator is MKLRegressorCV else y > 0
    model = estimator(degree=2, p=1, tol=1e-6, max_time=20, n_alphas=30, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"Stopped by max_time=20: the choice rests on"):
        model.fit(X, y)
    known = np.isfinite(model.score_path_)
    assert known.any()
    assert not known.all()
    assert np.all(np.isfinite(model.predict(X).astype(float)))


@pytest.mark.filterwarnings("ignore")
def test_a_kind_that_is_cut_short_does_not_end_the_comparison(clock, rng):
    X, y = drawn(rng, 60, 4)
    model = MKLRegressor(max_time=20, random_state=0).fit(X, y)  # not all strengths of ridge
    for kind in ("ridge", "monomials", "greedy", "auto", "widths"):
        assert kind in model.kernels_losses_ or f"'{kind}' was not" in model.chosen_
    assert len(model.kernels_losses_) > 2
    assert model.kernels_ != "ridge"


def test_no_limit_no_look_at_the_clock(monkeypatch, rng):
    def look():
        raise AssertionError

    monkeypatch.setattr(deadline, "now", look)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MKLRegressorCV(degree=2, p=1, n_alphas=3, cv=2).fit(*drawn(rng, 40, 4))


def test_the_first_strength_of_families_too_large_to_price_comes_from_draws(rng, monkeypatch):
    """Pricing products of nine columns would hold gigabytes: nobody asked for that."""
    family = ProductFamily(FeatureBlocks(rng.normal(size=(60, 120)), [2] * 60), 9)
    assert loop.costs(family, 1).pricing == np.inf
    small = ProductFamily(FeatureBlocks(rng.normal(size=(20, 8)), [2] * 4), 3)
    y = rng.normal(size=(20, 1))
    problem = Problem(y, np.full(20, 1 / 20), Squared(), 1.0, 1.0, True)
    exact = loop.at_no_effect(problem, small, rng)
    monkeypatch.setattr("manykernels.solvers.cost_model.SIDE_ENTRIES", 0)
    risk, norm = loop.at_no_effect(problem, small, rng)
    assert risk == exact[0]
    assert 0 < norm <= exact[1] * (1 + 1e-9)
    assert SIDE_ENTRIES > 0


def test_products_that_do_not_fit_in_memory_are_refused(rng):
    X, y = drawn(rng, 60, 12)
    with pytest.raises(ValueError, match=r"degree must be such that .* Use a smaller degree"):
        MKLRegressor(kernels="spline", degree=12, max_memory="2GB").fit(X, y)


WIDTHS = (0, 1), (1.0, 1.0)


@pytest.mark.parametrize("kernel", [TERMS, *((shape, *WIDTHS) for shape in SHAPES)])
def test_kernels_of_many_rows_look_at_the_clock(clock, rng, kernel):
    """A matrix of all pairs of rows is made a block at a time; its time is over within one."""
    X = rng.normal(size=(1_000, 3))
    terms = TermRows(FeatureBlocks(X, [1, 1, 1]), [(0,), (0, 1), (2,)], np.ones(3))
    with deadline.allowed(0.01), deadline.strictly(), pytest.raises(OutOfTimeError):
        WidthRows(X, terms=terms).kernel(kernel)


@pytest.mark.parametrize("kind", ["rbf", "widths"])
def test_kernels_of_many_columns_look_at_the_clock(clock, rng, kind):
    """Matrices and scales are made column by column; a second is over after fifty looks."""
    X, y = drawn(rng, 20, 300)
    with pytest.raises(TimeoutError, match="max_time"):
        MKLRegressor(kernels=kind, degree=1, alpha=1e-3, max_time=1).fit(X, y)
    assert clock.time < 100 + 3


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_there_is_no_loss_without_terms_where_time_is_over(clock, rng, loss):
    parts, y = rng.normal(size=(30, 40)), np.sign(rng.normal(size=(30, 1)))
    fitted = parts.sum(axis=1, keepdims=True) / 40
    problem = Problem(y, np.full(30, 1 / 30), loss, 1e-3, 1.0, True)

    given = [column[:, None] / 40 for column in parts.T], 40, fitted, problem
    spreads, losses = measure(*given)
    assert np.isfinite(losses).all()
    with deadline.allowed(0.01):
        assert measure(*given)[1] is None
        np.testing.assert_array_equal(measure(*given)[0], spreads)


def test_listing_looks_at_the_clock(clock, rng, monkeypatch):
    """Millions of products of 400 columns took eight seconds to list, whatever the limit."""
    monkeypatch.setattr(products, "LIST_BLOCK", 10)
    monkeypatch.setattr(hierarchy, "LIST_BLOCK", 10)
    X, y = drawn(rng, 30, 20)
    with pytest.raises(TimeoutError, match="max_time"):
        HierarchicalKernelLearning(total_degree=3, max_time=1).fit(X, y)
    assert clock.time < 100 + 3
    family = ProductFamily(FeatureBlocks(X[:, :9], [1] * 9), 3)
    assert family.indices() == [tuple(row) for table in family.tables for row in table.tolist()]
