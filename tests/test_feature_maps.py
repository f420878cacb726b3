"""Features of single columns: what they span, how they are scaled, and what they survive."""

import pickle
import warnings
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from manykernels import MKLClassifier, MKLRegressor
from manykernels.bases import FeatureBlocks
from manykernels.feature_maps import MAPS as BY_NAME
from manykernels.feature_maps import (
    Categorical,
    Nystroem,
    Polynomial,
    Spline,
    affordable_functions,
    choose_maps,
    differ,
    even_scale,
    features_of_maps,
    fit_maps,
)
from manykernels.feature_maps.columns import CATEGORIES, DISCRETE_VALUES
from manykernels.feature_maps.scales import even_scales, quantiles
from manykernels.feature_maps.splines import (
    cubic_basis,
    functions_of_few_rows,
    functions_of_rows,
)
from manykernels.kernels import MapKernels, resolve
from manykernels.limits import PRICING_WORK

NAMES = ["age", "bmi", "bp"]

MAPS = [
    Spline(),
    Spline(5),
    Polynomial(),
    Polynomial(5),
    Nystroem(),
    Nystroem(8, 0.1),
    Categorical(),
]
EACH_MAP = pytest.mark.parametrize("settings", MAPS, ids=repr)


def clone_of(settings):
    return pickle.loads(pickle.dumps(settings))


COLUMNS = {
    "uniform": lambda rng: rng.uniform(size=80),
    "normal": lambda rng: rng.normal(size=80),
    "skewed": lambda rng: rng.exponential(size=80) ** 3,
    "heavy tails": lambda rng: rng.standard_cauchy(size=80),
    "one far away": lambda rng: np.append(rng.normal(size=79), 1e9),
    "ties": lambda rng: np.round(2 * rng.normal(size=80)),
    "mostly zero": lambda rng: np.where(rng.random(80) < 0.7, 0.0, rng.exponential(size=80)),
    "nearly always zero": lambda rng: np.append(np.zeros(79), 1.0),
    "two values": lambda rng: np.arange(80) % 2 - 7.0,
    "three values": lambda rng: np.array([0.0, 1.0, 5.0])[np.arange(80) % 3],
    "one value": lambda rng: np.full(80, 0.1),
    "two rows": lambda rng: np.array([3.0, 1.0]),
    "two equal rows": lambda rng: np.array([3.0, 3.0]),
    "three rows": lambda rng: np.array([1.0, 2.0, 5.0]),
    "huge": lambda rng: 1e30 * rng.normal(size=80),
    "tiny": lambda rng: 1e-30 * rng.normal(size=80),
    "far from zero": lambda rng: 1e9 + rng.normal(size=80),
}
EACH_COLUMN = pytest.mark.parametrize("column", COLUMNS)


def gram(features):
    return features @ features.T


def ridge(features, y, new, strength=1e-10):
    """Return predictions of a ridge with an intercept on features."""
    centre = y.mean()
    system = features.T @ features + strength * len(y) * np.eye(features.shape[1])
    return new @ np.linalg.solve(system, features.T @ (y - centre)) + centre


@EACH_MAP
@EACH_COLUMN
def test_centred_and_of_unit_size(settings, column, rng):
    x = COLUMNS[column](rng)
    features = clone_of(settings).fit(x).features(x)
    assert features.shape[0] == len(x)
    assert np.all(np.isfinite(features))
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-9)
    size = np.mean(np.sum(features**2, axis=1))
    assert size == pytest.approx(0.0 if np.ptp(x) == 0 else 1.0)


@EACH_MAP
@EACH_COLUMN
def test_features_belong_to_values(settings, column, rng):
    """Rows are mapped one by one, and equal values have equal features."""
    x = COLUMNS[column](rng)
    fitted = clone_of(settings).fit(x)
    features = fitted.features(x)
    order = rng.permutation(len(x))
    np.testing.assert_allclose(fitted.features(x[order]), features[order], atol=1e-12)
    np.testing.assert_allclose(fitted.features(x[:1]), features[:1], atol=1e-12)
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(features, features[first][inverse])


