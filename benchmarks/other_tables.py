"""Two tables that nothing was tuned on: time, memory and scores next to EBM and LightGBM.

Tables that come with statsmodels: `randhie`, visits to doctors in a year (20,190 rows, 9 columns),
and `fair`, whether somebody had an affair (6,366 rows, 8 columns, classes). 80 % of the rows to
train, 20 % to test, one split of the first and two of the second. Scores: R^2 and accuracy. `ours`
has nothing set, `auto` is `kernels="auto"` at the degrees 2 and 3; all methods as on the page of
ordinary tables. Seconds are of one processor, on one thread. No setting of the library was chosen
by looking at these tables.

    python dev.py bench benchmarks/other_tables.py
"""

import warnings

import numpy as np
import pandas as pd

from _measure import DOCS, measured, say, write_page
from manykernels.experiments.runner import Run, complete
from tables import METHODS, describe

SEEDS = {"randhie": 1, "fair": 2}
"""Splits of each table. A fit of EBM to the first takes a quarter of an hour."""

SHOWN = ("ours", "auto", "EBM", "LightGBM")
TARGETS = {"randhie": "mdvis", "fair": "affairs"}
CLASSES = ("fair",)


def load(name):
    from statsmodels import datasets

    frame = getattr(datasets, name).load_pandas().data
    target = frame.pop(TARGETS[name]).to_numpy(float)
    return frame, (target > 0).astype(int) if name in CLASSES else target


def task(method, name, seed):
    def prepare():
        from sklearn.model_selection import train_test_split

        warnings.simplefilter("ignore")
        X, y = load(name)
        labels = y if name in CLASSES else None
        parts = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=labels)
        return METHODS[method](name in CLASSES, seed), parts

    def work(state):
        model, (train, test, y_train, y_test) = state
        model.fit(train, y_train)
        return {"score": float(model.score(test, y_test)), "settings": describe(model)}

    return prepare, work


def compute(run):
    row = measured(task, *(run.settings[key] for key in ("method", "table", "seed")), threads=1)
    say(run, row)
    return [row]


def main():
    runs = [
        Run("other_tables", {"table": name, "method": method, "seed": seed})
        for name in TARGETS
        for seed in range(SEEDS[name])
        for method in SHOWN
    ]
    frame = complete(runs, compute, DOCS / "reproduction" / "runs", progress=False)
    means = frame.groupby(["table", "method"], sort=False)[["score", "cpu", "megabytes"]].mean()
    ratios = []
    for name in TARGETS:
        own = {"table": name}
        for method in SHOWN[:2]:
            own[f"{method} / EBM, seconds"] = (
                means.loc[(name, method), "cpu"] / means.loc[(name, "EBM"), "cpu"]
            )
        ratios.append(own)
    ratios = pd.DataFrame(ratios)
    mean = np.exp(np.log(ratios.drop(columns="table")).mean())
    ratios.loc[len(ratios)] = ["geometric mean", *mean]
    shown = means.reset_index().rename(columns={"cpu": "seconds"})
    shown["score"] = [f"{score:.4f}" for score in shown["score"]]
    cells = frame[["table", "method", "seed", "score", "cpu", "megabytes", "settings"]].copy()
    cells["score"] = [f"{score:.4f}" for score in cells["score"]]
    text = __doc__.split("\n\n")[1]
    tables = [
        ("Means", shown),
        ("Time relative to EBM", ratios),
        ("All cells", cells.rename(columns={"cpu": "seconds"})),
    ]
    write_page("other_tables", "Two other tables", text, tables, "other_tables.py")


if __name__ == "__main__":
    main()
