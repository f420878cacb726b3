"""Bad arguments of the Python interface: parameters, rows, targets, weights, methods."""

import dataclasses
import datetime
import decimal
import fractions
import warnings
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.baselines import (
    HierarchicalKernelLearning,
    LpNormMKL,
    MonomialLasso,
    PolynomialCombination,
    UniformCoordinateDescent,
    UniformProductKernel,
)
from manykernels.feature_maps import Nystroem, Spline
from manykernels.losses import EpsilonInsensitive, Huber, Logistic, Squared
from manykernels.selection import SplitTest, StabilitySelection
from manykernels.solvers import FullPass, Greedy, MirrorDescent, WorkingSet

from .case import Case, rows, sound
from .oracle import judged, require

X, Y = rows()
LABELS = np.where(Y > 0, "up", "down")

VALUES = {
    "none": None,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "half": 0.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "true": True,
    "false": False,
    "text": "text",
    "empty text": "",
    "bytes": b"auto",
    "numpy text": np.str_("auto"),
    "list": [1],
    "nested": [[1, 2], 3],
    "empty": [],
    "text in a list": ["a", None],
    "dict": {"a": 1},
    "set": {1},
    "class": dict,
    "function": len,
    "object": object(),
    "complex": 1 + 2j,
    "array": np.arange(3.0),
    "matrix": np.ones((2, 2)),
    "no dimension": np.array(2),
    "numpy number": np.float32(0.5),
    "huge": 10**400,
    "tiny": 5e-324,
    "decimal": decimal.Decimal("0.5"),
    "fraction": fractions.Fraction(1, 2),
    "date": datetime.date(2020, 1, 1),
    "range": range(3),
    "loss": Huber(),
    "solver": Greedy(2),
    "map": Spline(),
    "pair": ("rbf", 0),
    "frame": pd.DataFrame({"a": [1.0]}),
}
"""Values for parameters; many are right for some of them."""

QUICK = {"degree": 2, "max_iter": 60}
ESTIMATORS = {
    "regressor": lambda: MKLRegressor(**QUICK),
    "classifier": lambda: MKLClassifier(**QUICK),
    "regressor, p = 1": lambda: MKLRegressor(p=1, **QUICK),
    "regressor of splines": lambda: MKLRegressor("auto", p=1, degree=1),
    "regressor CV": lambda: MKLRegressorCV(n_alphas=4, cv=3, degree=1, max_iter=60),
    "classifier CV": lambda: MKLClassifierCV(n_alphas=3, cv=3, degree=1, max_iter=60),
    "lp norm": lambda: LpNormMKL(degree=2, max_iter=60),
    "hierarchical": lambda: HierarchicalKernelLearning(),
    "uniform product": lambda: UniformProductKernel(degree=2),
    "uniform coordinate": lambda: UniformCoordinateDescent(degree=2, max_iter=50),
    "polynomial": lambda: PolynomialCombination(degree=2),
    "monomial lasso": lambda: MonomialLasso(degree=2),
}
MAIN = ["regressor", "classifier", "regressor CV", "classifier CV"]


def target_of(model):
    return LABELS if is_classifier(model) else Y


def fit_with(make, **parameters):
    """Fit with other parameters and look at the model."""
    model = make().set_params(**parameters)
    y = target_of(model)
    sound(model.fit(X, y), X, y)


ALSO = {
    "loss": "loss",
    "solver": "solver|p must|degree",
    "p": "p must|solver|standardize_terms",
    "degree": "degree|rho",
    "alpha": "alpha|overflow",
    "alphas": "alpha|overflow",
    "device": "device",
    "random_state": "seed|random_state",
    "kernels": "kernels",
    "rho": "rho",
    "cv": "cv|folds|n_splits|k-fold",
    "max_memory": "max_memory",
    "subsample": "subsample",
    "index_set": "index_set",
    "standardize_terms": "standardize_terms",
}
"""What a message about a parameter must have some of, where its name is not enough."""


