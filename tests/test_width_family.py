"""The continuum of kernels with free widths: sums and draws against quadrature."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import stats

import width_truth as truth
from manykernels.bases import SHAPES, WidthRows
from manykernels.families import LogUniform, WidthFamily, WidthGrid

RHO = [1.3, 0.8, 1.0, 1.5]
every_law = pytest.mark.parametrize("law", truth.LAWS)
every_shape = pytest.mark.parametrize("shape", SHAPES)


def table(rng, n, r, categories=(1,)):
    """Return rows of numbers, with categories and equal values among them."""
    values = rng.normal(size=(n, r))
    values[:, 0] = np.round(values[:, 0], 1)
    known = {j: 3 for j in categories if j < r}
    for j in known:
        values[:, j] = rng.integers(3, size=n)
    return values, known


def family_of(values, categories, degree, law="log-uniform", shapes=SHAPES, **options):
    known = truth.LAWS[law][0] if isinstance(law, str) else law
    rows = WidthRows(values, categories)
    return WidthFamily(rows, degree, shapes, known, RHO[: degree + 1], **options)


@every_law
@pytest.mark.parametrize("shapes", [(shape,) for shape in SHAPES] + [SHAPES], ids=len)
@pytest.mark.parametrize(("r", "degree"), [(1, 1), (2, 1), (3, 2), (3, 3)])
def test_mass_and_sum_are_integrals_over_the_family(r, degree, shapes, law, rng):
    values, categories = table(rng, 6, r)
    alpha = rng.normal(size=(6, 2))
    family = family_of(values, categories, degree, law, shapes)
    nodes = truth.quadrature(law)
    setting = values, categories, alpha, shapes, degree, RHO, *nodes
    expected = sum(truth.masses(*setting).values())
    assert family.at(alpha).mass == pytest.approx(expected, rel=1e-8)
    assert np.sum(alpha * (family.closed() @ alpha)) == pytest.approx(expected, rel=1e-8)
    if r == 2:
        means = [
            truth.mean_kernel(values, categories, shape, S, *nodes) / RHO[len(S)] ** 2 / len(shapes)
            for shape in shapes
            for S in truth.subsets(r, degree)
        ]
        np.testing.assert_allclose(family.closed(), sum(means), rtol=2e-8)


def test_the_sum_between_two_sets_of_rows_is_that_within_all(rng):
    values, categories = table(rng, 9, 3)
    whole, left, right = (
        family_of(part, categories, 3) for part in (values, values[:4], values[4:])
    )
    np.testing.assert_allclose(left.closed(right), whole.closed()[:4, 4:], rtol=1e-12)


@every_law
@every_shape
def test_the_chain_multiplies_to_the_gradient(shape, law, rng):
    """Probability of a layer, of a set in it, and the densities of widths, over all layers."""
    values, categories = table(rng, 7, 4)
    family, alpha = family_of(values, categories, 3, law, (shape,)), rng.normal(size=(7, 2))
    field = family.at(alpha)
    for columns in [(), (0,), (1, 3), (0, 1, 2)]:
        widths = rng.gamma(2.0, size=len(columns))
        density = 0.0
        for layer, mass in zip(family.layers, field.by_layer / field.mass, strict=True):
            sets, state = layer.family.at(alpha), field.outer[None]
            chain = mass * sets.gradients([columns])[0] / sets.mass
            for position, j in enumerate(columns):
                values_of, places = layer.column(j)
                masses = layer.column_masses(state, columns, position)[0]
                kernel = np.exp(-widths[position] * values_of)
                chain *= (masses @ kernel) / (masses @ family.law.transform(values_of))
                state = state * kernel[places]
            density += chain
        index = (shape, columns, tuple(widths.tolist()))
        matrix = truth.kernel(values, categories, *index)
        gradient = np.sum(alpha * (matrix @ alpha)) / RHO[len(columns)] ** 2
        assert density == pytest.approx(gradient / field.mass, rel=1e-8)
        assert field.gradients([index])[0] == pytest.approx(gradient, rel=1e-9)


def assert_draws_follow_the_gradient(values, categories, alpha, family, law, count, rng):
    """Test sets by chi-square; widths, made uniform by their exact laws, by Kolmogorov-Smirnov."""
    field = family.at(alpha)
    draw = field.draw(count, rng)
    assert draw.total == count
    np.testing.assert_array_equal(draw.ratios, field.mass)
    assert draw.largest_ratio == np.inf
    scales = np.append(family.rho, 1.0)
    setting = values, categories, alpha, family.shapes, family.degree, scales
    expected = truth.masses(*setting, *truth.coarse_quadrature(law))
    drawn = Counter()
    for (shape, columns, _), number in zip(draw.indices, draw.counts.tolist(), strict=True):
        drawn[shape, columns] += number
    assert set(drawn) <= set(expected)
    observed = np.array([drawn[key] for key in expected])
    total = np.array(list(expected.values()))
    assert truth.chi_square(observed, total / total.sum() * count) > 1e-6
    exact, shares = truth.ExactLaws(law, values, categories, alpha), {}
    for index in draw.indices:
        assert all(type(s) is float for s in index[2])
        for position in range(len(index[1])):
            shares.setdefault(position, []).append(exact.share(index, position))
    for points in shares.values():
        assert stats.kstest(points, "uniform").pvalue > 1e-6
    return draw


@every_law
@every_shape
def test_draws_follow_the_gradient(shape, law, rng):
    values, categories = table(rng, 5, 4)
    alpha = rng.normal(size=(5, 1))
    rho = [3.0, 2.0, 1.0, 1.0]
    rows = WidthRows(values, categories)
    family = WidthFamily(rows, 3, (shape,), truth.LAWS[law][0], rho)
    setting = values, categories, alpha
    draw = assert_draws_follow_the_gradient(*setting, family, law, 400, rng)
    # The density of the width alone: many draws of one column.
    family = WidthFamily(rows, 1, (shape,), truth.LAWS[law][0], [9.0, 1.0])
    assert_draws_follow_the_gradient(*setting, family, law, 3000, rng)
    matrices = [truth.kernel(values, categories, *index) for index in draw.indices]
    scores = [np.sum(alpha * (matrix @ alpha)) for matrix in matrices]
    weights = [rho[len(columns)] ** -2 for _, columns, _ in draw.indices]
    np.testing.assert_allclose(draw.gradients, np.multiply(scores, weights), rtol=1e-6, atol=1e-9)


def test_draws_choose_among_shapes(rng):
    values, categories = table(rng, 6, 5)
    alpha = rng.normal(size=(6, 2))
    alpha -= alpha.mean(axis=0)
    family = family_of(values, categories, 2)
    assert_draws_follow_the_gradient(values, categories, alpha, family, "log-uniform", 1000, rng)


def test_draws_from_many_columns(rng):
    values, categories = table(rng, 4, 30, categories=(1, 7))
    alpha = rng.normal(size=(4, 1))
    family = family_of(values, categories, 2)
    assert_draws_follow_the_gradient(values, categories, alpha, family, "log-uniform", 400, rng)


@pytest.mark.parametrize("shape", ["gaussian", "laplace"])
def test_draws_from_all_sets_of_many_columns(shape, rng):
    """2^30 sets: how many columns there are, which, and the law of the first one's width."""
    values, categories = table(rng, 3, 30)
    alpha, count = rng.normal(size=(3, 1)), 60
    rows = WidthRows(values, categories)
    family = WidthFamily(rows, None, (shape,), truth.LAWS["log-uniform"][0])
    draw = family.at(alpha).draw(count, rng)
    nodes = truth.quadrature("log-uniform")
    means = [truth.mean_kernel(values, categories, shape, (j,), *nodes) for j in range(30)]
    orders = np.zeros((31, 3, 3))
    orders[0] = 1.0
    for mean in means:
        orders[1:] = orders[1:] + mean * orders[:-1]
    expected = np.einsum("ic,dij,jc->d", alpha, orders, alpha)
    observed = np.bincount([len(S) for _, S, _ in draw.indices], draw.counts, 31)
    assert truth.chi_square(observed, expected / expected.sum() * count) > 1e-6
    whole = np.prod([1 + mean for mean in means], axis=0)
    total = np.sum(alpha * (whole @ alpha))
    for j in range(0, 30, 10):
        with_j = np.sum(alpha * ((whole * means[j] / (1 + means[j])) @ alpha)) / total
        seen = sum(j in S for _, S, _ in draw.indices)
        assert stats.binomtest(seen, count, with_j).pvalue > 1e-6
    grid = np.geomspace(0.05, 20.0, 401)
    shares = []
    for _, S, widths in draw.indices:
        rest = np.prod([means[j] for j in S[1:]], axis=0)
        matrices = truth.kernel(values, categories, shape, S[:1], [grid]) * rest
        density = np.einsum("ic,qij,jc->q", alpha, matrices, alpha)
        below = np.append(0.0, np.cumsum(density[1:] + density[:-1]))
        shares.append(np.interp(widths[0], grid, below / below[-1]))
    assert stats.kstest(shares, "uniform").pvalue > 1e-6


