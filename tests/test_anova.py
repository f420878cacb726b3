"""Functional ANOVA of functions of kernels with widths, against definitions and known indices."""

from functools import cached_property
from itertools import chain, combinations, product

import numpy as np
import pytest

from manykernels import MKLRegressor
from manykernels.bases import SHAPES, WidthRows
from manykernels.function import Function
from manykernels.function.anova import AnovaTerms, WidthModel, search
from manykernels.function.terms import OTHERS

CATEGORIES = {2: 3}


@pytest.fixture
def _closed_figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


CATEGORY_OF_FIVE = {3: 5}


def subsets(columns, order):
    return chain.from_iterable(combinations(columns, size) for size in range(1, order + 1))


def tiny(shape, rng, outputs=2):
    """Return a function of three columns, the last of them a category, on six rows."""
    X = rng.normal(size=(6, 3))
    X[:, 2] = rng.permutation([0, 1, 2, 0, 1, 0])
    sets = [(0, 1, 2), (0, 1), (2,), ()]
    kernels = [(shape, u, tuple(rng.gamma(1.0, size=len(u)).tolist())) for u in sets]
    alpha, intercept = rng.normal(size=(6, outputs)), rng.normal(size=outputs)
    return WidthModel(kernels, rng.gamma(1.0, size=4), alpha, intercept, WidthRows(X, CATEGORIES))


def terms_of(model, **settings):
    return AnovaTerms(model, [f"x{j}" for j in range(model.rows.count)], **settings)


def value(kernel, x, z):
    """Return a kernel's value for two rows, from its definition."""
    shape, columns, widths = kernel
    apart = [float(x[j] != z[j]) if j in CATEGORIES else abs(x[j] - z[j]) for j in columns]
    power = 1 if shape == "laplace" else 2
    total = sum(s * t**power for s, t in zip(widths, apart, strict=True))
    return np.exp(-np.sqrt(total) if shape == "radial" else -total)


def by_enumeration(model, weights):
    """Return components on training rows and their variances, by means over the whole grid."""
    X = model.rows.values
    grid = list(product(range(6), repeat=3))
    points = np.array([[X[i, j] for j, i in enumerate(place)] for place in grid])
    mass = np.array([np.prod(weights[list(place)]) for place in grid])
    f = np.array(
        [
            model.intercept
            + sum(
                theta * value(kernel, X[i], x) * model.alpha[i]
                for kernel, theta in zip(model.kernels, model.theta, strict=True)
                for i in range(6)
            )
            for x in points
        ]
    )
    parts = {(): np.broadcast_to(mass @ f, f.shape)}
    for u in subsets(range(3), 3):
        same = np.all(points[:, None, u] == points[None, :, u], axis=2) * mass
        mean = (same @ f) / same.sum(axis=1)[:, None]
        parts[u] = mean - sum(parts[v] for v in parts if set(v) < set(u))
    where = [grid.index((i, i, i)) for i in range(6)]
    variances = {u: float(np.sum(mass @ part**2)) for u, part in parts.items() if u}
    return {u: part[where] for u, part in parts.items()}, variances


