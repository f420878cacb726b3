import gzip
import os
from collections import Counter
from http.client import IncompleteRead
from itertools import product
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare
from sklearn.utils import Bunch

from manykernels.datasets import load_paper, make_sparse_polynomial

DATA = os.environ.get("MANYKERNELS_DATA")
# rows, variables, rows of class -1 and +1, and the paper's split
FACTS = {
    "german": (1000, 20, 700, 300, (350, 150, 500)),
    "ionosphere": (351, 34, 126, 225, (140, 36, 175)),
    "ringnorm": (7400, 20, 3664, 3736, (500, 1000, 2000)),
    "sonar": (208, 60, 97, 111, (83, 21, 104)),
    "splice": (2991, 60, 1344, 1647, (500, 1000, 1491)),
    "waveform": (5000, 21, 3353, 1647, (500, 1000, 2000)),
}
GERMAN_LABELS = {
    "checking_status": (1, ["<0", "0<=X<200", ">=200", "no checking"]),
    "credit_history": (
        0,
        [
            "no credits/all paid",
            "all paid",
            "existing paid",
            "delayed previously",
            "critical/other existing credit",
        ],
    ),
    "purpose": (
        0,
        [
            "new car",
            "used car",
            "furniture/equipment",
            "radio/tv",
            "domestic appliance",
            "repairs",
            "education",
            "vacation",
            "retraining",
            "business",
            "other",
        ],
    ),
    "savings": (1, ["<100", "100<=X<500", "500<=X<1000", ">=1000", "no known savings"]),
    "employment": (1, ["unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"]),
    "personal_status": (1, ["male div/sep", "female div/dep/mar", "male single", "male mar/wid"]),
    "other_parties": (1, ["none", "co applicant", "guarantor"]),
    "property": (1, ["real estate", "life insurance", "car", "no known property"]),
    "other_payment_plans": (1, ["bank", "stores", "none"]),
    "housing": (1, ["rent", "own", "for free"]),
    "job": (
        1,
        [
            "unemp/unskilled non res",
            "unskilled resident",
            "skilled",
            "high qualif/self emp/mgmt",
        ],
    ),
    "own_telephone": (1, ["none", "yes"]),
    "foreign_worker": (1, ["yes", "no"]),
}
OPENML_NAMES = {
    "savings": "savings_status",
    "installment_rate": "installment_commitment",
    "property": "property_magnitude",
}


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    monkeypatch.delenv("MANYKERNELS_DATA", raising=False)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def fetch(**_):
        pytest.fail("OpenML was asked")

    monkeypatch.setattr("manykernels.datasets.openml.fetch_openml", fetch)


def local(name):
    """Return the file of a data set, or skip the test."""
    path = Path(DATA or "", "paper", f"{name}.csv.gz")
    if not DATA or not path.is_file():
        pytest.skip(f"needs {name}.csv.gz in the folder paper/ of MANYKERNELS_DATA")
    return path


def write(frame, folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / f"{name}.csv.gz", index=False)


def stand_in(name, positives=None):
    """Return a table with the size and the class counts of a data set, but other values."""
    n, r, _, right, _ = FACTS[name]
    frame = pd.DataFrame(np.ones((n, r)))
    frame["target"] = np.repeat([1, -1], [positives or right, n - (positives or right)])
    return frame


def serve(monkeypatch, expected_id, data, target):
    def fetch(*, data_id, as_frame):
        assert (data_id, as_frame) == (expected_id, True)
        return Bunch(data=data, target=target)

    monkeypatch.setattr("manykernels.datasets.openml.fetch_openml", fetch)


@pytest.mark.parametrize("name", FACTS)
def test_files_have_the_published_facts(name):
    path = local(name)
    loaded = load_paper(name, data_dir=DATA)
    n, r, negatives, positives, split = FACTS[name]
    assert loaded.source == "file"
    assert loaded.name == name
    assert loaded.split == split
    assert (loaded.split.train, loaded.split.validation, loaded.split.test) == split
    assert loaded.data.dtype == loaded.target.dtype == np.float64
    assert loaded.data.shape == (n, r)
    assert loaded.target.shape == (n,)
    assert Counter(loaded.target.tolist()) == {-1.0: negatives, 1.0: positives}
    frame = pd.read_csv(path)
    assert loaded.feature_names == list(frame.columns[:-1])
    np.testing.assert_array_equal(loaded.data, frame.iloc[:, :-1])
    np.testing.assert_array_equal(loaded.target, frame["target"])


