"""Exported models predict what the model predicts: Python, SQLite, DuckDB, LaTeX."""

import builtins
import calendar
import datetime as dt
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from manykernels import MKLClassifier, MKLRegressor, export
from manykernels.export.formula import Formula, Line, ProductSum
from manykernels.export.python import to_python
from manykernels.export.sources import Source
from manykernels.export.sql import balanced, to_sql
from manykernels.feature_maps import Centred, Nystroem, Polynomial, Spline
from manykernels.kernels import Precomputed
from manykernels.tables import Settings, fit_table, split_table

CLOSE = 1e-9


def only_math(name, *rest):
    assert name == "math", name
    return builtins.__import__(name, *rest)


def run_python(text):
    """Run exported Python in a namespace of its own, where nothing but math can be imported."""
    safe = {**vars(builtins), "__import__": only_math, "open": None, "eval": None, "exec": None}
    names = {"__builtins__": safe}
    exec(compile(text, "exported", "exec"), names)
    return names


def records(frame):
    """Return rows as plain Python has them."""
    rows = []
    for row in frame.to_dict("records"):
        plain = {}
        for name, value in row.items():
            missing = value is None or value is pd.NaT or value != value
            plain[name] = None if missing else getattr(value, "item", lambda v=value: v)()
        rows.append(plain)
    return rows


def run_sqlite(query, frame, table="data"):
    """Run a query on a table in SQLite, as it comes with Python."""
    out = frame.copy()
    for name in out.columns:
        if out[name].dtype.kind == "M":
            out[name] = out[name].dt.strftime("%Y-%m-%d %H:%M:%S.%f")
    with sqlite3.connect(":memory:") as base:
        quoted = ", ".join('"' + str(name).replace('"', '""') + '"' for name in out.columns)
        place = '"' + table.replace('"', '""') + '"'
        base.execute(f"CREATE TABLE {place} ({quoted})")
        marks = ", ".join("?" * out.shape[1])
        rows = [tuple(row.values()) for row in records(out)]
        base.executemany(f"INSERT INTO {place} VALUES ({marks})", rows)
        found = base.execute(query)
        names = [one[0] for one in found.description]
        return pd.DataFrame(found.fetchall(), columns=names)


def run_duckdb(query, frame, table="data"):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.register("source of rows", frame)
        place = '"' + table.replace('"', '""') + '"'
        base.execute(f'CREATE TABLE {place} AS SELECT * FROM "source of rows"')
        base.unregister("source of rows")
        return base.execute(query).df()


def check(model, frame, engines=("python", "sqlite", "duckdb")):
    """Compare predictions of exported models with those of the model."""
    own = model.predict(frame)
    chances = None
    if isinstance(own, pd.DataFrame):
        own, chances = own.iloc[:, 0], own.iloc[:, 1:].to_numpy() if own.shape[1] > 1 else None
    elif hasattr(model, "predict_proba"):
        chances = model.predict_proba(frame)
    own = np.asarray(own)
    frame = frame if isinstance(frame, pd.DataFrame) else named(frame)
    for engine in engines:
        if engine == "python":
            names = run_python(export.to_python(model))
            rows = records(frame)
            found = np.array([names["predict"](row) for row in rows])
            parts = None
            if "predict_proba" in names:
                parts = np.array([list(names["predict_proba"](row).values()) for row in rows])
        else:
            run = run_sqlite if engine == "sqlite" else run_duckdb
            table = run(export.to_sql(model), frame)
            assert len(table) == len(frame)
            assert table["manykernels_row"].tolist() == list(range(1, len(frame) + 1))
            found = table["prediction"].to_numpy()
            parts = table.filter(regex="^probability of ").to_numpy()
        if own.dtype.kind == "f" and chances is None:
            size = max(1.0, float(np.abs(own).max()))
            assert np.max(np.abs(found.astype(float) - own)) <= CLOSE * size, engine
        else:
            assert [str(one) for one in found] == [str(one) for one in own], engine
        if chances is not None:
            assert np.max(np.abs(parts.astype(float) - chances)) <= CLOSE, engine
    return own


def named(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def data(rows=120, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    X[:, 1] = np.round(2 * X[:, 1])
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, -1]) + 0.1 * rng.normal(size=rows)


