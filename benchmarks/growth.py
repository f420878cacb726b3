"""How time and memory grow with rows and with columns.

Drawn tables, y = x0 x1 + x2 + x3 / 2 + noise: 1,000 rows of 5 to 500 columns, and 10 columns of
1,000 to 100,000 rows, at degree 2 with p = 1. Seconds are of the processor, on one thread,
megabytes the peak above what the process held before the fit; the score is R^2 on other rows.
Behind a fit of more than two minutes no larger table of its kind is tried.

    python dev.py bench benchmarks/growth.py
"""

import numpy as np
import pandas as pd

from _measure import write_page
from columns import CHOSEN, row

COLUMNS = (5, 20, 50, 100, 200, 500)
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
KINDS = ("linear", "auto")
LONGEST = 120
"""Seconds of a fit behind which no larger table of the same kind is tried. Set by judgement."""


def growth(sizes, of):
    """Return fits of growing tables, of both kinds of kernels; and the slopes of their time."""
    frames, slopes = [], []
    for kind in KINDS:
        found = []
        for size in sizes:
            found.append(row(of(size), CHOSEN, {"kernels": kind, "degree": 2, "p": 1}))
            if found[-1]["cpu"] > LONGEST:
                break
        seconds, done = [one["cpu"] for one in found], sizes[: len(found)]
        slope = np.polyfit(np.log(done), np.log(seconds), 1)[0] if len(done) > 1 else np.nan
        slopes.append({"kernels": kind, "slope": slope})
        frames += found
    return pd.DataFrame(frames), pd.DataFrame(slopes)


def main():
    columns, column_slopes = growth(COLUMNS, lambda size: (1_000, size))
    rows, row_slopes = growth(ROWS, lambda size: (size, 10))
    tables = [
        ("Slope of log time on log columns, 1,000 rows", column_slopes),
        ("Slope of log time on log rows, 10 columns", row_slopes),
        ("Columns, 1,000 rows", columns),
        ("Rows, 10 columns", rows),
    ]
    write_page("growth", "Growth", __doc__.split("\n\n")[1], tables, "growth.py")


if __name__ == "__main__":
    main()
