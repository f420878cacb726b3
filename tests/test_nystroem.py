"""Gaussian kernels by features: a rank chosen from the data, and kernels of several columns."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, load
from manykernels.feature_maps import Nystroem, Spline, even_scale
from manykernels.feature_maps import nystroem as feature_maps
from manykernels.kernels import resolve
from manykernels.limits import GAUSSIAN_FEATURES, PIVOT_ROWS
from manykernels.plot import EffectDisplay, NetworkDisplay

COLUMNS = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) ** 3,
    "ties": lambda rng, n: np.round(2 * rng.normal(size=n)),
    "two": lambda rng, n: rng.normal(size=(n, 2)),
    "four": lambda rng, n: rng.normal(size=(n, 4)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 3)),
    "few distinct": lambda rng, n: rng.integers(3, size=(n, 2)).astype(float),
}
EACH = pytest.mark.parametrize("kind", COLUMNS)


def exact(x, weights, width=None):
    """Return the centred kernel matrix of unit mean diagonal, by scikit-learn, and its trace."""
    if x.ndim == 1:
        inside, width = np.interp(x, *even_scale(x, weights))[:, None], width or 0.2
    else:
        inside, width = x, width or 1.0
    gram = rbf_kernel(inside, gamma=0.5 / (inside.shape[1] * width**2))
    centring = np.eye(len(x)) - weights
    gram = centring @ gram @ centring.T
    trace = weights @ np.diag(gram)
    return gram / trace, trace


def equal(n):
    return np.full(n, 1 / n)


def left_out(settings, x, weights, width=None):
    """Return the share of the trace that the unscaled features leave out of the exact kernel."""
    fitted = settings.fit(x, weights)
    _, trace = exact(x, weights, width)
    raw = fitted.features(x) / fitted.factor
    return 1 - weights @ np.sum(raw**2, axis=1) / trace


@EACH
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_left_out_is_a_share_of_the_trace(kind, tol, weighted, rng):
    x = COLUMNS[kind](rng, 250)
    weights = rng.dirichlet(np.ones(250)) if weighted else equal(250)
    settings = Nystroem("auto", tol=tol)
    share = left_out(settings, x, weights)
    assert -1e-9 <= share <= tol * (1 + 1e-6) or settings.axes.shape[1] == GAUSSIAN_FEATURES
    # The kernel less its approximation is positive semi-definite, so that no entry differs by
    # more than the largest entry of the diagonal does, nor in all by more than the trace.
    gram, _ = exact(x, weights)
    features = settings.features(x)
    root = np.sqrt(weights)[:, None]
    error = root * (gram - features @ features.T * (1 - share)) * root.T
    assert np.linalg.eigvalsh(error)[0] > -1e-7
    assert np.linalg.norm(error) <= share + 1e-7


@pytest.mark.parametrize("kind", ["uniform", "two"])
@pytest.mark.parametrize("width", [0.05, 0.1, 0.5, 3.0])
def test_widths(kind, width, rng):
    x = COLUMNS[kind](rng, 150)
    settings = Nystroem("auto", width, tol=1e-4)
    assert left_out(settings, x, equal(150), width) <= 1e-4 * (1 + 1e-6)
    features = settings.features(x)
    np.testing.assert_allclose(features @ features.T, exact(x, equal(150), width)[0], atol=2e-2)


@EACH
def test_many_features_are_the_kernel(kind, rng):
    x = COLUMNS[kind](rng, 120)
    features = Nystroem(rank=120).fit(x).features(x)
    gram, _ = exact(x, equal(120))
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-4)


@EACH
def test_no_approximation_of_that_rank_is_much_better(kind, rng):
    """With one feature in four less, the best approximation there is leaves out more than tol."""
    x = COLUMNS[kind](rng, 300)
    rank = Nystroem("auto").fit(x).features(x).shape[1]
    values = np.linalg.eigvalsh(exact(x, equal(300))[0])[::-1]
    least = int(np.argmax(1 - np.cumsum(values) / values.sum() <= 1e-3)) + 1
    assert least <= rank <= least + 1 + least // 4


def test_points_are_drawn_where_something_is_left_out(rng):
    """Rows of many that are alike are not drawn again and again before the few others are."""
    alike, others = rng.normal(scale=0.3, size=(980, 3)), rng.normal(scale=3.0, size=(20, 3))
    fitted = Nystroem("auto").fit(np.vstack([alike, others]))
    assert len(fitted.points) < 2 * fitted.axes.shape[1]


@EACH
def test_a_smaller_tolerance_takes_more_features(kind, rng):
    x = COLUMNS[kind](rng, 300)
    fits = [Nystroem("auto", tol=10.0**-k).fit(x) for k in range(1, 6)]
    ranks = [fitted.axes.shape[1] for fitted in fits]
    assert ranks == sorted(ranks)
    assert kind == "few distinct" or ranks[0] < ranks[-1]
    # The points of one are the first points of the next.
    for few, more in pairwise(fits):
        np.testing.assert_array_equal(more.points[: len(few.points)], few.points)


@EACH
def test_the_same_rows_give_the_same_features(kind, rng):
    x = COLUMNS[kind](rng, 200)
    one, two = (Nystroem("auto").fit(x) for _ in range(2))
    np.testing.assert_array_equal(one.features(x), two.features(x))
    order = rng.permutation(200)
    other = Nystroem("auto").fit(x[order]).features(x)
    features = one.features(x)
    np.testing.assert_allclose(other @ other.T, features @ features.T, atol=1e-7)


@EACH
@pytest.mark.parametrize("rank", ["auto", 7])
def test_weights_are_repetitions(kind, rank, rng):
    x, times = COLUMNS[kind](rng, 90), rng.integers(1, 5, size=90)
    weighted = Nystroem(rank).fit(x, times / times.sum()).features(x)
    repeated = Nystroem(rank).fit(np.repeat(x, times, axis=0)).features(x)
    np.testing.assert_allclose(weighted @ weighted.T, repeated @ repeated.T, atol=1e-7)


@EACH
def test_centred_and_of_unit_size(kind, rng):
    x, weights = COLUMNS[kind](rng, 100), rng.dirichlet(np.ones(100))
    features = Nystroem("auto").fit(x, weights).features(x)
    np.testing.assert_allclose(weights @ features, 0.0, atol=1e-9)
    assert weights @ np.sum(features**2, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("x", [np.full(30, 2.0), np.full((30, 3), 2.0), np.ones((1, 2))])
def test_rows_that_do_not_differ_have_features_of_zero(x):
    assert not np.any(Nystroem("auto").fit(x).features(x))


@pytest.mark.parametrize("columns", [1, 3])
def test_choosing_looks_at_a_sample_only(columns, rng, monkeypatch):
    """Beyond PIVOT_ROWS rows, more of them ask for no more values of the kernel to choose from."""
    seen = []

    def counting(left, right, gamma):
        seen.append(len(left) * len(right))
        return rbf_kernel(left, right, gamma=gamma)

    monkeypatch.setattr(feature_maps, "rbf_kernel", counting)
    chosen = []
    for n in (2 * PIVOT_ROWS, 10 * PIVOT_ROWS):
        x = rng.normal(size=(n, columns)) if columns > 1 else rng.normal(size=n)
        seen.clear()
        fitted = Nystroem("auto").fit(x)
        points, rank = fitted.axes.shape
        # Once for the features of all rows, twice for those of the sample.
        assert n * points < sum(seen) <= n * points + 2 * PIVOT_ROWS * points + points**2
        chosen.append(rank)
    assert abs(chosen[1] - chosen[0]) <= 1 + chosen[0] // 10


@pytest.mark.parametrize("kind", ["uniform", "skewed", "two", "four"])
def test_the_sample_speaks_for_the_others(kind, rng):
    """What is left out of rows that were not looked at is about the tolerance, too."""
    x = COLUMNS[kind](rng, 5 * PIVOT_ROWS)
    fitted = Nystroem("auto", tol=1e-2).fit(x)
    raw = fitted.features(x) / fitted.factor
    others = rng.choice(len(x), 2000, replace=False)
    inside, width = x, 1.0
    if x.ndim == 1:
        inside, width = np.interp(x, *even_scale(x, equal(len(x))))[:, None], 0.2
    _, trace = exact(inside[others], equal(2000), width)
    raw = raw[others] - raw[others].mean(axis=0)
    assert 5e-4 < 1 - np.mean(np.sum(raw**2, axis=1)) / trace < 1.3e-2


def test_a_sample_follows_the_weights(rng):
    """Rows of hardly any weight, far from the others, get hardly any points."""
    n = 3 * PIVOT_ROWS
    x = rng.normal(size=(n, 2))
    x[::2] += 100
    weights = np.where(np.arange(n) % 2, 1.0, 1e-9)
    points = Nystroem("auto").fit(x, weights / weights.sum()).points
    assert np.all(points < 50)


def test_blocks_of_rows_are_the_whole(rng, monkeypatch):
    x = rng.normal(size=(500, 3))
    fitted = Nystroem("auto").fit(x)
    whole = fitted.features(x)
    monkeypatch.setattr(feature_maps, "GAUSSIAN_VALUES", 7 * len(fitted.points))
    np.testing.assert_allclose(fitted.features(x), whole, atol=1e-12)


def test_the_limit(rng):
    x = rng.normal(size=(900, 12))
    fitted = Nystroem("auto", tol=1e-6).fit(x)
    assert fitted.features(x).shape == (900, GAUSSIAN_FEATURES)
    assert len(fitted.points) == 2 * GAUSSIAN_FEATURES
    assert Nystroem(300).fit(x).features(x).shape == (900, 300)


def test_defaults():
    x = np.random.default_rng(0).normal(size=(200, 2))
    np.testing.assert_array_equal(
        Nystroem().fit(x[:, 0]).features(x[:, 0]), Nystroem(12, 0.2).fit(x[:, 0]).features(x[:, 0])
    )
    np.testing.assert_array_equal(
        Nystroem().fit(x).features(x), Nystroem("auto", 1.0, 1e-3).fit(x).features(x)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": "all"}, r"rank must be an integer >= 1 or \"auto\"; got 'all'. Use rank=10"),
        ({"rank": 0}, r"rank must be an integer >= 1 or \"auto\"; got 0"),
        ({"rank": 2.5}, r"rank must be an integer >= 1 or \"auto\"; got 2.5"),
        ({"rank": True}, r"rank must be an integer >= 1 or \"auto\"; got True"),
        ({"tol": 0.0}, r"tol must be a number between 0 and 1; got 0.0. Use tol=1e-3"),
        ({"tol": 1}, r"tol must be a number between 0 and 1; got 1"),
        ({"tol": None}, r"tol must be a number between 0 and 1; got None"),
        ({"tol": np.nan}, r"tol must be a number between 0 and 1; got nan"),
        (
            {"width": 0.0},
            r"width must be a positive number from 1e-150 to 1e\+150; got 0.0. Use width=0.2",
        ),
        ({"width": "wide"}, r"width must be a positive number from 1e-150 to 1e\+150; got 'wide'"),
        ({"width": np.inf}, r"width must be a positive number from 1e-150 to 1e\+150; got inf"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(**settings)


# In estimators


def table(rng, n=300):
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    y = np.sin(2 * frame["a"] + frame["b"]) + 0.5 * frame["c"] + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def test_names_and_columns():
    names = ["a", "b", "c"]
    kernels = resolve(
        [("nystroem", ["a", "b"]), (Nystroem("auto"), [1, 2]), ("linear", "c")], names
    )
    assert kernels.names == ["nystroem(a, b)", "nystroem(b, c)", "c"]
    X = np.random.default_rng(0).normal(size=(50, 3))
    bases = kernels.fit(X, X)
    assert [columns.tolist() for columns in kernels.inputs] == [[0, 1], [1, 2], [2]]
    np.testing.assert_array_equal(bases.block(1), Nystroem().fit(X[:, 1:]).features(X[:, 1:]))
    assert resolve([Nystroem()], names).names == ["nystroem(a, b, c)"]
    assert resolve(["nystroem"], names).names == ["nystroem(a, b, c)"]
    assert resolve("nystroem", names).names == names


def test_other_maps_still_see_a_single_column():
    message = r"kernels\[1\] must see a single column; got 2 \(a, b\)"
    with pytest.raises(ValueError, match=message):
        resolve([("nystroem", ["a", "b"]), (Spline(), ["a", "b"])], ["a", "b"])


def standard(frame):
    return ((frame - frame.mean()) / frame.std(ddof=0)).to_numpy()


@pytest.mark.parametrize("columns", [["a", "b"], ["a", "b", "c", "d"]])
@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_predictions_are_those_of_rbf(columns, p, rng):
    """An intercept makes up for centring, the strength for the scale."""
    frame, y = table(rng)
    gram = rbf_kernel(standard(frame[columns]), gamma=0.5 / len(columns))
    size = 1 - gram.mean()
    options = {"degree": 1, "p": p, "tol": 1e-6}
    expected = MKLRegressor([("rbf", columns)], alpha=1e-2 * size, **options).fit(frame, y)
    maps = [(Nystroem("auto", tol=1e-5), columns)]
    model = MKLRegressor(maps, alpha=1e-2, **options).fit(frame, y)
    new = frame.iloc[:50] + 0.1
    np.testing.assert_allclose(model.predict(new), expected.predict(new), atol=5e-3)


@pytest.mark.parametrize("p", [1.0, 4 / 3])
def test_products_are_those_of_the_exact_kernels(p, rng):
    """Matrices that are centred and scaled by hand give the same products and weights."""
    frame, y = table(rng, 150)
    X = standard(frame)

    def centred(columns):
        def rbf(left, right):
            return rbf_kernel(left, right, gamma=0.5 / len(columns))

        def kernel(left, right):
            means = [rbf(rows, training).mean(axis=1) for rows in (left, right)]
            return (rbf(left, right) - means[0][:, None] - means[1] + level) / (1 - level)

        training = X[:, columns]
        level = rbf(training, training).mean()
        return kernel

    options = {"degree": 2, "p": p, "alpha": 1e-2, "tol": 1e-5}
    groups = [[0, 1], [2, 3]]
    expected = MKLRegressor([(centred(group), group) for group in groups], **options)
    model = MKLRegressor([(Nystroem("auto", tol=1e-4), group) for group in groups], **options)
    expected.fit(frame, y)
    model.fit(frame, y)
    assert sorted(model.terms_) == sorted(expected.terms_)
    np.testing.assert_allclose(
        model.explain()["theta"], expected.explain()["theta"], atol=1e-2 * expected.theta_.max()
    )
    new = frame.iloc[:50] + 0.1
    np.testing.assert_allclose(model.predict(new), expected.predict(new), atol=1e-2)


KERNELS = {
    "auto": [(Nystroem("auto"), j) for j in range(4)],
    "several": [("nystroem", ["a", "b"]), (Nystroem("auto", tol=1e-2), ["b", "c", "d"])],
    "number": [(Nystroem(9), ["a", "b"]), (Nystroem(rank=5, width=0.3), "c"), ("linear", "d")],
}


@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("degree", [1, 2])
def test_models_are_kept_bit_for_bit(kernels, degree, rng, tmp_path):
    frame, y = table(rng, 120)
    model = MKLRegressor(kernels, degree=degree, p=1, alpha=1e-2).fit(frame, y)
    again = load(model.save(tmp_path / "model.mk"))
    new = frame + 0.1
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert again.explain(None).equals(model.explain(None))
    assert again.kernels == model.kernels
    np.testing.assert_allclose(clone(again).fit(frame, y).predict(new), model.predict(new))


def test_weights_in_a_fit(rng):
    frame, y = table(rng, 90)
    times = rng.integers(0, 4, size=90)
    options = {"kernels": KERNELS["several"], "degree": 1, "p": 2, "alpha": 1e-2}
    weighted = MKLRegressor(**options).fit(frame, y, sample_weight=times)
    rows = frame.index.repeat(times)
    repeated = MKLRegressor(**options).fit(frame.loc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(frame), repeated.predict(frame), atol=1e-5)


@pytest.fixture
def _figures():
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("Agg")
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("_figures")
def test_terms_of_several_columns_are_explained_and_drawn(rng):
    frame, y = table(rng)
    model = MKLRegressor([("nystroem", ["a", "b"]), ("nystroem", "c")], degree=2, p=1).fit(frame, y)
    terms = model.explain(None)["term"].tolist()
    assert terms[:2] == ["nystroem(a, b)", "nystroem(c)"]
    parts = model.contributions(frame)
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(frame))
    shown = EffectDisplay.from_estimator(model, frame, "nystroem(a, b)", grid=5)
    assert [variable.title for variable in shown.variables] == ["a", "b"]
    at = np.array([[x, z] for x in shown.variables[0].points for z in shown.variables[1].points])
    rows = pd.DataFrame(np.tile(frame.iloc[0].to_numpy(), (25, 1)), columns=frame.columns)
    rows[["a", "b"]] = at
    values = model.contributions(rows, ["nystroem(a, b)"]).to_numpy().reshape(5, 5)
    np.testing.assert_allclose(shown.values, values)
    whole = EffectDisplay.from_estimator(model, frame, "nystroem(a, b) * nystroem(c)", grid=5)
    assert whole.values.shape == (5, 5, 3)
    NetworkDisplay.from_estimator(model)


def test_classes_and_cross_validation(rng):
    frame, y = table(rng)
    kernels = [(Nystroem("auto"), ["a", "b"]), (Nystroem("auto"), "c")]
    labels = MKLClassifier(kernels, degree=1).fit(frame[:200], y[:200] > 0)
    assert labels.score(frame[200:], y[200:] > 0) > 0.8
    chosen = MKLRegressorCV(kernels, degree=1, cv=3, n_alphas=5).fit(frame[:200], y[:200])
    assert chosen.score(frame[200:], y[200:]) > 0.8