def as_products(model):
    """Return a function with its radial kernels replaced by mixtures of Gaussian ones."""
    kernels = [
        ("laplace" if part.power == 1 else "gaussian", part.columns, part.widths)
        for part in model.products
    ]
    theta = np.array([part.weight for part in model.products])
    return WidthModel(kernels, theta, model.alpha, model.intercept, model.rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_components_are_those_of_the_whole_grid(shape, weighted, rng, monkeypatch):
    monkeypatch.setattr("manykernels.function.anova.components.NARROW_PART", 1e-14)
    model = tiny(shape, rng)
    weights = rng.gamma(2.0, size=6) if weighted else np.ones(6)
    truth, variances = by_enumeration(as_products(model), weights / weights.sum())
    terms = terms_of(model, weights=weights if weighted else None, listed=0.0)
    np.testing.assert_allclose(terms.mean, truth[()][0], atol=1e-10)
    assert set(terms.anova.components) == set(variances)
    assert terms.anova.rest == terms.anova.error == 0
    # The mixture that a radial kernel is ends at a narrow one: equal rows have 0.994, not 1.
    missing = 0.0065 * model.theta.sum() * np.abs(model.alpha).sum() if shape == "radial" else 0.0
    for output in range(2):
        frame = terms.contributions(model.rows, None, output)
        for u in variances:
            name = " * ".join(f"x{j}" for j in u)
            np.testing.assert_allclose(frame[name], truth[u][:, output], atol=1e-10)
            assert abs(terms.share(name) - variances[u] / sum(variances.values())) < 1e-10
        np.testing.assert_allclose(frame[OTHERS], 0.0, atol=1e-10 + missing)


@pytest.mark.parametrize("columns", [(0,), (0, 1)])
def test_a_radial_kernel_is_a_mixture_of_gaussian_ones(columns, rng):
    x = rng.uniform(0.0, 3.0, size=(40, 2))
    x[0] = 0.0
    widths = tuple(rng.uniform(0.3, 1.0, size=len(columns)).tolist())
    kernel = ("radial", columns, widths)
    model = WidthModel(
        [kernel], np.ones(1), np.ones((1, 1)), np.zeros(1), WidthRows(np.zeros((1, 2)))
    )
    mixed = sum(
        part.weight * np.exp(-(x[:, columns] ** part.power) @ np.array(part.widths))
        for part in model.products
    )
    np.testing.assert_allclose(mixed, [value(kernel, row, np.zeros(2)) for row in x], atol=7e-6)


def larger(rng, n=300):
    """Return a function of four columns, one of them a category, with kernels of all shapes."""
    X = rng.uniform(-2.0, 2.0, size=(n, 4)) @ (np.eye(4) + 0.1)
    X[:, 3] = rng.integers(5, size=n)
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 3] > 2)
    kernels = [
        (shape, (0, 1, 2, 3), tuple(rng.uniform(0.05, 0.5, size=4).tolist())) for shape in SHAPES
    ]
    kernels.append(("laplace", (1, 2), (0.3, 1.0)))
    return fitted(kernels, WidthRows(X, CATEGORY_OF_FIVE), y, 1e-2)


def fitted(kernels, rows, y, ridge):
    """Return kernel ridge regression with the mean of some kernels."""
    theta = np.full(len(kernels), 1 / len(kernels))
    K = sum(t * rows.kernel(kernel) for t, kernel in zip(theta, kernels, strict=True))
    centre = y.mean()
    alpha = np.linalg.solve(K + ridge * np.eye(len(y)), y - centre)
    return WidthModel(kernels, theta, alpha[:, None], np.array([centre]), rows)


def test_decisions_are_sums_over_training_rows(rng, monkeypatch):
    model = larger(rng)
    new = WidthRows(model.rows.values[:50] + np.eye(4)[0] / 3, model.rows.categories)
    whole = sum(
        t * new.kernel(kernel, model.rows) @ model.alpha
        for t, kernel in zip(model.theta, model.kernels, strict=True)
    )
    monkeypatch.setattr("manykernels.function.anova.model.HEIGHT", 7)
    monkeypatch.setattr("manykernels.function.anova.model.WIDTH", 31)
    np.testing.assert_allclose(model.decision(new), whole + model.intercept, rtol=1e-10)


def test_contributions_add_up_to_predictions(rng):
    model = larger(rng)
    terms = terms_of(model)
    new = model.rows.values[:100].copy()
    new[:, :3] += rng.normal(scale=2.0, size=(100, 3))  # beyond the training rows, too
    new[:10, 3] = -1  # a category that was not seen
    rows = WidthRows(new, model.rows.categories)
    frame = terms.contributions(rows, None, 0)
    assert list(frame.columns) == ["intercept", *terms.names]
    np.testing.assert_allclose(
        frame.sum(axis=1), model.decision(rows)[:, 0], rtol=1e-12, atol=1e-12
    )
    some = [terms.names[1], OTHERS]
    np.testing.assert_array_equal(terms.contributions(rows, some, 0), frame[some])


