"""The road of a fit: what it keeps of its folds, where its warnings point, what it refuses when."""

import inspect
import warnings
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.baselines import LpNormMKL, PolynomialCombination
from manykernels.rows import MemoryRows
from manykernels.solvers import Greedy
from manykernels.specify import specify


def table(rng, n=90):
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=n)


SETTINGS = [
    {"degree": 2},
    {"degree": [1, 2], "p": [1, 4 / 3]},
    {"degree": 2, "p": 2},
    {"degree": 2, "p": 1, "debias": True},
    {"degree": 2, "solver": Greedy(6)},
    {"degree": 1, "kernels": "rbf"},
    {"degree": 2, "kernels": "auto", "n_alphas": 8},
]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_folds_keep_their_models_and_predictions(options, rng):
    X, y = table(rng)
    folds = KFold(3, shuffle=True, random_state=0)
    model = MKLRegressorCV(cv=folds, random_state=0, **options).fit(X, y)
    choice = model.choice_
    assert len(choice.folds) == 3
    for fold, (_, test) in zip(choice.folds, folds.split(X), strict=True):
        np.testing.assert_array_equal(fold.test, test)
        again = fold.function.decision(X[test])
        np.testing.assert_allclose(again, fold.predictions, rtol=1e-8, atol=1e-8)
    if options.get("p") != 2 and options.get("kernels") != "rbf":  # by features: no rows are held
        assert all(fold.function.predictor.expansion is None for fold in choice.folds)
    # The scores that the choice was made by are those of the predictions kept.
    losses = [np.mean((y[f.test] - f.predictions[:, 0]) ** 2) / 2 for f in choice.folds]
    number, place = choice.best
    scores = model.score_path_[number, place]
    known = np.isfinite(scores)
    np.testing.assert_allclose(-scores[known], np.array(losses)[known], rtol=1e-9)
    whole = choice.predictions(len(X))
    for fold in choice.folds:
        np.testing.assert_array_equal(whole[fold.test], fold.predictions)
    assert np.corrcoef(whole[:, 0], y)[0, 1] > 0.5


def test_models_of_folds_have_not_seen_the_rows_left_out(rng):
    """The model of a fold is that of a fit to the fold's rows alone, at the chosen setting."""
    X, y = table(rng)
    folds = list(KFold(3).split(X))
    model = MKLRegressorCV(degree=2, p=1, cv=folds, tol=1e-7, random_state=0).fit(X, y)
    for (train, test), fold in zip(folds, model.choice_.folds, strict=True):
        alone = MKLRegressor(degree=2, p=1, alpha=model.alpha_, tol=1e-7).fit(X[train], y[train])
        np.testing.assert_allclose(fold.predictions[:, 0], alone.predict(X[test]), atol=2e-3)


def test_rows_that_no_fold_left_out_have_no_prediction(rng):
    X, y = table(rng)
    model = MKLRegressorCV(degree=1, cv=ShuffleSplit(1, test_size=0.3, random_state=0)).fit(X, y)
    predictions = model.choice_.predictions(len(X))
    (fold,) = model.choice_.folds
    out = np.zeros(len(X), dtype=bool)
    out[fold.test] = True
    assert np.all(np.isfinite(predictions[out]))
    assert np.all(np.isnan(predictions[~out]))


def test_folds_of_classes_in_processes_of_their_own(rng):
    X, y = table(rng, 120)
    labels = np.digitize(y, [-0.7, 0.7])
    folds = StratifiedKFold(3)
    models = [
        MKLClassifierCV(degree=1, cv=folds, n_alphas=5, n_jobs=jobs, random_state=0).fit(X, labels)
        for jobs in (None, 2)
    ]
    one, two = (model.choice_.predictions(len(X)) for model in models)
    assert one.shape == (120, 3)
    np.testing.assert_allclose(one, two)
    assert np.mean(models[0].classes_[one.argmax(axis=1)] == labels) > 0.5


