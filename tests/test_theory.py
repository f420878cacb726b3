import numpy as np
import pytest

from manykernels.solvers import (
    Constants,
    DecreasingStep,
    GradientMoments,
    HarmonicStep,
    TheoremStep,
    expectation_bound,
    high_probability_bound,
)


def test_bounds_at_known_values():
    assert expectation_bound(4.0, 0.5, 1.0, 100) == pytest.approx(0.2)
    expected = 0.2 + 4 * np.sqrt(2 * 4.0 * 0.5 / 100 * np.log(100))
    assert high_probability_bound(4.0, 0.5, 1.0, 100, 0.01) == pytest.approx(expected)
    constants = Constants(4.0, 4.0, 0.5, 1.0, 100)
    assert constants.expectation_bound() == pytest.approx(0.2)
    assert constants.high_probability_bound(0.01) == pytest.approx(expected)


def test_steps_at_known_values():
    moments = GradientMoments(first=10.0, now=2.0, curvature=0.5, radius=0.5, strong_convexity=1.0)
    assert TheoremStep(100)(7, moments) == pytest.approx(np.sqrt(1 / (100 * 100)))
    assert TheoremStep(100, bound=4.0)(7, moments) == pytest.approx(np.sqrt(1 / 400))
    assert DecreasingStep(0.3)(9, moments) == pytest.approx(0.05)
    assert HarmonicStep()(4, moments) == pytest.approx(1 / (0.5 * 4 + 2.0))
    flat = GradientMoments(10.0, 2.0, 0.0, 0.5, 1.0)
    assert HarmonicStep()(4, flat) == pytest.approx(1 / (2.0 * 2))
