"""Tables from files: reading, kinds of columns, encoding, models that know their columns."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, log_loss, r2_score

import manykernels
from manykernels.baselines.simple import SimpleModels, linear_model
from manykernels.frames import learnt_encoder
from manykernels.frames.columns import MISSING, OTHER
from manykernels.frames.written import decimal_years
from manykernels.tables import (
    Category,
    Moment,
    Number,
    Settings,
    TableError,
    fit_table,
    read,
    split_table,
)
from manykernels.tables.fitting import new_estimator
from manykernels.tables.options import COMMAND

rng = np.random.default_rng(0)


def frame(rows=60):
    rng = np.random.default_rng(0)  # the same whatever ran before
    area = rng.normal(70, 20, size=rows)
    colour = rng.choice(["red", "green", "blue"], size=rows)
    return pd.DataFrame(
        {
            "area": area,
            "colour": colour,
            "new": rng.choice([True, False], size=rows),
            "day": pd.date_range("2020-01-01", periods=rows, freq="17D").strftime("%Y-%m-%d"),
            "price": 3 * area + 40 * (colour == "red") + rng.normal(size=rows),
        }
    )


def write(path, table, **options):
    table.to_csv(path, index=False, **options)
    return path


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt"])
def test_text_files(tmp_path, ending):
    table = frame()
    path = tmp_path / f"table{ending}"
    separator = {".tsv": "\t", ".txt": ";"}.get(ending.removesuffix(".gz"), ",")
    write(path, table, sep=separator)
    assert np.allclose(read(path)["price"], table["price"])
    assert read(path).columns.tolist() == table.columns.tolist()


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".parquet.gz", ".feather.gz"])
def test_binary_files(tmp_path, ending):
    pytest.importorskip("pyarrow")
    table = frame()
    path = tmp_path / f"table{ending.removesuffix('.gz')}"
    (table.to_parquet if "parquet" in ending else table.to_feather)(path)
    if ending.endswith(".gz"):
        zipped = tmp_path / f"table{ending}"
        zipped.write_bytes(gzip.compress(path.read_bytes()))
        path = zipped
    assert read(path).equals(table)


INDICES = {
    "one": (["kind"], True),
    "two": (["kind", "a"], True),
    "numbers": (["a"], True),
    "counted": ([], True),
    "unnamed": ([], False),
}


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("ending", [".parquet", ".feather", ".parquet.gz"])
def test_named_indices_are_columns(tmp_path, ending, index):
    pytest.importorskip("pyarrow")
    names, named = INDICES[index]
    table = pd.DataFrame({"a": np.arange(9) % 4, "kind": list("uvwuvwuvw"), "y": np.arange(9.0)})
    kept = table.set_index(names) if names else table[::2]
    if not names and named:
        kept = table.set_index(pd.RangeIndex(1990, 1999, name="year"))
    path = tmp_path / f"t{ending.removesuffix('.gz')}"
    (kept.to_parquet if "parquet" in ending else kept.to_feather)(path)
    if ending.endswith(".gz"):
        path = tmp_path / f"t{ending}"
        path.write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    found = read(path)
    expected = (kept.reset_index() if named else kept)[found.columns]
    assert set(found.columns) == {*table.columns, *(["year"] if index == "counted" else [])}
    assert found.to_dict("list") == expected.to_dict("list")


def test_an_index_named_as_a_column_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["u", "v"], name="a"))
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="1 column name more than once: 'a'"):
        read(tmp_path / "t.parquet")


def test_byte_order_marks_and_spaces_after_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfage, name\n1, anna\n2, bo\n")
    assert read(path).columns.tolist() == ["age", "name"]
    assert read(path)["name"].tolist() == ["anna", "bo"]


def test_other_encodings_and_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;n\n1;?\n2;3\n".encode("latin-1"))
    table = read(path, na=["?"], encoding="latin-1", separator=";")
    assert table.columns.tolist() == ["größe", "n"]
    assert table["n"].isna().tolist() == [True, False]


BAD_FILES = {
    "empty": (b"", "is empty. Export it again"),
    "blank": (b"\n\n", "has no header row"),
    "duplicate": (b"a,b,a\n1,2,3\n", "has 1 column name more than once: 'a'"),
    "latin": (
        "größe,b\n1,2\n".encode("latin-1"),
        r"it has the byte 0xf6\. Save.*--encoding cp1252 .* or latin-1",
    ),
    "ragged": (b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields in line 3, saw 4"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(path)


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(TableError, match=r"has no \.csv, \.tsv or \.parquet files"):
        read(tmp_path)
    for name in ("t.ods", "t.xls", "t.xlsx.gz"):
        path = tmp_path / name
        path.write_bytes(b"PK")
        with pytest.raises(TableError, match=rf"must be a \.csv.*got '{path.name[1:]}'"):
            read(path)
    for name in ("t.parquet", "t.feather", "t.csv.gz"):
        path = tmp_path / name
        path.write_bytes(b"this is something else")
        with pytest.raises(TableError, match="cannot be read"):
            read(path)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + 1000 * b"1,2\n")[:-20])
    with pytest.raises(TableError, match="cannot be read"):
        read(path)
    with pytest.raises(TableError, match="'klingon' is unknown"):
        read(write(tmp_path / "t.csv", frame()), encoding="klingon")


def learn(table, categories=(), keep=(), strict=False):
    """Return an encoder as the command line makes it, and its notes."""
    encoder = learnt_encoder(table, categories, keep, COMMAND, strict)
    return encoder, encoder.notes_


def kinds(table, **options):
    encoder, _ = learn(table, **options)
    return {column.name: column for column in encoder.columns_}


def test_kinds_of_columns():
    found = kinds(frame().drop(columns="price"))
    assert {name: type(column) for name, column in found.items()} == {
        "area": Number,
        "colour": Category,
        "new": Category,
        "day": Moment,
    }
    assert found["colour"].levels == ["blue", "green", "red"]
    assert found["new"].levels == ["False", "True"]


def test_numbers_as_text_and_forced_categories():
    table = pd.DataFrame({"a": [str(k / 3) for k in range(40)], "b": np.arange(40) % 3})
    found = kinds(table, categories=["b"])
    assert type(found["a"]) is Number
    assert found["b"].levels == ["0", "1", "2"]
    # The same categories if a gap has made floats of the integers.
    other = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, np.nan]})
    encoder, _ = learn(table, ["b"], ())
    assert encoder.encode(other)["b"].tolist() == [2.0, -1.0]


def test_dates_are_decimal_years():
    moments = pd.Series(pd.to_datetime(["1970-01-01", "2000-01-01", "2024-07-01"], utc=True))
    assert np.allclose(decimal_years(moments), [1970, 2000, 2024.5], atol=0.003)
    column = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=30, freq="D")})
    encoder, _ = learn(column, (), ())
    steps = np.diff(encoder.encode(column)["t"])
    assert np.allclose(steps, 1 / 365.2425)
    text = pd.DataFrame({"t": column["t"].dt.strftime("%Y-%m-%d %H:%M")})
    assert np.allclose(encoder.encode(text), encoder.encode(column))


def test_missing_values_are_filled_and_marked():
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": ["x", None, "y", "x"], "c": range(4)})
    encoder, _ = learn(table, (), ())
    encoded = encoder.encode(table)
    assert encoded["a"].tolist() == [1, 3, 3, 8]
    assert encoded["a is missing"].tolist() == [0, 1, 0, 0]
    assert encoder.levels_ == {"b": ["x", "y", MISSING], "a is missing": ["no", "yes"]}
    assert encoded["b"].tolist() == [0, 2, 1, 0]
    assert encoder.kernels("auto") == [
        ("auto", "a"),
        ("categorical", "a is missing"),
        ("categorical", "b"),
        ("auto", "c"),
    ]
    # A gap where training had none is filled, too.
    assert encoder.encode(table.assign(c=[np.nan, 0, 1, 2]))["c"][0] == 1.5


def test_rare_categories_share_a_level():
    words = [f"w{k}" for k in range(110)]
    column = pd.DataFrame({"w": words[:100] * 5 + words})
    encoder, notes = learn(column, (), ())
    assert len(encoder.columns_[0].levels) == 101
    assert encoder.columns_[0].levels[-1] == OTHER
    assert "has 110 categories" in notes[0]
    encoded = encoder.encode(pd.DataFrame({"w": ["w0", "w105", "never seen"]}))["w"]
    assert encoded.tolist() == [encoder.columns_[0].levels.index("w0"), 100, 100]


def test_useless_columns_are_left_out_with_a_note():
    table = frame().drop(columns="price").assign(empty=np.nan, same=3)
    encoder, notes = learn(table, (), ())
    assert "empty" not in encoder.names
    assert "same" not in encoder.names
    assert any("'empty' has no values" in note for note in notes)
    assert any("'same' has the same value" in note for note in notes)


def test_unusable_columns_are_all_named():
    rows = 60
    table = pd.DataFrame(
        {
            "id": range(1, rows + 1),
            "name": [f"person {k}" for k in range(rows)],
            "text": [
                "a long story about nothing in particular, number " + str(k) for k in range(rows)
            ],
            "mixed": ["n/k" if k % 7 == 0 else str(k / 7) for k in range(rows)],
            "wide": np.where(np.arange(rows) == 3, np.inf, np.arange(rows) / 7),
            "fine": rng.normal(size=rows),
        }
    )
    with pytest.raises(TableError) as caught:
        learn(table, strict=True)
    text = str(caught.value)
    assert text.startswith("5 columns cannot be used as they are: 'id' looks like row numbers")
    assert "'name' looks like identifiers or free text (60 different values in 60 rows" in text
    assert "'text' looks like free text" in text
    assert "'mixed' mixes numbers and text (such as 'n/k', in 9 rows" in text
    assert "--na" in text
    assert "'wide' has infinite values" in text
    assert "as it is with --keep NAME" in text
    assert "--drop id --drop name --drop text --drop mixed --drop wide" in text
    with pytest.raises(TableError) as caught:
        learn(table, (), ())
    text = str(caught.value)
    assert text.startswith("2 columns cannot be used as they are: 'mixed' mixes")
    assert "--drop mixed --drop wide" in text
    assert "'id'" not in text
    found = kinds(table[["id", "name", "fine"]], keep=["id"], categories=["name"])
    assert type(found["id"]) is Number
    assert type(found["name"]) is Category


BAD_TABLES = {
    "target": ({}, {"target": "prise"}, "'prise' is no column of the table. Did you mean 'price'"),
    "drop": ({}, {"drop": ["x"]}, "--drop 'x' is no column"),
    "constant": ({"price": 1.0}, {}, "has the same value in all rows"),
    "infinite": ({"price": [np.inf, *range(59)]}, {}, "has infinite values"),
    "many": (
        {"price": [f"p{k}" for k in range(60)]},
        {},
        r"60 different texts, too many for classes \(at most 50\)\. Is it the right column",
    ),
    "numbers": ({}, {"task": "classification"}, "too many for classes.*Use --task regression"),
    "rare": ({"price": ["a"] * 57 + ["b"] * 3}, {}, r"classes of fewer than ten rows \(1\): 'b'"),
    "words": (
        {"price": ["a", "b"] * 30},
        {"task": "regression"},
        "must hold numbers for a regression; got 'a'",
    ),
    "gaps": (
        {"area": [np.nan, *range(59)]},
        {"missing": "refuse"},
        r"1 column with missing values: 'area' \(1\).*--missing impute",
    ),
}


@pytest.mark.parametrize(("change", "options", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(change, options, message):
    with pytest.raises(TableError, match=message):
        split_table(frame().assign(**change), Settings(**{"target": "price", **options}))


def test_small_tables():
    with pytest.raises(TableError, match="has 2 rows with a target; at least 20 are needed"):
        split_table(frame(2), Settings("price"))
    with pytest.raises(TableError, match="has a single column, 'price'"):
        split_table(frame()[["price"]], Settings("price"))


def test_rows_without_a_target_are_left_out():
    table = frame()
    table.loc[:4, "price"] = np.nan
    split = split_table(table, Settings("price"))
    assert len(split.train) + len(split.test) == 55
    assert "5 rows without a target left out." in split.notes


def test_too_many_pairs_of_columns_are_left_out_in_words(monkeypatch):
    table, settings = frame(), Settings("price", kernels="auto", test=0)
    assert fit_table(split_table(table, settings), settings).estimator.degree_ == 2
    monkeypatch.setattr("manykernels.spec.PRICED_ENTRIES", 0)
    split = split_table(table, settings)
    assert new_estimator(split, Settings("price", degree=[2]), 0).degree == [2]
    model = fit_table(split, settings)
    assert model.estimator.degree_ == 1
    assert any("--degree 2" in note for note in model.summary["notes"])


def test_task_and_notes():
    table = frame().assign(price=np.arange(60) % 5)
    split = split_table(table, Settings("price"))
    assert split.task == "regression"
    assert "5 distinct numbers" in split.notes[0]
    assert split_table(table.assign(price=np.arange(60) % 2), Settings("price")).task == (
        "classification"
    )
    many = split_table(frame(), Settings("price", max_rows=30))
    assert len(many.train) == 30
    assert any("trained on 30 of 48 rows" in note for note in many.notes)


@pytest.fixture(scope="module")
def fitted():
    table = frame(120)
    settings = Settings("price", degree=[1])
    split = split_table(table, settings)
    return table, split, fit_table(split, settings)


def test_scores_are_of_held_out_rows(fitted):
    _, split, model = fitted
    scores = model.summary["scores"]
    truth = split.y_test
    predicted = model.predict(split.test)["price"].to_numpy()
    r2 = 1 - np.sum((truth - predicted) ** 2) / np.sum((truth - truth.mean()) ** 2)
    assert scores["this model"] == pytest.approx(r2)
    assert scores["this model"] > 0.95
    assert scores["linear model"] > 0.95  # the truth is linear
    assert scores["mean"] == pytest.approx(
        1 - np.sum((truth - split.y_train.mean()) ** 2) / np.sum((truth - truth.mean()) ** 2)
    )
    assert set(split.train.index).isdisjoint(split.test.index)


def test_order_of_columns_does_not_matter_and_others_are_ignored(fitted):
    table, _, model = fitted
    expected = model.predict(table)
    turned = table[table.columns[::-1]].assign(extra="whatever")
    assert model.predict(turned).equals(expected)


def test_missing_renamed_and_changed_columns_are_named(fitted):
    table, _, model = fitted
    with pytest.raises(TableError, match=r"lacks 1 column .*'colour'.* may be its 'color': rename"):
        model.predict(table.rename(columns={"colour": "color"}))
    with pytest.raises(TableError, match="lacks 2 columns that the model needs: 'area', 'day'"):
        model.predict(table.drop(columns=["day", "area"]))
    with pytest.raises(TableError, match="'area' must hold numbers, as in training; got 'big'"):
        model.predict(table.assign(area="big"))
    with pytest.raises(TableError, match="'day' must hold dates, as in training; got 'monday'"):
        model.predict(table.assign(day="monday"))
    with pytest.raises(TableError, match="'area' has infinite values"):
        model.predict(table.assign(area=np.inf))


def test_what_to_add_is_said_and_what_was_left_out_is_not_called_unknown(tmp_path):
    table = frame(100).assign(person=[f"P{k}" for k in range(100)], note="x", sold=range(100))
    settings = Settings("price", degree=[1], kernels="linear", drop=["note"], time="sold")
    model = fit_table(split_table(table, settings), settings)
    assert model.encoder.names == ["area", "colour", "new", "day"]
    lacks = "the table lacks 1 column that the model needs: 'area'. Add a column of that name to "
    for one in (model, manykernels.load(model.save(tmp_path / "m.mk"))):
        with pytest.raises(TableError) as caught:
            one.predict(table.drop(columns="area"))
        assert str(caught.value) == f"{lacks}the table."
        with pytest.raises(TableError) as caught:
            one.predict(table.drop(columns="area").assign(surface=3))
        assert str(caught.value) == (
            f"{lacks}the table, or rename one that the model does not know: 'surface'."
        )
        with pytest.raises(TableError, match=r"'area', 'day'\. Add columns of these names to"):
            one.predict(table[["colour", "new"]])


def test_contributions_and_terms(fitted):
    table, _, model = fitted
    parts = model.contributions(table)
    assert np.allclose(parts.sum(axis=1), model.predict(table)["price"])
    parts_of_days = {"day", "day, day of the week", "day, month"}
    assert set(model.explain(None)["term"]) <= {"1", "area", "colour", "new", *parts_of_days}


def test_files_of_table_models(fitted, tmp_path):
    table, _, model = fitted
    assert repr(model).startswith("TableModel(regression of 'price' from 4 columns, ")
    again = manykernels.load(model.save(tmp_path / "m.mk"))
    assert again.predict(table).equals(model.predict(table))
    assert again.summary == model.summary
    assert again.encoder.columns_ == model.encoder.columns_
    assert again.encoder.notes_ == model.encoder.notes_


def test_classes(tmp_path):
    table = frame(120)
    table["kind"] = np.where(table["area"] > 70, "big", "small")
    table = table.drop(columns="price")
    settings = Settings("kind", degree=[1])
    split = split_table(table, settings)
    model = fit_table(split, settings)
    out = model.predict(split.test)
    assert out.columns.tolist() == ["kind", "probability of big", "probability of small"]
    assert np.allclose(out.iloc[:, 1:].sum(axis=1), 1)
    assert model.summary["scores"]["this model"] > 0.9
    assert model.summary["metric"] == "accuracy"
    assert (model.truth(table) == table["kind"]).all()
    again = manykernels.load(model.save(tmp_path / "m.mk"))
    assert again.predict(table).equals(model.predict(table))


def test_no_rows_held_out():
    settings = Settings("price", degree=[1], test=0.0)
    split = split_table(frame(), settings)
    assert len(split.test) == 0
    assert fit_table(split, settings).summary["scores"] == {}


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["$1,200", "$35.50", "-$7"], [1200, 35.5, -7]),
        (["12%", "8.5%", "100 %"], [12, 8.5, 100]),
        (["3,5", "12,25", "7"], [3.5, 12.25, 7]),
        (["1,200", "35,000", "1,234,567.5"], [1200, 35000, 1234567.5]),
        (["1 200", "35 €", "7"], [1200, 35, 7]),
        (["17.593,03", "950", "1.200"], [17593.03, 950, 1200]),
        (["17.593,030", "1,200", "-1.234.567,5"], [17593.03, 1.2, -1234567.5]),
        (["1.234.567", "17.593", "950"], [1234567, 17593, 950]),
        (["€ 1.200,50", "3,5 €", "12"], [1200.5, 3.5, 12]),
        (["17'593.03", "950", "1'200"], [17593.03, 950, 1200]),
    ],
)
def test_numbers_as_people_write_them(words, numbers):
    table = pd.DataFrame({"n": words * 10, "z": rng.normal(size=30)})
    encoder, _ = learn(table, (), ())
    assert type(encoder.columns_[0]) is Number
    assert np.allclose(encoder.encode(table)["n"], numbers * 10)
    one = table.iloc[:1]
    assert np.allclose(encoder.encode(one)["n"], numbers[:1])


@pytest.mark.parametrize(
    "words", [["3,5", "12.5", "4"], ["1.234,5", "1,234.5", "7"], ["1,200", "3,5", "4"]]
)
def test_numbers_written_in_two_ways_are_refused(words):
    table = pd.DataFrame({"n": words * 10, "z": rng.normal(size=30)})
    with pytest.raises(TableError, match="'n' mixes numbers and text"):
        learn(table, (), ())


@pytest.mark.parametrize(
    "style", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S"]
)
def test_dates_as_people_write_them(style):
    days = pd.Series(pd.date_range("2023-01-05", periods=60, freq="5D"))
    table = pd.DataFrame({"d": days.dt.strftime(style), "z": rng.normal(size=60)})
    encoder, _ = learn(table, (), ())
    assert type(encoder.columns_[0]) is Moment
    assert np.allclose(encoder.encode(table)["d"], decimal_years(days.dt.tz_localize("UTC")))
    # The days of one month alone do not tell.
    few = encoder.encode(table.iloc[:1])
    assert np.allclose(few["d"], decimal_years(days[:1].dt.tz_localize("UTC")))


CLOCKS = ["%H:%M", "%H:%M:%S", "%-H:%M", "%I:%M %p", "%-I:%M:%S%p", "%H:%M:%S.%f"]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    "day", ["%d/%m/%Y", "%-d/%-m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%-d.%-m.%Y", "%d-%m-%Y", "%Y/%m/%d"]
)
def test_dates_with_times_are_read_as_their_iso_form(day, clock):
    moments = pd.Series(pd.date_range("2022-01-05 00:10", periods=60, freq="5D 3h 7min"))
    words = moments.dt.strftime(f"{day} {clock}")
    words.iloc[7] = None
    iso = moments.dt.strftime("%Y-%m-%d %H:%M:%S").where(words.notna(), None)
    table = pd.DataFrame({"d": words, "z": rng.normal(size=60)})
    encoder, notes = learn(table)
    plain, said = learn(table.assign(d=iso))
    assert notes == said
    assert [note.partition(":")[0] for note in notes] == ["column 'd' holds dates"]
    assert type(encoder.columns_[0]) is Moment
    expected = plain.encode(table.assign(d=iso))
    np.testing.assert_array_equal(encoder.encode(table), expected)
    np.testing.assert_array_equal(encoder.encode(table.iloc[:1]), expected.iloc[:1])
    # In a column of these some values may have no time, which is midnight.
    short = words.copy()
    short.iloc[3] = moments[3].strftime(day)
    found = learn(table.assign(d=short))[0].encode(table.assign(d=short))["d"]
    assert found[3] == decimal_years(moments[[3]].dt.normalize().dt.tz_localize("UTC"))[0]


def test_dates_with_times_that_could_be_read_in_two_ways_are_refused():
    words = ["01/02/2023 10:30", "03/04/2023 9:00"] * 20
    table = pd.DataFrame({"d": words, "z": rng.normal(size=40), "price": rng.normal(size=40)})
    with pytest.raises(TableError, match=r"the day or with the month \(such as '01/02/2023 10:30'"):
        learn(table)
    with pytest.raises(TableError, match="--time 'd' must hold dates"):
        split_table(table, Settings("price", time="d"))


@pytest.mark.parametrize("odd", ["20/09/2022 25:00", "20/09/2022 19:36 x", "31/09/2022 1:00"])
def test_times_that_are_none_are_no_dates(odd):
    encoder, _ = learn(pd.DataFrame({"d": ["20/09/2022 19:36", "21/09/2022 1:00"] * 20}))
    with pytest.raises(TableError, match=f"'d' must hold dates, as in training; got '{odd}'"):
        encoder.encode(pd.DataFrame({"d": [odd]}))


def test_dates_that_could_be_read_in_two_ways_are_refused():
    table = pd.DataFrame({"d": ["01/02/2023", "03/04/2023"] * 20, "z": rng.normal(size=40)})
    with pytest.raises(TableError, match="may begin with the day or with the month"):
        learn(table, (), ())


def test_row_numbers_with_some_rows_held_out():
    table = frame(100).drop(columns="day").assign(order=np.arange(1000, 1100))
    with pytest.raises(TableError, match="'order' looks like row numbers"):
        split_table(table, Settings("price", strict=True))
    split = split_table(table, Settings("price"))
    assert "order" not in split.encoder.names
    assert split.notes == [
        "column 'order' looks like row numbers (whole, all different, few gaps); it is left out. "
        "Keep it with --keep order, as categories with --category order."
    ]
    assert "order" in split_table(table, Settings("price", keep=["order"])).encoder.names


def test_many_identifiers_have_one_note():
    table = pd.DataFrame({f"n {j}": [f"person {j} {k}" for k in range(40)] for j in range(30)})
    encoder, notes = learn(table.assign(x=rng.normal(size=40)), (), ())
    assert encoder.names == ["x"]
    assert len(notes) == 1
    assert notes[0].startswith("30 columns look like identifiers or free text; they are left out:")
    settings, table["price"] = Settings("price"), rng.normal(size=40)
    with pytest.raises(TableError, match="no column is left to predict from: 30 columns look like"):
        split_table(table, settings)
    with pytest.raises(TableError, match=r"no column.*'n 1' looks like .*--keep \"n 1\""):
        split_table(table[["n 1", "price"]], settings)


def test_lists_are_refused():
    table = frame().assign(things=[[1, 2]] * 60)
    with pytest.raises(TableError, match="'things' holds lists"):
        split_table(table, Settings("price"))


TARGETS = {
    "currency": ([f"${k},100.50" for k in range(1, 61)], "regression", None),
    "percent": ([f"{k}%" for k in range(60)], "regression", None),
    "mixed": (["abc", *map(str, range(59))], None, "mixes numbers and text .such as 'abc'.*--na"),
    "dates": (
        pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d").tolist(),
        None,
        "holds dates, which cannot be predicted",
    ),
}


@pytest.mark.parametrize(("values", "task", "message"), TARGETS.values(), ids=TARGETS)
def test_targets_as_people_write_them(values, task, message):
    table = frame().assign(price=values)
    if message is None:
        split = split_table(table, Settings("price"))
        assert split.task == task
        assert np.all(np.isfinite(split.y_train))
    else:
        with pytest.raises(TableError, match=message):
            split_table(table, Settings("price"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 something", "is an Excel file or a zip"),
        (gzip.compress(b"a,b\n1,2\n"), r"is gzipped. Rename it to t\.csv\.gz"),
        (b"PAR1....", "is a Parquet file"),
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text. Use --encoding utf-16"),
        (b"a,b\n", "has a header but no rows"),
    ],
    ids=["zip", "gzip", "parquet", "utf-16", "header"],
)
def test_files_in_disguise(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(path)


def test_separators_are_found_and_checked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n")
    assert read(path).columns.tolist() == ["a", "b"]
    with pytest.raises(TableError, match="must be one character"):
        read(path, separator=";;")


def test_values_that_the_model_does_not_know(fitted):
    table, _, model = fitted
    assert model.encoder.unknown(table) == {}
    assert model.encoder.unknown(table.assign(colour="mauve")) == {"colour": ["mauve"]}


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_simple_models_are_those_of_scikit_learn(classes, rng):
    codes = [[], [0.0, 1.0, 2.0], []]
    X = rng.normal(size=(90, 3))
    X[:, 1] = rng.integers(-1, 3, size=90)  # -1: a level that is not known
    y = X[:, 0] + np.array([0, 3, -2, 1])[X[:, 1].astype(int)] + rng.normal(size=90)
    if classes:
        y = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.8][: classes - 1]))]
    train, test = slice(0, 60), slice(60, 90)
    model = SimpleModels.fit(X[train], y[train], codes, bool(classes))
    dummies = np.column_stack([X[:, 0], *(X[:, 1] == code for code in range(3)), X[:, 2]])
    peer = linear_model(bool(classes)).fit(dummies[train], y[train])
    constant = (DummyClassifier if classes else DummyRegressor)().fit(dummies[train], y[train])
    found = model.measures(X[test], y[test])
    scores = {name: own["accuracy" if classes else "R²"] for name, own in found.items()}
    assert list(scores) == ["linear model", "most frequent class" if classes else "mean"]
    rate = accuracy_score if classes else r2_score
    expected = [rate(y[test], m.predict(dummies[test])) for m in (peer, constant)]
    np.testing.assert_allclose(list(scores.values()), expected)
    if classes:
        assert np.array_equal(model.predict(X), peer.predict(dummies))
        chances = peer.predict_proba(dummies[test])
        np.testing.assert_allclose(model.probabilities(X[test]), chances)
        known = log_loss(y[test], chances, labels=np.unique(y[train]))
        assert found["linear model"]["log loss"] == pytest.approx(known)
    else:
        np.testing.assert_allclose(model.predict(X), peer.predict(dummies))


def test_many_useless_columns_have_one_note():
    table = pd.DataFrame({f"c{j}": np.full(30, j) for j in range(200)})
    table["x"], table["empty"] = np.linspace(0, 1, 30), np.nan
    encoder, notes = learn(table, (), ())
    assert encoder.names == ["x"]
    assert len(notes) == 2
    assert "200 columns have the same value everywhere" in notes[0]
    assert len(notes[0]) < 200
    assert notes[1] == "column 'empty' has no values; it is left out."


def test_many_columns_that_cannot_be_used_or_are_missing_are_not_all_named():
    lists = pd.DataFrame({f"c{j}": [[j]] * 30 for j in range(200)})
    with pytest.raises(TableError, match="200 columns cannot be used") as error:
        learn(lists, (), ())
    assert len(str(error.value)) < 1500
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 200))).rename(columns=str)
    encoder, _ = learn(numbers, (), ())
    with pytest.raises(TableError, match="lacks 199 columns") as error:
        encoder.encode(numbers[["0"]])
    assert len(str(error.value)) < 1500


def test_a_few_values_that_decide_the_fit_are_named(rng):
    frame = pd.DataFrame({"a": rng.normal(size=400)})
    frame["y"] = frame["a"] + rng.normal(size=400)
    notes = split_table(frame, Settings("y")).notes
    assert not any("far from the others" in note for note in notes)
    frame.loc[[3, 9], "y"] = [400.0, -390.0]
    notes = " ".join(split_table(frame, Settings("y")).notes)
    assert "'y' has values far from the others, such as 400: 1 of 400 rows has half" in notes
    frame["y"] = np.exp(frame["a"])  # skewed, as prices are
    notes = split_table(frame, Settings("y")).notes
    assert not any("far from the others" in note for note in notes)


@pytest.mark.parametrize("low", [20.0, 0.0])
def test_two_numbers_that_may_be_quantities_are_said_to_be_classes(rng, low):
    frame = pd.DataFrame({"a": rng.normal(size=60), "y": np.where(np.arange(60) % 3, low, 20.5)})
    whole = frame.assign(y=(frame["y"] > 20).astype(float))
    words = f"two distinct numbers, {low:g} and 20.5, which are predicted as classes"
    assert any(words in note for note in split_table(frame, Settings("y")).notes)
    assert not any(
        "predicted as classes" in note for note in split_table(whole, Settings("y")).notes
    )
