"""The oracle tells clear, right and wrong apart: it is tried on faults that are planted."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from attack import numerical
from attack.case import rows, sound
from attack.oracle import judged, require, unclear_output
from attack.truth import Listed, check_certificate
from manykernels import MKLRegressor

X, Y = rows()


def refused():
    MKLRegressor(alpha=-1).fit(X, Y)


def overflow():
    return np.float64(1e308) * 10


PLANTED = {
    "a clear error": (refused, "alpha", "clear"),
    "an error of scikit-learn": (
        lambda: MKLRegressor(degree=1).fit(X[:, 0], Y),
        "2D",
        "clear",
    ),
    "an error about something else": (refused, "degree", "wrong"),
    "an error of NumPy": (lambda: np.linalg.cholesky(-np.eye(2)), ".", "wrong"),
    "an error of the interpreter": (lambda: max([]), ".", "wrong"),
    "a missing attribute": (lambda: MKLRegressor().nothing, ".", "wrong"),
    "an assertion": (lambda: require(False, "no"), ".", "wrong"),
    "a bare warning": (overflow, ".", "wrong"),
    "an endless loop": (lambda: time.sleep(5), ".", "wrong"),
    "an answer": (lambda: None, ".", "right"),
    "a fit": (lambda: sound(MKLRegressor(degree=1).fit(X, Y), X, Y), ".", "right"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_verdicts(name):
    act, names, kind = PLANTED[name]
    assert judged(act, names, seconds=1.0).kind == kind


def test_warnings_of_our_own_are_no_fault():
    def act():
        warnings.warn("the gap is 0.1", ConvergenceWarning, stacklevel=1)

    assert judged(act, ".").kind == "right"


@pytest.mark.parametrize(
    ("text", "code", "clear"),
    [
        ("Error: t.csv is empty. Export it again.", 1, True),
        ("Usage: fit\n╭─ Error ─╮\n│ --seed must be 0 or more │\n╰──╯ about t.csv", 2, True),
        ("Traceback (most recent call last): t.csv", 1, False),
        ("Error: cannot convert float NaN to integer in t.csv", 1, False),
        ("Error: something", 1, False),
        ("Error: t.csv " + "w" * 10_000, 1, False),
        ("Error: t.csv is empty.", 139, False),
    ],
)
def test_output_of_commands(text, code, clear):
    assert (unclear_output(text, code, r"t\.csv") == "") == clear


FAULTS = {
    "predictions": lambda model: vars(model.function_.predictor).update(intercept=[np.nan]),
    "gap": lambda model: setattr(model, "gap_", -0.1),
    "kind": lambda model: setattr(model, "gap_kind_", "none"),
    "objective": lambda model: setattr(model, "objective_", model.objective_ * 1e-3),
    "bound": lambda model: (setattr(model, "objective_", 1e6), setattr(model, "gap_", 0.0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_models_are_found(fault):
    model = MKLRegressor(degree=2).fit(X, Y)
    sound(model, X, Y)
    FAULTS[fault](model)
    assert judged(lambda: sound(model, X, Y), ".").kind in ("wrong", "clear")


def listed(settings):
    Z = numerical.standardised(X, np.ones(30))
    grams = np.array([np.outer(z, z) for z in Z.T])
    return Listed(grams, Y - Y.mean(), np.ones(30), settings)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_false_certificates_are_found(p):
    settings = {"alpha": 0.1, "p": p, "degree": 2, "index_set": "monomials"}
    model = MKLRegressor(standardize_terms=False, tol=1e-6, **settings).fit(X, Y)
    shifted = numerical.Shifted(model, Y.mean())
    check_certificate(shifted, listed(settings), X, Y)
    for name, value in (
        ("objective_", model.objective_ * 0.9),  # below the optimum
        ("objective_", model.objective_ * 1.1),  # a bound above what is had
        ("theta_", np.ones(len(model.theta_)) if p < 2 else model.theta_ * 0.1),
    ):
        other = numerical.Shifted(model, Y.mean())
        setattr(other, name, value)
        act = lambda other=other: check_certificate(other, listed(settings), X, Y)  # noqa: E731
        assert judged(act, ".").kind == "wrong", name


def test_bounds_of_the_truth_meet():
    """At the optimum of a problem the lower and the upper bound are one number."""
    for p in (1.0, 1.5, 2.0):
        settings = {"alpha": 0.05, "p": p, "degree": 1, "index_set": "monomials"}
        problem = listed(settings)
        theta = dict.fromkeys(problem.kernels, 4 ** (-(2 - p) / p))
        low, high = problem.bracket(theta, passes=400)
        assert low <= high * (1 + 1e-9)
        assert high - low <= 2e-3 * high
