"""Rows in partitions: what fits in memory is the truth that fits of parts are held against."""

import os
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV, spec
from manykernels.passes import Moments, compressed
from manykernels.passes import choice as engine
from manykernels.passes.moments import moments_of

dask = pytest.importorskip("dask")
pytest.importorskip("dask.bag")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

ROWS = 700
TIGHT = {"tol": 1e-9, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(rng, n=ROWS, r=4):
    X = rng.normal(size=(n, r)) * np.arange(1, r + 1) + 1
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)


def parts(values, rows=190):
    chunks = (rows, 3) if values.ndim == 2 else rows
    return da.from_array(values, chunks=chunks)


# --------------------------------------------------------------------------------------------------
# Moments
# --------------------------------------------------------------------------------------------------


def test_moments_add_up(rng):
    columns, weights = rng.normal(size=(50, 4)) + 1e6, rng.random(50)
    cuts = [slice(0, 7), slice(7, 7), slice(7, 30), slice(30, 50)]
    total = sum(
        (moments_of(columns[cut], weights[cut]) for cut in cuts[1:]),
        moments_of(columns[cuts[0]], weights[cuts[0]]),
    )
    assert total.weight == pytest.approx(weights.sum())
    np.testing.assert_allclose(total.mean, np.average(columns, axis=0, weights=weights), rtol=1e-15)
    truth = np.cov(columns.T, aweights=weights, ddof=0) * weights.sum()
    np.testing.assert_allclose(total.products, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("centred", [True, False])
def test_few_rows_stand_for_many(centred, rng):
    """Least squares with a ridge has the same solution on the compressed rows."""
    X, y = rng.normal(size=(80, 5)) + 2, rng.normal(size=(80, 1))
    weights = rng.random(80)
    rows = compressed(moments_of(np.hstack([X, y]), weights), centred)
    assert rows.shape == (6, 6)
    F, t = rows[:, :5], rows[:, 5]
    found = np.linalg.solve(F.T @ F + 0.1 * np.eye(5), F.T @ t)
    share = weights / weights.sum()
    A, b = (X - share @ X, y - share @ y) if centred else (X, y)
    truth = np.linalg.solve(A.T @ (A * share[:, None]) + 0.1 * np.eye(5), A.T @ (share * b[:, 0]))
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert t @ t == pytest.approx(float(share @ b[:, 0] ** 2))


def test_moments_of_nothing(rng):
    nothing = moments_of(np.empty((0, 3)), np.empty(0))
    other = moments_of(rng.normal(size=(9, 3)), np.ones(9))
    for total in (nothing + other, other + nothing):
        np.testing.assert_allclose(total.products, other.products)
        np.testing.assert_allclose(total.mean, other.mean)
    assert isinstance(nothing + nothing, Moments)


# --------------------------------------------------------------------------------------------------
# Fits
# --------------------------------------------------------------------------------------------------

REGRESSION = [
    {"degree": 2},
    {"degree": 2, "p": 1, "alpha": 1e-2},
    {"degree": 2, "p": 2},
    {"degree": 3, "p": 1.5, "fit_intercept": False},
    {"degree": 2, "p": 1, "loss": "huber"},
    {"degree": 2, "standardize": "scale", "rho": [1.0, 1.0, 3.0]},
    {"degree": 2, "standardize": False, "index_set": "interactions", "p": 1},
    {"degree": 1, "kernels": "auto", "p": 1},
    {"degree": 2, "kernels": [("spline", [0]), ("linear", [1, 2])], "p": 1},
    {"degree": 3, "solver": "greedy"},
]


@pytest.mark.parametrize("options", REGRESSION, ids=str)
def test_regression_is_that_in_memory(options, rng):
    X, y = table(rng)
    whole = MKLRegressor(**TIGHT, **options).fit(X, y)
    model = MKLRegressor(**TIGHT, **options).fit(parts(X), parts(y))
    scale = np.abs(y).max()
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6 * scale)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert set(model.terms_[:4]) == set(whole.terms_[:4])
    shares = whole.explain(None).set_index("term")["share"]
    found = model.explain(None).set_index("term")["share"]
    np.testing.assert_allclose(found, shares.loc[found.index], atol=1e-5)
    if options.get("solver") != "greedy":
        assert model.gap_ <= (1e-6 if "loss" in options else 1e-9)
        assert model.gap_kind_ == "exact"


