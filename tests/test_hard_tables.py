"""Commands on tables that are odd, hostile or of extreme values: full digits, clear words."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

import manykernels
from manykernels.cli.app import app
from manykernels.tables import Settings, fit_table, split_table
from manykernels.tables.written import without_formulas


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=rows)
    return frame


def fitted(frame, path, target="y"):
    settings = Settings(target, kernels="linear", degree=[1])
    return fit_table(split_table(frame, settings), settings).save(path)


@pytest.mark.parametrize("scale", [1e-300, 1e-14, 1.0, 1e12])
def test_predictions_have_all_digits(scale, tmp_path):
    frame = table()
    frame["y"] *= max(scale, 1e-100)  # squares of the target must not vanish
    model, data = fitted(frame, tmp_path / "m.mk"), tmp_path / "t.csv"
    frame.to_csv(data, index=False)
    expected = manykernels.load(model).predict(frame)["y"].tolist()
    found = json.loads(invoke("predict", model, data, "--json").stdout)
    assert [row["y"] for row in found] == expected
    invoke("predict", model, data, "-o", tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [float(line) for line in lines[1:]] == expected


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "\uff1d1+1"]
PLAIN = ["-1", "+1", "-1.5e3", "a=b", "1-2", "", "yes"]


def test_text_that_spreadsheets_would_run_is_escaped():
    frame = pd.DataFrame({"=t": FORMULAS + PLAIN, "n": -1.0})
    frame[[f"probability of {label}" for label in FORMULAS + PLAIN]] = 0.5
    out = without_formulas(frame)
    escaped = [f"'{text}" for text in FORMULAS] + PLAIN
    assert out["'=t"].tolist() == escaped
    assert out.columns[2:].tolist() == [f"probability of {text}" for text in escaped]
    assert (out["n"] == -1).all()


def test_labels_that_are_formulas(tmp_path):
    frame, data = table(), tmp_path / "t.csv"
    frame["y"] = np.where(frame["y"] > 0, "=1+1", "no")
    frame.to_csv(data, index=False)
    model = fitted(frame, tmp_path / "m.mk")
    names, *lines = invoke("predict", model, data).stdout.splitlines()
    assert names == "y,probability of '=1+1,probability of no"
    assert {line.split(",")[0] for line in lines} == {"'=1+1", "no"}
    names, *lines = invoke("predict", model, data, "--no-escape").stdout.splitlines()
    assert names == "y,probability of =1+1,probability of no"
    assert {line.split(",")[0] for line in lines} == {"=1+1", "no"}
    found = json.loads(invoke("predict", model, data, "--json").stdout)
    assert {row["y"] for row in found} == {"=1+1", "no"}
