"""When the paths of cross-validation end: what the rule costs and what it misses.

Each problem is cross-validated along its full path, 25 strengths in all five folds. The model of
the best mean loss on the rows left out is the reference. The library's rule ends the path of all
folds by their mean; before, folds ended one by one and counted with their last score from there
on. Of both the table has the excess of the chosen model's mean loss over the reference's, in
standard errors of the reference's mean over folds, and R² on 2,000 new rows without noise (for
classes: accuracy, with noise). CPU is that of the models of all folds up to where a rule ends, by
the clock of the full path.

The constants of the rule were set on problems of the same kinds drawn with other seeds.

    python dev.py bench benchmarks/paths.py
"""

import time
import warnings

import numpy as np
import pandas as pd

from _measure import say, write_page

SEED = 9000
"""Problems of this page; those with seeds around 1000 were used to set the rule's constants."""

POLYNOMIAL = {"kernels": "linear", "degree": 3, "p": 1}
REFIT = {**POLYNOMIAL, "debias": True, "rho": [1, 1, 2, 4]}
SMOOTH = {"kernels": "linear", "degree": 2, "p": 4 / 3}
CURVES = {"kernels": "auto", "degree": 2}


def monomials(rng, rows, ratio, correlation, columns=50, terms=6):
    """Return rows and a sum of monomials of degree 1 to 3, without noise and with."""
    X = rng.normal(size=(rows + 2000, columns))
    for j in range(1, columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    truth = np.zeros(len(X))
    for _ in range(terms):
        degree = int(rng.integers(1, 4))
        term = np.prod(X[:, rng.choice(columns, degree, replace=False)], axis=1)
        truth += rng.choice([-1, 1]) * rng.uniform(0.5, 1.5) * (term - term.mean()) / term.std()
    return X, *noisy(rng, truth, ratio)


def friedman(rng, rows, ratio, kind):
    """Return rows and a smooth function of five of ten columns, without noise and with."""
    X = rng.uniform(size=(rows + 2000, 10))
    a, b, c, d, e = X[:, :5].T
    truth = {
        1: 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e,
        2: np.hypot(100 * a, 100 * (0.1 + b) * c - 1 / (0.2 + b * d)),
        3: np.sin(4 * a) * np.exp(b) + 2 * np.abs(c - d) + e,
    }[kind]
    return X, *noisy(rng, truth, ratio)


def noisy(rng, truth, ratio):
    """Return a standardised target, and the same with noise of a signal-to-noise ratio."""
    truth = (truth - truth.mean()) / truth.std()
    return truth, truth + rng.normal(size=len(truth)) / np.sqrt(ratio)


PROBLEMS = [
    # name, rows, options of the estimator, function that draws the problem and its arguments
    ("monomials, ratio 5", 300, POLYNOMIAL, monomials, 5, 0.0),
    ("monomials, ratio 5, correlated 0.5", 400, POLYNOMIAL, monomials, 5, 0.5),
    ("monomials, ratio 5, correlated 0.9", 500, POLYNOMIAL, monomials, 5, 0.9),
    ("monomials, ratio 1", 400, POLYNOMIAL, monomials, 1, 0.0),
    ("monomials, ratio 1, correlated 0.5", 500, POLYNOMIAL, monomials, 1, 0.5),
    ("monomials, ratio 1, correlated 0.9", 300, POLYNOMIAL, monomials, 1, 0.9),
    ("monomials, ratio 0.5", 500, POLYNOMIAL, monomials, 0.5, 0.0),
    ("monomials, ratio 0.5, correlated 0.5", 300, POLYNOMIAL, monomials, 0.5, 0.5),
    ("monomials, ratio 0.5, correlated 0.9", 400, POLYNOMIAL, monomials, 0.5, 0.9),
    ("80 columns, ratio 1", 300, POLYNOMIAL, monomials, 1, 0.0, 80, 4),
    ("80 columns, ratio 0.5, correlated 0.5", 400, POLYNOMIAL, monomials, 0.5, 0.5, 80, 4),
    ("80 columns, ratio 2, correlated 0.9", 500, POLYNOMIAL, monomials, 2, 0.9, 80, 4),
    ("curves, Friedman 1, ratio 5", 300, CURVES, friedman, 5, 1),
    ("curves, Friedman 2, ratio 1", 400, CURVES, friedman, 1, 2),
    ("curves, edges, ratio 1", 300, CURVES, friedman, 1, 3),
    ("curves, Friedman 1, ratio 0.5", 500, CURVES, friedman, 0.5, 1),
    ("p = 4/3, ratio 1, correlated 0.5", 400, SMOOTH, monomials, 1, 0.5, 20),
    ("p = 4/3, ratio 0.5", 300, SMOOTH, monomials, 0.5, 0.0, 20),
    ("refits, ratio 5", 400, REFIT, monomials, 5, 0.0),
    ("refits, ratio 1, correlated 0.5", 500, REFIT, monomials, 1, 0.5),
    ("refits, ratio 1", 400, REFIT, monomials, 1, 0.0),
    ("refits, ratio 0.5", 500, REFIT, monomials, 0.5, 0.0),
    ("classes, monomials, ratio 5", 400, POLYNOMIAL, monomials, 5, 0.0),
    ("classes, monomials, ratio 1, correlated 0.5", 500, POLYNOMIAL, monomials, 1, 0.5),
    ("classes, curves, Friedman 1, ratio 5", 300, CURVES, friedman, 5, 1),
]


def ended_alone(scores):
    """Tell whether a fold ended by itself by the rule that was."""
    fresh = [True, *~np.isclose(scores[1:], scores[:-1], rtol=1e-9, atol=0)]
    judged = scores[fresh]
    best, worse = judged.max(), judged[::-1].argmax()
    gained = best > 0.95 * judged[0]
    patience = 12 if not gained and judged[-1] > 2 * best else 3
    flat = gained and len(judged) > 2 and best < 0.99 * judged[:-2].max()
    return worse >= patience or flat


def alone(scores):
    """Return the lengths of the folds' paths, and the place of the model taken, by that rule."""
    count, folds = scores.shape
    lengths = np.array(
        [next((n for n in range(1, count) if ended_alone(fold[:n])), count) for fold in scores.T]
    )
    places = np.arange(count)[:, None]
    carried = np.take_along_axis(scores, np.minimum(places, lengths - 1), axis=0)
    known = 2 * (lengths > places).sum(axis=1) >= folds
    return lengths, int(np.where(known, carried.mean(axis=1), -np.inf).argmax())


def fitted(estimator, X, y, whole):
    """Fit; return the estimator, and the CPU seconds of the models by place and fold.

    With ``whole`` no path ends before its last strength, except by the size of its models.
    """
    from manykernels.fitting import folds, paths

    rule, models = paths.ended, folds.FoldRows.models
    seconds = []

    def timed(self, *arguments):
        own = []
        seconds.append(own)
        source = models(self, *arguments)
        while True:
            began = time.process_time()
            model = next(source, None)
            if model is None:
                return
            own.append(time.process_time() - began)
            yield model

    paths.ended = (lambda *_: False) if whole else rule
    folds.FoldRows.models = timed
    try:
        estimator.fit(X, y)
    finally:
        paths.ended, folds.FoldRows.models = rule, models
    return estimator, np.transpose(seconds)


def study(number, name, rows, options, draw, *arguments):
    """Return the row of the table of one problem."""
    from manykernels import MKLClassifierCV, MKLRegressorCV

    X, truth, y = draw(np.random.default_rng(SEED + number), rows, *arguments)
    chooser = MKLRegressorCV
    if name.startswith("classes"):
        chooser, truth, y = MKLClassifierCV, y > 0, y > 0
    options = {**options, "random_state": 0}
    full, seconds = fitted(chooser(**options), X[:rows], y[:rows], whole=True)
    ours, used = fitted(chooser(**options), X[:rows], y[:rows], whole=False)
    path = full.score_path_[0][: len(seconds)]
    mean = path.mean(axis=1)
    top = full.choice_.best[1]
    error = path[top].std(ddof=1) / np.sqrt(path.shape[1])
    place, length = ours.choice_.best[1], len(used)
    np.testing.assert_array_equal(ours.score_path_[0, :length], path[:length])
    lengths, before = alone(path)
    # The model that was taken before, fitted to all rows.
    old = chooser(**{**options, "alphas": [full.alphas_[0, before]], "cv": 2})
    old.fit(X[:rows], y[:rows])
    cost = seconds[:length].sum()
    cost_before = sum(seconds[:n, fold].sum() for fold, n in enumerate(lengths))
    return {
        "problem": name,
        "rows": rows,
        "full: loss": -mean[top],
        "loss": -mean[place],
        "excess (errors)": (mean[top] - mean[place]) / error,
        "before": (mean[top] - mean[before]) / error,
        "full: R²": full.score(X[rows:], truth[rows:]),
        "R²": ours.score(X[rows:], truth[rows:]),
        "before: R²": old.score(X[rows:], truth[rows:]),
        "CPU s": cost,
        "before: CPU s": cost_before,
        "CPU ratio": cost / cost_before,
        "full: CPU ratio": seconds.sum() / cost_before,
    }


def main():
    warnings.simplefilter("ignore")
    table = []
    for number, problem in enumerate(PROBLEMS):
        table.append(study(number, *problem))
        say(table[-1])
    frame = pd.DataFrame(table)
    ratios = frame["CPU ratio"]
    total = frame["CPU s"].sum() / frame["before: CPU s"].sum()
    text = __doc__.split("\n\n", 1)[1].split("\n\n    python")[0]
    text += (
        f"\n\nThe chosen model is at most {frame['excess (errors)'].max():.2f} standard errors "
        f"above the reference (before: {frame['before'].max():.2f}). CPU time relative to the rule "
        f"before: {total:.2f} in total, {np.exp(np.log(ratios).mean()):.2f} in the geometric mean, "
        f"{ratios.max():.2f} at most."
    )
    write_page("paths", "Where paths end", text, [("All problems", frame)], "paths.py")


if __name__ == "__main__":
    main()