def test_components_are_centred_orthogonal_and_add_up(rng):
    model = larger(rng)
    anova = terms_of(model).anova
    laws = anova.marginals
    count = 40_000
    points = np.column_stack([rng.choice(laws[j].nodes, count, p=laws[j].weights) for j in laws])
    parts = np.column_stack([c.values(laws, points)[:, 0] for c in anova.components.values()])
    scale = np.sqrt(anova.variance)
    products = parts.T @ parts / count / scale**2
    np.testing.assert_allclose(parts.mean(axis=0) / scale, 0.0, atol=0.03)
    variances = [c.variance / anova.variance for c in anova.components.values()]
    np.testing.assert_allclose(products, np.diag(variances), atol=0.03)


def drawn(X, times, rng):
    """Return points with every value of every column equally often, in any order."""
    return np.column_stack([rng.permutation(np.tile(column, times)) for column in X.T])


def test_shares_agree_with_monte_carlo(rng):
    model = larger(rng, n=120)
    terms, X = terms_of(model), model.rows.values
    first, second = drawn(X, 500, rng), drawn(X, 500, rng)
    second[:, :2] = first[:, :2]
    one, two = (model.decision(WidthRows(points, CATEGORY_OF_FIVE)) for points in (first, second))
    whole = float(np.concatenate([one, two]).var())
    assert abs(terms.anova.variance / whole - 1) < 0.015
    parts = {u: part.variance for u, part in terms.anova.components.items()}
    pair = 1 - float(np.mean((one - two) ** 2)) / 2 / whole
    assert abs((parts[0,] + parts[1,] + parts[0, 1]) / terms.anova.variance - pair) < 0.005
    assert abs(terms.table(None)["share"].sum() - 1) < 1e-12


def test_shares_agree_with_the_function_on_all_values_together(rng):
    """Means over the product of the marginals without any noise: on the grid of all values."""
    model = larger(rng, n=50)
    anova, X = terms_of(model).anova, model.rows.values
    axes, counts = zip(*(np.unique(column, return_counts=True) for column in X.T), strict=True)
    laws = [count / len(X) for count in counts]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    rows = WidthRows(grid.reshape(-1, 4), CATEGORY_OF_FIVE)
    values = model.decision(rows).reshape(grid.shape[:-1])

    def variance(u):
        """Return the variance of the mean given the columns of u."""
        means, weights = values, np.ones(())
        for j in reversed(range(4)):
            if j not in u:
                means = np.tensordot(means, laws[j], axes=(j, 0))
        for j in u:
            weights = np.multiply.outer(weights, laws[j])
        return float(np.sum(weights * (means - np.sum(weights * means)) ** 2))

    parts = {}
    for u in subsets(range(4), 3):
        parts[u] = variance(u) - sum(parts[v] for v in parts if set(v) < set(u))
    whole = variance((0, 1, 2, 3))
    assert abs(anova.variance / whole - 1) < 0.005
    for u, part in parts.items():
        share = anova.components[u].variance / anova.variance if u in anova.components else 0.0
        assert abs(share - part / whole) < 0.005, u


def test_few_nodes_give_the_shares_of_a_node_for_each_value(rng, monkeypatch):
    model = larger(rng, n=150)
    few = terms_of(model).anova
    monkeypatch.setattr("manykernels.function.anova.marginals.NODES", 150)
    monkeypatch.setattr("manykernels.function.anova.search.PAIR_RANK", 150)
    monkeypatch.setattr("manykernels.function.anova.search.TRIPLE_RANKS", (20, 20))
    all_values = terms_of(model).anova
    assert abs(few.variance / all_values.variance - 1) < 0.015
    for u, part in all_values.components.items():
        share = part.variance / all_values.variance
        assert abs(few.components[u].variance / few.variance - share) < 0.004


def ishigami(X):
    return np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])


def g_function(X, a):
    return np.prod((np.abs(4 * X - 2) + a) / (1 + a), axis=1)


