"""Stability selection and split tests: what they find, report and refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import closed_tests
from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.baselines import LpNormMKL
from manykernels.notices import InterruptedWarning
from manykernels.selection import SplitTest, StabilitySelection, sources
from manykernels.selection import base as selection_base
from manykernels.selection.sources import PathTerms, Picked, Picks


def planted(seed, n=200, r=10, correlation=None):
    """x1 * x2 and x5 with noise; with a correlation x3 is a likeness of x2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, r))
    if correlation is not None:
        X[:, 3] = correlation * X[:, 2] + np.sqrt(1 - correlation**2) * X[:, 3]
    return X, X[:, 1] * X[:, 2] + X[:, 5] + 0.5 * rng.normal(size=n)


BOTH = [
    SplitTest(MKLRegressor(alpha=1e-3, degree=2), n_splits=10, random_state=0),
    StabilitySelection(MKLRegressor(alpha=1e-3, degree=2), n_pairs=10, random_state=0),
]


@pytest.mark.parametrize("selection", BOTH, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    "estimator",
    [
        MKLRegressor(alpha=1e-3, degree=2),
        MKLRegressor(alpha=1e-3, degree=2, p=1),
        MKLRegressor(degree=2, solver="greedy"),
        MKLRegressorCV(degree=[1, 2], solver="greedy"),
        MKLRegressor(alpha=1e-3, degree=2, loss="huber"),
    ],
    ids=str,
)
def test_a_planted_function_is_found(selection, estimator):
    X, y = planted(0)
    found = clone(selection).set_params(estimator=estimator).fit(X, y)
    assert set(found.selected_) == {"x1 * x2", "x5"}
    table = found.table_
    tested = ["p_value"] if isinstance(found, SplitTest) else []
    assert list(table) == ["term", "frequency", *tested, "group", "correlation", "sure"]
    assert set(table.loc[table["sure"], "term"]) == {"x1 * x2", "x5"}
    assert table["frequency"].between(0, 1).all()
    assert found.n_terms_ == 65
    assert table["term"].is_unique


@pytest.mark.parametrize("selection", BOTH, ids=lambda s: type(s).__name__)
def test_terms_that_go_together_are_one_group(selection):
    X, y = planted(1, correlation=0.95)
    found = clone(selection).fit(X, y)
    group = next(g for g in found.groups_ if "x1 * x2" in g.terms)
    truth = abs(np.corrcoef(*(standard(X)[:, 1] * standard(X)[:, j] for j in (2, 3)))[0, 1])
    assert set(group.terms) == {"x1 * x2", "x1 * x3"}
    assert group.sure
    assert group.correlations == pytest.approx((1.0, truth))
    assert any(" or " in name for name in found.selected_)
    rows = found.table_[found.table_["term"].isin(group.terms)]
    assert len(set(rows["group"])) == 1
    # The group does not lose what its terms share: it is selected wherever one of them is.
    assert group.frequency >= rows["frequency"].max()
    alone = clone(selection).set_params(correlation=1.01).fit(X, y)
    assert all(len(g.terms) == 1 for g in alone.groups_)


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_p_values_of_one_split_against_least_squares():
    X, y = planted(2, n=120)
    test = SplitTest(MKLRegressor(alpha=1e-3, degree=2), n_splits=1, q=4, random_state=3).fit(X, y)
    spec, source, kept = test._ready(X, y, None)
    ((first, rows, seed),) = test._splits(spec, source, kept)
    terms = [term.name for term in source.pick(first, 4, seed).terms]
    assert set(terms) == set(test.table_["term"][test.table_["frequency"] > 0])
    Z = standard(X)

    def column(name):
        out = np.ones(len(rows))
        for factor in name.split(" * "):
            variable, _, power = factor.partition("^")
            out *= Z[rows, int(variable[1:])] ** int(power or 1)
        return out

    def squares(names):
        A = np.column_stack([np.ones(len(rows)), *map(column, names)])
        return np.linalg.lstsq(A, y[rows], rcond=None)[1][0]

    left = len(rows) - 5
    without = np.array([squares([t for t in terms if t != name]) for name in terms])
    F = (without - squares(terms)) / (squares(terms) / left)
    p_values = np.minimum(1.0, 2 * closed_tests(stats.f.sf(F, 1, left)))
    found = test.table_.set_index("term").loc[terms, "p_value"]
    np.testing.assert_allclose(found, p_values, rtol=1e-6)


def test_noise_has_hardly_a_sure_term():
    wrong = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 8)), rng.normal(size=120)
        wrong += bool(
            SplitTest(MKLRegressor(alpha=1e-3, degree=3), n_splits=8, random_state=0)
            .fit(X, y)
            .selected_
        )
    # With a chance of at most 0.1 each, more than four of 12 have one of 0.004.
    assert wrong <= 4


