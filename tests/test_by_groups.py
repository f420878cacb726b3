"""Rows of one group are never on both sides; time goes forward; repeated subjects are noticed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_validate
from typer.testing import CliRunner

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.baselines import LpNormMKL
from manykernels.cli.app import app
from manykernels.fitting import alternatives, crossval, splits
from manykernels.fitting.crossval import splits_of
from manykernels.frames.subjects import names_subjects, repeated_subjects
from manykernels.selection import SplitTest, StabilitySelection
from manykernels.tables import Settings, TableError, fit_table, split_table

SUBJECTS, VISITS = 24, 5


def visits():
    """Several rows of each patient, whose level says nothing of other patients."""
    rng = np.random.default_rng(0)
    level = np.repeat(3 * rng.normal(size=SUBJECTS), VISITS)
    return pd.DataFrame(
        {
            "patient": np.repeat([f"P{i:02d}" for i in range(SUBJECTS)], VISITS),
            "age": np.repeat(rng.uniform(20, 80, SUBJECTS), VISITS),
            "dose": rng.normal(size=SUBJECTS * VISITS),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.permutation(SUBJECTS * VISITS), "D"),
            "y": level + 0.1 * rng.normal(size=SUBJECTS * VISITS),
        }
    )


def apart(model, groups):
    """Tell of each fold whether the groups of the rows left out are in no other row."""
    groups = np.asarray(groups)
    return [
        not set(groups[fold.test]) & set(np.delete(groups, fold.test))
        for fold in model.choice_.folds
    ]


@pytest.mark.parametrize("cv", [None, 4, GroupKFold(3)])
def test_groups_stay_together(cv):
    table = visits()
    X, y, groups = table[["age", "dose"]], table["y"], table["patient"]
    model = MKLRegressorCV(degree=1, n_alphas=3, cv=cv).fit(X, y, groups=groups)
    assert len(model.choice_.folds) == {None: 5, 4: 4}.get(cv if cv != GroupKFold(3) else 0, 3)
    assert all(apart(model, groups))
    without = MKLRegressorCV(degree=1, n_alphas=3).fit(X, y)
    assert not any(apart(without, groups))
    classes = MKLClassifierCV(degree=1, n_alphas=3, cv=cv if cv else 3)
    assert all(apart(classes.fit(X, table["dose"] > 0, groups=groups), groups))


@pytest.mark.parametrize("rows_for_one_split", [10, 10_000])
def test_groups_stay_together_where_the_kind_is_chosen(monkeypatch, rows_for_one_split):
    table = visits()
    X, y, groups = table[["age", "dose"]], table["y"], table["patient"]
    seen = []

    def noted(search, rows):
        found = splits_of(search, rows)
        seen.extend(set(rows.groups[train]) & set(rows.groups[test]) for train, test in found)
        return found

    monkeypatch.setattr(alternatives, "splits_of", noted)
    monkeypatch.setattr(alternatives, "ONE_SPLIT_ROWS", rows_for_one_split)
    model = MKLRegressorCV(kernels="best", degree=1, n_alphas=2, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, groups=groups)
    assert len(seen) == (1 if rows_for_one_split == 10 else 5)
    assert not any(seen)


@pytest.mark.parametrize("cv", [None, TimeSeriesSplit(3)])
def test_groups_and_times_are_those_of_the_rows_in_the_fits_before_widths(monkeypatch, cv):
    table = visits().sort_values("day")
    X = table[["age", "dose"]].to_numpy()
    X, y = np.vstack([X, X[-3:]]), np.append(table["y"], table["y"][-3:])  # some rows twice
    patients = np.append(table["patient"], table["patient"][-3:])
    groups = patients if cv is None else None
    places = {row: place for place, row in enumerate(map(tuple, X[: len(table)].tolist()))}
    looked, folds_of = [], splits.folds_of

    def noted(rows, cv):
        found = list(folds_of(rows, cv))
        own = np.array([places[tuple(row)] for row in rows.X.tolist()])
        looked.extend((own[train], own[test]) for train, test in found)
        return iter(found)

    monkeypatch.setattr(crossval, "folds_of", noted)
    model = MKLRegressorCV(kernels="both", cv=cv, n_alphas=2, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, groups=groups)
    assert len(looked) > 5  # of spline terms, too
    for train, test in looked:
        if cv is None:
            assert not set(patients[train]) & set(patients[test])
        else:
            assert train.max() < test.min()


def test_drawn_groups_are_whole():
    groups = np.repeat(np.arange(30), 4)
    train, test = splits._by_groups(groups, 60)
    assert not set(groups[train]) & set(groups[test])
    assert 40 <= len(train) + len(test) <= 60
    assert len(test) == pytest.approx(0.2 * 60, abs=4)


def test_metadata_are_routed():
    table = visits()
    X, y, groups = table[["age", "dose"]], table["y"], table["patient"]
    seen = []

    class Noted(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(groups)
            return super().split(X, y, groups)

    model = MKLRegressorCV(degree=1, n_alphas=2, cv=Noted(3))
    with config_context(enable_metadata_routing=True):
        cross_validate(model, X, y, cv=GroupKFold(4), params={"groups": groups})
    assert len(seen) == 4
    assert all(len(np.unique(own)) == 18 for own in seen)  # of the rows of the outer fold


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"an entry for each of the 120 rows; got the shape \(2,\)"),
        ([None, *"ab" * 59, "a"], "no missing values; got 1"),
        (["a"] * 120, "at least two; got one, 'a'"),
    ],
)
def test_groups_that_are_none(groups, message):
    table = visits()
    with pytest.raises(ValueError, match=message):
        MKLRegressorCV(degree=1).fit(table[["age", "dose"]], table["y"], groups=groups)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (MKLRegressor(), "MKLRegressorCV, .* got groups for MKLRegressor"),
        (MKLClassifier(), "MKLClassifierCV, .* got groups for MKLClassifier"),
        (LpNormMKL(), "MKLRegressorCV, .* got groups for LpNormMKL"),
        (SplitTest(MKLRegressor("linear")), "rows as independent"),
        (StabilitySelection(MKLRegressor("linear")), "rows as independent"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_groups_are_refused_in_words_where_nothing_is_done_with_them(estimator, words):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    with pytest.raises(TypeError, match=f"groups must .*{words}"):
        estimator.fit(X, y, groups=np.arange(20) // 2)
    with pytest.raises(TypeError, match="fit must have no argument 'epochs'; got one"):
        estimator.fit(X, y, epochs=3)


def test_time_goes_forward():
    table = visits().sort_values("day")
    X, y = table[["age", "dose"]], table["y"]
    model = MKLRegressorCV(degree=1, n_alphas=2, cv=TimeSeriesSplit(4)).fit(X, y)
    starts = [fold.test.min() for fold in model.choice_.folds]
    assert starts == sorted(starts)

    class Rows:
        groups, ordered, classes = None, True, ()

        def for_splitter(self):
            return np.zeros((100, 1)), np.zeros(100)

    for train, test in splits.folds_of(Rows(), None):
        assert train.max() < test.min()
    train, test = splits.one_split(Rows(), 50)
    assert (train.tolist(), test.tolist()) == (list(range(50, 90)), list(range(90, 100)))


def test_tables_by_groups():
    table = visits()
    settings = Settings(target="y", groups="patient", degree=[1], kernels="linear")
    split = split_table(table, settings)
    assert split.encoder.names == ["age", "dose", "day"]
    inside, outside = (table["patient"][part.index] for part in (split.train, split.test))
    assert not set(inside) & set(outside)
    assert len(np.unique(split.groups_test)) == outside.nunique()
    assert len(split.groups_test) == len(split.test)
    assert len(split.test) == pytest.approx(0.2 * len(table), abs=VISITS)
    model = fit_table(split, settings)
    assert model.summary["evaluated_on"] == "held-out rows, none of a 'patient' trained on"
    assert all(apart(model.estimator, inside))
    kept = split_table(table, Settings(target="y", groups="patient", keep=["patient"]))
    assert "patient" in kept.encoder.names


def test_tables_by_time():
    table = visits()
    table["day"] = table["day"].dt.strftime("%Y-%m-%d")
    settings = Settings(target="y", time="day", degree=[1], kernels="linear")
    split = split_table(table, settings)
    assert "day" not in split.encoder.names
    days = table["day"]
    assert days[split.train.index].max() < days[split.test.index].min()
    assert days[split.train.index].is_monotonic_increasing
    model = fit_table(split, settings)
    order = days[split.train.index].to_numpy()
    for fold in model.estimator.choice_.folds:
        assert order[: fold.test.min()].max() < order[fold.test].min()
    # Rows of one day are on one side.
    tied = split_table(table.assign(day=[2000 + i // 30 for i in range(120)]), settings)
    assert len(tied.test) == 30


SERIES = {
    "days": pd.date_range("2020-01-01", periods=120, freq="D"),
    "days, backwards": pd.date_range("2020-01-01", periods=120, freq="D")[::-1],
    "several rows a day": pd.date_range("2020-01-01", periods=40, freq="D").repeat(3),
    "months, shuffled": pd.date_range("2000-01-01", periods=120, freq="MS")[::-1][
        np.random.default_rng(0).permutation(120)
    ],
    "working days, shuffled": pd.bdate_range("2020-01-01", periods=120)[
        np.random.default_rng(0).permutation(120)
    ],
}
NO_SERIES = {
    "dates of birth": pd.Timestamp("1940-01-01")
    + pd.to_timedelta(np.random.default_rng(0).choice(25_000, 120, replace=False), "D"),
    "visits": pd.Timestamp("2024-01-01")
    + pd.to_timedelta(np.random.default_rng(0).integers(0, 90, 120), "D"),
    "two blocks": pd.DatetimeIndex(["2020-01-01"] * 60 + ["2021-01-01"] * 60),
    "days of each of four shops": pd.DatetimeIndex(
        np.tile(pd.date_range("2020-01-01", periods=30, freq="D"), 4)
    ),
}


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("name", [*SERIES, *NO_SERIES])
def test_series_are_noted(name, as_text):
    days = {**SERIES, **NO_SERIES}[name]
    table = visits().drop(columns=["patient", "day"])
    table["the day"] = days.strftime("%d.%m.%Y") if as_text else days
    *notes, becomes = split_table(table, Settings(target="y")).notes
    assert becomes.startswith("column 'the day' holds dates: it becomes its decimal year")
    if name in NO_SERIES:
        assert notes == []
        return
    (note,) = notes
    how = "one row for each date of" if "shuffled" in name else "rows are in the order of"
    assert f"{how} column 'the day'" in note
    assert 'flatters the score if later rows are to be predicted. Use --time "the day", wi' in note
    (note,) = split_table(table, Settings(target="y", time="the day")).notes
    assert note.endswith('is left out of the model; --keep "the day" lets it be used.')
    kept = split_table(table, Settings(target="y", time="the day", keep=["the day"]))
    note, becomes = kept.notes
    assert note == "models are trained on earlier rows by 'the day' and validated on later ones."
    assert becomes.startswith("column 'the day' holds dates")
    assert "the day" in kept.encoder.names


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"groups": "patient", "time": "day"}, "cannot both be given"),
        ({}, {"groups": "y"}, "is the target"),
        ({}, {"groups": "patiens"}, "--groups 'patiens' is no column.*'patient'"),
        ({}, {"time": "patient"}, "--time 'patient' must hold dates or numbers; got 'P00'"),
        ({"day": 3}, {"time": "day"}, "has no rows before the last 20%"),
        ({"patient": "a"}, {"groups": "patient"}, "at least 5 different values; got 1"),
        ({"patient": [None, *"abcdefg" * 17]}, {"groups": "patient"}, "1 row without"),
    ],
)
def test_what_groups_and_time_cannot_be(change, options, message):
    with pytest.raises(TableError, match=message):
        split_table(visits().assign(**change), Settings(target="y", **options))


def test_commands(tmp_path):
    path = tmp_path / "visits.csv"
    visits().to_csv(path, index=False)
    fit = ["fit", str(path), "--target", "y", "--kernels", "linear", "--degree", "1", "--quiet"]
    plain = CliRunner().invoke(app, fit)
    assert "Use --groups patient." in plain.output
    assert "24 values in 120 rows" in plain.output
    for option in (["--groups", "patient"], ["--time", "day"]):
        result = CliRunner().invoke(app, [*fit, *option])
        assert result.exit_code == 0, result.output
        assert "looks like the identifier" not in result.output
        assert "held-out rows, " in result.output


def test_repeated_subjects_are_noticed_in_python():
    table = visits()
    X, y = table[["patient", "age", "dose"]], table["y"]
    model = MKLRegressorCV(degree=1, n_alphas=2, kernels="linear")
    with pytest.warns(UserWarning, match=r"column 'patient' looks like.*groups=X\['patient'\]"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(X.drop(columns="patient"), y, groups=X["patient"])
        MKLRegressorCV(degree=1, n_alphas=2, cv=KFold(3)).fit(X, y)  # who chose folds knows
        MKLRegressor(degree=1, alpha=0.01).fit(X, y)  # nothing is chosen


def test_repeated_subjects_are_noticed_where_the_kind_of_model_is_chosen():
    table = visits()
    X, y = table[["patient", "age"]][:30], table["y"][:30]
    X = X.assign(patient=np.repeat(np.arange(10), 3))
    words = r"'patient' looks like.*MKLRegressorCV\(\)\.fit\(X\.drop.*groups=X\['patient'\]"
    with pytest.warns(UserWarning, match=words):
        MKLRegressor(max_time=60).fit(X, y)


NAMES = [
    "patient",
    "Patient ID",
    "subject_id",
    "userId",
    "customer no",
    "ID",
    "store_id",
    "SUBJECTS",
]
ORDINARY = [
    *["age", "patient_age", "customer_age", "paid", "grid", "humid", "width", "number_of_rooms"],
    *["user_rating", "device_type", "room number", "zip code", "product name", "year", "no"],
    *["person_count", "identity", "video", "acid", "solid", "month", "idle", "gender", ""],
]


def test_names_of_subjects():
    assert all(map(names_subjects, NAMES))
    assert [name for name in ORDINARY if names_subjects(name)] == []


def test_values_of_subjects():
    rng = np.random.default_rng(0)
    whole = np.repeat(np.arange(20), 5)
    assert repeated_subjects(pd.DataFrame({"id": whole})) == {"id": (20, 100)}
    others = {
        "every row its own": np.arange(100),
        "few kinds": rng.integers(0, 9, 100),
        "measured": np.repeat(rng.normal(size=20), 5),
        "days": pd.to_datetime("2024-01-01") + pd.to_timedelta(whole, "D"),
        "flags": whole > 10,
    }
    for values in others.values():
        assert repeated_subjects(pd.DataFrame({"id": values})) == {}
    polars = pytest.importorskip("polars")
    assert repeated_subjects(polars.DataFrame({"id": whole.tolist()})) == {"id": (20, 100)}
