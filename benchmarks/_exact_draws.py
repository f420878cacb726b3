"""Are draws exact, and what do they cost? Tables for ``continuum.py``."""

import time
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from manykernels.bases import FeatureBlocks, GramStack, WidthRows
from manykernels.families import (
    Interactions,
    LogUniform,
    Monomials,
    ProductFamily,
    Tuples,
    WidthFamily,
)

DRAWS, WIDTH_DRAWS = 2_000, 300
"""Draws behind one p-value, of products and of kernels with free widths."""

POINTS, REPEATS, WIDTH_REPEATS = 5, 20, 10
"""Dual points of a family, each on rows of its own, and p-values at each: products, free widths."""

LAW = LogUniform(0.05, 20.0)


def table_of(rng, rows, columns):
    return rng.normal(size=(rows, columns))


def bases_of(kind, X):
    """Return linear kernels by their features, or Gaussian ones by their matrices."""
    if kind == "columns":
        return FeatureBlocks(X)
    return GramStack(np.exp(-((X.T[:, :, None] - X.T[:, None, :]) ** 2) / 2))


def listed_probabilities(family, grams, alpha):
    """Return the probability of every kernel, each from its own n x n matrix."""
    indices = family.indices()
    masses = []
    for index in indices:
        matrix = np.prod(grams[list(index)], axis=0) if index else np.ones(grams.shape[1:])
        masses.append(np.sum(alpha * (matrix @ alpha)) / family.rho[len(index)] ** 2)
    masses = np.array(masses) * family.multiplicities(indices)
    return dict(zip(indices, masses / masses.sum(), strict=True))


def chi_square(drawn, probabilities, count):
    """Return the p-value of counts by kernel, kernels of fewer than eight expected pooled."""
    expected = count * np.array(list(probabilities.values()))
    observed = np.array([drawn.get(index, 0) for index in probabilities], dtype=float)
    large = expected >= 8
    expected = np.append(expected[large], expected[~large].sum())
    observed = np.append(observed[large], observed[~large].sum())
    keep = expected > 1e-9
    statistic = np.sum((observed[keep] - expected[keep]) ** 2 / expected[keep])
    return stats.chi2.sf(statistic, max(1, keep.sum() - 1))


def tilted(probabilities, share):
    """Return a wrong law: every other probability raised by a share, those between lowered."""
    values = np.array(list(probabilities.values()))
    values *= np.where(np.arange(len(values)) % 2, 1 - share, 1 + share)
    return dict(zip(probabilities, values / values.sum(), strict=True))


def uniformity(p_values):
    """Return what p-values look like, and the p-value of their being uniform."""
    p = np.asarray(p_values)
    return {
        "p-values": len(p),
        "smallest": p.min(),
        "below 0.05": f"{np.mean(p < 0.05):.0%}",
        "KS test of uniformity": stats.kstest(p, "uniform").pvalue,
    }


def chi_squares(kind, index_set, rng, points, other):
    """Return the number of kernels, p-values of draws of products, and other ones beside them.

    Draws are from the tree of masses, kernels never listed; ``other(drawn, truth, rng)`` gets the
    counts of each draw and the probabilities.
    """
    right, beside = [], []
    for _ in range(points):
        X, rho = table_of(rng, 20, 5), rng.uniform(0.7, 1.5, size=4)
        bases = bases_of(kind, X)
        grams = bases.grams if kind == "matrices" else np.einsum("ij,kj->jik", X, X)
        family = ProductFamily(bases, 3, index_set, rho, enumerate_below=0.0)
        alpha = rng.normal(size=(20, 1))
        truth = listed_probabilities(family, grams, alpha)
        for _ in range(REPEATS):
            draw = family.at(alpha).draw(DRAWS, rng)
            drawn = dict(zip(draw.indices, draw.counts.tolist(), strict=True))
            right.append(chi_square(drawn, truth, DRAWS))
            beside.append(other(drawn, truth, rng))
    return len(truth), right, beside


def against_wrong_law(drawn, truth, rng):
    """Return the p-value of the same draws against a law 20 % off."""
    return chi_square(drawn, tilted(truth, 0.2), DRAWS)


def of_numpy(drawn, truth, rng):
    """Return the p-value of as many draws by NumPy from the listed probabilities."""
    counts = rng.multinomial(DRAWS, np.array(list(truth.values())))
    return chi_square(dict(zip(truth, counts.tolist(), strict=True)), truth, DRAWS)


