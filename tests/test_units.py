"""The unit of y: it is the user's choice, and no model depends on it."""

import warnings

import numpy as np
import pytest

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.backend import error_of_mean, next_to_one
from manykernels.baselines.versus import lead

MODELS = {
    "nothing set": MKLRegressor(random_state=0),
    "widths": MKLRegressor("widths", random_state=0),
    "widths of a strength": MKLRegressor("widths", alpha=1e-3, random_state=0),
    "both": MKLRegressor("both", random_state=0),
    "auto": MKLRegressorCV("auto", one_standard_error=True, random_state=0),
    "linear": MKLRegressorCV("linear", degree=2, random_state=0),
}


def wave(rng, rows=50):
    X = rng.normal(size=(rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=rows)


@pytest.mark.parametrize("name", MODELS)
def test_models_do_not_depend_on_the_unit_of_y(name, rng):
    """Powers of two change no digit: y times one gives the model times it, bit for bit."""
    X, y = wave(rng)
    model = MODELS[name]
    truth = model.fit(X, y).predict(X)
    for exponent in (-400, -66, -9, 100, 330, 400):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = np.ldexp(model.fit(X, np.ldexp(y, exponent)).predict(X), -exponent)
        np.testing.assert_array_equal(found, truth)


def test_errors_of_means_are_of_any_size(rng):
    parts = rng.normal(size=30)
    truth = np.std(parts, ddof=1) / np.sqrt(30)
    for exponent in (-700, 0, 900):
        large = np.ldexp(parts, exponent)
        assert error_of_mean(large) == np.ldexp(truth, exponent)
        assert np.abs(next_to_one(large)[0]).max() == pytest.approx(0.75, abs=0.25)
        assert lead(np.zeros(30), large).error == np.ldexp(truth, exponent)
    assert error_of_mean(parts[:1]) == error_of_mean(np.zeros(9)) == 0.0


NOTHING_TO_LEARN = {
    "y is constant": lambda X, y: (X, np.full(len(y), 2.0), None),
    "one row counts": lambda X, y: (X, y, np.eye(len(y))[3]),
    "X is constant": lambda X, y: (np.ones_like(X), y, None),
}


@pytest.mark.parametrize("case", NOTHING_TO_LEARN)
@pytest.mark.parametrize("kernels", ["widths", "both", "auto", None])
@pytest.mark.parametrize("degree", ["auto", 1])
def test_where_nothing_can_be_learnt_the_model_is_a_constant(case, kernels, degree, rng):
    X, y, weights = NOTHING_TO_LEARN[case](*wave(rng, 30))
    model = MKLRegressor(kernels, degree=degree, random_state=0).fit(X, y, weights)
    mean = np.average(y, weights=weights)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-9)
    assert np.isfinite(model.objective_)
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("kernels", ["widths", "both"])
def test_kernels_with_widths_have_a_column(kernels, rng):
    X, y = wave(rng, 30)
    with pytest.raises(ValueError, match=r"degree must be at least 1 .* got 0\. Use degree"):
        MKLRegressor(kernels, degree=0).fit(X, y)
    with pytest.raises(ValueError, match=r"degree must be at least 1 .* got 0\. Use degree"):
        MKLRegressorCV(kernels, degree=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match=r"degree must be at least 1 .* got 0\. Use degree"):
        MKLClassifier(kernels, degree=0).fit(X, y > 0)
