"""Medians of rows with weights."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def weighted_median(values: Array, weights: Array) -> Array:
    """Return the median of values, or of each column, of rows that count as their weights say.

    For whole weights it is that of rows repeated so often; only ratios of weights matter. Weights
    are positive.
    """
    if np.all(weights == weights[0]):
        return np.asarray(np.median(values, axis=0))
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    shares = np.cumsum(weights[order], axis=0)
    shares = shares / shares[-1]
    rounding = len(values) * np.finfo(float).eps  # of the sums
    ends = [np.argmax(shares >= 0.5 - rounding, axis=0), np.argmax(shares > 0.5 + rounding, axis=0)]
    low, high = (np.take_along_axis(ordered, end[None], axis=0)[0] for end in ends)
    return np.asarray((low + high) / 2)
