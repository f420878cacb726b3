"""From what people pass as X, y and sample_weight to rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..arrays import Array
from ..backend import beside, on_host, place_of, to_host
from ..frames import MOST_NAMED, TableEncoder, TableError, filled, not_plain
from ..inputs import (
    no_table,
    ranges,
    refuse_bad_targets,
    refuse_faint,
    refuse_large,
    refuse_masked,
    refuse_target_size,
    repeated_name,
    row_weights,
    sound_sparse,
    unboxed,
    weighted_median,
)
from ..kernels import only_linear, uses_widths
from ..losses import depends_on_errors, refuse_unsound
from ..losses.classification import class_targets
from ..rows import MemoryRows, PartedRows, Rows
from ..rows.dask import is_partitioned, parts_of, refuse_no_rows
from ..spec import Spec
from ..specify import kernels_of

MEDIAN_ROWS = 10_000
"""Training rows that medians of columns are taken of, about; of more, every second, third, .. one.
Set by judgement: a median of that many is within 1.3 % of the standard deviation, as a rule."""


def takes_sparse(estimator: Any) -> bool:
    """Tell whether an estimator takes sparse matrices: linear kernels of columns not centred."""
    asked = estimator.standardize
    kept = isinstance(asked, str) and asked == "scale"
    kept = kept or (isinstance(asked, bool | np.bool_) and not asked)
    return only_linear(kernels_of(estimator)) and kept


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
            f"with kernels={kernels_of(estimator)!r}, standardize={estimator.standardize!r}. Use "
            'kernels="linear" with standardize="scale" (or False), or X.toarray().'
        )
    accepted = ("csr", "csc") if takes_sparse(estimator) else False
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # in sums of values as large as 1e308
            return validate_data(estimator, X, accept_sparse=accepted, dtype=np.float64, **options)
    except (ValueError, TypeError, OverflowError) as error:
        words = no_table(X)
        if not words:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{words} ({error})" if kind is TypeError else words) from None


def as_numbers(estimator: Any, X: Any, sample_weight: Any = None) -> Any:
    """Return training rows with a column for each base kernel to come, all of numbers.

    A table with text, dates or gaps is encoded, and the encoder kept as ``encoder_``. Rows of
    weight zero have no say in how.
    """
    for name in ("encoder_", "medians_"):  # of an earlier fit, or one that was loaded
        vars(estimator).pop(name, None)
    if pairwise(estimator) or not estimator.takes_tables:
        return X
    if is_partitioned(X) or not on_host(place_of(X, None)):
        return X
    table = not_plain(X)
    if table is None:
        return X
    weights = row_weights(as_host(sample_weight), len(table))
    used = weights > 0
    if not used.all() and not_plain(table[used]) is None:  # rows of weight zero alone have gaps
        return filled(X, np.median(table[used].to_numpy(dtype=float), axis=0))
    estimator.encoder_ = TableEncoder().fit(X, sample_weight=weights)
    if not estimator.encoder_.columns_:
        why = " ".join(estimator.encoder_.notes_[:MOST_NAMED])
        raise TableError(f"X must have a column to predict from; {why}")
    return estimator.encoder_.encode(table)


def new_rows(estimator: Any, X: Any) -> Any:
    """Return new rows as an array of numbers, checked against the columns of the fit."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None:
        return np.ascontiguousarray(encoder.transform(X))
    if hasattr(estimator, "medians_") and on_host(place_of(X, None)):
        X = filled(X, estimator.medians_)
    return checked(estimator, X, reset=False)


def as_host(values: Any) -> Any:
    """Return values, or their copy on the host if they are on a device."""
    return values if on_host(place_of(values, None)) else to_host(values)


def like_input(values: Array, X: Any) -> Any:
    """Return results as arrays of the library that the rows came in, on their device."""
    place = place_of(X, None)
    return values if on_host(place) or values.dtype.kind not in "fiub" else beside(values, place)


