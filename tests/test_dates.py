"""Dates as years, days of the week, hours and months: beside pandas, and where truth is known."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

from manykernels import MKLRegressor, TableEncoder, load
from manykernels.frames.columns import Category, TableError
from manykernels.frames.dates import WEEK_DAYS
from manykernels.plot import ContributionsDisplay
from manykernels.report import content
from manykernels.report.subject import subject_of
from manykernels.report.values import two_entries
from manykernels.store import ModelFileError
from manykernels.tables import Settings, fit_table, split_table

MOMENTS = pd.Series(pd.date_range("2019-12-25 00:10", periods=90, freq="9D 5h 7min 30s", tz="UTC"))
"""Over two years, with all days of the week, hours and months."""

PARTS = ["d", "d, day of the week", "d, hour", "d, month"]


def truth(moments):
    """Return the parts of dates as pandas has them, one moment at a time."""
    rows = []
    for moment in moments:
        start = moment.normalize().replace(day=1)
        share = (moment - start) / (start + pd.DateOffset(months=1) - start)
        hour = moment.hour + moment.minute / 60 + (moment.second + moment.microsecond / 1e6) / 3600
        rows.append((moment.day_name(), hour, moment.month + share))
    return pd.DataFrame(rows, columns=PARTS[1:])


def encoded(values, encoder=None):
    """Return the parts of a column of dates, days of the week by name."""
    table = pd.DataFrame({"d": values})
    numbers = (encoder or TableEncoder().fit(table)).encode(table)
    assert numbers.columns[:4].tolist() == PARTS
    days = numbers["d, day of the week"].map(dict(enumerate(WEEK_DAYS)))
    return numbers.assign(**{"d, day of the week": days})[PARTS[1:]]


def parts_of(dates):
    """Return the names of the parts that dates get."""
    table = pd.DataFrame({"d": dates})
    names = TableEncoder().fit(table).get_feature_names_out().tolist()
    assert names[0] == "d"
    return [name.removeprefix("d, ") for name in names[1:]]


STYLES = [
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S"),
    *("%d/%m/%Y, %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%-d-%-m-%Y %H:%M:%S"),
]


@pytest.mark.parametrize("style", STYLES)
def test_parts_of_dates_as_people_write_them(style):
    found = encoded(MOMENTS.dt.strftime(style))
    pd.testing.assert_frame_equal(found, truth(MOMENTS), rtol=1e-13)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_parts_of_dates_of_zones_are_in_utc(zone, unit):
    local = MOMENTS.dt.tz_convert(zone).dt.as_unit(unit)
    expected = truth(MOMENTS)
    encoder = TableEncoder().fit(pd.DataFrame({"d": local}))
    pd.testing.assert_frame_equal(encoded(local, encoder), expected, rtol=1e-13)
    assert (", in UTC." in encoder.notes_[0]) == (zone not in (None, "UTC"))
    if zone is not None:
        words = local.map(lambda moment: moment.isoformat())
        encoder = TableEncoder().fit(pd.DataFrame({"d": words}))
        pd.testing.assert_frame_equal(encoded(words, encoder), expected, rtol=1e-13)
        assert (", in UTC." in encoder.notes_[0]) == (zone != "UTC")


def test_parts_of_dates_that_are_objects():
    plain = [moment.to_pydatetime().replace(tzinfo=None) for moment in MOMENTS]
    table = pd.Series(plain, dtype=object)
    pd.testing.assert_frame_equal(encoded(table), truth(MOMENTS), rtol=1e-13)
    days = pd.Series([moment.date() for moment in plain], dtype=object)
    assert parts_of(days) == ["day of the week", "month"]


@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
def test_parts_of_dates_of_arrow(zone):
    arrow = pytest.importorskip("pyarrow")
    values = MOMENTS.dt.tz_convert(zone).astype(pd.ArrowDtype(arrow.timestamp("us", zone)))
    encoder = TableEncoder().fit(pd.DataFrame({"d": values}))
    pd.testing.assert_frame_equal(encoded(values, encoder), truth(MOMENTS), rtol=1e-13)
    assert (", in UTC." in encoder.notes_[0]) == (zone is not None)
    assert parts_of(values.astype(pd.ArrowDtype(arrow.date32()))) == ["day of the week", "month"]


def test_months_run_from_1_to_13_and_hours_to_24():
    encoder = TableEncoder().fit(pd.DataFrame({"d": MOMENTS}))
    ends = ["2024-01-01", "2024-12-31 23:59:59.999999", "2024-02-15 12:00", "1899-02-15"]
    found = encoded(pd.Series(ends), encoder)
    assert found["d, month"].iloc[0] == 1.0
    assert 12.999999 < found["d, month"].iloc[1] < 13
    assert found["d, month"].tolist()[2:] == [2.5, 2.5]
    assert found["d, hour"].iloc[0] == 0.0
    assert 23.9999999 < found["d, hour"].iloc[1] < 24


def dates(start, periods, freq):
    return pd.date_range(start, periods=periods, freq=freq)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (dates("2024-01-01", 28, "D"), []),  # from the first to the last 27 days
        (dates("2024-01-01", 29, "D"), ["day of the week"]),
        (dates("2024-01-01", 200, "7D"), ["month"]),  # one day of the week
        (dates("2024-01-01", 60, "7D").append(dates("2024-01-05", 60, "7D")), []),
        (dates("2020-01-01", 12, "YS"), ["day of the week"]),  # one month
        (dates("2020-01-01", 12, "2QS"), ["day of the week", "month"]),
        (dates("2024-01-01", 548, "D"), ["day of the week"]),
        (dates("2024-01-01", 549, "D"), ["day of the week", "month"]),
        (dates("2024-01-01", 24, "h"), []),  # one day
        (dates("2024-01-01", 25, "h"), ["hour"]),
        (dates("2024-01-01", 20, "12h"), []),  # two times of day
        (dates("2024-01-01", 20, "8h"), ["hour"]),
        (dates("2024-01-01", 360, "D").tz_localize("Europe/Berlin"), ["day of the week"]),
    ],
)
def test_dates_have_the_parts_that_they_differ_in(values, parts):
    assert parts_of(pd.Series(values)) == parts


def test_missing_dates_have_medians_and_the_most_frequent_day():
    values = MOMENTS.copy()
    values[values.dt.day_of_week == 6] = values[0]  # a Wednesday
    values.iloc[5:9] = pd.NaT
    table = pd.DataFrame({"d": values})
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == [*PARTS, "d is missing"]
    numbers, known = encoder.encode(table), truth(values.dropna())
    assert known["d, day of the week"].mode()[0] == "Wednesday"
    expected = [2.0, known["d, hour"].median(), known["d, month"].median()]
    np.testing.assert_allclose(numbers.iloc[6, 1:4], expected, rtol=1e-12)
    assert numbers["d is missing"].tolist() == values.isna().tolist()
    for gaps in ([None, None], [np.nan, np.nan], [pd.NaT, pd.NaT], ["", None]):
        new = pd.DataFrame({"d": gaps}).replace("", None)
        np.testing.assert_array_equal(encoder.encode(new), numbers.iloc[[6, 6]])


def test_weights_of_dates_are_repeated_rows():
    weights = np.random.default_rng(0).integers(0, 4, len(MOMENTS))
    table = pd.DataFrame({"d": MOMENTS})
    one = TableEncoder().fit(table, sample_weight=weights)
    two = TableEncoder().fit(table.loc[np.repeat(np.arange(len(MOMENTS)), weights)])
    assert one.columns_ == two.columns_
    assert one.columns_ != TableEncoder().fit(table).columns_


def test_names_of_parts_are_distinct_from_those_of_the_table():
    x = np.arange(90.0) % 7
    table = pd.DataFrame({"d": MOMENTS, "d, hour": x, "d, month": x, "d, month (2)": x})
    encoder = TableEncoder().fit(table)
    names = ["d", "d, day of the week", "d, hour (2)", "d, month (3)"]
    assert encoder.get_feature_names_out().tolist()[:4] == names
    np.testing.assert_array_equal(encoder.encode(table)["d, hour"], x)
    np.testing.assert_allclose(encoder.encode(table)["d, hour (2)"], truth(MOMENTS)["d, hour"])


def test_what_is_said_of_encoded_dates():
    table = pd.DataFrame({"x": np.arange(90.0) % 11, "d": MOMENTS})
    encoder = TableEncoder().fit(table)
    assert encoder.notes_ == [
        "column 'd' holds dates: it becomes its decimal year, 'd, day of the week', 'd, hour' and "
        "'d, month'."
    ]
    assert encoder.levels_ == {"d, day of the week": WEEK_DAYS}
    assert encoder.sources == [0, 1, 1, 1, 1]
    assert encoder.codes == [[], [], [0, 1, 2, 3, 4, 5, 6], [], []]
    plain = TableEncoder().fit(table.iloc[:2])
    assert plain.notes_ == ["column 'd' holds dates: it becomes its decimal year."]


def test_only_the_year_is_beyond_the_training_range():
    table = pd.DataFrame({"x": np.arange(90.0) % 11, "d": MOMENTS})
    encoder = TableEncoder().fit(table)
    later = table.assign(d=pd.Timestamp("2030-01-01 23:59:59"))
    (said,) = encoder.remarks(later, encoder.encode(later))
    assert said.startswith("column 'd' is beyond its training range, 2019-12-25")


@pytest.mark.parametrize("column", ["2024-13-01", "monday"])
def test_what_is_no_date_has_no_part(column):
    encoder = TableEncoder().fit(pd.DataFrame({"d": MOMENTS}))
    with pytest.raises(TableError, match="'d' must hold dates"):
        encoder.encode(pd.DataFrame({"d": [column]}))


def demand(rows=3000, seed=0):
    """Return hourly demand with effects of the day of the week, of the hour and of the season.

    Half of its variance is the season's, the rest the hour's, the day's and noise.
    """
    rng = np.random.default_rng(seed)
    when = pd.Timestamp("2020-06-01") + pd.to_timedelta(rng.integers(0, 24 * 1100, rows), "h")
    shares = truth(when)
    by_day = dict(zip(WEEK_DAYS, [0.0, 0.3, 0.1, 0.2, 0.8, -1.5, -2.0], strict=True))
    parts = pd.DataFrame(
        {
            "day of the week": shares["d, day of the week"].map(by_day),
            "hour": 1.5 * np.sin(2 * np.pi * (shares["d, hour"] - 7) / 24),
            "month": np.cos(2 * np.pi * (shares["d, month"] - 1) / 12),
        }
    )
    table = pd.DataFrame({"when": when, "x": rng.normal(size=rows)})
    return table, parts.sum(axis=1) + 0.5 * rng.normal(size=rows), parts


def r2(truth, found):
    return 1 - np.mean((truth - found) ** 2) / np.var(truth)


@pytest.mark.parametrize("written", [False, True])
def test_effects_of_the_day_the_hour_and_the_season_are_learnt(written):
    table, y, parts = demand()
    if written:
        table["when"] = table["when"].dt.strftime("%d.%m.%Y %H:%M")
    train, test = slice(None, 2000), slice(2000, None)
    model = MKLRegressor(kernels="auto", degree=1).fit(table[train], y[train])
    ceiling = r2(y[test], parts.sum(axis=1)[test])
    assert 0.85 < ceiling < 0.97
    assert model.score(table[test], y[test]) > ceiling - 0.01
    found = model.contributions(table[test])
    for name, effect in parts[test].items():
        own = found[f"when, {name}"].to_numpy()
        assert r2(effect - effect.mean(), own - own.mean()) > 0.98
    # The date matters, and nothing else does; all its parts are its own.
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_[0] > 0.95
    # Dates as plain numbers are what they were before: nothing to learn from, here.
    moments = pd.to_datetime(table["when"], format="%d.%m.%Y %H:%M" if written else None)
    years = table.assign(when=1970 + moments.astype("int64") / 1e9 / 86400 / 365.2425)
    alone = MKLRegressor(kernels="auto", degree=1).fit(years[train], y[train])
    assert alone.score(years[test], y[test]) < 0.3


@pytest.fixture(scope="module")
def fitted():
    table, y, _ = demand(600)
    table.loc[3:20, "when"] = pd.NaT
    frame = table.assign(y=y)
    settings = Settings("y", kernels="auto", degree=[1])
    split = split_table(frame, settings)
    return fit_table(split, settings), frame


def test_models_of_dates_are_stored(fitted, tmp_path):
    model, frame = fitted
    again = load(model.save(tmp_path / "m.mk"))
    assert again.encoder.columns_ == model.encoder.columns_
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "parts",
    [
        None,
        "hour",
        [("hour", 1.0)],
        ("hour",),
        (("hour",),),
        (("hour", 1.0, 2.0),),
        (("minute", 1.0),),
        (("hour", "1"),),
        (("hour", 1),),
        (("hour", float("nan")),),
        (("hour", 1.0), ("hour", 1.0)),
        ((["hour"], 1.0),),
    ],
)
def test_files_with_parts_of_dates_that_are_none_are_refused(parts, tmp_path):
    table, y, _ = demand(60)
    settings = Settings("y", kernels="linear", degree=[1], test=0)
    model = fit_table(split_table(table.assign(y=y), settings), settings)
    vars(model.encoder.columns_[0])["parts"] = parts
    model.save(tmp_path / "m.mk")
    with pytest.raises(ModelFileError, match=r"parts of 'when'|not finite"):
        load(tmp_path / "m.mk")


def test_files_from_before_there_were_parts_predict_as_then(tmp_path):
    table = pd.DataFrame({"d": dates("2024-01-01", 25, "D"), "x": np.arange(25.0) % 7})
    table["d"] = table["d"].where(table.index != 3)
    y = np.arange(25.0)
    settings = Settings("y", kernels="auto", degree=[1], test=0)
    model = fit_table(split_table(table.assign(y=y), settings), settings)
    assert model.encoder.columns_[0].parts == ()
    del vars(model.encoder.columns_[0])["parts"]
    again = load(model.save(tmp_path / "m.mk"))
    later = table.assign(d=dates("2020-01-01 07:00", 25, "40D 1h"))
    assert again.encoder.get_feature_names_out().tolist() == ["d", "d is missing", "x"]
    pd.testing.assert_frame_equal(again.predict(later), model.predict(later))


def test_reports_write_days_and_hours_as_such(fitted):
    model, frame = fitted
    subject = subject_of(model, frame, frame["y"], None, None)
    said = content.effect_sentence(subject, "when, day of the week")
    assert "lowest there at when, day of the week = Sunday and" in said
    said = content.effect_sentence(subject, "when, hour")
    low, high = (int(said.split("when, hour = ")[k][:2]) for k in (1, 2))
    assert (abs(low - 1) <= 2, abs(high - 13) <= 2) == (True, True)
    assert "and highest at" in said
    said = content.effect_sentence(subject, "when")
    assert "it is lowest at when = 202" in said


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (8.5, 23.25, ("08:30", "23:15")),
        (0.0, 23.99999999, ("00:00", "23:59")),
        (7.001, 7.002, ("07:00:04", "07:00:07")),
        (7.5, 7.5, ("07:30", "07:30")),
    ],
)
def test_hours_are_written_as_times_of_day(low, high, texts):
    assert two_entries(low, high, None, "hour") == texts


def test_figures_name_days_of_the_week(fitted):
    pytest.importorskip("matplotlib")
    model, frame = fitted
    rows = model.encode(frame.iloc[[40]])
    display = ContributionsDisplay.from_estimator(model.estimator, rows, levels=model.levels)
    day = frame["when"][40].day_name()
    assert f"when, day of the week = {day}" in display.names


def test_the_column_of_times_is_used_if_kept():
    table, y, _ = demand(200)
    frame = table.assign(y=y)
    kept = Settings("y", kernels="auto", degree=[1], time="when", keep=["when"])
    split = split_table(frame, kept)
    assert "when, hour" in split.encoder.get_feature_names_out()
    left = split_table(frame, Settings("y", time="when"))
    assert left.encoder.get_feature_names_out().tolist() == ["x"]


def test_the_command_line_takes_dates(tmp_path):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from manykernels.cli.app import app

    table, y, _ = demand(400)
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    path, model = str(tmp_path / "t.csv"), str(tmp_path / "m.mk")
    how = ["--target", "y", "--kernels", "auto", "--degree", "1", "--quiet", "--model", model]
    done = CliRunner().invoke(app, ["fit", path, *how])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "it becomes its decimal year, 'when, day of the week', 'when, hour' and" in said
    done = CliRunner().invoke(app, ["explain", model, path, "--row", "7"])
    assert "when, day of the week" in done.output
    done = CliRunner().invoke(app, ["predict", model, path, "--out", str(tmp_path / "p.csv")])
    assert done.exit_code == 0, done.output
    assert r2(y, pd.read_csv(tmp_path / "p.csv")["y"]) > 0.8


def test_one_day_is_a_date():
    """A date without a time of day is midnight; a day of a calendar, whatever holds it."""
    encoder = TableEncoder().fit(pd.DataFrame({"d": MOMENTS}))
    days = pd.Series([dt.date(2024, 2, 29)], dtype=object)
    assert encoded(days, encoder).iloc[0].tolist() == ["Thursday", 0.0, 2 + 28 / 29]


@pytest.mark.parametrize("kernels", [["rbf"], RBF(), "rbf"])
def test_kernels_of_all_columns_do_without_days_of_the_week(kernels):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=200, freq="5h")})
    X["x"] = rng.normal(size=200)
    model = MKLRegressor(kernels=kernels, degree=1, alpha=0.1, p=2).fit(X, X["x"])
    assert not any("day of the week" in term for term in model.explain()["term"])


def test_dates_that_are_levels_of_older_files_are_known():
    old = Category("d", ["2024-01-01 00:00:00", "2024-01-02 12:30:00"])
    dates = pd.Series([pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02 12:30")])
    assert old.encode(dates)[0].tolist() == [0.0, 1.0]
