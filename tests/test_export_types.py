"""Exported SQL on columns of categories that a database takes for something else than text."""

import numpy as np
import pandas as pd
import pytest

from manykernels import export
from manykernels.tables import Settings, fit_table, split_table
from manykernels.tables.reading import read
from test_export import CLOSE, run_duckdb, run_sqlite

ROWS = 60


def fitted(tmp_path, levels, as_text=False, gaps=False):
    """Return a model of a file, the path of new rows, and those as the library reads them."""
    rng = np.random.default_rng(0)
    codes = np.arange(ROWS) % len(levels)
    table = pd.DataFrame({"c": np.array(levels, dtype=object)[codes], "x": rng.normal(size=ROWS)})
    if gaps:
        table.loc[::7, "c"] = None
    table["y"] = codes + table["x"] + rng.normal(size=ROWS) / 9
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    frame = table if as_text else read(path)
    how = Settings("y", test=0, degree=[1], kernels="auto", categories=["c"])
    model = fit_table(split_table(frame, how), how)
    return model, path, frame


def duckdb_rows(model, path):
    """Return predictions of rows of a file as DuckDB reads it, and the type of the column."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE data AS SELECT * FROM read_csv('{path}')")
        kind = base.execute("SELECT typeof(c) FROM data LIMIT 1").fetchall()[0][0]
        return base.execute(export.to_sql(model)).df()["prediction"].astype(float), kind


def same(found, own):
    np.testing.assert_allclose(found, own, rtol=0, atol=CLOSE * np.abs(own).max())


INFERRED = {
    "yes": (["yes", "no"], "BOOLEAN"),
    "Yes": (["Yes", "No"], "BOOLEAN"),
    "t": (["t", "f"], "BOOLEAN"),
    "y": (["y", "n"], "VARCHAR"),
    "TRUE": (["TRUE", "FALSE"], "BOOLEAN"),
    "false": (["true", "false"], "BOOLEAN"),
    "one": (["1", "2", "10"], "BIGINT"),
    "01": (["01", "02", "10"], "VARCHAR"),
    "zeros": (["00", "07", "0.50"], "VARCHAR"),
    "plus": (["+1", "+2"], "VARCHAR"),
    "1.0": (["1.0", "2.50", "3.25"], "DOUBLE"),
    "1e3": (["1e3", "25", "1e17"], "DOUBLE"),
    "-0.5": (["-0.5", "-1", "3"], "DOUBLE"),
    "hex": (["0x1F", "0x2F"], "BIGINT"),
    "large": (["9007199254740993", "9007199254740992", "7"], "BIGINT"),
    "day": (["2024-01-02", "2024-05-06"], "DATE"),
    "german": (["31.01.2024", "01.02.2024"], "DATE"),
    "english": (["31/01/2024", "02/03/2024"], "DATE"),
    "american": (["01/31/2024", "02/03/2024"], "DATE"),
    "moment": (["2024-01-02 10:00", "2024-05-06 00:00"], "TIMESTAMP"),
    "seconds": (["2024-01-02T10:00:07.5", "2024-05-06T00:00:00"], "TIMESTAMP"),
    "clock": (["07:30", "18:00"], "TIME"),
}

OTHERWISE = ["1e3"]
"""Numbers whose text may be something else: NULL."""


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("name", INFERRED)
def test_types_that_duckdb_infers(tmp_path, name, gaps):
    levels, expected = INFERRED[name]
    if gaps and name == "large":
        return  # read as floats, which do not tell them apart
    model, path, frame = fitted(tmp_path, levels, gaps=gaps)
    found, kind = duckdb_rows(model, path)
    assert kind == expected
    own = model.predict(frame)["y"]
    assert own.nunique() > ROWS / 2
    same(found, own)
    # SQLite's own import keeps everything as text, gaps as empty text.
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    found = run_sqlite(export.to_sql(model), text)["prediction"].astype(float)
    assert (found.isna() == text["c"].isin(OTHERWISE)).all()
    same(found[found.notna()], own[found.notna()])


@pytest.mark.parametrize("name", ["yes", "01", "1.0", "english", "clock"])
def test_the_same_levels_as_text(tmp_path, name):
    model, _, frame = fitted(tmp_path, INFERRED[name][0], as_text=True)
    own = model.predict(frame)["y"]
    for run in (run_sqlite, run_duckdb):
        same(run(export.to_sql(model), frame)["prediction"].astype(float), own)


UNKNOWABLE = {
    "two truths": (["yes", "true", "no"], pd.Series([True, False]), [True, False]),
    "no truth": (["on", "off"], pd.Series([True, False]), [True, True]),
    "two ones": (["1", "01", "2"], pd.Series([1, 2]), [True, False]),
    "no number": (["a", "b"], pd.Series([1, 2]), [True, True]),
    "which month": (
        ["02/03/2024", "05/06/2024", "04/04/2024"],
        pd.to_datetime(pd.Series(["2024-03-02", "2024-04-04"])),
        [True, False],
    ),
    "no date": (["a", "b"], pd.to_datetime(pd.Series(["2024-03-02", "2024-04-04"])), [True, True]),
}


@pytest.mark.parametrize("name", UNKNOWABLE)
def test_null_where_nothing_can_be_known(tmp_path, name):
    levels, column, unknown = UNKNOWABLE[name]
    model, _, _ = fitted(tmp_path, levels, as_text=True)
    frame = pd.DataFrame({"c": column, "x": [0.5, 1.0]})
    found = run_duckdb(export.to_sql(model), frame)["prediction"].astype(float)
    assert found.isna().tolist() == unknown


def test_unknown_categories_of_other_types(tmp_path):
    """A value of a kind that the levels are of, but none of them, is an unknown category."""
    for levels, column, text in (
        (["no", "maybe"], [True, False], ["yes", "no"]),
        (["1", "2"], [7, 2], ["7", "2"]),
        (["1.5", "1.6"], ["1.5.0", "1.5"], ["1.5.0", "1.5"]),
        (["07:30", "18:00"], ["7:45", "18:00"], ["7:45", "18:00"]),
    ):
        model, _, _ = fitted(tmp_path, levels, as_text=True)
        own = model.predict(pd.DataFrame({"c": text, "x": [0.5, 1.0]}))["y"]
        frame = pd.DataFrame({"c": column, "x": [0.5, 1.0]})
        same(run_duckdb(export.to_sql(model), frame)["prediction"].astype(float), own)


@pytest.mark.parametrize("gap", ["NA", "null", "None", "nan"])
def test_words_for_gaps_that_a_database_keeps(tmp_path, gap):
    """Without gaps in training a gap is an unknown category; else NULL."""
    for gaps in (False, True):
        model, path, _ = fitted(tmp_path, ["a", "b", "c"], gaps=gaps)
        frame = pd.DataFrame({"c": [gap, "a"], "x": [0.5, 1.0]})
        frame.to_csv(path, index=False)
        own = model.predict(read(path))["y"].to_numpy()
        for found in (duckdb_rows(model, path)[0], run_sqlite(export.to_sql(model), frame)):
            found = found if isinstance(found, pd.Series) else found["prediction"].astype(float)
            assert abs(found[1] - own[1]) < CLOSE
            assert np.isnan(found[0]) if gaps else abs(found[0] - own[0]) < CLOSE
