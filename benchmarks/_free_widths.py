"""The continuum of widths: its optima, its draws, its cells. Tables for ``continuum.py``."""

import time

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components

from manykernels.bases import WidthRows
from manykernels.certificate import from_norm
from manykernels.dual import GramSystem, solve
from manykernels.families import LogUniform, WidthFamily, WidthGrid
from manykernels.families.widths import cell_family
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.potentials import power_norm
from manykernels.solvers import MirrorDescent, run
from manykernels.solvers.full_pass import FullPass
from manykernels.solvers.theory import TheoremStep
from manykernels.solvers.widths.scores import WidthScores
from manykernels.solvers.working_set import WorkingSet

LAW = LogUniform(0.01, 100.0)
GAUSSIAN = ("gaussian",)

LIGHT = 1e-4
"""Weight below which a kernel of an optimum is not counted."""


def sine(X):
    return np.sin(4 * X[:, 0])


def three(X):
    return np.sin(X[:, 0]) + np.sin(4 * X[:, 0]) + np.sin(12 * X[:, 0])


def joint(X):
    return np.sin(4 * X[:, 0]) + X[:, 0] * X[:, 1]


def setting(target, rows, columns, strength, p, seed=0, noise=0.3):
    """Return drawn rows and the problem of a target with noise; strength as of a sum of losses."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = target(X) + noise * rng.normal(size=rows)
    y = (y - y.mean()) / y.std()
    problem = Problem(y[:, None], np.full(rows, 1 / rows), Squared(), strength / rows, p, False)
    return WidthRows(X), problem


def solved(solver, problem, family, tol, steps=2000, seed=0):
    """Return the result and its CPU seconds."""
    began = time.process_time()
    result = run(solver, problem, family, np.random.default_rng(seed), steps, tol)
    return result, time.process_time() - began


def atoms_of(result, cells):
    """Return the number of atoms: kernels next to each other on the grid are one."""
    live = [index for index, w in zip(result.indices, result.theta, strict=True) if w > LIGHT]
    near = np.array(
        [[len(a) == len(b) and _touch(a, b, cells) for b in live] for a in live], dtype=int
    )
    return len(live), connected_components(near)[0]


def _touch(a, b, cells):
    pairs = zip(a, b, strict=True)
    return all(i // cells == j // cells and abs(i - j) <= 1 for i, j in pairs)


def free_gap(points, problem, law, family, result):
    """Return the gap that ascents in the widths find from the ten best kernels of the grid."""
    alpha = result.solution.alpha
    scores, indices = family.at(alpha).all(), family.indices()
    ascents = WidthScores(points, np.arange(points.count), np.float64)
    ascents.at(alpha)
    best, ends = scores.max(), np.log([LAW.lowest, LAW.highest])
    for place in np.argsort(-scores)[:10].tolist():
        if indices[place]:
            columns, cells = zip(*(divmod(i, family.cells) for i in indices[place]), strict=True)

            def downhill(logs, columns=columns):
                widths = np.zeros(points.count)
                widths[list(columns)] = np.exp(logs)
                score, slopes = ascents("gaussian", widths)
                return -score / scores.max(), -slopes[list(columns)] / scores.max()

            start = np.log([law.widths[cell] for cell in cells])
            end = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=[ends] * len(start))
            best = max(best, -end.fun * scores.max())
    return from_norm(problem, result.solution, float(best), "estimate").relative


def atoms():
    """Return the number of atoms of optima of p = 1 on fine grids, priced whole."""
    out = []
    for target, columns, grid, sizes in (
        (sine, 1, 100, (25, 50, 100, 200, 400)),
        (three, 1, 100, (25, 50, 100, 200, 400)),
        (joint, 2, 16, (25, 50, 100, 200)),
    ):
        law = WidthGrid(tuple(np.geomspace(LAW.lowest, LAW.highest, grid).tolist()))
        for rows in sizes:
            found = []
            for seed in range(3):
                points, problem = setting(target, rows, columns, 0.1, 1.0, seed)
                family = cell_family(points, 1.0, grid, columns, law, GAUSSIAN)
                result, _ = solved(WorkingSet(), problem, family, 1e-6)
                free = free_gap(points, problem, law, family, result)
                found.append((*atoms_of(result, grid), result.certificate.relative, free))
            kernels, number, gaps, free_gaps = zip(*found, strict=True)
            out.append(
                {
                    "target": target.__name__,
                    "rows n": rows,
                    "kernels in the grid": family.distinct,
                    "kernels with a weight": ", ".join(map(str, kernels)),
                    "atoms": ", ".join(map(str, number)),
                    "bound n + 1": rows + 1,
                    "gap over the grid": max(gaps),
                    "with widths free": max(free_gaps),
                }
            )
    return pd.DataFrame(out)


SAMPLED = [(100, 1), (100, 3), (100, 10), (100, 30), (400, 1), (400, 10)]
"""Rows and columns of the tables that exact and uniform draws are compared on."""


def sampling():
    """Return how many draws the two estimates need, from exact draws and from uniform ones.

    What is estimated is the change of the fitted values by a step along the gradient.
    """
    out = []
    for rows, columns in SAMPLED:
        points, problem = setting(sine, rows, columns, 0.1, 2.0)
        family = WidthFamily(points, min(2, columns), GAUSSIAN, LAW)
        start = problem.dual_point(-problem.y)
        fitted = solve(problem, GramSystem(family.closed())).alpha
        for label, alpha in (("start", start), ("fitted", fitted)):
            out.append({"rows": rows, "columns": columns, "dual point": label})
            out[-1].update(_compared(family, alpha, 800 if rows == 100 else 150))
    return pd.DataFrame(out)


def _compared(family, alpha, count):
    field, rng = family.at(alpha), np.random.default_rng(5)
    field.draw(1, rng)  # what is made once for a family
    began = time.process_time()
    exact = field.draw(count, rng)
    middle = time.process_time()
    many = 3 * count
    drawn, density = family.uniform(many, rng)
    ratios = field.gradients(drawn) / density
    ended = time.process_time()
    first = _changes(family.bases, exact.indices, alpha) * exact.ratios[:, None]
    first = np.repeat(first, exact.counts, axis=0)
    second = _changes(family.bases, drawn, alpha) * ratios[:, None]
    # The squared length of the mean, from pairs of different draws: unbiased.
    truth = (np.sum(first.sum(axis=0) ** 2) - np.sum(first**2)) / (count * (count - 1))
    needed = [
        (np.mean(np.sum(part**2, axis=1)) - truth) / (0.01 * truth) for part in (first, second)
    ]
    cost = (middle - began) / count, (ended - middle) / many
    return {
        "unevenness": np.mean(ratios**2) / np.mean(ratios) ** 2,
        "draws needed, exact": needed[0],
        "uniform": needed[1],
        "draws, uniform / exact": needed[1] / needed[0],
        "ms a draw, exact": 1e3 * cost[0],
        "ms, uniform": 1e3 * cost[1],
        "CPU, uniform / exact": needed[1] * cost[1] / (needed[0] * cost[0]),
    }


def _changes(points, indices, alpha):
    return np.stack([points.kernel(index) @ alpha[:, 0] for index in indices])


CELL_SETTING = joint, 80, 2, 0.1, 4 / 3
"""What cells are measured on."""


def cells():
    """Return optima of p = 4/3 against the number of cells, and the theorem's constant."""
    points, problem = setting(*CELL_SETTING)
    start = problem.dual_point(-problem.y)  # the dual point of all weights zero
    out = []
    for degree, numbers in ((1, (1, 2, 4, 8, 16, 32, 64)), (2, (1, 2, 4, 8, 16))):
        last = None
        for number in numbers:
            family = cell_family(points, problem.nu, number, degree, LAW, GAUSSIAN)
            result, _ = solved(FullPass(), problem, family, 1e-8)
            value = result.solution.objective
            mass = float(problem.slope(family.at(start).mass))
            out.append(
                {
                    "degree": degree,
                    "cells of a column": number,
                    "kernels": family.distinct,
                    "optimum": f"{value:.6f}",
                    "lower than with half the cells": np.nan if last is None else 1 - value / last,
                    "gap": result.certificate.relative,
                    "C at the start": mass,
                    "steps the theorem asks for": mass**2 / (0.01 * value) ** 2,
                }
            )
            last = value
    frame = pd.DataFrame(out)
    slopes = {
        degree: np.polyfit(
            np.log(part["cells of a column"][-4:]), np.log(part["C at the start"][-4:]), 1
        )[0]
        for degree, part in frame.groupby("degree")
    }
    return frame, slopes


