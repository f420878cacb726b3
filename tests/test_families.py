from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from checks import base_grams, brute_members, make_bases, product_gram, tree_law
from manykernels.bases import FeatureBlocks, GramStack
from manykernels.families import (
    Interactions,
    KernelFamily,
    ListFamily,
    Monomials,
    ProductFamily,
    Tuples,
    WeightedFamily,
)
from manykernels.families.pricing import pricer

REPRESENTATIONS = ["columns", "blocks", "sparse", "gram"]
SETS = [Tuples(2.0), Monomials(), Interactions()]
EVERY = [
    pytest.mark.parametrize("representation", REPRESENTATIONS),
    pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name),
]
RHO = [1.0, 1.3, 0.8, 2.0, 1.5]


def every(test):
    for mark in EVERY:
        test = mark(test)
    return test


def family_of(representation, kind, rng, r=4, degree=4, below=0.0, n=12):
    bases = make_bases(representation, rng, n=n, r=r)
    return ProductFamily(bases, degree, kind, RHO[: degree + 1], enumerate_below=below)


@every
@pytest.mark.parametrize("below", [0.0, np.inf], ids=["tree", "enumerated"])
def test_mass_is_the_sum_over_the_index_set(representation, kind, below, rng):
    family = family_of(representation, kind, rng, r=5, below=below)
    alpha = rng.normal(size=(12, 2))
    members = brute_members(family, alpha)
    assert family.at(alpha).mass == pytest.approx(sum(members.values()), rel=1e-10)


@every
@pytest.mark.parametrize(("r", "degree"), [(1, 4), (3, 4), (5, 3), (5, 4)])
def test_conditional_probabilities_multiply_to_q(representation, kind, r, degree, rng):
    family = family_of(representation, kind, rng, r=r, degree=degree)
    alpha = rng.normal(size=(12, 1))
    members, field = brute_members(family, alpha), family.at(alpha)
    total = sum(members.values())
    shares = field.by_degree / field.mass
    for d in range(degree + 1):
        law = tree_law(field, d) if shares[d] > 0 else {}
        for index, mass in members.items():
            if len(index) == d:
                assert shares[d] * law.get(index, 0.0) == pytest.approx(mass / total, abs=1e-10)


@every
@pytest.mark.parametrize("below", [0.0, np.inf], ids=["tree", "enumerated"])
def test_draws_follow_q(representation, kind, below, rng):
    family = family_of(representation, kind, rng, r=5, degree=4, below=below)
    alpha = rng.normal(size=(12, 1))
    members = brute_members(family, alpha)
    count = 100_000
    draw = family.at(alpha).draw(count, rng)
    assert draw.total == count
    drawn = dict(zip(draw.indices, draw.counts, strict=True))
    assert set(drawn) <= set(members)
    expected = np.array(list(members.values())) / sum(members.values()) * count
    observed = np.array([drawn.get(index, 0) for index in members])
    large = expected >= 10
    expected = np.append(expected[large], expected[~large].sum())
    observed = np.append(observed[large], observed[~large].sum())
    keep = expected > 0
    statistic = np.sum((observed[keep] - expected[keep]) ** 2 / expected[keep])
    assert chi2.sf(statistic, keep.sum() - 1) > 1e-6


