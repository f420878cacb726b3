"""How time and memory grow with the number of rows.

Linear kernels of 30 columns, degree 2 (496 kernels), squared loss, p = 4/3 and defaults otherwise,
from 1,000 to 100,000 rows; each size fitted three times, the fastest counts. Seconds are of the
processor, on one thread; memory is the peak above what the process held before the fit, with the
data in memory.

    python dev.py bench benchmarks/rows.py
"""

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def task(rows, p):
    def prepare():
        import manykernels.estimators  # noqa: F401

        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, 30))
        return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=rows)

    def work(data):
        from manykernels import MKLRegressor

        model = MKLRegressor(alpha=1e-3, degree=2, p=p).fit(*data)
        return {"gap": model.gap_, "terms": len(model.terms_)}

    return prepare, work


def main():
    rows = []
    for p in (4 / 3, 1.0):
        for size in SIZES:
            runs = [measured(task, size, p, threads=1) for _ in range(3)]
            best = min(runs, key=lambda run: run["cpu"])
            del best["seconds"]
            best["memory / input"] = min(run["megabytes"] for run in runs) / (size * 30 * 8 / 2**20)
            say(p, size, best)
            rows.append({"p": p, "rows": size, **best})
    frame = pd.DataFrame(rows)
    slopes = [
        {"p": p, "slope": np.polyfit(np.log(part["rows"]), np.log(part["cpu"]), 1)[0]}
        for p, part in frame.groupby("p")
    ]
    write_page(
        "rows",
        "Many rows",
        __doc__.split("\n\n")[1],
        [
            ("Slope of log time on log rows", pd.DataFrame(slopes)),
            ("All runs", frame),
        ],
        "rows.py",
    )


if __name__ == "__main__":
    main()
