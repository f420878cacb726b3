"""What reports terms, and what predicts: ours and others, each chosen on training rows."""

import time
import warnings

import numpy as np

from _truth_counts import counted, pairs_of, sure_pairs, term_of, variables

LEVEL = 0.1
LASSO, LASSO_SE = "Lasso, best strength", "Lasso, one standard error"
SPLIT, SPLIT_FDR = "SplitTest", "SplitTest, false discovery rate"
STABLE, CHOSEN, EBM = "StabilitySelection", "ours, chosen", "EBM"
KNOCKOFFS, KNOCKOFFS_TREES = "knockoffs, Lasso", "knockoffs, forest"

MONOMIAL_MODES = {
    "standardised": {"p": 1, "standardize_terms": True, "n_alphas": 50},
    "standardised, debias": {"p": 1, "standardize_terms": True, "debias": True},
    "as they are": {"p": 1, "standardize_terms": False},
    "greedy": {"solver": "greedy"},
}
SMOOTH_MODES = {
    "functions": {"kernels": "auto", "p": 1, "degree": [2, 3]},
    "standardised": {"p": 1, "standardize_terms": True},
    "greedy": {"solver": "greedy"},
}


def folds():
    from sklearn.model_selection import KFold

    return KFold(5, shuffle=True, random_state=0)


