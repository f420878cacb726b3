"""Tables whose true terms are known: monomials of Gaussian columns, smooth functions, noise."""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

TEST_ROWS = 2000
TRUE_MONOMIALS = 10
SMOOTH_ROWS, SMOOTH_COLUMNS = 300, 12
SMOOTH_RATIO = 5.0
"""Signal-to-noise ratio (variances) of the functions that are drawn."""


@dataclass(frozen=True)
class Table:
    """Training rows with noise, other rows with their signal, and the true terms.

    ``truth`` holds sorted tuples of column numbers: (0, 0, 3) is the monomial x0^2 * x3 or, of a
    smooth function, (0, 3) a part that depends on these two columns.
    """

    X: np.ndarray
    y: np.ndarray
    there: np.ndarray
    signal: np.ndarray
    truth: tuple


@dataclass(frozen=True)
class Monomials:
    """Ten monomials of up to three of Gaussian columns, drawn uniformly, with coefficients of one.

    Neighbouring columns correlate by ``correlation`` (an autoregression).
    """

    rows: int
    correlation: float
    ratio: float
    columns: int = 50
    degree: int = 3
    smooth = False

    @property
    def name(self):
        start = "" if self.columns == 50 else f"{self.columns} columns, "
        return f"{start}{self.rows} rows, AR {self.correlation:g}, SNR {self.ratio:g}"

    def table(self, seed):
        from manykernels.datasets import make_sparse_polynomial

        key = [self.rows, int(10 * self.correlation), int(10 * self.ratio), seed]
        rng = np.random.default_rng(key if self.columns == 50 else [*key, self.columns])
        drawn = make_sparse_polynomial(
            self.columns, 2, TRUE_MONOMIALS, self.degree, random_state=rng
        )
        X = gaussian(rng, self.rows + TEST_ROWS, self.columns, self.correlation)
        signal = sum(X[:, term].prod(axis=1) for term in drawn.terms)
        return noisy(X, signal, tuple(drawn.terms), self.ratio, self.rows, rng)


@dataclass(frozen=True)
class Smooth:
    """A smooth function of twelve uniform columns: Friedman's, or one drawn anew for each seed.

    "pairs": three functions of a column and three products of two; "triples": two of a column, two
    of two and two products of three; all factors have mean zero, so that no part of a product is
    left without all its columns. "nested": two functions of a column, a product of two and one of
    three whose factors have a mean: a part of every set of their columns is true.
    """

    function: str
    degree: int = 3
    smooth = True

    @property
    def name(self):
        return f"{self.function} ({SMOOTH_ROWS} rows, {SMOOTH_COLUMNS} columns)"

    def table(self, seed):
        key = list(SHAPES).index(self.function)
        rng = np.random.default_rng([99, key, seed])
        X = rng.uniform(size=(SMOOTH_ROWS + TEST_ROWS, SMOOTH_COLUMNS))
        if self.function == "Friedman":
            signal, truth = friedman(X)
            ratio = signal.var()  # noise of variance one, as Friedman has it
        else:
            signal, truth = drawn(X, SHAPES[self.function], self.function == "nested", rng)
            ratio = SMOOTH_RATIO
        return noisy(X, signal, truth, ratio, SMOOTH_ROWS, rng)


SHAPES = {"Friedman": (), "pairs": (3, 3, 0), "triples": (2, 2, 2), "nested": (2, 1, 1)}
"""Of how many columns the parts of a drawn function are: so many of one, of two, of three."""


def gaussian(rng, rows, columns, correlation):
    X = rng.normal(size=(rows, columns))
    for j in range(1, columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def friedman(X):
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return signal + 10 * X[:, 3] + 5 * X[:, 4], ((0,), (1,), (0, 1), (2,), (3,), (4,))


FACTORS = (
    lambda x: np.sqrt(12) * (x - 0.5),
    lambda x: np.sqrt(2) * np.sin(2 * np.pi * x),
    lambda x: np.sqrt(2) * np.cos(np.pi * x),
    lambda x: np.sqrt(180) * ((x - 0.5) ** 2 - 1 / 12),
)
"""Functions of a uniform column with mean zero and variance one."""


def drawn(X, counts, nested, rng):
    """Return a function drawn at random on rows, and its true sets of columns."""
    signal, truth = np.zeros(len(X)), set()
    for size, count in enumerate(counts, 1):
        for _ in range(count):
            columns = draw_columns(rng, X.shape[1], size)
            while columns in truth:
                columns = draw_columns(rng, X.shape[1], size)
            factors = [FACTORS[rng.integers(len(FACTORS))](X[:, j]) for j in columns]
            if nested and size > 1:
                factors = [(factor + 1) / np.sqrt(2) for factor in factors]
                truth |= set(subsets(columns))
            truth.add(columns)
            part = np.prod(factors, axis=0)
            signal += rng.choice([-1.0, 1.0]) * part / part.std()
    return signal, tuple(sorted(truth))


def draw_columns(rng, columns, size):
    return tuple(sorted(rng.choice(columns, size, replace=False).tolist()))


def subsets(columns):
    """Return all sets of some columns but the empty one."""
    sizes = range(1, len(columns) + 1)
    return list(chain.from_iterable(combinations(columns, size) for size in sizes))


def noisy(X, signal, truth, ratio, rows, rng):
    noise = rng.normal(size=rows) * signal.std() / np.sqrt(ratio)
    return Table(X[:rows], signal[:rows] + noise, X[rows:], signal[rows:], truth)


def pure_noise(rows, columns, seed):
    """Return columns that correlate by .5 with their neighbours, and a target of noise."""
    rng = np.random.default_rng([77, rows, columns, seed])
    return gaussian(rng, rows, columns, 0.5), rng.normal(size=rows)