def gather(
    estimator: Any, spec: Spec, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> Rows:
    """Return checked rows, in memory or in parts; store what scikit-learn wants known of X."""
    if "dask" in sys.modules and is_partitioned(X):
        if groups is not None:
            raise TypeError("groups must be None for a Dask collection. Use X.compute().")
        return _parted(estimator, spec, X, y, sample_weight)
    place, sample_weight = workplace(estimator, X), as_host(sample_weight)
    y = plain_targets(as_host(y))
    refuse_masked(y, "y")
    refuse_bad_targets(y, numeric=not spec.labelled)
    X, y = checked(estimator, X, y=y, y_numeric=not spec.labelled, ensure_min_samples=2)
    weights = row_weights(sample_weight, X.shape[0])
    names = column_names(estimator)
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None:  # what is known of X is of the table that came in
        own = getattr(encoder, "feature_names_in_", None)
        remember_columns(estimator, encoder.n_features_in_, own)
    elif estimator.takes_tables and not sparse.issparse(X) and not pairwise(estimator):
        used = np.flatnonzero(weights > 0)
        some = used[:: 1 + len(used) // MEDIAN_ROWS]
        estimator.medians_ = weighted_median(X[some], weights[some])
    low, high = ranges(X)
    refuse_large(low, high, names)
    if spec.scales:
        refuse_faint(low, high, names)
    classes, centre = np.empty(0), 0.0
    if spec.labelled:
        classes, targets = _coded(y, weights)
    else:
        targets = np.asarray(y, dtype=float)[:, None]
        # An intercept absorbs the mean; without it the arithmetic keeps more digits. It is added up
        # in the order of values, whatever that of the rows and however they are repeated.
        order = np.lexsort((weights, targets[:, 0]))
        order = order[weights[order] > 0]
        values, places = np.unique(targets[order, 0], return_inverse=True)
        total = np.bincount(places, weights[order])
        with np.errstate(over="ignore"):
            centre = float(np.sum(total * values) / total.sum()) if spec.intercept else 0.0
            if spec.intercept and np.ptp(targets) == 0:
                centre = float(targets[0, 0])  # the mean of equal numbers may differ from them
        refuse_target_size(targets, centre)
        if not depends_on_errors(spec.loss, targets, centre):
            centre = 0.0
        targets = targets - centre
    refuse_unsound(spec.loss, targets)
    own = None if groups is None else group_numbers(groups, len(targets))
    ordered = isinstance(getattr(estimator, "cv", None), TimeSeriesSplit)
    about = (classes, names, centre, place, pairwise(estimator), own, ordered)
    return MemoryRows(X, targets, weights, *about)


def plain_targets(y: Any) -> Any:
    """Return targets of nullable types, such as Int64, as NumPy has them; others as they are.

    So it is with numbers and truth values that are objects, as where gaps have been dropped.
    """
    if isinstance(y, np.ndarray | pd.Series) and y.dtype.kind == "O" and y.ndim == 1:
        return unboxed(np.asarray(y))
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or kind.kind not in "biuf" or y.isna().any():
        return y
    return np.asarray(y, dtype=kind)


def group_numbers(groups: Any, count: int) -> Array:
    """Return the number of the group of each row, or say what is wrong with groups."""
    refuse_masked(groups, "groups")
    values = np.asarray(as_host(groups))
    if values.shape != (count,):
        raise ValueError(
            f"groups must have an entry for each of the {count} rows; got the shape "
            f"{values.shape}. Give one column."
        )
    numbers, names = pd.factorize(values)
    if np.any(numbers < 0):
        raise ValueError(
            f"groups must have no missing values; got {np.count_nonzero(numbers < 0)}. Drop these "
            "rows, or give each a group of its own."
        )
    if len(names) < 2:
        raise ValueError(
            f"groups must be at least two; got one, {str(names[0])!r}. Leave groups out to "
            "validate on rows drawn at random."
        )
    return numbers


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns of numbers of the fit, x0, x1, .. where X had none."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None:
        return list(encoder.get_feature_names_out().tolist())
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return list(names.tolist())


def _coded(y: Array, weights: Array) -> tuple[Array, Array]:
    """Return the classes, and a column of -1 and +1 for each (one for two classes)."""
    try:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except (TypeError, ValueError) as error:
        kinds = sorted({type(label).__name__ for label in np.asarray(y).tolist()})
        if isinstance(error, ValueError) and len(kinds) == 1:
            raise
        raise ValueError(
            f"y must have labels of one kind, so that they have an order; got {', '.join(kinds)}. "
            "Use for instance y.astype(str)."
        ) from None
    present = np.unique(codes[weights > 0])
    if len(present) < 2:
        raise ValueError(
            "y must have at least two classes with positive weight; got one class, "
            f"{classes[present[0]]!r}. Check the target column or the split."
        )
    return classes, class_targets(codes, len(classes))


def _parted(estimator: Any, spec: Spec, X: Any, y: Any, sample_weight: Any) -> PartedRows:
    for name, values in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        refuse_no_rows(values, name)
    if not getattr(estimator, "takes_parts", False):
        raise TypeError(
            f"X must be in memory for {type(estimator).__name__}; got a Dask collection. Use "
            "X.compute(), or MKLRegressor or MKLClassifier."
        )
    if uses_widths(spec.kernels):
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
    if twice := repeated_name(names):
        raise ValueError(twice)
    named = bool(names) and all(isinstance(name, str) for name in names)
    remember_columns(estimator, int(X.shape[1]), names if named else None)
    return PartedRows(parts_of(X, y, sample_weight), column_names(estimator), spec.labelled)


def remember_columns(estimator: Any, count: int, names: Sequence[str] | None) -> None:
    """Store the number of columns and their names, if they have any, as scikit-learn does."""
    estimator.n_features_in_ = count
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


@contextmanager
def fitted_anew(estimator: Any) -> Iterator[None]:
    """Take away what an earlier fit found; give it back if this one fails or is interrupted.

    What a subclass stored before it called this fit stays.
    """
    before = dict(vars(estimator))
    for name in before.get("_found", ()):
        vars(estimator).pop(name, None)
    others = set(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    vars(estimator)["_found"] = tuple(sorted(set(vars(estimator)) - others))
