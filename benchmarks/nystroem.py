"""Gaussian kernels by Nystroem features: how near they are to the matrices, and at what cost.

Rank and points are those of `Nystroem(rank="auto", tol=...)`. 5,000 rows to train and 5,000 others
to test of tables in the folder `extra/` of MANYKERNELS_DATA, or of generated ones where it is not
set; columns standardised, one thread.

    MANYKERNELS_DATA=... python dev.py bench benchmarks/nystroem.py
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

ROWS = 5_000
TABLES = ("kin40k", "california_housing")
GENERATED = ("normal columns", "heavy tails")
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
STRENGTHS = (1e-3, 1e-5)

ERRORS = """
K is the centred kernel matrix of the training rows, L that of the features. Trace: what L lacks of
the trace of K, as a share; it is at most `tol` unless 200 features, the most that are taken, are
too few. On new rows: the same on the test rows. Frobenius and spectral: norm of K - L as a share of
that of K. One column: the mean numbers of points and features and the worst error over all columns.
"""

SCORES = """
R² on the test rows of `MKLRegressor(degree=1, p=4/3, alpha=...)` with the same kernels as matrices
and by features (`tol = 1e-3`, or 500 of them). Seconds of the fit; those of matrices are of `"rbf"`
of the same columns, which is neither centred nor checked and so no dearer than it must be.
"""

GROWTH = """
Five normal columns; `tol = 1e-3`. Maps: fitting the feature maps and evaluating them on all rows;
fit: all of `MKLRegressor.fit`, of five kernels with their products (`degree=2`). Megabytes: the
peak of the fit above the data. The faster of two runs counts. Choosing points and rank costs the
same for all sizes, so that slopes over all of them are below one; those from 100,000 rows on show
less of it.
"""


def load(name):
    """Return training and test rows, standardised by the former, and their targets."""
    rng = np.random.default_rng(0)
    if name in GENERATED:
        shape = (2 * ROWS, 8)
        X = rng.standard_t(3, shape) if name == "heavy tails" else rng.normal(size=shape)
        y = np.sin(2 * X[:, 0] + X[:, 1]) + X[:, 2] * np.tanh(X[:, 3]) + rng.normal(size=len(X)) / 5
    else:
        path = Path(os.environ["MANYKERNELS_DATA"]) / "extra" / f"{name}.csv.gz"
        frame = pd.read_csv(path)
        rows = rng.permutation(len(frame))[: 2 * ROWS]
        X = frame.drop(columns="target").to_numpy(float)[rows]
        y = frame["target"].to_numpy(float)[rows]
    X = (X - X[:ROWS].mean(axis=0)) / X[:ROWS].std(axis=0)
    return X[:ROWS], X[ROWS:], y[:ROWS], y[ROWS:]


def place(x):
    """Return a function to where the kernel of one column, or of several, is exp(-|a - b|^2 / 2).

    For one column that is its even scale in units of the kernel's width.
    """
    from manykernels.feature_maps import even_scale

    if x.ndim > 1:
        return lambda new: new / np.sqrt(x.shape[1])
    places, evenly = even_scale(x, np.full(len(x), 1 / len(x)))
    return lambda new: np.interp(new, places, evenly)[:, None] / 0.2


def centred_kernel(x):
    """Return the exact kernel, centred and scaled on training rows, as a function of two sets."""
    from sklearn.metrics.pairwise import rbf_kernel

    inside = place(x)
    training = inside(x)
    means = rbf_kernel(training, gamma=0.5).mean(axis=1)
    level = means.mean()

    def mean_of(rows):
        same = rows.shape == training.shape and np.array_equal(rows, training)
        return means if same else rbf_kernel(rows, training, gamma=0.5).mean(axis=1)

    def kernel(left, right):
        left, right = (inside(rows[:, 0] if x.ndim == 1 else rows) for rows in (left, right))
        gram = rbf_kernel(left, right, gamma=0.5)
        gram -= mean_of(left)[:, None]
        gram -= mean_of(right) - level
        return gram / (1 - level)

    return kernel


def errors_task(name, tol):
    def prepare():
        from manykernels import feature_maps  # noqa: F401

        return load(name)[:2]

    def work(data):
        train, test = data
        single = [approximation(train[:, j], test[:, j], tol) for j in range(train.shape[1])]
        return {"single": pd.DataFrame(single), "whole": approximation(train, test, tol)}

    return prepare, work


def approximation(x, new, tol):
    """Return the size of a map's features, and their errors on training rows and new ones."""
    from sklearn.metrics.pairwise import rbf_kernel

    from manykernels.feature_maps import Nystroem

    fitted = Nystroem("auto", tol=tol).fit(x)
    features, others = (fitted.features(rows) / fitted.factor for rows in (x, new))
    inside = place(x)
    gram = rbf_kernel(inside(x), gamma=0.5)
    means, level = gram.mean(axis=1), gram.mean()
    gram -= means[:, None]
    gram -= means - level
    trace, size, largest = np.trace(gram), np.linalg.norm(gram), spectral(gram)
    gram -= features @ features.T
    means = rbf_kernel(inside(new), inside(x), gamma=0.5).mean(axis=1)
    return {
        "points": len(fitted.points),
        "features": features.shape[1],
        "trace": float(np.trace(gram) / trace),
        "on new rows": float(1 - np.sum(others**2) / np.sum(1 - 2 * means + level)),
        "Frobenius": float(np.linalg.norm(gram) / size),
        "spectral": spectral(gram) / largest,
    }


