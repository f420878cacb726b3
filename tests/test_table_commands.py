"""The commands for tables, as a person or a script meets them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

import manykernels
from manykernels.cli.app import app
from manykernels.cli.demo import flats
from manykernels.cli.output import addends
from manykernels.tables import Settings, split_table
from manykernels.words import MINUS, NO_NUMBER, SPACE, TIMES, number, score

COMMAND = [sys.executable, "-c", "from manykernels.cli import main; main()"]


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, a model of it and the words of the fit."""
    folder = tmp_path_factory.mktemp("tables")
    table = flats(150)
    table.loc[3:9, "area"] = np.nan
    table.to_csv(folder / "flats.csv", index=False)
    done = invoke(
        *(
            "fit",
            folder / "flats.csv",
            "--target",
            "rent",
            "--kernels",
            "auto",
            "--degree",
            "1",
            "--quiet",
        ),
        *("--model", folder / "flats.mk"),
    )
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.stdout)
    return folder


def test_what_fit_says(folder):
    said = (folder / "said.txt").read_text()
    for words in (
        "flats.csv: 150 rows, 8 columns; used: 4 of numbers, 2 of categories, 1 of dates",
        "regression of 'rent'; 120 rows to train on, 30 held out",
        "on 30 held-out rows",
        "this model",
        "linear model",
        "mean",
        "No better combination of the 21 kernels can lower the objective by more than",
        "area is missing",
        "terms, by their spread",
        "flats.mk",
    ):
        assert words in said, said
    model = manykernels.load(folder / "flats.mk")
    assert f"{model.summary['scores']['this model']:.3f}" in said


def test_fit_for_programs(folder):
    done = invoke(
        *(
            "fit",
            folder / "flats.csv",
            "--target",
            "rent",
            "--kernels",
            "auto",
            "--degree",
            "1",
            "--quiet",
            "--json",
        )
    )
    facts = json.loads(done.stdout)
    assert facts["target"] == "rent"
    assert facts["n_kernels"] == 21
    assert facts["scores"]["this model"] > 0.8
    assert facts["terms"][0]["spread"] >= facts["terms"][1]["spread"]
    assert facts["gap"] < 0.01
    assert facts["gap_kind"] == "exact"


def test_the_same_seed_gives_the_same_model(folder, tmp_path):
    arguments = [
        "fit",
        folder / "flats.csv",
        "--target",
        "rent",
        "--kernels",
        "auto",
        "--degree",
        "1",
        "--quiet",
    ]
    again = invoke(*arguments, "--model", tmp_path / "m.mk")
    assert again.exit_code == 0
    rows = pd.read_csv(folder / "flats.csv")
    one, two = (manykernels.load(p) for p in (folder / "flats.mk", tmp_path / "m.mk"))
    assert one.predict(rows).equals(two.predict(rows))