CLASSIFICATION = [
    {"degree": 2, "p": 1, "alpha": 1e-2},
    {"degree": 2},
    {"degree": 2, "p": 1, "loss": "squared_hinge"},
]


@pytest.mark.parametrize("options", CLASSIFICATION, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_classification_is_that_in_memory(options, classes, rng):
    X, y = table(rng)
    labels = np.array(["b", "a", "c"])[np.digitize(y, [1.0, 4.0][: classes - 1])]
    settings = {"random_state": 0, "tol": 1e-8, "max_iter": 5000, **options}
    whole = MKLClassifier(**settings).fit(X, labels)
    model = MKLClassifier(**settings).fit(parts(X), parts(labels))
    assert model.gap_ <= 1e-8
    assert model.classes_.tolist() == whole.classes_.tolist()
    truth = whole.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), truth, atol=3e-4 * np.abs(truth).max())
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    found = model.predict(parts(X))
    assert isinstance(found, da.Array)
    assert np.array_equal(found.compute(), model.predict(X))
    if options.get("loss") is None:
        shares = model.predict_proba(parts(X))
        assert shares.shape == (ROWS, classes)
        np.testing.assert_allclose(shares.compute(), model.predict_proba(X))


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_large_families_grow_a_working_set(loss, rng, monkeypatch):
    monkeypatch.setattr(engine, "MOST_FEATURES", 3)
    X, y = table(rng)
    options = {"degree": 3, "p": 1, "alpha": 1e-2, "loss": loss, "tol": 1e-7}
    whole = MKLRegressor(**options).fit(X, y)
    model = MKLRegressor(**options).fit(parts(X), parts(y))
    assert model.gap_ <= 1e-7
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-4 * np.abs(y).max())
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    assert model.n_kernels_ == whole.n_kernels_


def test_kernels_of_several_features_grow_a_working_set(rng, monkeypatch):
    monkeypatch.setattr(engine, "MOST_FEATURES", 100)
    X, y = table(rng, r=3)
    # Predictions differ by the root of the gap.
    kernels = [("spline", [0]), ("spline", [1]), ("linear", [2])]
    options = {"degree": 2, "kernels": kernels, "p": 1, "tol": 1e-12}
    whole = MKLRegressor(**options).fit(X, y)
    model = MKLRegressor(**options).fit(parts(X), parts(y))
    assert max(whole.gap_, model.gap_) <= 1e-12
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6 * np.abs(y).max())
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert set(model.terms_[:4]) == set(whole.terms_[:4])
    shares = whole.explain(None).set_index("term")["share"]
    found = model.explain(None).set_index("term")["share"]
    np.testing.assert_allclose(found, shares.loc[found.index], atol=1e-5)


@pytest.mark.parametrize("kernels", ["linear", "spline"])
@pytest.mark.parametrize("strict", [True, False])
def test_gradients_of_all_kernels_from_tables(kernels, strict, rng):
    from manykernels.families import Interactions, Monomials, ProductFamily
    from manykernels.kernels import resolve
    from manykernels.passes.growing import Gradients
    from manykernels.passes.sums import Recipe as Design
    from manykernels.passes.sums import inner_tables

    X = rng.normal(size=(30, 3))
    bases = resolve(kernels, list("abc"), 3).fit(X, X)
    family = ProductFamily(bases, 3, Interactions() if strict else Monomials(), [1, 2, 3, 4])
    alpha = rng.normal(size=(30, 2))
    design = Design(None, None, None, family, None, np.empty(0), 0.0, 1.0)
    found = Gradients(design, inner_tables(design, bases, alpha), 2.0)
    truth = family.at(alpha / 2.0).all()
    np.testing.assert_allclose(found.of(family.indices()), truth, rtol=1e-9)
    assert found.largest == pytest.approx(truth.max())
    order = [family.indices()[i] for i in np.argsort(-truth)]
    assert found.top(5, 0.0, set()) == order[:5]
    assert found.top(3, 0.0, set(order[:2])) == order[2:5]
    assert found.top(10**6, truth.max() * (1 + 1e-12), set()) == []


