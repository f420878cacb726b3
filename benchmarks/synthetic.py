"""The paper's synthetic task: ten random monomials, 500 rows, no noise; ours against the peers.

Every method chooses its own size on one validation split of the 500 rows (100 of them), then fits
all 500; errors are on 1,000 fresh rows. Peers get all monomials listed and standardised. Seconds
are of the processor, on one thread; memory is the peak above what the process held before the fit.

    python dev.py bench benchmarks/synthetic.py
"""

import warnings

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

SPLIT = {"n_splits": 1, "test_size": 0.2, "random_state": 0}


def task(method, columns, degree, seed):
    def prepare():
        import celer  # noqa: F401 compiled parts are loaded before the clock starts

        import manykernels.estimators  # noqa: F401
        from manykernels.datasets import make_sparse_polynomial

        return make_sparse_polynomial(columns, 1500, degree=degree, random_state=seed)

    def work(data):
        warnings.simplefilter("ignore")
        X, y = data.data, data.target
        model = METHODS[method](degree)
        model.fit(X[:500], y[:500])
        error = float(np.mean((model.predict(X[500:]) - y[500:]) ** 2))
        terms, best = selected(model)
        return {"mse": error, "terms": terms, "true terms on top": len(set(best) & set(data.terms))}

    return prepare, work


def ours(**settings):
    def make(degree):
        from sklearn.model_selection import ShuffleSplit

        from manykernels import MKLRegressorCV

        return MKLRegressorCV(degree=degree, cv=ShuffleSplit(**SPLIT), random_state=0, **settings)

    return make


def listed(make_last):
    def make(degree):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        return make_pipeline(
            StandardScaler(),
            PolynomialFeatures(degree, include_bias=False),
            StandardScaler(),
            make_last(),
        )

    return make


def omp():
    from sklearn.model_selection import ShuffleSplit

    from _peers import PursuitCV

    return PursuitCV(ShuffleSplit(**SPLIT))


def celer_path():
    from sklearn.model_selection import ShuffleSplit

    from _peers import CelerCV

    return CelerCV(ShuffleSplit(**SPLIT))


METHODS = {
    "ours, greedy": ours(solver="greedy"),
    "ours, p = 1, debias": ours(p=1, debias=True),
    "OMP": listed(omp),
    "celer": listed(celer_path),
}


def selected(model):
    """Return the number of terms, and the ten of largest share."""
    if hasattr(model, "terms_"):
        return len(model.terms_), [tuple(term) for term in model.terms_[:10]]
    coefficients = model[-1].coef_
    best = np.argsort(-np.abs(coefficients))[:10]
    powers = model[1].powers_[best]
    terms = [tuple(np.repeat(np.arange(len(row)), row).tolist()) for row in powers]
    return int(np.count_nonzero(coefficients)), terms


CASES = [
    *((method, 100, 3, seed) for seed in range(3) for method in METHODS),
    *(("ours, greedy", 300, 3, seed) for seed in range(3)),
    *(("ours, greedy", 1000, 3, seed) for seed in range(2)),
    *(("ours, greedy", 100, 5, seed) for seed in range(2)),
    *(("ours, greedy", 10_000, 2, seed) for seed in range(2)),
]


def main():
    from math import comb

    rows = []
    for method, columns, degree, seed in CASES:
        row = measured(task, method, columns, degree, seed, threads=1)
        del row["seconds"]
        say(method, columns, degree, seed, row)
        rows.append(
            {
                "r": columns,
                "D": degree,
                "kernels": f"{comb(columns + degree, degree):,}",
                "method": method,
                "seed": seed,
                **row,
            }
        )
    frame = pd.DataFrame(rows)
    small = frame[(frame["r"] == 100) & (frame["D"] == 3)]
    means = small.groupby("method", sort=False)[["cpu", "megabytes"]].mean()
    means["worst mse"] = small.groupby("method")["mse"].max()
    first = means.loc["ours, greedy"]
    means["times the seconds of greedy"] = means["cpu"] / first["cpu"]
    means["times its memory"] = means["megabytes"] / first["megabytes"]
    write_page(
        "synthetic",
        "Synthetic polynomials",
        __doc__.split("\n\n")[1],
        [
            ("r = 100, D = 3, mean of three seeds", means.reset_index()),
            ("All runs", frame),
        ],
        "synthetic.py",
    )


if __name__ == "__main__":
    main()
