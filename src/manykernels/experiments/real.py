"""Real data: prediction errors of all methods (the paper's third experiment)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..datasets import load_paper
from ..datasets.facts import PAPER
from ..datasets.paper import source_of
from .methods import PRIOR, STEEP, Method, combination, hierarchical, lasso, lp_norm, ours, uniform
from .pages import markdown_table, mean_and_error, new_figure, save_figure, write_table
from .runner import Row, Run
from .tuning import Tuner, best_lasso, split

REAL_METHODS: dict[str, Method] = {
    "ours D=2": ours(2),
    "ours D=3": ours(3),
    "ours D=3 prior": ours(3, PRIOR),
    "ours D=3 steep": ours(3, STEEP),
    "ours D=3 steep p=2": ours(3, STEEP, p=2.0),
    "HKL D=2": hierarchical(2),
    "HKL D=3": hierarchical(3),
    "Cortes D=2": combination(2),
    "Cortes D=3": combination(3),
    "uniform D=1": uniform(1),
    "uniform D=2": uniform(2),
    "uniform D=3": uniform(3),
    "lp-norm linear nu=1": lp_norm(1, 1.0),
    "lp-norm linear nu=2": lp_norm(1, 4 / 3),
    "Lasso D=2": lasso(2),
    "Lasso D=3": lasso(3),
}
"""The configurations that are compared, by name."""

ADDED = ("ours D=3 steep", "ours D=3 steep p=2")
"""Our configurations that the paper does not have."""

PAPER_GRID = tuple(range(-4, 4))
"""Exponents of the paper's strengths, 1e-4 .. 1e3 in the sum scale."""

QUICK_METHODS = tuple(name for name in REAL_METHODS if name.endswith((" D=2", " nu=2")))
"""Names of the configurations that a smoke test runs."""


def plan(runs: int, quick: bool, data_dir: Path | None) -> list[Run]:
    """Return the runs: every data set, split and method; the first split of all comes first."""
    data = ("ringnorm", "waveform") if quick else tuple(PAPER)
    names = QUICK_METHODS if quick else tuple(REAL_METHODS)
    return [
        Run(
            "real",
            {"data": name, "split": number, "method": method, "quick": quick},
            recipe=f"{REAL_METHODS[method].recipe} {source_of(name, data_dir)}",
        )
        for number in range(runs)
        for name in data
        for method in names
    ]


def compute(run: Run, data_dir: Path | None) -> list[Row]:
    """Tune a method on one split; return its errors with the paper's grid and a wider one."""
    settings = run.settings
    data = load_paper(str(settings["data"]), data_dir)
    parts = split(data.data, data.target, data.split, int(settings["split"] or 0))
    method = REAL_METHODS[str(settings["method"])]
    if method.own_path:
        narrow = wide = best_lasso(method, parts)
    else:
        tuner = Tuner(method, parts)
        grid = (-1, 0, 1) if settings["quick"] else PAPER_GRID
        narrow = tuner.best(grid)
        wide = narrow if settings["quick"] else tuner.best_wide(grid)
    return [
        {
            "source": data.source,
            "grid": grid_name,
            "ridge": fit.ridge,
            "validation": fit.validation,
            "mse": parts.mse(fit.model, parts.test),
            "misclassified": parts.misclassified(fit.model, parts.test),
            "seconds": fit.seconds,
            "gap": fit.gap,
        }
        for grid_name, fit in (("paper", narrow), ("wide", wide))
    ]


FAMILIES = {
    family: tuple(name for name in REAL_METHODS if name.startswith(family))
    for family in ("ours", "HKL", "Cortes", "uniform", "lp-norm linear", "Lasso")
}
"""The configurations of each method, among which validation rows choose."""


def chosen(frame: pd.DataFrame, family: str, names: Sequence[str]) -> pd.DataFrame:
    """Return, for each data set and split, the configuration of least validation error."""
    own = frame[frame["method"].isin(names)]
    best = own.loc[own.groupby(["data", "split"], sort=False)["validation"].idxmin()]
    return best.assign(configuration=best["method"], method=f"{family}, chosen")


def with_chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the chosen configuration of each method to the rows of all configurations."""
    parts = [chosen(frame, family, names) for family, names in FAMILIES.items()]
    return pd.concat([frame, *parts])


def summary(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a table with a row for each method and a column for each data set: mean (error)."""
    parts = mean_and_error(frame, ["data", "method"], value)
    parts["text"] = [
        f"{mean:.3f} ({error:.3f})" if np.isfinite(error) else f"{mean:.3f}"
        for mean, error in zip(parts["mean"], parts["error"], strict=True)
    ]
    table = parts.pivot_table(index="method", columns="data", values="text", aggfunc="first")
    order = list(dict.fromkeys(frame["method"]))
    return table.loc[order, list(dict.fromkeys(frame["data"]))].reset_index()