@EACH_MAP
@EACH_COLUMN
def test_the_order_of_rows_does_not_matter(settings, column, rng):
    x = COLUMNS[column](rng)
    features = clone_of(settings).fit(x).features(x)
    again = clone_of(settings).fit(rng.permutation(x)).features(x)
    np.testing.assert_allclose(gram(again), gram(features), atol=1e-5)


@EACH_MAP
@EACH_COLUMN
def test_values_outside_the_training_range(settings, column, rng):
    x = COLUMNS[column](rng)
    fitted = clone_of(settings).fit(x)
    reach = np.ptp(x) or 1.0
    new = x.mean() + reach * np.array([-1e100, -2.0, 1.0001, 2.0, 1e100])
    features = fitted.features(new)
    assert np.all(np.isfinite(features))
    # Functions go on as constants from some point on.
    np.testing.assert_allclose(fitted.features(new[-1:] / 10), features[-1:], atol=1e-9)


@EACH_MAP
@pytest.mark.parametrize(
    "column", ["uniform", "normal", "skewed", "heavy tails", "ties", "mostly zero", "two values"]
)
@pytest.mark.parametrize(("scale", "shift"), [(3.7, -2.0), (1e12, 0.0), (1e-12, 0.0), (2.0, 500.0)])
def test_units_do_not_matter(settings, column, scale, shift, rng):
    x = COLUMNS[column](rng)
    new = np.append(x, rng.uniform(x.min(), x.max(), size=20))
    one = clone_of(settings).fit(x)
    other = clone_of(settings).fit(scale * x + shift)
    kernel = one.features(new) @ one.features(x).T
    same = other.features(scale * new + shift) @ other.features(scale * x + shift).T
    # A spline that hardly any row tells apart is known to fewer digits.
    atol = 5e-3 if isinstance(settings, Spline) else 1e-4
    np.testing.assert_allclose(same, kernel, atol=atol)


@EACH_MAP
@pytest.mark.parametrize("column", ["uniform", "normal", "skewed", "heavy tails"])
def test_direction_does_not_matter(settings, column, rng):
    x = COLUMNS[column](rng)
    one, other = clone_of(settings).fit(x), clone_of(settings).fit(-x)
    np.testing.assert_allclose(gram(other.features(-x)), gram(one.features(x)), atol=1e-4)


@pytest.mark.parametrize("column", ["uniform", "normal", "far from zero", "two rows"])
@pytest.mark.parametrize(("rank", "error"), [(3, 0.1), (5, 0.06), (10, 0.04), (20, 0.03)])
def test_splines_nearly_hold_straight_lines(column, rank, error, rng):
    x = COLUMNS[column](rng)
    fitted = Spline(rank).fit(x)
    new = rng.uniform(*np.quantile(x, [0.05, 0.95]), size=30)
    z, z_new = ((values - x.mean()) / x.std() for values in (x, new))
    prediction = ridge(fitted.features(x), z, fitted.features(new))
    assert np.sqrt(np.mean((prediction - z_new) ** 2)) < error


@pytest.mark.parametrize(
    "function",
    [lambda x: np.sin(2 * np.pi * x), lambda x: np.exp(2 * x), lambda x: np.abs(x - 0.5) ** 1.5],
)
def test_splines_hold_smooth_functions(function, rng):
    x, new = rng.uniform(size=300), rng.uniform(size=200)
    fitted = Spline().fit(x)
    prediction = ridge(fitted.features(x), function(x), fitted.features(new))
    assert np.var(function(new) - prediction) < 2e-3 * np.var(function(new))


def test_splines_smooth(rng):
    """With a ridge, noise is not followed: the error is that of a few parameters."""
    x, new = rng.uniform(size=400), rng.uniform(size=400)
    fitted = Spline().fit(x)
    y = np.sin(2 * np.pi * x) + 0.5 * rng.normal(size=400)
    prediction = ridge(fitted.features(x), y, fitted.features(new), 1e-3)
    assert np.mean((prediction - np.sin(2 * np.pi * new)) ** 2) < 0.25 * 4 * 10 / 400