KERNELS = {
    "linear": {"degree": 3, "p": 1, "alpha": 0.01},
    "scale": {"degree": 2, "p": 1, "alpha": 0.01, "standardize": "scale"},
    "raw": {"degree": 2, "p": 1, "alpha": 0.01, "standardize": False},
    "tuples": {"degree": 2, "index_set": "tuples"},
    "rho": {"degree": 2, "rho": [1, 1, 3], "p": 1.5},
    "auto": {"kernels": "auto", "degree": 2, "p": 1, "alpha": 0.01},
    "spline": {"kernels": [(Spline(6), [j]) for j in range(3)], "degree": 2, "p": 1, "alpha": 0.01},
    "polynomial": {"kernels": "polynomial", "degree": 2, "p": 1, "alpha": 0.01},
    "nystroem": {"kernels": Nystroem(5), "degree": 2, "p": 1, "alpha": 0.01},
    "categorical": {"kernels": [("categorical", [1]), ("linear", [0])], "degree": 2, "p": 1},
    "several": {
        "kernels": [
            (Nystroem(8), [0, 2]),
            ("linear", [0, 1]),
            (Polynomial(2), [1]),
            ("spline", [2]),
        ],
        "degree": 3,
        "p": 1,
        "alpha": 0.003,
    },
    "greedy": {"degree": 2, "solver": "greedy", "max_iter": 5},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    X, y = data()
    model = MKLRegressor(**KERNELS[name], random_state=0).fit(X, y)
    beyond = 3 * data(40, seed=1)[0]  # also where functions are kept between their ends
    check(model, np.concatenate([X[:20], beyond]))


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes(loss, classes):
    X, y = data()
    label = np.digitize(y, [0.0] if classes == 2 else [-0.7, 0.7])
    kernels = [("polynomial", [0]), ("categorical", [1]), ("spline", [2])]
    model = MKLClassifier(kernels=kernels, degree=1, p=1, alpha=0.1, loss=loss).fit(X, label)
    check(model, np.concatenate([X[:30], 50 * X[:10]]))


def test_classes_with_a_softmax():
    X, y = data()
    label = np.digitize(y, [-0.7, 0.7])
    kernels = [("polynomial", [0]), ("categorical", [1]), ("spline", [2])]
    model = MKLClassifier(kernels=kernels, degree=1, p=1, alpha=0.1).fit(X, label)
    plain = model.predict_proba(X)
    model.function_ = replace(model.function_, softmax=True)
    assert not np.allclose(model.predict_proba(X), plain)
    check(model, np.concatenate([X[:30], 50 * X[:10], 1e4 * X[:10]]))
    assert r"q_{c} &= e^{f_{c}}" in export.to_latex(model)


def mean_table(rows=200):
    """A table with quotes, unicode, gaps, dates, numbers and flags as categories."""
    rng = np.random.default_rng(3)
    kinds = np.array(["a'b", 'say "x"', "größe 📏", "back\\slash", "; DROP TABLE data; --", "π"])
    table = pd.DataFrame(
        {
            "area m²": rng.gamma(5, 10, size=rows),
            'the "kind"': rng.choice(kinds, size=rows),
            "code'": rng.choice([1.0, 2.0, 2.5], size=rows),
            "flag": rng.choice([True, False], size=rows),
            "day\nof": pd.Timestamp("1999-12-28")
            + pd.to_timedelta(rng.integers(0, 86400 * 3000, size=rows), unit="s"),
            "class": np.round(rng.normal(size=rows), 3),
        }
    )
    table["y"] = (
        table["area m²"] * (1 + table["flag"])
        + 20 * (table['the "kind"'] == "π")
        + 5 * table["code'"]
        + rng.normal(size=rows)
    )
    for k, name in enumerate(["area m²", 'the "kind"', "day\nof", "class"]):
        table.loc[10 * k : 10 * k + 12, name] = None
    return table


@pytest.fixture(scope="module")
def table_model():
    table = mean_table()
    how = Settings("y", test=0, categories=["code'"], degree=[2], kernels="auto")
    return fit_table(split_table(table, how), how), table.drop(columns="y")


def test_tables(table_model):
    model, table = table_model
    new = table.iloc[:60].reset_index(drop=True)
    new.loc[0:2, 'the "kind"'] = ["never seen", "A'B", "  π\t"]
    new.loc[4:5, 'the "kind"'] = ["(missing)", "(other)"]
    new.loc[6, "code'"] = 7.0
    new.loc[7, "area m²"] = 1e9
    new.loc[8, "day\nof"] = pd.Timestamp("1900-02-28 23:59:59")
    new.loc[9, "day\nof"] = pd.Timestamp("2400-02-29")
    check(model, new)


def test_a_table_of_classes(table_model):
    table = mean_table()
    table["y"] = pd.cut(table["y"], 3, labels=["it's", 'a "b"', "größe"]).astype(str)
    counts = table["y"].value_counts()
    table = table[table["y"].isin(counts[counts >= 10].index)]
    how = Settings("y", test=0, categories=["code'"], degree=[1], kernels="auto")
    model = fit_table(split_table(table, how), how)
    check(model, table.drop(columns="y"))


@pytest.mark.parametrize("style", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d"])
def test_dates_as_text(style):
    days = pd.Series(pd.date_range("2019-12-25", periods=80, freq="23D"))
    table = pd.DataFrame({"d": days.dt.strftime(style), "x": np.sin(np.arange(80.0))})
    table["y"] = table["x"] + np.arange(80) / 7
    how = Settings("y", test=0, degree=[1], kernels="linear")
    model = fit_table(split_table(table, how), how)
    check(model, table[["d", "x"]])
    # Dates as dates, where text was learnt from.
    names = run_python(export.to_python(model))
    own = model.predict(table)["y"]
    for k in (0, 30):
        for day in (days[k].to_pydatetime(), days[k].date(), days[k].strftime("%Y-%m-%d")):
            row = {"d": day, "x": float(table["x"][k])}
            assert abs(names["predict"](row) - own[k]) < CLOSE * 100


@pytest.mark.parametrize(
    "style",
    [
        "%d/%m/%Y %H:%M",
        "%d.%m.%Y %H:%M:%S",
        "%m/%d/%Y %I:%M %p",
        "%-d-%-m-%Y %H:%M",
        "%d/%m/%Y, %H:%M",
        "%Y/%m/%d %H:%M",
    ],
)
def test_dates_with_times_as_text(style):
    moments = pd.Series(pd.date_range("2019-12-25", periods=80, freq="23D 7h 11min"))
    table = pd.DataFrame({"d": moments.dt.strftime(style), "x": np.sin(np.arange(80.0))})
    table["y"] = table["x"] + np.arange(80) / 7
    how = Settings("y", test=0, degree=[1], kernels="linear")
    model = fit_table(split_table(table, how), how)
    assert "d" in model.encoder.names
    check(model, table[["d", "x"]])


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:34:56.789",
        "2024-02-29 12:34",
        "2024-02-29T12:34:56Z",
        "2024-02-29T12:34:56+02:00",
        "2024-02-29T01:34:56-0530",
        "1969-12-31 23:59:59.5",
    ],
)
def test_times_as_text(text):
    source = Source("t", "moment", 0.0)
    one = Formula(
        "y", {0: source}, np.zeros(1), np.ones(1), {0: Line([0])}, [], np.zeros(1), [], ""
    )
    one.parts.append(ProductSum("t", (0,), np.ones((1, 1))))
    seconds = pd.Timestamp(text).timestamp()
    expected = 1970 + seconds / (365.2425 * 86400)
    assert run_python(to_python(one))["predict"]({"t": text}) == pytest.approx(expected, abs=1e-10)
    frame = pd.DataFrame({"t": [text]})
    for run in (run_sqlite, run_duckdb):
        found = run(to_sql(one), frame)["prediction"][0]
        if "+02" in text or "-05" in text:  # times of other zones are not guessed at
            assert found is None or np.isnan(found)
        else:
            assert found == pytest.approx(expected, abs=1e-10)


