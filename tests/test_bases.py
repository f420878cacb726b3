import numpy as np
import pytest

from checks import base_grams, make_bases, product_gram
from manykernels.bases import CrossBlocks, FeatureBlocks, GramStack

REPRESENTATIONS = ["columns", "blocks", "sparse", "gram"]
ALL = pytest.mark.parametrize("representation", REPRESENTATIONS)


def prefix(bases, alpha, index):
    state = bases.start(alpha)
    for j in index:
        state = bases.extend(state, j)
    return state


@ALL
def test_masses_are_sums_over_the_matrices(representation, rng):
    bases = make_bases(representation, rng)
    grams = base_grams(bases)
    alpha = rng.normal(size=(12, 2))
    for index in [(), (2,), (0, 3)]:
        state = prefix(bases, alpha, index)
        M = alpha @ alpha.T * product_gram(grams, index)
        pairs = np.einsum("st,ist,jst->ij", M, grams, grams)
        assert bases.total(state) == pytest.approx(M.sum())
        np.testing.assert_allclose(bases.singles(state), np.einsum("st,jst->j", M, grams))
        off, diagonal = bases.pair_sums(state, [1])
        np.testing.assert_allclose(diagonal, np.diag(pairs))
        expected = [sum(pairs[j, i] for i in range(4) if i not in (1, j)) for j in range(4)]
        np.testing.assert_allclose(off, expected, atol=1e-10 * pairs.max())
        for strict in (False, True):
            flat = [pairs[i, j] for i in range(1, 4) for j in range(i + strict, 4)]
            np.testing.assert_allclose(bases.pairs(state, 1, strict), flat)


@ALL
def test_contract_sums_powers_against_weights(representation, rng):
    bases = make_bases(representation, rng)
    grams = base_grams(bases)
    alpha = rng.normal(size=(12, 2))
    weights = [w + w.T for w in rng.normal(size=(3, 12, 12))]
    M = alpha @ alpha.T * grams[1]
    state = prefix(bases, alpha, (1,))
    expected = [[np.sum(M * gram**p * w) for p, w in enumerate(weights, 1)] for gram in grams]
    np.testing.assert_allclose(bases.contract(state, weights, slice(0, 12)), expected)
    parts = [
        bases.contract(state, [w[rows] for w in weights], rows)
        for rows in (slice(0, 5), slice(5, 12))
    ]
    np.testing.assert_allclose(sum(parts), expected)


@ALL
def test_cross_kernels(representation, rng):
    bases = make_bases(representation, rng)
    grams = base_grams(bases)
    cross = bases.cross_rows(slice(2, 7))
    assert cross.shape == (5, 12)
    for j in range(bases.count):
        np.testing.assert_allclose(cross.kernel(j), grams[j][2:7])
    for k in (1, 2, 3):
        np.testing.assert_allclose(cross.power_sum(k), np.sum(grams**k, axis=0)[2:7])


@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse"])
def test_features_of_products(representation, rng):
    bases = make_bases(representation, rng)
    grams = base_grams(bases)
    indices = [(0, 0, 2), (), (3,), (1, 2)]
    columns, owners = bases.products(indices)
    for position, index in enumerate(indices):
        own = columns[:, owners == position]
        np.testing.assert_allclose(own @ own.T, product_gram(grams, index), atol=1e-12)
    assert bases.products([])[0].shape == (12, 0)


def test_pair_tables_are_made_in_row_blocks(monkeypatch, rng):
    bases = FeatureBlocks(rng.normal(size=(10, 9)), [2, 1, 3, 1, 2])
    alpha = rng.normal(size=(10, 1))
    whole = bases.pair_sums(alpha, []), bases.pairs(alpha, 1, False)
    monkeypatch.setattr("manykernels.bases.features.PAIR_ENTRIES", 20)
    parts = bases.pair_sums(alpha, []), bases.pairs(alpha, 1, False)
    np.testing.assert_allclose(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1])


def test_cross_blocks_between_two_sets_of_rows(rng):
    left, right = FeatureBlocks(rng.normal(size=(4, 3))), FeatureBlocks(rng.normal(size=(6, 3)))
    cross = CrossBlocks(left, right)
    assert cross.shape == (4, 6)
    expected = np.outer(left.features[:, 1], right.features[:, 1])
    np.testing.assert_allclose(cross.kernel(1), expected)


def test_sizes_must_add_up():
    with pytest.raises(ValueError, match="sizes must add up to the number of columns, 3; got 4"):
        FeatureBlocks(np.ones((2, 3)), [2, 2])


def test_gram_stack_of_new_rows_keeps_its_shape(rng):
    stack = GramStack(rng.normal(size=(2, 3, 5)))
    assert stack.shape == (3, 5)
    np.testing.assert_allclose(stack.product((0, 1)), stack.grams[0] * stack.grams[1])


@pytest.mark.parametrize("budget", [None, 1, 400], ids=["whole", "rows", "blocks"])
def test_weighted_sums_of_gram_products(budget, rng, monkeypatch):
    """Of any indices, sorted or not, repeated or not, also between different rows."""
    if budget is not None:
        monkeypatch.setattr("manykernels.bases.grams.HOST_BLOCK_BYTES", budget)
    indices = [(), (3,), (0, 0), (0, 1), (1, 0), (2, 3), (0, 1, 2), (0, 0, 0), (3, 1, 0), (0, 1)]
    indices += [(1, 1, 2, 3), (0, 3, 3), (1, 1, 0, 0), (), (2,)]
    for shape in ((7, 7), (5, 9)):
        stack = GramStack(rng.normal(size=(4, *shape)))
        weights = rng.normal(size=len(indices))
        expected = sum(
            weight * product_gram(stack.grams, index)
            for index, weight in zip(indices, weights, strict=True)
        )
        np.testing.assert_allclose(stack.weighted_sum(indices, weights), expected, atol=1e-10)
        np.testing.assert_array_equal(stack.weighted_sum([], np.zeros(0)), np.zeros(shape))


@pytest.mark.parametrize("budget", [None, 1, 400], ids=["whole", "rows", "blocks"])
def test_pairs_of_gram_kernels_in_row_blocks(budget, rng, monkeypatch):
    if budget is not None:
        monkeypatch.setattr("manykernels.bases.grams.HOST_BLOCK_BYTES", budget)
    bases = make_bases("gram", rng)
    state = prefix(bases, rng.normal(size=(12, 2)), (1,))
    table = np.einsum("st,ist,jst->ij", state, bases.grams, bases.grams)
    for first in range(4):
        for strict in (False, True):
            flat = [table[i, j] for i in range(first, 4) for j in range(i + strict, 4)]
            np.testing.assert_allclose(bases.pairs(state, first, strict), flat, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 3])
def test_products_of_matrices_times_vectors(outputs, rng):
    grams, vectors = rng.normal(size=(3, 6, 6)), rng.normal(size=(6, outputs))
    products = [(), (0,), (2,), (0, 0), (0, 1), (1, 1), (0, 1, 2), (0, 1, 1)]
    found = list(GramStack(grams).applied(products, vectors))
    for product, values in zip(products, found, strict=True):
        whole = np.prod([np.ones((6, 6)), *(grams[j] for j in product)], axis=0)
        np.testing.assert_allclose(values, whole @ vectors, atol=1e-12)
