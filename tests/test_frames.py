"""Data frames go straight into the estimators; the encoder that does it, and what is said."""

import pickle
import sys
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV, TableEncoder, load
from manykernels.baselines import UniformProductKernel
from manykernels.estimators.apart import taken_apart
from manykernels.frames import TableError
from manykernels.selection import SplitTest, StabilitySelection
from manykernels.tables import Settings, fit_table, split_table

ROWS = 120


def frame(gaps=True):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "area": rng.normal(70, 20, ROWS),
            "town": rng.choice(["Bonn", "Ulm", "Jena"], ROWS),
            "new": rng.random(ROWS) > 0.5,
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, ROWS), "D"),
            "rooms": pd.array(rng.integers(1, 6, ROWS), dtype="Int64"),
            "kind": pd.Categorical(rng.choice(["flat", "house"], ROWS)),
            "garden": pd.array(rng.random(ROWS) > 0.5, dtype="boolean"),
        }
    )
    y = 2 * table["area"] + 40 * (table["town"] == "Ulm") + 8 * table["rooms"].astype(float)
    if gaps:
        table.loc[3:8, "area"] = np.nan
        table.loc[20:24, "town"] = None
        table.loc[30:33, "rooms"] = pd.NA
        table.loc[40:43, "sold"] = pd.NaT
        table.loc[50:52, "garden"] = pd.NA
    return table, (y + rng.normal(size=ROWS)).to_numpy()


@pytest.fixture(scope="module")
def fitted():
    X, y = frame()
    return MKLRegressor(kernels="auto", degree=2, p=1, alpha=1e-2).fit(X, y), X, y


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def polars(table):
    return pytest.importorskip("polars").from_pandas(table)


def arrow(table):
    return pytest.importorskip("pyarrow").Table.from_pandas(table)


def test_encoder_passes_the_checks_of_scikit_learn():
    check_estimator(TableEncoder(), on_skip=None)


@pytest.mark.parametrize("make", [lambda table: table, polars, arrow])
def test_any_library_gives_the_same_model(fitted, make):
    model, X, y = fitted
    table = make(X)
    other = clone(model).fit(table, y)
    assert other.feature_names_in_.tolist() == X.columns.tolist()
    assert other.n_features_in_ == 7
    np.testing.assert_allclose(other.predict(table), model.predict(X))
    assert other.score(table, y) > 0.9


