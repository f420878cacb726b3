"""Estimators with kernels of free widths, from rows to files: each in its simplest setting."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import manykernels
from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV, report
from manykernels.baselines import LpNormMKL
from manykernels.certificate import Certificate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(rng, rows, noise=0.1):
    """Return five columns, of which the target is a bump of two and a wave of a third."""
    X = pd.DataFrame(rng.uniform(-2, 2, size=(rows, 5)), columns=list("abcde"))
    y = 3 * np.exp(-3 * (X["a"] ** 2 + X["b"] ** 2)) + np.sin(3 * X["c"])
    return X, y + noise * rng.normal(size=rows)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(5)
    X, y = drawn(rng, 400)
    return MKLRegressor(kernels="widths", random_state=0).fit(X, y), X, y


def test_a_bump_and_a_wave_are_found(fitted):
    model, _, _ = fitted
    new, truth = drawn(np.random.default_rng(6), 1000, noise=0.0)
    assert model.score(new, truth) > 0.95
    table = model.explain().set_index("term")
    assert {"c", "a * b"} <= set(table.index)
    assert table.loc["c", "share"] > 0.3
    quiet = [name for name in table.index if {"d", "e"} & set(name)]
    assert table.loc[quiet, "share"].sum() < 0.03
    assert table["share"].sum() == pytest.approx(1)
    assert model.gap_kind_ == "estimate"
    assert model.n_kernels_ == np.inf
    said = manykernels.words.certificate(model)
    assert ("is not known" if model.gap_ >= 1 else "not a guarantee") in said


def test_contributions_add_up_to_predictions(fitted):
    model, X, _ = fitted
    parts = model.contributions(X[:50])
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(X[:50]), rtol=1e-10, atol=1e-10)


def test_the_kernel_is_that_of_the_predictions(fitted):
    model, X, _ = fitted
    gram = model.kernel(X[:7], X)
    values = gram @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(values, model.predict(X[:7]), rtol=1e-6, atol=1e-6)


def test_predictions_do_not_depend_on_how_many_rows_come_at_a_time(fitted, monkeypatch):
    model, X, _ = fitted
    whole = model.predict(X)
    monkeypatch.setattr("manykernels.function.function.PREDICTED_ENTRIES", 400 * 9)
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-12, atol=1e-12)


def test_files_keep_the_model(fitted, tmp_path):
    model, X, _ = fitted
    again = manykernels.load(model.save(tmp_path / "widths.mk"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    pd.testing.assert_frame_equal(again.explain(), model.explain())
    assert again.terms_ == model.terms_


def test_the_report_says_what_is_true_of_such_models(fitted, tmp_path):
    model, X, y = fitted
    page = report.write(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The model holds its training rows, and so does its file." in page
    assert "infinitely many" in page
    assert "by draws" not in page


def test_the_same_seed_gives_the_same_model(fitted):
    model, X, y = fitted
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


def test_cross_validation_chooses_a_strength_for_these_rows(rng):
    X, y = drawn(rng, 150, noise=0.5)
    model = MKLRegressorCV(kernels="widths", random_state=0, cv=3).fit(X, y)
    assert np.log10(model.alpha_ * 150) == pytest.approx(np.round(np.log10(model.alpha_ * 150)))
    np.testing.assert_allclose(model.alphas_[0] * 150, [100, 10, 1, 0.1, 0.01, 0.001])
    new, truth = drawn(rng, 500, noise=0.0)
    assert model.score(new, truth) > 0.5
    # Predictions of rows left out are those of models that have not seen them.
    for fold in model.choice_.folds:
        held = fold.function.decision(X.to_numpy()[fold.test])
        np.testing.assert_allclose(fold.predictions, held, rtol=1e-8, atol=1e-8)
        assert fold.function.predictor.family.rows == 100


def test_classes(rng):
    X, y = drawn(rng, 250)
    three = np.digitize(y, [-0.2, 0.8])
    for target, kind in ((y > 0.3, MKLClassifierCV), (three, MKLClassifier)):
        options = {"cv": 2} if kind is MKLClassifierCV else {}
        model = kind(kernels="widths", random_state=0, **options).fit(X[:200], target[:200])
        assert model.score(X[200:], target[200:]) > 0.7
        shares = model.predict_proba(X[200:])
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_categories_are_equal_or_unequal(rng):
    X, y = drawn(rng, 300)
    X["town"] = rng.integers(4, size=300)
    y = y + np.array([0.0, 3.0, -3.0, 1.0])[X["town"]]
    kernels = [("widths", list("abcde")), ("categorical", "town")]
    model = MKLRegressor(kernels=kernels, random_state=0).fit(X[:240], y[:240])
    assert model.score(X[240:], y[240:]) > 0.9
    assert model.explain()["term"].iloc[0] == "town"
    unseen = X[240:].assign(town=9)
    assert np.all(np.isfinite(model.predict(unseen)))


@pytest.mark.parametrize("p", [4 / 3, 2])
def test_other_exponents(p, rng):
    X, y = drawn(rng, 80)
    options = {"degree": 1, "alpha": 1e-3, "max_iter": 200, "tol": 0.05}
    model = MKLRegressor(kernels="widths", p=p, **options, random_state=0).fit(X, y)
    new, truth = drawn(rng, 400, noise=0.0)
    assert model.score(new, truth) > 0.3
    assert model.gap_kind_ == "exact"


def test_the_best_of_several_kernels_is_judged_on_rows_left_out(rng):
    X, y = drawn(rng, 250)
    model = MKLRegressorCV(kernels="best", random_state=0, cv=2).fit(X, y)
    assert model.kernels_ in ("auto", "widths", "both")
    assert model.kernels_losses_[model.kernels_] == min(model.kernels_losses_.values())
    single = MKLRegressorCV(
        kernels=model.kernels_,
        degree=2 if model.kernels_ == "auto" else "auto",
        cv=2,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), single.predict(X), rtol=1e-9)


def test_a_gap_that_is_not_known_is_no_error(rng, monkeypatch):
    unknown = Certificate(np.inf, np.inf, "estimate")
    monkeypatch.setattr("manykernels.solvers.widths.search.estimated", lambda *_: unknown)
    X, y = drawn(rng, 60)
    model = MKLRegressor(kernels="widths", random_state=0).fit(X, y)
    assert "is not known" in manykernels.words.certificate(model)


def test_with_few_rows_nothing_is_judged(rng):
    X, y = drawn(rng, 15)
    model = MKLRegressorCV(kernels="best", random_state=0, cv=2).fit(X, y)
    assert (model.kernels_, model.kernels_losses_) == ("ridge", {})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"solver": "mirror-descent"}, "needs a family that is finite"),
        ({"solver": "working-set"}, "needs a family that is finite"),
        ({"loss": "epsilon_insensitive"}, "loss must be smooth for the search for widths"),
    ],
    ids=str,
)
def test_what_cannot_learn_widths_is_refused_in_words(settings, words, rng):
    X, y = drawn(rng, 40)
    with pytest.raises(ValueError, match=words):
        MKLRegressor(kernels="widths", **settings).fit(X, y)


def test_competitors_and_rows_in_parts_are_refused_in_words(rng):
    X, y = drawn(rng, 40)
    with pytest.raises(ValueError, match="widths that are given for LpNormMKL"):
        LpNormMKL(kernels="widths").fit(X, y)
    with pytest.raises(ValueError, match="degree must be an integer"):
        MKLRegressor(alpha=1e-3, degree=None).fit(X, y)
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match="X must be in memory for kernels='widths'"):
        MKLRegressor(kernels="widths").fit(dask.from_pandas(X, 2), dask.from_pandas(y, 2))


def test_warnings_are_none_but_of_convergence(rng):
    X, y = drawn(rng, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        MKLRegressor(kernels="widths", random_state=0).fit(X, y)