CHOICES = [
    {"degree": [1, 2], "cv": 5},
    {"degree": 2, "p": [1, 4 / 3], "cv": 3},
    {"degree": 2, "solver": "greedy", "cv": 3},
    {"degree": 2, "p": 1, "debias": True, "cv": 3},
    {"degree": 1, "kernels": "auto", "cv": 2, "n_alphas": 8},
]


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_cross_validation_is_that_in_memory(options, rng):
    X, y = table(rng)
    settings = {"tol": 1e-7, "random_state": 0, **options}
    whole = MKLRegressorCV(**settings).fit(X, y)
    model = MKLRegressorCV(**settings).fit(parts(X), parts(y))
    assert (model.degree_, model.p_) == (whole.degree_, whole.p_)
    np.testing.assert_allclose(model.best_score_, whole.best_score_, rtol=1e-5)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-4 * np.abs(y).max())
    if options.get("solver") != "greedy":
        np.testing.assert_allclose(model.alphas_, whole.alphas_, rtol=1e-9)
        assert model.alpha_ == pytest.approx(whole.alpha_)


def test_folds_of_a_sorted_table_are_drawn(rng):
    X, y = table(rng)
    order = np.argsort(y)
    X, y = X[order], y[order]
    settings = {"tol": 1e-7, "random_state": 0, "degree": 2, "kernels": "linear"}
    model = MKLRegressorCV(**settings).fit(parts(X), parts(y))
    drawn = KFold(5, shuffle=True, random_state=0)
    whole = MKLRegressorCV(**settings, cv=drawn).fit(X, y)
    np.testing.assert_allclose(model.best_score_, whole.best_score_, rtol=1e-5)


def test_cross_validation_of_classes(rng):
    X, y = table(rng)
    labels = y > 1
    settings = {"degree": 2, "p": 1, "cv": 3, "n_alphas": 5, "tol": 1e-6}
    whole = MKLClassifierCV(**settings).fit(X, labels)
    model = MKLClassifierCV(**settings).fit(parts(X), parts(labels))
    np.testing.assert_allclose(model.alphas_, whole.alphas_, rtol=1e-6)
    np.testing.assert_allclose(model.score_path_, whole.score_path_, rtol=1e-3)
    assert model.alpha_ == pytest.approx(whole.alpha_)


def test_sample_weights_stand_for_repeated_rows(rng):
    X, y = table(rng, n=200)
    weights = rng.integers(0, 3, size=200)
    again = MKLRegressor(degree=2, **TIGHT).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    model = MKLRegressor(degree=2, **TIGHT)
    model.fit(parts(X), parts(y), parts(weights.astype(float)))
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-7 * np.abs(y).max())


# --------------------------------------------------------------------------------------------------
# Dataframes, laziness, messages
# --------------------------------------------------------------------------------------------------


def frame(rng):
    X, y = table(rng)
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y)


def test_dataframes_keep_names(rng):
    whole = frame(rng)
    lazy = dd.from_pandas(whole, npartitions=3)
    columns = list("abcd")
    model = MKLRegressor(degree=2, **TIGHT).fit(lazy[columns], lazy["y"])
    truth = MKLRegressor(degree=2, **TIGHT).fit(whole[columns], whole["y"])
    assert model.feature_names_in_.tolist() == columns
    assert "b * c" in set(model.explain()["term"])
    found = model.predict(lazy[columns])
    assert isinstance(found, da.Array)
    scale = whole["y"].abs().max()
    np.testing.assert_allclose(found.compute(), truth.predict(whole[columns]), atol=1e-6 * scale)


def test_files_whose_columns_are_read_in_other_partitions(rng, tmp_path):
    whole = frame(rng)
    for number, part in enumerate(np.array_split(np.arange(ROWS), 8)):
        whole.iloc[part].to_parquet(tmp_path / f"{number}.parquet")
    lazy = dd.read_parquet(tmp_path)
    columns = list("abcd")
    weights = lazy["a"].abs()
    model = MKLRegressor(degree=2, **TIGHT).fit(lazy[columns], lazy["y"], weights)
    truth = MKLRegressor(degree=2, **TIGHT)
    truth.fit(whole[columns], whole["y"], whole["a"].abs())
    scale = whole["y"].abs().max()
    np.testing.assert_allclose(
        model.predict(whole[columns]), truth.predict(whole[columns]), atol=1e-6 * scale
    )


def in_parts(values, labels):
    """Return a frame or a series of Dask in three parts, whose rows have some labels."""
    whole = values.set_axis(labels)
    cuts = [whole[start : start + 250] for start in range(0, ROWS, 250)]
    return dd.from_delayed([dask.delayed(cut) for cut in cuts], meta=whole[:0])


