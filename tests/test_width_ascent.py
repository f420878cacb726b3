"""The score of kernels with free widths and its gradient, against finite differences."""

import numpy as np
import pytest

from manykernels.bases import SHAPES, WidthRows
from manykernels.solvers.widths.ascent import LARGEST_WIDTH, climb
from manykernels.solvers.widths.scores import WidthScores


def score_and_gradient(rows, alpha, kernel, paired=True):
    """Return score and slopes of a kernel in double precision, from pairs of rows or from rows."""
    shape, columns, widths = kernel
    every = np.zeros(rows.count)
    every[list(columns)] = widths
    held = np.arange(rows.count if paired else 0)
    scores = WidthScores(rows, held, np.float64)
    scores.at(alpha)
    score, slopes = scores(shape, every)
    return score, slopes[list(columns)]


def score_of(rows, alpha, shape, columns, logs):
    """Return the score of a kernel written out, from distances without rounding errors."""
    power = 1 if shape == "laplace" else 2
    terms = [np.exp(x) * rows.distances(j, power) for j, x in zip(columns, logs, strict=True)]
    exponent = np.sqrt(sum(terms)) if shape == "radial" else sum(terms)
    return float(np.sum(alpha * (np.exp(-exponent) @ alpha)))


@pytest.mark.parametrize("columns", [(1,), (0, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize(
    ("shape", "paired"), [*((s, True) for s in SHAPES), ("gaussian", False), ("radial", False)]
)
def test_gradient_is_that_of_finite_differences(shape, paired, columns, rng):
    values = rng.normal(size=(30, 4)) + 50.0
    values[:, 2] = rng.integers(3, size=30)
    values[1] = values[0]
    rows, alpha = WidthRows(values, {2: 3}), rng.normal(size=(30, 2))
    logs = rng.normal(size=len(columns))
    widths = tuple(np.exp(logs).tolist())
    score, gradient = score_and_gradient(rows, alpha, (shape, columns, widths), paired)
    assert score == pytest.approx(score_of(rows, alpha, shape, columns, logs), rel=1e-6)
    for position in range(len(columns)):
        step = 1e-4 * np.eye(len(columns))[position]
        up, down = (score_of(rows, alpha, shape, columns, logs + d) for d in (step, -step))
        assert gradient[position] == pytest.approx((up - down) / 2e-4, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_constant_kernel_has_no_widths(shape, rng):
    rows, alpha = WidthRows(rng.normal(size=(9, 2))), rng.normal(size=(9, 3))
    score, gradient = score_and_gradient(rows, alpha, (shape, (), ()))
    assert score == pytest.approx(np.sum(alpha.sum(axis=0) ** 2))
    assert gradient.shape == (0,)


@pytest.mark.parametrize("shape", SHAPES)
def test_narrow_kernels_keep_their_digits(shape, rng):
    """All rows far apart but two: the score is theirs, and so is the gradient."""
    values = np.arange(20.0)[:, None] * 5
    values[1] = values[0] + 1e-3
    rows, alpha = WidthRows(values), rng.normal(size=(20, 1))
    exponent = 1e3 * (1e-3 if shape == "laplace" else 1e-6)
    exponent, power = (np.sqrt(exponent), 0.5) if shape == "radial" else (exponent, 1.0)
    truth = -2 * power * exponent * np.exp(-exponent) * alpha[0, 0] * alpha[1, 0]
    _, gradient = score_and_gradient(rows, alpha, (shape, (0,), (1e3,)))
    assert gradient[0] == pytest.approx(truth, rel=1e-5)


class Uphill:
    """Scores that grow with every width."""

    count, paired = 4, np.arange(4)

    def __call__(self, shape, widths):
        score = float(np.prod(widths[widths > 0]))
        return score, np.full(self.count, score)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, None])
def test_no_more_columns_than_asked_for_where_all_widths_reach_the_largest(degree):
    shape, columns, widths = climb(Uphill(), "gaussian", np.full(4, 0.5), degree, 100)
    assert shape == "gaussian"
    assert len(columns) == (degree or 4)
    assert widths == pytest.approx([LARGEST_WIDTH] * len(columns))