def spectral(matrix):
    from scipy.sparse.linalg import eigsh

    return float(abs(eigsh(matrix, 1, which="LM", tol=1e-3, return_eigenvectors=False)[0]))


def errors(names):
    rows = []
    for name in names:
        for tol in TOLERANCES:
            found = measured(errors_task, name, tol, threads=1)
            single, whole = found["single"], found["whole"]
            sizes = {key: single[key].mean() for key in ("points", "features")}
            one = {**single.max(), **sizes}
            for kernel, row in (("one column", one), ("all columns", whole)):
                sizes = {key: f"{row[key]:.3g}" for key in sizes}
                rows.append({"table": name, "kernel": kernel, "tol": tol, **row, **sizes})
                say(rows[-1])
    return pd.DataFrame(rows).sort_values(["table", "kernel"], ascending=False, kind="stable")


def score_task(name, kind, strength, rank):
    def prepare():
        from manykernels import MKLRegressor  # noqa: F401

        return load(name)

    def work(data):
        from manykernels import MKLRegressor
        from manykernels.feature_maps import Nystroem

        warnings.simplefilter("ignore")
        train, test, y, y_test = data
        groups = [[j] for j in range(train.shape[1])]
        if kind != "one for each column":
            groups = [list(range(train.shape[1]))]
        if rank == "rbf":
            kernels = [("rbf", group) for group in groups]
        elif rank == "matrix":
            views = [train[:, group[0]] if len(group) == 1 else train for group in groups]
            kernels = [(centred_kernel(x), g) for x, g in zip(views, groups, strict=True)]
        else:
            kernels = [(Nystroem(rank), group) for group in groups]
        model = MKLRegressor(kernels, degree=1, p=4 / 3, alpha=strength, standardize=False)
        model.fit(train, y)
        return {"R2": float(model.score(test, y_test)) if rank != "rbf" else np.nan}

    return prepare, work


def scores(names):
    rows = []
    for name in names:
        for kind in ("one for each column", "one of all columns"):
            ranks = ["auto"] if kind == "one for each column" else ["auto", 500]
            for strength in STRENGTHS:
                setting = (name, kind, strength)
                exact = measured(score_task, *setting, "matrix", threads=1)["R2"]
                slow = fastest(score_task, *setting, "rbf")["seconds"]
                for rank in ranks:
                    ours = fastest(score_task, *setting, rank)
                    row = {"table": name, "kernels": kind, "alpha": strength, "rank": rank}
                    row |= {"R², matrices": f"{exact:.4f}", "R², features": f"{ours['R2']:.4f}"}
                    row |= {"seconds, matrices": slow, "seconds, features": ours["seconds"]}
                    rows.append({**row, "ratio": slow / ours["seconds"]})
                    say(rows[-1])
    return pd.DataFrame(rows)


def growth_task(size, whole, fit):
    def prepare():
        from manykernels import MKLRegressor  # noqa: F401

        rng = np.random.default_rng(0)
        X = rng.normal(size=(size, 5))
        return X, np.sin(2 * X[:, 0] + X[:, 1]) + X[:, 2] + rng.normal(size=size)

    def work(data):
        from manykernels import MKLRegressor
        from manykernels.feature_maps import Nystroem
        from manykernels.kernels import resolve

        X, y = data
        groups = [list(range(5))] if whole else [[j] for j in range(5)]
        kernels = [(Nystroem("auto"), group) for group in groups]
        if fit:
            return {"gap": MKLRegressor(kernels, degree=1 if whole else 2).fit(X, y).gap_}
        bases = resolve(kernels, [f"x{j}" for j in range(5)]).fit(X, X)
        return {"features": int(bases.sizes.sum())}

    return prepare, work


def growth():
    rows = []
    for whole in (False, True):
        for size in SIZES:
            maps, fit = (fastest(growth_task, size, whole, part) for part in (False, True))
            row = {"kernels": "one of five columns" if whole else "five of one column"}
            row |= {"rows": size, "features": maps["features"], "seconds, maps": maps["seconds"]}
            rows.append({**row, "seconds, fit": fit["seconds"], "megabytes": fit["megabytes"]})
            say(rows[-1])
    return pd.DataFrame(rows)


def fastest(*task):
    return min((measured(*task, threads=1) for _ in range(2)), key=lambda run: run["seconds"])


def slopes(frame):
    """Return the slopes of log time on log rows, over all sizes and over the larger ones."""
    rows = []
    for kind, part in frame.groupby("kernels", sort=False):
        for least in (SIZES[0], 100_000):
            used = part[part["rows"] >= least]
            row = {"kernels": kind, "from rows": least}
            for what in ("maps", "fit"):
                seconds = np.log(used[f"seconds, {what}"])
                row[what] = np.polyfit(np.log(used["rows"]), seconds, 1)[0]
            rows.append(row)
    return pd.DataFrame(rows)


def main():
    names = TABLES if "MANYKERNELS_DATA" in os.environ else GENERATED
    grown = growth()
    texts = [part.strip() for part in (ERRORS, SCORES, GROWTH)]
    headings = ["Error against the exact kernel", "Scores", "Slope of log time on log rows"]
    about = "\n\n".join(f"*{h}.*\n{t}" for h, t in zip(headings, texts, strict=True))
    write_page(
        "nystroem",
        "Gaussian kernels by features",
        __doc__.split("\n\n")[1] + "\n\n" + about,
        [
            (headings[0], errors(names)),
            (headings[1], scores(names)),
            (headings[2], slopes(grown)),
            ("Time against rows", grown),
        ],
        "nystroem.py",
    )


if __name__ == "__main__":
    main()