@pytest.mark.parametrize("column", ["uniform", "normal", "skewed", "heavy tails", "ties"])
@pytest.mark.parametrize("rank", [2, 5, 10, 20])
def test_spline_functions_are_orthogonal_and_ordered(column, rank, rng):
    x = COLUMNS[column](rng)
    features = Spline(rank).fit(x).features(x)
    moments = features.T @ features / len(x)
    np.testing.assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-6)
    weights = np.diag(moments)
    assert np.all(np.diff(weights) <= 1e-9)
    if column == "uniform" and rank <= 10:
        assert features.shape[1] == rank


@pytest.mark.parametrize("rank", [10, 32, 100])
def test_spline_weights_fall_with_their_number(rank, rng):
    x = rng.uniform(size=200)
    weights = np.sum(Spline(rank).fit(x).features(x) ** 2, axis=0)
    np.testing.assert_allclose(weights / weights[0], (3 / (3 + np.arange(rank))) ** 2)


def test_splines_are_fine_where_rows_are(rng):
    """A bend among half of the rows is found although these are a thousandth of the range."""
    x = np.concatenate([rng.uniform(0, 1, size=300), rng.uniform(0, 1000, size=300)])
    y = np.where(x < 1, np.sin(6 * x), 0)
    fitted = Spline(16).fit(x)
    new = rng.uniform(0, 1, size=100)
    prediction = ridge(fitted.features(x), y, fitted.features(new))
    assert np.var(np.sin(6 * new) - prediction) < 0.02 * np.var(np.sin(6 * new))


@EACH_COLUMN
@pytest.mark.parametrize("rank", [5, 10, 20, 32, 100])
def test_splines_do_not_swing_between_rows(rank, column, rng):
    x = COLUMNS[column](rng)
    fitted = Spline(rank).fit(x)
    width = np.ptp(x)
    features = fitted.features(x)
    between = fitted.features(np.linspace(x.min() - width, x.max() + width, 1000))
    assert np.all(between <= features.max(axis=0) + 1e-12)
    assert np.all(between >= features.min(axis=0) - 1e-12)


def test_many_rows_do_not_make_large_splines(rng):
    x = rng.normal(size=5_000)
    assert sum(np.size(one) for one in vars(Spline(5).fit(x)).values()) < 1_000


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
@pytest.mark.parametrize("column", ["uniform", "normal", "ties", "three rows", "far from zero"])
def test_polynomials_span_powers(rank, column, rng):
    x = COLUMNS[column](rng)
    fitted = Polynomial(rank).fit(x)
    features = fitted.features(x)
    power = min(rank, len(np.unique(x)) - 1)
    assert features.shape[1] == power
    y = rng.normal(size=len(x))
    new = rng.uniform(x.min(), x.max(), size=20)
    z, z_new = ((values - x.mean()) / x.std() for values in (x, new))
    expected = np.polyval(np.polyfit(z, y, power), z_new)
    prediction = ridge(features, y, fitted.features(new), 0.0)
    np.testing.assert_allclose(prediction, expected, rtol=1e-4, atol=1e-4)
    # Orthonormal, up to one factor.
    moments = features.T @ features / len(x)
    np.testing.assert_allclose(moments, np.eye(power) / power, atol=1e-6)


@pytest.mark.parametrize("column", ["uniform", "normal", "skewed", "heavy tails"])
@pytest.mark.parametrize("width", [0.15, 0.2, 0.5])
def test_nystroem_is_nearly_the_gaussian_kernel(column, width, rng):
    x = COLUMNS[column](rng)
    inside = np.interp(x, *even_scale(x, np.full(len(x), 1 / len(x))))[:, None]
    exact = rbf_kernel(inside, gamma=0.5 / width**2)
    centring = np.eye(len(x)) - 1 / len(x)
    exact = centring @ exact @ centring
    exact /= np.mean(np.diag(exact))
    features = Nystroem(15, width).fit(x).features(x)
    np.testing.assert_allclose(gram(features), exact, atol=5e-3)


