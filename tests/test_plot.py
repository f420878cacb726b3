"""Figures show the numbers that the model has."""

import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import confusion_matrix, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.baselines import PolynomialCombination
from manykernels.kernels import Precomputed

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.collections import PolyCollection, QuadMesh  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from manykernels.fitting.choose import carried  # noqa: E402
from manykernels.plot import (  # noqa: E402
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
from manykernels.plot.spreads import TermSpread  # noqa: E402
from manykernels.plot.style import BLUE, GREEN, ORANGE, RED, shorten, shorten_term  # noqa: E402
from manykernels.words import number as written  # noqa: E402

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(60, 4)), columns=["u", "v", "w", "z"])
FRAME["w"] = rng.integers(0, 3, size=60)
X = FRAME.to_numpy()
y = 3 * X[:, 0] * X[:, 1] + X[:, 3] + (X[:, 2] == 1) + 0.1 * rng.normal(size=60)
TWO = np.where(y > 0, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]
LEVELS = {"w": ["red", "green", "blue"]}
LABELS = {"regressor": None, "array": None, "two": None, "three": "low"}


@pytest.fixture(scope="module")
def models():
    """Return fitted models by kind, with the rows and targets of each."""
    real = MKLRegressorCV(kernels="auto", degree=[1, 2], p=1, n_alphas=6, cv=3)
    classes = MKLClassifierCV(degree=2, p=1, n_alphas=4, cv=2)
    return {
        "regressor": (real.fit(FRAME, y), FRAME, y),
        "array": (MKLRegressorCV(degree=2, solver="greedy", cv=3).fit(X, y), X, y),
        "two": (MKLClassifier(degree=2, p=1, alpha=1e-2).fit(FRAME, TWO), FRAME, TWO),
        "three": (classes.fit(X, THREE), X, THREE),
    }


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def split(term):
    """Return the variables of a term of single columns, by its name."""
    return tuple(part.split("^")[0] for part in term.split(" * "))


def mesh_values(ax):
    """Return the values of a coloured mesh, of shape (n_y, n_x)."""
    (mesh,) = (artist for artist in ax.collections if isinstance(artist, QuadMesh))
    rows, columns, _ = mesh.get_coordinates().shape
    return np.asarray(mesh.get_array()).reshape(rows - 1, columns - 1)


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def widths(bars):
    return np.array([bar.get_width() for bar in bars])


# All displays


def every_display(model, rows, targets, label):
    """Yield functions that make each display that a model can have on given axes."""
    term = model.explain(1)["term"].item()
    yield lambda ax: TermsDisplay.from_estimator(model, ax=ax)
    yield lambda ax: NetworkDisplay.from_estimator(model, ax=ax)
    yield lambda ax: HeatmapDisplay.from_estimator(model, ax=ax)
    yield lambda ax: EffectDisplay.from_estimator(model, rows, term, label=label, ax=ax)
    yield lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax)
    yield lambda ax: PredictionsDisplay.from_estimator(model, rows, targets, ax=ax)
    yield lambda ax: ContributionsDisplay.from_estimator(model, rows, 3, label=label, ax=ax)
    if hasattr(model, "score_path_"):
        yield lambda ax: PathDisplay.from_estimator(model, ax=ax)