@every
def test_gradients_and_ratios(representation, kind, rng):
    family = family_of(representation, kind, rng, degree=3)
    alpha = rng.normal(size=(12, 2))
    field, indices = family.at(alpha), family.indices()
    grams = base_grams(family.bases)
    expected = np.array(
        [
            np.sum(alpha @ alpha.T * product_gram(grams, i)) * w
            for i, w in zip(indices, family.weights(indices), strict=True)
        ]
    )
    np.testing.assert_allclose(field.gradients(indices), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(field.all(), expected, rtol=1e-9, atol=1e-12)
    draw = field.draw(500, rng)
    at = [indices.index(i) for i in draw.indices]
    probabilities = np.array([brute_members(family, alpha)[i] for i in draw.indices]) / field.mass
    np.testing.assert_allclose(draw.gradients, expected[at], rtol=1e-9)
    np.testing.assert_allclose(draw.ratios, expected[at] / probabilities, rtol=1e-8)
    assert np.all(draw.ratios <= draw.largest_ratio * (1 + 1e-12))


@every
def test_kernels_of_indices(representation, kind, rng):
    family = family_of(representation, kind, rng, degree=3)
    indices = family.indices()
    theta = rng.uniform(size=len(indices))
    grams = base_grams(family.bases)
    weights = theta * family.weights(indices)
    expected = sum(w * product_gram(grams, i) for w, i in zip(weights, indices, strict=True))
    np.testing.assert_allclose(family.gram(indices, theta), expected, atol=1e-9)
    if family.explicit:
        columns, owners = family.features(indices)
        np.testing.assert_allclose((columns * theta[owners]) @ columns.T, expected, atol=1e-9)
        other = family.on(family.bases.without_rows())
        assert family.gram(indices, theta, other).shape == (12, 0)


@pytest.mark.parametrize("representation", ["columns", "sparse", "blocks"])
@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("r", [1, 3, 4])
@pytest.mark.parametrize("degree", [0, 1, 4])
def test_features_of_all_kernels(representation, kind, r, degree, rng):
    family = family_of(representation, kind, rng, r=r, degree=degree)
    columns, owners = family.all_features()
    indices, grams = family.indices(), base_grams(family.bases)
    for i, (index, weight) in enumerate(zip(indices, family.weights(indices), strict=True)):
        own = columns[:, owners == i]
        np.testing.assert_allclose(own @ own.T, weight * product_gram(grams, index), atol=1e-10)


@every
def test_closed_kernel_is_the_sum_of_all(representation, kind, rng):
    kind = Tuples(np.inf) if kind.name == "tuples" else kind
    family = family_of(representation, kind, rng, degree=3)
    indices = family.indices()
    np.testing.assert_allclose(
        family.closed(), family.gram(indices, np.ones(len(indices))), atol=1e-9
    )


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
def test_polynomials_in_row_blocks_equal_the_whole(kind, rng, monkeypatch):
    family = family_of("columns", kind, rng, r=5)
    alpha = rng.normal(size=(12, 1))
    whole = [family.at(alpha).moves(family.bases.start(alpha), k, ()) for k in (3, 4)]
    monkeypatch.setattr("manykernels.families.products.POLYNOMIAL_BYTES", 2000)
    blocked = family_of("columns", kind, np.random.default_rng(0), r=5)
    blocked.bases = family.bases
    parts = [blocked.at(alpha).moves(blocked.bases.start(alpha), k, ()) for k in (3, 4)]
    assert len(blocked.row_blocks) > 1
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_many_columns_use_the_n_by_n_route(rng):
    bases = FeatureBlocks(rng.normal(size=(5, 40)))
    assert not bases.pairs_are_cheap
    for kind in SETS:
        family = ProductFamily(bases, 2, kind, enumerate_below=0.0)
        alpha = rng.normal(size=(5, 1))
        members = brute_members(family, alpha)
        field = family.at(alpha)
        assert field.mass == pytest.approx(sum(members.values()), rel=1e-10)
        law = tree_law(field, 2)
        total = sum(v for i, v in members.items() if len(i) == 2)
        for index, mass in members.items():
            if len(index) == 2:
                assert law.get(index, 0.0) == pytest.approx(mass / total, abs=1e-10)


def test_counts_are_exact_integers(rng):
    bases = FeatureBlocks(np.ones((2, 1000)))
    sizes = {kind.name: ProductFamily(bases, 12, kind).size for kind in SETS}
    assert sizes["monomials"] == comb(1012, 12)
    assert sizes["interactions"] == sum(comb(1000, d) for d in range(13))
    assert sizes["tuples"] == sum(1000**d for d in range(13))
    assert all(isinstance(size, int) for size in sizes.values())


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
def test_draws_from_a_huge_family(kind, rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(60, 1000))), 6, kind)
    assert family.size > 10**15
    alpha = rng.normal(size=(60, 1))
    draw = family.at(alpha).draw(20, rng)
    assert draw.total == 20
    assert all(len(i) <= 6 and tuple(sorted(i)) == i and max(i) < 1000 for i in draw.indices)
    assert np.all(draw.gradients > 0)
    if kind.strict:
        assert all(len(set(i)) == len(i) for i in draw.indices)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
def test_counts_beyond_floats(kind, rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(3, 2000))), 400, kind)
    assert family.size > 10**400
    assert np.isfinite(family.enumeration_work)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