@pytest.mark.parametrize("column", ["uniform", "normal", "skewed", "heavy tails", "ties"])
def test_even_scale_is_half_values_half_ranks(column, rng):
    x = COLUMNS[column](rng)
    points, places = even_scale(x, np.full(len(x), 1 / len(x)))
    assert points[0] == x.min()
    assert points[-1] == x.max()
    assert places[0] == 0
    assert places[-1] == 1
    assert np.all(np.diff(places) > 0)
    ranks = rankdata(x) - rankdata(x).min()
    expected = (x - x.min()) / np.ptp(x) / 2 + ranks / ranks.max() / 2
    np.testing.assert_allclose(np.interp(x, points, places), expected, atol=0.03)


def test_quantiles_count_weights_as_repetitions(rng):
    x, times = rng.normal(size=30), rng.integers(1, 5, size=30)
    shares = np.linspace(0, 1, 65)
    repeated = np.repeat(x, times)
    (one,) = quantiles(x[None], times / times.sum(), shares)
    (two,) = quantiles(repeated[None], np.full(len(repeated), 1 / len(repeated)), shares)
    np.testing.assert_allclose(one, two)
    expected = np.quantile(repeated, shares, method="averaged_inverted_cdf")
    np.testing.assert_allclose(two, expected)


@pytest.mark.parametrize("column", ["two values", "three values", "ties"])
def test_categories_are_group_means(column, rng):
    x = COLUMNS[column](rng)
    y = rng.normal(size=len(x))
    fitted = Categorical().fit(x)
    values = np.unique(x)
    means = [y[x == value].mean() for value in values]
    prediction = ridge(fitted.features(x), y, fitted.features(values))
    np.testing.assert_allclose(prediction, means, atol=1e-6)


def test_unseen_categories_have_no_features(rng):
    fitted = Categorical().fit(COLUMNS["three values"](rng))
    features = fitted.features(np.array([0.0, 0.5, 17.0, -1e300]))
    assert np.any(features[0] != 0)
    np.testing.assert_array_equal(features[1:], 0.0)


@pytest.mark.parametrize("count", [1, 2, CATEGORIES, CATEGORIES + 1, 80])
def test_few_values_are_categories(count, rng):
    x = rng.normal(size=count)[np.arange(80) % count]
    maps = choose_maps(len(np.unique(x)), 16, 32)
    assert all(isinstance(one, Categorical if count <= CATEGORIES else Spline) for one in maps)


@pytest.mark.parametrize(
    ("widest", "functions"),
    [
        (1, 1),
        (1, 2),
        (2, 2),
        (2, 3),
        (6, 6),
        (6, 9),
        (6, 12),
        (9, 10),
        (16, 20),
        (16, 32),
        (20, 40),
    ],
)
@pytest.mark.parametrize(
    "values", [CATEGORIES + 1, 15, 24, DISCRETE_VALUES + 1, DISCRETE_VALUES + 2, 200]
)
def test_bands_are_the_parts_of_one_spline(functions, widest, values, rng):
    """Side by side, and scaled alike, they are the functions of a single spline."""
    x = np.sort(rng.normal(size=values))[np.arange(400) % values]
    maps = choose_maps(len(np.unique(x)), widest, functions)
    rank = maps[0].rank
    assert rank in (max(2, min(functions, values - 1)), values - 1)
    assert len(maps) <= 3
    if values - 1 > DISCRETE_VALUES:
        assert max(stop - first for first, stop in (one.band for one in maps)) <= widest
    whole = Spline(rank).fit(x).features(x)
    edges = [one.band for one in maps]
    assert [a for a, _ in edges] == [0, *(b for _, b in edges[:-1])]
    for one, (first, stop) in zip(maps, edges, strict=True):
        features, part = one.fit(x).features(x), whole[:, first:stop]
        assert features.shape[1] == part.shape[1]
        if not part.shape[1]:  # fewer functions than values less one: ties of the even scale
            continue
        size = np.linalg.norm(part) / np.linalg.norm(features)
        np.testing.assert_allclose(features * size, part, atol=1e-9)
        assert np.mean(np.sum(features**2, axis=1)) == pytest.approx(1)


