"""Thousands of columns: time, memory and scores of the estimators.

Drawn tables, y = x0 x1 + x2 + x3 / 2 + noise: 200 rows of 2,000 columns and 30 rows of 20,000, and
madelon (500 columns) where its file is in the folder `extra/` of MANYKERNELS_DATA. Seconds are of
the processor, on one thread, megabytes the peak above what the process held before the fit; the
score is R^2 or the accuracy on other rows. A fit that has not ended after 100 s of the processor
is cut; its row has no score. Degree 3 on 2,000 columns has 1.3 x 10^9 kernels: greedy selection
says before it starts that it takes minutes to hours, mirror descent (p = 4/3; all defaults of a
version in which these were linear kernels) that it is far from the optimum when it ends. Both have
a limit of 20 s by the clock here.

    python dev.py bench benchmarks/columns.py
"""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

MOST_SECONDS = 100
WIDE = (200, 2_000)
WIDEST = (30, 20_000)

PLAIN, CHOSEN = "MKLRegressor", "MKLRegressorCV"
SETTINGS = [
    *((WIDE, name, {"degree": degree}) for degree in (1, 2) for name in (PLAIN, CHOSEN)),
    *((WIDE, CHOSEN, {"degree": degree, "p": 1}) for degree in (1, 2)),
    *((WIDE, CHOSEN, {"degree": degree, "solver": "greedy"}) for degree in (1, 2)),
    (WIDE, PLAIN, {"degree": 3, "solver": "greedy", "max_time": 20}),
    (WIDE, PLAIN, {"max_time": 20}),
    (WIDE, PLAIN, {"degree": 1, "kernels": "auto"}),
    *((WIDE, CHOSEN, {"degree": degree, "kernels": "auto"}) for degree in (1, 2)),
    (WIDE, CHOSEN, {"degree": 1, "kernels": "auto", "solver": "greedy"}),
    *((WIDEST, name, {"degree": 1}) for name in (PLAIN, CHOSEN)),
    (WIDEST, CHOSEN, {"degree": 1, "p": 1}),
    (WIDEST, CHOSEN, {"degree": 1, "solver": "greedy"}),
    (WIDEST, CHOSEN, {"degree": 1, "kernels": "auto"}),
]
MADELON = [
    {"degree": 1},
    {"degree": 2},
    {"degree": 1, "p": 1},
    {"degree": 2, "p": 1},
    {"degree": 2, "solver": "greedy"},
    *({"degree": degree, "kernels": "auto"} for degree in (1, 2)),
]


def drawn(rows, columns, seed):
    """Return a table with two effects and an interaction among many columns without any."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] / 2 + 0.3 * rng.normal(size=rows)
    return X, y


def madelon():
    """Return madelon's rows to train on and three quarters as many others."""
    file = Path(os.environ["MANYKERNELS_DATA"]) / "extra" / "madelon.csv.gz"
    frame = pd.read_csv(file)
    y = frame.pop("target").to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    X, half = frame.to_numpy(float), 3 * len(y) // 4
    return (X[order[:half]], y[order[:half]]), (X[order[half:]], y[order[half:]])


def cut(number, frame):
    raise TimeoutError


def task(data, name, settings):
    def prepare():
        import manykernels.estimators  # noqa: F401

        if data == "madelon":
            return madelon()
        rows, columns = data
        return drawn(rows, columns, 0), drawn(min(rows, 200), columns, 1)

    def work(tables):
        import manykernels

        (X, y), held = tables
        signal.signal(signal.SIGPROF, cut)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            model = getattr(manykernels, name)(random_state=0, **settings).fit(X, y)
        except TimeoutError:
            return dict.fromkeys(("score", "terms", "gap"), float("nan"))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return {"score": model.score(*held), "terms": len(model.terms_), "gap": model.gap_}

    return prepare, work


def row(data, name, settings):
    """Return what was measured of one fit as a row of a table."""
    found = measured(task, data, name, settings, threads=1)
    say(data, name, settings, found)
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    size = data if data == "madelon" else f"{data[0]:,} x {data[1]:,}"
    numbers = {key: found[key] for key in ("cpu", "megabytes", "score", "terms", "gap")}
    return {"table": size, "model": f"{name}({words})", **numbers}


def main():
    fits = [row(*one) for one in SETTINGS]
    if os.environ.get("MANYKERNELS_DATA"):
        fits += [row("madelon", "MKLClassifierCV", settings) for settings in MADELON]
    text = __doc__.split("\n\n")[1]
    write_page("columns", "Many columns", text, [("Fits", pd.DataFrame(fits))], "columns.py")


if __name__ == "__main__":
    main()