def test_indices_of_ishigamis_function(rng):
    X = rng.uniform(-np.pi, np.pi, size=(2_000, 4))
    kernels = [("gaussian", (0, 1, 2, 3), (0.3, 0.5, 0.2, 0.05)), ("radial", (0, 1, 2), (0.3,) * 3)]
    terms = terms_of(fitted(kernels, WidthRows(X), ishigami(X), 1e-4))
    first = (1 + np.pi**4 / 50) ** 2 / 2
    joint = np.pi**8 * 0.01 * 8 / 225
    whole = 0.5 + 49 / 8 + np.pi**4 * 0.1 / 5 + np.pi**8 * 0.01 / 18
    truth = {"x0": first / whole, "x1": 49 / 8 / whole, "x0 * x2": joint / whole}
    assert abs(sum(truth.values()) - 1) < 1e-12
    for name, share in truth.items():
        assert abs(terms.share(name) - share) < 0.02, name
    assert terms.share(OTHERS) < 0.02


def test_indices_of_sobols_g_function(rng):
    a = np.array([0.0, 1.0, 4.5, 9.0, 99.0])
    X = rng.uniform(size=(2_000, 5))
    kernels = [
        ("laplace", tuple(range(5)), (2.0, 1.0, 0.3, 0.2, 0.05)),
        ("laplace", tuple(range(5)), (0.3,) * 5),
    ]
    terms = terms_of(fitted(kernels, WidthRows(X), g_function(X, a), 1e-4))
    single = 1 / (3 * (1 + a) ** 2)
    whole = np.prod(1 + single) - 1
    for u in subsets(range(5), 3):
        share, name = np.prod(single[list(u)]) / whole, " * ".join(f"x{j}" for j in u)
        assert abs((terms.share(name) if name in terms.names else 0.0) - share) < 0.02, name


def test_of_many_columns_only_those_that_matter_are_searched(rng):
    X = rng.uniform(-2, 2, size=(1_000, 32))
    y = X[:, 3] * np.sin(X[:, 7]) + 0.5 * X[:, 3] * X[:, 7] * X[:, 20]
    widths = np.full(32, 1e-5)
    widths[[3, 7, 20]] = 0.2
    kernels = [("gaussian", tuple(range(32)), tuple(widths.tolist()))]
    terms = terms_of(fitted(kernels, WidthRows(X), y, 1e-3))
    assert set(terms.names[:2]) == {"x3 * x7", "x3 * x7 * x20"}
    assert {j for u in terms.anova.components if len(u) > 1 for j in u} == {3, 7, 20}
    assert terms.share(OTHERS) < 0.01


def test_table_has_the_columns_of_terms_and_the_spread(rng):
    model = larger(rng)
    terms = terms_of(model)
    table = terms.table(None)
    assert list(table) == ["term", "degree", "theta", "share", "sign", "spread", "loss_without"]
    assert table["spread"].is_monotonic_decreasing
    assert table["loss_without"].isna().all()
    assert len(terms.table(3)) == 3
    pair = table.set_index("term").loc["x1 * x2"]
    assert pair["theta"] == pytest.approx(1.0)
    assert table.set_index("term").loc["x0"]["theta"] == pytest.approx(0.75)
    frame = terms.contributions(model.rows, None, 0)
    assert pair["spread"] == pytest.approx(frame["x1 * x2"].std(ddof=0))
    assert terms.columns("x1 * x2") == terms.factors("x1 * x2") == [1, 2]
    assert (terms.degree("x1 * x2"), terms.sign("x1 * x2")) == (2, 0)
    assert terms.columns(OTHERS) == []
    with pytest.raises(ValueError, match="terms must be those of the model; got 'x9'"):
        terms.contributions(model.rows, ["x9"], 0)


def test_columns_that_correlate_are_named(rng):
    x = rng.normal(size=(400, 1))
    X = np.hstack([x, np.exp(3 * x) + 0.01 * x, rng.normal(size=(400, 1)), -x + 0.1])
    kernels = [("gaussian", (0, 1, 2, 3), (0.1,) * 4)]
    model = WidthModel(kernels, np.ones(1), rng.normal(size=(400, 1)), np.zeros(1), WidthRows(X))
    terms = terms_of(model)
    found = {(a, b): value for a, b, value in terms.correlated}
    assert set(found) == {(0, 1), (0, 3), (1, 3)}
    assert found[0, 3] == pytest.approx(-1.0)
    assert "x0 and x1 (1.00)" in terms.caution
    apart = WidthRows(rng.normal(size=(400, 4)))
    assert terms_of(WidthModel(kernels, np.ones(1), model.alpha, np.zeros(1), apart)).caution == ""


