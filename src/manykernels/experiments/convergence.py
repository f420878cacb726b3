"""Speed of convergence: objective against time (the paper's first experiment)."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..baselines.lp_norm import AnalyticUpdates
from ..bases import FeatureBlocks, GramStack
from ..datasets import load_paper
from ..datasets.facts import PAPER
from ..datasets.paper import source_of
from ..families import ProductFamily, Tuples
from ..losses import Squared
from ..objective import Problem
from ..solvers import (
    DecreasingStep,
    GradientSampler,
    HarmonicStep,
    MirrorDescent,
    Sampler,
    Solver,
    UniformSampler,
)
from .pages import markdown_table, new_figure, save_figure, write_table
from .runner import Row, Run, complete
from .tuning import split

LARGEST_DEGREE, P, SUM_RIDGE = 3, 4 / 3, 1e-5
"""Degree, exponent and strength (next to a sum of losses) of the paper's experiment."""

SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Step sizes that are tried, of the form scale / (size of the gradient estimate * sqrt k)."""

PANELS = ("rank-one", "dense")
"""Kernels as products of columns, or as n x n matrices like those of any other kernel."""

SAMPLERS: dict[str, Sampler] = {"ours": GradientSampler(), "UCD": UniformSampler()}
"""How the two methods with draws sample kernels."""

LP_NORM = "lp-norm MKL"
"""Name of the method that lists all kernels."""

RACED_METHODS = ("ours, 1 draw", "ours, 50 draws", "UCD, 1 draw", "UCD, 50 draws", LP_NORM)
"""Names of the methods that are compared."""

TARGET_SUBOPTIMALITY = 0.01
"""Relative suboptimality that methods race to."""

OPTIMUM_GAP, OPTIMUM_PASSES = 1e-8, 300
"""Relative gap at which the optimum counts as found, and most passes to get there."""

OPTIMUM_COLUMNS = (
    "kernels",
    "passes",
    "gap",
    "q, equal weights",
    "uniform, equal weights",
    "q, optimum",
    "uniform, optimum",
)
"""What is written of the optimum, besides the objective."""


def execute(
    runs: int, seconds: float, quick: bool, data_dir: Path | None, cache: Path, progress: bool
) -> pd.DataFrame:
    """Tune the step sizes on the first split, then run every method on every split."""
    data = ("waveform",) if quick else tuple(PAPER)
    scales = (0.3, 1.0) if quick else SCALES
    work = partial(compute, data_dir=data_dir)
    sources = {name: source_of(name, data_dir) for name in data}

    def run(
        name: str, number: int, panel: str, method: str, scale: float | None, recipe: str = ""
    ) -> Run:
        own: Row = {"data": name, "split": number, "panel": panel, "method": method}
        own |= {"scale": scale, "seconds_allowed": seconds}
        return Run("convergence", own, recipe=recipe)

    optima = [
        Run(
            "convergence",
            {"data": name, "split": number, "panel": "-", "method": "optimum"},
            0.5,
            sources[name],
        )
        for name, number in product(data, range(runs))
    ]
    tuning = [
        run(name, 0, panel, method, scale, sources[name])
        for name, panel, method, scale in product(data, PANELS, RACED_METHODS, scales)
        if method.endswith("1 draw")
    ]
    tuned = complete([*optima, *tuning], work, cache, progress)
    final = [
        run(name, number, panel, method, best_scale(tuned, name, panel, method))
        for number, name, panel, method in product(range(runs), data, PANELS, RACED_METHODS)
    ]
    frame = complete([*optima, *final], work, cache, progress)
    return frame.drop(columns="seconds_allowed")


def best_scale(frame: pd.DataFrame, data: str, panel: str, method: str) -> float | None:
    """Return the scale whose run ended with the least objective; None where there is none."""
    at = (frame["data"] == data) & (frame["panel"] == panel) & (frame["method"] == method)
    last = frame[at].groupby("scale")["objective"].last()
    return None if last.empty else float(last.index[int(last.argmin())])


def compute(run: Run, data_dir: Path | None) -> list[Row]:
    """Follow one method, or find the optimum."""
    wanted = run.settings
    data = load_paper(str(wanted["data"]), data_dir)
    parts = split(data.data, data.target, data.split, int(wanted["split"] or 0))
    X, y = parts.X[parts.train], parts.y[parts.train]
    X = X[:, X.std(axis=0) > 0]
    rows = len(y)
    problem = Problem(y[:, None], np.full(rows, 1 / rows), Squared(), SUM_RIDGE / rows, P)
    if wanted["method"] == "optimum":
        return [optimum(problem, family_of(X, "rank-one"))]
    seconds = float(wanted["seconds_allowed"] or 0)
    solver = make_solver(str(wanted["method"]), wanted["scale"])
    return follow(solver, problem, X, str(wanted["panel"]), seconds)


def family_of(X: Array, panel: str, single: bool = False) -> ProductFamily:
    """Return the paper's kernels: all ordered tuples of up to three columns.

    A single draw from matrices is cheapest by the tree of masses; 50 draws, or draws from columns,
    as the family itself decides.
    """
    bases: FeatureBlocks | GramStack = FeatureBlocks(X)
    if panel == "dense":
        bases = GramStack(X.T[:, :, None] * X.T[:, None, :])
    below = 0.0 if single and panel == "dense" else None
    return ProductFamily(bases, LARGEST_DEGREE, Tuples(P / (2 - P)), enumerate_below=below)


def make_solver(method: str, scale: Any) -> Solver:
    """Return the solver of a method's name."""
    if method == LP_NORM:
        return AnalyticUpdates()
    name, draws = method.split(", ")
    step = HarmonicStep() if scale is None else DecreasingStep(float(scale))
    return MirrorDescent(int(draws.split()[0]), SAMPLERS[name], step)