def test_predict(folder, tmp_path):
    rows = pd.read_csv(folder / "flats.csv").drop(columns="rent")
    rows[rows.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    done = invoke("predict", folder / "flats.mk", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert done.exit_code == 0
    assert "Wrote 150 predictions" in done.stderr
    expected = manykernels.load(folder / "flats.mk").predict(rows)["rent"]
    assert np.array_equal(pd.read_csv(tmp_path / "out.csv")["rent"], expected)
    done = invoke("predict", folder / "flats.mk", tmp_path / "new.csv")
    assert done.stdout.splitlines()[0] == "rent"
    assert len(done.stdout.splitlines()) == 151
    done = invoke("predict", folder / "flats.mk", tmp_path / "new.csv", "--json")
    assert json.loads(done.stdout)[3]["rent"] == pytest.approx(expected[3])


def test_explain(folder):
    done = invoke("explain", folder / "flats.mk", "--top", "3")
    assert "trained on 120 rows of flats.csv" in done.stdout
    assert "more terms" in done.stdout
    facts = json.loads(invoke("explain", folder / "flats.mk", "--json").stdout)
    model = manykernels.load(folder / "flats.mk")
    assert [row["term"] for row in facts["terms"]] == model.explain(20)["term"].tolist()


def test_explain_one_row(folder):
    table = folder / "flats.csv"
    done = invoke("explain", folder / "flats.mk", table, "--row", "2", "--json")
    facts = json.loads(done.stdout)
    model = manykernels.load(folder / "flats.mk")
    expected = float(model.predict(pd.read_csv(table))["rent"][1])
    assert facts["prediction"]["rent"] == pytest.approx(expected)
    assert sum(facts["contributions"].values()) == pytest.approx(expected)
    assert facts["total"] == pytest.approx(expected)
    said = invoke("explain", folder / "flats.mk", table, "--row", "2", "--top", "2").stdout
    assert "intercept" in said
    assert "others" in said
    assert invoke("explain", folder / "flats.mk", table, "--row", "999").exit_code == 1
    done = invoke("explain", folder / "flats.mk", "--row", "2")
    assert done.exit_code == 1
    assert "needs the table" in done.stderr


def test_classes(tmp_path):
    table = flats(150)
    table["dear"] = np.where(table.pop("rent") > 1200, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    done = invoke(
        *(
            "fit",
            tmp_path / "t.csv",
            "--target",
            "dear",
            "--kernels",
            "auto",
            "--degree",
            "1",
            "--quiet",
        ),
        *("--model", tmp_path / "m.mk"),
    )
    assert done.exit_code == 0
    assert "classification of 'dear'" in done.stdout
    assert "most frequent class" in done.stdout
    done = invoke("predict", tmp_path / "m.mk", tmp_path / "t.csv")
    assert done.stdout.splitlines()[0] == "dear,probability of no,probability of yes"
    done = invoke("explain", tmp_path / "m.mk", tmp_path / "t.csv", "--row", "1")
    assert "decision value of 'yes'" in done.stdout
    assert "positive sum, speaks for 'yes', a negative one for 'no'." in done.stdout
    facts = explained(tmp_path, 1)
    assert facts["label"] == "yes"
    likely = facts["prediction"]["probability of yes"] > 0.5
    assert (facts["total"] > 0) == likely == (facts["prediction"]["dear"] == "yes")
    done = invoke("explain", tmp_path / "m.mk", tmp_path / "t.csv", "--row", "1", "--label", "no")
    assert done.exit_code == 1
    assert "--label is for models of more than two classes; got 'no' for one" in done.stderr


def explained(folder, row, *options):
    files = folder / "m.mk", folder / "t.csv"
    return json.loads(invoke("explain", *files, "--row", row, "--json", *options).stdout)


def test_the_predicted_of_several_classes_is_explained(tmp_path):
    table = flats(150)
    table["kind"] = pd.qcut(table.pop("rent"), 3, labels=["cheap", "fair", "dear"]).astype(str)
    table.to_csv(tmp_path / "t.csv", index=False)
    how = ("--kernels", "linear", "--degree", "1", "--quiet", "--model", tmp_path / "m.mk")
    assert invoke("fit", tmp_path / "t.csv", "--target", "kind", *how).exit_code == 0
    model = manykernels.load(tmp_path / "m.mk")
    for row in (1, 2, 3, 4):
        facts = explained(tmp_path, row)
        assert facts["label"] == facts["prediction"]["kind"]
        parts = model.contributions(table.iloc[[row - 1]], label=facts["label"]).iloc[0]
        assert facts["total"] == pytest.approx(parts.sum())
        others = [explained(tmp_path, row, "--label", one)["total"] for one in ("cheap", "fair")]
        assert facts["total"] >= max(others)
    files = tmp_path / "m.mk", tmp_path / "t.csv"
    said = invoke("explain", *files, "--row", "2", "--label", "fair").stdout
    assert "decision value of 'fair'" in said
    assert "A positive part speaks for 'fair', a negative one for another class" in said
    done = invoke("explain", *files, "--row", "2", "--label", "grand")
    assert done.exit_code == 1
    assert "--label must be one of 'cheap', 'dear', 'fair'; got 'grand'" in done.stderr


def test_parts_of_a_prediction_can_be_added_up(folder):
    done = invoke("explain", folder / "flats.mk", folder / "flats.csv", "--row", "2")
    assert re.search(r"e[+-]\d", done.stdout) is None
    lines = [line.split() for line in done.stdout.replace(MINUS, "-").splitlines()]
    at = next(k for k, line in enumerate(lines) if line[:1] == ["intercept"])
    numbers = [line[-1].replace(",", "") for line in lines[at:] if line]
    assert len({len(text.partition(".")[2]) for text in numbers}) == 1
    assert all(text[0] in "+-" for text in numbers[:-1])
    *parts, total = map(float, numbers)
    assert sum(parts) == pytest.approx(total, abs=0.05 * len(parts))
    assert lines[0] == ["rent:", lines[at + len(parts)][-1]]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([48460.4, -8470.2, 35.7], ["+48,460", f"{MINUS}8,470", "+36"]),
        ([-0.787, 0.0001, 0.0], [f"{MINUS}0.78700", "+0.00010", "+0.00000"]),
        ([1e12, -1.0], [f"+1{SPACE}{TIMES}{SPACE}10¹²", f"{MINUS}1"]),
        ([0.0], ["+0.0000"]),
    ],
)
def test_numbers_to_add_up(values, texts):
    assert addends(values) == texts


BAD = {
    "empty": b"",
    "one column": b"price\n" + b"1\n" * 30,
    "duplicate": b"a,a,price\n" + b"1,2,3\n" * 30,
    "latin": "größe,price\n".encode("latin-1") + b"1,2\n" * 30,
    "mixed": b"a,price\n" + b"".join(b"%d,%d\n" % (k, k % 9) for k in range(40)) + b"x,3\n",
    "two rows": b"a,price\n1,2\n2,3\n",
    "no target": b"a,cost\n" + b"1,2\n2,1\n" * 20,
    "target has no values": b"a,price\n" + b"1,\n2,\n" * 20,
    "ragged": b"a,price\n1,2\n1,2,3\n",
    "nothing but gaps": b"a,b,price\n" + b",,1\n,,2\n" * 20,
    "binary": bytes(range(256)) * 20,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_bad_files_are_messages(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    done = invoke("fit", path, "--target", "price", "--quiet")
    assert done.exit_code == 1, done.output
    assert done.stdout == "" or "rows to train on" in done.stdout
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr) > 40


def test_a_column_of_gaps_is_only_noted(tmp_path):
    table = flats(60).assign(nothing=np.nan)
    table.to_csv(tmp_path / "t.csv", index=False)
    done = invoke(
        "fit",
        tmp_path / "t.csv",
        "--target",
        "rent",
        "--kernels",
        "auto",
        "--degree",
        "1",
        "--quiet",
    )
    assert done.exit_code == 0
    assert "note: column 'nothing' has no values; it is left out." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--degree", "x"], "--degree must be auto or numbers"),
        (["--degree", "0"], "--degree must be auto or numbers"),
        (["--task", "guess"], "--task must be one of"),
        (["--kernels", "magic"], "--kernels must be one of"),
        (["--test", "2"], "--test must be from 0 to 0.9"),
        (["--missing", "x"], "--missing must be one of"),
        (["--max-time", "0"], "--max-time must be above 0; got 0."),
        (["--max-time", "-3"], "--max-time must be above 0; got -3."),
        (["--max-time", "nan"], "--max-time must be above 0; got nan."),
        (["--max-time", "inf"], "--max-time must be above 0; got inf."),
    ],
)
def test_bad_options(folder, arguments, words):
    done = invoke("fit", folder / "flats.csv", "--target", "rent", *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())