def test_rows_in_parts_keep_models_but_no_predictions(rng):
    array = pytest.importorskip("dask.array")
    X, y = table(rng)
    lazy = array.from_array(X, chunks=(30, 3)), array.from_array(y, chunks=30)
    model = MKLRegressorCV(degree=2, cv=KFold(3), random_state=0).fit(*lazy)
    usual = MKLRegressorCV(degree=2, cv=KFold(3), random_state=0, alphas=[model.alpha_]).fit(X, y)
    for parted, fold in zip(model.choice_.folds, usual.choice_.folds, strict=True):
        assert parted.predictions is None
        values = parted.function.decision(X[parted.test])
        np.testing.assert_allclose(values, fold.predictions, atol=0.05)
    with pytest.raises(ValueError, match="kept for rows in memory"):
        model.choice_.predictions(len(X))


LOUD = [
    lambda X, y: MKLRegressor(alpha=1e-3, max_iter=1, tol=1e-9, degree=3).fit(X, y),
    lambda X, y: MKLRegressorCV(max_iter=1, tol=1e-12, degree=2, cv=2).fit(X, y),
    lambda X, y: MKLRegressorCV(max_iter=1, tol=1e-12, degree=2, cv=2, n_jobs=2).fit(X, y),
    lambda X, y: LpNormMKL(max_iter=1, tol=1e-12).fit(X, y),
    lambda X, y: PolynomialCombination(max_iter=1, tol=1e-12).fit(X, y),
]


@pytest.mark.parametrize("fit", LOUD)
def test_warnings_point_at_the_line_that_called_the_library(fit, rng):
    X, y = table(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(X, y)
    assert caught
    for warning in caught:
        assert issubclass(warning.category, ConvergenceWarning)
        assert warning.filename == __file__
        assert warning.lineno == inspect.getsourcelines(fit)[1]


def test_warnings_in_a_fold_point_at_the_line_too(rng):
    """Between the warning and the caller lie frames of joblib."""

    class CtrlC:
        def iterate(self, problem, family, rng):
            for state in Greedy(3).iterate(problem, family, rng):
                yield state
                if len(seen) >= 2 and state.k == 2:
                    raise KeyboardInterrupt
            seen.append(1)

    seen = []
    X, y = table(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        MKLRegressorCV(solver=CtrlC(), p=1, alphas=[0.1], degree=1, cv=4).fit(X, y)
    assert any("of 4 folds" in str(warning.message) for warning in caught)
    assert {(warning.filename, warning.lineno) for warning in caught} == {(__file__, line)}


def test_each_set_of_rows_is_prepared_once(rng, monkeypatch):
    X, y = table(rng)
    prepared, prepare = [], MemoryRows.prepare

    def counted(rows, spec, degree):
        prepared.append((rows.count, degree))
        return prepare(rows, spec, degree)

    monkeypatch.setattr(MemoryRows, "prepare", counted)
    MKLRegressorCV(degree=[1, 2], p=[1, 4 / 3], cv=3, n_alphas=4).fit(X, y)
    assert prepared == [(90, 1), (60, 1), (60, 1), (60, 1)]
    prepared.clear()
    # Functions of columns depend on the degree of the products to come.
    MKLRegressorCV(degree=[1, 2], kernels="auto", cv=3, n_alphas=4).fit(X, y)
    assert prepared == [(90, 1), (90, 2), *[(60, 1)] * 3, *[(60, 2)] * 3]


def test_a_specification_is_a_value():
    spec = specify(MKLRegressorCV(degree=[1, 2], p=[1, 1.5], standardize="scale"), labelled=False)
    assert spec.degrees == (1, 2)
    assert spec.exponents == (1.0, 1.5)
    assert (spec.centres, spec.scales) == (False, True)
    assert replace(spec, strength=1.0).strength == 1.0
    with pytest.raises(FrozenInstanceError):
        spec.strength = 2.0


def test_the_function_of_a_model_is_public(rng):
    X, y = table(rng)
    model = MKLRegressor(degree=2, p=1, alpha=0.02).fit(X, y)
    function = model.function_
    np.testing.assert_array_equal(function.decision(X)[:, 0], model.predict(X))
    assert function.terms.names == model.explain(None)["term"].tolist()
    assert function.terms.factors("x0 * x1") == [0, 1]
    assert function.contributions(X).equals(model.contributions(X))
    np.testing.assert_array_equal(function.kernel(X), model.kernel(X))
