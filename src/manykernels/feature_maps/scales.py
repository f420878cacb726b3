"""Scales of columns, half of values and half of ranks: many columns at once."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

RANK_SHARES = np.linspace(0, 1, 33)
"""Shares of the rows at whose quantiles a column's ranks are looked up; between them they are
interpolated. Set by judgement, not measured."""


def even_scale(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return points of a column and where they lie on a scale from 0 to 1; see ``even_scales``."""
    return even_scales(x[None], weights)[0]


def even_scales(x: Array, weights: Array) -> list[tuple[Array, Array]]:
    """Return points of columns, each a row of ``x``, and where they lie on a scale from 0 to 1.

    A value lies half way between its place in the column's range and its rank: rows that are close
    to each other in a long tail are told apart, and so are rows in a crowd that an outlier presses
    together. Values between points lie between their places in proportion.
    """
    crowded, ranks = tied_ranks(x, weights, RANK_SHARES)
    even = crowded[:, :1] + (crowded[:, -1:] - crowded[:, :1]) * RANK_SHARES
    even[:, -1] = crowded[:, -1]
    points = np.concatenate([crowded, even], axis=1)
    order = np.argsort(points, axis=1, kind="stable")
    points = np.take_along_axis(points, order, axis=1)
    # The quantile at or before each point, which is the point itself where they are tied.
    before = np.cumsum(order < len(RANK_SHARES), axis=1) - 1
    after = np.minimum(before + 1, len(RANK_SHARES) - 1)
    rows = np.arange(len(x))[:, None]
    low, rise = crowded[rows, before], crowded[rows, after] - crowded[rows, before]
    way = (points - low) / np.where(rise > 0, rise, 1.0)
    between = ranks[rows, before] + way * (ranks[rows, after] - ranks[rows, before])
    places = np.zeros(points.shape)
    for values in (points, between):
        reach = values[:, -1:] - values[:, :1]
        places += (values - values[:, :1]) / np.where(reach == 0, 1.0, reach)
    new = differ(points)
    return [(p[own], q[own] / 2) for p, q, own in zip(points, places, new, strict=True)]


def ranks_of(x: Array, weights: Array, shares: Array) -> tuple[Array, Array]:
    """Return the distinct quantiles of a column at given shares of the rows, and their ranks."""
    points, ranks = tied_ranks(x[None], weights, shares)
    new = differ(points)
    return points[new], ranks[new]


def tied_ranks(x: Array, weights: Array, shares: Array) -> tuple[Array, Array]:
    """Return quantiles of columns, each a row of ``x``, at shares of the rows, and their ranks.

    Many quantiles at one value: all of them have the rank in their middle.
    """
    points = quantiles(x, weights, shares)
    groups = np.cumsum(differ(points).ravel()) - 1
    middles = np.bincount(groups, np.tile(shares, len(x))) / np.bincount(groups)
    return points, middles[groups].reshape(points.shape)


def quantiles(x: Array, weights: Array, shares: Array) -> Array:
    """Return the middle of the values with at least given shares of the weights on either side.

    Columns are the rows of ``x``. Repeated rows and weighted ones give the same, and so do x and
    -x.
    """
    sides = []
    for values, wanted in ((x, shares), (-x, 1 - shares)):
        order = np.argsort(values, axis=1, kind="stable")
        reached = np.cumsum(weights[order], axis=1)
        # Rounding must not move a share that falls on the edge between two values.
        least = wanted * reached[:, -1:] - 1e-12
        found = map(np.searchsorted, reached, least)
        places = np.minimum(np.stack(list(found)), x.shape[1] - 1)
        places = np.take_along_axis(order, places, axis=1)
        sides.append(np.take_along_axis(values, places, axis=1))
    return np.asarray((sides[0] - sides[1]) / 2)


def differ(ordered: Array) -> Array:
    """Tell which entries of each ordered row differ from the one before them; the first does."""
    new = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    return new
