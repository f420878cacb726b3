"""Random numerical problems whose certificate is checked against kernels that are written out."""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from manykernels import MKLClassifier, MKLRegressor

from .case import Case, sound
from .oracle import judged, require
from .truth import Listed, check_certificate

COUNT = 320
"""Number of problems of the full suite."""


def drawn(rng):
    """Return settings, rows, target and weights of a random problem."""
    n, r = int(rng.integers(6, 31)), int(rng.integers(1, 5))
    settings = {
        "alpha": float(10 ** rng.uniform(-6, 2)),
        "p": float(rng.choice([1.0, 1.05, 4 / 3, 1.7, 2.0])),
        "degree": int(rng.integers(1, 4)),
        "index_set": str(rng.choice(["monomials", "tuples", "interactions"])),
        "loss": str(rng.choice(["squared", "squared", "huber", "logistic", "squared_hinge"])),
        "fit_intercept": bool(rng.random() < 0.7),
    }
    if settings["p"] < 2 and rng.random() < 0.4:
        settings["standardize_terms"] = True
    else:
        settings["standardize_terms"] = False
    if rng.random() < 0.3:
        settings["rho"] = rng.uniform(0.3, 3.0, size=settings["degree"] + 1).tolist()
    X = rng.normal(size=(n, r))
    hardness = rng.random()
    if hardness < 0.15:
        X[:, -1] = X[:, 0]
    elif hardness < 0.3:
        X = np.round(X)
    elif hardness < 0.4:
        X[:, 0] = 7.0
    units = 10.0 ** rng.uniform(-30, 30, size=r) if rng.random() < 0.3 else np.ones(r)
    y = X[:, 0] * X[:, -1] + rng.normal(size=n)
    if settings["loss"] in ("logistic", "squared_hinge"):
        y = np.where(y > np.median(y), 1.0, -1.0)
        y[:2] = 1.0, -1.0
    elif rng.random() < 0.3:
        y = y * 10.0 ** rng.uniform(-20, 20) if settings["loss"] == "squared" else y
    weights = rng.uniform(0.2, 2.0, size=n) if rng.random() < 0.4 else np.ones(n)
    return settings, X, units, y, weights


def standardised(X, weights):
    s = weights / weights.sum()
    centred = X - s @ X
    spread = np.sqrt(s @ centred**2)
    flat = np.ptp(X, axis=0) <= 16 * np.finfo(float).eps * np.abs(X).max(axis=0)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))


def check(seed):
    """Fit a random problem and check all that is promised about it."""
    settings, X, units, y, weights = drawn(np.random.default_rng(seed))
    labelled = settings["loss"] in ("logistic", "squared_hinge")
    kind = MKLClassifier if labelled else MKLRegressor
    target = y.astype(int) if labelled else y
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = kind(tol=1e-4, max_iter=300, random_state=0, **settings).fit(
            X * units, target, weights
        )
    for one in heard:
        require(not issubclass(one.category, RuntimeWarning), f"a bare warning: {one.message}")
    told = any(issubclass(one.category, ConvergenceWarning) for one in heard)
    require(told or model.gap_ <= model.tol, f"gap_ is {model.gap_:.3g} without a word")
    sound(model, X * units, target, weights)
    Z = standardised(X, weights)
    centre = weights @ y / weights.sum() if settings["fit_intercept"] and not labelled else 0.0
    grams = np.array([np.outer(z, z) for z in Z.T])
    listed = Listed(grams, y - centre, weights, settings, settings["fit_intercept"])
    if labelled:
        check_certificate(model, listed, X * units, y)
    else:
        check_certificate(Shifted(model, centre), listed, X * units, y)


class Shifted:
    """A model whose predictions are those around the mean of the target."""

    def __init__(self, model, centre):
        self.__dict__.update(vars(model))
        self.predict = lambda X: model.predict(X) - centre


def cases():
    """Return all cases of this surface."""

    def run(_folder, seed):
        return judged(partial(check, seed), r"alpha must|overflow|floating-point|rho must", 30)

    return [Case("numbers", f"seed {seed}", partial(run, seed=seed)) for seed in range(COUNT)]