@pytest.mark.parametrize("layout", ["paper", "."])
@pytest.mark.parametrize("route", ["argument", "variable"])
def test_layouts_of_the_folder(tmp_path, monkeypatch, layout, route):
    write(pd.read_csv(local("sonar")), tmp_path / layout, "sonar")
    if route == "variable":
        monkeypatch.setenv("MANYKERNELS_DATA", str(tmp_path))
        assert load_paper("sonar").source == "file"
    else:
        assert load_paper("sonar", data_dir=tmp_path).source == "file"
        assert load_paper("sonar", data_dir=str(tmp_path)).data.shape == (208, 60)


def test_argument_comes_before_the_variable(tmp_path, monkeypatch):
    write(stand_in("waveform").head(3), tmp_path / "argument" / "paper", "waveform")
    write(stand_in("waveform").head(4), tmp_path / "variable" / "paper", "waveform")
    monkeypatch.setenv("MANYKERNELS_DATA", str(tmp_path / "variable"))
    with pytest.raises(ValueError, match=r"argument.*got \(3, 21\)"):
        load_paper("waveform", data_dir=tmp_path / "argument")
    with pytest.raises(ValueError, match=r"variable.*got \(4, 21\)"):
        load_paper("waveform")


def test_folder_without_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYKERNELS_DATA", str(tmp_path))
    assert load_paper("ringnorm").source == "generated"
    with pytest.raises(FileNotFoundError, match=r"must hold paper/ringnorm\.csv\.gz") as error:
        load_paper("ringnorm", data_dir=tmp_path)
    assert str(tmp_path / "paper" / "ringnorm.csv.gz") in str(error.value)
    assert str(tmp_path / "ringnorm.csv.gz") in str(error.value)
    assert "leave data_dir out" in str(error.value)
    monkeypatch.setenv("MANYKERNELS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"MANYKERNELS_DATA must name a folder; got .*nowh"):
        load_paper("ringnorm")


@pytest.mark.parametrize("name", ["waveform_3class", "Sonar", None, ["sonar"]])
def test_wrong_name_lists_the_names(name):
    with pytest.raises(ValueError, match=r"name must be one of german, .*; got ") as error:
        load_paper(name)
    assert all(known in str(error.value) for known in FACTS)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", FACTS)
def test_wrong_files_are_refused(tmp_path, name):
    n, r, negatives, positives, _ = FACTS[name]
    write(stand_in(name).tail(-1), tmp_path / "short", name)
    with pytest.raises(ValueError, match=rf"{name} from .*shape \({n}, {r}\); got \({n - 1}, {r}"):
        load_paper(name, data_dir=tmp_path / "short")
    write(stand_in(name, positives - 1), tmp_path / "counts", name)
    rule = rf"counts of classes -1 and \+1 \({negatives}, {positives}\); got \({negatives + 1}, "
    with pytest.raises(ValueError, match=rule):
        load_paper(name, data_dir=tmp_path / "counts")
    write(stand_in(name), tmp_path / "values", name)
    with pytest.raises(ValueError, match=r"checksum of values [0-9a-f]{64}; got [0-9a-f]{64}"):
        load_paper(name, data_dir=tmp_path / "values")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_extreme_values_are_refused(tmp_path, value):
    frame = stand_in("sonar")
    frame.loc[0, 0] = value
    frame.to_csv(tmp_path / "sonar.csv.gz", index=False, na_rep="nan")
    with pytest.raises(ValueError, match="checksum of values"):
        load_paper("sonar", data_dir=tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"a,b,target\n1,2,1\n", gzip.compress(b"a,target\nx,1\n"), gzip.compress(b"a,b\n1,2\n")[:-9]],
    ids=["not gzip", "text", "truncated"],
)
def test_unreadable_files_are_refused(tmp_path, content):
    (tmp_path / "sonar.csv.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"sonar\.csv\.gz must be a gzip-compressed CSV file"):
        load_paper("sonar", data_dir=tmp_path)


def test_checksum_sees_values_not_their_writing(tmp_path):
    frame = pd.read_csv(local("sonar"))
    frame.to_csv(tmp_path / "sonar.csv.gz", index=False, float_format="%.7e")
    assert load_paper("sonar", data_dir=tmp_path).data.shape == (208, 60)
    frame.loc[100, "x30"] += 0.0001
    write(frame, tmp_path, "sonar")
    with pytest.raises(ValueError, match="checksum of values"):
        load_paper("sonar", data_dir=tmp_path)


def test_checksum_sees_columns_and_pairs(tmp_path):
    frame = pd.read_csv(local("splice"))
    swapped = frame.copy()
    swapped[["p01", "p02"]] = frame[["p02", "p01"]]
    write(swapped, tmp_path, "splice")
    with pytest.raises(ValueError, match="checksum of values"):
        load_paper("splice", data_dir=tmp_path)
    frame["target"] = np.roll(frame["target"], 1)
    write(frame, tmp_path, "splice")
    with pytest.raises(ValueError, match="checksum of values"):
        load_paper("splice", data_dir=tmp_path)


def test_only_splice_may_come_in_another_order(tmp_path):
    for name in ("splice", "german"):
        write(pd.read_csv(local(name)).iloc[::-1], tmp_path, name)
    assert load_paper("splice", data_dir=tmp_path).data.shape == (2991, 60)
    with pytest.raises(ValueError, match="checksum of values"):
        load_paper("german", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "openml_id", "labels"),
    [("ionosphere", 59, {-1: "b", 1: "g"}), ("sonar", 40, {-1: "Rock", 1: "Mine"})],
)
def test_numeric_sets_from_openml(monkeypatch, name, openml_id, labels):
    frame = pd.read_csv(local(name))
    data = frame.drop(columns="target").set_axis(
        [f"attribute_{j + 1}" for j in range(frame.shape[1] - 1)], axis=1
    )
    serve(monkeypatch, openml_id, data, frame["target"].map(labels).astype("category"))
    loaded = load_paper(name)
    assert loaded.source == "OpenML"
    assert loaded.feature_names == list(frame.columns[:-1])
    np.testing.assert_array_equal(loaded.data, frame.drop(columns="target"))
    np.testing.assert_array_equal(loaded.target, frame["target"])


