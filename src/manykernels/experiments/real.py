"""Real data: prediction errors of all methods (the paper's third experiment)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..datasets import load_paper
from .methods import PRIOR, STEEP, Method, combination, hierarchical, lasso, lp_norm, ours, uniform
from .pages import markdown_table, mean_and_error, new_figure, save_figure, write_table
from .runner import Row, Run
from .tuning import Tuner, best_lasso, split

DATA = ("german", "ionosphere", "ringnorm", "sonar", "splice", "waveform")

METHODS: dict[str, Method] = {
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

PAPER_GRID = tuple(range(-4, 4))
"""Exponents of the paper's strengths, 1e-4 .. 1e3 in the sum scale."""

QUICK_METHODS = (
    "ours D=2",
    "HKL D=2",
    "Cortes D=2",
    "uniform D=2",
    "lp-norm linear nu=2",
    "Lasso D=2",
)


def plan(runs: int, quick: bool) -> list[Run]:
    """Return the runs: every data set, split and method; the first split of all comes first."""
    data = ("ringnorm", "waveform") if quick else DATA
    names = QUICK_METHODS if quick else tuple(METHODS)
    return [
        Run("real", {"data": name, "split": number, "method": method, "quick": quick})
        for number in range(runs)
        for name in data
        for method in names
    ]


def compute(run: Run, data_dir: Path | None) -> list[Row]:
    """Tune a method on one split; return its errors with the paper's grid and a wider one."""
    settings = run.settings
    data = load_paper(str(settings["data"]), data_dir)
    parts = split(data.data, data.target, data.split, int(settings["split"] or 0))
    method = METHODS[str(settings["method"])]
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
        }
        for grid_name, fit in (("paper", narrow), ("wide", wide))
    ]


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, for each data set and split, our configuration of least validation error."""
    own = frame[frame["method"].str.startswith("ours")]
    best = own.loc[own.groupby(["data", "split"])["validation"].idxmin()]
    return best.assign(configuration=best["method"], method="ours, chosen")


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
    """Compare our chosen configuration with the best method on each data set."""
    rows = []
    for data, part in frame.groupby("data", sort=False):
        means = mean_and_error(part, "method", "mse").set_index("method")
        mine = float(means["mean"]["ours, chosen"])
        others = means[~means.index.str.startswith("ours")]
        best = str(others["mean"].idxmin())
        least, error = float(others["mean"][best]), float(others["error"][best])
        rows.append(
            {
                "data": data,
                "ours, chosen": mine,
                "best other": best,
                "its mse": least,
                "its standard error": error,
                "within one error": mine <= least + error,
            }
        )
    return pd.DataFrame(rows)


def report(frame: pd.DataFrame, out: Path, command: str) -> str:
    """Write table and figure; return the page."""
    write_table(frame, out / "real.csv")
    grids = dict(iter(frame.groupby("grid", sort=False)))
    full = {grid: pd.concat([part, chosen(part)]) for grid, part in grids.items()}
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
    best = ranking(full["wide"])
    generated = sorted(set(frame.loc[frame["source"] == "generated", "data"]))
    return PAGE.format(
        command=command,
        splits=frame["split"].nunique(),
        generated=f" Generated, not the original rows: {', '.join(generated)}." * bool(generated),
        wide=markdown_table(summary(full["wide"], "mse")),
        paper=markdown_table(summary(full["paper"], "mse")),
        errors=markdown_table(summary(full["wide"], "misclassified")),
        ranking=markdown_table(best),
        within=int(best["within one error"].sum()),
        count=len(best),
    )


PAGE = """# Real data

Made by `{command}`; numbers in [real.csv](real.csv).

{splits} random splits of the paper's sizes, the same for all methods; inputs and target are
standardised with the statistics of the training rows.{generated} The strength is chosen on
validation rows. Mean over splits of the test mean squared error, with its standard error. "ours,
chosen" is, in each split, that of our configurations which has the least validation error.

![test error of all methods on each data set](real.png)

## Strengths from 1e-4 to 1e3, and on while the best is at the edge

{wide}
## The paper's strengths, 1e-4 to 1e3 (sum scale)

{paper}
## Misclassification rate (wide grid)

{errors}
## Our chosen configuration against the best of the others (wide grid)

{ranking}
It is within one standard error of the best other method on {within} of {count} data sets.
"""
