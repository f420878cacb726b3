"""The counting of the study of true terms, by hand."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))

from _truth_counts import counted, overlap, pairs_of, sure_pairs, term_of, variables  # noqa: E402
from _truth_methods import convex  # noqa: E402
from _truth_tables import SHAPES, Monomials, Smooth, subsets  # noqa: E402


def test_names_become_columns():
    assert term_of("x0^2 * x13") == (0, 0, 13)
    assert term_of("x13 * x2") == (2, 13)
    assert term_of("x0^2 * x3", smooth=True) == (0, 3)


def test_shares_of_single_terms():
    truth = [(0,), (1, 2), (3,), (4,)]
    found = counted([{(0,)}, {(1, 2)}, {(9,)}], truth)
    assert found["reported"] == 3
    assert found["FDP"] == pytest.approx(1 / 3)
    assert found["power"] == 0.5
    assert found["F1"] == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_a_group_is_true_if_it_holds_a_true_term():
    truth = [(0,), (1, 2)]
    found = counted([{(1, 2), (1, 3), (1, 4)}, {(0,), (8,)}, {(5,), (6,)}], truth)
    assert (found["FDP"], found["power"]) == (pytest.approx(1 / 3), 1.0)


def test_nothing_reported_is_not_false():
    assert counted([], [(0,)]) == {"reported": 0, "FDP": 0.0, "power": 0.0, "F1": 0.0}


def test_variables_and_pairs_are_those_that_all_terms_of_a_group_share():
    groups = [{(1, 2), (1, 3)}, {(4, 4, 5)}, {(6,), (7,)}]
    assert variables(groups) == [1, 4, 5]
    assert pairs_of([(0, 1, 2), (3, 3)]) == {(0, 1), (0, 2), (1, 2)}
    assert sure_pairs([{(0, 1, 2), (0, 1, 3)}, {(4, 5), (4,)}]) == {(0, 1)}


def test_overlap_is_of_the_smaller_list():
    one = [{(0,)}, {(1,)}, {(2,), (3,)}]
    two = [{(0,)}, {(3,)}, {(7,)}, {(8,)}]
    assert overlap(one, two) == overlap(two, one) == pytest.approx(2 / 3)
    assert math.isnan(overlap(one[:2], two))


def test_tables_have_the_terms_they_say():
    cell = Monomials(200, 0.5, 1.0)
    table = cell.table(100)
    signal = sum(table.there[:, term].prod(axis=1) for term in table.truth)
    np.testing.assert_allclose(table.signal, signal)
    noise = table.y - sum(table.X[:, term].prod(axis=1) for term in table.truth)
    assert noise.var() == pytest.approx(signal.var(), rel=0.5)


@pytest.mark.parametrize("function", SHAPES)
def test_smooth_functions_depend_on_their_true_columns_alone(function):
    table = Smooth(function).table(100)
    used = sorted({j for term in table.truth for j in term})
    powers = np.column_stack([table.there[:, used] ** k for k in (1, 2, 3)])
    other = [j for j in range(table.there.shape[1]) if j not in used]
    # What no function of the true columns explains does not follow the others either.
    rest = table.signal - powers @ np.linalg.lstsq(powers, table.signal, rcond=None)[0]
    for j in other:
        assert abs(np.corrcoef(rest, table.there[:, j])[0, 1]) < 0.1
    if function == "nested":
        assert all(set(subsets(term)) <= set(table.truth) for term in table.truth)
    if function in ("pairs", "triples"):
        assert len(table.truth) == sum(SHAPES[function])


def test_convex_weights_against_a_grid():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    columns = np.array([y + rng.normal(size=200), 0.5 * y + 0.3 * rng.normal(size=200)])
    weights = convex(columns, y)
    assert weights.sum() == pytest.approx(1.0)
    grid = np.linspace(0, 1, 2001)
    losses = [np.mean((w * columns[0] + (1 - w) * columns[1] - y) ** 2) for w in grid]
    assert weights[0] == pytest.approx(grid[int(np.argmin(losses))], abs=1e-3)
