"""Partial tests, aggregation over splits, error control and groups against truths made apart."""

import numpy as np
import pytest
from scipy import optimize, stats

from checks import closed_tests
from manykernels.how_sure import Group
from manykernels.selection.groups import correlations, in_groups
from manykernels.selection.partial_tests import (
    chance_bound,
    false_discovery_rate,
    family_wise,
    one_by_one,
    partial_p_values,
    shares_of_error,
    step_down,
    twice_median,
)

UNIFORM = 0.001
"""Least p-value of a Kolmogorov-Smirnov test by which values count as uniform."""


def drawn(seed, n=60):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) + 1
    owners = np.array([0, 0, 1, 2, 2, -1])
    weights = rng.uniform(0.5, 2, size=n)
    return rng, columns, owners, weights / weights.sum()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [60, 8])
def test_f_test_against_two_least_squares_fits(intercept, n):
    rng, columns, owners, weights = drawn(0, n)
    y = columns @ [0.3, 0, 0, 0.2, -0.4, 1] + rng.normal(size=n)
    found = partial_p_values(y[:, None], columns, owners, 3, weights, intercept=intercept)
    root = np.sqrt(weights)

    def squares(A):
        A = np.column_stack([A, np.ones(n)]) if intercept else A
        return np.sum((root * (y - A @ np.linalg.lstsq(A * root[:, None], root * y)[0])) ** 2)

    left = n - 6 - intercept
    for number, k in enumerate((2, 1, 2)):
        full, without = squares(columns), squares(columns[:, owners != number])
        F = (without - full) / k / (full / left)
        assert found[number] == pytest.approx(stats.f.sf(F, k, left), rel=1e-6)


def test_likelihood_ratio_test_against_a_general_optimiser():
    rng, columns, owners, _ = drawn(1, 200)
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-columns @ [0.2, 0, 0, 0, -0.1, 0.1])), 1, -1)
    weights = np.full(200, 1 / 200)
    found = partial_p_values(y[:, None].astype(float), columns, owners, 3, weights, labelled=True)

    def deviance(A):
        A = np.column_stack([A, np.ones(200)])
        best = optimize.minimize(
            lambda b: 2 * np.logaddexp(0, -y * (A @ b)).sum(), np.zeros(A.shape[1]), tol=1e-10
        )
        return best.fun

    for number, k in enumerate((2, 1, 2)):
        gain = deviance(columns[:, owners != number]) - deviance(columns)
        assert found[number] == pytest.approx(stats.chi2.sf(gain, k), rel=1e-3)


def test_several_outputs_count_by_the_smallest_p_value():
    rng, columns, owners, weights = drawn(2)
    y = rng.normal(size=(60, 3))
    each = [partial_p_values(y[:, [c]], columns, owners, 3, weights) for c in range(3)]
    together = partial_p_values(y, columns, owners, 3, weights)
    np.testing.assert_allclose(together, np.minimum(1, 3 * np.min(each, axis=0)), rtol=1e-8)


def test_p_values_are_uniform_where_nothing_is():
    _, columns, owners, _ = drawn(3, 40)
    weights = np.full(40, 1 / 40)
    noise = np.random.default_rng(4).normal(size=(300, 40, 1))
    found = np.array([partial_p_values(y, columns, owners, 3, weights) for y in noise])
    for number in range(3):
        assert stats.kstest(found[:, number], "uniform").pvalue > UNIFORM


def test_columns_that_add_nothing_have_p_value_one():
    rng, columns, _, weights = drawn(5)
    columns = np.column_stack([columns[:, :2], columns[:, 0] + columns[:, 1]])
    found = partial_p_values(rng.normal(size=(60, 1)), columns, np.array([-1, -1, 0]), 1, weights)
    assert found.tolist() == [1.0]
    exact = partial_p_values(columns[:, :1], columns[:, :2], np.array([0, 1]), 2, weights)
    assert exact[0] < 1e-50


def test_twice_the_median_by_hand():
    p_values = np.array([[0.01, 0.2, 1.0], [0.02, 1.0, 0.01], [0.04, 0.3, 1.0], [0.9, 1.0, 0.01]])
    np.testing.assert_allclose(twice_median(p_values), [0.08, 1.0, 1.0])
    np.testing.assert_allclose(twice_median(p_values[:3]), [0.04, 0.6, 1.0])
    np.testing.assert_allclose(twice_median(p_values[:1]), [0.02, 0.4, 1.0])


def test_twice_the_median_is_a_p_value_whatever_the_dependence():
    rng = np.random.default_rng(6)
    shared = rng.normal(size=(1, 4000))
    p_values = stats.norm.sf(np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=(20, 4000)))
    found = twice_median(p_values)
    for level in (0.05, 0.1, 0.2):
        assert np.mean(found <= level) <= level


@pytest.mark.parametrize("seed", range(5))
def test_steps_down_are_the_closed_test_of_all_intersections(seed):
    p_values = np.random.default_rng(seed).beta(0.3, 3, size=7)
    np.testing.assert_allclose(step_down(p_values), closed_tests(p_values), rtol=1e-12)
    assert np.all(step_down(p_values) <= one_by_one(p_values) * (1 + 1e-12))


def test_adjusted_p_values_by_hand():
    np.testing.assert_allclose(shares_of_error(3), np.array([6, 3, 2]) / 11)
    np.testing.assert_allclose(one_by_one(np.array([0.01, 0.03])), [0.015, 0.09])
    np.testing.assert_allclose(step_down(np.array([0.01, 0.03])), [0.015, 0.03])
    assert step_down(np.array([0.9, 0.9])).tolist() == [1.0, 1.0]


