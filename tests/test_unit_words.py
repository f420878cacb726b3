"""Columns and targets of numbers with their unit in words, as in 12 kg."""

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLRegressor, TableEncoder, export, load
from manykernels.frames import TableError
from manykernels.frames.written import as_numbers, number_style
from manykernels.tables import Settings, fit_table, split_table


@pytest.mark.parametrize(
    ("values", "style", "numbers"),
    [
        (["12 kg", "3.5 kg"], "kg", [12, 3.5]),
        (["12kg", "1,200 kg"], "kg", [12, 1200]),
        (["3,5 kg", "1.234,5 kg"], "comma kg", [3.5, 1234.5]),
        (["1 500 kg", "-2 kg"], "kg", [1500, -2]),
        (["5 °C", "-3 °C"], "°C", [5, -3]),
        (["7 km/h", "8 km/h"], "km/h", [7, 8]),
        (["10 m2", "11 m2"], "m2", [10, 11]),
        (["10 m²", "11 m²"], "m²", [10, 11]),
        (["3 days", "4 days"], "days", [3, 4]),
        (["1e5", "2e5"], "", [1e5, 2e5]),
        (["12 %", "3 %"], "%", [12, 3]),
        (["3 comma", "4 comma"], "", None),
        (["12 kg", "500 g"], "", None),
        (["1st", "2nd"], "", None),
        (["12 Main Street", "13 Main Street"], "", None),
        (["2020Q1", "2020Q2"], "", None),
        (["07:30h", "08:00h"], "h", None),
    ],
)
def test_one_word_behind_all_numbers_is_their_unit(values, style, numbers):
    words = pd.Series(values, dtype=object)
    assert number_style(words) == style
    found = as_numbers(words, style)
    if numbers is None:
        assert found.isna().all()
    else:
        assert found.tolist() == numbers


@pytest.fixture
def table(rng):
    load = rng.normal(12, 3, size=80).round(1)
    frame = pd.DataFrame({"load": [f"{value} kg" for value in load], "a": rng.normal(size=80)})
    frame.loc[[3, 4], "load"] = None
    return frame, frame.assign(load=np.where(frame["load"].isna(), np.nan, load)), load + frame["a"]


def test_the_model_is_that_of_plain_numbers(table, tmp_path):
    frame, plain, y = table
    model = MKLRegressor(alpha=0.01).fit(frame, y)
    same = MKLRegressor(alpha=0.01).fit(plain, y)
    assert np.array_equal(model.predict(frame), same.predict(plain))
    assert "column 'load' holds numbers with the unit 'kg'." in model.encoder_.notes_
    model.save(tmp_path / "m.mk")
    for rows in (frame, plain, plain.astype({"load": str}).replace("nan", None)):
        assert np.array_equal(load(tmp_path / "m.mk").predict(rows), model.predict(frame))
    with pytest.raises(TableError, match="'load' must hold numbers, as in training; got '12 g'"):
        model.predict(frame.assign(load="12 g"))
    with pytest.warns(UserWarning, match="written otherwise: 'load'"):
        assert "def predict" in export.to_python(model)


def test_a_unit_that_training_had_not_is_refused(table):
    frame, plain, y = table
    with pytest.raises(TableError, match="'load' must hold numbers, as in training; got '"):
        MKLRegressor(alpha=0.01).fit(plain, y).predict(frame)


def test_targets_and_categories(table):
    frame, _, y = table
    frame = frame.assign(mass=[f"{value:.2f} t" for value in y])
    settings = Settings("mass", kernels="linear", degree=[1], categories=["load"])
    split = split_table(frame, settings)
    assert split.task == "regression"
    assert list(split.encoder.levels_) == ["load"]
    assert fit_table(split, settings).summary["task"] == "regression"


def test_row_numbers_with_a_word_are_left_out():
    frame = pd.DataFrame({"code": [f"{k} DE" for k in range(100, 140)], "a": np.arange(40.0) ** 2})
    with pytest.warns(UserWarning, match="'code' looks like row numbers"):
        encoder = TableEncoder().fit(frame)
    assert encoder.names == ["a"]