@pytest.mark.parametrize("band", [(0, 0), (3, 2), (-1, 4), (0, 11)])
def test_bad_bands(band):
    with pytest.raises(ValueError, match="band must be a tuple of two integers from 0 to rank=10"):
        Spline(10, band)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", [1, 3, 30, 500, 10_000])
@pytest.mark.parametrize("rows", [10, 1_000, 100_000])
def test_products_stay_affordable(degree, columns, rows):
    widest, functions = affordable_functions(degree, columns, rows)
    order = min(degree, columns)
    assert 1 <= widest <= min(20, functions)
    assert functions <= 2 * widest + 1
    assert widest**order <= 256
    if functions > 1:
        assert comb(columns, order) * functions**order * rows <= PRICING_WORK * (1 + 1e-6)


@EACH_MAP
def test_products_do_not_overlap_with_single_terms(settings, rng):
    n = 4000
    digits = isinstance(settings, Categorical)
    a, b = rng.integers(4, size=(2, n)).astype(float) if digits else rng.uniform(size=(2, n))
    one, other = (clone_of(settings).fit(x).features(x) for x in (a, b))
    both = (one[:, :, None] * other[:, None, :]).reshape(n, -1)
    single = np.hstack([np.ones((n, 1)), one, other])
    # The share of the products' size that lies in the span of the single terms is that of chance.
    axes, lengths, _ = np.linalg.svd(single, full_matrices=False)
    axes = axes[:, lengths > 1e-6 * lengths[0]]
    share = np.sum((axes.T @ both) ** 2) / np.sum(both**2)
    assert share < 3 * axes.shape[1] / n


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Spline, "rank", 1),
        (Spline, "rank", 0),
        (Spline, "rank", 2.5),
        (Polynomial, "rank", 0),
        (Polynomial, "rank", -1),
        (Nystroem, "rank", 0),
        (Nystroem, "width", 0.0),
        (Nystroem, "width", -1.0),
    ],
)
def test_bad_settings(kind, name, value, rng):
    with pytest.raises(ValueError, match=f"{name} must be"):
        kind(**{name: value}).fit(rng.normal(size=30))


# The public argument ``kernels``


@pytest.mark.parametrize("name", ["auto", *BY_NAME])
def test_a_name_is_a_map_of_each_column(name, rng):
    X = np.column_stack([rng.normal(size=40), np.arange(40) % 3, rng.exponential(size=40)])
    kernels = resolve(name, NAMES)
    assert isinstance(kernels, MapKernels)
    assert kernels.names == NAMES
    assert kernels.explicit
    assert not kernels.powers
    bases = kernels.fit(X, X)
    assert isinstance(bases, FeatureBlocks)
    expected = []
    for j in range(3):
        x = X[:, j]
        maps = choose_maps(len(np.unique(x)), 20, 40) if name == "auto" else [BY_NAME[name]()]
        expected += [(NAMES[j], one.fit(x).features(x)) for one in maps]
    assert kernels.names == [label for label, _ in expected]
    assert bases.count == (7 if name == "auto" else 3)
    for number, (_, features) in enumerate(expected):
        np.testing.assert_allclose(bases.block(number), features)
    np.testing.assert_allclose(kernels.on(X[:7], X[:7]).block(1), bases.block(1)[:7], atol=1e-13)