def german_on_openml(frame):
    data = frame.drop(columns="target")
    for column, (first, labels) in GERMAN_LABELS.items():
        codes = dict(enumerate(labels, start=first))
        data[column] = pd.Categorical(data[column].map(codes), categories=labels)
        assert not data[column].isna().any()
    target = frame["target"].map({-1: "good", 1: "bad"}).astype("category")
    return data.rename(columns=OPENML_NAMES), target


def test_german_from_openml(monkeypatch):
    frame = pd.read_csv(local("german"))
    serve(monkeypatch, 31, *german_on_openml(frame))
    loaded = load_paper("german")
    assert loaded.source == "OpenML"
    assert loaded.feature_names == list(frame.columns[:-1])
    np.testing.assert_array_equal(loaded.data, frame.drop(columns="target"))
    np.testing.assert_array_equal(loaded.target, frame["target"])


def test_new_labels_on_openml_are_named(monkeypatch):
    data, target = german_on_openml(pd.read_csv(local("german")))
    renamed = data["purpose"].cat.rename_categories({"other": "boat"})
    serve(monkeypatch, 31, data.assign(purpose=renamed), target)
    with pytest.raises(ValueError, match=r"column purpose of german must hold 'new car', .*'boat'"):
        load_paper("german")
    serve(monkeypatch, 31, data, target.cat.rename_categories({"bad": "poor"}))
    with pytest.raises(ValueError, match=r"column target of german must hold .*; got 'poor'"):
        load_paper("german")
    serve(monkeypatch, 31, data.assign(age="old"), target)
    with pytest.raises(ValueError, match=r"column age of german must hold numbers.*'old'"):
        load_paper("german")