def test_uniform_draws(kind, rng):
    family = family_of("columns", kind, rng, r=3, degree=3)
    count = 60_000
    drawn, probabilities = family.uniform(count, rng)
    expected = dict(zip(drawn, probabilities, strict=True))
    assert sum(expected.values()) == pytest.approx(1.0)
    for index, probability in expected.items():
        mean = probability * count
        assert abs(drawn.count(index) - mean) < 6 * np.sqrt(mean) + 6


@pytest.mark.parametrize("nu", [1.0, 1.5, 2.0])
def test_merged_tuples_have_the_weight_of_their_copies(nu, rng):
    family = family_of("columns", Tuples(nu), rng, r=3, degree=3)
    index = (0, 1, 1)
    weight = 3 ** (1 - 1 / nu) / RHO[3] ** 2
    assert family.weights([index])[0] == pytest.approx(weight)
    # theta = 3^(-1/nu) on each of 3 copies has norm one and gives the same kernel.
    assert weight == pytest.approx(3 * 3 ** (-1 / nu) / RHO[3] ** 2)


def test_masses_that_rounding_makes_negative_are_clipped(rng):
    """A dual point orthogonal to all kernels, as a tiny ridge gives, has mass zero."""
    X = rng.normal(size=(40, 3))
    columns, _ = FeatureBlocks(X).products(ProductFamily(FeatureBlocks(X), 2).indices())
    noise = rng.normal(size=(40, 1))
    alpha = 1e10 * (noise - columns @ np.linalg.lstsq(columns, noise, rcond=None)[0])
    grams = np.einsum("si,ti->ist", X, X)
    for bases in (FeatureBlocks(X), GramStack(grams)):
        for kind in SETS:
            for below in (0.0, np.inf):
                family = ProductFamily(bases, 2, kind, enumerate_below=below)
                field = family.at(alpha)
                draw = field.draw(20, rng)
                assert np.all(field.by_degree >= 0)
                assert field.mass <= 1e-9 * np.sum(alpha**2) * np.sum(grams**2)
                assert np.all(draw.gradients >= 0)
                assert np.all(np.isfinite(draw.ratios))


def test_zero_dual_point_draws_nothing(rng):
    for family in (family_of("columns", Monomials(), rng), ListFamily(make_bases("gram", rng))):
        draw = family.at(np.zeros((12, 1))).draw(10, rng)
        assert draw.indices == []
        assert draw.total == 0


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_list_family(representation, rng):
    bases = make_bases(representation, rng)
    family = ListFamily(bases, rho=[1.0, 2.0, 0.5, 1.0], names=["a", "b", "c", "d"])
    alpha = rng.normal(size=(12, 2))
    grams = base_grams(bases) / np.array([1.0, 4.0, 0.25, 1.0])[:, None, None]
    expected = np.einsum("sc,jst,tc->j", alpha, grams, alpha)
    field = family.at(alpha)
    np.testing.assert_allclose(field.all(), expected)
    np.testing.assert_allclose(field.gradients(family.indices()), expected)
    assert family.size == 4
    assert family.name((2,)) == "c"
    draw = field.draw(20_000, rng)
    shares = draw.counts / draw.total
    at = [index[0] for index in draw.indices]
    np.testing.assert_allclose(shares, (expected / expected.sum())[at], atol=0.02)
    np.testing.assert_allclose(family.closed(), grams.sum(axis=0), atol=1e-12)
    with pytest.raises(ValueError, match="rho must hold 4 positive numbers"):
        ListFamily(bases, rho=[1.0])


def test_weighted_family_is_unbiased(rng):
    inner = family_of("columns", Monomials(), rng, r=3, degree=2)
    family = WeightedFamily(inner, lambda index: 1.0 + len(index) + sum(index))
    alpha = rng.normal(size=(12, 1))
    field, indices = family.at(alpha), family.indices()
    truth = dict(zip(indices, field.all(), strict=True))
    np.testing.assert_allclose(field.gradients(indices), list(truth.values()))
    draw = field.draw(200_000, rng)
    estimate = dict(zip(draw.indices, draw.estimate(), strict=True))
    total = sum(truth.values())
    for index in indices:
        assert estimate.get(index, 0.0) == pytest.approx(truth[index], abs=0.02 * total)
    np.testing.assert_allclose(
        family.closed(), family.gram(indices, np.ones(len(indices))), atol=1e-12
    )