def test_both_kinds_of_control():
    X, y = planted(3)
    found = SplitTest(
        MKLRegressor(alpha=1e-3, degree=2),
        n_splits=10,
        control="false-discovery-rate",
        random_state=0,
    ).fit(X, y)
    assert set(found.selected_) == {"x1 * x2", "x5"}
    assert found.meaning_.startswith("On average 10 % of the sure terms")
    assert "proxy" in found.meaning_


def test_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    f = 2.5 * X[:, 0] * X[:, 3] + 2 * X[:, 5]
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-f)), "yes", "no")
    model = MKLClassifier(alpha=1e-3, degree=2, loss="logistic")
    test = SplitTest(model, n_splits=8, random_state=0).fit(X, y)
    assert set(test.selected_) == {"x0 * x3", "x5"}
    stable = StabilitySelection(model, n_pairs=6, random_state=0).fit(X, y, np.ones(400))
    assert set(stable.selected_) == {"x0 * x3", "x5"}
    with pytest.raises(ValueError, match="sample_weight must be the same for all rows"):
        SplitTest(model).fit(X, y, rng.random(400))


def test_three_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 1] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
    test = SplitTest(
        MKLClassifier(alpha=1e-3, degree=1, loss="logistic"), n_splits=5, random_state=0
    ).fit(X, y)
    assert test.selected_ == ["x1"]


def test_few_events_leave_few_terms():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 5))
    y = np.arange(200) < 12  # four of the rarer class to test on: not one feature
    with pytest.warns(UserWarning, match="No term could be tested"):
        test = SplitTest(MKLClassifier(alpha=1e-3, degree=1), n_splits=3, random_state=0).fit(X, y)
    assert test.selected_ == []
    assert len(test.table_) == 0


def test_spline_terms():
    X, y = make_friedman1(250, 6, noise=1.0, random_state=0)
    test = SplitTest(
        MKLRegressor(alpha=1e-3, p=4 / 3, kernels="auto", degree=2), n_splits=5, random_state=0
    ).fit(X, y)
    assert set(test.selected_) == {"x0", "x1", "x0 * x1", "x2", "x3", "x4"}
    assert test.n_terms_ == 6 + 15


def test_components_of_width_models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 4))
    y = np.sin(3 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=150)
    test = SplitTest(MKLRegressor(kernels="widths", alpha=1e-2), n_splits=6, random_state=0)
    assert {"x0", "x1 * x2"} == set(test.fit(X, y).selected_)
    stable = StabilitySelection(test.estimator, q=4, n_pairs=2, random_state=0).fit(X, y)
    assert {"x0", "x1 * x2"} <= set(stable.selected_)
    assert stable.n_terms_ == 4 + 6 + 4


def test_names_of_a_table_and_sparse_rows():
    X, y = planted(4)
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    test = SplitTest(MKLRegressor(alpha=1e-3, degree=2), n_splits=6, random_state=0).fit(frame, y)
    assert set(test.selected_) == {"b * c", "f"}
    assert test.feature_names_in_.tolist() == list("abcdefghij")
    assert test.n_features_in_ == 10
    assert not hasattr(test.estimator, "n_features_in_")
    model = MKLRegressor(alpha=1e-3, degree=2, standardize="scale")
    test.set_params(estimator=model).fit(sparse.csr_array(X), y)
    assert set(test.selected_) == {"x1 * x2", "x5"}
    assert not hasattr(test, "feature_names_in_")


def test_rows_of_no_weight_do_not_count():
    X, y = planted(5)
    wild = np.vstack([X, 100 * X[:50]]), np.concatenate([y, 1e3 * y[:50]])
    weights = np.repeat([2.0, 0.0], [200, 50])
    test = SplitTest(
        MKLRegressor(alpha=1e-3, degree=2, standardize=False), n_splits=5, random_state=0
    )
    expected = clone(test).fit(X, y).table_
    pd.testing.assert_frame_equal(test.fit(*wild, weights).table_, expected)


def test_same_result_in_parallel_and_again():
    from joblib import parallel_backend

    X, y = planted(6)
    for selection in BOTH:
        expected = clone(selection).fit(X, y).table_
        with parallel_backend("threading", n_jobs=2):
            found = clone(selection).set_params(n_jobs=2).fit(X, y)
        pd.testing.assert_frame_equal(found.table_, expected)