def test_splice_from_openml(monkeypatch, rng):
    frame = pd.read_csv(local("splice"))
    data = frame.drop(columns="target").replace({1: "A", 2: "G", 3: "C", 4: "T"})
    boundary = rng.choice(["EI", "IE"], size=len(frame))
    labels = pd.Series(np.where(frame["target"] == 1, "N", boundary))
    # The same sequence under both kinds of boundary is one row once they are merged.
    twins = labels.replace({"EI": "IE", "IE": "EI"})
    unclear = data.head(4).copy()
    for row, letter in enumerate("NDSR"):
        unclear.iloc[row, 7 * row] = letter
    data = pd.concat([data, unclear, data.head(180)], ignore_index=True)
    labels = pd.concat([labels, labels.head(4), twins.head(180)], ignore_index=True)
    data.insert(0, "Instance_name", [f"HUMAN-{i}" for i in range(len(data))])
    order = rng.permutation(len(data))
    serve(monkeypatch, 46, data.iloc[order].astype("category"), labels.iloc[order])
    loaded = load_paper("splice")
    assert loaded.source == "OpenML"
    assert loaded.feature_names == list(frame.columns[:-1])
    found = np.column_stack([loaded.data, loaded.target]).tolist()
    assert sorted(found) == sorted(frame.to_numpy(dtype=float).tolist())
    # Without the identifier it is the same; without a position it is not splice.
    serve(monkeypatch, 46, data.drop(columns="Instance_name").iloc[order], labels.iloc[order])
    np.testing.assert_array_equal(load_paper("splice").data, loaded.data)
    serve(monkeypatch, 46, data.drop(columns="p30"), labels)
    with pytest.raises(ValueError, match=r"splice from OpenML 46 .*shape \(2991, 60\).*, 59\)"):
        load_paper("splice")


def test_changed_values_on_openml_are_refused(monkeypatch):
    frame = stand_in("sonar")
    target = frame.pop("target").map({-1: "Rock", 1: "Mine"})
    serve(monkeypatch, 40, frame, target)
    with pytest.raises(ValueError, match="sonar from OpenML 40 must have the checksum of values"):
        load_paper("sonar")
    serve(monkeypatch, 40, frame.head(100), target.head(100))
    with pytest.raises(ValueError, match=r"sonar from OpenML 40 .*got \(100, 60\)"):
        load_paper("sonar")


@pytest.mark.parametrize(
    "trouble", [URLError("no route"), ConnectionResetError("gone"), IncompleteRead(b"half")]
)
def test_offline_says_what_to_do(monkeypatch, trouble):
    def fetch(**_):
        raise trouble

    monkeypatch.setattr("manykernels.datasets.openml.fetch_openml", fetch)
    with pytest.raises(OSError, match="german must be downloaded once") as error:
        load_paper("german")
    assert error.value.__cause__ is trouble
    for part in ("id 31", "network", "data_dir", "MANYKERNELS_DATA", "ringnorm and waveform"):
        assert part in str(error.value)
    assert load_paper("waveform").source == "generated"


def test_ringnorm_follows_its_definition():
    made = load_paper("ringnorm")
    assert made.source == "generated"
    assert made.data.shape == (7400, 20)
    assert made.feature_names[0] == "x01"
    assert made.feature_names[-1] == "x20"
    wide, narrow = made.data[made.target == -1], made.data[made.target == 1]
    assert len(wide) + len(narrow) == 7400
    assert abs(len(narrow) - 3700) < 5 * np.sqrt(7400) / 2
    # Means of about 3700 values: five standard errors.
    np.testing.assert_allclose(wide.mean(axis=0), 0.0, atol=5 * 2 / np.sqrt(3700))
    np.testing.assert_allclose(narrow.mean(axis=0), 2 / np.sqrt(20), atol=5 / np.sqrt(3700))
    np.testing.assert_allclose(wide.var(axis=0), 4.0, rtol=5 * np.sqrt(2 / 3700))
    np.testing.assert_allclose(narrow.var(axis=0), 1.0, rtol=5 * np.sqrt(2 / 3700))
    for part in (wide, narrow):
        assert np.abs(np.corrcoef(part.T) - np.eye(20)).max() < 0.09
    log_wide = -(made.data**2).sum(axis=1) / 8 - 20 * np.log(2)
    log_narrow = -((made.data - 2 / np.sqrt(20)) ** 2).sum(axis=1) / 2
    bayes = np.where(log_narrow > log_wide, 1, -1)
    assert np.mean(bayes != made.target) == pytest.approx(0.013, abs=0.005)


