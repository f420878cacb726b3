"""Fits to growing subsets of the rows on the way to all rows: subsample="auto"."""

import numpy as np
import pytest
from sklearn.base import clone

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.notices import InterruptedWarning
from manykernels.solvers import Greedy, nested
from manykernels.solvers.dual_newton import DualNewton

ROWS = 200


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(nested, "FEWEST_ROWS", 12)


@pytest.fixture
def sizes(monkeypatch):
    """The numbers of rows of the runs on the way, in the order in which they began."""
    seen, real = [], nested.run

    def noted(solver, problem, *arguments, **options):
        seen.append(len(problem.y))
        return real(solver, problem, *arguments, **options)

    monkeypatch.setattr(nested, "run", noted)
    return seen


def drawn(rng, rows=ROWS):
    X = rng.uniform(-1, 1, size=(rows, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=rows)
    return X, y


SETTINGS = {
    "working set": MKLRegressor(alpha=1e-3, degree=2, p=1),
    "working set of splines": MKLRegressor(alpha=1e-3, kernels="auto", degree=2, p=1),
    "working set of classes": MKLClassifier(alpha=1e-3, kernels="auto", degree=1, p=1),
    "working set of matrices": MKLRegressor(alpha=1e-3, kernels="rbf", degree=2, p=1),
    "working set, a loss with kinks": MKLRegressor(
        alpha=1e-3, degree=1, p=1, loss="epsilon_insensitive"
    ),
    "full pass": MKLRegressor(alpha=1e-3, degree=2),
    "full pass of matrices": MKLClassifier(alpha=1e-3, kernels="rbf", degree=1),
    "full pass, cells of widths": MKLRegressor(kernels="widths", degree=1, p=4 / 3),
    "mirror descent": MKLRegressor(alpha=1e-3, degree=2, solver="mirror-descent", max_iter=5000),
    "mirror descent, p = 1": MKLRegressor(
        alpha=1e-3, degree=1, p=1, solver="mirror-descent", tol=0.05
    ),
    "Newton in the dual": MKLRegressor(alpha=1e-3, degree=2, solver=DualNewton()),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_answer_is_that_of_all_rows(name, rng, sizes):
    X, y = drawn(rng)
    plain = clone(SETTINGS[name]).set_params(alpha=1e-2, random_state=0)
    target = np.digitize(y, [-0.3, 0.3]) if isinstance(plain, MKLClassifier) else y
    model = clone(plain).set_params(subsample="auto").fit(X, target)
    assert sizes == [12, 50, 200]
    assert model.gap_ <= model.tol
    # The gap is of all rows: it holds against the optimum of a fit that knows no subsets.
    exact = clone(plain).set_params(tol=1e-4)
    if plain.solver == "mirror-descent":
        exact.set_params(solver="auto")
    exact.fit(X, target)
    assert exact.objective_ * (1 - exact.gap_) <= model.objective_ * (1 + 1e-9)
    assert model.objective_ * (1 - model.gap_) <= exact.objective_ * (1 + 1e-9)
    assert model.dual_coef_.shape[-1] == ROWS
    assert model.history_["iteration"][0] == 0
    assert np.all(np.diff(model.history_["seconds"]) >= 0)


def test_a_fine_tolerance_gives_the_same_model(rng):
    X, y = drawn(rng)
    for settings in ({"kernels": "auto", "p": 1}, {"p": 4 / 3}):
        plain = MKLRegressor(degree=2, alpha=1e-2, tol=1e-10, **settings).fit(X, y)
        model = clone(plain).set_params(subsample="auto").fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-4)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-8)


def test_subsets_are_solved_to_their_own_accuracy(rng, monkeypatch):
    goals, real = [], nested.run

    def noted(solver, problem, family, rng, max_iter, tol, *rest, **options):
        goals.append((len(problem.y), tol, problem.strength * len(problem.y)))
        return real(solver, problem, family, rng, max_iter, tol, *rest, **options)

    monkeypatch.setattr(nested, "run", noted)
    MKLRegressor(degree=2, alpha=1e-2, tol=1e-6, subsample="auto").fit(*drawn(rng))
    np.testing.assert_allclose(goals, [(12, 1 / 12, 2), (50, 1 / 50, 2), (200, 1e-6, 2)])


