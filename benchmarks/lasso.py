"""Lasso over all monomials: scikit-learn's path against celer's, at equal duality gaps.

The paper's synthetic task (500 rows, ten monomials of degree up to 3, no noise). Both follow the
same strengths; the gap of every one of them is judged by the same function.

    python dev.py bench benchmarks/lasso.py
"""

import time
import warnings

import celer
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from manykernels.baselines.monomial_lasso import Table
from manykernels.bases import FeatureBlocks
from manykernels.datasets import make_sparse_polynomial
from manykernels.families import ProductFamily
from manykernels.losses import Squared
from manykernels.objective import Problem

SHARES = 10.0 ** (-np.arange(25) / 8)


def table_of(columns):
    data = make_sparse_polynomial(columns, 500, random_state=0)
    X, y = data.data / data.data.std(axis=0), data.target / data.target.std()
    problem = Problem(y[:, None], np.full(500, 1 / 500), Squared(), 1.0, 1.0, True)
    return Table.of(problem, ProductFamily(FeatureBlocks(X), 3))


def worst_gap(table, paths, strengths):
    judged = [table.judge(w, strength) for w, strength in zip(paths, strengths, strict=True)]
    return max(gap / objective for objective, gap in judged)


def main():
    for columns in (20, 50):
        table = table_of(columns)
        strengths = (table.largest_strength() * SHARES).tolist()
        seconds, gaps = {}, {}
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            celer.celer_path(table.scaled[:, :50], table.target, "lasso", alphas=strengths[:2])
            began = time.perf_counter()
            paths = table.path(strengths, 1e-5, 5000)
            seconds["scikit-learn"] = time.perf_counter() - began
            gaps["scikit-learn"] = worst_gap(table, paths, strengths)
            began = time.perf_counter()
            _, paths, _ = celer.celer_path(
                table.scaled, table.target, "lasso", alphas=np.array(strengths), tol=1e-5
            )
            seconds["celer"] = time.perf_counter() - began
            gaps["celer"] = worst_gap(table, paths.T, strengths)
        print(f"{columns} columns, {table.columns.shape[1]} monomials, {len(strengths)} strengths:")
        for name in seconds:
            print(f"  {name}: {seconds[name]:.2f} s, largest relative gap {gaps[name]:.1e}")


if __name__ == "__main__":
    main()
