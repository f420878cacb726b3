"""Text files whose rows have more values than names: never read one column aside."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from manykernels.cli.app import app
from manykernels.tables import TableError, TableWarning, read

COLUMNS = ["a", "b", "word"]


def table(rows=6):
    rng = np.random.default_rng(0)
    words = [f"w, {i % 2}" for i in range(rows)]  # which need quotes where a comma separates
    return pd.DataFrame({"a": rng.normal(size=rows), "b": np.arange(rows) + 7, "word": words})


def lines_of(frame, separator, **options):
    return frame.to_csv(index=False, sep=separator, **options).splitlines()


def written(path, lines):
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def same(path, frame, **options):
    pd.testing.assert_frame_equal(read(path, **options), frame)


def refused(path, words, **options):
    with pytest.raises(TableError, match=words):
        read(path, **options)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", ":"])
@pytest.mark.parametrize("surplus", [1, 3])
@pytest.mark.parametrize("quoting", [0, 1], ids=["some quotes", "all quoted"])
def test_separators_at_the_end_of_every_row(separator, surplus, quoting, tmp_path):
    names, *rows = lines_of(table(), separator, quoting=quoting)
    path = written(tmp_path / "t.csv", [names, *(row + separator * surplus for row in rows)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(path, table(), separator=separator)
    if separator in ",;\t|":  # which are guessed
        same(path, table())


@pytest.mark.parametrize("long", [[0], [0, 1, 2], [1], [5], [0, 5]], ids=str)
@pytest.mark.parametrize("added", ["", "9", '"x"'], ids=["nothing", "number", "text"])
def test_some_rows_longer_than_others(long, added, tmp_path):
    names, *rows = lines_of(table(), ",")
    odd = [row + f",{added}" if i in long else row for i, row in enumerate(rows)]
    path = written(tmp_path / "t.csv", [names, *odd])
    refused(path, f"is no regular table: .*line {long[0] + 2}[, ].*[Aa]ll rows")
    refused(written(tmp_path / "t.csv.gz", ["", "title", names, *odd]), "line", skip_rows=2)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    lines = ["title", "", "a,b", "", '1,"two', 'lines",', "3,4"]
    path = written(tmp_path / "t.csv", lines)
    refused(path, "line 5 has 3 values, but line 7 has 2, and there are 2 names", skip_rows=1)


LABELS = {
    "quoted numbers": [f'"{i}"' for i in (4, 9, 2, 17, 30, 8)],
    "numbers of rows": list("123456"),
    "words": ["Ann", "Bob", "R3", "x-1", '"Mazda, RX4"', "Zoë"],
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_labels_of_rows_as_r_writes_them(labels, separator, tmp_path):
    names, *rows = lines_of(table(), separator, quoting=2)
    labelled = [f"{label}{separator}{row}" for label, row in zip(LABELS[labels], rows, strict=True)]
    path = written(tmp_path / "t.txt", [names, *labelled])
    with pytest.warns(TableWarning, match="begin with a value that has no name"):
        same(path, table(), separator=separator)
    (tmp_path / "folder").mkdir()
    for name in ("1.csv", "2.csv"):
        written(tmp_path / "folder" / name, [names, *labelled])
    twice = pd.concat([table(), table()], ignore_index=True)
    with pytest.warns(TableWarning):
        same(tmp_path / "folder", twice, separator=separator)


COLUMNS_WITHOUT_A_NAME = {
    "numbers": ["4", "9", "2", "17", "30", "8"],
    "decimals": ["0.5", "1e3", "-2", "7.25", "9", "8.5"],
    "dates": [f"2024-01-0{i}" for i in range(1, 7)],
    "quoted as all values": [f'"{i}"' for i in (4, 9, 2, 17, 30, 8)],
    "repeated words": ["Ann", "Bob", "Ann", "Bob", "Ann", "Bob"],
    "repeated quoted numbers": ['"1"', '"2"', '"1"', '"2"', '"1"', '"2"'],
    "gaps": ["Ann", "", "Bob", "Cat", "Dan", "Eve"],
}


@pytest.mark.parametrize("values", COLUMNS_WITHOUT_A_NAME)
def test_a_column_without_a_name(values, tmp_path):
    names, *rows = lines_of(table(), ";", quoting=1 if "all" in values else 2)
    found = zip(COLUMNS_WITHOUT_A_NAME[values], rows, strict=True)
    path = written(tmp_path / "t.csv", [names, *(f"{value};{row}" for value, row in found)])
    refused(path, "rows have 1 value more than its first line has names, 'a', 'b', 'word'")


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_commands_read_rows_alike(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)).round(3), columns=["a", "b"])
    frame["y"] = 2 * frame["a"] - 5 * frame["b"]
    names, *rows = lines_of(frame, ",")
    forms = {
        "plain": rows,
        "ends": [f"{row}," for row in rows],
        "labels": [f'"{i}",{row}' for i, row in enumerate(rows)],
    }
    answers = {}
    for form, own in forms.items():
        path, model = written(tmp_path / f"{form}.csv", [names, *own]), tmp_path / "m.mk"
        done = run("fit", path, "--target", "y", "--kernels", "linear", "--quiet", "--model", model)
        assert done.exit_code == 0, done.output
        assert ("note: rows of labels.csv begin" in done.stderr) == (form == "labels")
        answers[form] = [run("predict", model, tmp_path / f"{known}.csv") for known in answers]
        answers[form].append(run("predict", model, path))
    said = {done.stdout for each in answers.values() for done in each}
    assert [text.count("\n") for text in said] == [41]
    assert "note: rows of labels.csv begin" in answers["labels"][-1].stderr
    written(tmp_path / "some.csv", [names, rows[0] + ",", *rows[1:]])
    done = run("predict", tmp_path / "m.mk", tmp_path / "some.csv")
    assert done.exit_code == 1
    assert "line 2 has 4 values, but line 3 has 3" in done.stderr
