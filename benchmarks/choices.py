"""Measurements behind two defaults.

1. The potential for nu > 2 (p > 4/3): that of the ball's own norm against the Euclidean one, to
   which alone the theorem applies. Certified relative gap after 300 iterations.
2. BLAS threads: seconds of the same fit on one thread and on all.

    python dev.py bench benchmarks/choices.py
"""

import time

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from manykernels.bases import FeatureBlocks
from manykernels.families import ProductFamily
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.potentials import PowerNorm
from manykernels.solvers import MirrorDescent, run


def setting(rows, columns, p, ridge=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=rows)
    problem = Problem((y / y.std())[:, None], np.full(rows, 1 / rows), Squared(), ridge / rows, p)
    return problem, ProductFamily(FeatureBlocks(X), 3)


def gap_after(problem, family, potential, iterations):
    solver = MirrorDescent(potential=potential)
    result = run(solver, problem, family, np.random.default_rng(1), iterations, 1e-9)
    return result.certificate.relative


def main():
    with threadpool_limits(1):
        for p in (1.5, 1.7, 1.9):
            problem, family = setting(300, 15, p)
            own = gap_after(problem, family, None, 300)
            euclidean = gap_after(problem, family, PowerNorm(2.0), 300)
            print(
                f"p = {p}: gap {own:.4f} with the ball's own norm, {euclidean:.4f} with the "
                f"Euclidean potential: {euclidean / own:.1f} times as much"
            )
    everything = max(pool["num_threads"] for pool in threadpool_info())
    for rows, columns in ((300, 20), (1000, 20), (500, 100)):
        problem, family = setting(rows, columns, 4 / 3)
        seconds = []
        for threads in (1, everything):
            with threadpool_limits(threads):
                began = time.perf_counter()
                gap_after(problem, family, None, 60)
                seconds.append(time.perf_counter() - began)
        print(
            f"{rows} rows, {columns} columns, 60 iterations: {seconds[0]:.2f} s on one thread, "
            f"{seconds[1]:.2f} s on {everything}: {seconds[1] / seconds[0]:.1f} times as long"
        )


if __name__ == "__main__":
    main()