def test_parameters_are_kept():
    for selection in BOTH:
        twin = clone(selection)
        assert twin.get_params(deep=False).keys() == selection.get_params(deep=False).keys()
        assert twin.get_params()["estimator__degree"] == 2
        assert twin.estimator is not selection.estimator
        with pytest.raises(AttributeError):
            twin.get_feature_names_out()


@parametrize_with_checks(
    [
        SplitTest(MKLRegressor(alpha=1e-3, degree=1), n_splits=2),
        StabilitySelection(MKLRegressor(alpha=1e-3, degree=1), n_pairs=2),
        StabilitySelection(MKLClassifier(alpha=1e-3, degree=1), n_pairs=2),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No term could be tested")
        check(estimator)


def interrupting(monkeypatch, after):
    done, pick = [], PathTerms.pick

    def interrupted(self, *arguments):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(1)
        return pick(self, *arguments)

    monkeypatch.setattr(PathTerms, "pick", interrupted)


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    X, y = planted(7)
    interrupting(monkeypatch, after=5)
    with pytest.warns(InterruptedWarning, match="rests on 5 of 10 splits"):
        test = clone(BOTH[0]).fit(X, y)
    assert test.n_splits_ == 5
    assert set(test.selected_) == {"x1 * x2", "x5"}


def test_ctrl_c_in_half_a_pair_and_at_once(monkeypatch):
    X, y = planted(7)
    interrupting(monkeypatch, after=5)
    with pytest.warns(InterruptedWarning, match="rests on 2 of 10 pairs"):
        assert clone(BOTH[1]).fit(X, y).n_pairs_ == 2
    with pytest.raises(KeyboardInterrupt):
        clone(BOTH[1]).fit(X, y)


def test_time_that_is_over_ends_it():
    X, y = planted(8)
    with pytest.warns(InterruptedWarning, match=r"Stopped by max_time=0: .* 1 of 10 splits"):
        assert clone(BOTH[0]).set_params(max_time=0).fit(X, y).n_splits_ == 1


def test_progress_is_shown(capsys):
    X, y = planted(9)
    clone(BOTH[0]).set_params(estimator__verbose=2, n_splits=3).fit(X, y)
    assert "3 of 3 splits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("selection", "error", "words"),
    [
        (SplitTest(LpNormMKL()), TypeError, "estimator must be MKLRegressor"),
        (
            SplitTest(MKLRegressor(alpha=1e-3, kernels="rbf")),
            ValueError,
            "kernels must have features",
        ),
        (SplitTest(MKLRegressor(alpha=-1)), ValueError, "alpha must be a positive number"),
        (SplitTest(MKLRegressor(alpha=1e-3), level=0), ValueError, "level must be a number"),
        (
            SplitTest(MKLRegressor(alpha=1e-3), n_splits=0),
            ValueError,
            "n_splits must be an integer >= 1",
        ),
        (
            SplitTest(MKLRegressor(alpha=1e-3), control="none"),
            ValueError,
            "control must be 'family-wise'",
        ),
        (
            SplitTest(MKLRegressor(alpha=1e-3), share=1.0),
            ValueError,
            "share must be a number from 0.1",
        ),
        (SplitTest(MKLRegressor(alpha=1e-3), q=2.5), ValueError, "q must be an integer >= 1"),
        (
            StabilitySelection(MKLRegressor(alpha=1e-3), threshold=0.5),
            ValueError,
            "threshold must be",
        ),
        (StabilitySelection(MKLRegressor(alpha=1e-3), n_pairs=True), ValueError, "n_pairs must be"),
    ],
    ids=str,
)
def test_refusals(selection, error, words):
    X, y = planted(0, n=30, r=7)
    with pytest.raises(error, match=words):
        selection.fit(X, y)


class ByChance:
    """Draws q of 60 terms, whatever the rows."""

    count = 60.0

    def __init__(self, prepared, seed):
        self.prepared, self.rng = prepared, np.random.default_rng(seed)

    def pick(self, rows, q, seed):
        drawn = self.rng.choice(60, q, replace=False)
        return Picks([Picked(f"t{i}", (i,)) for i in drawn.tolist()], np.empty((20, 0)))

    def features(self, terms, most, rows):
        noise = np.random.default_rng(0).normal(size=(60, 20))
        return [noise[term.kernels[0]][rows, None] for term in terms]

    def correlations(self, terms):
        return np.eye(len(terms))

    def likes(self, term, limit):
        return []


def test_bound_on_terms_that_come_by_chance(monkeypatch):
    counts, rng = [], np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    for seed in range(20):
        monkeypatch.setattr(
            selection_base, "source_of", lambda spec, prepared, s=seed: ByChance(prepared, s)
        )
        stable = StabilitySelection(MKLRegressor(alpha=1e-3), q=12, n_pairs=2, correlation=1.01)
        counts.append(len(stable.fit(X, y).selected_))
    assert stable.bound_ == pytest.approx(12**2 / (0.2 * 60))
    # Three of four halves must draw a term; each of 60 is drawn with probability one fifth.
    assert np.mean(counts) == pytest.approx(60 * stats.binom.sf(2, 4, 0.2), abs=1.0)
    assert np.mean(counts) <= stable.bound_
    assert "proxies" in stable.meaning_


def test_default_number_of_terms_keeps_the_bound_at_one():
    X, y = planted(0, n=40)
    stable = StabilitySelection(MKLRegressor(alpha=1e-3, degree=2), n_pairs=1, random_state=0).fit(
        X, y
    )
    assert stable.bound_ <= 1 < stable.bound_ * ((stable.q_ + 1) / stable.q_) ** 2


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_cuts_keep_the_shares_of_classes(share):
    strata, rng = np.repeat([0, 1, 2], [50, 31, 4]), np.random.default_rng(0)
    for _ in range(20):
        one, two = selection_base.cut(strata, share, rng)
        assert sorted([*one, *two]) == list(range(85))
        assert abs(len(one) - share * 85) < 1
        counts = np.bincount(strata[one], minlength=3)
        assert (np.abs(counts - share * np.array([50, 31, 4])) <= 1.5).all()


def test_which_path_selects():
    def path(estimator):
        X, y = planted(0, n=30, r=6)
        source = SplitTest(estimator)._ready(X, y, None)[1]
        return "greedy" if source.spec.greedy is not None else source.spec.exponents

    assert path(MKLRegressor(alpha=1e-3)) == "greedy"  # p = 4/3 selects nothing
    assert path(MKLRegressor(alpha=1e-3, p=1)) == (1.0,)
    assert path(MKLRegressor(alpha=1e-3, p=4 / 3, kernels="auto")) == (1.0,)
    assert path(MKLRegressorCV(kernels="auto", solver="greedy")) == "greedy"
    assert path(MKLRegressor(alpha=1e-3, loss="epsilon_insensitive")) == (1.0,)


def test_first_feature_of_a_smooth_term_is_its_part_of_the_model(monkeypatch):
    X, y = make_friedman1(100, 5, noise=1.0, random_state=0)
    _, source, *_ = SplitTest(MKLRegressor(alpha=1e-3, p=4 / 3, kernels="auto", degree=2))._ready(
        X, y, None
    )
    kept, plain = [], sources.with_coefficients
    monkeypatch.setattr(
        sources,
        "with_coefficients",
        lambda terms, family, result: kept.append((family, result)) or plain(terms, family, result),
    )
    rows, others = np.arange(60), np.arange(60, 100)
    terms = source.pick(rows, 30, 0).terms  # all that there are
    ((family, result),) = kept
    learnt = sources.without_shares(family, result, 0.0)
    whole = learnt.decision(source.prepared.bases.take(others)) - learnt.intercept
    parts = source.features(terms, 1, others)
    assert all(part.shape == (40, 1) for part in parts)
    np.testing.assert_allclose(sum(parts), whole, rtol=1e-6, atol=1e-8)
    richer = source.features(terms, 3, others)
    np.testing.assert_allclose(richer[0][:, :1], parts[0])
    assert {part.shape[1] for part in richer} == {3}


def test_which_kernels_were_selected_changes_no_correlation_of_terms():
    """A column has a smooth kernel and a finer one; parts of the rows select one, or both."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(200, 1))
    X = np.hstack([base + 0.1 * rng.normal(size=(200, 2)), rng.normal(size=(200, 1))])
    test = SplitTest(MKLRegressor(kernels="auto", degree=2), random_state=0)
    _, source, _ = test._ready(X, base[:, 0], None)
    names = source.prepared.kernels.names
    smooth, fine = [i for i, name in enumerate(names) if name == "x0"][:2]
    other = names.index("x1")
    chosen = [((smooth,),), ((fine,),), ((smooth,), (fine,), (smooth, fine))]
    pairs = [[Picked("x0", kernels), Picked("x1", ((other,),))] for kernels in chosen]
    found = [source.correlations(pair)[0, 1] for pair in pairs]
    assert found[0] == found[1] == found[2] > 0.95


def test_models_of_widths_without_terms():
    """Where X is constant nothing is selected; contributions of no terms have no rows."""
    rows, y = np.zeros((60, 3)), np.random.default_rng(0).normal(size=60)
    with pytest.warns(UserWarning, match="No term could be tested"):
        SplitTest(MKLRegressor("widths"), n_splits=2, random_state=0).fit(rows, y)