LABELS = {
    "in order": np.arange(ROWS),
    "backwards": np.arange(ROWS)[::-1],
    "shuffled": np.random.default_rng(0).permutation(ROWS),
    "anew in each part": np.arange(ROWS) % 250,
    "the same": np.zeros(ROWS, dtype=int),
}


@pytest.mark.parametrize("own", LABELS)
@pytest.mark.parametrize("others", LABELS)
def test_labels_of_rows_do_not_pair_them(own, others, rng):
    """Rows, targets and weights belong together by their places, as in memory."""
    whole, columns = frame(rng), list("abcd")
    X, y, weights = whole[columns], whole["y"], whole["a"].abs()
    truth = MKLRegressor(degree=1, **TIGHT).fit(X, y, weights).predict(X)
    places = LABELS[own], LABELS[others]
    lazy = in_parts(X, places[0]), in_parts(y, places[1]), in_parts(weights, places[0][::-1])
    found = MKLRegressor(degree=1, **TIGHT).fit(*lazy).predict(X)
    np.testing.assert_allclose(found, truth, atol=1e-6 * y.abs().max())


def test_columns_in_other_partitions_are_cut_like_the_frame(rng):
    whole, columns = frame(rng), list("abcd")
    X, y = dd.from_pandas(whole[columns], npartitions=3), whole["y"]
    truth = MKLRegressor(degree=1, **TIGHT).fit(whole[columns], y).predict(whole[columns])
    model = MKLRegressor(degree=1, **TIGHT).fit(X, dd.from_pandas(y, npartitions=5))
    found = model.predict(whole[columns])
    np.testing.assert_allclose(found, truth, atol=1e-6 * y.abs().max())
    twice = dd.from_pandas(y.set_axis(np.arange(ROWS) // 2), npartitions=5)
    with pytest.raises(ValueError, match="y must have"):
        MKLRegressor(degree=1).fit(X, twice)
    other = in_parts(y, np.arange(ROWS)).repartition(npartitions=2)
    with pytest.raises(ValueError, match="partitions of X; got 2 and 3"):
        MKLRegressor(degree=1).fit(in_parts(whole[columns], np.arange(ROWS)), other)
    short = in_parts(y, np.arange(ROWS)).partitions[[0, 2, 1]]
    with pytest.raises(ValueError, match="y must have one value for each row of X"):
        MKLRegressor(degree=1).fit(in_parts(whole[columns], np.arange(ROWS)), short)


TIMES = pd.date_range("2020", periods=ROWS, freq="h")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (TIMES, "dates"),
        (TIMES.tz_localize("UTC"), "dates"),
        (TIMES - TIMES[0], "spans of time"),
    ],
    ids=["dates", "dates of a zone", "spans"],
)
def test_times_are_refused_where_the_fit_begins(times, said, rng):
    whole, columns = frame(rng).assign(when=times), list("abcd")
    lazy = dd.from_pandas(whole, npartitions=3)
    with pytest.raises(TypeError, match=f"'when' of X must hold numbers .* got {said}. Use"):
        MKLRegressor(degree=1).fit(lazy[[*columns, "when"]], lazy["y"])
    with pytest.raises(TypeError, match=f"sample_weight must hold numbers .* got {said}"):
        MKLRegressor(degree=1).fit(lazy[columns], lazy["y"], lazy["when"])
    seconds = lazy["when"] if said == "spans of time" else lazy["when"] - lazy["when"].min()
    numbers = lazy[columns].assign(when=seconds.dt.total_seconds())
    MKLRegressor(degree=1).fit(numbers, lazy["y"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda part: part[["c", "b", "a"]], r"got \['c', 'b', 'a'\]"),
        (lambda part: part.rename(columns={"a": "z"}), r"got \['z', 'b', 'c'\]"),
        (lambda part: part.assign(d=1.0), r"got \['a', 'b', 'c', 'd'\]"),
        (lambda part: part["a"], "got one of type Series"),
        (lambda part: part.to_numpy(), "got one of type ndarray"),
    ],
    ids=["order", "names", "more", "series", "array"],
)
@pytest.mark.parametrize("lazy", [True, False])
def test_partitions_with_columns_of_their_own(change, said, lazy, rng):
    """Dask does not look at what a function returns: columns of another order were mistaken."""
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    y = frame["a"]
    parts = [frame[:20], change(frame[20:])]
    X = dd.from_map(lambda part: part, parts, meta=frame[:0])
    own = dd.from_map(lambda part: part, [y[:20], y[20:]], meta=y[:0]) if lazy else y
    with pytest.raises(ValueError, match=rf"partitions of X must have its columns .*; {said}"):
        MKLRegressor(degree=1).fit(X, own)


