"""Which terms are found under noise: greedy selection against the cross-validated Lasso.

Ten random monomials of 100 columns, degree up to 3, signal-to-noise ratio 5 (variances), 500 rows;
inputs are scaled, not centred, so that the truth is ten single terms of 176,851. Both methods
choose their size by the same five folds. F1 is the harmonic mean of precision and recall of the
selected terms: of all that are not zero, and of those whose part of the prediction has at least 1 %
of its variance. This is one favourable setting: independent columns, little noise, equal effects.

    python dev.py bench benchmarks/noise.py
"""

import warnings

import numpy as np
import pandas as pd

from _measure import measured, say, write_page

SEEDS = 20

LEAST_SHARE = 0.01
"""Share of the variance of predictions that a term must have to count in the second way."""


def task(method, seed):
    def prepare():
        import celer  # noqa: F401

        import manykernels.estimators  # noqa: F401
        from manykernels.datasets import make_sparse_polynomial

        data = make_sparse_polynomial(100, 1500, random_state=seed)
        noise = np.random.default_rng(seed).normal(size=1500)
        data.noisy = data.target + noise * data.target.std() / np.sqrt(5)
        return data

    def work(data):
        warnings.simplefilter("ignore")
        from sklearn.model_selection import KFold

        X, y = data.data, data.noisy
        folds = KFold(5, shuffle=True, random_state=0)
        variances, model = METHODS[method](X[:500], y[:500], folds)
        found = list(variances)
        least = LEAST_SHARE * np.var(model.predict(X[:500]))
        heavy = {term for term, variance in variances.items() if variance >= least}
        right, heavy_right = (len(some & set(data.terms)) for some in (set(found), heavy))
        error = np.mean((model.predict(X[500:]) - data.target[500:]) ** 2)
        return {
            "F1": 2 * right / (len(found) + len(data.terms)),
            "F1, 1 % and more": 2 * heavy_right / (len(heavy) + len(data.terms)),
            "precision": right / max(1, len(found)),
            "recall": right / len(data.terms),
            "terms": len(found),
            "terms, 1 % and more": len(heavy),
            "error / signal": float(error / data.target.var()),
        }

    return prepare, work


def greedy(X, y, folds):
    from manykernels import MKLRegressorCV

    model = MKLRegressorCV(solver="greedy", standardize="scale", cv=folds).fit(X, y)
    parts = model.contributions(X).drop(columns="intercept")
    order = [tuple(model.terms_[i]) for i in range(len(model.terms_))]
    return dict(zip(order, parts.var(ddof=0).tolist(), strict=True)), model


def lasso(X, y, folds):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    from _peers import CelerCV

    model = make_pipeline(
        StandardScaler(with_mean=False),
        PolynomialFeatures(3, include_bias=False),
        StandardScaler(),
        CelerCV(folds),
    ).fit(X, y)
    chosen = np.flatnonzero(model[-1].coef_)
    names = (np.repeat(np.arange(100), row).tolist() for row in model[1].powers_[chosen])
    # Of standardised monomials: the variance of a part is its coefficient squared.
    squares = (model[-1].coef_[chosen] ** 2).tolist()
    return {tuple(name): square for name, square in zip(names, squares, strict=True)}, model


METHODS = {"ours, greedy": greedy, "Lasso (celer)": lasso}


def main():
    rows = []
    for seed in range(SEEDS):
        for method in METHODS:
            row = measured(task, method, seed)
            say(method, seed, row)
            rows.append({"method": method, "seed": seed, **row})
    frame = pd.DataFrame(rows)
    means = frame.groupby("method", sort=False).mean().drop(columns="seed").reset_index()
    ahead = []
    for column in ("F1", "F1, 1 % and more"):
        ours, peer = (frame.loc[frame["method"] == name, column].to_numpy() for name in METHODS)
        ahead.append(int(np.sum(ours > peer)))
    text = __doc__.split("\n\n")[1] + (
        f"\n\nOurs has the higher F1 on {ahead[0]} of {SEEDS} seeds if all terms count, and on "
        f"{ahead[1]} if those of at least 1 % of the variance do."
    )
    tables = [("Means", means), ("All runs", frame)]
    write_page("noise", "Terms found under noise", text, tables, "noise.py")


if __name__ == "__main__":
    main()