def timed(work):
    """Return what some work gives, and the seconds of the processor it took."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = work()
    return result, time.process_time() - began


def judged(table, groups, smooth):
    """Return how right groups of terms are: as terms, as variables and as pairs of variables."""
    groups = [frozenset(group) for group in groups]
    known = {j for term in table.truth for j in term}
    true_pairs = pairs_of(table.truth)
    found = {
        **counted(groups, table.truth),
        "size": float(np.mean([len(group) for group in groups])) if groups else None,
        "variables": on_variables(variables(groups), known),
    }
    if smooth and true_pairs:
        found["pairs"] = counted([{pair} for pair in sorted(sure_pairs(groups))], true_pairs)
    return found


def on_variables(columns, known):
    return counted([{j} for j in columns], known)


def score(table, values):
    """Return R2 against the signal without noise, on other rows."""
    return 1 - float(np.mean((values - table.signal) ** 2) / table.signal.var())


def estimator(cell):
    from manykernels import MKLRegressor

    return MKLRegressor(
        alpha=1e-3, p=4 / 3, kernels="auto" if cell.smooth else "linear", degree=cell.degree
    )


def sure_groups(selection, smooth):
    return [
        {term_of(name, smooth) for name in group.terms} for group in selection.groups_ if group.sure
    ]


def split_test(cell, table, seed):
    """Yield both kinds of error control, of the same tests."""
    from manykernels.selection import SplitTest

    test, tests = SplitTest(estimator(cell), level=LEVEL, random_state=seed), []
    judge = test._judge
    test._judge = lambda *facts: (tests.append(facts), judge(*facts))
    _, seconds = timed(lambda: test.fit(table.X, table.y))
    for method, control in ((SPLIT, "family-wise"), (SPLIT_FDR, "false-discovery-rate")):
        test.control = control
        judge(*tests[0])
        found = judged(table, sure_groups(test, cell.smooth), cell.smooth)
        yield method, {**found, "cpu": seconds}


def stability(cell, table, seed):
    from manykernels.selection import StabilitySelection

    stable = StabilitySelection(estimator(cell), random_state=seed)
    _, seconds = timed(lambda: stable.fit(table.X, table.y))
    yield STABLE, {**judged(table, sure_groups(stable, cell.smooth), cell.smooth), "cpu": seconds}


def ours(cell, table, seed):
    """Yield each mode of ours, and the mean of modes that out-of-fold predictions choose."""
    from manykernels import MKLRegressorCV

    modes = SMOOTH_MODES if cell.smooth else MONOMIAL_MODES
    beside, there, spent, scores = [], [], 0.0, {}
    for mode, settings in modes.items():
        settings = {"degree": cell.degree, **settings}
        model, seconds = timed(
            lambda s=settings: MKLRegressorCV(cv=folds(), **s).fit(table.X, table.y)
        )
        values = model.predict(table.there)
        beside.append(model.choice_.predictions(len(table.y))[:, 0])
        there.append(values)
        spent += seconds
        scores[mode] = score(table, values)
        yield mode, {"R2": scores[mode], "cpu": seconds}
    beside, there = np.array(beside), np.array(there)
    for name, weights in choices(beside, table.y).items():
        result = {"R2": score(table, weights @ there), "weights": weights.round(4).tolist()}
        yield name, {**result, "cpu": spent}


def choices(beside, y):
    """Return weights of modes by their out-of-fold predictions of shape (modes, rows).

    The mode of the best score; the mean of modes that fits best; and, which counts as chosen, a
    step from the first mode towards that mean: the further, the surer the gain.
    """
    errors = (beside - y) ** 2
    single, mean = np.eye(len(errors)), convex(beside, y)
    gain = errors[0] - (mean @ beside - y) ** 2
    noise = gain.var(ddof=1) / len(gain)
    step = max(0.0, 1 - CAUTION * noise / max(gain.mean() ** 2, 1e-300))
    return {
        "best score": single[int(errors.mean(axis=1).argmin())],
        "best mean": mean,
        CHOSEN: single[0] + step * (mean - single[0]),
    }


CAUTION = 2.0
"""Squared standard errors of a gain that are taken off its square. Of the best mean, half a step
towards it, 1 or 2 here, and all or nothing by 1 or 1.5 standard errors, 2 was never worse than the
first mode by more than .021 in R2, the others by .034 to .091 (17 tables of seeds 100 to 111)."""


def convex(columns, y):
    """Return weights >= 0 that add up to 1 and make the mean of some predictions the best one."""
    from scipy.optimize import nnls

    columns = np.array(columns)
    heavy = 1e3 * np.sqrt(len(y)) * y.std()  # holds the sum of weights at 1
    system = np.vstack([columns.T, np.full(len(columns), heavy)])
    weights = nnls(system, np.append(y, heavy))[0]
    return weights / weights.sum()


def lasso(cell, table, seed):
    """Yield the Lasso on all standardised monomials with the best and the one-error strength."""
    from _truth_rivals import MonomialLasso

    model, seconds = timed(lambda: MonomialLasso(cell.degree, folds()).fit(table.X, table.y))
    for method, rule in ((LASSO, "best"), (LASSO_SE, "one standard error")):
        terms, predict = model.chosen(rule)
        groups = [{tuple(sorted(set(term))) if cell.smooth else term} for term in terms]
        groups = [set(term) for term in {frozenset(group) for group in groups}]
        yield (
            method,
            {
                **judged(table, groups, cell.smooth),
                "R2": score(table, predict(table.there)),
                "cpu": seconds,
            },
        )


def boosting(cell, table, seed):
    """Yield EBM with default settings: its R2, and its first pairs, as many as are true."""
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(n_jobs=1, random_state=seed)
    _, seconds = timed(lambda: model.fit(table.X, table.y))
    ranked = sorted(zip(model.term_importances(), model.term_features_, strict=True), reverse=True)
    pairs = [tuple(sorted(term)) for _, term in ranked if len(term) == 2]
    known = pairs_of(table.truth)
    yield (
        EBM,
        {
            "R2": score(table, model.predict(table.there)),
            "pairs": counted([{pair} for pair in pairs[: len(known)]], known),
            "cpu": seconds,
        },
    )


def knockoffs(cell, table, seed):
    """Yield model-X knockoffs with two statistics, at the same level, on variables."""
    from _truth_rivals import knockoff_variables

    known = {j for term in table.truth for j in term}
    for method, trees in ((KNOCKOFFS, False), (KNOCKOFFS_TREES, True)):
        found, seconds = timed(lambda t=trees: knockoff_variables(table.X, table.y, LEVEL, t, seed))
        yield method, {"variables": on_variables(found, known), "cpu": seconds}


TASKS = {
    "split": split_test,
    "stability": stability,
    "ours": ours,
    "lasso": lasso,
    "knockoffs": knockoffs,
    "EBM": boosting,
}
"""What is computed of a table at a time; each gives one method or several."""