def test_lists_of_maps(rng):
    X = np.column_stack([rng.normal(size=40), np.arange(40) % 3, rng.exponential(size=40)])
    items = [
        ("spline", "age"),
        ("linear", ["age", "bp"]),
        ("categorical", 1),
        ("linear", "bp"),
        (Polynomial(2), ["bp"]),
        ("auto", "bmi"),
    ]
    kernels = resolve(items, NAMES)
    assert kernels.names == [
        "spline(age)",
        "linear(age, bp)",
        "categorical(bmi)",
        "bp",
        "polynomial(bp)",
        "bmi",
    ]
    bases = kernels.fit(X, X)
    np.testing.assert_allclose(bases.block(0), Spline().fit(X[:, 0]).features(X[:, 0]))
    np.testing.assert_array_equal(bases.block(1), X[:, [0, 2]])
    np.testing.assert_allclose(bases.block(2), Categorical().fit(X[:, 1]).features(X[:, 1]))
    np.testing.assert_array_equal(bases.block(3), X[:, [2]])
    assert bases.block(4).shape == (40, 2)
    np.testing.assert_allclose(bases.block(5), bases.block(2))
    twice = resolve([("spline", "age"), (Spline(5), "age"), ("spline", "bp")], NAMES)
    assert twice.names == ["spline(age)[0]", "spline(age)[1]", "spline(bp)"]


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        (
            [("spline", "age"), "rbf"],
            r"kernels\[1\] has no features and the others have; got 'rbf'",
        ),
        ([lambda A, B: A @ B.T, ("auto", 0)], r"kernels\[0\] has no features .* Use \"linear\""),
        ([("spline", ["age", "bp"])], r"kernels\[0\] must see a single column; got 2 \(age, bp\)"),
        ([("linear", 0), Spline()], r"kernels\[1\] must see a single column; got 3"),
        (["auto"], r"must see a single column; got 3"),
        ([("spline", "height")], "refers to column height, which X does not have"),
        ([("spline", [])], "must see at least one column"),
        ("splines", "kernels must be one of .*'spline', .*a list; got 'splines'"),
    ],
)
def test_wrong_lists_are_named(kernels, message):
    with pytest.raises(ValueError, match=message):
        resolve(kernels, NAMES)


def wavy(rng, n=240):
    """Return a frame with a category, and a target with a product of smooth functions."""
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, size=n),
            "a": rng.normal(size=n),
            "b": rng.exponential(size=n),
            "sex": rng.integers(3, size=n).astype(float),
        }
    )
    wave = np.sin(2 * np.pi * (frame["age"] - 20) / 60)
    level = np.array([-1.0, 1.0, 0.0])[frame["sex"].astype(int)]
    y = 2 * wave * level + frame["a"] + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def test_auto_finds_the_functions(rng):
    frame, y = wavy(rng)
    model = MKLRegressor("auto", degree=2, p=1, alpha=1e-3, random_state=0)
    model.fit(frame[:160], y[:160])
    assert set(model.explain(2)["term"]) == {"age * sex", "a"}
    assert model.score(frame[160:], y[160:]) > 0.9
    assert model.explain(None)["share"].sum() == pytest.approx(1.0)
    assert model.explain()["sign"].eq(0).all()


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        ("spline", {"age", "a", "b", "sex"}),
        (
            [("spline", "age"), ("linear", ["a", "b"]), ("categorical", "sex")],
            {"spline(age)", "linear(a, b)", "sex"},
        ),
        ([(Spline(rank=5), "age"), (Nystroem(), "sex")], {"spline(age)", "nystroem(sex)"}),
    ],
)
def test_names_and_interactions(kernels, names, rng):
    frame, y = wavy(rng)
    model = MKLRegressor(kernels, degree=2, random_state=0).fit(frame, y)
    r = len(names)
    # Products of different kernels: 1, r, r (r - 1) / 2.
    assert model.n_kernels_ == 1 + r + r * (r - 1) // 2
    assert all(len(set(term)) == len(term) for term in model.terms_)
    terms = model.explain(None)["term"]
    assert {part for term in terms for part in term.split(" * ")} - {"1"} <= names
    assert any(" * " in term for term in terms)


def test_maps_given_as_objects_are_left_alone(rng):
    frame, y = wavy(rng)
    spline = Spline(rank=5)
    model = MKLRegressor([(spline, "age"), ("linear", "a")], degree=2, random_state=0)
    before = dict(vars(spline))
    first = model.fit(frame, y).predict(frame)
    assert vars(spline) == before == {"rank": 5, "band": None}
    copy = clone(model)
    assert copy.kernels[0][0] == spline
    np.testing.assert_allclose(copy.fit(frame, y).predict(frame), first)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), first)
    assert again.explain()["term"].tolist() == model.explain()["term"].tolist()
    # A fit of other rows does not change what an earlier model with the same object predicts.
    MKLRegressor([(spline, "age")], degree=1).fit(frame[:50], y[:50])
    np.testing.assert_array_equal(model.predict(frame), first)