def parameter_cases():
    for kind, make in ESTIMATORS.items():
        names = make().get_params(deep=False)
        few = kind not in MAIN
        for number, name in enumerate(names):
            for place, (label, value) in enumerate(VALUES.items()):
                if few and (place + number) % 4:
                    continue
                if name == "n_jobs" and label not in ("text", "zero", "half", "nan", "list"):
                    continue  # processes take seconds to begin
                if name in ("max_iter", "n_alphas", "draws") and label == "huge":
                    continue
                words = ALSO.get(name, name)
                act = partial(fit_with, make, **{name: value})
                yield f"{kind}: {name} = {label}", act, words


def strings(values):
    return values.astype(object) * 0 + "a"


def matrix(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(values)


def changed(values, place, value, dtype=None):
    out = np.array(values, dtype=dtype)
    out[place] = value
    return out


def broken(kind):
    matrix = sparse.csr_array(np.where(X > 0, X, 0.0)).asformat(kind)
    if kind == "coo":
        matrix.coords[1][2] = 99
    else:
        matrix.indices[2] = 99
    return matrix


NUMBERS = r"number|numeric|real|float|string|dtype|could not convert"
ROWS = {
    "vector": (X[:, 0], "1D array|dimension|2D"),
    "scalar": (3.0, "scalar|dimension|2D"),
    "cube": (X[:, :, None], "dim 3|dimension"),
    "no rows": (X[:0], "0 sample|minimum"),
    "one row": (X[:1], "sample|inconsistent|minimum"),
    "no columns": (X[:, :0], "0 feature|minimum"),
    "none": (None, "None|X|array"),
    "text": ("text", "X|array|dim|string"),
    "mapping": ({"a": [1]}, "X|array|dim|number|dict"),
    "set": ({1, 2}, "X|array|dim|number|set"),
    "generator": ((row for row in X), "X|array|dim|number|generator"),
    "strings": (np.full((30, 3), "a"), NUMBERS + "|same value"),
    "objects": (changed(X, (3, 1), "a", object), NUMBERS),
    "missing object": (changed(X, (3, 1), None, object), "NaN|missing|None|X"),
    "lists inside": (changed(X, (3, 1), 0, object), ""),
    "dates": (np.full((30, 3), np.datetime64("2020-01-01")), NUMBERS + "|date"),
    "bytes": (np.full((30, 3), b"a"), NUMBERS),
    "complex": (X + 1j, "[Cc]omplex"),
    "nan": (changed(X, (3, 1), np.nan), "NaN"),
    "infinite": (changed(X, (3, 1), np.inf), "infinity|inf"),
    "1e300": (changed(X, (3, 1), 1e300), "x1"),
    "-1e160": (changed(X, (slice(None), 2), -1e160), "x2|constant|X"),
    "1e-200": (X * 1e-200, "x0|X"),
    "denormal": (X * 1e-310, "x0|X"),
    "masked": (np.ma.array(X, mask=X > 1), "masked"),
    "unmasked": (np.ma.array(X, mask=False), ""),
    "constant": (np.full((30, 3), 1e30), ""),
    "nearly constant": (1e15 + np.round(X), ""),
    "whole numbers": (np.round(X).astype(int), ""),
    "largest integers": (np.full((30, 3), 2**63 - 1) - np.arange(90).reshape(30, 3), ""),
    "huge integers": (changed(X, (3, 1), 10**400, object), "large|int|float|X"),
    "unsigned": (np.round(np.abs(X)).astype(np.uint8), ""),
    "truth values": (X > 0, ""),
    "half precision": (X.astype(np.float16), ""),
    "quadruple": (X.astype(np.longdouble), ""),
    "columns first": (np.asfortranarray(X), ""),
    "read only": (np.frombuffer(X.tobytes()).reshape(X.shape), ""),
    "big endian": (X.astype(">f8"), ""),
    "strided": (np.repeat(X, 2, axis=0)[::2], ""),
    "reversed": (X[::-1][::-1], ""),
    "list": (X.tolist(), ""),
    "ragged": ([[1.0, 2.0], [3.0]] * 15, "inhomogeneous|shape|sequence|X"),
    "structured": (np.zeros(30, dtype=[("a", float), ("b", float)]), "1D|dtype|X|number|void"),
    "frame": (pd.DataFrame(X, columns=list("abc")), ""),
    "frame of gaps": (pd.DataFrame(changed(X, (3, 1), np.nan), columns=list("abc")), "NaN"),
    "nullable": (pd.DataFrame(X).astype("Float64"), ""),
    "nullable gaps": (pd.DataFrame(changed(X, (3, 1), np.nan)).astype("Float64"), "NaN|NA"),
    "text columns": (pd.DataFrame(X).assign(c="a"), NUMBERS + "|names"),
    "dates in a frame": (
        pd.DataFrame(X, columns=list("abc")).assign(d=pd.Timestamp("2020")),
        NUMBERS + "|date",
    ),
    "categories": (
        pd.DataFrame(X, columns=list("abc")).assign(d=pd.Categorical(["u", "v"] * 15)),
        NUMBERS,
    ),
    "mixed names": (pd.DataFrame(X, columns=["a", 1, "c"]), "names"),
    "names twice": (pd.DataFrame(X, columns=["a", "a", "b"]), "names"),
    "two levels": (pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], [1, 2, 3]])), "name"),
    "odd names": (pd.DataFrame(X, columns=["<script>", "", "a * b"]), ""),
    "empty frame": (pd.DataFrame(), "rows and columns"),
    "series": (pd.Series(X[:, 0]), "1D|2D|dimension"),
    "sparse": (sparse.csr_array(X), "[Ss]parse"),
    "sparse frame": (pd.DataFrame(X).astype(pd.SparseDtype(float)), "[Ss]parse"),
    **{f"broken {kind}": (broken(kind), "[Ss]parse") for kind in ("csr", "csc", "coo")},
    "sparse text": (sparse.csr_array(X).astype(complex), "[Ss]parse|[Cc]omplex"),
    "duplicated": (np.column_stack([X, X]), ""),
    "matrix": (matrix(X), "matrix"),
    "range": (np.arange(30)[:, None], ""),
    "alternating": (np.where(np.arange(30)[:, None] % 2, 1e150, -1e150), ""),
    "one row differs": (changed(np.zeros((30, 3)), 7, 1e149), ""),
    "subnormal beside": (np.column_stack([X, np.full(30, 5e-324)]), ""),
}
"""Rows, and a pattern of which an error must have some; empty where there must be no error."""