def test_blocks_of_other_shapes(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    rows, own = da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20)
    narrow = rows.map_blocks(lambda block: block[:, :2], dtype=float)
    nothing = rows.map_blocks(lambda block: None, dtype=float, meta=np.empty((0, 0)))
    for other, shape in ((narrow, r"\(20, 2\)"), (nothing, r"\(\)")):
        with pytest.raises(
            ValueError, match=f"X must have its 3 columns; got one of shape {shape}"
        ):
            MKLRegressor(degree=1).fit(other, own)
    for other in (dask.delayed(X), dask.bag.from_sequence(X.tolist())):
        kind = type(other).__name__
        with pytest.raises(TypeError, match=f"X must be a Dask array or dataframe; got a {kind}"):
            MKLRegressor(degree=1).fit(other, own)
    with pytest.raises(TypeError, match="y must be a Dask array or dataframe; got a Delayed"):
        MKLRegressor(degree=1).fit(rows, dask.delayed(y))


def test_targets_of_objects(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    rows = da.from_array(X, chunks=(20, 3))
    for make, target in ((MKLRegressor, y), (MKLClassifier, y > 0)):
        plain = make(degree=1).fit(rows, da.from_array(target, chunks=20))
        objects = make(degree=1).fit(rows, da.from_array(target.astype(object), chunks=20))
        assert np.array_equal(plain.predict(X), objects.predict(X))


def test_y_in_memory_is_cut_like_x(rng):
    X, y = table(rng)
    model = MKLRegressor(degree=1, **TIGHT).fit(parts(X), y)
    truth = MKLRegressor(degree=1, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.predict(X), truth.predict(X), atol=1e-7 * np.abs(y).max())
    with pytest.raises(ValueError, match="got 10 for 700 rows"):
        MKLRegressor(alpha=1e-3, degree=1).fit(parts(X), y[:10])


def test_predictions_are_lazy(rng):
    X, y = table(rng)
    model = MKLRegressor(alpha=1e-3, degree=1).fit(X, y)
    seen = []

    def load(block):
        seen.append(len(block))
        return block

    rows = parts(X).rechunk({1: -1}).map_blocks(load, meta=np.empty((0, 4)))
    found = model.predict(rows)
    assert not seen
    assert found.chunks == ((190, 190, 190, 130),)
    np.testing.assert_allclose(found.compute(), model.predict(X))
    assert sum(seen) == ROWS


def test_one_pass_is_enough_for_least_squares(rng):
    """One to summarise, one for the products; cross-validation adds three for its one split."""
    X, y = table(rng, n=6000)
    seen = []

    def load(block):
        seen.append(len(block))
        return block

    rows = da.from_array(X, chunks=(1500, 4)).map_blocks(load, meta=np.empty((0, 4)))
    targets = da.from_array(y, chunks=1500)
    MKLRegressor(alpha=1e-3, degree=2).fit(rows, targets)
    assert len(seen) == 2 * 4
    seen.clear()
    MKLRegressorCV(degree=2).fit(rows, targets)
    assert len(seen) <= 7 * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernels": "rbf"}, "must have features"),
        ({"loss": "epsilon_insensitive"}, "must be smooth"),
        ({"solver": "greedy", "loss": "huber"}, "squared loss"),
    ],
)
def test_what_partitions_cannot_have(options, message, rng):
    X, y = table(rng, n=60)
    with pytest.raises(ValueError, match=message):
        MKLRegressor(degree=2, **options).fit(parts(X), parts(y))


def test_families_that_are_too_large_are_refused(rng, monkeypatch):
    X, y = table(rng, n=60)
    monkeypatch.setattr(engine, "MOST_FEATURES", 3)
    with pytest.raises(ValueError, match=r"with p=1\.33333 need a family of at most 3"):
        MKLRegressor(alpha=1e-3, degree=2).fit(parts(X), parts(y))
    monkeypatch.setattr(engine, "MOST_ENTRIES", 10)
    with pytest.raises(ValueError, match="inner products fit in memory; got degree 2 with 4"):
        MKLRegressor(alpha=1e-3, degree=2, p=1).fit(parts(X), parts(y))