@pytest.mark.parametrize("name", ["auto", *BY_NAME])
def test_constant_columns_and_odd_columns_in_a_fit(name, rng):
    X = np.column_stack(
        [
            np.full(80, 3.0),
            *(COLUMNS[c](rng) for c in ("heavy tails", "two values", "huge", "tiny")),
        ]
    )
    y = X[:, 2] + 0.1 * rng.normal(size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MKLRegressor(name, degree=2, alpha=0.01, random_state=0).fit(X, y)
        assert np.all(np.isfinite(model.predict(X)))
        assert np.all(np.isfinite(model.predict(1e3 * X)))
        labels = MKLClassifier(name, degree=1, random_state=0).fit(X, y > y.mean())
    assert model.score(X, y) > 0.5
    assert not any(0 in term for term in model.terms_)
    assert labels.score(X, y > y.mean()) > 0.9


@pytest.mark.parametrize("name", ["auto", *BY_NAME])
def test_weights_are_repetitions(name, rng):
    """Centres and sizes are those of the weighted rows."""
    frame, y = wavy(rng, n=90)
    frame = frame[["age", "a", "sex"]]
    times = rng.integers(1, 4, size=90)
    options = {"degree": 2, "p": 2, "alpha": 0.01}
    weighted = MKLRegressor(name, **options).fit(frame, y, sample_weight=times)
    repeated = MKLRegressor(name, **options).fit(
        frame.loc[frame.index.repeat(times)], np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.predict(frame), repeated.predict(frame), atol=1e-5)


@pytest.mark.parametrize("seed", [680, *range(40)])
def test_splines_never_lose_a_column(seed):
    """The constant, which all rows leave open, must not be taken for a bend."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=int(rng.integers(60, 600)))
    x = (x - x.mean()) / x.std()
    for rank in (16, 20, 30):
        features = Spline(rank).fit(x).features(x)
        assert np.mean(np.sum(features**2, axis=1)) == pytest.approx(1.0)


@EACH_COLUMN
def test_splines_fitted_together_are_those_fitted_apart(column):
    x = COLUMNS[column](np.random.default_rng(0))
    weights = np.random.default_rng(1).dirichlet(np.ones(len(x)))
    bands = [None, (0, 4), (4, 12)]
    together, apart = ([Spline(12, band) for band in bands] for _ in range(2))
    (features,) = fit_maps([[*together, Polynomial()]], [x], weights)
    for one, other, found in zip(together, apart, features, strict=False):
        other.fit(x, weights)
        for name in ("axes", "lowest", "highest", "mean", "factor", "places", "evenly"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_allclose(found, other.features(x), atol=1e-10)
    np.testing.assert_array_equal(features[-1], Polynomial().fit(x, weights).features(x))
    new = np.linspace(x.min() - 1, x.max() + 1, 50)
    for one, found in zip(apart, features_of_maps(together, new), strict=True):
        np.testing.assert_array_equal(found, one.features(new))


def test_splines_of_different_columns_do_not_share_their_scale(rng):
    x = rng.normal(size=(60, 2))
    maps = [Spline(5).fit(x[:, 0]), Spline(5).fit(x[:, 1])]
    for one, found in zip(maps, features_of_maps(maps, x[:, 0]), strict=True):
        np.testing.assert_array_equal(found, one.features(x[:, 0]))


@pytest.mark.parametrize("count", [64, 70])
def test_the_basis_is_that_of_cubic_splines(count):
    places = np.concatenate([[0.0, 1.0], np.random.default_rng(0).random(200)])
    knots = np.arange(-3, count + 3) / (count - 1)
    truth = BSpline.design_matrix(places, knots, 3).toarray()
    np.testing.assert_allclose(cubic_basis(places, count).toarray(), truth, atol=1e-13)


@pytest.mark.parametrize("rows", [5, 24, 60])
@pytest.mark.parametrize("column", ["normal", "skewed", "ties", "one far away"])
def test_few_rows_have_the_functions_of_the_large_eigenproblem(column, rows, rng):
    x = COLUMNS[column](rng)[-rows:]
    weights = rng.dirichlet(np.ones(rows))
    inside = np.interp(x, *even_scale(x, weights))[None]
    ways = functions_of_few_rows, functions_of_rows
    (values, counts, axes), (expected, others, true_axes) = (
        find(inside, weights, 64, rows) for find in ways
    )
    assert counts == others
    signs = np.sign(np.sum(axes * true_axes, axis=1))
    pairs = (values, expected), (axes.transpose(0, 2, 1), true_axes.transpose(0, 2, 1))
    for found, truth in pairs:
        size = np.abs(truth).max(axis=2, keepdims=True)
        close = signs[:, :, None] * found
        assert np.all(np.abs(close - truth) <= 1e-5 * size)


@pytest.mark.parametrize("rows", [2, 5, 24, 60, 66, 80])
def test_columns_together_have_the_functions_of_each_alone(rows, rng):
    """To the last bit: maps that were let go are fitted again one by one."""
    x = [column(rng)[-rows:] for column in COLUMNS.values() if len(column(rng)) >= rows]
    weights = rng.dirichlet(np.ones(rows))
    weights[0] = 0.0
    weights /= weights.sum()
    bands = [None, (0, 4), (4, 12)]
    together, alone = ([[Spline(12, band) for band in bands] for _ in x] for _ in range(2))
    features = fit_maps(together, x, weights)
    for own, seen, maps, others in zip(features, x, together, alone, strict=True):
        (expected,) = fit_maps([others], [seen], weights)
        for found, truth, one, other in zip(own, expected, maps, others, strict=True):
            np.testing.assert_array_equal(found, truth)
            np.testing.assert_array_equal(one.features(seen), other.features(seen))
            np.testing.assert_allclose(other.features(seen), truth, atol=1e-10)


def test_scales_and_values_of_columns_together_are_those_of_each(rng):
    x = np.stack([column(rng) for column in COLUMNS.values() if len(column(rng)) == 80])
    weights = rng.dirichlet(np.ones(80))
    for own, found in zip(x, even_scales(x, weights), strict=True):
        for one, other in zip(found, even_scale(own, weights), strict=True):
            np.testing.assert_array_equal(one, other)
    counts = np.count_nonzero(differ(np.sort(x, axis=1)), axis=1)
    np.testing.assert_array_equal(counts, [len(np.unique(own)) for own in x])


def test_maps_that_do_not_learn_stay_as_they_are(rng):
    shared, x = [Spline(5), Categorical()], [rng.normal(size=30) for _ in range(3)]
    features = fit_maps([shared] * 3, x, learn=[False] * 3)
    assert vars(shared[0]) == vars(Spline(5))
    assert not vars(shared[1])
    for own, seen in zip(features, x, strict=True):
        np.testing.assert_allclose(own[0], Spline(5).fit(seen).features(seen), atol=1e-9)
        np.testing.assert_array_equal(own[1], Categorical().fit(seen).features(seen))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@EACH_MAP
def test_values_that_are_no_numbers_are_refused(settings, bad, rng):
    x = rng.normal(size=50)
    fitted = clone_of(settings).fit(x)
    with pytest.raises(ValueError, match=rf"must be finite numbers; got {bad!r} in row 1\."):
        fitted.features(np.array([0.0, bad, 1.0]))
    x[7] = bad
    with pytest.raises(ValueError, match=rf"must be finite numbers; got {bad!r} in row 7\."):
        clone_of(settings).fit(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "place", [-1e300, -1.0, -1e-17, 0.0, 1.0, 1 + 1e-15, 2.0, 1e300, np.nan, np.inf]
)
@pytest.mark.parametrize("count", [2, 3, 64])
def test_no_place_is_beyond_the_splines(place, count):
    """Numbers of B-splines are columns of a sparse matrix, which looks at none of them."""
    basis = cubic_basis(np.array([place, 0.5]), count)
    basis.check_format(full_check=True)
    with pytest.raises(ValueError, match="at least 2 knots; got 1"):
        cubic_basis(np.array([place]), 1)