def test_max_time_is_held_and_named(tmp_path):
    flats(400).to_csv(tmp_path / "t.csv", index=False)
    began = time.process_time()  # not by the clock: this machine may be busy
    done = invoke("fit", tmp_path / "t.csv", "--target", "rent", "--max-time", "2", "--json")
    assert time.process_time() - began < 4  # the promise is 3, without loading libraries
    facts = json.loads(done.stdout)
    said = " ".join([done.stderr, *facts["notes"]])
    assert "Stopped by --max-time 2" in said
    assert "--max-time 300 or more allows it" in said
    assert "max_time" not in said


def test_folders_that_are_not_there(folder, tmp_path):
    path = tmp_path / "none" / "m.mk"
    done = invoke("fit", folder / "flats.csv", "--target", "rent", "--model", path)
    assert done.exit_code == 1
    assert "there is no folder" in done.stderr


def test_model_files_that_are_none(folder, tmp_path):
    done = invoke("predict", tmp_path / "none.mk", folder / "flats.csv")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr
    done = invoke("explain", folder / "flats.csv")
    assert done.exit_code == 1
    assert "is no model file" in done.stderr
    estimator = manykernels.MKLRegressor(alpha=1e-3, degree=1).fit(
        np.arange(10.0)[:, None], np.arange(10.0)
    )
    done = invoke("explain", estimator.save(tmp_path / "e.mk"))
    assert done.exit_code == 1
    assert "saved from Python" in done.stderr