def test_encoding_is_what_it_says():
    X, _ = frame()
    encoder = TableEncoder().fit(X)
    found = encoder.set_output(transform="pandas").transform(X)
    assert found.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert "area is missing" in found
    assert found["area"].isna().sum() == 0
    known = X["area"].dropna()
    assert (found.loc[3:8, "area"] == known.median()).all()
    assert found["area is missing"].tolist() == X["area"].isna().astype(float).tolist()
    levels = encoder.levels_["town"]
    assert levels == ["Bonn", "Jena", "Ulm", "(missing)"]
    named = [levels[int(code)] for code in found["town"]]
    assert named == X["town"].fillna("(missing)").tolist()
    assert encoder.levels_["garden"] == ["False", "True", "(missing)"]
    day = (X["sold"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    years = 1970 + day / 365.2425
    np.testing.assert_allclose(found["sold"][:40], years[:40])
    assert not np.isnan(found.to_numpy()).any()


def test_columns_are_found_by_name_and_others_not_looked_at(fitted):
    model, X, _ = fitted
    known = model.predict(X)
    turned = X[X.columns[::-1]].assign(extra="whatever")
    np.testing.assert_array_equal(model.predict(turned), known)
    with pytest.raises(TableError, match="lacks 1 column that the model needs: 'town'"):
        model.predict(X.drop(columns="town"))
    with pytest.raises(TableError, match="'town' may be its 'towns': rename it"):
        model.predict(X.rename(columns={"town": "towns"}))


def test_new_categories_and_new_gaps_count_as_average_and_median(fitted):
    model, X, _ = fitted
    rows = X.iloc[[60, 61]]
    with pytest.warns(UserWarning, match="column 'kind' has values .* such as 'castle'"):
        found = model.contributions(rows.assign(kind="castle"), ["kind"])
    np.testing.assert_allclose(found["kind"], 0.0, atol=1e-12)
    whole, y = frame(gaps=False)
    clean = clone(model).fit(whole, y)
    assert "area is missing" not in clean.encoder_.get_feature_names_out()
    middle = whole["area"].median()
    np.testing.assert_allclose(
        clean.predict(whole.iloc[:3].assign(area=np.nan)),
        clean.predict(whole.iloc[:3].assign(area=middle)),
    )


def test_values_far_beyond_training_are_said():
    """At the command; in Python, where folds are small, they are nothing to warn of."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=400, freq="D")
    table = pd.DataFrame({"age": rng.uniform(20, 79, 400), "kind": ["a", "b"] * 200, "day": days})
    table.loc[:1, "age"] = 18.0, 79.5
    encoder = TableEncoder().fit(table)

    def said(rows, encoder=encoder):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encoder.transform(rows)
        return " ".join(encoder.remarks(rows, encoder.encode(rows)))

    near = table.iloc[:4].assign(age=[13.0, 84.0, 50.0, None])
    near["day"] = [days[0] - pd.Timedelta(days=9), days[-1] + pd.Timedelta(days=9), days[3], None]
    assert not said(table)
    assert not said(near)
    far = near.assign(age=[1e6, 84.0, 50.0, None])
    assert "'age' is beyond its training range, 18 to 79.5, in 2 rows" in said(far)
    late = near.assign(day=[days[-1] + pd.Timedelta(days=k) for k in (1, 2, 3, 40)])
    assert "'day' is beyond its training range, 2020-01-01 to 2021-02-03, in 4 rows" in said(late)
    late = table.assign(day=[*days[:-1], days[-1] + pd.Timedelta("19:36:00")])
    early = late.iloc[:1].assign(day=pd.Timestamp("2019-12-01"))
    words = said(early, clone(encoder).fit(late))
    assert "2020-01-01 00:00 to 2021-02-03 19:36, in 1 row" in words
    wide = pd.DataFrame(rng.normal(size=(60, 30))).rename(columns=str)
    words = said(wide + 100, TableEncoder().fit(wide))
    assert "30 columns have values far beyond their training ranges: '0', '1'" in words


def test_files_without_ranges_say_nothing_of_them(tmp_path):
    X, y = frame()
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2).fit(X, y)
    far = X.assign(area=1e6)

    def said(name):
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        encoder = again.encoder_
        return again.predict(far), " ".join(encoder.remarks(far, encoder.encode(far)))

    expected, words = said("m.mk")
    assert "'area' is beyond its training range" in words
    for column in model.encoder_.columns_:  # as files were written before
        vars(column).pop("ends", None)
        vars(column).pop("slack", None)
    found, words = said("old.mk")
    assert not words
    np.testing.assert_array_equal(found, expected)


def test_the_command_line_encodes_alike(fitted):
    X, y = fitted[1], fitted[2]
    settings = Settings(target="y", kernels="auto", test=0.0, degree=[1])
    split = split_table(X.assign(y=y), settings)
    model = fit_table(split, settings)
    own = TableEncoder().fit(X)
    assert type(split.encoder) is TableEncoder
    assert own.columns_ == split.encoder.columns_
    straight = MKLRegressorCV(kernels="auto", degree=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(straight.predict(X), model.predict(X)["y"], rtol=1e-9)
    assert straight.explain(None)["term"].tolist() == model.explain(None)["term"].tolist()


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(
    "names", [["a is missing"], ["a is missing", "a is missing (2)"], ["a is missing is missing"]]
)
def test_names_of_encoded_columns_are_distinct(names, turn):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(ROWS, 1 + len(names))), columns=["a", *names])
    y = table[names].sum(axis=1) * 3
    table = table.mask(rng.random(table.shape) < [0.2] + [0.1] * len(names))[["a", *names][::turn]]
    encoder = TableEncoder().fit(table)
    out = encoder.set_output(transform="pandas").transform(table)
    assert out.shape == (ROWS, 2 * table.shape[1])
    assert len(set(out.columns)) == out.shape[1] == len(encoder.sources) == len(encoder.codes)
    for name in table:
        known = table[name].notna()
        np.testing.assert_array_equal(out[name][known], table[name][known])
    model = MKLRegressor(kernels="linear", p=1, degree=1, alpha=1e-6).fit(table, y)
    known = table.notna().all(axis=1)
    assert model.score(table[known], y[known]) > 0.9


NEAR = {
    "long integers": [10**17 + 1, 10**17 + 2, -(10**17) - 1, 5],
    "integers beyond doubles": [2**60, 2**60 + 1, 2**60 + 2, 0],
    "floats of 17 digits": [0.1, 0.1 + 2e-16, 1 / 3, 1.0],
    "large floats": [1e17, 1e17 + 16, 1e300, -1e300],
    "reserved words": ["(missing)", "(other)", "'(other)'", "a"],
}


@pytest.mark.parametrize("kind", ["plain", "object", "category", "gaps"])
@pytest.mark.parametrize("case", NEAR)
def test_different_values_are_different_categories(case, kind):
    values = pd.Series(NEAR[case] * 10, name="id")
    if kind == "gaps":
        values = values.astype(object).where(values.index > 4, None)
    elif kind != "plain":
        values = values.astype(kind)
    encoder = TableEncoder(categories=["id"]).fit(values.to_frame())
    levels = encoder.levels_["id"]
    assert len(set(levels)) == len(levels) == 4 + (kind == "gaps")
    codes = encoder.transform(values.to_frame())[:, 0]
    expected = pd.factorize(values.astype(object), use_na_sentinel=False)[0]
    assert len(set(zip(codes, expected, strict=True))) == len(levels)


@pytest.mark.parametrize("values", [[1.0, 2.0, 0.25], [1, 2, 3], [1e16, 3.0, 0.1]])
def test_a_number_is_one_category_however_it_is_stored(values):
    plain = pd.Series(values * 8, name="id")
    encoder = TableEncoder(categories=["id"]).fit(plain.to_frame())
    expected = encoder.transform(plain.to_frame())
    stored = [plain.astype(object), plain.astype("category"), plain.astype("Float64")]
    for other in stored:
        np.testing.assert_array_equal(encoder.transform(other.to_frame()), expected)


def test_reserved_words_are_values_like_others():
    values = [f"k{i:03}" for i in range(101)] * 3 + ["(other)", "(missing)"] * 4 + [None] * 5
    table = pd.DataFrame({"a": values})
    encoder = TableEncoder().fit(table)
    assert encoder.levels_["a"][-2:] == ["(other)", "(missing)"]
    rows = pd.DataFrame({"a": ["(other)", "(missing)", "new", None]})
    levels = [encoder.levels_["a"][int(code)] for code in encoder.transform(rows)[:, 0]]
    assert levels == ["'(other)'", "'(missing)'", "(other)", "(missing)"]
    whole = TableEncoder().fit(pd.DataFrame({"a": ["(other)", "b", "c"] * 10}))
    with pytest.warns(UserWarning, match="such as 'new'"):
        assert whole.transform(rows[2:])[:, 0].tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.array([2**60, 2**60 + 1, 5] * 10, dtype="Int64"), "i"),
        (pd.array([2**63 + 1, 2**63 + 2, 5] * 10, dtype="UInt64"), "u"),
        (pd.array([True, False, True] * 10, dtype="boolean"), "b"),
        (pd.array([0.5, 1.5, 2.5] * 10, dtype="Float64"), "f"),
    ],
)
def test_classes_of_nullable_types_stay_what_they_are(labels, kind):
    if kind == "f":
        labels = labels.round().astype("Float64")
    rng = np.random.default_rng(0)
    for y in (labels, pd.Series(labels)):
        model = MKLClassifier(degree=1, p=1, alpha=0.1).fit(rng.normal(size=(30, 2)), y)
        assert model.classes_.dtype.kind == kind
        assert model.classes_.tolist() == sorted(set(labels.tolist()))
        assert model.predict(rng.normal(size=(4, 2))).dtype.kind == kind


@pytest.mark.parametrize(
    ("one", "two"),
    [("50%", "0.5"), ("$7", "€7"), ("7 £", "¥ 9"), ("$7", "7 %"), ("-3,5 €", "$4,5"), ("8%", "9")],
)
def test_numbers_of_different_units_are_refused(one, two):
    table = pd.DataFrame({"share": [one, two, one] * 10, "b": np.arange(30) % 7})
    with pytest.raises(TableError, match="'share' mixes units") as found:
        TableEncoder().fit(table)
    assert repr(one) in str(found.value)
    assert repr(two) in str(found.value)
    encoder = TableEncoder(categories=["share"]).fit(table)  # as it is advised
    assert set(encoder.levels_["share"]) == {one, two}
    with pytest.raises(TableError, match=r"target 'share' mixes units"):
        split_table(table, Settings(target="share", test=0.0))


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["$1,200", "900", "-$3.50", "$ -4"], [1200, 900, -3.5, -4]),
        (["12 %", "0", "3%"], [12, 0, 3]),
        (["1 200", "17 593.5", "5"], [1200, 17593.5, 5]),
        (["1'200'300", "7", "12'000"], [1200300, 7, 12000]),
        (["3,5 €", "17.593,03 €", "1 €"], [3.5, 17593.03, 1]),
        (["1 234,5", "2,25", "-3,0"], [1234.5, 2.25, -3]),
    ],
)
def test_numbers_of_one_unit_are_read(words, numbers):
    table = pd.DataFrame({"price": words * 10})
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table)[:, 0], numbers * 10)


@pytest.mark.parametrize("form", ["5'11", "1 2", "2020 05", "1'2345", "12 34", "1 234'567", "5%%"])
def test_text_with_digits_is_no_number(form):
    table = pd.DataFrame({"a": [form, "b", "c"] * 10})
    assert form in TableEncoder().fit(table).levels_["a"]
    half = pd.DataFrame({"a": [form, "1.5", "2.5"] * 10})
    with pytest.raises(TableError, match="mixes numbers and text"):
        TableEncoder().fit(half)


def test_units_at_prediction_are_those_of_training():
    plain = TableEncoder().fit(pd.DataFrame({"a": [0.5, 0.25, 0.1] * 10}))
    with pytest.raises(TableError, match="column 'a' must hold numbers, as in training; got '50%'"):
        plain.transform(pd.DataFrame({"a": ["50%", "20%"]}))
    dollars = TableEncoder().fit(pd.DataFrame({"a": ["$1", "$2", "$3"] * 10}))
    assert dollars.transform(pd.DataFrame({"a": ["$5", "6", None]})).tolist() == [[5], [6], [2]]
    with pytest.raises(TableError, match="got '€5'"):
        dollars.transform(pd.DataFrame({"a": ["€5"]}))


@pytest.mark.parametrize("stored", [None, object])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_spans_of_time_are_days(stored, unit):
    days = np.random.default_rng(0).integers(0, 5, 40)
    spans = pd.Series(pd.to_timedelta(days * 24, "h")).astype(f"timedelta64[{unit}]")
    spans[3] = pd.NaT
    table = pd.DataFrame({"took": spans if stored is None else spans.astype(stored)})
    encoder = TableEncoder().fit(table)
    assert encoder.notes_ == ["column 'took' holds spans of time; they are taken as days."]
    found = encoder.transform(table)
    np.testing.assert_array_equal(np.delete(found[:, 0], 3), np.delete(days, 3))
    assert found[3, 1] == 1
    plain = TableEncoder().fit(pd.DataFrame({"took": [1.0, 2.0, None] * 10}))
    with pytest.raises(TableError, match="must hold numbers, as in training; got Timedelta"):
        plain.transform(table)


def test_fractions_are_numbers():
    values = [Fraction(1, 3), Fraction(5, 2), Fraction(-1, 7)] * 10
    table = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(table)[:, 0], [float(v) for v in values]
    )


@pytest.mark.parametrize("change", ["gaps", "text", "nothing"])
@pytest.mark.parametrize(
    "names",
    [
        pd.MultiIndex.from_product([["a"], [1, 2, 3]]),
        pd.MultiIndex.from_tuples([("a", "b", 1), ("a", "c", 1), ("b", "b", 2.5)]),
        pd.Index([1, 2, 3]),
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
    ],
)
def test_tables_with_any_names_are_predicted_as_they_are_fitted(names, change):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)))
    if change == "gaps":
        table = table.mask(rng.random((40, 3)) < 0.2)
    if change == "text":
        table[1] = rng.choice(["u", "v"], 40)
    table.columns = names
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2).fit(table, rng.normal(size=40))
    assert np.isfinite(model.predict(table)).all()
    assert len(model.explain(None)) >= 1


def arrow_lists():
    pa = pytest.importorskip("pyarrow")
    return pd.array([[1, 2]] * 30, dtype=pd.ArrowDtype(pa.list_(pa.int64())))


def arrow_bytes():
    pa = pytest.importorskip("pyarrow")
    return pd.array([b"a", b"b"] * 15, dtype=pd.ArrowDtype(pa.binary()))


UNUSABLE = {
    "lists": (lambda: pd.Series([[1, 2]] * 30), "holds lists"),
    "arrow lists": (arrow_lists, "holds lists"),
    "arrow bytes": (arrow_bytes, "holds binary data"),
    "complex": (lambda: np.arange(30) * (1 + 1j), "complex numbers"),
    "complex objects": (lambda: pd.Series([1j, 2.0] * 15, dtype=object), "complex numbers"),
    "surrogates": (lambda: pd.Series(["a\udc80", "b"] * 15, dtype=object), r"'a\\udc80'"),
    "surrogate categories": (
        lambda: pd.Categorical.from_codes([0, 1] * 15, pd.Index(["a\udc80", "b"], dtype=object)),
        "no Unicode",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_values_that_cannot_be_used_are_named_with_their_column(case):
    make, words = UNUSABLE[case]
    rng = np.random.default_rng(0)
    good = pd.DataFrame({"a": rng.normal(size=30), "d": rng.choice(["u", "v"], 30)})
    numbers = pd.DataFrame({"a": rng.normal(size=30), "d": np.arange(30) % 4.0})
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2)
    gaps = numbers.mask(rng.random((30, 2)) < 0.1)
    for table in (good, gaps):
        bad = table.assign(d=make())
        with pytest.raises(ValueError, match=f"'d'.*{words}") as found:
            clone(model).fit(bad, good["a"])
        assert "'category'" not in str(found.value)  # no advice that does not help
        with pytest.raises(ValueError, match=f"'d'.*{words}"):
            clone(model).fit(table, good["a"]).predict(bad)
    if case == "complex":
        with pytest.raises(ValueError, match="column 'd' of X must be real; got complex"):
            clone(model).fit(numbers.assign(d=make()), good["a"])


@pytest.mark.parametrize("gaps", [False, True])
def test_names_that_cannot_be_written_are_refused(gaps):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)))
    table = table.mask(rng.random((30, 2)) < 0.1) if gaps else table
    table.columns = pd.Index(["a", "b\udc80"], dtype=object)
    for estimator in (MKLRegressor(degree=1), TableEncoder()):
        with pytest.raises(TableError, match=r"names of columns must be Unicode.*'b\\udc80'"):
            estimator.fit(table, rng.normal(size=30))


@pytest.mark.parametrize("odd", [True, "?", " none"])
def test_what_is_advised_for_mixtures_helps(odd):
    values = pd.Series([odd, *[0.5, 1.5, 2.5] * 10], dtype=object)
    table = pd.DataFrame({"d": values, "x": np.arange(31) % 5})
    with pytest.raises(TableError, match="'d' mixes numbers and") as found:
        TableEncoder().fit(table)
    assert repr(odd) in str(found.value)
    assert "X.astype({'d': 'category'})" in str(found.value)
    assert TableEncoder().fit(table.astype({"d": "category"})).levels_["d"]
    if isinstance(odd, str):
        assert f"X.replace({odd!r}, None)" in str(found.value)
        assert not TableEncoder().fit(table.replace(odd, None)).levels_.get("d")
    else:
        assert "X.replace" not in str(found.value)


def test_tables_without_values_are_refused_by_their_columns():
    table = pd.DataFrame({"a": [np.nan] * 40, "b": [None] * 40, "c": 1.0})
    with pytest.raises(TableError, match=r"column 'a' has no values.*'c' has the same value"):
        MKLRegressor(degree=1).fit(table, np.arange(40.0))


def test_no_rows_at_prediction(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="X must have at least 1 row; got n_samples=0"):
        model.predict(X.iloc[:0])


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_none_at_prediction_is_missing(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    table["b"] = np.arange(30) % 7
    model = MKLRegressor(degree=1).fit(table, table["a"])
    rows = table.iloc[:4].astype({"b": float})
    rows.iloc[1, 1] = np.nan
    known = model.predict(rows)
    objects = rows.astype(object).where(rows.notna(), None)
    if kind == "array":
        model, objects = (
            MKLRegressor(degree=1).fit(table.to_numpy(), table["a"]),
            objects.to_numpy(),
        )
    np.testing.assert_array_equal(model.predict(objects), known)


@pytest.mark.parametrize("kind", ["datetime64[ns]", object, "category"])
def test_dates_as_categories_do_not_depend_on_each_other(kind):
    days = pd.to_datetime(["2024-01-01", "2024-01-02"] * 20)
    table = pd.DataFrame({"day": days, "x": np.arange(40.0) ** 1.5}).astype({"day": kind})
    encoder = TableEncoder(categories=["day"]).fit(table)
    assert encoder.levels_ == {"day": ["2024-01-01", "2024-01-02"]}
    times = pd.to_datetime(["2024-01-02 00:00", "2024-01-01 00:00", "2024-01-02 10:00"])
    new = pd.DataFrame({"day": times, "x": 1.0}).astype({"day": kind})
    with pytest.warns(UserWarning, match="such as '2024-01-02 10:00:00'; they count as average"):
        assert encoder.transform(new)[:, 0].tolist() == [1, 0, -1]


def test_tables_of_numbers_change_nothing():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    table["one"] = 1  # a constant, and row numbers, stay
    table["row"] = np.arange(50)
    y = table["a"] * table["b"]
    model = MKLRegressor(degree=2).fit(table, y)
    assert not hasattr(model, "encoder_")
    plain = MKLRegressor(degree=2).fit(table.to_numpy(), y)
    np.testing.assert_array_equal(model.predict(table), plain.predict(table.to_numpy()))
    nullable = table.astype({"one": "Int64", "a": "Float64"})
    assert not hasattr(clone(model).fit(nullable, y), "encoder_")
    # What an earlier fit knew of another table is forgotten.
    mixed, target = frame()
    again = clone(model).set_params(kernels="auto", p=1, degree=1).fit(mixed, target)
    assert hasattr(again, "encoder_")
    assert not hasattr(again.fit(table, y), "encoder_")


def test_gaps_after_training_without_any_are_medians():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(51, 3)), columns=list("abc"))
    model = MKLRegressor(degree=2).fit(table, table["a"] * table["b"])
    np.testing.assert_array_equal(model.medians_, table.median())
    gaps, middle = table.copy(), table.copy()
    gaps.iloc[4:9, 1], middle.iloc[4:9, 1] = np.nan, table["b"].median()
    known = model.predict(middle)
    for rows in (gaps, gaps.astype({"b": "Float64"}), polars(gaps)):
        np.testing.assert_array_equal(model.predict(rows), known)
    bare = clone(model).fit(table.to_numpy(), table["a"] * table["b"])
    np.testing.assert_array_equal(bare.predict(gaps.to_numpy()), known)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(gaps[["b", "a", "c"]])
    with pytest.raises(ValueError, match="column 'b' of X must hold numbers"):
        model.predict(gaps.assign(b="text"))


def test_arrays_with_text_and_gaps():
    X, y = frame()
    values = X[["area", "town"]].astype(object).to_numpy()
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2).fit(values, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    assert set(model.explain(None)["term"]) <= {"x0", "x0 is missing", "x1"}
    assert model.score(values, y) > 0.8
    with pytest.raises(ValueError, match="X has 1 features, but TableEncoder is expecting 2"):
        model.predict(values[:, :1])
    gaps = np.column_stack([X["area"], np.arange(ROWS) % 7])
    assert hasattr(MKLRegressor(degree=1).fit(gaps, y), "encoder_")


def test_explanations_name_columns_and_categories(fitted):
    pytest.importorskip("matplotlib")
    from manykernels.plot import ContributionsDisplay, EffectDisplay

    model, X, _ = fitted
    terms = model.explain(None)["term"].tolist()
    assert {"area", "town", "rooms"} <= set(terms)
    parts = model.contributions(X)
    assert parts.columns.tolist() == ["intercept", *terms]
    assert parts.index.equals(X.index)
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(X))
    drawn = EffectDisplay.from_estimator(model, X, "town")
    assert drawn.variables[0].names == ("Bonn", "Jena", "Ulm", "(missing)")
    means = {
        name: parts["town"][X["town"].fillna("(missing)") == name].mean()
        for name in drawn.variables[0].names
    }
    np.testing.assert_allclose(drawn.values, list(means.values()))
    bars = ContributionsDisplay.from_estimator(model, X, 60)
    assert any(f"town = {X['town'][60]}" in name for name in bars.names)


def test_models_are_kept(fitted, tmp_path):
    model, X, _ = fitted
    for other in (load(model.save(tmp_path / "m.mk")), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.encoder_.columns_ == model.encoder_.columns_
        np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)
    encoder = pickle.loads(pickle.dumps(model.encoder_))
    np.testing.assert_array_equal(encoder.transform(X), model.encoder_.transform(X))


def test_classes_baselines_and_selections_take_tables(fitted):
    _, X, y = fitted
    labels = np.where(y > np.median(y), "dear", "cheap")
    model = MKLClassifier(kernels="auto", degree=1, p=1, alpha=1e-2).fit(X, labels)
    assert model.score(X, labels) > 0.85
    UniformProductKernel(kernels="auto", degree=1).fit(X, y).predict(X)
    simple = MKLRegressor(kernels="auto", degree=1, p=1)
    for kind, few in ((SplitTest, {"n_splits": 3}), (StabilitySelection, {"n_pairs": 2})):
        selection = kind(simple, random_state=0, **few).fit(X, y)
        assert selection.feature_names_in_.tolist() == X.columns.tolist()
        assert "area" in selection.table_["term"].tolist()
        assert "sure" in clone(simple).fit(X, y).explain(3, selection)


def test_in_pipelines_and_cross_validation():
    X, y = frame()
    pipeline = make_pipeline(TableEncoder(categories=["rooms"]), LinearRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5
    assert pipeline.fit(X, y)[0].levels_["rooms"] == [*"12345", "(missing)"]
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7


def test_tags():
    for estimator in (MKLRegressor(), MKLClassifier(), TableEncoder(), SplitTest(MKLRegressor())):
        tags = get_tags(estimator).input_tags
        assert tags.allow_nan
        assert tags.string
        assert tags.categorical
    assert not get_tags(MKLRegressor(kernels="precomputed")).input_tags.allow_nan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernels": "rbf"}, "must be \"categorical\" for columns of categories; got 'rbf'"),
        ({"kernels": [("rbf", 0)]}, "must name columns of a table"),
        ({"kernels": [("spline", "town")]}, "must be \"categorical\" .*'town'"),
    ],
)
def test_kernels_that_categories_cannot_have(change, message):
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        MKLRegressor(**change).fit(X, y)


def test_kernels_by_name_of_columns():
    X, y = frame()
    model = MKLRegressor(kernels=[("linear", "area"), ("categorical", "town")], degree=1).fit(X, y)
    assert set(model.explain(None)["term"]) <= {"area", "town", "1"}


def test_columns_that_cannot_be_used_are_named_with_a_way_out():
    X, y = frame()
    odd = X.assign(mixed=["?" if i % 9 == 0 else str(i / 3) for i in range(ROWS)])
    with pytest.raises(TableError, match=r"'mixed' mixes numbers and text.*X\.replace\('\?', None"):
        MKLRegressor().fit(odd, y)
    with pytest.raises(TableError, match=r"X\.drop\(columns=\['mixed'\]\)"):
        MKLRegressor().fit(odd, y)
    with pytest.raises(TableError, match="more than once"):
        MKLRegressor().fit(pd.concat([X, X[["town"]]], axis=1), y)
    with pytest.raises(ValueError, match=r"contains infinity|infinite"):
        MKLRegressor().fit(X.assign(area=X["area"].where(X.index != 5, np.inf)), y)
    with pytest.raises(TableError, match="categories must name columns of X; got 'none'"):
        TableEncoder(categories=["none"]).fit(X)


def test_a_pipeline_is_shown_as_its_last_step_with_names():
    pytest.importorskip("matplotlib")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from manykernels.plot import EffectDisplay, TermsDisplay

    X, y = frame(gaps=False)
    steps = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["area"]))
    last = MKLRegressor(kernels="auto", degree=2, p=1, alpha=1e-2)
    pipeline = make_pipeline(steps, last).fit(X, y)
    own = pipeline[-1].explain(None)["term"].tolist()
    names = steps.get_feature_names_out().tolist()
    model, rows, _ = taken_apart(pipeline, X)
    expected = [" * ".join(names[int(one[1:])] for one in name.split(" * ")) for name in own]
    assert model.explain(None)["term"].tolist() == expected
    ticks = TermsDisplay.from_estimator(pipeline).ax_.get_yticklabels()
    assert any("area" in tick.get_text() for tick in ticks)
    np.testing.assert_allclose(model.predict(rows), pipeline.predict(X))
    known = pipeline[-1].contributions(pipeline[:-1].transform(X))
    found = model.contributions(rows)
    np.testing.assert_array_equal(found.to_numpy(), known.to_numpy())
    assert pipeline[-1].explain(None)["term"].tolist() == own  # the model itself stays
    drawn = EffectDisplay.from_estimator(pipeline, X, "standardscaler__area")
    np.testing.assert_allclose(np.sign(np.diff(drawn.values)), 1.0)
    coded = make_pipeline(TableEncoder(), clone(last)).fit(X, y)
    assert EffectDisplay.from_estimator(coded, X, "town").variables[0].names == (
        "Bonn",
        "Jena",
        "Ulm",
    )


def test_reports_of_tables_and_pipelines(tmp_path):
    pytest.importorskip("matplotlib")
    from manykernels import report

    X, y = frame()
    X = X[["area", "town"]]
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-2)
    for one in (clone(model).fit(X, y), make_pipeline(TableEncoder(), model).fit(X, y)):
        text = report.write(one, X, y, tmp_path / "a.html").read_text(encoding="utf-8")
        assert "town" in text
        assert "Jena" in text


@pytest.mark.parametrize("number", ["{},5", "{}.5", "{},50 €", "$1,{}00.25", "{},5 %", "1.{}00,5"])
@pytest.mark.parametrize("odd", ["k.A.", "n/a", "-", "1.2.3.x", "u. Nachw., s.u."])
def test_words_among_numbers_are_told_of_however_numbers_are_written(number, odd):
    values = [number.format(1 + i % 9) for i in range(95)] + [odd] * 5
    table = pd.DataFrame({"a": values, "b": np.arange(100) % 7})
    with pytest.raises(TableError, match=r"'a' mixes numbers and text \(such as .*, in 5 rows"):
        TableEncoder().fit(table)


def test_levels_of_an_ordered_type_keep_its_order(rng):
    """Bars of low, mid and high stand in that order; the model is that of the same text."""
    names = ["low", "mid", "high", "top"]
    text = pd.DataFrame({"grade": rng.choice(names[:3], 60)})
    frame = text.astype(pd.CategoricalDtype(names, ordered=True))
    y = frame["grade"].cat.codes + 0.1 * rng.normal(size=60)
    model, other = (MKLRegressor(degree=1, alpha=0.01).fit(X, y) for X in (frame, text))
    assert model.encoder_.levels_ == {"grade": ["low", "mid", "high"]}
    assert other.encoder_.levels_ == {"grade": ["high", "low", "mid"]}
    assert model.predict(frame) == pytest.approx(other.predict(text))
    assert model.predict(text) == pytest.approx(other.predict(frame))
    plain = text.astype("category")
    assert TableEncoder().fit(plain).levels_ == other.encoder_.levels_
