"""On a GPU: pricing, the synthetic task and dense kernel matrices, with the CPU beside it.

Needs PyTorch and a GPU that it can use. Medians of some calls after a first one; times include the
transfer of the dual point and of the answer. The floor is a plain loop of torch matrix products in
single precision (TF32 off) over the same products, without finding the best; the CPU is the same
code on NumPy arrays on all cores of that machine, in single precision too.

    python dev.py bench benchmarks/gpu.py
"""

import os
import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd

from _measure import say, write_page

PARTS = ("pricing", "synthetic", "matrices")
CPU_LIMIT = 5e12
"""Multiplications beyond which the CPU is not timed."""


def clock(function, repeats):
    import torch

    function()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        function()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def floor(X, alpha):
    """Return a plain loop of matrix products over all monomials of degree three."""
    import torch

    columns = torch.asarray(X, dtype=torch.float32, device="cuda")
    point = torch.asarray(alpha, dtype=torch.float32, device="cuda")

    def loop():
        for j in range(columns.shape[1]):
            (columns[:, : j + 1] * (columns[:, j : j + 1] * point)).T @ columns[:, j:]

    return loop


def pricing():
    import torch

    from manykernels.bases import FeatureBlocks
    from manykernels.families import ProductFamily
    from manykernels.families.pricing import pricer

    rows = []
    for n, r, goal in ((500, 1000, 15), (100_000, 100, 8), (500, 3000, None)):
        rng = np.random.default_rng(0)
        X, alpha = rng.normal(size=(n, r)), rng.normal(size=(n, 1))
        family = ProductFamily(FeatureBlocks(torch.asarray(X, device="cuda")), 3)
        price = pricer(family, bits=32)
        seconds = clock(partial(price.top, alpha, 100), 10)
        bare = clock(floor(X, alpha), 10)
        on_cpu = float("nan")
        if family.enumeration_work <= CPU_LIMIT:
            slow = pricer(ProductFamily(FeatureBlocks(X), 3), bits=32)
            slow.top(alpha, 100)
            began = time.perf_counter()
            answer = slow.top(alpha, 100)
            on_cpu = time.perf_counter() - began
            assert answer.indices[:10] == price.top(alpha, 100).indices[:10]
        rows.append(
            {
                "rows": n,
                "columns": r,
                "kernels": f"{family.distinct:.2g}",
                "ms": 1e3 * seconds,
                "goal, ms": goal or "",
                "floor, ms": 1e3 * bare,
                f"CPU ({os.cpu_count()} cores), ms": 1e3 * on_cpu,
                "CPU / GPU": on_cpu / seconds,
            }
        )
        say("pricing", rows[-1])
    return pd.DataFrame(rows)


def synthetic(sizes):
    from sklearn.model_selection import ShuffleSplit

    from manykernels import MKLRegressorCV
    from manykernels.datasets import make_sparse_polynomial

    rows = []
    goals = {1000: 3, 3000: 40, 10_000: 600}
    for r in (100, *sizes):
        data = make_sparse_polynomial(r, 1500, degree=3, random_state=0)
        X, y = data.data, data.target
        cv = ShuffleSplit(1, test_size=0.2, random_state=0)
        model = MKLRegressorCV(degree=3, solver="greedy", cv=cv, device="cuda", random_state=0)
        began = time.perf_counter()
        model.fit(X[:500], y[:500])
        seconds = time.perf_counter() - began
        if r == 100:
            continue  # libraries are loaded and the device is warm
        error = float(np.mean((model.predict(X[500:]) - y[500:]) ** 2))
        true = len(set(model.terms_[:10]) & set(data.terms))
        rows.append(
            {
                "columns": r,
                "kernels": f"{model.n_kernels_:.2g}",
                "seconds": seconds,
                "goal, s": goals[r],
                "terms": len(model.terms_),
                "true terms among the ten on top": true,
                "test MSE": f"{error:.1e}",
            }
        )
        say("synthetic", rows[-1])
    return pd.DataFrame(rows)


def matrices():
    import torch

    from manykernels import MKLRegressor

    rng = np.random.default_rng(0)
    n, r = 20_000, 50
    X = rng.normal(size=(n + 2000, r))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    model = MKLRegressor("rbf", degree=2, alpha=1e-4, device="cuda", random_state=0)
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    model.fit(X[:n], y[:n])
    row = {
        "rows": n,
        "columns": r,
        "kernels": model.n_kernels_,
        "seconds": time.perf_counter() - began,
        "goal, s": 60,
        "passes": model.n_iter_,
        "gap": f"{model.gap_:.1e} ({model.gap_kind_})",
        "GPU memory, GB": torch.cuda.max_memory_allocated() / 1e9,
        "test R2": f"{model.score(X[n:], y[n:]):.3f}",
    }
    say("matrices", row)
    return pd.DataFrame([row])


def main(wanted):
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        say("PyTorch finds no GPU here: nothing to measure.")
        return
    warnings.simplefilter("ignore")
    parts = [part for part in PARTS if part in wanted] or PARTS
    sizes = [int(word) for word in wanted if word.isdigit()] or [1000, 3000, 10_000]
    tables = []
    if "pricing" in parts:
        tables.append(("One pricing of all monomials of degree <= 3", pricing()))
    if "synthetic" in parts:
        tables.append(("The synthetic task, greedy selection, from X to model", synthetic(sizes)))
    if "matrices" in parts:
        tables.append(("Gaussian kernels of single columns and their products", matrices()))
    device = torch.cuda.get_device_name()
    text = f"GPU: {device}, torch {torch.__version__}. " + "\n\n".join(__doc__.split("\n\n")[1:2])
    write_page("gpu", "GPU", text, tables, "gpu.py")


if __name__ == "__main__":
    main(sys.argv[1:])
