"""Rows in Dask collections: bad values and odd partitions; the answer is that of rows in memory."""

from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV

from .case import Case, rows
from .oracle import judged, require

X, Y = rows(60)
FRAME = pd.DataFrame(X, columns=list("abc"))
SETTINGS = {
    "p = 1": lambda: MKLRegressor(degree=2, p=1, tol=1e-6),
    "p = 4/3": lambda: MKLRegressor(degree=2, tol=1e-6),
    "p = 2": lambda: MKLRegressor(degree=2, p=2),
    "splines": lambda: MKLRegressor("auto", degree=1, p=1, tol=1e-6),
    "classes": lambda: MKLClassifier(degree=1, tol=1e-6),
}


def changed(place, value, dtype=float):
    out = X.astype(dtype)
    out[place] = value
    return out


BAD = {
    "nan": (changed((45, 1), np.nan), "X|NaN|finite|x1"),
    "infinite": (changed((45, 1), np.inf), "X|inf|finite|x1"),
    "1e300": (changed((45, 1), 1e300), "x1"),
    "1e-200": (changed((slice(None), 1), X[:, 1] * 1e-200), "x1"),
    "complex": (X + 1j, "complex"),
    "text": (changed((45, 1), "a", object), "X|number|string|convert|x1"),
    "masked": (np.ma.array(X, mask=X > 1.5), "masked"),
    "dates": (np.full(X.shape, np.datetime64("2020-01-01")), "X|number|date|dtype"),
    "cube": (X[:, :, None], "dimension"),
    "vector": (X[:, 0], "dimension"),
    "no columns": (X[:, :0], "column|feature"),
    "no rows": (X[:0], "row|sample|partition"),
    "whole numbers": (np.round(X).astype(int), ""),
    "truth values": (X > 0, ""),
    "single precision": (X.astype(np.float32), ""),
    "constant": (changed((slice(None), 2), 1e30), ""),
}
TARGETS = {
    "nan": (np.where(np.arange(60) == 45, np.nan, Y), "y"),
    "infinite": (np.where(np.arange(60) == 45, np.inf, Y), "y"),
    "1e300": (Y * 1e300, "y"),
    "1e-300": (Y * 1e-300, "y"),
    "text": (np.array(["a", "b"] * 30), "y|number|string|numeric"),
    "complex": (Y + 1j, "y|complex"),
    "short": (Y[:40], "row|length|partition|chunk|y"),
    "matrix": (np.column_stack([Y, Y]), "y|dimension"),
    "constant": (np.full(60, 3.0), ""),
}
WEIGHTS = {
    "zeros": (np.zeros(60), "weight"),
    "negative": (-np.ones(60), "weight"),
    "nan": (np.full(60, np.nan), "weight"),
    "1e308": (np.full(60, 1e308), "weight"),
    "some zero": ((np.arange(60) < 40).astype(float), ""),
    "short": (np.ones(40), "weight|row|length|partition|chunk"),
}


def parted(values, sizes=(20, 20, 20)):
    values = np.ma.asanyarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    sizes = sizes if sum(sizes) == len(values) else (len(values),)
    return da.from_array(values, chunks=(sizes, *values.shape[1:]))


def fit(make, Z, y, must, weights=None):
    """Fit to partitions; the model is that of rows in memory."""
    with dask.config.set(scheduler="synchronous"):
        try:
            model = make().fit(parted(Z), parted(y), None if weights is None else parted(weights))
        except (ValueError, TypeError) as error:
            require(must, f"refused: {error}")
            raise
        values = model.predict(Z)
    require(np.all(np.isfinite(values)), "predictions are not finite")
    alike(make().fit(Z, y, weights), model, Z)


def alike(one, two, Z):
    method = "decision_function" if hasattr(one, "classes_") else "predict"
    ours, theirs = getattr(one, method)(Z), getattr(two, method)(Z)
    off = np.abs(ours - theirs).max()
    # Both are optimal up to tol; splines in parts have knots of their own.
    room = 0.3 if "Map" in type(one.function_.kernels).__name__ else 0.02
    require(off <= room * max(np.ptp(ours), 1e-3), f"predictions differ by {off:.3g}")


def split(make, sizes, frames):
    """Fit to odd partitions."""
    y = np.where(Y > 0, 1, 0) if "Classifier" in type(make()).__name__ else Y
    with dask.config.set(scheduler="synchronous"):
        if frames:
            count = max(len([size for size in sizes if size]), 1)
            Z, t = dd.from_pandas(FRAME, npartitions=count), parted(y)
            t = dd.from_pandas(pd.Series(y), npartitions=count)
        else:
            Z, t = parted(X, sizes), parted(y, sizes)
        model = make().fit(Z, t)
    alike(make().fit(FRAME if frames else X, y), model, FRAME if frames else X)


def refused(make, **others):
    with dask.config.set(scheduler="synchronous"):
        make().fit(others.get("X", parted(X)), others.get("y", parted(Y)))
    require(False, "it was not refused")


SIZES = [(60,), (1,) * 60, (59, 1), (1, 59), (0, 60), (30, 0, 30), (2, 58), (20, 20, 20), (7, 53)]


def cases():
    """Return all cases of this surface."""
    acts = []
    for kind, make in SETTINGS.items():
        y = np.where(Y > 0, 1, 0) if kind == "classes" else Y
        for label, (Z, words) in BAD.items():
            acts.append((f"{kind}: X = {label}", partial(fit, make, Z, y, words), words or "."))
        for label, (t, words) in TARGETS.items() if kind in ("p = 1", "p = 2") else ():
            acts.append((f"{kind}: y = {label}", partial(fit, make, X, t, words), words or "."))
        for label, (w, words) in WEIGHTS.items():
            acts.append((f"{kind}: w = {label}", partial(fit, make, X, y, words, w), words or "."))
        for sizes in SIZES:
            frames = len(sizes) < 4 and min(sizes) > 5
            for framed in {False, frames}:
                name = f"{kind}: {'frames' if framed else 'arrays'} of {sizes[:4]}"
                acts.append((name, partial(split, make, sizes, framed), "row|partition"))
    for name, make in {
        "widths": lambda: MKLRegressor("widths"),
        "subsample": lambda: MKLRegressor(subsample="auto"),
        "rbf": lambda: MKLRegressor("rbf", degree=1),
        "CV of widths": lambda: MKLRegressorCV("widths"),
    }.items():
        acts.append((name, partial(refused, make), "X must be in memory|kernels|memory"))
    acts.append(("y in memory", partial(refused, SETTINGS["p = 1"], y=Y[:40]), "y|row|length"))

    def run(_folder, act, words):
        return judged(act, words, 60)

    return [Case("partitions", name, partial(run, act=a, words=w)) for name, a, w in acts]
