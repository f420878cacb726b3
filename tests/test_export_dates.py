"""Dates as categories: exported Python has the levels of the model, whatever type dates are of."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from manykernels import export
from manykernels.tables import Settings, fit_table, split_table
from test_export import run_python

DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 2, 3)]
FORMS = {
    "text": lambda day: day.isoformat(),
    "date": lambda day: day,
    "datetime": lambda day: dt.datetime.combine(day, dt.time()),
    "Timestamp": pd.Timestamp,
    "date and clock": lambda day: dt.datetime.combine(day, dt.time(12, 30)),
    "date and part of a second": lambda day: dt.datetime.combine(day, dt.time(0, 0, 0, 5)),
    "Timestamp of a zone": lambda day: pd.Timestamp(day, tz="UTC"),
    "datetime of a zone": lambda day: dt.datetime.combine(day, dt.time(), dt.UTC),
    "float of single precision": lambda day: np.float32(day.day + day.month / 2),
    "NumPy's whole number": lambda day: np.int64(day.day + day.month),
}
SAME = ["text", "date", "datetime", "Timestamp"]


@pytest.fixture(scope="module", params=FORMS)
def trained(request):
    """The name of a form, and a model of a table with categories of that form."""
    values = [FORMS[request.param](day) for day in DAYS]
    places, rng = np.arange(60) % 3, np.random.default_rng(0)
    frame = pd.DataFrame(
        {"day": pd.Series([values[i] for i in places]), "y": places + rng.normal(size=60)}
    )
    settings = Settings(
        "y", categories=["day"], test=0.0, degree=[1], kernels="auto", task="regression"
    )
    return request.param, fit_table(split_table(frame, settings), settings)


def test_categories_of_dates_in_exported_python(trained):
    form, model = trained
    predict = run_python(export.to_python(model))["predict"]
    others = SAME if form in SAME else [form]
    for day in DAYS:
        row = pd.DataFrame({"day": pd.Series([FORMS[form](day)])})
        expected = float(model.predict(row).iloc[0, 0])
        for other in others:
            value = FORMS[other](day)
            assert predict({"day": value}) == pytest.approx(expected, abs=1e-9), other
            found = model.predict(pd.DataFrame({"day": pd.Series([value])})).iloc[0, 0]
            assert found == pytest.approx(expected, abs=1e-9), other
    assert len({round(predict({"day": FORMS[form](day)}), 6) for day in DAYS}) == 3
