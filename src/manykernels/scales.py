"""Scales that columns are measured on: half their own values, half their ranks."""

from __future__ import annotations

import numpy as np

from .arrays import Array

RANK_SHARES = np.linspace(0, 1, 33)
"""Shares of the rows at whose quantiles a column's ranks are looked up; between them they are
interpolated. Set by judgement, not measured."""


def even_scale(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return points of a column and where they lie on a scale from 0 to 1.

    A value lies half way between its place in the column's range and its rank: rows that are close
    to each other in a long tail are told apart, and so are rows in a crowd that an outlier presses
    together. Values between points lie between their places in proportion.
    """
    steps = quantiles(x, weights, RANK_SHARES)
    crowded, inverse = np.unique(steps, return_inverse=True)
    # Many steps at one value: it lies in their middle.
    ranks = np.bincount(inverse, RANK_SHARES) / np.bincount(inverse)
    low, high = crowded[0], crowded[-1]
    points = np.union1d(crowded, np.linspace(low, high, len(RANK_SHARES)))
    places = _from_0_to_1(points) + _from_0_to_1(np.interp(points, crowded, ranks))
    return points, places / 2


def _from_0_to_1(values: Array) -> Array:
    return np.asarray((values - values[0]) / ((values[-1] - values[0]) or 1.0))


def quantiles(x: Array, weights: Array, shares: Array) -> Array:
    """Return the middle of the values with at least given shares of the weights on either side.

    Repeated rows and weighted ones give the same, and so do x and -x.
    """
    return (_lower(x, weights, shares) - _lower(-x, weights, 1 - shares)) / 2


def _lower(x: Array, weights: Array, shares: Array) -> Array:
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weights[order])
    # Rounding must not move a share that falls on the edge between two values.
    places = np.searchsorted(reached, shares * reached[-1] - 1e-12)
    return np.asarray(x[order][np.minimum(places, len(x) - 1)])