def test_a_free_degree_is_what_passes_can_fit(rng, monkeypatch):
    X, y = table(rng, n=60)
    x, t = parts(X), parts(y)
    free = {"kernels": "linear", "alpha": 1e-3}
    assert MKLRegressor(**free).fit(x, t).degree_ == 3
    monkeypatch.setattr(spec, "PRICED_ENTRIES", 60 * 15 * 4)  # degree 2 of four columns
    assert MKLRegressor(**free).fit(X, y).degree_ == 2
    assert MKLRegressor(**free).fit(x, t).degree_ == 3  # all products come from one pass
    monkeypatch.setattr(engine, "MOMENT_WORK", 60 * 15**2)
    assert MKLRegressor(**free).fit(x, t).degree_ == 2
    monkeypatch.setattr(engine, "MOST_FEATURES", 5)  # refused if asked for
    assert MKLRegressor(**free).fit(x, t).degree_ == 1
    assert MKLRegressor(**free, p=1).fit(x, t).degree_ == 2
    monkeypatch.setattr(engine, "MOST_ENTRIES", 10)
    assert MKLRegressor(**free, p=1).fit(x, t).degree_ == 1


def test_bad_rows_are_refused(rng):
    X, y = table(rng, n=60)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="got 1 values that are NaN or infinity"):
        MKLRegressor(alpha=1e-3).fit(parts(X), parts(y))
    with pytest.raises(ValueError, match="at least two classes"):
        MKLClassifier(alpha=1e-3).fit(parts(np.ones((9, 2))), parts(np.zeros(9)))
    with pytest.raises(ValueError, match="partitions of X; got 2 and 4"):
        MKLRegressor(alpha=1e-3).fit(parts(table(rng)[0]), parts(y, 30))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused(bad, rng):
    X, y = table(rng, n=60)
    weights = np.ones(60)
    weights[7] = bad
    with pytest.raises(ValueError, match="finite and not negative; got 1 others"):
        MKLRegressor(alpha=1e-3).fit(parts(X), parts(y), parts(weights))


def test_bad_classes_are_refused_and_those_without_weight_kept(rng):
    X, y = table(rng, n=90)
    labels = np.repeat([0.0, 1.0, np.nan], 30)
    with pytest.raises(ValueError, match="NaN"):
        MKLClassifier(alpha=1e-3, degree=1).fit(parts(X, 30), parts(labels, 30))
    with pytest.raises(ValueError, match="Unknown label type"):
        MKLClassifier(alpha=1e-3, degree=1).fit(parts(X, 30), parts(y, 30))
    names = np.repeat(["a", "b", "c"], 30)
    weights = np.repeat([0.0, 1.0, 1.0], 30)
    whole = MKLClassifier(alpha=1e-3, degree=1).fit(X, names, weights)
    model = MKLClassifier(alpha=1e-3, degree=1).fit(
        parts(X, 30), parts(names, 30), parts(weights, 30)
    )
    assert model.classes_.tolist() == whole.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="y must be numeric"):
        MKLRegressor(alpha=1e-3).fit(parts(X, 30), parts(names, 30))


def test_shapes_of_targets_and_rows(rng):
    X, y = table(rng, n=60)
    truth = MKLRegressor(alpha=1e-3, degree=1).fit(X, y).predict(X)
    column = da.from_array(y[:, None], chunks=(190, 1))
    np.testing.assert_allclose(
        MKLRegressor(alpha=1e-3, degree=1).fit(parts(X), column).predict(X), truth
    )
    with pytest.raises(ValueError, match="one value for each row of X"):
        MKLRegressor(alpha=1e-3).fit(parts(X), da.from_array(X[:, :2], chunks=(190, 2)))
    with pytest.raises(ValueError, match="got 1 dimensions"):
        MKLRegressor(alpha=1e-3).fit(parts(y), parts(y))
    whole = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    lazy = dd.from_pandas(whole, npartitions=2)
    columns = list("abcd")
    for target, weights in ((lazy[["y"]], None), (lazy["y"], np.ones(60))):
        model = MKLRegressor(alpha=1e-3, degree=1).fit(lazy[columns], target, weights)
        np.testing.assert_allclose(model.predict(whole[columns]), truth)
    gap = dd.from_pandas(whole.assign(a=pd.array([None, *range(59)], dtype="Int64")), npartitions=2)
    with pytest.raises(ValueError, match="got 1 values that are NaN"):
        MKLRegressor(alpha=1e-3, degree=1).fit(gap[columns], gap["y"])