def test_other_columns_at_prediction(folder, tmp_path):
    table = pd.read_csv(folder / "flats.csv").rename(columns={"district": "distrikt"})
    table.to_csv(tmp_path / "t.csv", index=False)
    done = invoke("predict", folder / "flats.mk", tmp_path / "t.csv")
    assert done.exit_code == 1
    assert "'district' may be its 'distrikt'" in done.stderr


def test_ctrl_c_keeps_the_best_model_so_far(tmp_path):
    flats(12_000).to_csv(tmp_path / "t.csv", index=False)  # takes long enough to be interrupted
    arguments = ["fit", "t.csv", "--target", "rent", "--kernels", "auto", "--degree", "3"]
    arguments += ["--model", "m.mk"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells make their background jobs, of which the tests may be one, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    for line in process.stderr:  # the path has models that predict, and is not at its end
        if re.search(r": model (1[5-9]|2\d)", line):
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "Interrupted" in said
    model = manykernels.load(tmp_path / "m.mk")
    assert model.summary["interrupted"]
    assert model.summary["scores"]["this model"] > 0.5


def test_demo(tmp_path):
    pytest.importorskip("matplotlib")
    done = invoke("demo", "--out", tmp_path)
    assert done.exit_code == 0
    assert "The truth: rent = area times" in done.stdout
    assert "was chosen from the data" not in done.stdout  # the fit has said which on stderr
    assert sorted(os.listdir(tmp_path)) == ["flats.csv", "flats.html", "flats.mk"]
    model = manykernels.load(tmp_path / "flats.mk")
    first = model.explain(5)["term"].tolist()
    assert set(first) == {"area", "district", "area * district", "distance", "built"}


def test_bench():
    done = invoke("bench", "--columns", "15")
    assert done.exit_code == 0
    assert "ten true terms among 816" in done.stdout


def test_report(folder, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "r.html"
    done = invoke("report", folder / "flats.mk", folder / "flats.csv", "-o", path)
    assert done.exit_code == 0, done.output
    assert "150 rows of flats.csv" in path.read_text()
    pd.read_csv(folder / "flats.csv").drop(columns="rent").to_csv(tmp_path / "t.csv", index=False)
    done = invoke("report", folder / "flats.mk", tmp_path / "t.csv", "-o", path)
    assert done.exit_code == 1
    assert "'rent' is no column" in done.stderr


def test_files_are_not_replaced_by_mistake(folder, tmp_path):
    table, model = folder / "flats.csv", folder / "flats.mk"
    before = table.read_bytes(), model.read_bytes()
    for arguments in (
        ["fit", table, "--target", "rent", "--model", table],
        ["fit", table, "--target", "rent", "--model", tmp_path / "x", "--report", tmp_path / "x"],
        ["predict", model, table, "-o", model],
        ["predict", model, table, "-o", table],
        ["report", model, table, "-o", tmp_path],
        ["report", model, table, "-o", "/dev/null"],
    ):
        done = invoke(*arguments)
        assert done.exit_code == 1, arguments
        assert "given twice" in done.stderr or "it is no file" in done.stderr
    assert (table.read_bytes(), model.read_bytes()) == before


def test_links_are_followed(folder, tmp_path):
    pytest.importorskip("matplotlib")
    link, place = tmp_path / "link.html", tmp_path / "place.html"
    place.write_text("old")
    link.symlink_to(place)
    assert invoke("report", folder / "flats.mk", folder / "flats.csv", "-o", link).exit_code == 0
    assert link.is_symlink()
    assert place.read_text() != "old"
    model = manykernels.load(folder / "flats.mk")
    saved = tmp_path / "saved.mk"
    saved.write_bytes(b"old")
    (tmp_path / "m.mk").symlink_to(saved)
    model.save(tmp_path / "m.mk")
    assert manykernels.load(saved).summary == model.summary


def test_unknown_categories_are_noted(folder, tmp_path):
    table = pd.read_csv(folder / "flats.csv").assign(district="the moon")
    table.to_csv(tmp_path / "t.csv", index=False)
    done = invoke("predict", folder / "flats.mk", tmp_path / "t.csv")
    assert done.exit_code == 0
    assert "'district' has values that the model does not know, such as 'the moon'" in done.stderr


def test_rows_beyond_the_training_range_are_noted(folder, tmp_path):
    table = pd.read_csv(folder / "flats.csv")
    table.loc[:2, "listed"] = "2030-05-31"
    table.to_csv(tmp_path / "t.csv", index=False)
    done = invoke("predict", folder / "flats.mk", tmp_path / "t.csv")
    known = manykernels.load(folder / "flats.mk").encoder.columns_
    (words,) = [one.range_in_words for one in known if one.name == "listed"]
    assert re.fullmatch(r"2023-\d\d-\d\d to 2024-1\d-\d\d", words)
    note = f"note: column 'listed' is beyond its training range, {words}, in 3 rows; the model"
    assert note in done.stderr
    done = invoke("explain", folder / "flats.mk", tmp_path / "t.csv", "--row", "1", "--json")
    assert "in 1 row; the model knows nothing there." in done.stderr
    assert json.loads(done.stdout)["total"]
    done = invoke("predict", folder / "flats.mk", folder / "flats.csv")
    assert "'listed'" not in done.stderr


def coded(rows=200):
    """Return a table whose target jumps up and down from level to level of a category."""
    rng = np.random.default_rng(3)
    level = rng.integers(0, 8, size=rows)
    y = np.array([0.0, 9, 1, 8, 2, 10, -3, 7])[level] + rng.normal(0, 0.3, size=rows)
    x = rng.normal(size=rows)
    return pd.DataFrame({"kind": np.array(list("abcdefgh"))[level], "x": x, "y": y + x})


def headline_and_scores(path):
    text = path.read_text(encoding="utf-8").replace(SPACE, " ")
    table = re.search(r"<table class=\"scores\">.*?</table>", text, re.DOTALL)[0]
    rows = re.findall(r"<th scope=\"row\">([^<]+)</th><td class=\"number\">([^<]+)<", table)
    return re.search(r"<h1[^>]*>([^<]+)</h1>", text)[1].strip(), dict(rows)


@pytest.mark.parametrize("target", ["y", "high"])
def test_one_linear_model_in_fit_and_report(tmp_path, target):
    pytest.importorskip("matplotlib")
    table = coded()
    table["high"] = np.where(table["y"] > 6, "yes", "no")
    table = table.drop(columns={"y": "high", "high": "y"}[target])
    table.to_csv(tmp_path / "t.csv", index=False)
    model, page = tmp_path / "m.mk", tmp_path / "fit.html"
    done = invoke(
        *(
            "fit",
            tmp_path / "t.csv",
            "--target",
            target,
            "--kernels",
            "auto",
            "--degree",
            "1",
            "--quiet",
            "--json",
        ),
        *("--model", model, "--report", page),
    )
    facts = json.loads(done.stdout)
    assert facts["scores"]["linear model"] > 0.95
    title, scores = headline_and_scores(page)
    assert title.endswith("on 40 held-out rows")
    own = {name: next(iter(values.items())) for name, values in facts["measures"].items()}
    assert {main for main, _ in own.values()} == {"R²" if target == "y" else "log loss"}
    shown = {
        name: score(value) if main == "R²" else number(value) for name, (main, value) in own.items()
    }
    assert scores == shown
    held = split_table(table, Settings(target))
    held.test.assign(**{target: held.y_test}).to_csv(tmp_path / "held.csv", index=False)
    done = invoke("report", model, tmp_path / "held.csv", "-o", tmp_path / "report.html")
    assert done.exit_code == 0, done.output
    title, scores = headline_and_scores(tmp_path / "report.html")
    assert title.endswith("on the 40 rows of held.csv")
    assert scores == shown


def test_training_rows_are_called_so(tmp_path):
    pytest.importorskip("matplotlib")
    coded(60).to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "a.html"
    done = invoke(
        *(
            "fit",
            tmp_path / "t.csv",
            "--target",
            "y",
            "--kernels",
            "auto",
            "--degree",
            "1",
            "--quiet",
            "--json",
        ),
        *("--test", "0", "--report", page),
    )
    assert json.loads(done.stdout)["evaluated_on"] == "training rows"
    title, scores = headline_and_scores(page)
    assert title.endswith("on 60 training rows")
    text = page.read_text(encoding="utf-8")
    assert "held-out" not in text
    assert "The models were fitted to these rows" in text
    assert float(scores["linear model"].removeprefix(f">{SPACE}")) > 0.95
    assert scores["mean"] == "0.00"


def test_the_rest_of_a_function_is_no_term_in_command_and_report(tmp_path):
    """A product of four columns is in no term of up to three."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    table["y"] = table["a"] + 2 * np.sign(table[list("abcd")].prod(axis=1))
    table.to_csv(tmp_path / "t.csv", index=False)
    page, model = tmp_path / "r.html", tmp_path / "m.mk"
    done = invoke(
        *("fit", tmp_path / "t.csv", "--target", "y", "--kernels", "widths", "--quiet"),
        *("--report", page, "--model", model),
    )
    fitted = manykernels.load(model)
    names = fitted.explain(None)["term"].tolist()
    own = [name for name in names if name != "other terms"]
    assert len(own) == len(names) - 1
    assert f"in {len(own)} terms and a rest;" in done.stdout
    line = next(one for one in done.stdout.splitlines() if one.strip().startswith("other terms"))
    assert line.split()[2] == NO_NUMBER
    text = page.read_text(encoding="utf-8").replace(SPACE, " ")
    assert f"The model is a sum of {len(own)} terms and a rest." in text
    for said in (done.stdout, text):
        assert "The line other terms is no term but the rest: functions of more than 3 v" in said
    joint = [name for name in own if "*" in name]
    assert f"{len(joint)} of {len(own)} terms join" in text
    assert f"the strongest of {len(own)} terms" in text
    matter = int(re.search(r"(\d+) terms? matters?:", text)[1])
    assert matter <= len(own)
    assert "No course is drawn: widths are learnt on growing parts of the rows" in text


def test_a_model_file_without_simple_models_loads(tmp_path):
    """It was written by version 0.1.0, from coded(80): regression of y, degree 1."""
    pytest.importorskip("matplotlib")
    old = Path(__file__).parent / "data" / "coded-0.1.0.mk"
    model = manykernels.load(old)
    assert model.simple is None
    expected = [-3.431, -0.236]  # as that version predicted
    assert model.predict(coded(2))["y"].round(3).tolist() == expected
    coded(60).to_csv(tmp_path / "t.csv", index=False)
    done = invoke("report", old, tmp_path / "t.csv", "-o", tmp_path / "a.html")
    assert done.exit_code == 0, done.output
    title, scores = headline_and_scores(tmp_path / "a.html")
    assert title.endswith("on the 60 rows of t.csv")
    # A linear model needs the rows of the fit.
    assert list(scores) == ["this model", "mean of these rows"]
    assert float(scores["this model"]) > 0.9
