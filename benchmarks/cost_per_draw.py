"""Cost of one draw of mirror descent, against the straightforward version of the paper's loop.

Linear base kernels, n = 500 rows, r = 100 columns, D = 3 (176,851 kernels), squared loss,
p = 4/3, ridge 1 in the sum scale. Ours: 50 draws for each dual solution. Straightforward: dense
base Gram matrices, one draw (Algorithm 3) and one fresh Cholesky factorisation an iteration.
Both on one thread, in one process; what counts is the ratio. Then the cost of iteration 5,000
against iteration 1,000, and the peak memory at r = 1,000.

    python dev.py bench benchmarks/cost_per_draw.py
"""

import os
import subprocess
import sys
import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from manykernels.bases import FeatureBlocks
from manykernels.families import Monomials, ProductFamily, Tuples
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.solvers import MirrorDescent

ROWS, DEGREE, DRAWS = 500, 3, 50


def data(columns):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(ROWS, columns))
    y = sum(np.prod(X[:, rng.integers(columns, size=3)], axis=1) for _ in range(10))
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return X, Problem(y[:, None], np.full(ROWS, 1 / ROWS), Squared(), 1 / ROWS)


def straightforward(X, y, iterations):
    """Return seconds for each iteration of Algorithms 2 and 3 as they are printed."""
    rng = np.random.default_rng(1)
    n, r = X.shape
    base = np.einsum("sj,tj->jst", X, X)
    total = base.sum(axis=0)
    powers = [total**d for d in range(DEGREE + 1)]
    K, ridge, seconds = np.zeros((n, n)), 1.0, []
    theta, squares = {}, 0.0
    for k in range(1, iterations + 1):
        began = time.perf_counter()
        alpha = cho_solve(cho_factor(K + ridge * np.eye(n)), y)
        M = np.outer(alpha, alpha)
        delta = np.maximum([np.sum(M * power) for power in powers], 0.0)
        degree = rng.choice(DEGREE + 1, p=delta / delta.sum())
        product, drawn = np.ones((n, n)), []
        for i in range(1, degree + 1):
            masses = np.einsum("st,jst->j", M * powers[degree - i], base)
            masses = np.maximum(masses, 0.0)
            j = rng.choice(r, p=masses / masses.sum())
            M, product = M * base[j], product * base[j]
            drawn.append(int(j))
        step, index = 0.3 / np.sqrt(k), tuple(drawn)  # eta C of the normalised step
        old = theta.get(index, 0.0)
        theta[index] = old + step
        squares += (old + step) ** 2 - old**2
        K += step * product
        if squares > 1:
            scale = 1 / np.sqrt(squares)
            K *= scale
            theta = {key: scale * value for key, value in theta.items()}
            squares = 1.0
        seconds.append(time.perf_counter() - began)
    return np.array(seconds)


def ours(X, problem, index_set, iterations, enumerate_below=None):
    """Return seconds for each iteration, dual solution and draws included."""
    family = ProductFamily(FeatureBlocks(X), DEGREE, index_set, enumerate_below=enumerate_below)
    stamps = []
    for state in MirrorDescent(draws=DRAWS).iterate(problem, family, np.random.default_rng(1)):
        stamps.append(time.perf_counter())
        if state.k > iterations:
            break
    return np.diff(stamps), state.iterate.active


def memory_of(columns):
    """Return the peak memory in MB of a process that runs 20 iterations."""
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
        "import cost_per_draw as c\n"
        "with c.threadpool_limits(1):\n"
        f"    c.ours(*c.data({columns}), c.Monomials(), 20)\n"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    # First: a child process starts with the peak of its parent.
    memory = memory_of(1000)
    print(f"peak memory, 20 iterations at r = 1,000: {memory:.0f} MB")
    X, problem = data(100)
    slow = np.median(straightforward(X, problem.y[:, 0], 20))
    print(f"straightforward: {1e3 * slow:.1f} ms a draw (one draw an iteration)")
    ratios = []
    for index_set in (Tuples(2.0), Monomials()):
        for label, below in (("tree of masses", 0.0), ("default", None)):
            seconds, _ = ours(X, problem, index_set, 60, below)
            fast = np.median(seconds[20:]) / DRAWS
            ratios.append(slow / fast)
            print(
                f"ours, {index_set.name}, {label}: {1e3 * fast:.2f} ms a draw ({DRAWS} an "
                f"iteration), {ratios[-1]:.0f} times less"
            )
    seconds, active = ours(X, problem, Monomials(), 5100)
    early, late = np.median(seconds[900:1100]), np.median(seconds[4900:5100])
    print(
        f"iteration 1,000: {1e3 * early:.1f} ms; iteration 5,000: {1e3 * late:.1f} ms, "
        f"{late / early:.2f} times as much, with {active} kernels visited"
    )
    if memory > 500 or min(ratios) < 20 or late > 1.2 * early:
        sys.exit("missed: memory <= 500 MB, ratio >= 20, late / early <= 1.2")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