def descent():
    """Return runs of mirror descent on cells; the objective of no weights over each optimum."""
    points, problem = setting(*CELL_SETTING)
    out, starts = [], []
    for number in (4, 16, 64):
        family = cell_family(points, problem.nu, number, 1, LAW, GAUSSIAN)
        best = solved(FullPass(), problem, family, 1e-9)[0].solution.objective
        starts.append(problem.risk(np.zeros_like(problem.y)) / best)
        # The theorem bounds the average iterate of its own step, not the default.
        paper = MirrorDescent(draws=1, step=TheoremStep(1000), average=True)
        for label, method, steps in (
            ("theorem's step and average, 1 draw", paper, 1000),
            ("default, 50 draws", MirrorDescent(), 30),
            ("default, 50 draws", MirrorDescent(), 100),
            ("default, 50 draws", MirrorDescent(), 1000),
        ):
            result, seconds = solved(method, problem, family, 1e-12, steps)
            bound = result.constants.expectation_bound() / best if method is paper else np.nan
            out.append(
                {
                    "cells of a column": number,
                    "run": label,
                    "steps": steps,
                    "above the optimum": result.solution.objective / best - 1,
                    "certified gap": result.certificate.relative,
                    "kind": result.certificate.kind,
                    "the theorem's bound": bound,
                    "CPU seconds": seconds,
                }
            )
    return pd.DataFrame(out), starts


def point_draws():
    """Return norms of the estimate from one point of a grid, as the grid grows finer."""
    points, problem = setting(sine, 80, 1, 0.1, 4 / 3)
    start = problem.dual_point(-problem.y)
    rng, out = np.random.default_rng(6), []
    for number in (5, 10, 20, 40, 80, 160, 320):
        law = WidthGrid(tuple(np.geomspace(LAW.lowest, LAW.highest, number).tolist()))
        family = cell_family(points, problem.nu, number, 1, law, GAUSSIAN, rho=[1e6, 1.0])
        field = family.at(start)
        norms = []
        for count in (1, 50):
            draws = [problem.slope(field.draw(count, rng).estimate()) for _ in range(200)]
            norms.append(np.sqrt(np.mean([np.sum(one**2) for one in draws])))
        out.append(
            {
                "widths": number,
                "norm of the gradient": power_norm(problem.slope(field.all()), 2.0),
                "norm of the estimate, 1 draw": norms[0],
                "50 draws": norms[1],
            }
        )
    frame = pd.DataFrame(out)
    slope = np.polyfit(np.log(frame["widths"]), np.log(frame["norm of the estimate, 1 draw"]), 1)
    return frame, float(slope[0])
