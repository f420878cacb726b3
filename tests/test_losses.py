import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from checks import LOSSES
from manykernels.losses import (
    BY_NAME,
    EpsilonInsensitive,
    Hinge,
    Huber,
    NonsmoothLoss,
    ProbabilisticLoss,
    SmoothLoss,
    Squared,
)

ALL = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def targets(loss, rng, n):
    return rng.choice([-1.0, 1.0], size=n) if loss.classification else rng.normal(size=n)


@ALL
def test_gradient_is_the_derivative(loss, rng):
    y, f = targets(loss, rng, 200), 2 * rng.normal(size=200)
    step = 1e-6
    numeric = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    kinked = np.abs(numeric - loss.gradient(y, f)) > 1e-5
    assert kinked.sum() <= 2  # a kink within 1e-6 of a random point


@ALL
def test_curvature_or_prox(loss, rng):
    y, f = targets(loss, rng, 200), 2 * rng.normal(size=200)
    if isinstance(loss, SmoothLoss):
        step = 1e-5
        numeric = (loss.gradient(y, f + step) - loss.gradient(y, f - step)) / (2 * step)
        assert np.sum(np.abs(numeric - loss.curvature(y, f)) > 1e-4) <= 2
    else:
        assert isinstance(loss, NonsmoothLoss)
        point, slope = loss.conjugate_prox(y, f, 0.7)
        value = (point - f) ** 2 / 2 + 0.7 * loss.conjugate(y, point)
        for other in (point + 0.01, point - 0.01, rng.uniform(-1, 1, size=200)):
            assert np.all((other - f) ** 2 / 2 + 0.7 * loss.conjugate(y, other) >= value - 1e-12)
        moved = loss.conjugate_prox(y, f + 1e-7, 0.7)[0]
        assert np.sum(np.abs((moved - point) / 1e-7 - slope) > 1e-3) <= 2


@pytest.mark.parametrize("loss", [x for x in LOSSES if hasattr(x, "inverse_gradient")], ids=repr)
def test_inverse_gradient(loss, rng):
    y, f = np.repeat([-1.0, 1.0], 20), 3 * rng.normal(size=40)
    np.testing.assert_allclose(loss.inverse_gradient(y, loss.gradient(y, f)), f, atol=1e-9)


@ALL
def test_conjugate_is_the_supremum(loss, rng):
    grid = np.linspace(-20, 20, 400_001)
    for _ in range(20):
        y, f0 = targets(loss, rng, 1)[0], 2 * rng.normal()
        v = loss.gradient(np.array(y), np.array(f0)) * rng.uniform(0.2, 0.9)
        supremum = np.max(v * grid - loss.value(y, grid))
        assert loss.conjugate(np.array(y), v) == pytest.approx(supremum, abs=2e-4)


@ALL
def test_fenchel_young_holds_with_equality_at_the_gradient(loss, rng):
    y, f = targets(loss, rng, 300), 2 * rng.normal(size=300)
    v = loss.gradient(y, f)
    equality = loss.value(y, f) + loss.conjugate(y, v) - v * f
    np.testing.assert_allclose(equality, 0.0, atol=1e-12)
    other = 2 * rng.normal(size=300)
    assert np.all(loss.value(y, other) + loss.conjugate(y, v) - v * other >= -1e-12)


@pytest.mark.parametrize(
    ("name", "y", "v"),
    [
        ("hinge", 1.0, 0.1),
        ("hinge", 1.0, -1.1),
        ("squared_hinge", 1.0, 0.1),
        ("logistic", -1.0, -0.1),
        ("logistic", 1.0, -1.1),
        ("huber", 0.3, 1.4),
        ("epsilon_insensitive", 0.3, -1.1),
    ],
)
def test_conjugate_is_infinite_off_its_domain(name, y, v):
    assert BY_NAME[name]().conjugate(np.array([y]), np.array([v]))[0] == np.inf


@pytest.mark.parametrize("loss", [x for x in LOSSES if isinstance(x, ProbabilisticLoss)], ids=repr)
def test_probability_inverts_the_population_minimiser(loss):
    for truth in (0.05, 0.3, 0.5, 0.8):

        def risk(f, truth=truth):
            one = np.array([1.0])
            return float(
                (truth * loss.value(one, f * one) + (1 - truth) * loss.value(-one, f * one))[0]
            )

        best = minimize_scalar(risk, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).x
        assert loss.probability(np.array([best]))[0] == pytest.approx(truth, abs=1e-4)


def test_hinge_has_no_probability():
    assert not isinstance(Hinge(), ProbabilisticLoss)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match=r"delta must be > 0; got -1\. Try"):
        Huber(-1)
    with pytest.raises(ValueError, match=r"epsilon must be >= 0; got -0\.5\. Try"):
        EpsilonInsensitive(-0.5)


def test_squared_errors_beyond_a_double_are_infinite_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(Squared().value(np.array([0.0]), np.array([1e200])))[0]
