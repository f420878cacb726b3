"""Kernels with free widths from their definition, and integrals over widths by quadrature."""

from itertools import combinations

import numpy as np
from scipy import stats

from manykernels.families import Gamma, LogUniform

LAWS = {
    "log-uniform": (LogUniform(0.05, 20.0), stats.loguniform(0.05, 20.0)),
    "gamma": (Gamma(1.5, 0.8), stats.gamma(1.5, scale=1 / 0.8)),
}


def quadrature(name):
    """Return widths and weights whose sums are integrals over a law, to 1e-9."""
    if name == "log-uniform":
        x, w = np.polynomial.legendre.leggauss(30)
        logs = np.log(0.05 * 20.0) / 2 + np.log(20.0 / 0.05) / 2 * x
        return np.exp(logs), w / 2
    # The trapezoidal rule in the logarithm, where the density falls fast at both ends.
    logs = np.linspace(-15.0, 4.3, 60)
    widths = np.exp(logs)
    return widths, LAWS[name][1].pdf(widths) * widths * (logs[1] - logs[0])


def coarse_quadrature(name):
    """Return fewer widths and weights, to some 1e-3: enough for tests of draws."""
    x, w = np.polynomial.legendre.leggauss(10)
    return LAWS[name][1].ppf((1 + x) / 2), w / 2


def distances(values, categories, j, power):
    """Return how far apart the values of a column are."""
    x = values[:, j]
    apart = (x[:, None] != x).astype(float) if j in categories else np.abs(x[:, None] - x)
    return apart**power


def kernel(values, categories, shape, columns, widths):
    """Return kernel matrices; widths may be arrays, whose axes stand before those of rows."""
    power = 1 if shape == "laplace" else 2
    total = np.zeros((len(values), len(values)))
    for j, s in zip(columns, widths, strict=True):
        total = total + np.asarray(s)[..., None, None] * distances(values, categories, j, power)
    return np.exp(-np.sqrt(total) if shape == "radial" else -total)


def mean_kernel(values, categories, shape, columns, nodes, weights):
    """Return the integral of a kernel over the widths of its columns."""
    axes = np.meshgrid(*[nodes] * len(columns), indexing="ij")
    products = np.prod(np.meshgrid(*[weights] * len(columns), indexing="ij"), axis=0)
    if not columns:
        return np.ones((len(values), len(values)))
    matrices = kernel(values, categories, shape, columns, [axis.ravel() for axis in axes])
    return np.tensordot(products.ravel(), matrices, axes=1)


def subsets(r, degree):
    return [S for d in range(degree + 1) for S in combinations(range(r), d)]


def masses(values, categories, alpha, shapes, degree, rho, nodes, weights):
    """Return the integral of the gradient over the widths for each shape and set of columns."""
    out = {}
    for S in subsets(values.shape[1], degree):
        for shape in shapes:
            mean = mean_kernel(values, categories, shape, S, nodes, weights)
            share = np.sum(alpha * (mean @ alpha)) / rho[len(S)] ** 2 / len(shapes)
            key = (shape, S) if S else (shapes[0], ())
            out[key] = out.get(key, 0.0) + share
    return out


class ExactLaws:
    """The exact laws of a width given the set and the widths before it, those after it averaged."""

    steps = 100

    def __init__(self, name, values, categories, alpha):
        self.truth, self.nodes = LAWS[name][1], coarse_quadrature(name)
        self.rows, self.alpha = (values, categories), alpha
        self.known = {}

    def distribution(self, shape, columns, before):
        """Return the distribution function at equal steps of the angle that ``share`` has."""
        key = shape, columns, before
        if key not in self.known:
            angles = np.pi * (np.arange(self.steps) + 0.5) / self.steps
            grid = self.truth.ppf((1 - np.cos(angles)) / 2)
            nodes, weights = self.nodes
            after = len(columns) - len(before) - 1
            axes = [axis.ravel() for axis in np.meshgrid(grid, *[nodes] * after, indexing="ij")]
            factors = np.meshgrid(np.sin(angles), *[weights] * after, indexing="ij")
            fixed = [np.float64(s) for s in before]
            matrices = kernel(*self.rows, shape, columns, [*fixed, *axes])
            scores = np.einsum("ic,qij,jc->q", self.alpha, matrices, self.alpha, optimize=True)
            density = (scores.reshape(factors[0].shape) * np.prod(factors, axis=0)).reshape(
                self.steps, -1
            )
            below = np.cumsum(np.append(0.0, density.sum(axis=1)))
            self.known[key] = below / below[-1]
        return self.known[key]

    def share(self, index, position):
        """Return the share of the law of a width that lies below it: uniform for exact draws."""
        shape, columns, widths = index
        below = self.distribution(shape, columns, widths[:position])
        angle = np.arccos(1 - 2 * self.truth.cdf(widths[position]))
        return np.interp(angle / np.pi, np.linspace(0, 1, self.steps + 1), below)


def chi_square(observed, expected):
    """Return the probability of a deviation at least as large, rare cells pooled."""
    large = expected >= 8
    expected = np.append(expected[large], expected[~large].sum())
    observed = np.append(observed[large], observed[~large].sum())
    keep = expected > 1e-9
    assert not observed[~keep].any()
    statistic = np.sum((observed[keep] - expected[keep]) ** 2 / expected[keep])
    return stats.chi2.sf(statistic, max(1, keep.sum() - 1))


def minus_log_evidence(y, gram, noise):
    """Return minus the log density of targets per row and output, at the best size of the kernel.

    Less the constants: log 2 pi, and those of that size.
    """
    n = len(y)
    covariance = gram + np.diag(np.broadcast_to(noise, n))
    total = 0.0
    for target in y.T:
        size = target @ np.linalg.solve(covariance, target) / n
        law = stats.multivariate_normal(np.zeros(n), size * covariance)
        total -= law.logpdf(target) / n + (np.log(2 * np.pi) + 1 - np.log(n)) / 2
    return total / y.shape[1]
