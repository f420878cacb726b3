"""Oracles: slow, plain versions of what the library computes, and properties to assert."""

import os
from itertools import combinations
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from manykernels.bases import FeatureBlocks, GramStack
from manykernels.dual import FeatureSystem, solve
from manykernels.families import Interactions, Monomials, ProductFamily, Tuples
from manykernels.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Squared,
    SquaredHinge,
)
from manykernels.objective import Problem


def bregman(potential, theta, other):
    """Return the Bregman divergence of theta from other."""
    linear = float(np.dot(potential.gradient(other), theta - other))
    return potential.value(theta) - potential.value(other) - linear


LOSSES = [Squared(), Huber(0.7), EpsilonInsensitive(0.2), Hinge(), SquaredHinge(), Logistic()]


def make_bases(representation, rng, n=12, r=4):
    """Return base kernels in one of the representations."""
    if representation == "columns":
        return FeatureBlocks(rng.normal(size=(n, r)))
    if representation == "blocks":
        sizes = [1, 2, 3, 1, 2][:r]
        return FeatureBlocks(rng.normal(size=(n, sum(sizes))), sizes)
    if representation == "sparse":
        from scipy import sparse

        dense = rng.normal(size=(n, r)) * (rng.random((n, r)) < 0.6)
        return FeatureBlocks(sparse.csr_array(dense))
    x = rng.normal(size=(r, n))
    return GramStack(np.exp(-((x[:, :, None] - x[:, None, :]) ** 2) / 2))


def base_grams(bases):
    """Return the Gram matrices of the base kernels, of shape (r, n, n)."""
    if isinstance(bases, GramStack):
        return bases.grams
    return np.stack([bases.block(j) @ bases.block(j).T for j in range(bases.count)])


def product_gram(grams, index):
    """Return the entrywise product of base Gram matrices."""
    out = np.ones(grams.shape[1:])
    for j in index:
        out = out * grams[j]
    return out


def brute_members(family, alpha):
    """Return for each distinct kernel its mass in the index set, rho of the degree included."""
    grams = base_grams(family.bases)
    outer = alpha @ alpha.T
    indices = family.indices()
    masses = [np.sum(outer * product_gram(grams, i)) / family.rho[len(i)] ** 2 for i in indices]
    return dict(zip(indices, np.array(masses) * family.multiplicities(indices), strict=True))


def tree_law(field, degree):
    """Return the law of a draw of one degree, by following every path of conditional moves."""
    law = {}

    def follow(state, remaining, prefix, probability):
        if remaining == 0:
            index = tuple(sorted(prefix))
            law[index] = law.get(index, 0.0) + probability
            return
        table = field.moves(state, remaining, prefix)
        for cell in np.flatnonzero(table.ravel()):
            j, power = divmod(int(cell), table.shape[1])
            grown = state
            for _ in range(power + 1):
                grown = field.bases.extend(grown, j)
            share = table.ravel()[cell] / table.sum()
            follow(grown, remaining - power - 1, prefix + (j,) * (power + 1), probability * share)

    follow(field.start, degree, (), 1.0)
    return law


def root_features(family):
    """Return features of every kernel of a family, from its matrix if it has none."""
    indices = family.indices()
    if family.explicit:
        return family.features(indices)
    grams = base_grams(family.bases)
    columns, owners = [], []
    for i, (index, weight) in enumerate(zip(indices, family.weights(indices), strict=True)):
        values, vectors = np.linalg.eigh(weight * product_gram(grams, index))
        live = values > 1e-12 * values.max()
        columns.append(vectors[:, live] * np.sqrt(values[live]))
        owners += [i] * int(live.sum())
    return np.hstack(columns), np.array(owners)


def random_setting(rng, loss, representation, strength, p):
    """Return a problem, a family and its features; index set, outputs and the rest are random."""
    blocks, grams = representation == "blocks", representation == "grams"
    n = int(rng.integers(12, 16 if grams else 40))
    degree = 1 if blocks else 2
    kind = [Tuples(p / (2 - p)), Monomials(), Interactions()][rng.integers(3)]
    bases = make_bases(representation, rng, n=n, r=int(rng.integers(2, 5)))
    family = ProductFamily(bases, degree, kind, rho=rng.uniform(0.5, 2.0, size=degree + 1))
    columns, owners = root_features(family)
    outputs = int(rng.integers(1, 4))
    y = columns[:, rng.integers(1, columns.shape[1], size=outputs)]
    y = y / (y.std(axis=0) + 1e-9) + 0.5 * rng.normal(size=(n, outputs))
    if loss.classification:
        y = np.where(y > np.median(y, axis=0), 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=n)
    intercept = bool(rng.integers(2))
    problem = Problem(y, weights / weights.sum(), loss, strength, p, intercept)
    return problem, family, columns, owners


