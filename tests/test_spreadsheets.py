"""Excel files and folders of files: as tables, or what is wrong with them."""

import datetime as dt
import zipfile

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("openpyxl")
pytest.importorskip("typer")
import openpyxl
from typer.testing import CliRunner

from manykernels.cli.app import app
from manykernels.tables import Settings, TableError, TableWarning, read, split_table


def book(path, *sheets, **cells):
    """Write a workbook of sheets, each a list of rows; cells are set in the first."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for number, rows in enumerate(sheets):
        sheet = made.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    for name, value in cells.items():
        made.worksheets[0][name] = value
    made.save(path)
    return path


def refused(path, message, **options):
    with pytest.raises(TableError, match=message) as error:
        read(path, **options)
    assert len(str(error.value)) < 1000


ROWS = [["a", "day", "word", "yes"], [1, dt.datetime(2024, 5, 31), "x", True]]
ROWS += [[2.5, dt.datetime(2024, 6, 1, 12), None, False], [None, None, "x", True]]


def test_kinds_of_values(tmp_path):
    found = read(book(tmp_path / "t.xlsx", ROWS))
    assert found["a"].tolist()[:2] == [1, 2.5]
    assert found["a"].dtype.kind == "f"
    assert found["day"].dtype.kind == "M"
    assert found["day"][1] == pd.Timestamp("2024-06-01 12:00")
    assert found.isna().sum().tolist() == [1, 1, 1, 0]
    assert found["yes"].dtype == bool
    assert found["word"][0] == "x"


def test_words_for_missing_values_are_those_of_text_files(tmp_path):
    usual = ["NA", "n/a", "null", "#N/A", "NaN", "None", "<NA>", "-", "?", "nil", "0", "NULL", ""]
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": usual, "b": 1}).to_csv(path, index=False)
    rows = [["a", "b"], *([word, -999] for word in usual)]
    for na in ((), ("?", "-999")):
        text, sheet = read(path, na), read(book(tmp_path / "t.xlsx", rows), na)
        assert sheet["a"].isna().tolist() == text["a"].isna().tolist()
        assert sheet["b"].isna().all() == bool(na)


def test_same_table_as_text(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=40), "k": ["a", "b"] * 20, "n": range(40)})
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(
        read(tmp_path / "t.xlsx"), read(tmp_path / "t.csv"), check_dtype=False, rtol=1e-15
    )


def test_sheets(tmp_path):
    path = book(tmp_path / "t.xlsx", [], ROWS, [[None, " "]])
    assert len(read(path)) == 3  # the only one that holds values
    path = book(tmp_path / "u.xlsx", ROWS, ROWS[:2])
    refused(path, "has 2 sheets that hold values: 's0', 's1'. Say which: --sheet NAME")
    assert len(read(path, sheet="s1")) == 1
    refused(path, "--sheet 'x' is no sheet of u.xlsx. It has 's0', 's1'", sheet="x")
    refused(book(tmp_path / "v.xlsx", [], []), "has no sheet in sight that holds values")
    refused(tmp_path / "v.xlsx", "sheet 's1' of .* is empty", sheet="s1")
    refused(book(tmp_path / "h.xlsx", ROWS[:1]), "has a header but no rows")
    made = openpyxl.load_workbook(tmp_path / "u.xlsx")
    made["s1"].sheet_state = "hidden"
    made.save(tmp_path / "hidden.xlsx")
    assert len(read(tmp_path / "hidden.xlsx")) == 3
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    refused(tmp_path / "t.csv", "--sheet 's' is for Excel files; t.csv is none", sheet="s")


def test_rows_and_columns_around_the_table(tmp_path):
    rows = [[], [None, "a", None, "b"], [None, 1, None, 2], [], [None, 3, None, 4], [None, None]]
    found = read(book(tmp_path / "t.xlsx", rows))
    assert found.columns.tolist() == ["a", "b"]
    assert found["a"].tolist() == [1, 3]


def test_titles_and_repeated_names(tmp_path):
    title = [["Prices of 2024"], ["a", "b"], [1, 2]]
    refused(book(tmp_path / "t.xlsx", title), "1 column with values but no name in row 1: 'B'")
    refused(book(tmp_path / "u.xlsx", [["a", "a"], [1, 2]]), "has 1 column name more than once")


TABLE = [["a", "b"], [1, 2], [3, 4]]


def test_rows_above_the_names_are_left_out_of_sheets(tmp_path):
    made = openpyxl.Workbook()
    for row in [["Prices of 2024"], [], ["as of May", None], *TABLE]:
        made.active.append(row)
    made.active.merge_cells("A1:B1")
    made.save(tmp_path / "t.xlsx")
    refused(tmp_path / "t.xlsx", "no name in row 1: 'B'.* leave it out with --skip-rows 3")
    found = read(tmp_path / "t.xlsx", skip_rows=3)
    pd.testing.assert_frame_equal(found, pd.DataFrame(TABLE[1:], columns=TABLE[0]))
    refused(tmp_path / "t.xlsx", "no name in row 3: 'B'.* --skip-rows 3", skip_rows=1)
    refused(tmp_path / "t.xlsx", "--skip-rows 6 leaves nothing of t.xlsx", skip_rows=6)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("above", ["Prices of 2024\n", "Prices\n\n", "Prices;of;2024\r\nMay;;\r\n"])
def test_rows_above_the_names_are_left_out_of_text(above, encoding, tmp_path):
    (tmp_path / "t.csv").write_bytes(f"{above}a;b;c\n1;2;x\n3;4;y\n".encode(encoding))
    lines = above.count("\n")
    how = {"skip_rows": lines, "encoding": encoding.removesuffix("-sig")}
    expected = pd.DataFrame({"a": [1, 3], "b": [2, 4], "c": ["x", "y"]})
    pd.testing.assert_frame_equal(read(tmp_path / "t.csv", **how), expected)
    (tmp_path / "t.csv").rename(tmp_path / "u.txt")
    (tmp_path / "f").mkdir()
    (tmp_path / "u.txt").rename(tmp_path / "f" / "a.csv")
    pd.testing.assert_frame_equal(read(tmp_path / "f", **how), expected)
    refused(tmp_path / "f", "--skip-rows 99 leaves nothing of a.csv", **{**how, "skip_rows": 99})


def test_titles_of_text_files_are_refused_with_the_option_that_helps(tmp_path):
    rows = "".join(f"{k / 7},{k % 5},{k}\n" for k in range(40))
    path = tmp_path / "t.csv"
    path.write_text(f"Prices of 2024\na,b,price\n{rows}")
    refused(path, "rows have 2 values more than its first line has names, 'Prices of 2024'.*skip-r")
    path.write_text(f"Prices of 2024,,\na,b,price\n{rows}")
    with pytest.raises(TableError, match=r"If that is a title above the names, .*--skip-rows N"):
        split_table(read(path), Settings("price"))
    path.write_text(f"\na,b,price\n{rows}")
    refused(path, "its first line is empty. Add names, or leave out .* with --skip-rows N")
    # One name less than values: labels of rows, as R writes them.
    labelled = "".join(f'"row {k}",{k % 5},{k}\n' for k in range(40))
    path.write_text(f"b,price\n{labelled}")
    with pytest.warns(TableWarning, match="begin with a value that has no name"):
        assert read(path).columns.tolist() == ["b", "price"]
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "--skip-rows 1 is for text and Excel files", skip_rows=1)


def test_rows_above_the_names_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    rows = [["Prices of 2024"], ["x", "y"], *rng.normal(size=(60, 2)).tolist()]
    path, model = str(book(tmp_path / "t.xlsx", rows)), str(tmp_path / "m.mk")
    fit = ["fit", path, "--target", "y", "--kernels", "linear", "--degree", "1", "--quiet"]
    done = CliRunner().invoke(app, fit)
    assert done.exit_code == 1
    assert "--skip-rows 1" in done.output
    for command in (
        [*fit, "--model", model],
        ["predict", model, path],
        ["explain", model, path, "--row", "1"],
    ):
        done = CliRunner().invoke(app, [*command, "--skip-rows", "1"])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [*fit, "--skip-rows", "-1"])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, [*fit, "--skip-rows", "1", "--chunked"])
    assert done.exit_code == 1
    assert "--skip-rows 1 is for" in done.output


def test_merged_cells(tmp_path):
    made = openpyxl.Workbook()
    for row in [["region", "n"], ["north", 1], [None, 2], ["south", 3]]:
        made.active.append(row)
    made.active.merge_cells("A2:A3")
    made.save(tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx")["region"].tolist() == ["north", "north", "south"]
    made.active.merge_cells("A4:B4")
    made.save(tmp_path / "u.xlsx")
    refused(tmp_path / "u.xlsx", r"merged cells across columns or in the row of names \(A4:B4\)")
    made = openpyxl.Workbook()
    for row in [["both", None], [1, 2]]:
        made.active.append(row)
    made.active.merge_cells("A1:B1")
    made.save(tmp_path / "v.xlsx")
    refused(tmp_path / "v.xlsx", "no name in row 1: 'B'")


def test_formulas(tmp_path):
    rows = [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]]
    path = book(tmp_path / "t.xlsx", rows)
    refused(path, r"has 2 formulas without a value \('B2', 'B3'\)")
    # As a spreadsheet program writes it, with the value beside the formula.
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"<f>A2*2</f><v />", b"<f>A2*2</f><v>2</v>")
                content = content.replace(b"<f>A2*2</f><v></v>", b"<f>A2*2</f><v>2</v>")
                content = content.replace(b"<f>A3*2</f><v />", b"<f>A3*2</f><v>4</v>")
                content = content.replace(b"<f>A3*2</f><v></v>", b"<f>A3*2</f><v>4</v>")
            new.writestr(name, content)
    assert read(tmp_path / "u.xlsx")["b"].tolist() == [2, 4]


def test_errors_of_formulas_are_named(tmp_path):
    rows = [["a", "y"], *([k / 7, k % 5] for k in range(60))]
    path = book(tmp_path / "t.xlsx", rows, A7="#DIV/0!")
    with pytest.raises(TableError, match=r"'a' mixes numbers and text \(such as '#DIV/0!', in 1 r"):
        split_table(read(path), Settings("y", test=0))
    assert read(path, na=["#DIV/0!"])["a"].isna().sum() == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n", r"is no \.xlsx file: it is text, an old \.xls file or has a password"),
        (b"\xd0\xcf\x11\xe0" * 20, r"is no \.xlsx file"),
        (b"PK\x03\x04 something", r"is no \.xlsx file"),
        (b"", "is empty"),
    ],
)
def test_other_files_in_disguise(tmp_path, content, message):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    refused(path, message)


def test_zips_that_are_no_workbooks_or_too_large(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as file:
        file.writestr("a.txt", "a")
    refused(tmp_path / "t.xlsx", "cannot be read as an Excel file")
    path = book(tmp_path / "u.xlsx", ROWS)
    monkeypatch.setattr("manykernels.tables.spreadsheets.machine_bytes", lambda: 1000)
    refused(path, "is too large for the memory")


def test_sheets_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    rows = [["x", "y"], *rng.normal(size=(60, 2)).tolist()]
    path = book(tmp_path / "t.xlsx", rows, ROWS)
    fit = ["fit", str(path), "--target", "y", "--degree", "1", "--quiet"]
    done = CliRunner().invoke(app, fit)
    assert done.exit_code == 1
    assert "--sheet NAME" in done.output
    done = CliRunner().invoke(app, [*fit, "--sheet", "s0"])
    assert done.exit_code == 0, done.output
    assert "t.xlsx: 60 rows, 2 columns" in done.output


def folder(path, **files):
    for name, text in files.items():
        place = path / name.replace("__", "/").replace("_csv", ".csv")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return path


def test_folder_of_text(tmp_path):
    folder(tmp_path, b_csv="k;n\nx;1\ny;2\n", a_csv="n;k\n3,5;z\n", README="not a table")
    (tmp_path / ".hidden.csv").write_text("other")
    (tmp_path / "_SUCCESS.csv").write_text("")
    found = read(tmp_path)
    assert found["k"].tolist() == ["z", "x", "y"]
    assert found["n"].tolist() == ["3,5", "1", "2"]  # as in one file, text that means numbers


def test_a_column_is_what_its_values_in_all_files_are(tmp_path):
    parts = {"a_csv": "c,d\n1,\n2,\n", "b_csv": "c,d\nx,2\n,3\n"}
    folder(tmp_path / "parts", **parts)
    (tmp_path / "one.csv").write_text("c,d\n1,\n2,\nx,2\n,3\n")
    pd.testing.assert_frame_equal(read(tmp_path / "parts"), read(tmp_path / "one.csv"))


def test_folders_that_differ(tmp_path):
    refused(folder(tmp_path / "e", README="no table"), "has no .csv, .tsv or .parquet files")
    both = folder(tmp_path / "both", a_csv="a\n1\n")
    pd.DataFrame({"a": [1]}).to_parquet(both / "b.parquet")
    refused(both, "of one kind; got 1 of text, 1 of Parquet")
    other = folder(tmp_path / "other", a_csv="a,b\n1,2\n", b_csv="a,c\n1,2\n")
    refused(other, "'b.csv' differs from 'a.csv': it lacks 'b' and has 'c', which that lacks")
    refused(folder(tmp_path / "empty", a_csv="a,b\n1,2\n", b_csv=""), "b.csv is empty")
    sub = folder(tmp_path / "sub", a_csv="a\n1\n", old__a_csv="a\n1\n")
    refused(sub, "has a sub-folder with tables, 'old'")
    book((tmp_path / "x").with_suffix(".xlsx"), ROWS)
    (tmp_path / "sheets").mkdir()
    book(tmp_path / "sheets" / "t.xlsx", ROWS)
    refused(tmp_path / "sheets", "got 1 of spreadsheets")
    clash = folder(tmp_path / "clash", **{"y=1__a_csv": "y,z\n1,2\n"})
    refused(clash, "must name the same columns for all files, and none that files have")
    uneven = folder(tmp_path / "uneven", a_csv="z\n2\n", **{"y=1__a_csv": "z\n2\n"})
    refused(uneven, "must name the same columns for all files")


def test_sub_folders_that_are_values_of_columns(tmp_path):
    folder(tmp_path / "c", **{"y=1__a_csv": "z\n2\n", "y=2__a_csv": "z\n3\n4\n"})
    found = read(tmp_path / "c")
    assert found["y"].tolist() == [1, 2, 2]
    table = pd.DataFrame({"y": [1, 2, 2], "k": ["a", "b", "c/d"], "z": [2.0, 3.0, 4.0]})
    table.to_parquet(tmp_path / "p", partition_cols=["y", "k"])
    found = read(tmp_path / "p").sort_values("z")
    assert found["y"].astype(int).tolist() == [1, 2, 2]
    assert found["k"].astype(str).tolist() == ["a", "b", "c/d"]
    assert found["z"].tolist() == [2, 3, 4]


def test_folder_of_parquet(tmp_path):
    (tmp_path / "p").mkdir()
    pd.DataFrame({"a": [1, 2], "k": ["x", "y"]}).to_parquet(tmp_path / "p" / "1.parquet")
    pd.DataFrame({"k": ["z"], "a": [2.5]}).to_parquet(tmp_path / "p" / "2.parquet")
    found = read(tmp_path / "p")
    assert found["a"].tolist() == [1, 2, 2.5]
    assert found["k"].tolist() == ["x", "y", "z"]
    pd.DataFrame({"a": ["text"], "k": ["z"]}).to_parquet(tmp_path / "p" / "3.parquet")
    refused(tmp_path / "p", "must hold the same kind of values in all files")
    (tmp_path / "p" / "3.parquet").write_bytes(b"something else")
    refused(tmp_path / "p", "cannot be read as Parquet files")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "p" / "3.parquet")
    refused(tmp_path / "p", "'3.parquet' differs from '1.parquet': it lacks 'k'")


def test_identifiers_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": range(100, 160), "x": rng.normal(size=60)})
    table = table.assign(who=[f"person {k}" for k in range(60)], y=table["x"] * 2)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((table[:20], table[20:])):
        part.to_parquet(tmp_path / "parts" / f"{number}.parquet")
    fit = ["fit", str(tmp_path / "parts"), "--target", "y", "--degree", "1", "--quiet"]
    done = CliRunner().invoke(app, [*fit, "--model", str(tmp_path / "m.mk")])
    assert done.exit_code == 0, done.output
    assert "parts: 60 rows, 4 columns; used: 1 of numbers" in done.output
    for name in ("id", "who"):
        assert f"note: column '{name}' looks like" in done.output
        assert f"it is left out. Keep it with --keep {name}, as categories with" in done.output
    done = CliRunner().invoke(app, [*fit, "--strict"])
    assert done.exit_code == 1
    assert "2 columns cannot be used as they are: 'id' looks like row numbers" in done.output
    table[["x"]].to_csv(tmp_path / "new.csv", index=False)  # what was left out is not asked for
    done = CliRunner().invoke(app, ["predict", str(tmp_path / "m.mk"), str(tmp_path / "new.csv")])
    assert done.exit_code == 0, done.output


def test_named_indices_in_a_folder_of_parquet_are_columns(tmp_path):
    pytest.importorskip("pyarrow")
    for part in range(2):
        table = pd.DataFrame({"k": list("uvw"), "a": np.arange(3.0) + part})
        table.set_index("k").to_parquet(tmp_path / f"{part}.parquet")
    found = read(tmp_path)
    assert sorted(found.columns) == ["a", "k"]
    assert found["k"].tolist() == list("uvwuvw")