def test_names(rng):
    family = ProductFamily(make_bases("columns", rng, r=3), 3, names=["age", "bmi", "bp"])
    assert family.name((0, 0, 2)) == "age^2 * bp"
    assert family.name(()) == "1"


def test_rho_is_checked(rng):
    with pytest.raises(ValueError, match=r"rho must hold degree \+ 1 = 3 positive numbers"):
        ProductFamily(make_bases("columns", rng), 2, rho=[1.0, -1.0, 1.0])


@pytest.mark.parametrize("representation", ["columns", "gram"])
@pytest.mark.parametrize("degree", [3, 4, 5])
def test_interactions_of_very_different_scales(representation, degree, rng):
    """One kernel much larger than the others: leaving it out must not cost the digits."""
    X = rng.normal(size=(15, 6)) * np.array([1e5, 1, 1, 1, 1, 1])
    bases = FeatureBlocks(X)
    if representation == "gram":
        bases = GramStack(base_grams(bases))
    tree = ProductFamily(bases, degree, Interactions(), enumerate_below=0.0)
    alpha = rng.normal(size=(15, 1))
    members = brute_members(ProductFamily(FeatureBlocks(X), degree, Interactions()), alpha)
    field = tree.at(alpha)
    # Gram matrices hold inner products to 1e-16 of their largest, whatever is made of them.
    accuracy = 1e-9 if representation == "columns" else 1e-4
    assert field.mass == pytest.approx(sum(members.values()), rel=accuracy)
    law = tree_law(field, degree)
    total = sum(v for i, v in members.items() if len(i) == degree)
    for index, mass in members.items():
        if len(index) == degree:
            assert law.get(index, 0.0) == pytest.approx(mass / total, abs=accuracy)


@pytest.mark.parametrize(("rows", "r", "degree"), [(12, 6, 5), (2, 9, 4), (2, 9, 5)])
def test_deep_interactions(rows, r, degree, rng):
    """Prefixes of two or more kernels left out of a contraction."""
    family = ProductFamily(
        FeatureBlocks(rng.normal(size=(rows, r))), degree, Interactions(), enumerate_below=0.0
    )
    alpha = rng.normal(size=(rows, 1))
    members = {i: m for i, m in brute_members(family, alpha).items() if len(i) == degree}
    law = tree_law(family.at(alpha), degree)
    for index, mass in members.items():
        assert law.get(index, 0.0) == pytest.approx(mass / sum(members.values()), abs=1e-9)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("representation", ["columns", "gram"])
def test_draws_are_members_even_when_only_rounding_is_left(kind, representation, rng):
    X = rng.normal(size=(30, 4))
    X[:, 2:] = 0.0
    bases = (
        FeatureBlocks(X) if representation == "columns" else GramStack(base_grams(FeatureBlocks(X)))
    )
    family = ProductFamily(bases, 3, kind, [1, 1, 1, 1e-9], enumerate_below=0.0)
    columns, _ = FeatureBlocks(X).products(family.indices())
    noise = rng.normal(size=(30, 1))
    orthogonal = noise - columns @ np.linalg.lstsq(columns, noise, rcond=None)[0]
    for alpha in (noise, orthogonal):
        for _ in range(20):
            assert set(family.at(alpha).draw(20, rng).indices) <= set(family.indices())


def test_row_blocks_bound_the_memory(rng, monkeypatch):
    import tracemalloc

    rows = 600
    monkeypatch.setattr("manykernels.families.products.POLYNOMIAL_BYTES", 4_000_000)
    family = ProductFamily(FeatureBlocks(rng.normal(size=(rows, 8))), 4, enumerate_below=0.0)
    alpha = rng.normal(size=(rows, 1))
    assert len(family.row_blocks) > 4
    tracemalloc.start()
    assert family.at(alpha).mass > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        peak < 2 * 4_000_000
    )  # one n x n matrix alone would take 2,880,000 bytes, five are needed


