"""How time and memory of `kernels="widths"` grow with the rows.

Friedman's function of five of ten columns with noise 1, drawn anew for each size, and
`MKLRegressor(kernels="widths")`: one fit for each size, on two threads. Seconds by the clock and of
the processor, megabytes the peak above what the process held before the fit; the score is R^2 on
2,000 other rows without noise. With `--most 4000` behind the script no larger table is tried.

    python dev.py bench benchmarks/width_growth.py
"""

import argparse

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000)
COLUMNS = 10
THREADS = 2


def friedman(rows, seed, noise):
    """Return ten uniform columns, of which five matter, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, COLUMNS))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + noise * rng.normal(size=rows)


def task(rows):
    def prepare():
        import manykernels  # noqa: F401

        return friedman(rows, 0, 1.0), friedman(2_000, 1, 0.0)

    def work(tables):
        import warnings

        from manykernels import MKLRegressor

        warnings.simplefilter("ignore")
        (X, y), held = tables
        model = MKLRegressor(kernels="widths", random_state=0).fit(X, y)
        return {"score": model.score(*held), "kernels": len(model.terms_)}

    return prepare, work


def slope(sizes, values):
    """Return the slope of log values on log sizes; not a number for a single size."""
    return np.polyfit(np.log(sizes), np.log(values), 1)[0] if len(sizes) > 1 else np.nan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=ROWS[-1], help="rows of the largest table")
    sizes = [rows for rows in ROWS if rows <= parser.parse_args().most]
    found = []
    for rows in sizes:
        one = measured(task, rows, threads=THREADS)
        say(rows, one)
        found.append({"rows": f"{rows:,}", "clock s": one["seconds"], "CPU s": one["cpu"]})
        found[-1] |= {key: one[key] for key in ("megabytes", "score", "kernels")}
    table = pd.DataFrame(found)
    slopes = pd.DataFrame(
        [{key: slope(sizes, table[key]) for key in ("clock s", "CPU s", "megabytes")}]
    )
    text = __doc__.split("\n\n")[1]
    tables = [("Fits", table), ("Slopes of logarithms on that of the rows", slopes)]
    write_page("width_growth", "Growth of models with widths", text, tables, "width_growth.py")


if __name__ == "__main__":
    main()