def follow(solver: Solver, problem: Problem, X: Array, panel: str, seconds: float) -> list[Row]:
    """Run a solver for some seconds; return points of its path, evenly in the logarithm of time.

    The clock runs from before the kernels are made.
    """
    began = perf_counter()
    single = isinstance(solver, MirrorDescent) and solver.draws == 1
    family = family_of(X, panel, single)
    rows: list[Row] = []
    for state in solver.iterate(problem, family, np.random.default_rng(0)):
        now = perf_counter() - began
        row = {"iteration": state.k - 1, "seconds": now, "objective": state.solution.objective}
        if not rows or now > 1.1 * rows[-1]["seconds"] or now > seconds:
            rows.append(row)
        # A certificate that is not there yet would cost time that the method does not need.
        if now > seconds or (state.final and state.certificate.relative < OPTIMUM_GAP):
            return rows
    raise AssertionError("solvers do not end by themselves")


def optimum(problem: Problem, family: ProductFamily) -> Row:
    """Return the least objective, its gap, and second moments of estimates along the way."""
    first: tuple[float, float] | None = None
    for state in AnalyticUpdates().iterate(problem, family, np.random.default_rng(0)):
        first = first or second_moments(family, state.solution.alpha)
        if state.certificate.relative <= OPTIMUM_GAP or state.k > OPTIMUM_PASSES:
            break
    assert first is not None
    last = second_moments(family, state.solution.alpha)
    return {
        "objective": state.solution.objective,
        "gap": state.certificate.relative,
        "kernels": family.distinct,
        "passes": state.k - 1,
        "q, equal weights": first[0],
        "uniform, equal weights": first[1],
        "q, optimum": last[0],
        "uniform, optimum": last[1],
    }


def second_moments(family: ProductFamily, alpha: Array) -> tuple[float, float]:
    r"""Return :math:`E\|\hat g\|_2^2 / \|g\|_2^2` of one draw from q, and of a uniform one.

    It is about the number of draws that give an estimate as good as the gradient itself. With
    members of multiplicity m a uniform draw has :math:`s_i = m_i/|I|`, and :math:`q_i \propto m_i`
    times the gradient of a member.
    """
    gradients = family.at(alpha).all()
    members = family.multiplicities(family.indices())
    masses = gradients / family.weights(family.indices()) * members
    live = masses > 0
    squares = gradients[live] ** 2

    def moment(probabilities: Array) -> float:
        shares = probabilities[live] / probabilities.sum()
        return float(np.sum(squares / shares) / np.sum(squares))

    return moment(masses), moment(members)