def conic_minimum(problem, columns, owners):
    """Minimise the problem over explicit features with a conic solver.

    Returns the value, the coefficients (of shape (m,) for one output, else (m, c)) and the norm of
    each group.
    """
    y, s, loss = problem.y, problem.weights[:, None], problem.loss
    w = cp.Variable((columns.shape[1], y.shape[1]))
    b = cp.Variable((1, y.shape[1])) if problem.intercept else np.zeros((1, y.shape[1]))
    f = columns @ w + np.ones((len(y), 1)) @ b
    if isinstance(loss, Squared):
        losses = cp.square(f - y) / 2
    elif isinstance(loss, Huber):
        losses = cp.huber(f - y, loss.delta) / 2
    elif isinstance(loss, EpsilonInsensitive):
        losses = cp.pos(cp.abs(f - y) - loss.epsilon)
    elif isinstance(loss, Hinge):
        losses = cp.pos(1 - cp.multiply(y, f))
    elif isinstance(loss, SquaredHinge):
        losses = cp.square(cp.pos(1 - cp.multiply(y, f))) / 2
    else:
        losses = cp.logistic(-cp.multiply(y, f))
    risk = cp.sum(cp.multiply(np.broadcast_to(s, y.shape), losses))
    groups = [np.flatnonzero(owners == i) for i in range(owners.max() + 1)]
    norms = cp.hstack([cp.norm(cp.vec(w[group], order="F"), 2) for group in groups])
    penalty = cp.square(cp.pnorm(norms, problem.p))
    program = cp.Problem(cp.Minimize(risk + problem.strength / 2 * penalty))
    try:
        program.solve(solver=cp.CLARABEL)
    except cp.SolverError:  # stalls near the end: once more, with more on the diagonal
        program.solve(solver=cp.CLARABEL, static_regularization_constant=1e-7)
    found = w.value[:, 0] if y.shape[1] == 1 else w.value
    return program.value, found, np.array([np.linalg.norm(found[group]) for group in groups])


def random_problem(loss, rng, columns, strength=0.1, p=4 / 3, intercept=False, weighted=True):
    """Return a problem with a target that depends on the features."""
    n = len(columns)
    y = columns[:, :1] - 0.5 * columns[:, -1:] + 0.5 * rng.normal(size=(n, 1))
    if loss.classification:
        y = np.where(y > 0, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return Problem(y, weights / weights.sum(), loss, strength, p, intercept)


def full_gradient_optimum(problem, family, tol=1e-8, passes=2000):
    """Minimise J over an enumerated family of explicit kernels with Kloft's analytic updates."""
    columns, owners = family.features(family.indices())
    nu, star = problem.nu, problem.dual_exponent
    theta = np.full(family.distinct, float(family.distinct) ** (-1 / nu))
    solution = None
    for _ in range(passes):
        solution = solve(problem, FeatureSystem(columns * np.sqrt(theta[owners])), solution)
        a = np.bincount(owners, np.sum((columns.T @ solution.alpha) ** 2, axis=1))
        largest = a.max()
        norm = largest * np.sum((a / largest) ** star) ** (1 / star)
        gap = problem.strength / 2 * (norm - theta @ a)
        if gap <= tol * solution.objective:
            break
        c = (theta**2 * a) ** (1 / (nu + 1))
        theta = c / np.sum(c**nu) ** (1 / nu)
    return solution.objective, theta, gap


class PathCheck:
    """Asserts the inequality behind the theorem along a run, against a fixed comparison point.

    sum_k eta <g_k, theta_(k-1) - theta*> <= D(theta*, theta_0) - D(theta*, theta_T)
    + sum_k eta^2 |g_k|^2_* / (2 alpha), for every prefix of the run.
    """

    def __init__(self, family, potential, target):
        self.order = {index: i for i, index in enumerate(family.indices())}
        self.potential, self.target = potential, target
        self.left = self.squares = 0.0
        self.first = None
        self.steps = 0

    def dense(self, iterate):
        theta = np.zeros(len(self.order))
        theta[[self.order[i] for i in iterate.indices]] = iterate.theta
        return theta

    def __call__(self, state, record):
        theta = self.dense(state.iterate)
        divergence = bregman(self.potential, self.target, theta)
        if self.first is None:
            self.first = divergence
        right = self.first - divergence + self.squares / (2 * self.potential.strong_convexity())
        assert self.left <= right + 1e-9 * max(1.0, abs(self.left))
        gradient = np.zeros(len(theta))
        gradient[[self.order[i] for i in state.draw.indices]] = -state.estimate
        self.left += state.eta * float(gradient @ (theta - self.target))
        self.squares += state.eta**2 * self.potential.dual_norm(gradient) ** 2
        self.steps += 1


def interaction(rng, n=300, r=6):
    """Return rows and a target that depends on x0 * x2 and x4."""
    X = rng.normal(size=(n, r))
    return X, X[:, 0] * X[:, 2] + 0.5 * X[:, 4] + 0.05 * rng.normal(size=n)


def regression(rng, n=40, r=4):
    """Return rows and a noisy linear target."""
    X = rng.normal(size=(n, r))
    return X, X[:, 0] + rng.normal(size=n)


def paper_data(name):
    """Return a data set of the paper, standardised, or skip if it is not there."""
    folder = os.environ.get("MANYKERNELS_DATA")
    path = Path(folder or ".") / "paper" / f"{name}.csv.gz"
    if not folder or not path.exists():
        pytest.skip(f"needs {name}.csv.gz in the folder paper/ of MANYKERNELS_DATA")
    values = pd.read_csv(path).to_numpy(dtype=float)
    X, y = values[:, :-1], values[:, -1:]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def closed_tests(p_values):
    """Return p-values of hypotheses in order, the k-th of weight 1/k, by tests of all their sets.

    A set of hypotheses is tested by the smallest ratio of p-value and weight, times the weights of
    the set; each hypothesis has the largest value of the sets it is in.
    """
    weights = 1 / np.arange(1, len(p_values) + 1)
    out = np.zeros(len(p_values))
    for size in range(1, len(p_values) + 1):
        for some in combinations(range(len(p_values)), size):
            own = list(some)
            out[own] = np.maximum(
                out[own], np.min(p_values[own] / weights[own]) * weights[own].sum()
            )
    return np.minimum(1.0, out)
