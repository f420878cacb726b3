"""Are the terms that are reported true, and does our chosen mode predict as well as others.

Monomials: ten of up to three of 50 Gaussian columns, drawn uniformly from all 23,425, with
coefficients of one; columns independent, or an autoregression of .5 or .9 from one to the next; 300
or 500 rows, signal-to-noise ratios (variances) of 5, 1 and .5; and ten of the 1.4 million monomials
of 200 columns. Smooth functions of 12 uniform columns, 300 rows: Friedman's with noise of variance
one, and three kinds that are drawn anew for every seed, at a signal-to-noise ratio of 5: `pairs`
(three functions of a column, three products of two), `triples` (two of a column, two of two, two
products of three), all of factors with mean zero, so that no column of a product acts alone; and
`nested` (two of a column, one product of two and one of three, of factors with a mean), where every
set of the columns of a product is a true term. 20 seeds a cell; the first 3 for EBM, which takes
minutes a fit, the first 2 for the Lasso on 200 columns, whose matrix takes gigabytes (in single
precision), and the first 10 for `StabilitySelection` (smooth functions: 5) and knockoffs on
monomials. Methods are compared on the seeds that both have.

Which terms: `SplitTest` and `StabilitySelection` with default settings (degree 3; functions of
columns for smooth functions), level 0.1; celer's Lasso on all monomials of standardised columns,
each standardised, at the strength of the least error over five folds (of 100 strengths; a path ends
after 20 that bring nothing), and at the largest within one standard error of it; EBM with default
settings; hidimstat's model-X knockoffs at the same level with its own statistic (a Lasso's
coefficients) and with importances of a random forest, which can see products; at this level they
report ten variables or more, or none, and Friedman's function has five. No other package for
stability selection installs. Where terms are functions of columns, a Lasso's monomial counts as its
set of columns.

How well is predicted: "ours, chosen" fits p = 1 with standardised terms (50 strengths; on six
tables at AR .9 R2 was lower than the Lasso's by .008 on average with these, by .013 with the
default of 25), the same refitted, p = 1 with terms as they are, and greedy selection, these with
default settings and all of degree 3 (for smooth functions, with default settings: functions of
columns with p = 1, standardised monomials and greedy selection of monomials), with the same five
folds. Of all means of modes, with weights >= 0 that add up to one, one fits the out-of-fold
predictions best. From the first mode we go towards it by the share 1 - 2 s^2 / g^2 of the way (not
at all if that is negative), where g is what the mean gains in squared error and s the standard
error of that. R2 is against the signal without noise on 2,000 other rows.

Looked at while this was made, on some tables of the seeds 100 to 112 alone: rules to choose between
modes (17 tables); p-values adjusted by a factor, by weights of 1/k in the order of selection, and
by steps with these weights, which is what is done now (8 tables); and, for AR .9, tests beside up
to six further terms that other splits selected, which cost more than half of the power, and groups
that such terms join (13 tables), which were not kept.

Noise: 100 tables of columns and a target that have nothing to do with each other. Halves: tables of
more than 5,000 rows in the folder `extra/` of MANYKERNELS_DATA, cut in two at random, with 20
splits instead of the default of 50.

    MANYKERNELS_DATA=... python dev.py bench benchmarks/truth.py
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from _measure import machine, say
from _truth_tables import SHAPES, Monomials, Smooth, pure_noise

SEEDS = 20
CELLS = [
    *(
        Monomials(rows, correlation, ratio)
        for rows in (300, 500)
        for correlation in (0.0, 0.5, 0.9)
        for ratio in (5.0, 1.0, 0.5)
    ),
    Monomials(300, 0.5, 1.0, columns=200),
    *(Smooth(function) for function in SHAPES),
]
FEWER_SEEDS = {
    ("EBM", "smooth"): 3,
    ("lasso", "wide"): 2,
    ("stability", "smooth"): 5,
    ("stability", "wide"): 10,
    ("stability", "monomials"): 10,
    ("knockoffs", "wide"): 10,
    ("knockoffs", "monomials"): 10,
}
"""Seeds of what would take too long for 20, by task and kind of cell."""

NOISE_TABLES = 100
NOISE = {"linear": (300, 50, 3), "auto": (200, 10, 2)}
"""Rows, columns and degree of tables of noise."""

HALVED = (
    "pumadyn32nm",
    "grid_stability",
    "higgs15k",
    "bike_hourly",
    "california_housing",
    "kin40k",
)
"""Tables of more than 5,000 rows in the folder extra/ of MANYKERNELS_DATA."""


def kind_of(cell):
    return "smooth" if cell.smooth else "wide" if cell.columns > 50 else "monomials"


def tasks_of(parts, seeds):
    """Return all tasks, (part, cell, seed, what to do) each, the longest first but for some."""
    from _truth_methods import TASKS

    found = []
    for number, cell in enumerate(CELLS if "cells" in parts else []):
        for what in TASKS:
            if what == "EBM" and not cell.smooth:
                continue
            most = FEWER_SEEDS.get((what, kind_of(cell)), len(seeds))
            found += [("cells", number, seed, what) for seed in seeds[:most]]
    if "noise" in parts:
        tables = range(seeds[0], seeds[0] + NOISE_TABLES * len(seeds) // SEEDS)
        found += [("noise", kernels, seed, "split") for kernels in NOISE for seed in tables]
    if "halves" in parts:
        found += [("halves", name, half, "split") for name in HALVED for half in (0, 1)]
    return sorted(found, key=lambda task: (task[3] in LAST, -seconds_of(task), task[2]))


LAST = ("stability", "knockoffs")
"""Tasks that come after all others, in case that time runs out."""


SECONDS = {
    ("wide", "lasso"): 80,
    ("smooth", "EBM"): 130,
    ("wide", "ours"): 60,
    ("smooth", "stability"): 32,
    ("smooth", "split"): 20,
    ("monomials", "lasso"): 8,
    ("wide", "split"): 7,
    ("wide", "stability"): 10,
}
"""Seconds that tasks take, roughly, for their order."""


def seconds_of(task):
    part, cell, _, what = task
    if part == "cells":
        return SECONDS.get((kind_of(CELLS[cell]), what), 5)
    return {"halves": 330 if cell == "higgs15k" else 70, "noise": 6}[part]


def work(task):
    """Return what a task gives: its results by method."""
    part, cell, seed, what = task
    if part == "noise":
        return {"SplitTest": noise_result(cell, seed)}
    if part == "halves":
        return {"SplitTest": half_result(cell, seed)}
    from _truth_methods import TASKS

    return dict(TASKS[what](CELLS[cell], CELLS[cell].table(seed), seed))


def noise_result(kernels, seed):
    from _truth_methods import LEVEL, timed
    from manykernels import MKLRegressor
    from manykernels.selection import SplitTest

    rows, columns, degree = NOISE[kernels]
    X, y = pure_noise(rows, columns, seed)
    inner = MKLRegressor(alpha=1e-3, kernels=kernels, degree=degree)
    test, seconds = timed(lambda: SplitTest(inner, level=LEVEL, random_state=seed).fit(X, y))
    return {"reported": len(test.selected_), "cpu": seconds}


def half_result(name, half):
    import pandas as pd

    from _truth_methods import LEVEL, sure_groups, timed
    from manykernels import MKLClassifier, MKLRegressor
    from manykernels.selection import SplitTest

    frame = pd.read_csv(Path(os.environ["MANYKERNELS_DATA"]) / "extra" / f"{name}.csv.gz")
    y = frame.pop("target").to_numpy(float)
    X = frame.to_numpy(float)
    order = np.random.default_rng(HALVES_SEED).permutation(len(y))
    rows = np.array_split(order, 2)[half]
    classes = len(np.unique(y)) == 2
    inner = (MKLClassifier if classes else MKLRegressor)(kernels="auto", degree=2)
    test = SplitTest(inner, level=LEVEL, n_splits=HALVES_SPLITS, random_state=half)
    _, seconds = timed(lambda: test.fit(X[rows], y[rows].astype(int) if classes else y[rows]))
    groups = [sorted(group) for group in sure_groups(test, True)]
    return {"rows": len(rows), "groups": groups, "cpu": seconds}


HALVES_SEED = 0
HALVES_SPLITS = 20


def main():
    options = arguments()
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    known = {key_of(line) for line in lines_of(options.file)}
    tasks = [task for task in tasks_of(options.parts, seeds) if task not in known]
    if options.cells:
        tasks = [t for t in tasks if t[0] != "cells" or t[1] in options.cells]
    if options.only:
        tasks = [t for t in tasks if t[3] in options.only]
    if not options.page:
        computed(tasks, options.file, options.jobs)
    if options.page or (not options.no_page and options.parts == PARTS):
        from _truth_page import write

        write(lines_of(options.file), CELLS)


PARTS = ["cells", "noise", "halves"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)}; all by default")
    parser.add_argument(
        "--file", type=Path, default=Path("truth.jsonl"), help="results, a line each"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="tables of each cell")
    parser.add_argument("--first-seed", type=int, default=0, help="100 for design")
    parser.add_argument("--cells", type=int, nargs="*", help=f"some of 0 to {len(CELLS) - 1}")
    parser.add_argument("--only", nargs="*", help="some tasks: split stability ours lasso ..")
    parser.add_argument("--page", action="store_true", help="only write the page, from the file")
    parser.add_argument("--no-page", action="store_true", help="write no page")
    options = parser.parse_args()
    options.parts = options.parts or PARTS
    return options


def lines_of(path):
    """Return all results in a file; the last line may be cut off."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text().split("\n"):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def key_of(line):
    return line["part"], line["cell"], line["seed"], line["task"]


def computed(tasks, path, jobs):
    """Do all tasks, several at a time, and add a line to the file for each that is done."""
    began = time.perf_counter()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the processes to come: one a core
    if path.exists() and not path.read_text().endswith("\n"):
        with path.open("a") as file:
            file.write("\n")  # after a line that was cut off
    with ProcessPoolExecutor(max(1, jobs), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work, task): task for task in tasks}
        for number, done in enumerate(as_completed(running), 1):
            part, cell, seed, what = running[done]
            spent = f"{time.perf_counter() - began:.0f} s"
            try:
                results = done.result()
            except Exception as error:
                say(f"{number} of {len(tasks)}, {spent}: {running[done]} failed: {error!r}")
                continue
            line = {"part": part, "cell": cell, "seed": seed, "task": what, "results": results}
            line["machine"] = machine()
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            say(f"{number} of {len(tasks)}, {spent}: {part} {cell} {seed} {what}")


if __name__ == "__main__":
    sys.exit(main())
