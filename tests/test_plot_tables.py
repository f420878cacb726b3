"""Figures of models of tables, as the command writes them, are those of their estimators."""

import numpy as np
import pandas as pd
import pytest

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot  # noqa: E402

from manykernels import load, plot, report  # noqa: E402
from manykernels.tables import Settings, fit_table, split_table  # noqa: E402


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module", params=["numbers", "classes"])
def known(request, tmp_path_factory):
    """Return a model from a file, its rows and targets as the table has them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=150), "kind": rng.choice(["a", "b"], 150)})
    y = frame["size"] * (frame["kind"] == "a") + 0.2 * rng.normal(size=150)
    frame["y"] = y if request.param == "numbers" else (y > 0).astype(int)
    task = "regression" if request.param == "numbers" else "classification"
    how = Settings("y", task=task, test=0, degree=[2], kernels="auto")
    model = fit_table(split_table(frame, how), how)
    return load(model.save(tmp_path_factory.mktemp("models") / "m.mk")), frame


@pytest.mark.parametrize("name", sorted(plot.__all__))
def test_every_figure_takes_a_model_of_a_table(known, name):
    model, frame = known
    display = getattr(plot, name)
    rows = model.encode(frame)
    arguments = {
        "ContributionsDisplay": (3,),
        "PredictionsDisplay": (frame["y"],),
        "CalibrationDisplay": (frame["y"],),
    }.get(name)
    if name == "CalibrationDisplay" and not hasattr(model.estimator, "classes_"):
        return
    if name == "EffectDisplay":
        arguments = (next(term for term in model.explain()["term"] if "kind" in term),)
    if arguments is None:
        given, own = (model,), (model.estimator,)
    else:
        given, own = (model, frame, *arguments), (model.estimator, rows, *arguments)
        if name in ("PredictionsDisplay", "CalibrationDisplay"):
            own = (model.estimator, rows, model.truth(frame))
    options = {"levels": model.levels} if name in ("EffectDisplay", "ContributionsDisplay") else {}
    found = vars(display.from_estimator(*given))
    expected = vars(display.from_estimator(*own, **options))
    for key, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[key], value)
        elif isinstance(value, str | float | int):
            assert found[key] == value
    if name == "EffectDisplay":
        assert "a" in [n for v in found["variables"] if v.names for n in v.names]


def test_reports_take_targets_as_the_table_has_them(known, tmp_path):
    model, frame = known
    path = report.write(model, frame, frame["y"], tmp_path / "r.html")
    assert "<svg" in path.read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_told_what_to_use():
    with pytest.raises(TypeError, match=r"or a model that manykernels\.load reads"):
        plot.TermsDisplay.from_estimator(object())