def fit_rows(make, Z, must, y=None, weights=None):
    model = make()
    y = target_of(model) if y is None else y
    try:
        model.fit(Z, y, weights) if weights is not None else model.fit(Z, y)
    except (ValueError, TypeError) as error:
        require(must, f"refused: {error}")
        raise
    sound(model, Z, y, weights)


def rows_cases():
    kinds = [
        *MAIN[:3],
        "regressor, p = 1",
        "regressor of splines",
        "hierarchical",
        "monomial lasso",
    ]
    for kind in kinds:
        for label, (Z, words) in ROWS.items():
            if label == "generator":
                continue
            yield (
                f"{kind}: X = {label}",
                partial(fit_rows, ESTIMATORS[kind], Z, words),
                words or ".",
            )


TARGETS = {
    "strings": (np.full(30, "a"), "y |class|string"),
    "numbers as text": (Y.astype(str), "y |class|string"),
    "objects": (changed(Y, 3, "a", object), "y |class|string"),
    "none": (None, "y"),
    "a gap": (changed(Y, 3, None, object), "y "),
    "nan": (changed(Y, 3, np.nan), "y "),
    "infinite": (changed(Y, 3, np.inf), "y "),
    "scalar": (3.0, "y|dim|shape|array"),
    "matrix": (np.column_stack([Y, Y]), "y |shape|1d"),
    "column": (Y[:, None], "y |1d|class|Unknown label"),
    "short": (Y[:-1], "inconsistent"),
    "long": (np.r_[Y, 1.0], "inconsistent"),
    "empty": (Y[:0], "inconsistent"),
    "complex": (Y + 1j, "[Cc]omplex"),
    "dates": (np.full(30, np.datetime64("2020-01-01")), "y|date|number|numeric|dtype|class"),
    "masked": (np.ma.array(Y, mask=Y > 1), "y must have no masked"),
    "1e300": (Y * 1e300, "y |class|label"),
    "1e-300": (Y * 1e-300, "y |class|label"),
    "constant": (np.full(30, 3.0), "class"),
    "zeros": (np.zeros(30), "class"),
    "two numbers": (np.arange(30) % 2, ""),
    "truth values": (Y > 0, "string|numeric"),
    "all distinct": (np.arange(30), "class|n_splits|members|fold"),
    "far": (1e9 + Y, "class|label"),
    "mapping": ({"a": 1}, "y"),
    "lists": ([[1], [2, 3]] * 15, "y|inhomogeneous|sequence|shape"),
    "huge integers": (changed(Y, 3, 10**400, object), "y|large|int|label|class"),
    "nullable": (pd.Series(Y).astype("Float64"), "class|label"),
    "nullable gap": (pd.Series(changed(Y, 2, np.nan)).astype("Float64"), "y |NA|NaN"),
    "categories": (pd.Series(pd.Categorical(LABELS)), "y |string"),
    "one odd class": (np.r_[np.zeros(29), 1], "n_splits|members|fold|class"),
    "mixed labels": (np.array(["a", 1, 2.0] * 10, dtype=object), "y |class|label|string"),
    "long labels": (np.where(Y > 0, "a" * 100_000, "b"), "y |string"),
    "frame": (pd.DataFrame({"t": Y}), "class|label|1d|y "),
}


