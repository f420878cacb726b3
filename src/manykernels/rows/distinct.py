"""Rows of the same values taken together: one row with their weights, in an order of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array


class Gathered(NamedTuple):
    """The rows that a fit is made to, and what became of those that were given.

    Attributes
    ----------
    first : ndarray of int
        A row of those given for each row of the fit.
    weights : ndarray
        Weights of the rows of the fit.
    owners : ndarray of int
        For each row given, the row of the fit that it is in; any for those of no weight.
    shares : ndarray
        For each row given, its share in the weight of that row; zero for those of no weight.
    copies : ndarray
        For each row of the fit, how many observations it is beyond one; see :func:`distinct`.
    """

    first: Array
    weights: Array
    owners: Array
    shares: Array
    copies: Array

    def take(self, rows: Array) -> Gathered:
        """Return some of the rows of the fit; the others have no part in it."""
        places = np.full(len(self.first), -1)
        places[rows] = np.arange(len(rows))
        owners = places[self.owners]
        shares = np.where(owners < 0, 0.0, self.shares)
        first, weights, copies = self.first[rows], self.weights[rows], self.copies[rows]
        return Gathered(first, weights, np.maximum(owners, 0), shares, copies)


def distinct(X: Any, y: Array, weights: Array) -> Gathered:
    """Return the rows of positive weight, those of the same values and targets as one.

    In an order that depends on their values alone, so that neither the order in which rows are
    given nor whether they are repeated or weighted makes any difference, not even in rounding. It
    is a mixed one: folds are cut from it.

    A row that is repeated tells no more of the noise than one of that weight: rows that were copied
    (a bootstrap sample) would else seem to have none. Where rows of the same values have different
    targets the noise is seen, and each copy of these is an observation of its own. Weights count
    copies where their mean over the distinct rows is one or more; smaller ones are brought to a
    mean of one.
    """
    live = np.flatnonzero(weights > 0)
    keys = (weights[live], *y[live].T[::-1], *X[live].T[::-1])  # the last is the first to count
    live = live[np.lexsort(keys)]
    apart = np.ones(len(live), dtype=bool)
    apart[1:] = np.any(X[live[1:]] != X[live[:-1]], axis=1)
    new = apart.copy()
    new[1:] |= np.any(y[live[1:]] != y[live[:-1]], axis=1)
    starts, kinds = np.flatnonzero(new), np.cumsum(new) - 1
    total = np.add.reduceat(weights[live], starts)
    owners, shares = np.zeros(len(weights), dtype=int), np.zeros(len(weights))
    owners[live], shares[live] = kinds, weights[live] / total[kinds]
    places = np.cumsum(apart[starts]) - 1  # rows of the same values have the same number
    noisy = np.bincount(places)[places] > 1
    counts = total * max(1.0, len(total) / total.sum())
    copies = np.where(noisy, np.maximum(counts - 1, 0.0), 0.0)
    mixed = np.random.default_rng(0).permutation(len(total))
    return Gathered(live[starts], total, owners, shares, copies).take(mixed)