ODD_MOMENTS = [
    "2024-02-29 12:34:56.789",
    "1969-12-31 23:59:59.5",
    "1900-02-28",
    "1899-12-31 23:00",
    "2000-12-31 23:59:59",
    "2100-03-01 00:00",
    "2024-01-01",
    "2023-12-31T06:30:00Z",
    "0999-07-04 01:02:03",
    "9999-12-31 23:59:58",
]


def one_source(source):
    """Return the formula that a column of numbers is itself."""
    one = Formula(
        "y", {0: source}, np.zeros(1), np.ones(1), {0: Line([0])}, [], np.zeros(1), [], ""
    )
    one.parts.append(ProductSum("t", (0,), np.ones((1, 1))))
    return one


def day_of_week(moment):
    return moment.weekday()


def hour(moment):
    return moment.hour + moment.minute / 60 + (moment.second + moment.microsecond / 1e6) / 3600


def month(moment):
    days = calendar.monthrange(moment.year, moment.month)[1]
    return moment.month + (moment.day - 1 + hour(moment) / 24) / days


PARTS = {"day of the week": day_of_week, "hour": hour, "month": month}


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_dates(part):
    rng = np.random.default_rng(0)
    drawn = pd.Timestamp("1890-01-01") + pd.to_timedelta(rng.integers(0, 8e9, 300), "s")
    words = pd.Series([*ODD_MOMENTS, *drawn.strftime("%Y-%m-%d %H:%M:%S")])
    expected = [PARTS[part](dt.datetime.fromisoformat(word)) for word in words]
    one = one_source(Source("t", "moment", 0.25, part=part))
    predict = run_python(to_python(one))["predict"]
    words[len(words)], expected = None, [*expected, 0.25]
    np.testing.assert_allclose([predict({"t": word}) for word in words], expected, atol=1e-9)
    for run in (run_sqlite, run_duckdb):
        found = run(to_sql(one), pd.DataFrame({"t": words}))["prediction"]
        np.testing.assert_allclose(found.astype(float), expected, atol=1e-9)
        wrong = run(to_sql(one), pd.DataFrame({"t": ["2023-02-29", "2023-13-01"]}))
        assert wrong["prediction"].isna().all()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("shift", ["+02:00", "-05:30", "+14:00"])
def test_parts_of_dates_of_other_zones(part, shift):
    one = one_source(Source("t", "moment", 0.0, part=part))
    predict = run_python(to_python(one))["predict"]
    for text in ("2024-02-29T23:34:56", "2024-01-01T01:00:00", "2023-12-31T22:00:00"):
        moment = dt.datetime.fromisoformat(text + shift)
        expected = pytest.approx(PARTS[part](moment.astimezone(dt.UTC)), abs=1e-9)
        assert predict({"t": text + shift}) == expected
        assert predict({"t": moment}) == expected


@pytest.mark.parametrize("style", ["%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %H:%M"])
def test_models_of_parts_of_dates(style):
    rng = np.random.default_rng(1)
    when = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9e4, 300), "h"))
    y = when.dt.day_of_week.isin([0, 5]) + np.sin(when.dt.hour / 4) + np.cos(when.dt.month / 2)
    table = pd.DataFrame({"d": when.dt.strftime(style), "x": rng.normal(size=300)})
    table.loc[5:30, "d"] = None
    how = Settings("y", test=0, degree=[2], kernels="auto")
    model = fit_table(split_table(table.assign(y=y), how), how)
    terms = model.explain(None).head(8)["term"].tolist()
    assert {"d, day of the week", "d, hour", "d, month"} <= set(terms)
    check(model, table)
    text = export.to_latex(model)
    for words in ("day of the week (0 for Monday) of d", "hour (with its fraction) of d"):
        assert rf"\text{{{words}}}" in text


