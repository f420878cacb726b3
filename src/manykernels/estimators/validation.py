"""From what people pass as X, y and sample_weight to rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..arrays import Array
from ..backend import beside, on_host, place_of, to_host
from ..inputs import (
    ranges,
    refuse_faint,
    refuse_large,
    refuse_masked,
    refuse_missing_targets,
    refuse_target_size,
    sound_sparse,
    weights_in_range,
)
from ..kernels import only_linear, uses_widths
from ..losses.classification import class_targets
from ..rows import MemoryRows, PartedRows, Rows
from ..rows.dask import is_partitioned, parts_of
from ..spec import Spec


def takes_sparse(estimator: Any) -> bool:
    """Tell whether an estimator takes sparse matrices: linear kernels of columns not centred."""
    kept = estimator.standardize == "scale" or not estimator.standardize
    return only_linear(estimator.kernels) and kept


def pairwise(estimator: Any) -> bool:
    """Tell whether X holds the values of a kernel between rows."""
    return isinstance(estimator.kernels, str) and estimator.kernels == "precomputed"


def workplace(estimator: Any, X: Any) -> Any:
    """Return where the work on rows is done."""
    return place_of(X, getattr(estimator, "device", None))


def checked(estimator: Any, X: Any, **options: Any) -> Any:
    """Check X (and y) on the host, with messages of our own for what cannot be taken."""
    refuse_masked(X, "X")
    X = sound_sparse(X)
    if not on_host(workplace(estimator, X)):
        if sparse.issparse(X):
            raise TypeError(
                "X must be dense where a device does the work; got a sparse matrix with "
                f"device={estimator.device!r}. Use device=None or X.toarray()."
            )
        X = as_host(X)
    if sparse.issparse(X) and not takes_sparse(estimator):
        raise TypeError(
            "X must be dense unless kernels are linear and not centred; got a sparse matrix "
            f"with kernels={estimator.kernels!r}, standardize={estimator.standardize!r}. Use "
            'kernels="linear" with standardize="scale" (or False), or X.toarray().'
        )
    accepted = ("csr", "csc") if takes_sparse(estimator) else False
    with np.errstate(over="ignore", invalid="ignore"):  # in sums of values as large as 1e308
        return validate_data(estimator, X, accept_sparse=accepted, dtype=np.float64, **options)


def new_rows(estimator: Any, X: Any) -> Any:
    """Return new rows as an array of numbers, checked against the columns of the fit."""
    return checked(estimator, X, reset=False)


def as_host(values: Any) -> Any:
    """Return values, or their copy on the host if they are on a device."""
    return values if on_host(place_of(values, None)) else to_host(values)


def like_input(values: Array, X: Any) -> Any:
    """Return results as arrays of the library that the rows came in, on their device."""
    place = place_of(X, None)
    return values if on_host(place) or values.dtype.kind not in "fiub" else beside(values, place)


def gather(estimator: Any, spec: Spec, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Return checked rows, in memory or in parts; store what scikit-learn wants known of X."""
    if "dask" in sys.modules and is_partitioned(X):
        return _parted(estimator, spec, X, y, sample_weight)
    place, y, sample_weight = workplace(estimator, X), as_host(y), as_host(sample_weight)
    for values, what in ((y, "y"), (sample_weight, "sample_weight")):
        refuse_masked(values, what)
    if not spec.labelled:
        _refuse_strings(y)
    refuse_missing_targets(y)
    X, y = checked(estimator, X, y=y, y_numeric=not spec.labelled, ensure_min_samples=2)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    weights = weights_in_range(weights)
    names = column_names(estimator)
    low, high = ranges(X)
    refuse_large(low, high, names)
    if spec.scales:
        refuse_faint(low, high, names)
    if not np.any(weights > 0):
        raise ValueError(
            "sample_weight must have a positive entry; got only zero weights. "
            "Use sample_weight=None to weigh rows equally."
        )
    classes, centre = np.empty(0), 0.0
    if spec.labelled:
        classes, targets = _coded(y, weights)
    else:
        targets = np.asarray(y, dtype=float)[:, None]
        # An intercept absorbs the mean; without it the arithmetic keeps more digits.
        with np.errstate(over="ignore"):
            centre = np.average(targets[:, 0], weights=weights) if spec.intercept else 0.0
        refuse_target_size(targets, centre)
        targets = targets - centre
    return MemoryRows(X, targets, weights, classes, names, centre, place, pairwise(estimator))


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns of the fit, x0, x1, .. where X had none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return list(names.tolist())


def _coded(y: Array, weights: Array) -> tuple[Array, Array]:
    """Return the classes, and a column of -1 and +1 for each (one for two classes)."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    present = np.unique(codes[weights > 0])
    if len(present) < 2:
        raise ValueError(
            "y must have at least two classes with positive weight; got one class, "
            f"{classes[present[0]]!r}. Check the target column or the split."
        )
    return classes, class_targets(codes, len(classes))


def _parted(estimator: Any, spec: Spec, X: Any, y: Any, sample_weight: Any) -> PartedRows:
    if not getattr(estimator, "takes_parts", False):
        raise TypeError(
            f"X must be in memory for {type(estimator).__name__}; got a Dask collection. Use "
            "X.compute(), or MKLRegressor or MKLClassifier."
        )
    if uses_widths(spec.kernels) or spec.alternatives:
        raise TypeError(
            f"X must be in memory for kernels={spec.kernels!r}, whose models hold training rows; "
            'got a Dask collection. Use X.compute(), or kernels="auto".'
        )
    if spec.subsample is not None:
        raise TypeError(
            f"X must be in memory for subsample={spec.subsample!r}; got a Dask collection. Use "
            "X.compute(), or subsample=None."
        )
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(
            f"X must be a table of rows and columns; got {X.ndim} dimensions. Use "
            "X.reshape(-1, 1) for a single column."
        )
    names = list(getattr(X, "columns", []))
    named = bool(names) and all(isinstance(name, str) for name in names)
    remember_columns(estimator, int(X.shape[1]), names if named else None)
    return PartedRows(parts_of(X, y, sample_weight), column_names(estimator), spec.labelled)


def remember_columns(estimator: Any, count: int, names: list[str] | None) -> None:
    """Store the number of columns and their names, if they have any, as scikit-learn does."""
    estimator.n_features_in_ = count
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _refuse_strings(y: Any) -> None:
    values = np.asarray(y)
    if values.dtype.kind in "US" or (
        values.dtype == object and any(isinstance(value, str) for value in values.ravel())
    ):
        raise ValueError(
            f"y must be numeric for regression; got strings such as {values.ravel()[0]!r}. "
            "Use MKLClassifier for classes, or convert y with astype(float)."
        )