def test_draws_from_a_grid_are_those_of_its_list(rng):
    values, categories = table(rng, 6, 3)
    alpha, count = rng.normal(size=(6, 1)), 6000
    grid = (0.1, 1.0, 6.0)
    family = family_of(values, categories, 2, WidthGrid(grid))
    expected = {}
    for S in truth.subsets(3, 2):
        for shape in SHAPES:
            for widths in product(grid, repeat=len(S)):
                index = family.index(shape, S, widths)
                matrix = truth.kernel(values, categories, *index)
                measure = len(grid) ** -len(S) / len(SHAPES)
                mass = measure * np.sum(alpha * (matrix @ alpha)) / RHO[len(S)] ** 2
                expected[index] = expected.get(index, 0.0) + mass
    field = family.at(alpha)
    total = np.array(list(expected.values()))
    assert field.mass == pytest.approx(total.sum(), rel=1e-8)
    draw = field.draw(count, rng)
    drawn = dict(zip(draw.indices, draw.counts.tolist(), strict=True))
    assert set(drawn) <= set(expected)
    observed = np.array([drawn.get(index, 0) for index in expected])
    assert truth.chi_square(observed, total / total.sum() * count) > 1e-6


def test_binned_columns_and_little_room_change_nothing(rng, monkeypatch):
    values, categories = table(rng, 40, 3)
    alpha = rng.normal(size=(40, 1))
    plain, tight = (family_of(values, categories, 2) for _ in range(2))
    tight.room = 0.0
    expected = plain.at(alpha).draw(30, np.random.default_rng(0))
    monkeypatch.setattr("manykernels.families.widths.layers.BATCH_ENTRIES", 1)
    monkeypatch.setattr("manykernels.families.widths.laws.START_BINS", 10**9)
    found = tight.at(alpha).draw(30, np.random.default_rng(0))
    assert not any("family" in vars(layer) for layer in tight.layers)
    assert [index[:2] for index in found.indices] == [index[:2] for index in expected.indices]
    assert any(index[1] for index in expected.indices)
    for (*_, one), (*_, other) in zip(found.indices, expected.indices, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_nothing_is_drawn_where_there_is_no_mass(rng):
    family = family_of(*table(rng, 5, 2), 2)
    draw = family.at(np.zeros((5, 1))).draw(10, rng)
    assert draw.indices == []
    assert draw.total == 0


def test_kernels_of_indices(rng):
    values, categories = table(rng, 8, 3)
    names = ["age", "town", "income"]
    whole = family_of(values, categories, 2, names=names)
    left, right = (whole.on(WidthRows(part, categories)) for part in (values[:5], values[5:]))
    indices = [("laplace", (0, 2), (0.3, 1.1)), ("radial", (1,), (2.0,)), ("gaussian", (), ())]
    assert [whole.name(index) for index in indices] == ["laplace(age, income)", "radial(town)", "1"]
    assert [whole.factors(index) for index in indices] == [(0, 2), (1,), ()]
    weights = np.array([RHO[2], RHO[1], RHO[0]]) ** -2.0
    np.testing.assert_allclose(whole.weights(indices), weights)
    theta = rng.random(3)
    matrices = [truth.kernel(values, categories, *index) for index in indices]
    expected = np.tensordot(theta * weights, matrices, axes=1)
    np.testing.assert_allclose(whole.gram(indices, theta), expected, rtol=1e-9)
    np.testing.assert_allclose(left.gram(indices, theta, right), expected[:5, 5:], rtol=1e-7)
    score = matrices[0].sum() * weights[0]
    assert whole.at(np.ones((8, 1))).gradients(indices[:1])[0] == pytest.approx(score)


@every_law
def test_uniform_draws_follow_the_measure(law, rng):
    family = family_of(*table(rng, 3, 3), 2, law)
    count = 4000
    drawn, densities = family.uniform(count, rng)
    np.testing.assert_allclose(densities, 1 / 7)
    keys = Counter(index[:2] for index in drawn)
    expected = {(shape, S): count / 21 for shape in SHAPES for S in truth.subsets(3, 2)[1:]}
    expected["gaussian", ()] = count / 7
    assert set(keys) == set(expected)
    observed = np.array([keys[key] for key in expected])
    assert truth.chi_square(observed, np.array(list(expected.values()))) > 1e-6
    widths = [s for index in drawn for s in index[2]]
    assert stats.kstest(widths, truth.LAWS[law][1].cdf).pvalue > 1e-6


def test_what_a_continuum_cannot_do(rng):
    rows = WidthRows(rng.normal(size=(4, 2)))
    family = WidthFamily(rows)
    assert (family.degree, family.shapes, family.law) == (2, SHAPES, LogUniform())
    assert not family.listable
    assert not family.priceable
    assert family.drawable
    assert family.summable
    with pytest.raises(NotImplementedError, match="cannot be listed"):
        family.distinct  # noqa: B018
    with pytest.raises(NotImplementedError, match="WidthSearch"):
        family.pricer(None, 64, False)
    for shapes in (("cubic",), (), "radial", ("radial", "radial")):
        with pytest.raises(ValueError, match="shapes must be some of"):
            WidthFamily(rows, shapes=shapes)
    with pytest.raises(ValueError, match=r"rho must hold degree \+ 1 = 3 positive numbers"):
        WidthFamily(rows, rho=[1.0])


def test_rows_of_another_library_give_the_same(rng):
    torch = pytest.importorskip("torch")
    values, categories = table(rng, 10, 3)
    alpha = rng.normal(size=(10, 2))
    here, there = (family_of(part, categories, 2) for part in (values, torch.asarray(values)))
    np.testing.assert_array_equal(there.closed().numpy(), here.closed())
    one, other = (part.at(alpha).draw(20, np.random.default_rng(0)) for part in (here, there))
    assert one.indices == other.indices
    np.testing.assert_allclose(other.gradients, one.gradients, rtol=1e-9)
