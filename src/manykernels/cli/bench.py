"""A minute's benchmark of this machine."""

from __future__ import annotations

import warnings
from math import comb
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.linear_model import OrthogonalMatchingPursuitCV
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from threadpoolctl import threadpool_limits

from ..datasets import make_sparse_polynomial
from ..estimators import MKLRegressorCV
from .output import Console


def run(columns: int, seed: int) -> None:
    """Time greedy selection over all monomials and over all of them written out; one thread."""
    console = Console(False)
    data = make_sparse_polynomial(columns, 1000, random_state=seed)
    X, y = data.data, data.target
    half = len(X) // 2
    split = ShuffleSplit(1, test_size=0.25, random_state=seed)
    methods: dict[str, Any] = {
        "manykernels": MKLRegressorCV(degree=3, solver="greedy", cv=split),
        "enumeration + OMP": make_pipeline(
            StandardScaler(),
            PolynomialFeatures(3, include_bias=False),
            StandardScaler(),
            OrthogonalMatchingPursuitCV(max_iter=100, cv=split),
        ),
    }
    count = comb(columns + 3, 3)
    console.say(f"ten true terms among {count:,}; {half} rows to learn from, one thread")
    rows = []
    with threadpool_limits(1):
        for name, method in methods.items():
            began = perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pursuit ends early where it has found all
                method.fit(X[:half], y[:half])
            seconds = perf_counter() - began
            error = mean_squared_error(y[half:], method.predict(X[half:])) / float(np.var(y[half:]))
            rows.append(
                {"method": name, "seconds": f"{seconds:.2f}", "relative test error": f"{error:.1e}"}
            )
    console.table(rows, ("seconds", "relative test error"))
