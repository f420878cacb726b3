"""Models from files: whether what was read can predict, found out by letting it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..frames import TableEncoder
from ..function import Function, Predictor
from ..kernels import Precomputed
from ..limits import PREDICTED_ENTRIES
from ..store import refuse_fields, refuse_infinite
from .loaded_parts import refuse_unsound_parts

NUMBER = (int, float)

PROBES = 16
"""Rows that a model from a file must predict. Set by judgement: some land in each part of a range
of values."""

FITTED = {
    "n_features_in_": int,
    "function_": Function,
    "theta_": np.ndarray,
    "terms_": list,
    "objective_": NUMBER,
    "gap_": NUMBER,
    "gap_kind_": str,
    "n_kernels_": NUMBER,
    "n_iter_": int,
    "history_": dict,
}
"""Attributes of fitted estimators in files, and their types."""


def refuse_unusable(estimator: Any) -> None:
    """Raise ValueError, TypeError or whatever it leads to if an estimator cannot predict.

    Numbers of its function must be finite, references to columns and base kernels must be of some
    there are, and some rows around the means of the columns must have predictions.
    """
    refuse_fields(estimator, FITTED, "the model")
    if not isinstance(getattr(estimator, "device", None), str | None):
        raise TypeError("device of the model is no name")
    function: Function = estimator.function_
    widths = function.kernels.free_widths  # whose kernels have no shares
    # Scales of constant columns may be infinite; they are looked at below.
    # So may be the exponent of tuples: it is for p = 2.
    besides = ("scale_", "var_", "nu", *(("shares",) if widths else ()))
    refuse_infinite(function, "the function", besides)
    columns = estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
    if not 1 <= columns <= PREDICTED_ENTRIES or (names is not None and len(names) != columns):
        raise ValueError(f"n_features_in_ of the model is {columns}")
    if np.shape(vars(estimator).get("medians_", np.zeros(columns))) != (columns,):
        raise ValueError("medians_ of the model are not those of its columns")
    if "encoder_" in vars(estimator):
        columns = _encoded_columns(estimator)
    refuse_unsound_parts(function, columns)
    _refuse_outputs(estimator, function)
    _refuse_references(function.predictor)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows = _rows(function, columns)
        values = function.decision(rows)
        function.decision(rows[1:])  # of another number: nothing fits by chance
        if not widths:  # by functional ANOVA, which takes its time
            function.terms.table(1)
            label = function.classes[0] if len(function.classes) > 2 else None
            function.contributions(rows[:2], list(function.terms.names[:1]), label)
    shape = (PROBES, len(np.atleast_1d(function.predictor.intercept)))
    if values.shape != shape:
        raise ValueError(f"predictions have the shape {values.shape}, not {shape}")
    with np.errstate(over="ignore"):
        sound = np.all(np.isfinite(values**2))
    if not sound:
        raise ValueError("predictions around the means of the columns, or their squares, overflow")


def _encoded_columns(estimator: Any) -> int:
    """Return the number of columns that an encoder makes; raise if it can make none."""
    refuse_fields(estimator, {"encoder_": TableEncoder}, "the model")
    return estimator.encoder_.encode(estimator.encoder_.example()).shape[1]


def _refuse_outputs(estimator: Any, function: Function) -> None:
    """Raise unless there is an output for each class, one for two classes and for numbers."""
    classes = function.classes
    own = getattr(estimator, "classes_", classes)
    if not isinstance(classes, np.ndarray) or not np.array_equal(own, classes):
        raise ValueError("classes_ of the model are not those of its function")
    if classes.ndim != 1 or estimator.labelled != (len(classes) > 0) or len(classes) == 1:
        raise ValueError(f"the model has {len(classes)} classes")
    outputs = len(classes) if len(classes) > 2 else 1
    intercept = function.predictor.intercept
    if not isinstance(intercept, np.ndarray) or intercept.shape != (outputs,):
        raise ValueError(f"intercepts of {outputs} outputs have the shape {np.shape(intercept)}")


def _refuse_references(learnt: Any) -> None:
    """Raise unless kernels in use are made of base kernels there are, each with its weight."""
    if not isinstance(learnt, Predictor):
        raise TypeError(f"the predictor is a {type(learnt).__name__}")
    if not isinstance(learnt.closed, bool):
        raise TypeError(f"closed of the predictor is a {type(learnt.closed).__name__}")
    if np.shape(learnt.theta) != (len(learnt.indices),):
        raise ValueError(f"{len(learnt.indices)} kernels have weights of {np.shape(learnt.theta)}")
    if np.shape(learnt.shares) != np.shape(learnt.theta):
        raise ValueError(f"{len(learnt.indices)} kernels have shares of {np.shape(learnt.shares)}")
    for name in ("spreads", "losses"):
        known = getattr(learnt, name)
        if known is not None and np.shape(known) != np.shape(learnt.theta):
            raise ValueError(f"{len(learnt.indices)} kernels have {name} of {np.shape(known)}")
    if learnt.theta.dtype.kind != "f" or np.any(learnt.theta < 0):
        raise ValueError("weights of kernels must be numbers that are not negative")
    count = len(learnt.family.names)
    products: Sequence[Any] = learnt.family.products(learnt.indices)
    if not all(type(j) is int and 0 <= j < count for product in products for j in product):
        raise ValueError(f"a kernel is made of base kernels that are not among the {count}")


def _rows(function: Function, columns: int) -> Array:
    """Return rows: the means of the columns, and others some standard deviations away.

    Where X holds the numbers of rows, they are all the first.
    """
    if any(isinstance(one, Precomputed) for one in getattr(function.kernels, "functions", [])):
        return np.zeros((PROBES, columns))
    middle, spread = np.zeros(columns), np.ones(columns)
    scaler = function.scaler
    if scaler is not None:
        refuse_fields(scaler, {"scale_": np.ndarray, "with_mean": bool}, "the scaler")
        if scaler.scale_.shape != (columns,) or not np.all(scaler.scale_ > 0):
            raise ValueError("scales of columns must be positive, one for each")
        spread = np.where(np.isfinite(scaler.scale_), scaler.scale_, 0.0)  # inf: constant, rounded
        if scaler.with_mean:
            middle = np.asarray(scaler.mean_, dtype=float).reshape(columns)
    steps = np.random.default_rng(0).normal(size=(PROBES, columns))
    steps[0] = 0.0
    return middle + steps * spread
