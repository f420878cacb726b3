"""Nothing set: which kind of model is chosen, and what is said of it."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manykernels import (
    MKLClassifier,
    MKLClassifierCV,
    MKLRegressor,
    MKLRegressorCV,
    TableEncoder,
    load,
)
from manykernels.deadline import OutOfTimeError
from manykernels.fitting import alternatives
from manykernels.fitting.alternatives import affordable
from manykernels.fitting.crossval import crossval
from manykernels.limits import PLAIN_STRENGTH
from manykernels.notices import named_as_options
from manykernels.rows import refusals
from manykernels.spec import affordable_degree
from manykernels.specify import kernels_of, specify


@pytest.mark.parametrize(
    ("settings", "kernels"),
    [
        ({}, "best"),
        ({"random_state": 0, "verbose": 0, "tol": 0.1, "max_time": 9.0}, "best"),
        ({"degree": 2}, "linear"),
        ({"alpha": 1.0}, "linear"),
        ({"p": 1}, "linear"),
        ({"solver": "greedy"}, "linear"),
        ({"standardize": "scale"}, "linear"),
        ({"rho": [1.0, 1.0]}, "linear"),
        ({"kernels": "auto", "degree": 2}, "auto"),
    ],
)
def test_anything_said_about_the_problem_makes_kernels_linear(settings, kernels):
    assert kernels_of(MKLRegressor(**settings)) == kernels


def test_the_simplest_comes_first_and_only_what_fits_is_tried():
    def names(estimator):
        return [one.label for one in specify(estimator, False).alternatives]

    everything = ["ridge", "monomials", "greedy", "auto", "widths", "both"]
    assert names(MKLRegressor()) == names(MKLRegressorCV()) == everything
    assert names(MKLRegressor(kernels="best", p=4 / 3)) == ["monomials", "auto"]
    assert "widths" not in names(MKLRegressor(loss="epsilon_insensitive"))
    assert names(MKLRegressorCV(kernels="best", debias=True)) == ["monomials", "auto"]


class Table:
    """As much of rows as the planning of a fit asks for."""

    in_memory, count = True, 30

    def __init__(self, columns):
        self.names, self.X = ["x"] * columns, np.zeros((1, 1))


def test_what_would_take_long_is_left_out_and_said():
    spec = specify(MKLRegressor(max_time=300.0), False)
    whole, notes = affordable(spec, Table(10), 1000)
    assert [one.label for one in whole][-1] == "both"
    assert notes == []
    tall, notes = affordable(spec, Table(10), 300_000)
    assert [one.label for one in tall] == ["ridge", "monomials", "greedy", "auto"]
    assert "300,000 rows" in notes[0]
    wide, notes = affordable(spec, Table(2_000), 200)
    assert "widths" not in [one.label for one in wide]
    assert "2,000 columns" in notes[0]
    few, _ = affordable(spec, Table(3), 30)
    assert [one.label for one in few] == ["ridge", "monomials", "greedy"]


def test_greedy_selection_is_said_to_be_left_out_of_tables_with_categories_or_gaps():
    table = pd.DataFrame({"a": np.cos(np.arange(50)), "b": np.sin(np.arange(50))})
    for column in (["x", "y"] * 25, [True, False] * 25, [None, *np.sin(range(49))]):
        model = MKLRegressor()
        model.encoder_ = TableEncoder().fit(table.assign(c=column))
        _, notes = affordable(specify(model, False), Table(10), 1000)
        said = "'greedy' was not tried: it takes numbers only, no categories, week days or gaps"
        assert said in notes
    _, notes = affordable(specify(MKLRegressor(), False), Table(10), 1000)
    assert not any("greedy" in note for note in notes)


def answers(rng, size=160):
    """Return a table of categories, and targets that three of them decide together.

    Functions of two columns explain nothing of them.
    """
    frame = pd.DataFrame({name: rng.choice(["no", "yes"], size) for name in "abcd"})
    yes = (frame[["a", "b", "c"]] == "yes").sum(axis=1)
    return frame, 2.0 * (yes % 2) + 0.3 * rng.normal(size=size)


@pytest.mark.parametrize("cv", [False, True])
def test_kinds_are_compared_where_all_columns_are_categories(rng, cv):
    X, y = answers(rng)
    kind = MKLRegressorCV if cv else MKLRegressor
    model = kind(random_state=0).fit(X[:120], y[:120])
    assert set(model.kernels_losses_) == {"ridge", "auto", "widths"}
    assert model.kernels_ == "widths"
    assert "'monomials' of categories are what 'auto' has" in model.chosen_
    assert "'greedy' was not tried: it takes numbers only" in model.chosen_
    assert model.score(X[120:], y[120:]) > 0.5
    assert model.explain(1)["term"].tolist() == ["a * b * c"]


@pytest.mark.parametrize("kernels", ["widths", "both"])
@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_widths_are_free_where_all_columns_are_categories(rng, kernels, kind, tmp_path):
    X, y = answers(rng)
    y = np.where(y > 1, "odd", "even") if kind is MKLClassifier else y
    model = kind(kernels=kernels, random_state=0).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > (0.8 if kind is MKLClassifier else 0.5)
    model.save(tmp_path / "m.mk")
    assert np.array_equal(load(tmp_path / "m.mk").predict(X), model.predict(X))


def test_rows_that_are_counted_once_are_called_different_rows(rng):
    X = np.tile(rng.normal(size=(12, 2)), (5, 1))
    model = MKLRegressor().fit(X, X[:, 0])
    assert model.chosen_ == "'ridge' without a comparison: there are 12 different rows only."


def test_the_strength_is_chosen_where_all_columns_are_categories(rng):
    X, y = answers(rng)
    noise = rng.permutation(y)
    assert MKLRegressor(random_state=0).fit(X, noise).score(X, noise) < 0.1


def test_advice_names_what_there_is_in_python_and_at_the_command():
    spec = specify(MKLRegressor(), False)
    assert affordable(spec, Table(10), 1000)[1] == [
        "'both' was not tried: it takes long; max_time=300 or more allows it"
    ]
    with named_as_options():
        assert affordable(spec, Table(10), 1000)[1] == [
            "'both' was not tried: it takes long; --max-time 300 or more allows it"
        ]
        assert str(OutOfTimeError(2.0)).startswith("--max-time must be long enough for a first")
        assert "--max-time, a smaller --degree, fewer columns" in str(OutOfTimeError(2.0))
    assert str(OutOfTimeError(2.0)).startswith("max_time must be long enough for a first model")


def test_a_free_degree_is_what_can_be_priced():
    assert affordable_degree(3, 1_000, 50) == 3
    assert affordable_degree(3, 200, 2_000) == 2
    assert affordable_degree(2, 200, 20_000) == 1
    assert affordable_degree(2, 300_000, 10) == 2


def noisy(rng, rows=80, columns=6):
    X = rng.normal(size=(rows + 1000, columns))
    signal = X @ rng.normal(size=columns)
    y = signal + signal.std() * rng.normal(size=len(X))
    return X[:rows], X[rows:], y[:rows], y[rows:]


def test_noisy_lines_are_left_to_ridge_regression(rng):
    train, test, y, truth = noisy(rng)
    model = MKLRegressor(random_state=0).fit(train, y)
    other = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e4, 40))).fit(train, y)
    assert model.score(test, truth) > other.score(test, truth) - 0.1
    assert model.kernels_ == "ridge"
    best = min(model.kernels_losses_, key=model.kernels_losses_.get)
    assert f"{model.kernels_losses_['ridge']:.4g}" in model.chosen_
    assert ("none is better by 1.5 standard errors" in model.chosen_) == (best != "ridge")


def test_losses_are_those_of_cross_validation(rng):
    """The loss of each kind is what its own cross-validation on the same folds finds."""
    train, _, y, _ = noisy(rng, rows=60, columns=3)
    model = MKLRegressorCV(random_state=0).fit(train, y)
    for label, settings in {
        "ridge": {"degree": 1, "p": 2.0},
        "monomials": {"degree": 3, "p": 1.0},
        "greedy": {"degree": 3, "solver": "greedy"},
    }.items():
        alone = MKLRegressorCV(kernels="linear", random_state=0, **settings).fit(train, y)
        assert model.kernels_losses_[label] == pytest.approx(-alone.best_score_, rel=1e-6)


def test_a_product_is_found_with_nothing_set(rng, capsys):
    X = rng.normal(size=(150, 5))
    y = X[:, 0] * X[:, 3] + 0.1 * rng.normal(size=150)
    model = MKLRegressor(random_state=0, verbose=1).fit(X, y)
    assert model.kernels_ != "ridge"
    assert model.explain(1)["term"].tolist() == ["x0 * x3"]
    assert f"Chosen: {model.chosen_}" in capsys.readouterr().err


def test_few_rows_have_the_simplest_model(rng):
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    model = MKLRegressor().fit(X, y)
    assert model.kernels_ == "ridge"
    assert "15 rows only" in model.chosen_
    labels = MKLClassifier().fit(X, y > 0)
    assert labels.kernels_ == "ridge"
    assert labels.predict_proba(X).shape == (15, 2)


@pytest.mark.parametrize("kind", [MKLRegressor, MKLRegressorCV])
def test_few_rows_have_the_strength_that_cross_validation_chooses(rng, kind):
    X = rng.normal(size=(12, 10))
    y = X[:, 0] + 3 * rng.normal(size=12)
    model = kind(random_state=0).fit(X, y)
    assert model.kernels_ == "ridge"
    alone = MKLRegressorCV(kernels="linear", degree=1, p=2.0, random_state=0).fit(X, y)
    assert model.alpha_ == pytest.approx(alone.alpha_)
    folds = MKLRegressorCV(cv=3, random_state=0).fit(X, y)
    assert len(folds.choice_.folds) == 3
    classes = MKLClassifier(random_state=0).fit(X, np.arange(12) % 2)
    assert len(classes.choice_.folds) == 5


def test_rows_too_few_for_folds_have_a_plain_strength(rng):
    X = rng.normal(size=(8, 2))
    for labels in (np.arange(8) == 3, np.arange(8)):  # no fold trains on all classes
        assert MKLClassifierCV().fit(X, labels).alpha_ == PLAIN_STRENGTH
    same = np.repeat(X[:1], 8, axis=0)
    assert MKLRegressorCV().fit(same, np.ones(8)).alpha_ == PLAIN_STRENGTH


def test_the_strength_is_chosen_with_the_kind(rng):
    train, _, y, _ = noisy(rng, rows=60, columns=3)
    model = MKLRegressor(random_state=0).fit(train, y)
    assert model.kernels_ == "ridge"
    alone = MKLRegressorCV(kernels="linear", degree=1, p=2.0).fit(train, y)
    assert model.alpha_ == alone.alpha_
    np.testing.assert_allclose(model.predict(train), alone.predict(train))


def test_what_does_not_fit_in_memory_is_not_tried(rng):
    X = rng.normal(size=(60, 400))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # nothing was stopped by max_time
        model = MKLRegressorCV(max_memory="3MB", random_state=0).fit(X, y)
    assert "'auto' was not tried: it takes more memory than a fit may hold" in model.chosen_
    assert "auto" not in model.kernels_losses_


def test_ridge_regression_that_does_not_fit_in_memory_is_not_tried(rng, monkeypatch):
    monkeypatch.setattr(refusals, "LEAST_SYSTEMS", 0)
    X = rng.normal(size=(200, 150))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    model = MKLRegressorCV(max_memory="3MB", random_state=0).fit(X, y)
    assert "'ridge' was not tried: it takes more memory than a fit may hold" in model.chosen_
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("known", [[0, 2], [4]])
def test_kinds_are_compared_on_the_folds_in_which_all_have_a_model(monkeypatch, rng, known):
    def cut(spec, rows):
        choice, prepared, interrupted = crossval(spec, rows)
        own = {"ridge": [0, 1, 2, 3], "monomials": known}.get(spec.label, range(5))
        folds = tuple(fold for fold in choice.folds if fold.number in own)
        return replace(choice, folds=folds), prepared, interrupted

    X = rng.normal(size=(60, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60)
    plain = MKLRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr(alternatives, "crossval", cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MKLRegressor(random_state=0).fit(X, y)
    assert (f"({'2' if known == [0, 2] else '4'} folds of 60 rows)") in model.chosen_
    assert model.kernels_ != "ridge"
    assert ("'monomials' was not compared: there was no time" in model.chosen_) == (known == [4])
    assert set(model.kernels_losses_) <= set(plain.kernels_losses_)


def test_few_rows_in_parts_have_the_simplest_model(rng):
    parts = pytest.importorskip("dask.array")
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    rows = parts.from_array(X, chunks=(10, 2)), parts.from_array(y, chunks=10)
    model = MKLRegressor().fit(*rows)
    assert model.chosen_ == "'ridge' without a comparison: rows are in parts."
    assert np.all(np.isfinite(model.predict(X)))
