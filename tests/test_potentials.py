import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from checks import bregman
from manykernels.potentials import Entropy, PowerNorm, power_norm

POTENTIALS = [PowerNorm(2.0), PowerNorm(1.5), PowerNorm(1.1), PowerNorm(3.0), Entropy()]
EXPONENTS = [1.0, 1.2, 1.5, 2.0, 3.0, 6.0]
ALL = pytest.mark.parametrize("potential", POTENTIALS, ids=repr)


def ball_points(rng, d, nu, count):
    for _ in range(count):
        z = rng.exponential(size=d) ** rng.choice([1, 3])
        yield z / power_norm(z, nu) * rng.choice([1.0, rng.uniform()])


@ALL
def test_gradient_and_inverse(potential, rng):
    theta = rng.uniform(0.1, 1.0, size=6)
    numeric = np.array(
        [
            (potential.value(theta + 1e-6 * e) - potential.value(theta - 1e-6 * e)) / 2e-6
            for e in np.eye(6)
        ]
    )
    np.testing.assert_allclose(potential.gradient(theta), numeric, rtol=1e-6)
    np.testing.assert_allclose(potential.inverse_gradient(potential.gradient(theta)), theta)


@ALL
@pytest.mark.parametrize("nu", EXPONENTS)
@pytest.mark.parametrize("size", [0.01, 1.0, 50.0])
def test_projection_satisfies_its_variational_inequality(potential, nu, size, rng):
    y = size * rng.exponential(size=9) + 1e-6
    theta = potential.project(y, nu)
    assert power_norm(theta, nu) <= 1 + 1e-12
    assert np.all(theta >= 0)
    force = potential.gradient(theta) - potential.gradient(y)
    force[theta == 0] = np.maximum(force[theta == 0], -1e300)
    scale = np.abs(force).max() + 1e-12
    for z in ball_points(rng, 9, nu, 100):
        assert force @ (z - theta) >= -1e-8 * scale


@ALL
@pytest.mark.parametrize("nu", EXPONENTS)
def test_projection_agrees_with_a_generic_solver(potential, nu, rng):
    y = rng.uniform(0.3, 1.5, size=5)
    start = y / (power_norm(y, nu) * 1.5)
    found = minimize(
        lambda t: bregman(potential, np.maximum(t, 1e-12), y),
        start,
        method="SLSQP",
        bounds=[(1e-12, None)] * 5,
        constraints={"type": "ineq", "fun": lambda t: 1 - np.sum(np.maximum(t, 0) ** nu)},
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    np.testing.assert_allclose(potential.project(y, nu), found.x, atol=2e-5)


@given(
    st.floats(1.05, 4.0),
    st.lists(st.floats(0.0, 1.0), min_size=3, max_size=8),
    st.floats(0.0, 3.0),
)
@settings(max_examples=200, deadline=None)
def test_sparse_step_is_the_definition(q, values, increment):
    potential = PowerNorm(q)
    theta = np.array(values) / max(1.0, power_norm(np.array(values), q))
    at = np.array([0, 2])
    dual = potential.gradient(theta).copy()
    dual[at] += np.array([increment, increment / 3])
    expected = potential.project(potential.inverse_gradient(dual), q)
    touched, factor, norm = potential.sparse_step(
        theta[at], np.array([increment, increment / 3]), power_norm(theta, q)
    )
    got = factor * theta
    got[at] = touched
    np.testing.assert_allclose(got, expected, atol=1e-7)
    assert norm == pytest.approx(power_norm(expected, q), abs=1e-7)


@ALL
@pytest.mark.parametrize("nu", [1.0, 1.5, 2.0, 4.0])
def test_start_minimises_and_radius_bounds(potential, nu, rng):
    d = 7
    start = np.full(d, potential.start(d, nu))
    lowest = potential.value(start)
    radius = potential.radius(d, nu)
    largest = 0.0
    for z in [*ball_points(rng, d, nu, 300), np.full(d, d ** (-1 / nu)), np.eye(d)[0]]:
        assert potential.value(z) >= lowest - 1e-12
        if nu > 1 or isinstance(potential, PowerNorm) or abs(z.sum() - 1) < 1e-9:
            largest = max(largest, potential.value(z) - lowest)
    assert largest <= radius + 1e-9
    assert largest >= 0.5 * radius


@pytest.mark.parametrize("potential", [PowerNorm(2.0), PowerNorm(1.5), PowerNorm(1.1)], ids=repr)
def test_strong_convexity(potential, rng):
    for _ in range(300):
        a, b = rng.uniform(size=(2, 5))
        gap = bregman(potential, a, b)
        norm = power_norm(a - b, potential.q)
        assert gap >= potential.strong_convexity() / 2 * norm**2 - 1e-12


def test_entropy_is_strongly_convex_on_the_simplex(rng):
    for _ in range(300):
        a, b = rng.dirichlet(np.ones(5), size=2)
        assert bregman(Entropy(), a, b) >= 0.5 * np.abs(a - b).sum() ** 2 - 1e-12


@ALL
def test_dual_norm_is_dual(potential, rng):
    g = rng.exponential(size=6)
    exponent = potential.q if isinstance(potential, PowerNorm) else 1.0
    best = max(g @ z for z in [*ball_points(rng, 6, exponent, 3000), *np.eye(6)])
    assert best <= potential.dual_norm(g) + 1e-9
    assert best >= 0.8 * potential.dual_norm(g)


def test_power_norm_does_not_overflow():
    assert power_norm(np.array([1e200, 1e200]), 4.0) == pytest.approx(1e200 * 2**0.25)
    assert power_norm(np.array([1e-200, 0.0]), 4.0) == pytest.approx(1e-200)
    assert power_norm(np.array([3.0, 7.0]), np.inf) == 7.0


def test_exponent_is_checked():
    with pytest.raises(ValueError, match=r"q must satisfy 1 < q < inf; got 1\."):
        PowerNorm(1.0)


@pytest.mark.parametrize("potential", [PowerNorm(2.0), PowerNorm(1.2)], ids=repr)
def test_projection_of_a_point_on_the_sphere_up_to_rounding(potential, rng):
    for _ in range(300):
        y = rng.dirichlet(np.ones(6)) * (1 + rng.integers(1, 6) * np.finfo(float).eps)
        np.testing.assert_allclose(potential.project(y, 1.0), y, rtol=1e-9)


def test_exponents_near_one(rng):
    y = rng.exponential(size=5) * 3
    theta = PowerNorm(1.3).project(y, 1.0002)
    np.testing.assert_allclose(theta, PowerNorm(1.3).project(y, 1.0), atol=5e-3)
    touched, _factor, norm = PowerNorm(1.0005).sparse_step(np.zeros(1), np.array([0.3]), 0.0)
    assert touched[0] == pytest.approx(0.3)
    assert norm == pytest.approx(0.3)