def product_draws():
    """Return chi-square tests of draws of products."""
    out, every = [], []
    for kind in ("columns", "matrices"):
        for index_set in (Tuples(2.0), Monomials(), Interactions()):
            rng = np.random.default_rng([1, len(out)])
            number, right, wrong = chi_squares(kind, index_set, rng, POINTS, against_wrong_law)
            every += right
            out.append(
                {
                    "kernels": f"{index_set.name}, {kind}",
                    "number": number,
                    **uniformity(right),
                    "median against a law 20 % off": np.median(wrong),
                }
            )
    out.append({"kernels": "all together", "number": "", **uniformity(every)})
    return pd.DataFrame(out)


def more_product_draws():
    """Return the same with other seeds, four times as many, beside draws by NumPy."""
    out, every, others = [], [], []
    for kind in ("columns", "matrices"):
        for place, index_set in enumerate((Tuples(2.0), Monomials(), Interactions())):
            rng = np.random.default_rng([99, place, kind == "columns"])
            _, right, control = chi_squares(kind, index_set, rng, 4 * POINTS, of_numpy)
            every, others = every + right, others + control
            out.append(compared(f"{index_set.name}, {kind}", right, control))
    out.append(compared("all together", every, others))
    return pd.DataFrame(out)


def compared(label, right, control):
    """Return a row: p-values of draws and of NumPy's."""
    return {
        "kernels": label,
        **uniformity(right),
        "the same of NumPy's draws": stats.kstest(control, "uniform").pvalue,
    }


class ContinuousTruth:
    """The law of draws from kernels of one shape with free widths, by quadrature alone."""

    def __init__(self, X, alpha, shape, rho):
        x, w = np.polynomial.legendre.leggauss(40)
        ends = np.log([LAW.lowest, LAW.highest])
        self.widths, self.weights = np.exp(ends.mean() + np.diff(ends) / 2 * x), w / 2
        self.logs = np.linspace(*ends, 201)
        power = 1 if shape == "laplace" else 2
        self.apart = np.abs(X.T[:, :, None] - X.T[:, None, :]) ** power
        self.shape, self.rho, self.outer = shape, rho, alpha @ alpha.T

    def score(self, columns, widths):
        """Return the scores of kernels of some columns; widths are of shape (k, S)."""
        total = np.einsum("ks,sij->kij", widths, self.apart[list(columns)])
        kernels = np.exp(-np.sqrt(total) if self.shape == "radial" else -total)
        return np.einsum("ij,kij->k", self.outer, kernels)

    def nodes(self, number):
        """Return all combinations of nodes for some columns, and their weights."""
        axes = np.meshgrid(*[self.widths] * number, indexing="ij")
        shares = np.meshgrid(*[self.weights] * number, indexing="ij")
        points = np.stack([axis.ravel() for axis in axes], axis=1) if number else np.empty((1, 0))
        return points, np.prod(shares, axis=0).ravel() if number else np.ones(1)

    def sets(self, degree):
        """Return the probability of every set of columns."""
        masses = {}
        for size in range(degree + 1):
            for columns in combinations(range(len(self.apart)), size):
                points, shares = self.nodes(size)
                masses[columns] = shares @ self.score(columns, points) / self.rho[size] ** 2
        whole = sum(masses.values())
        return {columns: mass / whole for columns, mass in masses.items()}

    def distribution(self, columns, before):
        """Return the distribution function of the logarithm of the width after those before."""
        after, shares = self.nodes(len(columns) - len(before) - 1)
        steps, number = len(self.logs), len(after)
        fixed = np.tile(before, (steps * number, 1)).reshape(steps * number, len(before))
        here = np.repeat(np.exp(self.logs), number)[:, None]
        widths = np.hstack([fixed, here, np.tile(after, (steps, 1))])
        density = self.score(columns, widths).reshape(steps, number) @ shares
        below = np.append(0.0, np.cumsum(density[1:] + density[:-1]))
        return below / below[-1]