def test_adjusted_p_values_keep_their_promises():
    rng = np.random.default_rng(0)
    # The first and third hypotheses are false; the others depend on each other.
    draws, level = 4000, 0.1
    common = rng.normal(size=(draws, 1))
    z = np.sqrt(0.5) * (common + rng.normal(size=(draws, 6)))
    z[:, [0, 2]] += 4
    p_values = stats.norm.sf(z)
    true = [1, 3, 4, 5]
    any_ = np.mean([step_down(p)[true].min() <= level for p in p_values])
    count = np.mean([(one_by_one(p)[true] <= level).sum() for p in p_values])
    slack = 3 * np.sqrt(level / draws)
    assert any_ <= level + slack
    assert count <= level + slack


def test_rejections_by_hand():
    p_values = np.array([0.5, 0.02, 0.11, 0.09, 1.0])
    assert family_wise(p_values, 0.1).tolist() == [False, True, False, True, False]
    # Levels 0.1 i / (1 + 1/2 + 1/3 + 1/4): 0.048, 0.096, 0.144, 0.192, 0.192.
    assert false_discovery_rate(p_values, 0.1, 4).tolist() == [False, True, True, True, False]
    assert false_discovery_rate(p_values[[0, 4]], 0.1, 4).tolist() == [False, False]
    # However many there are, one that no split makes anything of is not rejected.
    assert not false_discovery_rate(np.ones(1000), 0.1, 1000).any()
    assert false_discovery_rate(np.empty(0), 0.1, 4).tolist() == []


def test_false_discovery_rate_is_kept():
    rng, shares = np.random.default_rng(7), []
    for _ in range(300):
        p_values = rng.random(40) * 40  # multiplied by the number of terms
        p_values[:8] = 40 * stats.norm.sf(rng.normal(3.5, 1, size=8))
        found = false_discovery_rate(np.minimum(1, p_values), 0.2, 40)
        shares.append(found[8:].sum() / max(1, found.sum()))
    assert np.mean(shares) <= 0.2


def test_bound_by_hand():
    assert chance_bound(20, 0.6, 176_851) == pytest.approx(0.0113, abs=1e-4)
    assert chance_bound(10, 0.75, 200) == pytest.approx(1.0)


def test_correlations_of_single_features_and_of_kernels():
    rng = np.random.default_rng(8)
    weights = np.full(50, 1 / 50)
    single = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    found = correlations(list(np.hsplit(single, 3)), weights)
    np.testing.assert_allclose(found, np.abs(np.corrcoef(single.T)), rtol=1e-10)
    blocks = [rng.normal(size=(50, m)) for m in (2, 1, 4)]
    centring = np.eye(50) - 1 / 50
    grams = [centring @ block @ block.T @ centring for block in blocks]
    truth = [
        [np.sqrt(np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)) for L in grams]
        for K in grams
    ]
    np.testing.assert_allclose(correlations(blocks, weights), truth, rtol=1e-10)
    assert correlations([], weights).shape == (0, 0)
    flat = correlations([np.ones((50, 1)), single[:, :1]], weights)
    np.testing.assert_allclose(flat, np.eye(2), atol=1e-6)


def test_groups_have_a_middle_and_no_chains():
    # Five terms in a row, each like its neighbours; those next to the third are chosen most.
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    chosen = [[1], [2], [2], [3], [0, 4]]
    selected = np.array([[term in terms for term in range(5)] for terms in chosen])
    assert in_groups(0.9**distance, selected, 0.9) == [[2, 1, 3], [0], [4]]
    assert in_groups(0.9**distance, selected, 1.01) == [[0], [1], [2], [3], [4]]
    assert in_groups(np.empty((0, 0)), np.empty((4, 0), dtype=bool), 0.9) == []


@pytest.mark.parametrize("seed", range(3))
def test_every_term_is_in_one_group_near_its_first(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 25))
    alike = correlations(list(np.hsplit(features, 25)), np.full(30, 1 / 30))
    groups = in_groups(alike, rng.random((8, 25)) < 0.3, 0.8)
    assert sorted(term for group in groups for term in group) == list(range(25))
    for first, *others in groups:
        assert (alike[first, others] >= 0.8).all()


def test_a_group_in_words():
    assert str(Group(("a",), (1.0,), 1.0)) == "a"
    assert str(Group(("a", "b"), (1.0, 0.9), 1.0)) == "a or b"
    assert str(Group(tuple("abcde"), (1.0,) * 5, 1.0)) == "a or one of 4 like it"


@pytest.mark.parametrize("labelled", [True, False])
def test_features_of_other_outputs_are_not_in_a_test(labelled):
    rng, columns, owners, weights = drawn(4, 80)
    weights = np.full(80, 1 / 80) if labelled else weights
    y = columns[:, [0, 3]] + rng.normal(size=(80, 2))
    y = np.where(y > y.mean(axis=0), 1.0, -1.0) if labelled else y
    outputs = np.array([0, 1, -1, 0, 1, -1])
    found = partial_p_values(y, columns, owners, 3, weights, labelled, outputs=outputs)
    each = []
    for output in range(2):
        used = (outputs < 0) | (outputs == output)
        alone = y[:, [output]], columns[:, used], owners[used]
        each.append(partial_p_values(*alone, 3, weights, labelled))
    assert found == pytest.approx(np.minimum(1, 2 * np.min(each, axis=0)))
