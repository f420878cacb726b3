"""Arguments that are of no use, wherever they are given: errors of one line that name them."""

import datetime
import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, TableEncoder, export, load
from manykernels import report as reports
from manykernels.feature_maps import Spline
from manykernels.losses import Huber
from manykernels.plot import (
    CalibrationDisplay,
    ContributionsDisplay,
    ConvergenceDisplay,
    EffectDisplay,
    HeatmapDisplay,
    NetworkDisplay,
    PathDisplay,
    PredictionsDisplay,
    TermsDisplay,
)

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
Y = X["a"] * X["b"] + X["c"]
LABELS = np.where(Y > 0, "up", "down")
ODD = {
    "nothing": None, "truth": True, "minus": -1, "half": 0.5, "nan": np.nan, "huge": 10**400,
    "text": "text", "no text": "", "bytes": b"b", "list": [1], "empty": [], "dict": {"q": 1},
    "class": dict, "function": len, "object": object(), "array": np.arange(3.0),
    "scalar": np.array(2), "date": datetime.date(2020, 1, 1), "map": Spline(), "loss": Huber(),
    "class of estimators": MKLRegressor, "ragged": [[1, 2], 3], "complex": 1j,
}  # fmt: skip


@pytest.fixture(scope="module")
def models():
    return {
        "numbers": MKLRegressor(degree=2, p=1).fit(X, Y),
        "classes": MKLClassifier(degree=1).fit(X, LABELS),
        "path": MKLRegressorCV(degree=1, n_alphas=3, cv=3).fit(X, Y),
    }


DISPLAYS = {
    EffectDisplay: ("numbers", X, "a"),
    TermsDisplay: ("numbers",),
    NetworkDisplay: ("numbers",),
    HeatmapDisplay: ("numbers",),
    PathDisplay: ("path",),
    ConvergenceDisplay: ("numbers",),
    ContributionsDisplay: ("numbers", X),
    PredictionsDisplay: ("numbers", X, Y),
    CalibrationDisplay: ("classes", X, LABELS),
}


def in_words(act, *fine):
    """Every odd value is refused in words of the library, but for those that are ``fine``."""
    for name, value in ODD.items():
        if name in fine:
            continue
        with pytest.raises((TypeError, ValueError)) as caught:
            act(value)
        plt.close("all")
        said = str(caught.value)
        right = " must " in said or "SQL, which has no name such as ''" in said
        assert right or isinstance(caught.value, NotFittedError), (name, said)
        assert "\n" not in said, (name, said)


@pytest.mark.parametrize("display", DISPLAYS)
def test_axes(display, models):
    model, *rest = DISPLAYS[display]
    in_words(lambda ax: display.from_estimator(models[model], *rest, ax=ax), "nothing")


@pytest.mark.parametrize("display", DISPLAYS)
def test_models_of_figures(display):
    _, *rest = DISPLAYS[display]
    in_words(lambda model: display.from_estimator(model, *rest))


@pytest.mark.parametrize("display", [EffectDisplay, ContributionsDisplay])
def test_levels(display, models):
    assert "levels" in inspect.signature(display.from_estimator).parameters
    model, *rest = DISPLAYS[display]
    in_words(lambda own: display.from_estimator(models[model], *rest, levels=own), "nothing")


def test_rows_of_contributions_and_classes_of_calibration(models):
    in_words(lambda own: ContributionsDisplay.from_estimator(models["numbers"], own))
    for name, y in ODD.items():
        with pytest.raises((TypeError, ValueError)) as caught:
            CalibrationDisplay.from_estimator(models["classes"], X, y)
        assert "inside" not in str(caught.value), name


def test_reports(models, tmp_path):
    model, path = models["numbers"], tmp_path / "r.html"
    in_words(lambda own: reports.write(own, X, Y, path))
    in_words(lambda own: reports.write(model, own, Y, path))
    in_words(lambda own: reports.write(model, X, Y, path, train=own), "nothing")
    in_words(lambda own: reports.write(model, X, Y, path, levels=own), "nothing", "dict")
    in_words(lambda own: reports.write(model, X, Y, own), "text", "no text")


def test_exports(models):
    for function in (export.to_python, export.to_sql, export.to_latex):
        in_words(function)
    in_words(lambda own: export.to_sql(models["numbers"], own), "text")
    in_words(lambda own: export.to_latex(models["numbers"], own))
    for digits in (0, 18):
        with pytest.raises(ValueError, match="digits must be an integer from 1 to 17"):
            export.to_latex(models["numbers"], digits)
    for digits in (1, 17):
        assert export.to_latex(models["numbers"], digits)


def test_columns_of_encoders():
    for option in ("categories", "keep"):
        in_words(lambda own, o=option: TableEncoder(**{o: own}).fit(X), "nothing", "empty")


def test_paths(models):
    in_words(models["numbers"].save, "text", "no text")
    in_words(load, "text", "no text")
    for name in ("", "a\0b"):
        for act in (models["numbers"].save, load):
            with pytest.raises(ValueError, match="path must name a file; got "):
                act(name)
    with pytest.raises(ValueError, match=r"checkpoint must be a folder or None; got 'a.*b'"):
        MKLRegressor(checkpoint="a\0b").fit(X, X["a"])
