"""Fewer rows for the loss: the bias, and growing subsets. Tables for ``continuum.py``."""

import time

import numpy as np
import pandas as pd

from _free_widths import GAUSSIAN, LAW, joint, setting
from manykernels.dual import GramSystem, solve
from manykernels.families.widths import cell_family
from manykernels.solvers import run
from manykernels.solvers.full_pass import FullPass
from manykernels.solvers.nested import nested_rows, part_of
from manykernels.solvers.working_set import WorkingSet

ROWS = 800
SIZES = (50, 100, 200, 400)
SUBSETS = 60
"""Subsets of each size."""


def bias():
    """Return J on random subsets against J on all rows at equal weights; slopes of the bias.

    On a subset the best function for all rows has J as the mean of its values, so that what the
    subset's own function is better by is the bias, draw by draw.
    """
    out, slopes = [], []
    for strength in (0.1, 0.01, 0.001):
        points, problem = setting(joint, ROWS, 2, strength * ROWS, 4 / 3)
        family = cell_family(points, problem.nu, 4, 2, LAW, GAUSSIAN)
        kernel = family.gram_of_all(family.equal_weights(problem.nu))
        grams = [family.bases.product(index) for index in family.indices()]
        weights = family.weights(family.indices())
        whole = solve(problem, GramSystem(kernel))
        norm = float(np.vdot(whole.alpha, kernel @ whole.alpha))
        truth = gradient(problem, whole.alpha, grams, weights)
        shrunk = np.linalg.solve(kernel + strength * ROWS * np.eye(ROWS), kernel)
        rng, part = np.random.default_rng(7), []
        for size in SIZES:
            better, slope = [], 0.0
            for _ in range(SUBSETS):
                rows = rng.choice(ROWS, size, replace=False)
                task, block = part_of(problem, rows), np.ix_(rows, rows)
                solution = solve(task, GramSystem(kernel[block]))
                better.append(task.primal(whole.fitted[rows], norm) - solution.objective)
                smaller = [gram[block] for gram in grams]
                slope = slope + gradient(task, solution.alpha, smaller, weights) / SUBSETS
            part.append(
                {
                    "strength": strength,
                    "degrees of freedom": np.trace(shrunk),
                    "rows of a subset, b": size,
                    "J on all rows": whole.objective,
                    "below by": np.mean(better) / whole.objective,
                    "standard error": np.std(better, ddof=1) / SUBSETS**0.5 / whole.objective,
                    "subsets above": int(np.sum(np.array(better) < 0)),
                    "mean gradient off by": np.linalg.norm(slope - truth) / np.linalg.norm(truth),
                }
            )
        below, sizes = np.log([row["below by"] for row in part]), np.array(SIZES)
        exponents = [np.polyfit(np.log(x), below, 1)[0] for x in (1 / sizes, 1 / sizes - 1 / ROWS)]
        names = "slope on log (1/b)", "slope on log (1/b - 1/n)"
        slopes.append({"strength": strength})
        slopes[-1].update(zip(names, (f"{one:.2f}" for one in exponents), strict=True))
        out += part
    return pd.DataFrame(out), pd.DataFrame(slopes)


def gradient(problem, alpha, grams, weights):
    """Return the slopes of J in all weights."""
    scores = np.array([np.vdot(alpha, gram @ alpha) for gram in grams])
    return problem.slope(scores * weights)


NESTED = (100, 200, 400, 800)
LAST_TOL = 1e-4
"""Relative gap on all rows; on m of them it is 1/m."""


def nested():
    """Return the CPU time of growing subsets, relative to all rows alone."""
    out = []
    for label, p, solver in (("4/3", 4 / 3, FullPass()), ("1", 1.0, WorkingSet())):
        for seed in range(3):
            points, problem = setting(joint, ROWS, 3, 0.001 * ROWS, p, seed)
            start, spent, steps = None, [], []
            for rows in nested_rows(problem, NESTED, np.random.default_rng(seed)):
                start, seconds = timed(problem, points, rows, solver, start)
                spent.append(seconds)
                steps.append(start.n_iter)
            alone, seconds = timed(problem, points, None, solver, None)
            out.append(
                {
                    "p": label,
                    "seed": seed,
                    "CPU s by subset": ", ".join(f"{s:.2g}" for s in spent),
                    "steps": ", ".join(map(str, steps)),
                    "all / last": f"{sum(spent) / spent[-1]:.2f}",
                    "all rows alone, s": seconds,
                    "its steps": alone.n_iter,
                    "nested / alone": f"{sum(spent) / seconds:.2f}",
                    "objective, nested / alone - 1": start.solution.objective
                    / alone.solution.objective
                    - 1,
                }
            )
    return pd.DataFrame(out)


def timed(problem, points, rows, solver, start):
    """Return the result on some rows, or all for None, and its CPU time, kernels made included."""
    began = time.process_time()
    here = points if rows is None else points.take(rows)
    tol = LAST_TOL if rows is None else 1 / len(rows)
    family = cell_family(here, problem.nu, 4, 2, LAW, GAUSSIAN)
    task = part_of(problem, rows)
    result = run(solver, task, family, np.random.default_rng(0), 500, tol, start=start)
    return result, time.process_time() - began
