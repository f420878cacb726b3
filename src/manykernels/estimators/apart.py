"""Pipelines and estimators of tables taken apart: a model of numbers, and rows as it sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..frames import TableEncoder, as_frame
from ..function import Function
from ..store import parts_of
from .validation import column_names, remember_columns

_BARE = re.compile(r"(?<!\w)x(\d+)(?!\w)")


def taken_apart(model: Any, X: Any = None) -> tuple[Any, Any, dict[str, list[str]]]:
    """Return a model of columns of numbers, rows as it sees them, and names of categories.

    Parameters
    ----------
    model : estimator, Pipeline or model of a table
        Fitted. Of a pipeline the last step is taken, and the others transform the rows. A model of
        a table, as the command writes it, encodes them.
    X : data frame or array-like, optional
        Rows as the model takes them.

    Returns
    -------
    model : estimator
        The same function of encoded columns; a column has the name that the steps before give it.
    X : object
        The rows, encoded.
    levels : dict of str to list of str
        What the numbers 0, 1, .. of columns of categories mean.
    """
    if of_table(model):
        return model.estimator, None if X is None else model.encode(as_frame(X)), model.levels
    levels: dict[str, list[str]] = {}
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        steps, last = model[:-1], model[-1]
        if len(steps):
            X = None if X is None else steps.transform(X)
            last, X = _named(last, steps, X)
        for step in steps:
            if isinstance(step, TableEncoder):
                levels |= step.levels_
        model = last
    encoder = getattr(model, "encoder_", None)
    if encoder is not None:
        levels = encoder.levels_
        X = None if X is None else encoder.encode(as_frame(X))
        model = _of_numbers(model, encoder)
    known = column_names(model) if levels else []
    return model, X, {name: own for name, own in levels.items() if name in known}


def of_table(model: Any) -> bool:
    """Tell whether a model is one of a table, as the command writes it: an encoder and all."""
    return hasattr(model, "encode") and hasattr(model, "estimator")


def truth_of(model: Any, y: Any) -> Any:
    """Return targets as a model has them: classes of a model of a table are text."""
    if not hasattr(model, "truth"):
        return y
    return model.truth(pd.DataFrame({str(model.summary["target"]): np.ravel(y)}))


def _of_numbers(model: Any, encoder: TableEncoder) -> Any:
    """Return an estimator of tables as one of their encoded columns."""
    other, names = copy(model), encoder.get_feature_names_out().tolist()
    del other.encoder_
    remember_columns(other, len(names), names)
    return other


def _named(model: Any, steps: Pipeline, X: Any) -> tuple[Any, Any]:
    """Return an estimator and rows with the names of columns, if the steps before know them."""
    function = getattr(model, "function_", None)
    if hasattr(model, "feature_names_in_") or not isinstance(function, Function):
        return model, X
    try:
        names = [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):  # a step that gives no names
        return model, X
    if len(names) != model.n_features_in_ or len(set(names)) < len(names):
        return model, X
    other = copy(model)
    other.function_ = _renamed(function, names)
    remember_columns(other, len(names), names)
    if sparse.issparse(X):
        table: Any = pd.DataFrame
        return other, table.sparse.from_spmatrix(X, columns=names)
    return other, X if X is None else pd.DataFrame(X, columns=names)


def _renamed(function: Function, names: Sequence[str]) -> Function:
    """Return a function of columns x0, x1, .. with other names for them."""
    other = deepcopy(function)
    vars(other).pop("terms", None)  # made from the names before

    def new(label: str) -> str:
        return _BARE.sub(lambda found: names[int(found[1])], label)

    for part, _ in parts_of(other, "the function"):
        own = getattr(part, "__dict__", {})
        for key in ("names", "labels"):
            if isinstance(own.get(key), list):
                own[key] = [new(label) for label in own[key]]
        if isinstance(own.get("fitted"), list):
            own["fitted"] = [(new(label), *rest) for label, *rest in own["fitted"]]
    return other