def ranking(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare our chosen configuration with the best method on each data set.

    The best of the others is found on test errors, among all their configurations and choices.
    """
    rows = []
    for data, part in frame.groupby("data", sort=False):
        means = mean_and_error(part, "method", "mse").set_index("method")
        mine = float(means["mean"]["ours, chosen"])
        others = means[~means.index.str.startswith("ours")]
        best = str(others["mean"].idxmin())
        least, error = float(others["mean"][best]), float(others["error"][best])
        choices = part.loc[part["method"] == "ours, chosen", "configuration"].value_counts()
        rows.append(
            {
                "data": data,
                "ours, chosen": mine,
                "best other": best,
                "its mse": least,
                "its standard error": error,
                "within one error": "yes" if mine <= least + error else "no",
                "our choices": ", ".join(f"{n} x {str(name)[5:]}" for name, n in choices.items()),
            }
        )
    return pd.DataFrame(rows)


def report(frame: pd.DataFrame, out: Path, command: str) -> str:
    """Write table and figure; return the page."""
    write_table(frame, out / "real.csv")
    grids = dict(iter(frame.groupby("grid", sort=False)))
    full = {grid: with_chosen(part) for grid, part in grids.items()}
    wide = grids["wide"]
    own = wide[~wide["method"].isin(ADDED)]
    data = list(dict.fromkeys(frame["data"]))
    figure, axes = new_figure(2, (len(data) + 1) // 2, 3.6 * ((len(data) + 1) // 2), 7.2)
    for axis, name in zip(axes.ravel(), data, strict=False):
        part = mean_and_error(full["wide"][full["wide"]["data"] == name], "method", "mse")
        colours = ["C1" if m.startswith("ours") else "C0" for m in part["method"]]
        axis.barh(part["method"], part["mean"], xerr=part["error"], color=colours, capsize=2)
        axis.invert_yaxis()
        axis.tick_params(axis="y", labelsize=7)
        axis.set_title(name, fontsize=10)
    for axis in axes[:, 0]:
        axis.set_xlabel("test mean squared error")
    save_figure(figure, out, "real")
    best, without = ranking(full["wide"]), ranking(with_chosen(own))
    generated = sorted(set(frame.loc[frame["source"] == "generated", "data"]))
    return REAL_PAGE.format(
        command=command,
        splits=frame["split"].nunique(),
        generated=f" Generated, not the original rows: {', '.join(generated)}." * bool(generated),
        wide=markdown_table(summary(full["wide"], "mse")),
        paper=markdown_table(summary(full["paper"], "mse")),
        errors=markdown_table(summary(full["wide"], "misclassified")),
        ranking=markdown_table(best),
        within=int((best["within one error"] == "yes").sum()),
        without=int((without["within one error"] == "yes").sum()),
        count=len(best),
        gaps=markdown_table(gaps(wide)),
    )


def gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return for each method with a duality gap where the chosen fits stopped."""
    known = frame[frame["gap"].notna()].groupby("method", sort=False)["gap"]
    return pd.DataFrame({"median gap": known.median(), "largest": known.max()}).reset_index()


REAL_PAGE = """# Real data

Made by `{command}`; numbers in [real.csv](real.csv).

Number of random splits of the paper's sizes, the same for all methods: {splits}. Inputs and target
are standardised with the statistics of the training rows.{generated}

The strength is chosen on validation rows, in the scale of a sum of losses (Lasso's along a path of
its own, eight strengths to a decade). Mean over splits of the test mean squared error, with its
standard error. "Chosen" is, in each split, that configuration of a method which has the least
validation error. "ours D=2", "D=3" and "D=3 prior" are the paper's; "steep" prices each further
factor four times as high (rho = 1, 1, 4, 16), as HKL does by default; with p = 2 all kernels keep
equal weights (a closed form).

![test error of all methods on each data set](real.png)

## Strengths from 1e-4 to 1e3, and on while the best is at the edge

{wide}
## The paper's strengths, 1e-4 to 1e3 (sum scale)

{paper}
## Misclassification rate (wide grid)

{errors}
## Our chosen configuration against the best of the others (wide grid)

The best other method is the one of least *test* error, which favours it.

{ranking}
Our chosen configuration is within one standard error of the best other method on {within} of
{count} data sets; with the paper's three configurations alone ("D=2", "D=3", "D=3 prior"), on
{without}.

## Where the fits stopped

Relative duality gaps of the fits at the chosen strengths; ours end at 0.01 or after 300 steps, HKL
at 0.01 or after 15 rounds, lp-norm MKL at 0.01, Lasso at 0.001.

{gaps}"""
