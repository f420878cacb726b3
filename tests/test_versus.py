"""Is a model better than no model: by its losses on rows, with their standard error."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_squared_error

from manykernels.baselines.simple import SimpleModels
from manykernels.baselines.versus import (
    Lead,
    Versus,
    hardly_predicted,
    is_linear,
    lead,
    remarks,
    versus,
)
from manykernels.tables import Settings, fit_table, split_table
from manykernels.words import SPACE


class Fixed:
    """A model that predicts what it is told."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def predict(self, X):
        return self.values


def rows(size, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    return X, 3 * X[:, 0] + rng.normal(size=size)


def simple(X, y, classes=False):
    return SimpleModels.fit(X, y, [[], []], classes)


def test_squared_errors_are_compared_row_by_row():
    X, y = rows(80)
    model = LinearRegression().fit(X[:40], y[:40])
    plain = simple(X[:40], y[:40])
    found = versus(model, X[40:], y[40:], plain)
    own, constant = (y[40:] - model.predict(X[40:])) ** 2, (y[40:] - y[:40].mean()) ** 2
    assert found.constant.amount == pytest.approx(np.mean(constant) - np.mean(own))
    error = np.std(constant - own, ddof=1) / np.sqrt(40)
    assert found.constant.error == pytest.approx(error)
    linear = mean_squared_error(y[40:], plain.predict(X[40:]))
    assert found.linear.amount == pytest.approx(linear - np.mean(own))
    assert found.useful
    (said,) = found.said("40 rows")  # it is one, and as good as one
    assert said.startswith("a linear model predicts as well on 40 rows")


def test_log_losses_are_compared_row_by_row():
    X, y = rows(300)
    y = y > 3.5  # a tenth or so
    model = LogisticRegression().fit(X[:150], y[:150])
    found = versus(model, X[150:], y[150:], simple(X[:150], y[:150], True))
    prior = DummyClassifier(strategy="prior").fit(X[:150], y[:150])
    own, other = (log_loss(y[150:], one.predict_proba(X[150:])) for one in (model, prior))
    assert found.constant.amount == pytest.approx(other - own)
    assert found.useful
    alike = versus(prior, X[150:], y[150:], simple(X[:150], y[:150], True))
    assert not alike.useful
    assert (
        "no better than the frequencies of the classes in the training rows"
        in (alike.said("150 rows")[0])
    )


def test_rows_of_a_group_are_judged_together():
    """Leads that come from few groups are chance, however many rows the groups have."""
    rng = np.random.default_rng(0)
    clear = {True: 0, False: 0}
    for _ in range(300):
        groups = np.repeat(np.arange(20), 15)
        parts = (rng.normal(size=20)[groups] + rng.normal(size=300)) / 2
        for known in clear:
            clear[known] += lead(np.zeros(300), parts, groups if known else None).clear
    assert clear[True] < 0.06 * 300 < 0.2 * 300 < clear[False]


def test_groups_of_one_row_are_rows():
    rng = np.random.default_rng(0)
    own, other = rng.normal(size=(2, 50))
    alone, as_groups = lead(own, other), lead(own, other, rng.permutation(50) + 7)
    assert as_groups.amount == alone.amount
    assert as_groups.error == pytest.approx(alone.error, rel=1e-12)
    twice = lead(np.repeat(own, 2), np.repeat(other, 2), np.repeat(np.arange(50), 2))
    assert twice.error == pytest.approx(alone.error, rel=1e-12)
    assert lead(own, other, np.zeros(50)).error == np.inf


def test_a_gain_within_two_standard_errors_is_none():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    gain = np.where(np.arange(80) % 2, 0.5, -0.25)  # better on average, by chance
    model = Fixed(y.mean() + gain * (y - y.mean()))
    found = versus(model, np.zeros((80, 2)), y)
    assert found.constant.amount > 0
    assert not found.useful
    assert found.useful is None
    (said,) = found.said("80 rows")
    assert said == (
        "80 rows are too few to tell whether this model predicts better than the mean of these "
        "rows: its squared error is lower, but not by two standard errors. Do not read much into "
        "its terms, unless a test says that they stand."
    )


def test_no_gain_is_no_better():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    found = versus(Fixed(y.mean() - 0.1 * (y - y.mean())), np.zeros((80, 2)), y)
    assert found.useful is False
    assert found.said("80 rows")[0].startswith("this model predicts no better than the mean of")


def test_a_rare_class_in_few_rows_is_left_open():
    """As of 17 frauds in 900 rows: lower losses that so few rows cannot prove."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 2))
    y = rng.random(4000) < 1 / (1 + np.exp(4.5 - X[:, 0]))
    model = LogisticRegression().fit(X[:3000], y[:3000])
    few, many = (
        versus(model, X[3000:end], y[3000:end], simple(X[:3000], y[:3000], True))
        for end in (3200, 4000)
    )
    assert many.useful is True
    assert few.useful is None
    assert few.constant.amount > 0
    said = few.said("200 held-out rows")
    assert said[0].startswith("200 held-out rows are too few to tell whether this model predicts")
    assert "no better" not in " ".join(said)


@pytest.mark.parametrize("kernels", ["linear", "auto", "polynomial"])
def test_a_linear_model_is_called_so(kernels):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "k": rng.choice(list("uvw"), 300)})
    y = frame["a"] + (frame["k"] == "u") + 0.1 * rng.normal(size=300)
    frame = frame.assign(target=np.sin(3 * y) if kernels == "auto" else y)
    model = fitted(frame, kernels=kernels, degree=[1])
    linear = kernels == "linear"
    assert is_linear(model.estimator) == linear
    rows = model.encode(frame)
    found = versus(model.estimator, rows, frame["target"].to_numpy(), model.simple)
    if linear:
        said = Versus(*[*vars(found).values()][:2], Lead(-0.1, 0.01), False, True, 0.5, True)
        assert said.said("60 rows") == [
            "this model is linear, and another linear model predicts better on 60 rows: its "
            f"squared error is lower by 20{SPACE}%."
        ]
        said = Versus(*[*vars(found).values()][:2], Lead(-0.01, 0.06), False, True, 0.5, True)
        assert said.said("60 rows") == [
            "this model is linear, and another linear model predicts as well on 60 rows: the "
            "difference is within two standard errors."
        ]


@pytest.mark.parametrize("straight", [False, True])
def test_a_difference_within_its_standard_errors_is_none(straight):
    for amount in (-1.9, -1.0, 0.0, 1.0, 1.9):
        found = Versus(Lead(9.0, 1.0), True, Lead(amount, 1.0), False, True, 50.0, straight)
        (said,) = found.said("60 rows")
        assert "predicts as well" in said
        assert "better" not in said


@pytest.mark.parametrize(
    ("straight", "amount", "words"),
    [
        (
            False,
            1.5,
            "60 rows, the latest, are too few to tell whether a linear model predicts as "
            f"well: its squared error is higher by 15{SPACE}%, but not by two standard errors.",
        ),
        (
            True,
            -1.5,
            "this model is linear, and 60 rows, the latest, are too few to tell whether "
            f"another linear model predicts better: its squared error is lower by 15{SPACE}%, but "
            "not by two standard errors.",
        ),
    ],
)
def test_a_large_difference_that_may_be_chance_is_not_called_none(straight, amount, words):
    found = Versus(Lead(9.0, 1.0), True, Lead(amount, 1.0), False, True, 10.0, straight)
    assert found.said("60 rows, the latest") == [words]


@pytest.mark.parametrize("amount", [0.0, 0.02])
def test_without_a_mistake_there_is_no_share_of_them(amount):
    found = Versus(Lead(0.5, 0.1), True, Lead(amount, 0.02), True, True, 0.0, chances=False)
    (said,) = found.said("40 rows")
    assert said.startswith("a linear model predicts as well on 40 rows")


def test_rows_as_the_subject_of_a_sentence():
    found = Versus(Lead(1.0, 1.0), True, None, False, True)
    said = (found.said(f"1,200 held-out rows{rest}")[0] for rest in ("", ", the latest by 'day'"))
    assert next(said).startswith("1,200 held-out rows are too few")
    assert next(said).startswith("1,200 held-out rows, the latest by 'day', are too few")


def test_worse_than_the_mean_of_the_rows_is_said():
    X, y = rows(100)
    later = y[50:] + 40  # a trend that the training rows do not have
    model = Fixed(np.full(50, y[:50].mean() + 3.0))
    found = versus(model, X[50:], later, simple(X[:50], y[:50]))
    assert found.constant.clear
    assert not found.useful
    assert found.said("50 rows")[0] == (
        "this model predicts worse than the mean of the rows predicted (50 rows): R² is below "
        "zero. Do not read much into its terms, unless a test says that they stand."
    )
    model = Fixed(np.full(50, y[:50].mean()))
    assert (
        versus(model, X[50:], later, simple(X[:50], y[:50]))
        .said("50 rows")[0]
        .endswith("R² below zero means worse than the mean of the rows predicted.")
    )


def test_rows_that_tell_nothing():
    assert versus(Fixed([1.0]), np.zeros((1, 2)), np.ones(1)) is None
    assert remarks(Fixed(np.ones(9)), np.zeros((9, 2)), np.ones(9), None, "9 rows") == ([], None)


def test_classes_that_are_hardly_ever_predicted():
    y = np.array(["a"] * 70 + ["b"] * 25 + ["c"] * 5)
    said = hardly_predicted(y, np.array(["a"] * 98 + ["b"] * 2), ["a", "b", "c"], "100 rows")
    assert said == [
        "the class b is hardly ever predicted: for 2 of 100 rows, though 25 have it.",
        "the class c is never predicted, though 5 of 100 rows have it.",
    ]
    assert hardly_predicted(y, y, ["a", "b", "c"], "100 rows") == []
    many = hardly_predicted(np.arange(9), np.zeros(9), list(range(9)), "9 rows")
    assert many[0] == "the class 1 is never predicted, though 1 of 9 rows has it."
    assert many[-1] == "5 more classes are never or hardly ever predicted."


def table(size, target, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(size, 4)), columns=list("abcd"))
    return frame.assign(target=target(frame, rng))


def fitted(frame, **options):
    settings = Settings("target", **{"kernels": "auto", **options})
    return fit_table(split_table(frame, settings), settings)


def test_noise_is_called_so_and_a_straight_line_is_not():
    for seed in range(3):
        noise = fitted(table(300, lambda X, rng: rng.normal(size=len(X)), seed), degree=[1])
        assert not noise.summary["useful"]
        assert any("Do not read much into its terms, " in n for n in noise.summary["notes"])
    line = fitted(table(300, lambda X, rng: 3 * X["a"] + rng.normal(size=len(X))), degree=[1])
    assert line.summary["useful"] is True
    assert not any("Do not read" in note for note in line.summary["notes"])


def test_rare_classes_are_judged_by_the_log_loss():
    def rare(X, rng):
        return np.where(X["a"] + 2.2 * rng.normal(size=len(X)) > 4.5, "yes", "no")

    model = fitted(table(1500, rare), degree=[1])
    assert model.summary["useful"] is True
    assert list(model.summary["measures"]["this model"]) == ["log loss", "AUC", "accuracy"]
    assert any("the class yes is never predicted" in note for note in model.summary["notes"])
