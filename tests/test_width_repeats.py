"""Sample weights, repeated rows and the order of rows, where widths are learnt."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.bases import WidthRows
from manykernels.families import WidthFamily
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.rows.distinct import distinct
from manykernels.solvers import WidthSearch
from manykernels.solvers.widths.evidence import Setting, WidthEvidence
from manykernels.solvers.widths.search import Stage

SHORT = WidthSearch((Stage(25, 1, 4), Stage(40, 1, 4)), 20)
"""A short search on fewer rows than the tables below have: subsets are drawn, and prices too."""


def drawn(rng, rows=70, values=None):
    """Return rows, continuous or of a few values, real targets and weights from 0 to 3."""
    X = rng.normal(size=(rows, 3)) if values is None else rng.integers(values, size=(rows, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=rows) + 5.3
    if values is not None:
        y = np.round(y)  # rows of the same values, some of them with the same target
    return X.astype(float), y, rng.integers(0, 4, size=rows)


@pytest.mark.parametrize("kernels", ["widths", "both", "best"])
@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_the_check_of_weights(kind, kernels):
    check_sample_weight_equivalence_on_dense_data(kind.__name__, kind(kernels=kernels))


@pytest.mark.parametrize("values", [None, 3])
@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_weights_are_repetitions_and_order_is_nothing_to_the_last_digit(kind, values, rng):
    X, y, weights = drawn(rng, values=values)
    y = (y > np.median(y)) * 1.0 if kind is MKLClassifier else y
    rows = np.repeat(np.arange(len(X)), weights)
    mixed, order = rng.permutation(rows), rng.permutation(len(X))

    def values_of(some, sample_weight=None):
        model = kind(kernels="widths", solver=SHORT, random_state=0)
        model.fit(X[some], y[some], sample_weight)
        return model.function_.decision(X)

    weighted = values_of(np.arange(len(X)), weights)
    assert np.ptp(weighted) > 0.1
    for other in (values_of(order, weights[order]), values_of(rows), values_of(mixed)):
        np.testing.assert_array_equal(other, weighted)


def test_folds_given_by_rows_see_weights_as_repetitions(rng):
    X, y, weights = drawn(rng, 40)
    rows = np.repeat(np.arange(40), weights)
    paths = []
    for own, some, given in ((np.arange(40), np.arange(40), weights), (rows, rows, None)):
        folds = [
            (np.flatnonzero(own % 2 == side), np.flatnonzero(own % 2 != side)) for side in (0, 1)
        ]
        model = MKLRegressorCV(kernels="widths", solver=SHORT, cv=folds, random_state=0)
        paths.append(model.fit(X[some], y[some], given).score_path_)
    np.testing.assert_allclose(*paths, rtol=1e-9)


def test_rows_that_are_all_copied_are_no_more_evidence(rng):
    X, y, _ = drawn(rng)
    model = MKLRegressor(kernels="widths", solver=SHORT, random_state=0)
    once = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(np.tile(X, (4, 1)), np.tile(y, 4)).predict(X), once)
    small = model.fit(X, y, np.full(len(X), 2.0**-10)).predict(X)
    np.testing.assert_array_equal(small, once)


def test_dual_variables_are_those_of_the_rows_given(rng):
    X, y, weights = drawn(rng, 40)
    model = MKLRegressor(kernels="widths", solver=SHORT, random_state=0).fit(X, y, weights)
    rows = np.repeat(np.arange(40), weights)
    again = MKLRegressor(kernels="widths", solver=SHORT, random_state=0).fit(X[rows], y[rows])
    for one, some in ((model, np.arange(40)), (again, rows)):
        values = one.kernel(X, X[some]) @ one.dual_coef_ + one.intercept_
        np.testing.assert_allclose(values, one.predict(X), rtol=1e-6, atol=1e-6)
    assert not model.dual_coef_[weights == 0].any()
    np.testing.assert_allclose(np.bincount(rows, again.dual_coef_), model.dual_coef_, rtol=1e-9)


def test_rows_of_the_same_values_are_one(rng):
    X, y, weights = drawn(rng, 120, values=2)
    found = distinct(X, y[:, None], weights * 0.5)
    table, targets = defaultdict(float), defaultdict(set)
    for row, target, weight in zip(X.tolist(), y.tolist(), weights * 0.5, strict=True):
        if weight > 0:
            table[(*row, target)] += weight
            targets[tuple(row)].add(target)
    keys = [(*X[i].tolist(), float(y[i])) for i in found.first]
    assert sorted(table) == sorted(keys) != keys
    assert [table[key] for key in keys] == found.weights.tolist()
    assert found.weights.mean() > 1
    copies = [max(table[key] - 1, 0) if len(targets[key[:-1]]) > 1 else 0 for key in keys]
    assert found.copies.tolist() == copies
    assert sum(copies) > 10
    for row, (owner, share) in enumerate(zip(found.owners, found.shares, strict=True)):
        assert share == weights[row] * 0.5 / found.weights[owner]
        if share:
            assert (*X[row], y[row]) == keys[owner]
    some = found.take(np.array([4, 1]))
    inside = np.isin(found.owners, [4, 1]) & (found.shares > 0)
    assert np.array_equal(some.shares > 0, inside)
    assert np.array_equal(some.first[some.owners[inside]], found.first[found.owners[inside]])


def test_evidence_of_copies_is_that_of_a_normal_law_on_all_of_them(rng):
    """Of seen noise: rows of the same values with targets that differ, all of them repeated."""
    X = np.repeat(rng.normal(size=(6, 2)), 2, axis=0)
    y, counts = rng.normal(size=(12, 1)), rng.integers(1, 5, size=12)
    rows = np.repeat(np.arange(12), counts)
    family, kernel = WidthFamily(WidthRows(X)), ("gaussian", (0, 1), (0.4, 0.2))
    task = Problem(y, counts / counts.sum(), Squared(), 1.0, 1.0, True, counts - 1.0)
    evidence = WidthEvidence(task, family, [kernel], np.float64)
    gram = WidthRows(X[rows]).kernel(kernel)
    target = (y - counts @ y / counts.sum())[rows, 0]

    def truth(noise):
        """Return minus the logarithm of the density per row at the best size."""
        each = (
            noise * counts.mean()
        )  # the noise of a row of mean weight is that of its copies' mean
        law = gram + each * np.eye(len(rows))
        size = target @ np.linalg.solve(law, target) / len(rows)
        return -multivariate_normal(cov=size * law).logpdf(target) / len(rows)

    def found(noise):
        return evidence(Setting(np.ones(1), evidence.start, noise))

    assert found(0.3)[0] - found(0.05)[0] == pytest.approx(truth(0.3) - truth(0.05), rel=1e-9)
    rise = (found(0.3 * np.exp(1e-5))[0] - found(0.3 * np.exp(-1e-5))[0]) / 2e-5
    assert found(0.3)[1].noise == pytest.approx(rise, rel=1e-6)


@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_the_strength_in_use_is_known(kind, rng):
    X, y, _ = drawn(rng, 60)
    y = (y > 5) * 1.0 if kind is MKLClassifier else y
    options = {"random_state": 0, "kernels": "widths", "solver": SHORT}
    found = kind(**options).fit(X, y)
    assert 0 < found.alpha_ < 1
    given = kind(**options, alpha=found.alpha_).fit(X, y)
    assert given.alpha_ == found.alpha_
    np.testing.assert_allclose(given.function_.decision(X), found.function_.decision(X), rtol=1e-9)
    assert kind(**options, alpha=0.3).fit(X, y).alpha_ == 0.3
    plain = kind(degree=1).fit(X, y)
    assert plain.alpha_ == 1e-3
    assert not hasattr(plain.set_params(solver="greedy").fit(X, y), "alpha_")