def suboptimality(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the points of all paths with their distance to the optimum, relative to it."""
    least = frame[frame["method"] == "optimum"].set_index(["data", "split"])["objective"]
    paths = frame[frame["method"] != "optimum"].copy()
    best = least.loc[pd.MultiIndex.from_frame(paths[["data", "split"]])].to_numpy()
    paths["suboptimality"] = paths["objective"] / best - 1
    return paths


def race(paths: pd.DataFrame) -> pd.DataFrame:
    """Return for each data set, panel and method: median seconds to the target, cost of a step."""
    by = ["data", "panel", "method"]
    ends = paths.groupby([*by, "split"], sort=False).last()
    there = paths[paths["suboptimality"] <= TARGET_SUBOPTIMALITY]
    times = there.groupby([*by, "split"], sort=False)["seconds"].first()
    table = pd.DataFrame(
        {
            "seconds to 1 %": times.reindex(ends.index).fillna(np.inf),
            "ms a step": 1000 * (ends["seconds"] / ends["iteration"].clip(lower=1)),
            "steps": ends["iteration"],
            "suboptimality at the end": ends["suboptimality"],
        }
    )
    medians = table.groupby(by, sort=False).median().reset_index()
    return medians.astype({"steps": int})


def winners(times: pd.DataFrame) -> pd.DataFrame:
    """Return who reaches the target first, and how much later the next one does."""
    rows = []
    for (data, panel), part in times.groupby(["data", "panel"], sort=False):
        order = part.sort_values(["seconds to 1 %", "suboptimality at the end"])
        first, second = order.iloc[0], order.iloc[1]
        reached = np.isfinite(first["seconds to 1 %"])
        again = np.isfinite(second["seconds to 1 %"])
        rows.append(
            {
                "data": data,
                "panel": panel,
                "first": first["method"] if reached else "nobody",
                "seconds": first["seconds to 1 %"] if reached else np.nan,
                "next": second["method"] if again else "nobody in the time allowed",
                "later by a factor": second["seconds to 1 %"] / first["seconds to 1 %"]
                if again
                else np.nan,
            }
        )
    return pd.DataFrame(rows)


def report(frame: pd.DataFrame, out: Path, command: str) -> str:
    """Write table and figure; return the page."""
    write_table(frame, out / "convergence.csv")
    paths = suboptimality(frame)
    data = list(dict.fromkeys(paths["data"]))
    figure, axes = new_figure(2, len(data), 3.2 * len(data), 6.0)
    for (row, panel), (column, name) in product(enumerate(PANELS), enumerate(data)):
        draw_panel(axes[row, column], paths, name, panel)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    save_figure(figure, out, "convergence")
    times = race(paths)
    optima = frame[frame["method"] == "optimum"]
    columns = [name for name in optima.columns if name in OPTIMUM_COLUMNS]
    moments = optima.groupby("data", sort=False)[columns].mean().reset_index()
    moments[["kernels", "passes"]] = moments[["kernels", "passes"]].astype(int)
    return CONVERGENCE_PAGE.format(
        command=command,
        splits=paths["split"].nunique(),
        winners=markdown_table(winners(times)),
        times=markdown_table(times.replace(np.inf, np.nan)),
        optima=markdown_table(moments),
    )


def draw_panel(axis: Any, paths: pd.DataFrame, data: str, panel: str) -> None:
    """Draw the paths on one data set; one line a split."""
    for position, method in enumerate(RACED_METHODS):
        at = (paths["data"] == data) & (paths["panel"] == panel) & (paths["method"] == method)
        for number, (_, part) in enumerate(paths[at].groupby("split")):
            axis.plot(
                part["seconds"],
                part["suboptimality"].clip(lower=1e-9),
                color=f"C{position}",
                marker="." if method == LP_NORM else None,
                label=None if number else method,
                linewidth=1,
            )
    axis.axhline(TARGET_SUBOPTIMALITY, color="grey", linestyle=":", linewidth=1)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(1e-5, None)
    axis.set_title(f"{data}, {panel}", fontsize=9)
    axis.set_xlabel("seconds")
    if data == paths["data"].iloc[0]:
        axis.set_ylabel("relative suboptimality")


CONVERGENCE_PAGE = """# Speed of convergence

Made by `{command}`; numbers in [convergence.csv](convergence.csv).

All methods minimise the same objective over the same kernels: products of up to three columns,
ordered tuples merged, nu = 2, squared loss, ridge 1e-5 (sum scale), no intercept, on training
parts of the paper's sizes. Number of random splits: {splits}. "Rank-one" kernels are products of
columns for everyone; "dense" ones are n x n matrices for everyone, as in the paper. Step sizes of
the methods with one draw are tuned over {{0.03, 0.1, 0.3, 1, 3}} on full-length runs of the first
split; those with 50 draws use the default step, which has nothing to tune. One BLAS thread. The
clock includes making the kernels. The optimum comes from analytic updates run to a gap of 1e-8.

![relative suboptimality against seconds](convergence.png)

## Who reaches 1 % first

{winners}
## Time to 1 %, cost of a step, and where each method stood at the end

{times}
## Why: the cost of a step, and the second moment of an estimate

A step of mirror descent and a pass of lp-norm MKL both solve one ridge problem; a pass also adds up
all kernels, and moves all weights at once by the exact gradient. "ms a step" above is the cost of
either. How many draws an estimate as good as the gradient takes is, about, the ratio of second
moments E|g_hat|^2 / |g|^2 of a single draw: below for draws from q (ours) and for uniform ones
(UCD), at the dual point of equal weights and at the optimum. With b draws a step, that ratio over
b, times the cost of a step, stands against the cost of a pass. "Passes" are those to a gap of 1e-8.

{optima}"""