@pytest.mark.parametrize("kind", LABELS)
def test_displays_draw_on_given_axes_and_again_on_new_ones(models, kind):
    for make in every_display(*models[kind], LABELS[kind]):
        figure, ax = pyplot.subplots()
        display = make(ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert pyplot.get_fignums() == [figure.number]
        assert display.plot() is display
        assert display.figure_ is not figure
        if kind == "three":
            display.figure_.canvas.draw()
            inside = display.figure_.get_tightbbox().extents.reshape(2, 2)
            assert np.all(inside >= 0)
            assert np.all(inside <= display.figure_.get_size_inches())
        check_colours(display.figure_)
        pyplot.close("all")


def check_colours(figure):
    """Assert that texts are black, but for those on cells, and that no frame hides them."""
    cells = {"#222222", "#f7f7f7", "#08306b", "#f7fbff", "#1c4f79", "#3182bd"}
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert {to_hex(text.get_color()) for text in texts} - {"#000000"} <= cells
    for ax in figure.axes:
        assert ax.get_legend() is None or not ax.get_legend().get_frame_on()


def test_without_matplotlib_the_message_says_what_to_install(models, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for make in every_display(*models["regressor"], None):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'manykernels\[plot\]'"):
            make(None)


@pytest.mark.parametrize("display", [TermsDisplay, NetworkDisplay, HeatmapDisplay])
def test_what_cannot_be_drawn_is_refused(models, display):
    model = models["regressor"][0]
    with pytest.raises(ValueError, match="top must be an integer >= 1; got 0"):
        display.from_estimator(model, top=0)
    with pytest.raises(TypeError, match="got PolynomialCombination"):
        display.from_estimator(PolynomialCombination())
    pipeline = make_pipeline(StandardScaler(), DummyRegressor()).fit(X, y)
    with pytest.raises(TypeError, match="got DummyRegressor"):
        display.from_estimator(pipeline)
    with pytest.raises(NotFittedError):
        display.from_estimator(make_pipeline(StandardScaler(), MKLRegressor()))


def test_calibration_needs_probabilities(models):
    hinge = MKLClassifier(alpha=0.01, loss="hinge", degree=1).fit(X, y > 0)
    for model in (models["regressor"][0], make_pipeline(DummyRegressor()).fit(X, y), hinge):
        with pytest.raises(TypeError, match=r"estimator must be a classifier with predict_proba;"):
            CalibrationDisplay.from_estimator(model, X, y > 0)


@pytest.mark.parametrize("display", [TermsDisplay, NetworkDisplay, HeatmapDisplay])
def test_a_constant_model_is_said_to_be_one(display):
    model = MKLRegressor(p=1, alpha=1e9).fit(X, y)
    assert model.explain().empty
    (text,) = display.from_estimator(model).ax_.texts
    assert text.get_text().endswith("the model is a constant")


def test_names_fit():
    assert shorten("short") == "short"
    long = shorten("a" * 20 + "b" * 20)
    assert len(long) == 28
    assert long.startswith("aaaaaaaaaaaaaa…b")
    assert shorten("cost in $\nper $") == r"cost in \$ per \$"
    assert shorten_term("u * v^2") == "u * v^2"
    parts = shorten_term(" * ".join(["n" * 30, "m" * 30])).split(" * ")
    assert [len(part) for part in parts] == [20, 20]


def test_names_with_dollars_are_no_formulas():
    frame = FRAME.rename(columns={"u": "$a", "v": "b$_{", "z": "_z"})
    model = MKLRegressor(degree=2, p=1, alpha=1e-2).fit(frame, y)
    for make in every_display(model, frame, y, None):
        figure = make(None).figure_
        figure.canvas.draw()  # raises where a name is taken for a formula
        shown = [text.get_text() for text in figure.findobj(Text)]
        assert not any("$a" in text.replace(r"\$", "") for text in shown)


# Spreads


@pytest.mark.parametrize("kind", LABELS)
def test_bars_are_the_spreads(models, kind):
    model = models[kind][0]
    table = model.explain(None)
    display = TermsDisplay.from_estimator(model, top=1000)
    assert tick_names(display.ax_.yaxis) == table["term"].tolist()
    assert np.allclose(widths(display.bars_), table["spread"], rtol=1e-12)
    bottom, top = display.ax_.get_ylim()
    assert top < bottom  # the first bar is on top
    kinds = {1: BLUE, 2: ORANGE}
    colors = [kinds[len(set(split(term)))] for term in table["term"]]
    assert [to_hex(bar.get_facecolor()) for bar in display.bars_] == colors


def test_terms_of_largest_spread_are_shown():
    terms = MKLRegressor(degree=3, p=4 / 3, alpha=1e-4).fit(X, y)
    spreads = terms.explain(None)["spread"].to_numpy()
    assert terms.explain(None)["share"].min() < 0
    display = TermsDisplay.from_estimator(terms, top=len(spreads) - 3)
    assert display.ax_.get_title() == f"{len(spreads) - 3} of {len(spreads)} terms"
    assert np.allclose(widths(display.bars_), np.sort(spreads)[::-1][:-3])
    assert widths(display.bars_).min() >= 0
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["single variables", "pairs", "triples"]


def test_a_variable_that_matters_is_never_left_out():
    rows = rng.normal(size=(80, 4))
    model = MKLRegressor(degree=1, p=1, alpha=1e-4).fit(rows, rows @ [9.0, 3.0, 1.0, 0.01])
    for display in (TermsDisplay, NetworkDisplay, HeatmapDisplay):
        shown = display.from_estimator(model, top=1)
        assert set(getattr(shown, "variables", None) or shown.terms) == {"x0", "x1", "x2"}


def test_network_shows_totals_and_interactions():
    model = MKLRegressor(degree=3, p=4 / 3, alpha=1e-3).fit(FRAME, y)
    table = model.explain(None)
    spreads = dict(zip(table["term"], table["spread"], strict=True))
    display = NetworkDisplay.from_estimator(model, top=len(table))
    totals = {
        name: np.sqrt(sum(spread**2 for term, spread in spreads.items() if name in split(term)))
        for name in FRAME.columns
    }
    assert sorted(display.variables) == sorted(FRAME.columns)
    drawn = dict(zip(display.variables, display.totals, strict=True))
    assert drawn == pytest.approx(totals)
    areas = display.nodes_.get_sizes()
    positive = [max(totals[name], 0) / max(totals.values()) for name in display.variables]
    assert np.allclose(areas, np.maximum(np.array(positive) * areas.max(), 12))
    joint = {}
    for term, spread in spreads.items():
        group = frozenset(split(term))
        if len(group) > 1:
            joint[group] = np.hypot(joint.get(group, 0), spread)
    named = [frozenset(display.variables[i] for i in group) for group in display.groups]
    assert dict(zip(named, display.spreads, strict=True)) == pytest.approx(joint)
    most = max(totals.values())
    for group, line in display.edges_.items():
        spread = joint[frozenset(display.variables[i] for i in group)]
        assert line.get_linewidth() == pytest.approx(max(9 * spread / most, 0.6))
    assert len(display.edges_) + len(display.polygons_) == len(joint)
    assert {len(group) for group in display.polygons_} == {3}
    for group, polygon in display.polygons_.items():
        corners = display.nodes_.get_offsets()[list(group)]
        assert np.allclose(polygon.get_xy()[:-1], corners)
        assert to_hex(polygon.get_edgecolor()) == GREEN


def test_the_rest_of_a_function_is_not_counted():
    everything = [TermSpread("a", ("a",), 2.0), TermSpread("other terms", (), 1.0)]
    everything.append(TermSpread("b", ("b",), 0.5))
    display = TermsDisplay._of(everything, everything[:2], ["a", "b"]).plot()
    assert display.ax_.get_title() == "1 of 2 terms"
    assert TermsDisplay._of(everything, everything, ["a", "b"]).plot().ax_.get_title() == ""
    pyplot.close("all")


def test_a_pair_that_hardly_matters_has_a_thin_edge_and_no_zero():
    display = NetworkDisplay(["day", "price"], [45.5, 12.0], [(0, 1)], [0.0992]).plot()
    assert display.edges_[0, 1].get_linewidth() < 1
    heat = HeatmapDisplay(["day", "t"], [[45.5, 0.1], [0.1, 0.389]]).plot()
    assert [text.get_text() for text in heat.ax_.texts] == ["46", "0.4"]
    pyplot.close("all")


def test_network_names_many_variables_in_columns():
    many = rng.normal(size=(60, 20))
    model = MKLRegressor(degree=1, p=4 / 3, alpha=1e-3).fit(many, many.sum(axis=1))
    display = NetworkDisplay.from_estimator(model)
    texts = display.ax_.texts
    assert sorted(text.get_text() for text in texts) == sorted(f"x{j}" for j in range(20))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize("kind", LABELS)
def test_heat_map_has_the_spreads_of_pairs(models, kind):
    display = HeatmapDisplay.from_estimator(models[kind][0], top=1000)
    assert np.allclose(display.spreads, display.spreads.T)
    whole = np.sum(models[kind][0].explain(None)["spread"] ** 2)
    assert np.isclose(np.sum(np.triu(display.spreads) ** 2), whole)
    assert np.array_equal(display.image_.get_array(), display.spreads)
    assert tick_names(display.ax_.xaxis) == tick_names(display.ax_.yaxis) == display.variables


def test_heat_map_adds_larger_terms_to_all_their_pairs():
    model = MKLRegressor(degree=3, p=4 / 3, alpha=1e-3).fit(FRAME, y)
    table = model.explain(None)
    display = HeatmapDisplay.from_estimator(model, top=5)
    known = {name for term in table["term"].head(5) for name in split(term)}
    assert display.variables == [name for name in FRAME.columns if name in known]
    for i, one in enumerate(display.variables):
        for j, two in enumerate(display.variables):
            parts = [
                spread
                for term, spread in zip(table["term"], table["spread"], strict=True)
                if (set(split(term)) == {one} if i == j else {one, two} <= set(split(term)))
            ]
            assert display.spreads[i, j] == pytest.approx(np.linalg.norm(parts))


def test_kernels_of_several_columns_are_variables_of_their_own():
    kernels = [("rbf", ["u", "v"]), ("linear", "z")]
    model = MKLRegressor(kernels=kernels, degree=2, alpha=1e-3).fit(FRAME, y)
    display = HeatmapDisplay.from_estimator(model)
    assert display.variables == ["z", "rbf(u, v)"]
    whole = np.sum(model.explain(None)["spread"] ** 2)
    assert np.isclose(np.sum(np.triu(display.spreads) ** 2), whole)


# Effects


@pytest.fixture(scope="module")
def product():
    """Return a model of u * v and z, without noise and nearly without penalty."""
    settings = {"degree": 3, "p": 1, "alpha": 1e-7, "tol": 1e-8, "standardize": False}
    return MKLRegressor(**settings).fit(FRAME, 3 * X[:, 0] * X[:, 1] + 2 * X[:, 3])


def test_curve_of_a_linear_term_is_a_line(product):
    display = EffectDisplay.from_estimator(product, FRAME, "z", grid=7)
    line = display.ax_.lines[0]
    ends = np.quantile(FRAME["z"], [0.01, 0.99])
    assert np.allclose(line.get_xdata(), np.linspace(*ends, 7))
    assert np.allclose(line.get_ydata(), 2 * line.get_xdata(), atol=1e-2)
    heights = [bar.get_height() for bar in display.ax_.patches]
    inside = FRAME["z"][FRAME["z"].between(*ends)]
    counts, _ = np.histogram(inside, len(heights))
    assert np.corrcoef(heights, counts)[0, 1] > 0.9  # where rows are many it is high
    assert max(heights) == pytest.approx(0.1)
    assert display.ax_.get_xlabel() == "z"
    assert display.ax_.get_ylabel() == "part of prediction"


def test_surface_of_a_product_is_the_product(product):
    display = EffectDisplay.from_estimator(product, FRAME, "u * v", grid=9)
    first, second = display.variables
    assert np.allclose(display.values, 3 * np.outer(first.points, second.points), atol=2e-2)
    assert np.array_equal(mesh_values(display.ax_), display.values.T)
    (mesh,) = (one for one in display.ax_.collections if isinstance(one, QuadMesh))
    assert mesh.get_rasterized()
    assert mesh.norm.vmin == -mesh.norm.vmax == -np.abs(display.values).max()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("u", "v")


@pytest.fixture(scope="module")
def table():
    """Return rows with two categories and three numbers, and a model with terms of all kinds."""
    rows = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    rows["k"], rows["m"] = rng.integers(0, 3, size=80), rng.integers(2, 4, size=80)
    target = rows["a"] * rows["k"] + rows["k"] * rows["m"] + rows["a"] * rows["b"] * rows["c"]
    kernels = [("polynomial", name) for name in "abc"] + [("categorical", name) for name in "km"]
    model = MKLRegressor(kernels=kernels, degree=3, p=4 / 3, alpha=1e-4)
    return rows, model.fit(rows, target)


def named(*columns):
    """Return the name of a term of such columns."""
    kinds = [column if column in "km" else f"polynomial({column})" for column in columns]
    return " * ".join(kinds)


def brute(model, rows, term, **values):
    """Return the part of a term on one row with some values put in."""
    row = rows.iloc[[5]].assign(**values)
    return model.contributions(row, [term])[term].item()


def test_categories_are_bars(table):
    rows, model = table
    levels = {"k": ["red", "green", "blue"]}
    display = EffectDisplay.from_estimator(model, rows, "k", levels=levels)
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert np.allclose(heights, [brute(model, rows, "k", k=code) for code in range(3)])
    counts = rows["k"].value_counts()
    names = [f"{name}\n({counts[code]})" for code, name in enumerate(levels["k"])]
    assert tick_names(display.ax_.xaxis) == names
    assert display.ax_.get_xlabel() == "k (number of rows)"
    colors = [to_hex(bar.get_facecolor()) for bar in display.ax_.patches]
    assert colors == [BLUE if height >= 0 else RED for height in heights]
    plain = EffectDisplay.from_estimator(model, rows, "m")
    assert [name.split("\n")[0] for name in tick_names(plain.ax_.xaxis)] == ["2", "3"]


@pytest.mark.parametrize("number", ["a", "c"])
def test_a_number_and_a_category_are_curves(table, number):
    rows, model = table
    term, levels = named(number, "k"), {"k": ["_red", "green", "blue"]}
    display = EffectDisplay.from_estimator(model, rows, term, levels=levels, grid=5)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [name.strip() for name in names] == ["_red", "green", "blue"]
    for code, line in enumerate(display.ax_.lines[:3]):
        expected = [brute(model, rows, term, **{number: x}, k=code) for x in line.get_xdata()]
        assert np.allclose(line.get_ydata(), expected)
    assert display.ax_.get_xlabel() == number


def test_a_category_before_a_number_is_drawn_alike(table):
    rows, model = table
    turned = rows[["k", "m", "a", "b", "c"]]
    kernels = [("categorical", name) for name in "km"] + [("polynomial", name) for name in "abc"]
    other = MKLRegressor(kernels=kernels, degree=3, p=4 / 3, alpha=1e-4, tol=1e-6)
    other.fit(turned, model.predict(rows))
    term = "k * polynomial(a)"
    display = EffectDisplay.from_estimator(other, turned, term, grid=5)
    for code, line in enumerate(display.ax_.lines[:3]):
        expected = [brute(other, turned, term, a=x, k=code) for x in line.get_xdata()]
        assert np.allclose(line.get_ydata(), expected)


def test_a_number_with_few_values_among_the_rows_is_a_curve(table):
    """The kernel says what a column is: rows to be shown may happen to have a few values of it."""
    rows, model = table
    few = rows.iloc[np.repeat([1, 2, 3], 20)].reset_index(drop=True)
    display = EffectDisplay.from_estimator(model, few, "polynomial(a)", grid=7)
    line, marks = display.ax_.lines[:2]
    assert np.allclose(
        line.get_ydata(), [brute(model, rows, "polynomial(a)", a=x) for x in line.get_xdata()]
    )
    assert np.allclose(marks.get_xdata(), np.sort(rows["a"].iloc[[1, 2, 3]]))
    assert marks.get_linestyle() == "None"
    single = EffectDisplay.from_estimator(model, rows.iloc[[4, 4]], "polynomial(a)")
    assert len(single.ax_.patches) == 1


def test_bars_of_numbers_stand_at_their_distances():
    rows = pd.DataFrame({"m": np.resize([1.0, 2.0, 5.0], 60)})
    model = MKLRegressor([("categorical", "m")], degree=1, p=1, alpha=1e-4)
    model.fit(rows, rows["m"] ** 2)
    display = EffectDisplay.from_estimator(model, rows, "m")
    middles = [bar.get_x() + bar.get_width() / 2 for bar in display.ax_.patches]
    assert np.allclose(middles, [1, 2, 5])
    names = EffectDisplay.from_estimator(model, rows, "m", levels={"m": list("abcdef")})
    middles = [bar.get_x() + bar.get_width() / 2 for bar in names.ax_.patches]
    assert np.allclose(middles, [0, 1, 2])


def test_two_categories_are_cells(table):
    rows, model = table
    display = EffectDisplay.from_estimator(model, rows, "k * m", levels={"k": list("xyz")})
    cells = [[brute(model, rows, "k * m", k=k, m=m) for k in range(3)] for m in (2, 3)]
    assert np.allclose(mesh_values(display.ax_), cells)
    assert tick_names(display.ax_.xaxis) == ["x", "y", "z"]
    assert tick_names(display.ax_.yaxis) == ["2", "3"]
    assert len(display.ax_.texts) == 6


@pytest.mark.parametrize("third", ["c", "k"])
def test_three_variables_are_slices_on_one_scale(table, third):
    rows, model = table
    term = named("a", "b", third)
    display = EffectDisplay.from_estimator(model, rows, term, grid=4)
    points = np.quantile(rows["c"], [0.1, 0.5, 0.9]) if third == "c" else [0, 1, 2]
    assert len(display.ax_) == 3
    limits = set()
    for value, ax in zip(points, display.ax_, strict=True):
        a, b = (variable.points for variable in display.variables[:2])
        expected = [[brute(model, rows, term, a=x, b=z, **{third: value}) for x in a] for z in b]
        assert np.allclose(mesh_values(ax), expected)
        assert ax.get_title() == f"{third} = {value:.3g}"
        limits.add(ax.collections[0].get_clim())
    assert len(limits) == 1
    again = display.plot(display.figure_.axes[:3])
    assert again.figure_ is display.figure_
    with pytest.raises(ValueError, match=r"ax must be 3 axes.*got 1\. Use ax=None"):
        display.plot(display.ax_[0])


def test_slices_of_curves_share_their_scale(table):
    rows, model = table
    display = EffectDisplay.from_estimator(model, rows, named("a", "k", "m"), grid=4)
    assert [ax.get_title() for ax in display.ax_] == ["m = 2", "m = 3"]
    assert len({ax.get_ylim() for ax in display.ax_}) == 1
    assert [ax.get_legend() is None for ax in display.ax_] == [True, False]
    for m, ax in zip((2, 3), display.ax_, strict=True):
        for code, line in enumerate(ax.lines[:3]):
            term = named("a", "k", "m")
            expected = [brute(model, rows, term, a=x, k=code, m=m) for x in line.get_xdata()]
            assert np.allclose(line.get_ydata(), expected)


def test_of_many_categories_the_most_frequent_are_drawn():
    codes = np.repeat(np.arange(40), np.arange(40, 0, -1)).astype(float)
    rows = pd.DataFrame({"k": codes, "x": rng.normal(size=len(codes))})
    model = MKLRegressor(
        p=4 / 3, kernels=[("categorical", "k"), ("polynomial", "x")], degree=2, alpha=1e-3
    )
    model.fit(rows, rows["x"] * (codes % 2) + codes)
    levels = {"k": [f"k{code}" for code in range(40)]}
    bars = EffectDisplay.from_estimator(model, rows, "k", levels=levels)
    counted = [f"k{code} ({40 - code})" for code in range(30)]
    assert tick_names(bars.ax_.yaxis) == counted
    assert bars.ax_.get_ylabel() == "k (30 most frequent) (number of rows)"
    bars.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in bars.ax_.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    curves = EffectDisplay.from_estimator(model, rows, "k * polynomial(x)", levels=levels, grid=3)
    legend = curves.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == levels["k"][:12]
    expected = [line.get_ydata() for line in curves.ax_.lines[:12]]
    assert np.array_equal(np.transpose(expected), curves.values[:12].T)


def test_effects_of_arrays_and_sparse_rows_are_those_of_frames():
    settings = {"degree": 2, "p": 1, "alpha": 1e-2, "standardize": "scale"}
    frame = MKLRegressor(**settings).fit(FRAME, y)
    array = MKLRegressor(**settings).fit(X, y)
    one = EffectDisplay.from_estimator(frame, FRAME, "u * v", grid=4)
    two = EffectDisplay.from_estimator(array, X, "x0 * x1", grid=4)
    three = EffectDisplay.from_estimator(array, sparse.csr_array(X), "x0 * x1", grid=4)
    assert np.allclose(one.values, two.values)
    assert np.allclose(one.values, three.values)
    assert two.ax_.get_xlabel() == "x0"


def test_effect_on_decision_values(models):
    three, rows, _ = models["three"]
    term = three.explain(1)["term"].item()
    for label in three.classes_:
        display = EffectDisplay.from_estimator(three, rows, term, label=label, grid=3)
        point = [variable.points[1] for variable in display.variables]
        row = rows[:1].copy()
        row[:, three.function_.terms.columns(term)] = point
        expected = three.contributions(row, [term], label)[term].item()
        assert display.values[(1,) * len(point)] == pytest.approx(expected)
        assert display.unit == f"decision value of {label}"
    with pytest.raises(ValueError, match="label must be one of"):
        EffectDisplay.from_estimator(three, rows, term)


def test_large_grids_are_computed_in_parts(table, monkeypatch):
    rows, model = table
    whole = EffectDisplay.from_estimator(model, rows, named("a", "b"), grid=6).values
    monkeypatch.setattr("manykernels.plot.evaluation.EFFECT_VALUES", 35)
    parts = EffectDisplay.from_estimator(model, rows, named("a", "b"), grid=6).values
    assert np.allclose(whole, parts)


def test_effects_that_cannot_be_drawn(models):
    model, rows, _ = models["regressor"]
    with pytest.raises(ValueError, match="terms must be those of the model; got 'nothing'"):
        EffectDisplay.from_estimator(model, rows, "nothing")
    with pytest.raises(ValueError, match="grid must be an integer >= 2; got 1"):
        EffectDisplay.from_estimator(model, rows, "u", grid=1)
    with pytest.raises(ValueError, match="levels must name columns of X; got 'q'"):
        EffectDisplay.from_estimator(model, rows, "u", levels={"q": "ab"})
    four = MKLRegressor(kernels="rbf", degree=4, alpha=1e-3).fit(X, y)
    with pytest.raises(ValueError, match=r"three variables at most.*4 columns.*contributions\("):
        EffectDisplay.from_estimator(four, X, "rbf(x0) * rbf(x1) * rbf(x2) * rbf(x3)")
    free = MKLRegressor(degree=1, fit_intercept=False, alpha=1e-3).fit(X, y + 5)
    with pytest.raises(ValueError, match="got '1', a constant"):
        EffectDisplay.from_estimator(free, X, "1")
    numbers = np.column_stack([np.arange(60), X[:, 0]])
    kernels = [(Precomputed(X @ X.T, "all"), [0]), ("linear", [1])]
    matrix = MKLRegressor(kernels=kernels, degree=2, alpha=1e-3).fit(numbers, y)
    for term in ("all", "all * x1"):
        with pytest.raises(ValueError, match="a kernel given by its matrix"):
            EffectDisplay.from_estimator(matrix, numbers, term)


# Fits


@pytest.mark.parametrize("kind", ["regressor", "two", "three"])
def test_convergence_is_the_history(models, kind):
    model = models[kind][0]
    display = ConvergenceDisplay.from_estimator(model)
    history = model.history_
    assert np.array_equal(display.objective_line_.get_xdata(), history["seconds"])
    assert np.array_equal(display.objective_line_.get_ydata(), history["objective"])
    known = history["gap"] > 0
    assert np.array_equal(display.gap_line_.get_ydata(), history["gap"][known])
    assert display.gap_ax_.get_yscale() == "log"
    assert set(display.tol_line_.get_ydata()) == {model.tol}


def test_greedy_selection_has_no_gap(models):
    display = ConvergenceDisplay.from_estimator(models["array"][0])
    assert display.gap_ax_ is None
    assert display.gap_line_ is None
    assert len(display.figure_.axes) == 1


def test_a_single_iteration_is_drawn():
    model = MKLRegressor(alpha=1e-3, degree=2, p=2).fit(X, y)
    display = ConvergenceDisplay.from_estimator(model)
    assert len(display.objective_line_.get_xdata()) == 1
    assert display.objective_line_.get_marker() == "o"
    display.figure_.canvas.draw()


def test_path_marks_the_chosen_strength(models):
    model = models["regressor"][0]
    display = PathDisplay.from_estimator(model)
    assert display.marker_.get_xdata().item() == model.alpha_
    assert display.marker_.get_ydata().item() == pytest.approx(model.best_score_)
    assert display.names == ["degree 1", "degree 2"]
    assert display.ax_.get_xscale() == "log"
    left, right = display.ax_.get_xlim()
    assert left > right  # weaker penalties to the right
    bands = [one for one in display.ax_.collections if isinstance(one, PolyCollection)]
    for number, (line, band) in enumerate(zip(display.lines_, bands, strict=True)):
        scores = carried(model.score_path_)[number]
        scores = scores[~np.isinf(scores).any(axis=1)]
        assert np.array_equal(line.get_xdata(), model.alphas_[number][: len(scores)])
        assert np.allclose(line.get_ydata(), scores.mean(axis=1))
        high = (scores.mean(axis=1) + scores.std(axis=1, ddof=1) / np.sqrt(3)).max()
        assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(high)


def test_path_of_greedy_selection_counts_terms(models):
    model = models["array"][0]
    display = PathDisplay.from_estimator(model)
    assert display.marker_.get_xdata().item() == model.n_terms_
    assert display.marker_.get_ydata().item() == pytest.approx(model.best_score_)
    assert display.ax_.get_xscale() == "linear"
    assert display.lines_[0].get_xdata()[:3].tolist() == [0, 1, 2]


def test_path_of_one_split_has_no_band():
    fold = [(np.arange(40), np.arange(40, 60))]
    model = MKLRegressorCV(degree=1, p=[1, 4 / 3], cv=fold, alphas=[0.1]).fit(X, y)
    display = PathDisplay.from_estimator(model)
    assert display.names == ["p = 1", "p = 1.33"]
    assert len(display.ax_.collections) == 0
    display.figure_.canvas.draw()


def test_path_needs_cross_validation(models):
    with pytest.raises(TypeError, match=r"must have compared models; .*MKLRegressorCV or MKLClass"):
        PathDisplay.from_estimator(models["two"][0])
    with pytest.raises(TypeError, match="must be MKLRegressorCV or MKLClassifierCV; got Ridge"):
        PathDisplay.from_estimator(Ridge())


def test_path_of_a_model_with_nothing_set():
    model = MKLRegressor().fit(X, y)
    display = PathDisplay.from_estimator(model)
    assert display.marker_.get_xdata().item() == pytest.approx(model.choice_.size)


# Predictions


def test_predicted_against_observed_values(models):
    model, rows, targets = models["regressor"]
    display = PredictionsDisplay.from_estimator(model, rows, targets)
    points = np.column_stack([targets, model.predict(rows)])
    assert np.allclose(display.points_.get_offsets(), points)
    assert display.ax_.get_title() == f"$R^2$ = {r2_score(*points.T):.3f}"
    (line,) = display.ax_.lines
    assert np.array_equal(line.get_xdata(), line.get_ydata())


def test_many_points_are_counted():
    values = rng.normal(size=(2, 6000))
    display = PredictionsDisplay(*values, score=0.5)
    display.plot()
    assert display.points_.get_array().sum() == 6000
    assert len(display.points_.get_array()) < 3000


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_two_classes_are_histograms(loss):
    model = MKLClassifier(degree=2, p=1, alpha=1e-2, loss=loss).fit(X, TWO)
    display = PredictionsDisplay.from_estimator(model, X, TWO)
    if loss == "logistic":
        values, edges, what = model.predict_proba(X)[:, 1], np.linspace(0, 1, 26), "probability"
    else:
        values, what = model.decision_function(X), "decision value"
        edges = np.linspace(values.min(), values.max(), 26)
    for label, counts in zip(model.classes_, display.histograms_, strict=True):
        assert np.array_equal(counts, np.histogram(values[label == TWO], edges)[0])
        assert counts.sum() == np.sum(label == TWO)
    assert f"{what} of yes" in display.ax_.get_xlabel()
    assert display.ax_.get_title() == f"accuracy = {model.score(X, TWO):.3f}"


def test_more_classes_are_a_confusion_matrix(models):
    model, rows, targets = models["three"]
    display = PredictionsDisplay.from_estimator(model, rows, targets)
    expected = confusion_matrix(targets, model.predict(rows))
    assert np.array_equal(display.confusion_.im_.get_array(), expected)
    assert tick_names(display.ax_.xaxis) == ["high", "low", "middle"]


def luminance(color):
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("paper", [(1.0, 1.0, 1.0), (0.086, 0.094, 0.106)], ids=["light", "dark"])
@pytest.mark.parametrize("size", [1, 30])
def test_counts_are_to_be_read_in_all_cells(paper, size):
    truth, said = np.divmod(np.repeat(np.arange(16), size * np.arange(16) + size), 4)
    PredictionsDisplay(truth, said, score=0.5, classes=range(4)).plot()
    ax = pyplot.gcf().axes[0]
    image = ax.get_images()[0]
    texts = [text for text in ax.texts if text.get_text()]
    assert [text.get_text() for text in texts] == [str(size * (k + 1)) for k in range(16)]
    for text in texts:
        column, row = text.get_position()
        *cell, clear = image.cmap(image.norm(image.get_array()[int(row), int(column)]))
        behind = luminance(clear * np.array(cell) + (1 - clear) * np.array(paper))
        color, alpha = mpl.colors.to_rgb(text.get_color()), mpl.colors.to_rgba(text.get_color())[3]
        assert alpha == 1
        if color == (0, 0, 0) and paper[0] < 0.5:  # the colour of the page's text
            color = (0.91, 0.91, 0.89)
        light, dark = sorted([luminance(color), behind], reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3


def test_axes_of_a_rare_class_end_near_its_probabilities():
    chances = np.concatenate([np.linspace(0.001, 0.06, 180), np.linspace(0.02, 0.13, 20)])
    truth = np.repeat([0, 1], [180, 20])
    for flip, ends in ((False, (0, 0.2)), (True, (0.8, 1))):
        said = 1 - chances if flip else chances
        display = PredictionsDisplay(truth, said, score=0.9, classes=[0, 1]).plot()
        assert sum(counts.sum() for counts in display.histograms_) == 200
        assert display.ax_.get_xlim() == pytest.approx(ends, abs=0.011)
        display = CalibrationDisplay(
            [1 - p if flip else p for p in (0.01, 0.12)],
            [1.0 if flip else 0.0, 0.8 if flip else 0.2],
            [100, 100],
            "rare",
        ).plot()
        assert display.ax_.get_xlim() == pytest.approx((0.7, 1) if flip else (0, 0.3), abs=0.011)
        assert display.ax_.get_ylim() == display.ax_.get_xlim()
    assert PredictionsDisplay(truth, chances, score=1, classes=[0, 1]).plot().ax_.get_yscale() == (
        "linear"
    )
    rare = np.resize([0.001, 0.003], 5000), np.full(20, 0.07)
    truth = np.repeat([0, 1], [5000, 20])
    display = PredictionsDisplay(truth, np.concatenate(rare), score=1, classes=[0, 1]).plot()
    assert display.ax_.get_yscale() == "symlog"  # 20 beside 2,500 would not be seen
    assert "logarithmic" in display.ax_.get_ylabel()
    whole = CalibrationDisplay([0.1, 0.9], [0.1, 0.8], [100, 100], "all").plot()
    assert whole.ax_.get_xlim() == (-0.03, 1.03)


# Contributions


@pytest.mark.parametrize("top", [2, 1000])
@pytest.mark.parametrize("kind", LABELS)
def test_waterfall_ends_at_the_prediction(models, kind, top):
    model, rows, _ = models[kind]
    for row in (0, 7):
        display = ContributionsDisplay.from_estimator(
            model, rows, row, top=top, label=LABELS[kind], levels=LEVELS if kind == "two" else None
        )
        one = rows.iloc[[row]] if hasattr(rows, "iloc") else rows[[row]]
        if kind in ("regressor", "array"):
            expected = model.predict(one).item()
        elif kind == "two":
            expected = model.decision_function(one).item()
        else:
            expected = model.decision_function(one)[0, model.classes_.tolist().index("low")]
        begin, end = display.ends_.get_offsets()[:, 0]
        assert end == pytest.approx(expected, rel=1e-12)
        assert begin == pytest.approx(np.ravel(model.intercept_)[1 if kind == "three" else 0])
        level = begin
        for bar in display.bars_:
            assert bar.get_x() + min(bar.get_width(), 0) == pytest.approx(
                min(level, level + bar.get_width())
            )
            level += bar.get_width()
        assert level == pytest.approx(end, rel=1e-12)
        parts = model.contributions(one, label=LABELS[kind]).iloc[0, 1:]
        largest = parts.iloc[np.argsort(-parts.abs().to_numpy(), kind="stable")[:top]]
        assert np.allclose(widths(display.bars_)[: len(largest)], largest)
        left = len(parts) - len(largest)
        assert (display.names[-1] == f"rest of {left} terms") == (left > 0)


def test_waterfall_names_values(table):
    rows, model = table
    row = rows.iloc[[4]]
    display = ContributionsDisplay.from_estimator(
        model, rows, 4, top=1000, levels={"k": ["red", "green", "blue"]}
    )
    code = ["red", "green", "blue"][int(row["k"].item())]
    assert f"k = {code}" in display.names
    assert f"k = {code}, m = {row['m'].item()}" in display.names
    a = f"{row['a'].item():.4g}"
    assert f"polynomial(a) ({a})" in display.names
    assert f"polynomial(a) * k ({a}, {code})" in display.names


def test_waterfall_of_a_sum_has_the_terms_that_are_not_listed(monkeypatch):
    monkeypatch.setattr("manykernels.solvers.closed_form.LISTED_KERNELS", 4)
    monkeypatch.setattr("manykernels.solvers.closed_form.DRAWN_KERNELS", 3)
    model = MKLRegressor(degree=3, p=2, alpha=1e-3, random_state=0).fit(X, y)
    display = ContributionsDisplay.from_estimator(model, X, 1)
    assert display.names[-1] == "other terms"
    total = display.intercept + widths(display.bars_).sum()
    assert total == pytest.approx(model.predict(X[[1]]).item())


def test_waterfall_refuses_rows_that_there_are_not(models):
    model, rows, _ = models["regressor"]
    for row in (-1, 60, 0.5):
        with pytest.raises(ValueError, match="row must be an integer from 0 to 59"):
            ContributionsDisplay.from_estimator(model, rows, row)
    with pytest.raises(ValueError, match="top must be an integer >= 1; got 0"):
        ContributionsDisplay.from_estimator(model, rows, top=0)
    three, rows, _ = models["three"]
    with pytest.raises(ValueError, match="label must be one of 'high', 'low', 'middle'"):
        ContributionsDisplay.from_estimator(three, rows)


def test_spreads_are_written_as_in_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = MKLRegressor(degree=2, p=1, alpha=0.01).fit(X, 1e5 * (X[:, 0] + X[:, 0] * X[:, 1]))
    spread = written(float(model.explain(1)["spread"].iloc[0]))
    assert "," in spread
    terms = TermsDisplay.from_estimator(model)
    assert spread in [text.get_text() for text in terms.ax_.texts]
    network = NetworkDisplay.from_estimator(model)
    said = [text.get_text() for text in network.ax_.get_legend().get_texts()]
    assert len(said) == 2
    assert all("e+" not in text and "," in text for text in said)
