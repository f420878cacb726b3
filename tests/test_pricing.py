import numpy as np
import pytest

from checks import base_grams, make_bases, product_gram
from manykernels import limits as module
from manykernels.bases import FeatureBlocks
from manykernels.families import Interactions, ListFamily, Monomials, ProductFamily, Tuples
from manykernels.families.pricing import pricer
from manykernels.families.pricing.spreads import unit_size

REPRESENTATIONS = ["columns", "blocks", "sparse", "grams"]


def brute_scores(family, alpha, weights):
    """Return the score of every kernel from its matrix."""
    grams = base_grams(family.bases)
    out = {}
    for index, factor in zip(family.indices(), family.weights(family.indices()), strict=True):
        gram = product_gram(grams, index)
        score = factor * np.sum(alpha * (gram @ alpha))
        if weights is not None:
            spread = weights @ gram.diagonal() - weights @ gram @ weights
            score = 0.0 if spread <= 1e-9 * gram.max() else score / spread
        out[index] = score
    return out


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", [Monomials(), Interactions(), Tuples(1.0)])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_top_is_what_enumeration_finds(representation, kind, degree, normalised, rng):
    outputs = 1 + degree % 2
    bases = make_bases(representation, rng, n=9)
    family = ProductFamily(bases, degree, kind, rho=rng.uniform(0.5, 2.0, size=degree + 1))
    alpha = rng.normal(size=(9, outputs))
    weights = rng.dirichlet(np.ones(9)) if normalised else None
    truth = brute_scores(family, alpha, weights)
    ranked = sorted(truth.values(), reverse=True)
    price = pricer(family, weights)
    for count in (1, 7, len(truth) + 5):
        found = price.top(alpha, count)
        best = [score for score in ranked[:count] if score > 0]
        assert len(found.indices) == len(set(found.indices)) == len(best)
        np.testing.assert_allclose(found.scores, best, rtol=1e-8)
        own = [truth[index] for index in found.indices]
        np.testing.assert_allclose(own, found.scores, rtol=1e-8)


def test_only_scores_above_the_threshold_are_returned(rng):
    family = ProductFamily(make_bases("columns", rng), 3)
    alpha = rng.normal(size=(12, 1))
    scores = np.sort(list(brute_scores(family, alpha, None).values()))
    found = pricer(family).top(alpha, 30, above=float(scores[-5]) * (1 + 1e-9))
    np.testing.assert_allclose(found.scores, scores[-1:-5:-1])


def test_nothing_is_found_at_a_dual_point_of_zero(rng):
    family = ProductFamily(make_bases("columns", rng), 2)
    assert pricer(family).top(np.zeros((12, 1)), 5).indices == []


def test_single_precision_finds_the_same_kernels(rng):
    family = ProductFamily(make_bases("columns", rng, n=200, r=12), 3)
    alpha = 1e-30 * rng.normal(size=(200, 1))  # its square is below the range of 32 bits
    weights = np.full(200, 1 / 200)
    rough, fine = (pricer(family, weights, bits).top(alpha, 20) for bits in (32, 64))
    assert rough.indices[:5] == fine.indices[:5]
    np.testing.assert_allclose(rough.scores, fine.scores, rtol=1e-3)


def test_a_list_of_kernels_is_priced(rng):
    family = ListFamily(make_bases("columns", rng), rho=[1.0, 2.0, 3.0, 4.0])
    alpha = rng.normal(size=(12, 1))
    expected = (family.bases.features.T @ alpha)[:, 0] ** 2 / np.array([1.0, 4.0, 9.0, 16.0])
    found = pricer(family).top(alpha, 4)
    np.testing.assert_allclose(found.scores, np.sort(expected)[::-1])


def test_blocks_of_rows_and_spreads_made_anew_change_nothing(rng, monkeypatch):
    family = ProductFamily(make_bases("blocks", rng, n=50, r=4), 3)
    alpha, weights = rng.normal(size=(50, 2)), rng.dirichlet(np.ones(50))
    whole = pricer(family, weights).top(alpha, 10)
    monkeypatch.setattr(module, "CACHED_ROWS", 7)
    monkeypatch.setattr(module, "PAIR_KERNELS", 2)
    monkeypatch.setattr(module, "SPREAD_BYTES", 0)
    parts = pricer(family, weights)
    for _ in range(2):
        again = parts.top(alpha, 10)
        assert again.indices == whole.indices
        np.testing.assert_allclose(again.scores, whole.scores)


def test_a_constant_column_has_no_score(rng):
    bases = make_bases("columns", rng, n=30)
    bases.features[:, 1] = 2.0
    family = ProductFamily(bases, 2)
    found = pricer(family, np.full(30, 1 / 30)).top(rng.normal(size=(30, 1)), 100)
    assert (1,) not in found.indices
    assert (1, 1) not in found.indices
    assert (0, 1) in found.indices


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("kind", [Monomials(), Interactions()])
@pytest.mark.parametrize("block", [2, 256])
def test_pairs_feature_by_feature_are_what_enumeration_finds(
    block, kind, normalised, rng, monkeypatch
):
    monkeypatch.setattr(module, "RUN_KERNELS", 1)
    monkeypatch.setattr(module, "PAIR_KERNELS", block)
    sizes = [3, 1, 2, 3, 1, 2, 2]
    bases = FeatureBlocks(rng.normal(size=(11, sum(sizes))), sizes)
    family = ProductFamily(bases, 2, kind, rho=[1.0, 2.0, 0.5])
    alpha, weights = rng.normal(size=(11, 2)), rng.dirichlet(np.ones(11)) if normalised else None
    truth = brute_scores(family, alpha, weights)
    price = pricer(family, weights)
    assert price.layout.runs is not None
    for count in (3, len(truth) + 5):
        found = price.top(alpha, count)
        best = [score for score in sorted(truth.values(), reverse=True)[:count] if score > 0]
        np.testing.assert_allclose(found.scores, best, rtol=1e-8)
        own = [truth[index] for index in found.indices]
        np.testing.assert_allclose(own, found.scores, rtol=1e-8)


def test_a_pricing_that_is_late_leaves_out_what_it_has_not_looked_at(rng, monkeypatch):
    monkeypatch.setattr(module, "KEPT_SCORES", 0)
    family = ProductFamily(FeatureBlocks(rng.normal(size=(9, 20))), 3)
    alpha, weights = rng.normal(size=(9, 1)), np.full(9, 1 / 9)
    price = pricer(family, weights)
    whole, late = price.top(alpha, family.distinct), price.top(alpha, family.distinct, until=0.0)
    truth = dict(zip(whole.indices, whole.scores.tolist(), strict=True))
    assert 0 < len(late.indices) < len(whole.indices)
    np.testing.assert_allclose(late.scores, [truth[index] for index in late.indices], rtol=1e-8)
    assert np.all(np.diff(late.scores) <= 0)


def test_kernels_of_unit_size_are_not_copied(rng):
    X = rng.normal(size=(50, 4))
    unit = FeatureBlocks(X / np.sqrt(np.mean(X**2, axis=0)))
    weights = np.full(50, 0.02)
    assert unit_size(unit, weights) is unit
    found = unit_size(FeatureBlocks(3 * X), weights)
    np.testing.assert_allclose(found.features, unit.features)