def targets_cases():
    for kind in [*MAIN, "hierarchical", "monomial lasso", "regressor of splines"]:
        for label, (y, words) in TARGETS.items():
            # Whether a target suits depends on the task: an answer or an error will do.
            act = partial(fit_rows, ESTIMATORS[kind], X, words, y)
            if y is None:
                act = partial(lambda make: make().fit(X, None), ESTIMATORS[kind])
            yield f"{kind}: y = {label}", act, words or "."


ONES = np.ones(30)
WEIGHTS = {
    "zeros": (0 * ONES, "weight"),
    "negative": (-ONES, "weight"),
    "one negative": (changed(ONES, 3, -1e-9), "weight"),
    "nan": (changed(ONES, 3, np.nan), "weight"),
    "infinite": (changed(ONES, 3, np.inf), "weight"),
    "short": (ONES[:-1], "weight"),
    "matrix": (np.ones((30, 2)), "weight"),
    "text": (np.full(30, "a"), "weight|string"),
    "scalar": (2.0, ""),
    "one": (changed(0 * ONES, 3, 1.0), "weight|class|fold"),
    "two": (np.r_[np.zeros(28), 1, 1], "weight|class|fold"),
    "1e308": (1e308 * ONES, ""),
    "1e-320": (1e-320 * ONES, ""),
    "mixed sizes": (np.logspace(-300, 300, 30), "weight|class|fold"),
    "truth values": (np.arange(30) % 2 == 0, ""),
    "complex": (ONES + 1j, "weight|[Cc]omplex"),
    "masked": (np.ma.array(ONES, mask=Y > 0), "weight"),
    "dates": (np.full(30, np.datetime64("2020-01-01")), "weight|date"),
    "mapping": ({"a": 1}, "weight"),
    "nested": ([[1]] * 30, "weight|dim"),
}


def weights_cases():
    for kind in [*MAIN, "regressor of splines", "lp norm", "hierarchical", "uniform product"]:
        for label, (weights, words) in WEIGHTS.items():
            act = partial(fit_rows, ESTIMATORS[kind], X, words, None, weights)
            yield f"{kind}: weights = {label}", act, words or "."


