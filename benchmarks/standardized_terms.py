"""Does it pay to treat terms alike: p = 1 with and without ``standardize_terms``, and a Lasso.

Ten monomials of 50 Gaussian columns, degree up to 3, drawn uniformly from all 23,425, with
coefficients of one; columns are independent or an autoregression of .5 or .9 from one to the next.
300 or 500 rows, signal-to-noise ratios (variances) of 5, 1 and .5. All methods choose on the same
five folds of the training rows; "ours, chosen" is the one of our five modes with the best
cross-validated score. The Lasso is celer's along 100 strengths, on all monomials of standardised
columns, each standardised. R2 is that of predictions against the signal without noise on 2,000
other rows; its standard error is that of the mean difference to the Lasso over seeds.

    python dev.py bench benchmarks/standardized_terms.py
"""

import json
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from _measure import say, write_page

SEEDS = 3
COLUMNS, DEGREE, TERMS, TEST_ROWS = 50, 3, 10, 2000
CELLS = list(product((300, 500), (0.0, 0.5, 0.9), (5.0, 1.0, 0.5)))

MODES = {
    "standardised": {"p": 1, "standardize_terms": True},
    "standardised, debias": {"p": 1, "standardize_terms": True, "debias": True},
    "as they are": {"p": 1, "standardize_terms": False},
    "as they are, debias": {"p": 1, "standardize_terms": False, "debias": True},
    "greedy": {"solver": "greedy"},
}
CHOSEN, LASSO = "ours, chosen", "Lasso"


def data(rows, correlation, ratio, seed):
    """Return training rows, noisy targets, other rows and their signal."""
    from manykernels.datasets import make_sparse_polynomial

    rng = np.random.default_rng([rows, int(10 * correlation), int(10 * ratio), seed])
    terms = make_sparse_polynomial(COLUMNS, 2, TERMS, DEGREE, random_state=rng).terms
    X = rng.normal(size=(rows + TEST_ROWS, COLUMNS))
    for j in range(1, COLUMNS):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    signal = sum(X[:, term].prod(axis=1) for term in terms)
    noise = rng.normal(size=rows) * signal.std() / np.sqrt(ratio)
    return X[:rows], signal[:rows] + noise, X[rows:], signal[rows:]


def lasso(X, y, folds):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    from _peers import CelerCV

    steps = StandardScaler(), PolynomialFeatures(DEGREE, include_bias=False), StandardScaler()
    model = make_pipeline(*steps, CelerCV(folds)).fit(X, y)
    return model, np.count_nonzero(model[-1].coef_), np.nan


def ours(X, y, folds, settings):
    from manykernels import MKLRegressorCV

    model = MKLRegressorCV(degree=DEGREE, cv=folds, **settings).fit(X, y)
    return model, len(model.terms_), model.best_score_


def trial(cell, seed):
    """Yield a row for each method on one data set."""
    from sklearn.model_selection import KFold

    X, y, there, signal = data(*cell, seed)
    folds = KFold(5, shuffle=True, random_state=0)
    rows = []
    for method in [*MODES, LASSO]:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = lasso if method == LASSO else ours
            model, terms, score = fit(X, y, folds, *([MODES[method]] if method in MODES else []))
        error = np.mean((model.predict(there) - signal) ** 2)
        rows.append(
            {
                **dict(zip(("rows", "correlation", "SNR"), cell, strict=True)),
                "seed": seed,
                "method": method,
                "R2": 1 - float(error / signal.var()),
                "terms": int(terms),
                "score": float(score),
                "cpu": time.process_time() - began,
            }
        )
    best = max((row for row in rows if row["method"] in MODES), key=lambda row: row["score"])
    spent = sum(row["cpu"] for row in rows if row["method"] in MODES)
    return [*rows, {**best, "method": CHOSEN, "chosen": best["method"], "cpu": spent}]


def summary(frame):
    """Return mean R2 of the methods in every cell, and how far the chosen mode is from the best."""
    keys, lines = ["rows", "correlation", "SNR"], []
    for cell, part in frame.groupby(keys):
        table = part.pivot_table(index="seed", columns="method", values="R2")
        means = table.mean()
        line = dict(zip(keys, cell, strict=True))
        line |= {name: f"{means[name]:.2f}" for name in [*MODES, CHOSEN, LASSO]}
        for key, name in (("ok", CHOSEN), ("plain", "standardised")):
            away = table[name] - table[LASSO]
            error = away.std(ddof=1) / np.sqrt(len(away))
            line[key] = away.mean() >= -error
            if name == CHOSEN:
                line["chosen - Lasso"] = f"{away.mean():+.3f} ± {error:.3f}"
        lines.append(line)
    return pd.DataFrame(lines)


def main():
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    rows = []
    if kept is not None and kept.exists():
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
    done = {(row["rows"], row["correlation"], row["SNR"], row["seed"]) for row in rows}
    for seed, cell in product(range(SEEDS), CELLS):
        if (*cell, seed) in done:
            continue
        found = trial(cell, seed)
        say(cell, seed, {row["method"]: round(row["R2"], 3) for row in found})
        rows += found
        if kept is not None:
            with kept.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
    frame = pd.DataFrame(rows)
    means = frame.groupby("method", sort=False)[["R2", "terms", "cpu"]].mean().reset_index()
    cells = summary(frame)
    text = __doc__.split("\n\n")[1] + (
        "\n\nThe mode chosen on training rows is within one standard error of the Lasso, or above, "
        f"in {int(cells['ok'].sum())} of\n{len(cells)} cells of {SEEDS} seeds; plain p = 1 with "
        f"standardised terms, which is a Lasso itself, in {int(cells['plain'].sum())}."
    )
    tables = [
        ("Means over all cells", means),
        ("R2 by cell", cells.drop(columns=["ok", "plain"])),
    ]
    title = "Terms of equal spread"
    write_page("standardized_terms", title, text, tables, "standardized_terms.py")


if __name__ == "__main__":
    main()