def test_enumeration_is_chosen_by_cost(rng):
    alpha = rng.normal(size=(4000, 1))
    tall = ProductFamily(FeatureBlocks(rng.normal(size=(4000, 30))), 3)
    assert tall.at(alpha).enumerated  # 2e7 multiplications against 1e9
    wide = ProductFamily(FeatureBlocks(rng.normal(size=(20, 1000))), 4)
    assert not wide.at(alpha[:20]).enumerated


@pytest.mark.parametrize("kind", [Tuples(2.0), Monomials(), Interactions()], ids=str)
@pytest.mark.parametrize("representation", ["columns", "gram"])
def test_rough_mass_is_the_mass(kind, representation, rng):
    family = ProductFamily(make_bases(representation, rng), 3, kind, rho=[1.0, 2.0, 1.5, 0.7])
    alpha = rng.normal(size=(12, 2))
    rough = family.at(alpha).rough_mass
    assert rough == pytest.approx(family.at(alpha).mass, rel=1e-10)


class Widths(KernelFamily):
    """Gaussian kernels of any column and any width: an index holds a float, and there is no end."""

    listable = priceable = drawable = summable = False

    def weights(self, indices):
        return np.ones(len(indices))

    def on(self, bases):
        return type(self)(bases, self.names)

    def products(self, indices):
        return [()] * len(indices)

    def name(self, index):
        column, width = index
        return f"{self.names[column]} ({width:g})"


def test_a_family_may_have_real_indices_and_no_list(rng):
    family = Widths(make_bases("columns", rng))
    index = (2, 0.25)
    assert family.name(index) == "x2 (0.25)"
    assert family.factors(index) == ()
    assert not family.at(np.ones((12, 1))).enumerated
    for ask in (family.indices, family.closed, lambda: family.size, lambda: pricer(family)):
        with pytest.raises(NotImplementedError, match="Widths"):
            ask()


@pytest.mark.parametrize("representation", ["columns", "blocks", "grams"])
def test_a_family_that_can_be_listed_needs_no_more_than_its_list(representation, rng):
    class Pairs(KernelFamily):
        def indices(self):
            return [(0, 1), (1, 3), (2,)]

        def weights(self, indices):
            return np.array([1.0 + len(index) for index in indices])

        def on(self, bases):
            return type(self)(bases, self.names)

    family, alpha = Pairs(make_bases(representation, rng)), rng.normal(size=(12, 2))
    grams = [product_gram(base_grams(family.bases), i) for i in family.indices()]
    expected = np.array([3.0, 3.0, 2.0]) * [np.sum(alpha * (gram @ alpha)) for gram in grams]
    field = family.at(alpha)
    np.testing.assert_allclose(field.all(), expected)
    np.testing.assert_allclose(field.mass, expected.sum())
    np.testing.assert_allclose(family.closed(), 3 * grams[0] + 3 * grams[1] + 2 * grams[2])
    assert family.size == family.distinct == 3
    draw = field.draw(50, rng)
    np.testing.assert_allclose(draw.ratios, expected.sum())
    best = pricer(family).top(alpha, 1)
    assert best.indices == [family.indices()[int(np.argmax(expected))]]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("sizes", [None, [2, 1, 1]])
def test_sums_over_all_kernels_are_those_of_the_list(strict, degree, sizes, rng):
    members = Interactions() if strict else Monomials()
    rho = 1.0 + np.arange(degree + 1)
    family = ProductFamily(FeatureBlocks(rng.normal(size=(9, 4)), sizes), degree, members, rho)
    other = family.on(FeatureBlocks(rng.normal(size=(5, 4)), sizes))
    theta, alpha = rng.random(family.distinct), rng.normal(size=(9, 2))
    theta[::3] = 0.0
    truth = family.gram(family.indices(), theta)
    np.testing.assert_allclose(family.gram_of_all(theta), truth, atol=1e-12)
    truth = other.gram(family.indices(), theta, family) @ alpha
    np.testing.assert_allclose(family.expansion_of_all(theta, alpha, other), truth, atol=1e-12)


def test_families_of_the_same_products_share_their_list(rng):
    first, second, other = (
        ProductFamily(FeatureBlocks(rng.normal(size=(rows, 4))), 2, members)
        for rows, members in ((9, Monomials()), (5, Monomials()), (5, Interactions()))
    )
    assert first.indices() is first.indices() is not other.indices()
    kept = first.indices()
    assert second.indices() is kept