def settings_cases():
    """Settings of objects that parameters take."""
    makers = {
        "Greedy": (Greedy, ["terms", "pool"]),
        "FullPass": (FullPass, ["memory"]),
        "MirrorDescent": (MirrorDescent, ["draws"]),
        "WorkingSet": (WorkingSet, ["batch"]),
        "Huber": (Huber, ["delta"]),
        "EpsilonInsensitive": (EpsilonInsensitive, ["epsilon"]),
        "Spline": (Spline, None),
        "Nystroem": (Nystroem, None),
    }
    for kind, (make, names) in makers.items():
        fields = names or [one.name for one in dataclasses.fields(make) if one.init]
        for name in fields:
            for label, value in VALUES.items():
                yield f"{kind}: {name} = {label}", partial(with_setting, make, name, value), name


def with_setting(make, name, value):
    made = make(**{name: value})
    if isinstance(made, Spline | Nystroem):
        model = MKLRegressor([(made, 0), (made, 1)], degree=1, p=1)
    elif hasattr(made, "iterate"):
        model = MKLRegressor(solver=made, p=1 if isinstance(made, WorkingSet) else None, **QUICK)
    else:
        model = MKLRegressor(loss=made, **QUICK)
    sound(model.fit(X, Y), X, Y)


def method_cases():
    """Arguments of the methods of fitted models."""
    model = MKLRegressor(p=1, **QUICK).fit(X, Y)
    three = MKLClassifier(**QUICK).fit(X, np.arange(30) % 3)
    for label, value in VALUES.items():
        for name, act in {
            "explain(top)": partial(model.explain, value),
            "explain(how_sure)": partial(model.explain, 3, value),
            "contributions(terms)": partial(model.contributions, X, value),
            "contributions(label)": partial(three.contributions, X, None, value),
            "kernel(Y)": partial(model.kernel, X, value),
            "score(y)": partial(model.score, X, value),
        }.items():
            words = r"top|how_sure|terms|label|class|Y|y_|X|array|dim|sample|number|None|\[\]"
            yield f"{name} = {label}", act, words
    for label, (Z, _words) in ROWS.items():
        if label == "generator":
            continue
        for name in ("predict", "contributions", "kernel"):
            words = r"X|array|dim|feature|sample|[Cc]omplex|NaN|inf|sparse|number|float|overflow"
            act = partial(usable, model, getattr(model, name), Z)
            yield f"{name}(X) = {label}", act, words + "|matrix|dtype|string|name|masked|date"


def usable(model, method, Z):
    out = method(Z)
    require(np.all(np.isfinite(np.asarray(out, dtype=float))), "results are not finite")
    require(len(out) == np.shape(Z)[0], "another number of rows")


def selection_cases():
    """Parameters of the tests of terms."""
    for make in (SplitTest, StabilitySelection):
        small = {"n_splits": 2} if make is SplitTest else {"n_pairs": 2}
        plain = make(MKLRegressor("linear", degree=1), **small).get_params(deep=False)
        for number, name in enumerate(plain):
            for place, (label, value) in enumerate(VALUES.items()):
                if (name == "n_jobs" and label != "text") or (number + place) % 2:
                    continue
                if name in ("n_splits", "n_pairs") and label == "huge":
                    continue

                def act(make=make, name=name, value=value, small=small):
                    parts = {"estimator": MKLRegressor("linear", degree=1), **small, name: value}
                    make(**parts).fit(X, Y)

                words = ALSO.get(name, name) + (
                    "|q must|rows|splits" if name != "estimator" else ""
                )
                yield f"{make.__name__}: {name} = {label}", act, words


def cases():
    """Return all cases of this surface."""
    found = []
    for part in (
        parameter_cases,
        rows_cases,
        targets_cases,
        weights_cases,
        settings_cases,
        method_cases,
        selection_cases,
    ):
        for name, act, words in part():

            def run(_folder, act=act, words=words):
                return judged(act, words)

            found.append(Case("api", name, run))
    return found


assert Squared
assert Logistic
