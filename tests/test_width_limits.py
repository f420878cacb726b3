"""Fits of kernels with widths that are stopped, and scikit-learn's conventions for such models."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from manykernels import MKLClassifier, MKLRegressor
from manykernels.fitting.progress import Progress
from manykernels.notices import InterruptedWarning
from manykernels.solvers import WidthSearch
from manykernels.solvers.widths.search import Stage

SHORT = WidthSearch((Stage(100, 1, 3),), 100)
"""One short round on a hundred rows: the checks fit some hundred models."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [kind(kernels="widths", solver=SHORT) for kind in (MKLRegressor, MKLClassifier)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def drawn(rng, rows=200):
    X = rng.uniform(-2, 2, size=(rows, 3))
    y = np.exp(-2 * (X[:, 0] ** 2 + X[:, 1] ** 2)) + np.sin(2 * X[:, 2])
    return X, y + 0.1 * rng.normal(size=rows)


def seen_states(monkeypatch, stop_at=None):
    """Return the numbers of the states that a fit comes by; at one it is interrupted."""
    states = []

    def noted(self, state, record):
        states.append((state.k, record["seconds"]))
        if state.k == stop_at:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", noted)
    return states


def test_interruption_gives_a_model_of_all_rows(rng, monkeypatch):
    X, y = drawn(rng)
    states = seen_states(monkeypatch, stop_at=1)
    with pytest.warns(InterruptedWarning, match="Interrupted after 0 iterations"):
        model = MKLRegressor(kernels="widths", random_state=0).fit(X, y)
    assert [k for k, _ in states] == [1]
    assert model.dual_coef_.shape == (len(X),)
    assert model.score(*drawn(rng)) > 0.5
    assert len(model.explain()) > 1


def test_interruption_before_the_first_round_is_passed_on(rng, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("manykernels.solvers.widths.search.nested_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        MKLRegressor(kernels="widths", random_state=0).fit(*drawn(rng, 30))


def test_no_round_begins_behind_the_time_limit(rng, monkeypatch):
    X, y = drawn(rng)
    states = seen_states(monkeypatch)
    solver = WidthSearch(tuple(Stage(rows, 1, 10) for rows in (100, 150, 200)), 100)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or max_time"):
        model = MKLRegressor(kernels="widths", solver=solver, max_time=1e-6, random_state=0).fit(
            X, y
        )
    assert [k for k, _ in states] == [0]  # kernels of equal widths are a model, too
    assert model.dual_coef_.shape == (len(X),)
    assert model.score(*drawn(rng)) > 0.8


def test_widths_that_cannot_be_learnt_in_max_memory_are_refused(rng):
    X, y = rng.normal(size=(1_000, 4)), rng.normal(size=1_000)
    with pytest.raises(ValueError, match="max_memory must be more than the 38 MB"):
        MKLRegressor(kernels="widths", max_memory="30MB").fit(X, y)