def test_a_date_is_read_once_for_all_its_parts():
    sources = {j: Source("t", "moment", 0.0, part=part) for j, part in enumerate(["", *PARTS])}
    blocks = {j: Line([j]) for j in sources}
    parts = [ProductSum(f"{j}", (j,), np.ones((1, 1))) for j in sources]
    one = Formula("y", sources, np.zeros(4), np.ones(4), blocks, parts, np.zeros(1), [], "")
    query = to_sql(one)
    assert query.count("AS x0") == 1
    assert "AS x1" not in query
    moment = dt.datetime(2024, 2, 29, 12, 30)
    expected = 1970 + moment.replace(tzinfo=dt.UTC).timestamp() / 31556952.0
    expected += sum(function(moment) for function in PARTS.values())
    for run in (run_sqlite, run_duckdb):
        found = run(query, pd.DataFrame({"t": [str(moment)]}))["prediction"][0]
        assert found == pytest.approx(expected, abs=1e-9)


def test_values_that_cannot_be_used(table_model):
    model, table = table_model
    names = run_python(export.to_python(model))
    row = records(table)[50]
    for name, value in (("area m²", "text"), ("area m²", np.inf), ("day\nof", "2023-02-30")):
        with pytest.raises(ValueError, match=r"'area m²' must hold plain, finite|is no date"):
            names["predict"]({**row, name: value})
    with pytest.raises(KeyError, match="flag"):
        names["predict"]({key: value for key, value in row.items() if key != "flag"})
    query = export.to_sql(model)
    bad = table.iloc[[50, 51, 52, 53]].astype(object)
    bad.iloc[0, 0], bad.iloc[1, 4], bad.iloc[2, 0] = "text", "2023-02-30", np.inf
    bad["day\nof"] = bad["day\nof"].astype(str)
    found = run_sqlite(query, bad)["prediction"]
    assert found.isna().tolist() == [True, True, True, False]
    with pytest.raises(sqlite3.OperationalError, match="flag"):
        run_sqlite(query, table.drop(columns="flag"))


TWINS = [("a", "A"), ("länge", "LÄNGE"), ("x y", "X Y")]


@pytest.mark.parametrize("names", TWINS, ids=repr)
def test_names_that_differ_in_case_only(names):
    X, y = data(60)
    frame = pd.DataFrame(X, columns=[*names, "b"])
    model = MKLRegressor(degree=1, p=1, alpha=1e-3, kernels="linear").fit(frame, y)
    check(model, frame, ["python"])
    both = f"columns {names[0]!r} and {names[1]!r} apart"
    with pytest.raises(ValueError, match=both):
        export.to_sql(model)
    other = MKLRegressor(kernels=[("linear", [1]), ("linear", [2])], degree=1, p=1).fit(frame, y)
    with pytest.raises(ValueError, match=both):  # a database renames one of them
        export.to_sql(other)


@pytest.mark.parametrize("name", ["prediction", "Prediction", "manykernels_row"])
def test_names_of_the_result(name):
    X, y = data(60)
    frame = pd.DataFrame(X, columns=["a", name, "b"])
    model = MKLRegressor(degree=1, p=1, alpha=1e-3, kernels="linear").fit(frame, y)
    check(model, frame, ["python"])
    with pytest.raises(ValueError, match=f"adds a column '{name.lower()}', and the table has"):
        export.to_sql(model)


def test_names_of_probabilities():
    X, y = data(60)
    frame = pd.DataFrame(X, columns=["a", "Probability of up", "b"])
    label = np.where(y > 0, "up", "down")
    model = MKLClassifier(degree=1, p=1, kernels="linear").fit(frame, label)
    check(model, frame, ["python"])
    with pytest.raises(ValueError, match="adds a column 'probability of up', and the table has"):
        export.to_sql(model)


@pytest.mark.parametrize("kernels", ["linear", "auto", "polynomial", "nystroem"])
@pytest.mark.parametrize("given", ["array", "frame"])
def test_gaps_at_prediction_only(kernels, given):
    X, y = data(80)
    model = MKLRegressor(kernels=kernels, degree=1, p=1, alpha=0.01)
    model.fit(X if given == "array" else named(X), y)
    new = X[:30].copy()
    new[np.random.default_rng(0).random(new.shape) < 0.3] = np.nan
    check(model, new if given == "array" else named(new))


def test_gaps_of_models_that_fill_none():
    X, y = data(80)
    rows = scipy.sparse.csr_array(X)
    model = MKLRegressor("linear", degree=1, p=1, standardize=False).fit(rows, y)
    names = run_python(export.to_python(model))
    with pytest.raises(ValueError, match="column 'x1' must have a value; got none"):
        names["predict"]({"x0": 1.0, "x1": None, "x2": 1.0})


