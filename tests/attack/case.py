"""What a case is, and what every fitted model must pass."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import manykernels
from manykernels.inputs import LEAST_WEIGHT

from .oracle import Verdict, require

UNSAVABLE = "a model file holds numbers and names"


@dataclass(frozen=True)
class Case:
    """One attack: ``run`` is given an empty folder and says what it ended in."""

    surface: str
    name: str
    run: Callable[[Path], Verdict]


def rows(n=30, r=3, seed=0):
    """Return rows, a target and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, r))
    y = X[:, 0] * X[:, -1] + X[:, 0] + 0.1 * rng.normal(size=n)
    return X, y


def sound(model, X, y, weights=None, heard=()):
    """Require of a fitted model what every one of them promises, on the rows of its fit."""
    n = np.shape(X)[0]
    predicted = model.predict(X)
    require(predicted.shape == (n,), f"predictions have the shape {predicted.shape}")
    if hasattr(model, "classes_"):
        require(set(predicted.tolist()) <= set(model.classes_.tolist()), "unknown classes")
        values = model.decision_function(X)
    else:
        values = predicted
    require(np.all(np.isfinite(values)), "predictions are not finite")
    require(np.array_equal(model.predict(X), predicted), "predictions differ from call to call")
    certified(model)
    if not hasattr(model, "classes_"):
        constant(model, np.asarray(y, dtype=float).ravel(), weights, predicted)
    if hasattr(model, "contributions") and np.ndim(values) == 1 and not slow(model):
        parts = model.contributions(X).to_numpy()
        off = np.abs(parts.sum(axis=1) - values).max()
        size = np.abs(parts).sum(axis=1).max() + np.abs(values).max() + 1e-300
        require(off <= 1e-6 * size, f"contributions are off by {off:.3g} of {size:.3g}")
    if hasattr(model, "save"):
        kept(model, X, predicted)


def slow(model):
    """Tell whether contributions take seconds: by functional ANOVA."""
    return getattr(model.function_.kernels, "free_widths", False)


def certified(model):
    """Require that a model has a gap with a kind, and says where there is none."""
    if not hasattr(model, "gap_"):
        return
    kind, gap = model.gap_kind_, model.gap_
    require(kind in ("exact", "bound", "estimate", "none"), f"gap_kind_ is {kind!r}")
    require(np.isnan(gap) == (kind == "none"), f"gap_ is {gap} of kind {kind!r}")
    require(not gap < 0, f"gap_ is {gap}")
    require(np.isfinite(model.objective_) or kind == "none", f"objective_ is {model.objective_}")


def constant(model, y, weights, predicted):
    """Require what holds of every loss: a constant costs no penalty, so no bound may exceed it."""
    if getattr(model, "gap_kind_", "none") in ("none", "estimate") or model.loss != "squared":
        return
    s = np.ones(len(y)) * (1.0 if weights is None else np.asarray(weights, dtype=float))
    s = s / s.max()
    s[s <= LEAST_WEIGHT * (1 + 1e-9)] = 0  # which count as zero; one of just that size may, too
    s = s / np.sum(s)
    middle = s @ y if model.fit_intercept else 0.0
    spread = s @ (y - middle) ** 2 / 2
    least = model.objective_ * (1 - model.gap_)
    require(least <= spread * (1 + 1e-6) + 1e-300, f"the bound {least:.6g} exceeds {spread:.6g}")
    loss = s @ (y - predicted) ** 2 / 2
    room = 1e-6 * model.objective_ + 1e-20 * (s @ y**2)
    require(loss <= model.objective_ + room, f"loss {loss:.6g}, objective {model.objective_:.6g}")


def kept(model, X, predicted):
    """Require that a model from a file predicts bit for bit as the one that was saved."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = model.save(Path(folder) / "m.mk")
        except TypeError as error:
            require(str(error).startswith(UNSAVABLE), str(error))
            return
        again = manykernels.load(path).predict(X)
    require(np.array_equal(again, predicted), "predictions differ after save and load")