def test_waveform_follows_its_definition():
    made = load_paper("waveform")
    assert made.source == "generated"
    assert made.data.shape == (5000, 21)
    positive = made.target == 1
    assert np.all(made.target[~positive] == -1)
    assert abs(positive.sum() - 5000 / 3) < 5 * np.sqrt(5000 * 2 / 9)

    position = np.arange(1, 22)
    wave = {c: np.clip(6 - np.abs(position - c), 0, None) for c in (7, 11, 15)}
    means = {pair: (wave[pair[0]] + wave[pair[1]]) / 2 for pair in ((7, 15), (7, 11), (15, 11))}
    np.testing.assert_allclose(made.data[positive].mean(axis=0), means[7, 11], atol=0.2)
    both = (means[7, 15] + means[15, 11]) / 2
    np.testing.assert_allclose(made.data[~positive].mean(axis=0), both, atol=0.2)
    variance = 1 + (wave[7] - wave[11]) ** 2 / 12
    np.testing.assert_allclose(made.data[positive].var(axis=0), variance, atol=0.4)

    steps = (np.arange(50) + 0.5) / 50
    density = {}
    for a, b in means:
        centres = steps[:, None] * wave[a] + (1 - steps[:, None]) * wave[b]
        squares = (made.data**2).sum(1)[:, None] - 2 * made.data @ centres.T + (centres**2).sum(1)
        density[a, b] = np.exp(-squares / 2).mean(axis=1)
    bayes = density[7, 11] > density[7, 15] + density[15, 11]
    # The exact rule errs on 8.86 % of the rows of the original file.
    assert np.mean(bayes != positive) == pytest.approx(0.0886, abs=0.02)


@pytest.mark.parametrize("name", ["ringnorm", "waveform"])
def test_generated_sets_are_always_the_same(name):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = load_paper(name), load_paper(name)
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.target, second.target)
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    first.data[:] = 0
    assert np.any(load_paper(name).data != 0)


def powers(problem, r):
    return [tuple(term.count(j) for j in range(r)) for term in problem.terms]


@pytest.mark.parametrize(("r", "degree", "terms"), [(5, 3, 10), (100, 3, 10), (2, 2, 5), (3, 6, 4)])
def test_target_is_the_polynomial(rng, r, degree, terms):
    problem = make_sparse_polynomial(r, 50, terms=terms, degree=degree, random_state=rng)
    X = problem.data
    assert X.shape == (50, r)
    assert np.abs(X).max() <= 1
    assert len(set(problem.terms)) == len(problem.terms) == terms
    assert problem.coefficients.tolist() == [1.0] * terms
    for term in problem.terms:
        assert isinstance(term, tuple)
        assert all(type(j) is int and 0 <= j < r for j in term)
        assert list(term) == sorted(term)
        assert 1 <= len(term) <= degree
    expected = sum(np.prod(X ** np.array(power), axis=1) for power in powers(problem, r))
    np.testing.assert_allclose(problem.target, expected, atol=1e-12)


def test_inputs_are_uniform(rng):
    X = make_sparse_polynomial(4, 10_000, random_state=rng).data
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=6 * np.sqrt(1 / 3e4))
    np.testing.assert_allclose((X**2).mean(axis=0), 1 / 3, atol=6 * np.sqrt(4 / 45e4))
    counts = np.histogram(X, bins=10, range=(-1, 1))[0]
    assert chisquare(counts).pvalue > 1e-6


def test_monomials_are_equally_likely(rng):
    drawn = Counter(
        make_sparse_polynomial(2, 1, terms=1, degree=2, random_state=rng).terms[0]
        for _ in range(2000)
    )
    assert set(drawn) == {(0,), (1,), (0, 0), (0, 1), (1, 1)}
    assert chisquare(list(drawn.values())).pvalue > 1e-6