def test_written_numbers_are_told_of():
    X, y = data(80)
    frame = named(X)
    frame["x0"] = [f"{1000 * value:,.2f}".translate(str.maketrans(",.", ".,")) for value in X[:, 0]]
    model = MKLRegressor("linear", degree=1, p=1, alpha=1e-3).fit(frame, y)
    for function in (export.to_python, export.to_sql):
        with pytest.warns(UserWarning, match="must hold plain numbers.*written otherwise: 'x0'"):
            text = function(model)
        assert "As plain numbers, unlike in training: 'x0'" in text
    with pytest.warns(UserWarning, match="plain numbers"):
        names = run_python(export.to_python(model))
    row = records(frame)[0]
    with pytest.raises(ValueError, match="column 'x0' must hold plain, finite numbers; got '"):
        names["predict"](row)
    plain = frame.assign(x0=np.round(1000 * X[:, 0], 2))
    with pytest.warns(UserWarning, match="plain numbers"):
        check(model, plain)


def test_the_command_tells_of_written_numbers(tmp_path):
    from typer.testing import CliRunner

    from manykernels.cli.app import app

    X, y = data(80)
    frame = named(X).assign(x0=[f"{value:.2f}".replace(".", ",") for value in X[:, 0]], y=y)
    how = Settings("y", test=0, degree=[1], kernels="linear")
    path = fit_table(split_table(frame, how), how).save(tmp_path / "m.mk")
    for kind in ("python", "sql"):
        said = CliRunner().invoke(app, ["export", str(path), "--to", kind])
        assert said.exit_code == 0
        assert "note: columns must hold plain numbers" in said.stderr
        assert "'x0'" in said.stderr
        assert "As plain numbers, unlike in training: 'x0'" in said.stdout


def test_numbers_as_text_in_a_database(table_model):
    """As ``sqlite3 .import`` reads files: all is text, and gaps are empty."""
    model, table = table_model
    text = table.iloc[:40].copy()
    for name in ("area m²", "class"):
        text[name] = [("" if np.isnan(v) else repr(v)) for v in text[name].tolist()]
    found = run_sqlite(export.to_sql(model), text)["prediction"]
    own = model.predict(table.iloc[:40])["y"].to_numpy()
    assert np.max(np.abs(found - own)) < CLOSE * np.abs(own).max()