def test_few_rows_have_no_subsets(rng, sizes):
    X, y = drawn(rng, 40)
    model = MKLRegressor(degree=2, alpha=1e-2, subsample="auto", random_state=0).fit(X, y)
    assert sizes == [40]
    plain = clone(model).set_params(subsample=None).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_weights_and_a_class_that_subsets_lack(rng, sizes):
    X, _ = drawn(rng)
    target = np.zeros(ROWS, dtype=int)
    target[:2] = 1
    weights = rng.uniform(size=ROWS)
    weights[5:10] = 0
    model = MKLClassifier(degree=1, p=1, alpha=1e-2, subsample="auto", random_state=0)
    model.fit(X, target, weights)
    assert sizes[-1] == ROWS - 5
    plain = clone(model).set_params(subsample=None).fit(X, target, weights)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2 * model.tol)


def test_folds_have_no_subsets_but_the_fit_to_all_rows_has(rng, sizes):
    X, y = drawn(rng)
    model = MKLRegressorCV(degree=2, n_alphas=4, cv=2, subsample="auto", random_state=0).fit(X, y)
    assert sizes == [12, 50, 200]
    plain = clone(model).set_params(subsample=None).fit(X, y)
    assert model.alpha_ == plain.alpha_
    assert model.objective_ == pytest.approx(plain.objective_, rel=2 * model.tol)


def test_interruption_on_a_subset_gives_a_model_of_all_rows(rng, monkeypatch):
    real, calls = nested.run, []

    def stop(state, record):
        raise KeyboardInterrupt

    def interrupted(solver, problem, *arguments, **options):
        calls.append(len(problem.y))
        if len(calls) == 2 and "callback" not in options:
            arguments = (*arguments[:5], stop, *arguments[6:])
        return real(solver, problem, *arguments, **options)

    monkeypatch.setattr(nested, "run", interrupted)
    X, y = drawn(rng)
    model = MKLRegressor(degree=2, p=1, alpha=1e-3, tol=1e-9, subsample="auto")
    with pytest.warns(InterruptedWarning, match="Interrupted after 0 iterations"):
        model.fit(X, y)
    assert calls == [12, 50, 200]
    assert model.dual_coef_.shape == (ROWS,)
    assert 0 < model.gap_ < np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_seconds_count_from_the_first_subset(rng, sizes):
    X, y = drawn(rng)
    model = MKLRegressor(degree=2, alpha=1e-3, tol=1e-12, max_time=1e-9, subsample="auto")
    model.fit(X, y)
    assert sizes == [200]
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernels": "widths"}, "subsample must be None for kernels with free widths"),
        ({"kernels": "both"}, "subsample must be None for kernels with free widths"),
        ({"solver": "greedy"}, "subsample must be None for greedy selection"),
        ({"solver": Greedy(3)}, "subsample must be None for greedy selection"),
        ({"p": 2}, "subsample must be None for p=2"),
    ],
    ids=str,
)
def test_what_needs_no_subsets_is_refused_in_words(settings, words, rng):
    X, y = drawn(rng, 30)
    with pytest.raises(ValueError, match=words):
        MKLRegressor(**settings, subsample="auto").fit(X, y)


def test_other_values_solvers_and_rows_are_refused_in_words(rng):
    class Plain:
        def iterate(self, problem, family, rng):
            raise AssertionError

    X, y = drawn(rng, 30)
    for wrong in (True, 0.5, "half"):
        with pytest.raises(ValueError, match="subsample must be one of None, 'auto'"):
            MKLClassifierCV(subsample=wrong).fit(X, y > 0)
    with pytest.raises(ValueError, match="which cannot start from another model"):
        MKLRegressor(alpha=1e-3, solver=Plain(), subsample="auto").fit(X, y)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="X must be in memory for subsample='auto'"):
        MKLRegressor(alpha=1e-3, subsample="auto").fit(dask.from_array(X), dask.from_array(y))