def width_draws(count=WIDTH_DRAWS):
    """Return tests of draws from the continuum: sets by chi-square, widths by KS tests."""
    out, every = [], []
    for shape in ("gaussian", "laplace", "radial"):
        rng = np.random.default_rng([2, len(out)])
        sets, first, second = [], [], []
        for _ in range(POINTS):
            X, rho = table_of(rng, 7, 3), np.array([2.0, 1.0, 0.7])
            alpha = rng.normal(size=(7, 1))
            family = WidthFamily(WidthRows(X), 2, (shape,), LAW, rho)
            truth = ContinuousTruth(X, alpha, shape, rho)
            probabilities, laws = truth.sets(2), {}
            for _ in range(WIDTH_REPEATS):
                draw = family.at(alpha).draw(count, rng)
                drawn, shares = {}, ([], [])
                for (_, columns, widths), number in zip(draw.indices, draw.counts, strict=True):
                    drawn[columns] = drawn.get(columns, 0) + number
                    if columns and columns not in laws:
                        laws[columns] = truth.distribution(columns, ())
                    if columns:
                        place = np.interp(np.log(widths[0]), truth.logs, laws[columns])
                        shares[0].append(place)
                    if len(columns) == 2:
                        law = truth.distribution(columns, widths[:1])
                        shares[1].append(np.interp(np.log(widths[1]), truth.logs, law))
                sets.append(chi_square(drawn, probabilities, count))
                first.append(stats.kstest(shares[0], "uniform").pvalue)
                second.append(stats.kstest(shares[1], "uniform").pvalue)
        for what, p_values in (
            ("sets of columns (chi-square)", sets),
            ("first width (KS)", first),
            ("second width given the first (KS)", second),
        ):
            every += p_values
            out.append({"shape": shape, "test of": what, **uniformity(p_values)})
    out.append({"shape": "all", "test of": "all", **uniformity(every)})
    return pd.DataFrame(out)


FEWEST, MOST = 9, 200
"""Draws that are timed for one entry, each at a dual point of its own."""


def cpu_of_draw(family, rows):
    """Return the median CPU seconds of one draw at a dual point that nothing is known of."""
    rng, seconds = np.random.default_rng(3), []
    family.at(rng.normal(size=(rows, 1))).draw(1, rng)  # what is made once for a family
    while len(seconds) < FEWEST or (len(seconds) < MOST and sum(seconds) < 0.3):
        alpha = rng.normal(size=(rows, 1))
        began = time.process_time()
        family.at(alpha).draw(1, rng)
        seconds.append(time.process_time() - began)
    return float(np.median(seconds))


LINES = {
    "r = 10, D grows": [(10, 3), (10, 6), (10, 9), (10, 12), (10, 15)],
    "D = 3, r grows": [(10, 3), (30, 3), (100, 3), (300, 3), (1000, 3)],
    "D = 5, r grows": [(4, 5), (16, 5), (63, 5), (251, 5), (1000, 5)],
}
"""Families of growing size, by the number of base kernels and the degree."""

KINDS = {
    "tuples of matrices": ("matrices", Tuples(2.0)),
    "monomials of matrices": ("matrices", Monomials()),
    "tuples of columns": ("columns", Tuples(2.0)),
}
"""What the products are of: the first is the paper's Algorithm 3."""


def cost_of_draws(rows=100):
    """Return CPU milliseconds of a draw from families of 10^3 to 10^15 kernels."""
    out = []
    for line, sizes in LINES.items():
        for r, degree in sizes:
            X = table_of(np.random.default_rng(4), rows, r)
            row = {"line": line, "r": r, "D": degree}
            for label, (kind, index_set) in KINDS.items():
                family = ProductFamily(bases_of(kind, X), degree, index_set, enumerate_below=0.0)
                row.setdefault("tuples", f"{float(family.size):.1e}")
                row[label] = 1e3 * cpu_of_draw(family, rows)
            out.append(row)
    return pd.DataFrame(out)


def fits_of_cost(frame):
    """Return how the time of a draw follows the number of kernels, line by line."""
    out = []
    for label in KINDS:
        for line, part in frame.groupby("line", sort=False):
            size, time_of = np.log10(part["tuples"].astype(float)), part[label]
            out.append(
                {
                    "kernels": label,
                    "line": line,
                    "size grows": f"{10 ** (size.max() - size.min()):.0e} times",
                    "time grows": f"{time_of.iloc[-1] / time_of.iloc[0]:.1f} times",
                    "R2 of a + b log10(size)": squared_correlation(size, time_of),
                    "exponent of the size": f"{np.polyfit(size, np.log10(time_of), 1)[0]:.2f}",
                }
            )
    return pd.DataFrame(out)


def fits_of_work(frame):
    """Return how the time of a draw follows r D and log10(size) over all families together."""
    size, work = np.log10(frame["tuples"].astype(float)), frame["r"] * frame["D"]
    return pd.DataFrame(
        [
            {
                "kernels": label,
                "R2 of a + b log10(size)": squared_correlation(size, frame[label]),
                "R2 of a + b r D": squared_correlation(work, frame[label]),
            }
            for label in KINDS
        ]
    )


def squared_correlation(x, y):
    return f"{np.corrcoef(x, y)[0, 1] ** 2:.3f}"