def test_pairs_of_monomials_are_equally_likely(rng):
    drawn = Counter(
        frozenset(make_sparse_polynomial(2, 1, terms=2, degree=2, random_state=rng).terms)
        for _ in range(2000)
    )
    assert len(drawn) == 10
    assert chisquare(list(drawn.values())).pvalue > 1e-6


def test_degrees_have_the_right_shares(rng):
    r, degree = 4, 3
    exponents = [e for e in product(range(degree + 1), repeat=r) if 1 <= sum(e) <= degree]
    shares = Counter(map(sum, exponents))
    drawn = Counter(
        len(make_sparse_polynomial(r, 1, terms=1, degree=degree, random_state=rng).terms[0])
        for _ in range(1500)
    )
    expected = [1500 * shares[k] / len(exponents) for k in (1, 2, 3)]
    assert chisquare([drawn[k] for k in (1, 2, 3)], expected).pvalue > 1e-6


def test_many_variables(rng):
    problem = make_sparse_polynomial(10_000, 3, terms=200, random_state=rng)
    numbers = np.concatenate(problem.terms)
    assert len(set(problem.terms)) == 200
    # A share of 0.9994 of the terms has degree 3.
    assert sum(len(term) == 3 for term in problem.terms) > 190
    assert chisquare(np.histogram(numbers, bins=5, range=(0, 10_000))[0]).pvalue > 1e-6


def test_all_monomials():
    problem = make_sparse_polynomial(3, 2, terms=19, degree=3, random_state=0)
    every = {e for e in product(range(4), repeat=3) if 1 <= sum(e) <= 3}
    assert set(powers(problem, 3)) == every
    rule = "terms must be at most 19, the number of monomials of degree 1 to 3 in 3 variables"
    with pytest.raises(ValueError, match=f"{rule}; got 20. Use fewer terms"):
        make_sparse_polynomial(3, 2, terms=20)


def test_noise_is_added_to_the_same_problem():
    exact = make_sparse_polynomial(5, 4000, random_state=3)
    noisy = make_sparse_polynomial(5, 4000, noise=0.5, random_state=3)
    assert exact.terms == noisy.terms
    np.testing.assert_array_equal(exact.data, noisy.data)
    noise = noisy.target - exact.target
    assert noise.mean() == pytest.approx(0, abs=6 * 0.5 / np.sqrt(4000))
    assert noise.std() == pytest.approx(0.5, rel=6 / np.sqrt(8000))


@pytest.mark.parametrize(
    "state", [lambda: 7, lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)]
)
def test_random_state(state):
    first, second = (make_sparse_polynomial(6, 9, noise=1, random_state=state()) for _ in "ab")
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.target, second.target)
    assert first.terms == second.terms
    assert make_sparse_polynomial(6, 400, random_state=state()).terms == first.terms
    used = state()
    if not isinstance(used, int):
        make_sparse_polynomial(6, 9, random_state=used)
        assert make_sparse_polynomial(6, 9, random_state=used).terms != first.terms
    assert make_sparse_polynomial(6, 9, random_state=8).terms != first.terms


def test_no_random_state_is_another_problem_each_time():
    first, second = (make_sparse_polynomial(50, 9) for _ in range(2))
    assert first.terms != second.terms
    assert np.any(first.data != second.data)


@pytest.mark.parametrize("argument", ["r", "n", "terms", "degree"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
def test_wrong_counts_are_named(argument, value):
    arguments = {"r": 5, "n": 3, "terms": 1, "degree": 2} | {argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must be an integer >= 1; got {value!r}. "):
        make_sparse_polynomial(**arguments)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "much", None])
def test_wrong_noise_is_named(value):
    with pytest.raises(ValueError, match=r"^noise must be a number >= 0; got "):
        make_sparse_polynomial(5, 3, noise=value)


def test_numpy_numbers_are_accepted():
    problem = make_sparse_polynomial(np.int64(5), np.int32(3), noise=np.float32(0), random_state=1)
    plain = make_sparse_polynomial(5, 3, random_state=1)
    np.testing.assert_array_equal(problem.target, plain.target)
