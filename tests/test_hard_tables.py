"""Commands on tables that are odd, hostile or of extreme values: full digits, clear words."""

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

import manykernels
from manykernels.cli.app import app
from manykernels.tables import Settings, fit_table, read, split_table
from manykernels.tables.formulas import without_formulas
from manykernels.tables.reading import MOST_HEADER


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
    assert out.columns[2:].tolist() == [f"probability of {text}" for text in FORMULAS + PLAIN]
    assert (out["n"] == -1).all()


def test_labels_that_are_formulas(tmp_path):
    frame, data = table(), tmp_path / "t.csv"
    frame["y"] = np.where(frame["y"] > 0, "=1+1", "no")
    frame.to_csv(data, index=False)
    model = fitted(frame, tmp_path / "m.mk")
    names, *lines = invoke("predict", model, data).stdout.splitlines()
    assert names == "y,probability of =1+1,probability of no"  # as in SQL, Python and JSON
    assert {line.split(",")[0] for line in lines} == {"'=1+1", "no"}
    names, *lines = invoke("predict", model, data, "--no-escape").stdout.splitlines()
    assert names == "y,probability of =1+1,probability of no"
    assert {line.split(",")[0] for line in lines} == {"=1+1", "no"}
    found = json.loads(invoke("predict", model, data, "--json").stdout)
    assert {row["y"] for row in found} == {"=1+1", "no"}


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A folder with a table as CSV and a model of it."""
    folder = tmp_path_factory.mktemp("ready")
    frame = table()
    frame.to_csv(folder / "t.csv", index=False)
    fitted(frame, folder / "m.mk")
    return folder


def refused(words, *arguments, code=1):
    done = invoke(*arguments)
    assert done.exit_code == code, done.output
    assert len(done.output) < 5_000
    said = " ".join(done.output.replace("│", " ").split())
    assert words in said, said


def fit(path, *more):
    return ("fit", path, "--target", "y", "--quiet", "--kernels", "linear", "--degree", "1", *more)


OBJECTS = {
    "lists": ([[1, 2]] * 60, "holds lists, not single values"),
    "mappings": ([{"k": i} for i in range(60)], "holds lists, not single values"),
    "bytes": ([bytes([i, 255]) for i in range(60)], "holds binary data"),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("chunked", [(), ("--chunked",)], ids=["whole", "chunked"])
def test_values_that_are_no_single_values(kind, chunked, ready, tmp_path):
    values, words = OBJECTS[kind]
    path = tmp_path / "t.parquet"
    for column in ("c", "y"):
        table().assign(**{column: values}).to_parquet(path)
        name = f"target '{column}'" if column == "y" else f"'{column}'"
        refused(f"{name} {words}", *fit(path, *chunked))
    table().assign(a=values).to_parquet(path)
    refused(f"column 'a' {words}", "predict", ready / "m.mk", path)
    table().assign(y=values).to_parquet(path)
    refused(f"target 'y' {words}", "report", ready / "m.mk", path, "-o", tmp_path / "r.html")


@pytest.mark.parametrize("chunked", [(), ("--chunked",)], ids=["whole", "chunked"])
def test_dates_are_no_targets(chunked, tmp_path):
    frame = table().assign(y=pd.date_range("2020-01-01", periods=60))
    frame.to_parquet(tmp_path / "t.parquet")
    refused("target 'y' holds dates, which", *fit(tmp_path / "t.parquet", *chunked))


@pytest.mark.parametrize("separator", ["\n", "\r", "\0", '"', ",,", ""])
def test_separators_that_are_none(separator, ready):
    if separator:
        refused("--separator must be one char", *fit(ready / "t.csv", "--separator", separator))


@pytest.mark.parametrize("seed", [-1, 2**32, 10**30])
def test_seeds_that_are_none(seed, ready):
    refused("--seed", *fit(ready / "t.csv", "--seed", seed), code=2)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-16", "is UTF-16 text. Use --encoding utf-16"),
        ("utf-32", "is UTF-32 text. Use --encoding utf-32"),
        ("utf-16-le", "has bytes of zero"),
        ("utf-32-be", "has bytes of zero"),
    ],
)
def test_encodings(encoding, words, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table().to_csv(index=False).encode(encoding))
    refused(words, *fit(path))
    found = read(path, encoding=encoding)
    pd.testing.assert_frame_equal(found, read_text(table(), tmp_path))


def read_text(frame, folder):
    frame.to_csv(folder / "plain.csv", index=False)
    return read(folder / "plain.csv")


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes of POSIX")
def test_devices_and_pipes(ready, tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    for path in (tmp_path / "t.csv", "/dev/zero"):
        refused("is a device or a pipe", *fit(path))
        refused("is a device or a pipe", "predict", ready / "m.mk", path)
    refused("is no file: a folder, a device", "predict", "/dev/zero", ready / "t.csv")


def test_targets_of_another_kind_in_reports(ready, tmp_path):
    frame = table()
    frame["y"] = frame["y"].astype(object)
    frame.loc[3:5, "y"] = "x"
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = "target 'y' must hold numbers, as in training; got 'x' in 3 rows"
    refused(words, "report", ready / "m.mk", tmp_path / "t.csv", "-o", tmp_path / "r.html")


@pytest.mark.parametrize("column", ["a", "y"])
def test_cells_of_megabytes_are_not_said_whole(column, ready, tmp_path):
    frame = table().astype({column: object})
    frame.loc[0, column] = "w" * 2_000_000
    frame.to_csv(tmp_path / "t.csv", index=False)
    refused("mixes numbers and text (such as 'www", *fit(tmp_path / "t.csv"))
    if column == "a":
        refused("must hold numbers", "predict", ready / "m.mk", tmp_path / "t.csv")


def test_a_zip_of_zeros(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(2**20))
    tracemalloc.start()
    try:
        refused("has bytes of zero", *fit(tmp_path / "t.csv.gz"))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_tables_beyond_the_memory_of_the_machine(ending, tmp_path, monkeypatch):
    path = tmp_path / f"t.{ending}"
    with gzip.open(path, "wb") if ending == "csv.gz" else path.open("wb") as file:
        file.write(b"a,b,y\n" + b"1,2,3\n" * 100_000)
    assert len(read(path)) == 100_000
    monkeypatch.setattr("manykernels.tables.reading.machine_bytes", lambda: 2**18)
    refused("is too large for the memory of this machine", *fit(path))
    path = tmp_path / f"long.{ending}"
    with gzip.open(path, "wb") if ending == "csv.gz" else path.open("wb") as file:
        file.write(b"a" * (MOST_HEADER + 2))
    refused("its first line has more than", *fit(path))


@pytest.mark.parametrize("module", ["numpy", "pandas", "sklearn", "typer"])
def test_ctrl_c_before_the_command_begins(module):
    """Imports take seconds: an interruption there is no traceback."""
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from manykernels.cli import main\n"
        "sys.argv = ['manykernels', 'demo']\n"
        "main()\n"
    )
    source = str(Path(manykernels.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 130)
    assert "Traceback" not in done.stderr


def test_names_of_the_package_come_when_they_are_asked_for():
    assert manykernels.MKLRegressor is manykernels.estimators.MKLRegressor
    assert set(manykernels.__all__) <= set(dir(manykernels))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = manykernels.nothing
