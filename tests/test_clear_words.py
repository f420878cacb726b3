"""Arguments of the wrong kind: every message says which, what it must be, and what to do."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, report
from manykernels.feature_maps import Nystroem, Spline
from manykernels.losses import Logistic, Squared
from manykernels.solvers import FullPass, Greedy, MirrorDescent, WorkingSet
from manykernels.store import write_whole

generator = np.random.default_rng(0)
X = generator.normal(size=(40, 3))
y = X[:, 0] * X[:, 1] + X[:, 2]
HUGE = 10**400


@pytest.mark.parametrize(
    ("estimator", "target", "words"),
    [
        (
            MKLRegressor(alpha=1e-3, loss=Squared),
            y,
            r"loss must be an object, not a class.*Squared\(\)",
        ),
        (
            MKLClassifier(alpha=1e-3, loss=Logistic),
            y > 0,
            r"loss must be an object, not a class.*Logistic\(",
        ),
        (MKLRegressor(solver=Greedy), y, r"solver must be an object, not a class.*Greedy\(\)"),
        (
            MKLRegressor(alpha=1e-3, p=1, solver=WorkingSet),
            y,
            "solver must be an object, not a class",
        ),
        (MKLRegressor(alpha=1e-3, kernels=Spline), y, "kernels must be an object, not a class"),
        (
            MKLRegressor(alpha=1e-3, kernels=[(Spline, 0)]),
            y,
            r"kernels\[0\] must be an object.*Spline\(\)",
        ),
        (
            MKLRegressor(alpha=1e-3, kernels=["rbf", Nystroem]),
            y,
            r"kernels\[\d\] (must be an object|has no)",
        ),
        (MKLRegressor(alpha=HUGE), y, r"alpha must be a positive number; got 1000.*\.\.\."),
        (MKLRegressor(alpha=10**5000), y, "alpha must be a positive number; got an int of very"),
        (MKLRegressor(alpha=1e-3, max_time=HUGE), y, "max_time must be a positive number"),
        (MKLRegressor(alpha=1e-3, tol=HUGE), y, "tol must be a positive number"),
        (MKLRegressorCV(alphas=[HUGE]), y, "alphas must be a list of positive numbers"),
        (
            MKLRegressorCV(kernels="linear", n_jobs="a"),
            y,
            "n_jobs must be None or an integer other than 0",
        ),
        (
            MKLRegressorCV(kernels="linear", n_jobs=0),
            y,
            "n_jobs must be None or an integer other than 0",
        ),
    ],
)
def test_parameters(estimator, target, words):
    with pytest.raises(ValueError, match=words):
        estimator.fit(X, target)


@pytest.mark.parametrize("kind", [np.array, list, pd.Series, lambda y: y[:, None]])
@pytest.mark.parametrize("estimator", [MKLRegressor(), MKLRegressorCV(), MKLClassifier()])
def test_gaps_in_y_are_counted_and_placed(estimator, kind):
    gaps = y.copy()
    gaps[[7, 9, 30]] = np.nan
    words = r"y must have a value in each row; got nan in 3 of 40 rows, the first in row 7, .*Drop"
    with pytest.raises(ValueError, match=words):
        estimator.fit(X, kind(gaps))


@pytest.mark.parametrize("value", ["a", -3, 2.5, None, True, [1]])
@pytest.mark.parametrize(
    ("solver", "setting"),
    [
        (Greedy, "terms"),
        (Greedy, "pool"),
        (FullPass, "memory"),
        (MirrorDescent, "draws"),
        (WorkingSet, "batch"),
    ],
)
def test_settings_of_solvers(solver, setting, value):
    with pytest.raises(ValueError, match=f"{setting} of {solver.__name__} must be an integer >= "):
        solver(**{setting: value})


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([1, 2], "cv must be a number of folds, a splitter"),
        ([([0, 1], [2], [3])], "cv must be a number of folds, a splitter"),
        ([("ab", "cd")], "cv must be a number of folds, a splitter"),
        ([([0.5, 1.5], [2])], "cv must be a number of folds, a splitter"),
        ([(range(20), [1000])], "numbers of rows from 0 to 39; got 1000 to 1000"),
        ([(range(20), [-50])], "numbers of rows from 0 to 39"),
        ([], "cv must give folds; got none"),
    ],
)
def test_folds(cv, words):
    with pytest.raises(ValueError, match=words):
        MKLRegressorCV(degree=1, cv=cv).fit(X, y)


def test_masks_are_folds():
    train = np.arange(40) < 30
    numbers = MKLRegressorCV(degree=1, cv=[(np.arange(30), np.arange(30, 40))]).fit(X, y)
    masks = MKLRegressorCV(degree=1, cv=[(train, ~train)]).fit(X, y)
    assert np.array_equal(masks.predict(X), numbers.predict(X))


def test_terms_of_contributions():
    model = MKLRegressor(alpha=1e-3, degree=1, p=1).fit(X, y)
    for wrong in (5, 2.5, True, b"x0"):
        with pytest.raises(ValueError, match="terms must be names of terms"):
            model.contributions(X, wrong)


def test_reports(tmp_path):
    pytest.importorskip("matplotlib")
    model, path = MKLRegressor(alpha=1e-3, degree=1, p=1).fit(X, y), tmp_path / "r.html"
    for name in ("title", "summary", "levels"):
        with pytest.raises(TypeError, match=f"{name} must be .* got 5"):
            report.write(model, X, y, path, **{name: 5})
    with pytest.raises(ValueError, match="y must be numbers for a regression; got 'a'"):
        report.write(model, X, np.array(["a"] * 40), path)
    with pytest.raises(ValueError, match="y must be finite; got 40 values"):
        report.write(model, X, y * np.nan, path)
    assert not path.exists()


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("step", ["fit", "predict"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_name_the_column(make, step, value):
    bad = X.copy()
    bad[4:6, 1] = value
    names = {"columns": list("abc")} if make is pd.DataFrame else {}
    model = MKLRegressor(degree=1).fit(make(X, **names), y)
    rows = make(bad, **names)
    words = f"column '{'b' if names else 'x1'}' of X has infinite values, in 2 of 40 rows"
    with pytest.raises(ValueError, match=words):
        model.fit(rows, y) if step == "fit" else model.predict(rows)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(pd.date_range("2020-01-01", periods=40, tz="UTC")),
        pd.Series(pd.period_range("2020-01", periods=40, freq="M")),
        pd.Series(pd.interval_range(0, 40)),
        [Decimal(i % 3) for i in range(40)],
        [pd.Timedelta(days=i % 3) for i in range(40)],
    ],
)
def test_classes_of_kinds_that_are_none(labels):
    words = "y must hold classes as text, whole numbers or booleans; got .*, of type"
    with pytest.raises(ValueError, match=words):
        MKLClassifier(degree=1).fit(X, labels)
    names = pd.Series(labels).astype(str) if isinstance(labels, list) else labels.astype(str)
    names = names.where(np.arange(40) % 2 == 0, names[0])  # as it is advised
    MKLClassifier(degree=1, alpha=1e-2).fit(X, names)


@pytest.mark.parametrize("stored", [None, object])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.Series(pd.to_timedelta(np.arange(40), "h")), "spans of time. Divide them by pd.Timed"),
        (pd.Series(pd.date_range("2020-01-01", periods=40)), "dates. Use days since one of them"),
    ],
)
def test_regression_on_dates_and_spans_of_time(values, words, stored):
    values = values if stored is None else values.astype(stored)
    with pytest.raises(ValueError, match=f"y must be numeric for regression; got {words}"):
        MKLRegressor(degree=1).fit(X, values)


def test_classes_of_one_row_bring_no_advice_that_cannot_be_followed():
    labels = np.where(np.arange(40) == 7, "rare", np.where(y > 0, "up", "down"))
    with pytest.raises(
        ValueError, match="Merge or leave out classes of few rows; of MKLClassifier"
    ):
        MKLClassifier().fit(X, labels)


def test_files_that_cannot_be_written_are_named_as_they_were_given(tmp_path):
    for path in (tmp_path / "no folder" / "x.csv", Path("/proc/x.csv")):
        with pytest.raises(OSError, match=r"cannot be written") as found:
            write_whole(path, b"")
        assert str(path) in str(found.value)
        assert ".part" not in str(found.value)


def test_partitions_with_a_name_twice_are_refused():
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    parts = dd.from_pandas(table.assign(y=y), npartitions=2)
    rows = parts[["a", "b"]]
    rows.columns = ["a", "a"]
    with pytest.raises(ValueError, match="X must have distinct column names; got 'a' twice"):
        MKLRegressor(degree=1).fit(rows, parts["y"])