def test_a_function_without_kernels_is_its_intercept(rng):
    rows = WidthRows(rng.normal(size=(5, 2)))
    model = WidthModel([], np.empty(0), np.zeros((5, 1)), np.array([2.0]), rows)
    terms = terms_of(model)
    assert terms.names == [OTHERS]
    np.testing.assert_array_equal(terms.contributions(rows, None, 0)["intercept"], 2.0)
    assert terms.table(None)["share"].tolist() == [0.0]


class WidthFunction(Function):
    """A function whose terms, decisions and contributions are those of kernels with widths."""

    def bases(self, X, place=None):
        return WidthRows(X)

    def decision(self, X, place=None):
        return self.predictor.decision(WidthRows(X))

    @cached_property
    def terms(self):
        return AnovaTerms(self.predictor, ["a", "b", "c", "d"], order=2)


@pytest.mark.usefixtures("_closed_figures")
def test_explain_figures_and_report_take_the_terms(rng, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    from manykernels.plot import (
        ContributionsDisplay,
        EffectDisplay,
        HeatmapDisplay,
        NetworkDisplay,
        TermsDisplay,
    )
    from manykernels.report import write

    X = rng.uniform(-2, 2, size=(60, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 0] * X[:, 1] * X[:, 3]
    kernels = [("gaussian", (0, 1, 2, 3), (0.1, 0.1, 0.05, 0.1))]
    estimator = MKLRegressor(alpha=1e-3, degree=1, p=1).fit(X, y)
    model = fitted(kernels, WidthRows(X), y, 1e-2)
    estimator.function_ = WidthFunction(estimator.function_.kernels, None, model, np.empty(0))
    assert "a * b" in set(estimator.explain()["term"])
    whole = estimator.contributions(X)
    np.testing.assert_allclose(whole.sum(axis=1), model.decision(WidthRows(X))[:, 0])
    EffectDisplay.from_estimator(estimator, X, "a * b")
    for display in (TermsDisplay, NetworkDisplay, HeatmapDisplay):
        display.from_estimator(estimator)
    ContributionsDisplay.from_estimator(estimator, X)
    with pytest.raises(ValueError, match="all that is in no other term"):
        EffectDisplay.from_estimator(estimator, X, OTHERS)
    assert OTHERS in write(estimator, X, y, tmp_path / "report.html").read_text()


def test_kernels_that_are_nothing_between_nodes_add_nothing(rng):
    """In single precision their means are below the least number that can be divided by."""
    X = rng.uniform(-2, 2, size=(2_100, 3))
    X[:, 2] = rng.uniform(-90, 90, size=2_100)
    kernels = [("laplace", (0, 1, 2), (1.0, 1.0, 50.0)), ("gaussian", (0, 1), (1.0, 0.5))]
    alpha = rng.normal(size=(2_100, 1)) / 2_100
    model = WidthModel(kernels, np.array([0.5, 0.5]), alpha, np.zeros(1), WidthRows(X))
    found = terms_of(model).anova
    assert all(np.isfinite(part.variance) for part in found.components.values())
    assert 0 < found.variance < np.inf


def test_sampling_ends_where_components_cost_more_than_kernels(rng, monkeypatch):
    """A function that is zero but at its 40 rows: the error of the rest stays large."""
    monkeypatch.setattr(search, "REST_ENTRIES", 1e7)
    X, sizes = rng.normal(size=(40, 4)), []
    kernels = [("gaussian", (0, 1, 2, 3), (1e12,) * 4)]
    model = WidthModel(kernels, np.ones(1), rng.normal(size=(40, 1)), np.zeros(1), WidthRows(X))
    draw = search._Search.draw
    monkeypatch.setattr(
        search._Search, "draw", lambda own, count: (sizes.append(count), draw(own, count))[1]
    )
    anova = terms_of(model).anova
    held = sum(part.coefficients.size for part in anova.components.values())
    assert held > 10 * 40
    assert sum(sizes) <= search.BATCH + 1e7 / held
