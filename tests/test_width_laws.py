"""Laws of widths against SciPy's distributions, quadrature and special functions."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import exp1

from manykernels.families import Gamma, LogUniform, WidthGrid
from manykernels.families.widths.exponential_integral import exponential_integral
from manykernels.families.widths.radial import radial_nodes

LAWS = {
    "log-uniform": (LogUniform(0.02, 20.0), stats.loguniform(0.02, 20.0)),
    "gamma": (Gamma(0.7, 2.0), stats.gamma(0.7, scale=0.5)),
    "exponential": (Gamma(), stats.expon()),
}
every_law = pytest.mark.parametrize("name", LAWS)


def mean(law, function, low=0.0, high=1.0):
    """Return the mean of a function of the width, of the shares between two."""
    value, _ = quad(lambda v: function(law.ppf(v)), low, high, epsabs=1e-13, limit=500)
    return value


def test_exponential_integral_is_that_of_scipy():
    x = np.concatenate([np.geomspace(1e-300, 690, 20_001), [1.0, 27.0, 701.0, np.inf]])
    np.testing.assert_allclose(exponential_integral(x), exp1(x), rtol=1e-14, atol=1e-305)
    assert exponential_integral(x.reshape(-1, 5)).shape == (len(x) // 5, 5)


def test_radial_kernels_are_mixtures_of_gaussian_ones():
    u = np.concatenate([[0.0], np.geomspace(1e-30, 1e5, 5001)])
    factors, weights = radial_nodes()
    mixture = weights @ np.exp(-np.outer(factors, u))
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mixture, np.exp(-np.sqrt(u)), atol=6e-10)


@every_law
@pytest.mark.parametrize("t", [0.0, 1e-310, 1e-9, 0.03, 1.0, 7.0, 300.0])
def test_transform_is_the_mean_kernel(name, t):
    law, truth = LAWS[name]
    expected = mean(truth, lambda s: np.exp(-s * t))
    assert law.transform(np.array([t]))[0] == pytest.approx(expected, rel=1e-8, abs=1e-9)


@every_law
def test_quantiles(name, rng):
    law, truth = LAWS[name]
    v = rng.random(50)
    np.testing.assert_allclose(law.quantile(v), truth.ppf(v), rtol=1e-10)


@every_law
@pytest.mark.parametrize("count", [1, 3])
def test_parts_have_equal_mass_and_their_own_mean_kernels(name, count):
    law, truth = LAWS[name]
    parts, t = law.split(count), np.array([0.0, 0.4, 5.0])
    assert len(parts) == count
    for number, part in enumerate(parts):
        low, high = number / count, (number + 1) / count
        means = [count * mean(truth, lambda s, x=x: np.exp(-s * x), low, high) for x in t]
        np.testing.assert_allclose(part.transform(t), means, rtol=1e-7)
        assert truth.cdf(part.highest) - truth.cdf(part.lowest) == pytest.approx(1 / count)
        quarters = part.quantile(np.array([0.25, 0.75]))
        shares = low + np.array([0.25, 0.75]) / count
        np.testing.assert_allclose(quarters, truth.ppf(shares), rtol=1e-9)


@every_law
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("rows", [6, 40], ids=["few", "binned"])
def test_conditional_laws_are_inverted(name, rows, centred, rng):
    """The share of the density below the width found is the point that was asked for."""
    law, truth = LAWS[name]
    x, alpha = rng.normal(size=rows), rng.normal(size=rows)
    alpha -= alpha.mean() if centred else 0.0
    t = np.abs(x[:, None] - x).ravel()
    order = np.argsort(t)
    t, masses = t[order], np.outer(alpha, alpha).ravel()[order]
    points = np.append(rng.random(4), [1e-9, 1 - 1e-9])
    widths = law.conditional(t, masses[None], points)
    angles = np.pi * (np.arange(5_000) + 0.5) / 5_000  # shares in steps that are small at the ends
    density = np.exp(-np.outer(truth.ppf((1 - np.cos(angles)) / 2), t)) @ masses * np.sin(angles)
    below = np.append(0.0, np.cumsum(density)) / density.sum()
    where = np.arccos(1 - 2 * truth.cdf(widths)) / np.pi
    found = np.interp(where, np.linspace(0, 1, len(below)), below)
    np.testing.assert_allclose(found, points, atol=1e-6)
    each = law.conditional(t, np.tile(masses, (6, 1)), points)
    np.testing.assert_allclose(truth.cdf(each), truth.cdf(widths), atol=1e-13)


@every_law
def test_inversion_goes_to_rounding(name, rng):
    law, _ = LAWS[name]
    t, masses = np.array([0.0, 0.5, 3.0]), np.array([[2.0, -2.0, 1.0]])
    points = rng.random(1000)
    widths = law.conditional(t, masses, points)[:, None]
    start = masses[0] @ law.cumulative(t, law.lowest)
    share = (law.cumulative(t, widths) @ masses[0] - start) / (law.transform(t) @ masses[0])
    np.testing.assert_allclose(share, points, rtol=0, atol=1e-14)


def test_a_grid_is_chosen_from(rng):
    law = WidthGrid((0.1, 0.5, 2.0, 9.0))
    t, masses = np.array([0.0, 0.5, 3.0]), np.array([2.0, -2.0, 1.0])
    np.testing.assert_allclose(law.transform(t), np.mean(np.exp(-np.outer(law.widths, t)), axis=0))
    shares = np.exp(-np.outer(law.widths, t)) @ masses
    shares /= shares.sum()
    ends = np.cumsum(shares)
    points = np.concatenate([ends - 1e-9, ends[:-1] + 1e-9, [0.0]])
    expected = [0, 1, 2, 3, 1, 2, 3, 0]
    found = law.conditional(t, masses[None], points)
    np.testing.assert_array_equal(found, np.array(law.widths)[expected])
    np.testing.assert_array_equal(law.quantile(np.array([0.0, 0.3, 0.99])), [0.1, 0.5, 9.0])
    assert [part.widths for part in law.split(2)] == [(0.1, 0.5), (2.0, 9.0)]
    with pytest.raises(ValueError, match="cells must divide the number of widths, 4; got 3"):
        law.split(3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LogUniform(2.0, 1.0), "positive numbers in ascending order; got 2.0 and 1.0"),
        (lambda: LogUniform(0.0, 1.0), "positive numbers in ascending order"),
        (lambda: Gamma(-1.0), "shape and rate must be positive"),
        (lambda: Gamma(1.0, 1.0, 2.0, 1.0), "lowest below highest"),
        (lambda: WidthGrid((1.0, 1.0)), "ascending order"),
        (lambda: WidthGrid(()), "ascending order"),
    ],
)
def test_laws_are_checked(make, words):
    with pytest.raises(ValueError, match=words):
        make()