def test_folds_need_weight(rng):
    X, y = table(rng, n=100)
    weights = np.ones(100)
    weights[:20] = 0.0
    with pytest.raises(ValueError, match="positive weight on both sides"):
        MKLRegressorCV(degree=1, cv=5).fit(parts(X), parts(y), parts(weights))


def test_ctrl_c_keeps_finished_models(rng, monkeypatch):
    from manykernels.fitting import folds
    from manykernels.notices import InterruptedWarning

    X, y = table(rng, n=200)
    scored, real = [], folds.FoldModel

    def interrupted(*arguments):
        scored.append(1)
        if len(scored) == 13:  # the third model in the third fold
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(folds, "FoldModel", interrupted)
    with pytest.warns(InterruptedWarning, match="5 of 5 folds and 2 models in each"):
        model = MKLRegressorCV(degree=2, cv=5).fit(parts(X), parts(y))
    assert np.all(np.isfinite(model.score_path_[0, :2]))
    assert np.all(np.isnan(model.score_path_[0, 2:]))


def test_baselines_do_not_take_partitions(rng):
    from manykernels.baselines import LpNormMKL

    X, y = table(rng, n=60)
    with pytest.raises(TypeError, match="Dask"):
        LpNormMKL().fit(parts(X), parts(y))


def test_ctrl_c_keeps_the_last_model(rng, monkeypatch):
    from manykernels.notices import InterruptedWarning
    from manykernels.passes import sums
    from manykernels.rows import dask as rows

    X, y = table(rng)
    labels = (y > 1).astype(int)
    passes, total = [], rows.Parts.total

    def counted(self, function, *arguments):
        if function is sums.sums_at:
            passes.append(1)
            if len(passes) == 5:
                raise KeyboardInterrupt
        return total(self, function, *arguments)

    monkeypatch.setattr(rows.Parts, "total", counted)
    with pytest.warns(InterruptedWarning, match="the model is that of the last one"):
        model = MKLClassifier(alpha=1e-3, degree=2, tol=1e-8).fit(parts(X), parts(labels))
    assert 1e-8 < model.gap_ < 1
    assert model.score(X, labels) > 0.6


# --------------------------------------------------------------------------------------------------
# A cluster of processes
# --------------------------------------------------------------------------------------------------

distributed = pytest.importorskip("distributed")


def cluster(**options):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, **options
    )


def die_once(block, flag, block_info=None):
    """Kill the worker that first comes to the second block, in the second pass."""
    place = block_info[0]["chunk-location"][0]
    if place == 1 and os.path.exists(flag + ".looked") and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os._exit(1)
    if place == 1:
        with open(flag + ".looked", "w"):
            pass
    return block


def devour(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 1:
        kept = []
        for _ in range(200):
            kept.append(np.ones(4_000_000))
            time.sleep(0.05)
    return block


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_and_survives_the_death_of_a_worker(rng, tmp_path):
    X, y = table(rng, n=4000)
    truth = MKLRegressor(degree=2, **TIGHT).fit(X, y)
    with cluster() as two, distributed.Client(two):
        model = MKLRegressor(degree=2, **TIGHT).fit(parts(X, 1000), parts(y, 1000))
        scale = np.abs(y).max()
        np.testing.assert_allclose(model.predict(X), truth.predict(X), atol=1e-6 * scale)
        flag = str(tmp_path / "died")
        rows = parts(X, 1000).rechunk({1: -1}).map_blocks(die_once, flag, meta=np.empty((0, 4)))
        again = MKLRegressor(degree=2, **TIGHT).fit(rows, parts(y, 1000))
        assert os.path.exists(flag)
        np.testing.assert_allclose(again.predict(X), truth.predict(X), atol=1e-6 * scale)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_without_memory_is_a_clear_error(rng):
    import dask

    X, y = table(rng, n=4000)
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.terminate": 0.9,
    }
    with dask.config.set(settings), cluster(memory_limit="900MB") as two, distributed.Client(two):
        rows = parts(X, 1000).rechunk({1: -1}).map_blocks(devour, meta=np.empty((0, 4)))
        with pytest.raises(MemoryError, match="smaller partitions"):
            MKLRegressor(alpha=1e-3, degree=2).fit(rows, parts(y, 1000))