REFUSED = {
    "widths": ({"kernels": "widths"}, "kernels of free widths compare a row with all training"),
    "both": ({"kernels": "both"}, "kernels of free widths"),
    "closed": ({"p": 2, "degree": 3}, "is the sum of all kernels .p = 2.*Fit with p=1"),
    "rbf": ({"kernels": "rbf", "degree": 1}, "known by their values between rows only"),
    "callable": ({"kernels": [lambda a, b: a @ b.T], "degree": 1}, "known by their values"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_no_formulas(name):
    options, why = REFUSED[name]
    X, y = data(40, 40 if name == "closed" else 3)
    model = MKLRegressor(**options, max_iter=3, random_state=0).fit(X, y)
    for function in (export.to_python, export.to_sql, export.to_latex):
        with pytest.raises(ValueError, match=rf"cannot be written as a formula: .*{why}"):
            function(model)


class Own(Centred):
    name = "own"

    def _learn(self, x, weights):
        pass

    def _raw(self, x):
        return x[:, None] ** 2


def test_more_models_that_are_no_formulas():
    X, y = data(40)
    rows = np.arange(40).reshape(-1, 1)
    kernel = MKLRegressor(kernels=[Precomputed(X @ X.T, "k")], degree=1).fit(rows, y)
    with pytest.raises(ValueError, match="known by their values"):
        export.to_sql(kernel)
    own = MKLRegressor(kernels=[(Own(), [0])], degree=1, p=1).fit(X, y)
    with pytest.raises(ValueError, match="has features of your own, a Own"):
        export.to_python(own)
    other = LinearRegression().fit(X, y)
    with pytest.raises(TypeError, match="must be a fitted estimator"):
        export.to_python(other)
    with pytest.raises(NotFittedError):
        export.to_python(MKLRegressor())


def small_formula(names, level):
    """A formula of a number and a category with any names."""
    first = Source(names[0], "number", 1.0)
    second = Source(names[1], "category", codes={level: 0.0, "b": 1.0})
    parts = [ProductSum(" * ".join(names), (0, 1), np.full((1, 1, 1), 2.0))]
    blocks = {0: Line([0]), 1: Line([1])}
    shifts, scales = np.array([0.5, -2.0]), np.array([2.0, 1.0])
    sources = {0: first, 1: second}
    return Formula(names[0], sources, shifts, scales, blocks, parts, np.ones(1), [], "")


NASTY = st.text(
    st.one_of(st.sampled_from("\"'\\;-{}()\n\r\t#%$_ \u2028`,"), st.characters()), min_size=1
)


@settings(max_examples=60, deadline=None)
@example("0", "TRUE", "0")
@given(NASTY, NASTY, NASTY)
def test_names_and_categories_are_only_text(first, second, level):
    if first.lower() == second.lower() or level.strip() in ("b", ""):
        return
    formula = small_formula([first, second], level)
    query, taken = "", {"manykernels_row", "prediction", "true", "false"}
    bad = any("\0" in text or re.search("[\ud800-\udfff]", text) for text in (first, second, level))
    if bad or {first.lower(), second.lower()} & taken:
        with pytest.raises(ValueError, match="cannot be written as SQL"):
            to_sql(formula)
    else:
        query = to_sql(formula)
    for value, code in ((level, 0.0), ("b", 1.0), ("other", -1.0), (None, -1.0)):
        if code < 0 and level.strip() == "other":
            continue
        if code == 0 and level != level.strip():
            code = -1.0  # categories are stripped when they are learnt
        expected = 1 + 2 * (3 - 0.5) / 2 * (code + 2)
        row = {first: 3.0, second: value}
        assert run_python(to_python(formula))["predict"](row) == expected
        if not query:
            continue
        assert run_sqlite(query, pd.DataFrame([row]))["prediction"].tolist() == [expected]
    well_formed(export.latex.to_latex(formula))


@pytest.mark.parametrize(
    "bad", ['"; DROP TABLE data; --', "'; DROP TABLE data; --", '"""\nimport os', "x') or ('1"]
)
def test_nothing_is_injected(bad):
    formula = small_formula([bad, bad + "2"], bad)
    frame = pd.DataFrame([{bad: 3.0, bad + "2": bad}] * 2)
    for run in (run_sqlite, run_duckdb):
        assert run(to_sql(formula, bad), frame, bad)["prediction"].tolist() == [6.0, 6.0]
    assert run_python(to_python(formula))["predict"]({bad: 3.0, bad + "2": bad}) == 6.0


def test_limits_of_sqlite_hold():
    """Sums of thousands of products, deeper than SQLite goes if they were one after another."""
    X, y = data(100, 3)
    model = MKLRegressor(kernels="auto", degree=2, alpha=1e-4).fit(X, y)
    assert sum(part.table.size for part in export.formula_of(model).parts) > 1500
    check(model, X[:5], ["sqlite"])
    depth = height = 0
    for c in balanced(["1"] * 100_000):
        height += (c == "(") - (c == ")")
        depth = max(depth, height)
    assert depth <= 17
    sources = {j: Source(f"x{j}", "plain") for j in range(900)}
    wide = Formula("y", sources, np.zeros(900), np.ones(900), {}, [], np.ones(1), [], "")
    with pytest.raises(ValueError, match="900 columns in use, too many"):
        to_sql(wide)


def test_widest_tables_of_sqlite():
    """As many columns as are allowed: no step of the query has more than SQLite's 2,000."""
    names = [f"x{j}" for j in range(600)]
    sources = {j: Source(name, "number") for j, name in enumerate(names)}
    blocks = {j: Line([j]) for j in range(600)}
    parts = [ProductSum(name, (j,), np.ones((1, 1))) for j, name in enumerate(names)]
    ends = np.zeros(600), np.ones(600)
    wide = Formula("y", sources, *ends, blocks, parts, np.zeros(1), [], "")
    frame = pd.DataFrame(np.arange(1200.0).reshape(2, 600), columns=names)
    found = run_sqlite(to_sql(wide), frame)["prediction"].tolist()
    assert found == frame.sum(axis=1).tolist()


def test_many_functions_in_several_steps(monkeypatch):
    monkeypatch.setattr("manykernels.export.sql.STAGE_COLUMNS", 30)
    X, y = data(60, 4)
    kernels = [(Spline(4), [j]) for j in range(4)]
    model = MKLRegressor(kernels=kernels, degree=2, p=1.5, alpha=1e-3).fit(X, y)
    assert "mk_stage2" in export.to_sql(model)
    check(model, X[:5], ["sqlite", "duckdb"])


def well_formed(text):
    """Check that braces, environments and \\left \\right match, and nothing is left unescaped."""
    bare = text.replace("\\\\", " ")
    height = 0
    for k, c in enumerate(bare):
        if c in "{}" and bare[k - 1] != "\\":
            height += 1 if c == "{" else -1
        assert height >= 0
    assert height == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert len(re.findall(r"\\left", text)) == len(re.findall(r"\\right", text))
    inside = "".join(re.findall(r"\\text\{((?:[^{}\\]|\\.|\{\})*)\}", text))
    assert not re.search(r"(?<!\\)[#$%&_~^]", inside)
    outside = re.sub(r"\\text\{(?:[^{}\\]|\\.|\{\})*\}", "", text)
    assert not re.search(r"[#$%~]", outside)


def number_of(text):
    return float(text.replace(r" \cdot 10^{", "e").replace("}", ""))


NUMBER = r"[+-]?\s?[\d.]+(?: \\cdot 10\^\{-?\d+\})?"


def evaluated(text, row):
    """Evaluate the equations of a linear or polynomial model at a row of numbers."""
    known = {rf"\text{{{name}}}": value for name, value in row.items()}
    lines = text.split("\n")[1:-2]
    equations = []
    for line in lines:
        line = line.removesuffix(" \\\\")
        if line.startswith("&\\quad"):
            equations[-1] += line.removeprefix("&\\quad")
        else:
            equations.append(line)
    values = {}
    for equation in equations:
        left, right = equation.split(" &= ")
        code = right
        for name, value in known.items():
            code = code.replace(name, f"({value!r})")
        code = re.sub(r"(-?[\d.]+) \\cdot 10\^\{(-?\d+)\}", r"\1e\2", code)
        code = re.sub(r"\\frac\{([^{}]*(?:_\{\d+\}[^{}]*)*)\}\{([^{}]*)\}", r"((\1)/(\2))", code)
        code = code.replace(r"\left", "").replace(r"\right", "").replace("\\min", "min")
        code = code.replace("\\max", "max").replace(r"\,", "*")
        code = re.sub(r"\^\{(\d+)\}", r"**\1", code)
        code = re.sub(r"([a-z])_\{([\d,]+)\}", lambda m: f"{m[1]}_{m[2].replace(',', '_')}", code)
        name = re.sub(r"_\{([\d,]+)\}", lambda m: "_" + m[1].replace(",", "_"), left)
        if name.startswith("\\"):
            return values["f"]
        values[name] = eval(code, {"min": min, "max": max, **values})
    raise AssertionError("no prediction")


@pytest.mark.parametrize("kernels", ["linear", "polynomial"])
def test_latex_is_the_model(kernels):
    X, y = data()
    model = MKLRegressor(kernels=kernels, degree=2, p=1, alpha=0.01).fit(X, y)
    text = export.to_latex(model, digits=17)
    well_formed(text)
    for row in [*X[:5], *(4 * X[5:8])]:
        found = evaluated(text, {f"x{j}": float(v) for j, v in enumerate(row)})
        assert abs(found - model.predict(row[None])[0]) < CLOSE
    short = export.to_latex(model)
    assert len(short) < len(text)
    assert (
        abs(
            evaluated(short, {"x0": 0.1, "x1": 1.0, "x2": 0.3})
            - model.predict([[0.1, 1.0, 0.3]])[0]
        )
        < 1e-4
    )


def test_latex_of_all_kinds(table_model):
    model, _ = table_model
    text = export.to_latex(model)
    well_formed(text)
    assert r"\text{area m²} \text{ is missing}" in text
    assert r"; DROP TABLE data; --”" in text
    assert r"back\textbackslash{}slash" in text
    X, y = data(60)
    kernels = [(Nystroem(3), [0, 1]), (Nystroem(3), [1]), (Spline(3), [2])]
    smooth = MKLRegressor(kernels=kernels, degree=1, p=1, alpha=0.01).fit(X, y)
    well_formed(export.to_latex(smooth))
    for classes in (2, 3):
        model = MKLClassifier(degree=1, p=1).fit(X, np.arange(60) % classes)
        well_formed(export.to_latex(model))


def test_latex_numbers_of_splines():
    """The table of coefficients, and B-splines as the formula defines them."""
    X, y = data(60, 2)
    kernels = [(Spline(3), [j]) for j in range(2)]
    model = MKLRegressor(kernels=kernels, degree=1, p=1, alpha=0.01).fit(X, y)
    formula, text = export.formula_of(model), export.to_latex(model, digits=17)
    for j, block in formula.blocks.items():
        place = np.interp(X[:, j] * 0 + np.linspace(-2, 2, 60), block.places, block.evenly)
        v = (len(block.axes) - 3) * place[:, None] - np.arange(len(block.axes)) + 3
        signs = zip((1, -4, 6, -4, 1), range(5), strict=True)
        basis = sum(s * np.maximum(v - m, 0) ** 3 for s, m in signs) / 6
        for k in range(block.size):
            line = next(one for one in text.split("\n") if one.startswith(rf"g_{{{j},{k}}} &="))
            found = re.findall(rf"({NUMBER})\\, B_\{{{j},(\d+)\}}", line)
            axes = np.array(
                [number_of(one.replace(" ", "", 1) if one[0] in "+-" else one) for one, _ in found]
            )
            assert np.array_equal(axes, block.axes[:, k])
            raw = np.clip(basis @ axes, block.lowest[k], block.highest[k])
            fitted = model.function_.kernels.fitted[j][1]
            own = fitted.features(np.linspace(-2, 2, 60))[:, k]
            assert np.allclose((raw - block.mean[k]) * block.factor, own, atol=1e-10)


def test_times_of_day_are_objects_too():
    source = Source("t", "moment", 2000.0)
    one = Formula(
        "y", {0: source}, np.zeros(1), np.ones(1), {0: Line([0])}, [], np.zeros(1), [], ""
    )
    one.parts.append(ProductSum("t", (0,), np.ones((1, 1))))
    predict = run_python(to_python(one))["predict"]
    zone = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 7, 1, 12, 30, 15, 250_000, tzinfo=zone)
    assert predict({"t": moment}) == pytest.approx(
        1970 + moment.timestamp() / 31556952.0, abs=1e-10
    )
    assert predict({"t": None}) == predict({"t": float("nan")}) == 2000.0


def test_the_command(table_model, tmp_path):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from manykernels.cli.app import app

    model, table = table_model
    path = str(model.save(tmp_path / "m.mk"))
    made = {"python": export.to_python(model), "latex": export.to_latex(model, 3)}
    made["sql"] = export.to_sql(model, "my table")
    options = {"sql": ["--table", "my table"], "latex": ["--digits", "3"], "python": []}
    for kind, text in made.items():
        done = CliRunner().invoke(app, ["export", path, "--to", kind, *options[kind]])
        assert done.exit_code == 0
        assert done.stdout == text
    out = tmp_path / "m.py"
    done = CliRunner().invoke(app, ["export", path, "--to", "python", "-o", str(out)])
    assert done.exit_code == 0
    assert out.read_text(encoding="utf-8") == made["python"]
    assert CliRunner().invoke(app, ["export", path, "--to", "java"]).exit_code == 2
    assert CliRunner().invoke(app, ["export", path, "--to", "python", "-o", path]).exit_code == 1
    how = Settings("y", test=0, kernels="widths", degree=[1])
    small = table[["area m²"]].dropna().head(40).assign(y=np.arange(40.0))
    wide = str(fit_table(split_table(small, how), how).save(tmp_path / "w.mk"))
    done = CliRunner().invoke(app, ["export", wide, "--to", "sql"])
    assert done.exit_code == 1
    assert "cannot be written as a formula: kernels of free widths" in done.output
    assert "--kernels auto" in done.output


@pytest.mark.parametrize("kind", ["INTEGER", "DECIMAL(18, 3)", "BIGINT", "FLOAT", "VARCHAR"])
def test_types_of_numbers_in_databases(kind):
    duckdb = pytest.importorskip("duckdb")
    formula = small_formula(["n", "k"], "7")
    large = 2**53 + 1 if kind == "BIGINT" else 12
    for connect in (duckdb.connect, sqlite3.connect):
        with connect(":memory:") as base:
            base.execute(f"CREATE TABLE data (n {kind}, k {kind})")
            base.execute(f"INSERT INTO data VALUES (3, 7), (NULL, 7), ({large}, 8)")
            rows = base.execute(to_sql(formula)).fetchall()
            expected = [1 + (n - 0.5) * (code + 2) for n, code in ((3, 0), (1, 0), (large, -1))]
            assert [row[-1] for row in rows] == pytest.approx(expected, rel=1e-12), connect


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ", "VARCHAR"])
def test_types_of_dates_in_duckdb(kind):
    duckdb = pytest.importorskip("duckdb")
    source = Source("t", "moment", 1999.0)
    one = Formula(
        "y", {0: source}, np.zeros(1), np.ones(1), {0: Line([0])}, [], np.zeros(1), [], ""
    )
    one.parts.append(ProductSum("t", (0,), np.ones((1, 1))))
    text = "2024-02-29" if kind == "DATE" else "2024-02-29 12:34:56.25"
    with duckdb.connect() as base:
        base.execute(f"SET TimeZone = 'UTC'; CREATE TABLE data (t {kind})")
        base.execute(f"INSERT INTO data VALUES ('{text}'), (NULL)")
        query = to_sql(one).rstrip(";\n")
        rows = base.execute(f"SELECT prediction FROM ({query})").fetchall()
    expected = 1970 + pd.Timestamp(text, tz="UTC").timestamp() / (365.2425 * 86400)
    assert [row[-1] for row in rows] == pytest.approx([expected, 1999.0], abs=1e-10)


@pytest.mark.parametrize("values", [[True, False, None], [1, 0, None]])
def test_flags_in_databases(values):
    codes = {"False": 0.0, "True": 1.0, "(missing)": 2.0}
    source = Source("k", "category", codes=codes, gap=2.0)
    one = Formula(
        "y", {0: source}, np.zeros(1), np.ones(1), {0: Line([0])}, [], np.zeros(1), [], ""
    )
    one.parts.append(ProductSum("k", (0,), np.ones((1, 1))))
    frame = pd.DataFrame({"k": pd.array(values, dtype="boolean" if values[0] is True else "Int64")})
    for run in (run_sqlite, run_duckdb):
        table = frame.astype(object).where(frame.notna(), None) if run is run_sqlite else frame
        assert run(to_sql(one), table)["prediction"].tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "values",
    [
        [f / 7 for f in range(5)],
        [10**17 + 1, 10**17 + 2, 7],
        [1e17, 2.5e-7, 3.0],
        ["(other)", "(missing)", "'(other)'", "b"],
    ],
)
@pytest.mark.parametrize("stored", ["category", object])
def test_categories_that_are_hard_to_write(values, stored):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(values), 60)
    values = pd.Series(values)
    frame = pd.DataFrame({"id": values[codes].to_numpy(), "x": rng.normal(size=60)})
    frame["id"] = frame["id"].astype("category")
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-3).fit(frame, codes + frame["x"])
    frame["id"] = frame["id"].astype(stored)
    known = model.predict(frame)
    plain = frame.astype({"id": object})
    found = [run_python(export.to_python(model))["predict"](row) for row in records(plain)]
    np.testing.assert_allclose(found, known, rtol=CLOSE)
    for run in (run_sqlite, run_duckdb):
        found = run(export.to_sql(model, "data"), plain.astype({"id": values.dtype}))
        np.testing.assert_allclose(found["prediction"], known, rtol=CLOSE)


def test_categories_that_sql_cannot_tell_apart_are_refused():
    rng = np.random.default_rng(0)
    values = np.array([0.1, 0.1 + 2e-16, 3.0])[rng.integers(0, 3, 60)]
    frame = pd.DataFrame({"id": pd.Categorical(values), "x": rng.normal(size=60)})
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-3).fit(frame, frame["x"] + values)
    with pytest.raises(ValueError, match=r"0\.1.* of 'id' apart\. Export it to Python"):
        export.to_sql(model, "data")
