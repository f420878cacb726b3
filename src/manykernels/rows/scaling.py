"""How columns are standardised: as scikit-learn does it, but for columns that are constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.preprocessing._data import _is_constant_feature

from ..arrays import Array
from ..inputs import constant_columns, ranges


def fitted_scaler(rows: Any, weights: Array, centres: bool) -> StandardScaler:
    """Return the scaler of rows with sample weights that add up to one."""
    scaler = StandardScaler(with_mean=centres)
    with np.errstate(invalid="ignore"):  # variances of constants may be below zero by rounding
        scaler.fit(rows, sample_weight=weights * len(weights))
    if centres:
        low, high = ranges(rows)
        doubtful = _is_constant_feature(scaler.var_, scaler.mean_, len(weights))
        for j in np.flatnonzero(doubtful & ~constant_columns(low, high)).tolist():
            # Its spread is small beside its mean, but more than rounding.
            centred = rows[:, j] - low[j]
            mean = float(weights @ centred)
            scaler.mean_[j] = low[j] + mean
            scaler.scale_[j] = float(np.sqrt(weights @ (centred - mean) ** 2))
        settle(scaler, low, high)
    return scaler


def settle(scaler: StandardScaler, low: Array, high: Array) -> None:
    """Let constant columns become zeros when they are centred.

    The mean of equal numbers is not that number in floating point, and what is left of a column of
    1e30 is as large as 1e14. Where the values differ, by rounding, their scale is infinite.
    """
    constant = constant_columns(low, high)
    scaler.mean_ = np.where(constant, low, scaler.mean_)
    scaler.var_ = np.where(constant, 0.0, scaler.var_)
    rough = constant & (low != high)
    scaler.scale_ = np.where(rough, np.inf, np.where(constant, 1.0, scaler.scale_))
