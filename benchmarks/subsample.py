"""Whether it pays to fit growing subsets of the rows first (`subsample="auto"`).

Friedman's function with noise 1 (classes: above 14). The same estimator with and without
`subsample="auto"`: both end at a certified gap of `tol` on all rows. Seconds are of the processor,
on one thread, for the whole fit; the steps are those on all rows. Random numbers are the same but
for the rows drawn. How fast subsets grow, their strength, and that mirror descent starts its step
sizes anew were chosen by times on some of these very settings, one seed each. The last setting but
one was added when the others had shown little gain, to find where it pays. Ratios near one are
within the noise of a shared machine.

    python dev.py bench benchmarks/subsample.py
"""

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

PLAIN, CLASSES = "MKLRegressor", "MKLClassifier"
DESCENT = {"degree": 3, "solver": "mirror-descent"}
MATRICES = {"kernels": "rbf", "degree": 1}
SETTINGS = [
    (20_000, 10, PLAIN, {"kernels": "auto", "degree": 2, "p": 1, "alpha": 1e-3}),
    (20_000, 10, PLAIN, {"kernels": "auto", "degree": 2, "p": 1, "alpha": 1e-4, "tol": 1e-3}),
    (20_000, 30, PLAIN, {"degree": 2, "p": 1, "alpha": 1e-4, "tol": 1e-3}),
    (4_000, 30, PLAIN, {"degree": 3, "alpha": 1e-2}),
    (2_000, 10, PLAIN, {**MATRICES, "alpha": 1e-2, "tol": 1e-3}),
    (5_000, 10, PLAIN, {**DESCENT, "alpha": 1e-3}),
    (5_000, 10, CLASSES, {**DESCENT, "alpha": 1e-3}),
    (2_400, 15, PLAIN, {**DESCENT, "alpha": 1e-2}),
    (2_000, 10, PLAIN, {**MATRICES, "solver": "mirror-descent", "alpha": 1e-2}),
    (2_000, 10, PLAIN, {"kernels": "rbf", **DESCENT, "alpha": 1e-3}),
    (2_000, 300, PLAIN, {"degree": 2, "alpha": 1e-2, "tol": 1e-4}),
]


def friedman(rows, columns):
    """Return uniform columns, of which five matter, and a target."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=rows)


def task(rows, columns, name, settings):
    def prepare():
        import manykernels.estimators  # noqa: F401

        X, y = friedman(rows, columns)
        return X, y if name == PLAIN else y > 14

    def work(table):
        import manykernels

        model = getattr(manykernels, name)(random_state=0, **settings).fit(*table)
        return {"objective": model.objective_, "gap": model.gap_, "steps": model.n_iter_}

    return prepare, work


def row(rows, columns, name, settings):
    """Return one line of the table: both ways."""
    alone, grown = (
        measured(task, rows, columns, name, {**settings, "subsample": way}, threads=1)
        for way in (None, "auto")
    )
    say(rows, columns, name, settings, alone, grown)
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return {
        "rows x columns": f"{rows:,} x {columns}",
        "model": f"{name}({words})",
        "CPU s": alone["cpu"],
        "with subsets": grown["cpu"],
        "ratio": f"{grown['cpu'] / alone['cpu']:.2f}",
        "steps": alone["steps"],
        "steps with": grown["steps"],
        "gap": alone["gap"],
        "gap with": grown["gap"],
        "objective with / without - 1": grown["objective"] / alone["objective"] - 1,
    }


def main():
    table = pd.DataFrame([row(*one) for one in SETTINGS])
    text = __doc__.split("\n\n")[1]
    write_page("subsample", "Growing subsets of the rows", text, [("Fits", table)], "subsample.py")


if __name__ == "__main__":
    main()
