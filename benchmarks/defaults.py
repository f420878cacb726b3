"""Nothing set: how well, how long, and against ridge and our own kinds of models.

`MKLRegressorCV()` and `MKLClassifierCV()` with no option but `random_state`, next to scikit-learn's
cross-validated ridge on standardised columns (for classes: cross-validated logistic regression).
Drawn linear tables: Gaussian columns, Gaussian coefficients, as much noise as signal, 20 seeds, R2
on 2,000 other rows. The eight tables of the page of ordinary tables, on its splits.
Wide: 200 rows of 2,000 columns, three true terms (a column, a product of two, a square). Genes: 200
rows of 20,000 columns, five of which act. Tall: 300,000 rows of 10 columns and 100,000 of 100,
Friedman's function. Noise: 200 rows of 10 columns and a target of noise, 10 seeds. The best own
kind is the one of our own kinds of models by itself that the default is least ahead of, or most
behind, on splits that both were run on.

Seconds are of the processor, on one thread. Finished cells are kept and not computed again. The
cells of the eight tables are those of `ours` on the page of ordinary tables, whose `auto` and
`widths` are our own kinds of models there. The others are of an earlier version, in which a model
of widths took twice the time; those of 200 x 10, 500 x 30, wide, tall and large were run when a
lead of one standard error decided against ridge, not 1.5; what they say of their choice shows that
it is the same.

    MANYKERNELS_DATA=... python dev.py bench benchmarks/defaults.py
"""

import os
import sys
import warnings

import numpy as np
import pandas as pd

from _measure import DOCS, measured, say, write_page
from manykernels.experiments.runner import Run, complete
from tables import CLASSES, TABLES, load

LINEAR = {"60 x 10": (60, 10), "100 x 20": (100, 20), "200 x 10": (200, 10), "500 x 30": (500, 30)}
SEEDS = {**dict.fromkeys(LINEAR, 20), **dict.fromkeys(TABLES, 5)}
SEEDS |= {"noise": 10, "wide": 3, "genes": 1, "tall": 1, "large": 1}
TEST_ROWS = 2_000

KINDS = {
    "ridge kernels": {"kernels": "linear", "degree": 1, "p": 2.0},
    "monomials": {"kernels": "linear", "p": 1.0},
    "greedy": {"kernels": "linear", "solver": "greedy"},
    "auto": {"kernels": "auto"},
    "widths": {"kernels": "widths"},
}
"""Our own kinds of models, by themselves."""

METHODS = ("default", "ridge", *KINDS)


def drawn(name, seed):
    """Return training and test rows of a drawn table."""
    rng = np.random.default_rng([seed, *name.encode()])
    if name in LINEAR:
        rows, columns = LINEAR[name]
        X = rng.normal(size=(rows + TEST_ROWS, columns))
        signal = X @ rng.normal(size=columns)
        y = signal + signal.std() * rng.normal(size=len(X))
    elif name == "noise":
        rows, X = 200, rng.normal(size=(200 + TEST_ROWS, 10))
        y = rng.normal(size=len(X))
    elif name == "wide":
        rows, X = 200, rng.normal(size=(200 + TEST_ROWS, 2_000))
        y = X[:, 3] + X[:, 10] * X[:, 500] + 0.5 * X[:, 7] ** 2 + 0.1 * rng.normal(size=len(X))
    elif name == "genes":
        rows, X = 200, rng.normal(size=(200 + 500, 20_000))
        y = X[:, :5].sum(axis=1) + rng.normal(size=len(X))
    else:
        rows, columns = {"tall": (300_000, 10), "large": (100_000, 100)}[name]
        X = rng.uniform(size=(rows + 10_000, columns))
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        y += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=len(X))
    return X[:rows], X[rows:], y[:rows], y[rows:]


def parts_of(name, seed):
    if name not in TABLES:
        return drawn(name, seed)
    from sklearn.model_selection import train_test_split

    X, y = load(name)
    labels = y if name in CLASSES else None
    return train_test_split(X, y, test_size=0.2, random_state=seed, stratify=labels)


def ridge(classes):
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classes:
        return make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=1000))
    return make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e5, 50)))


def task(method, name, seed):
    def prepare():
        from manykernels import MKLClassifierCV, MKLRegressorCV

        warnings.simplefilter("ignore")
        kind = MKLClassifierCV if name in CLASSES else MKLRegressorCV
        settings = KINDS.get(method, {})
        model = kind(random_state=seed, **settings) if method != "ridge" else ridge(name in CLASSES)
        return model, parts_of(name, seed)

    def work(state):
        model, (train, test, y_train, y_test) = state
        model.fit(train, y_train)
        score = float(model.score(test, y_test))
        return {"score": score, "chosen": getattr(model, "chosen_", "")}

    return prepare, work


def compute(run):
    method, name, seed = (run.settings[key] for key in ("method", "table", "seed"))
    row = measured(task, method, name, seed, threads=1)
    say(run, row)
    return [row]


def runs_of(names, methods):
    return [
        Run("defaults", {"table": name, "method": method, "seed": seed})
        for name in names
        for seed in range(SEEDS[name])
        for method in methods
        if method not in KINDS or name in KINDS_ON
    ]


KINDS_ON = (*TABLES, "wide", "noise")
"""Tables on which our own kinds of models are run by themselves."""


def against_ridge(frame):
    rows = []
    for name, some in frame.groupby("table", sort=False):
        scores = some.pivot_table(index="seed", columns="method", values="score")
        if not {"default", "ridge"} <= set(scores):
            continue
        gaps = (scores["default"] - scores["ridge"]).dropna()
        error = ""  # one seed has none
        if len(gaps) > 1:
            error = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.4f}"
        own = [kind for kind in KINDS if kind in scores]
        row = {"table": name, "seeds": len(gaps)}
        row |= {name: f"{scores[name].mean():.4f}" for name in ("default", "ridge")}
        row |= {"default - ridge": f"{gaps.mean():+.4f}{error}"}
        row |= {"seconds": some[some["method"] == "default"]["cpu"].mean()}
        row |= {"megabytes": some[some["method"] == "default"]["megabytes"].mean()}
        if own:
            behind = {kind: (scores["default"] - scores[kind]).dropna() for kind in own}
            best = min(behind, key=lambda kind: behind[kind].mean())
            said = f"{best} {behind[best].mean():+.4f} ({len(behind[best])} seeds)"
            row |= {"default - best own kind": said}
        kinds = some[some["method"] == "default"]["chosen"].str.extract(r"'([a-z]+)'")[0]
        row |= {"chosen": ", ".join(f"{k} {n}" for k, n in kinds.value_counts().items())}
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def main(wanted):
    """Compute cells of the methods and tables named, all by default, and write the page."""
    names = [name for name in SEEDS if name in wanted] or list(SEEDS)
    methods = [method for method in METHODS if method in wanted] or list(METHODS)
    if "MANYKERNELS_DATA" not in os.environ:
        say("MANYKERNELS_DATA names no folder: drawn tables only.")
        names = [name for name in names if name not in TABLES]
    frame = complete(
        runs_of(names, methods), compute, DOCS / "reproduction" / "runs", progress=False
    )
    if not wanted or "page" in wanted:
        text = "\n\n".join(__doc__.split("\n\n")[1:3])
        chosen = frame[(frame["method"] == "default") & frame["table"].isin([*TABLES, "wide"])]
        words = chosen[["table", "seed", "chosen"]]
        tables = [("Scores", against_ridge(frame)), ("What was chosen, and why", words)]
        write_page("defaults", "Nothing set", text, tables, "defaults.py")


if __name__ == "__main__":
    main(sys.argv[1:])
