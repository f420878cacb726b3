"""Means and products of columns, added up part by part, and the few rows that have the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array


@dataclass(frozen=True)
class Moments:
    """Weighted means of columns, and inner products of the columns less their means.

    Sums of two are those of all their rows, without the loss of digits of sums of raw squares.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    mean : ndarray of shape (m,)
        Means.
    products : ndarray of shape (m, m)
        Weighted inner products of the centred columns.
    """

    weight: float
    mean: Array
    products: Array

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        if not weight > 0:
            return self
        shift = other.mean - self.mean
        share = other.weight / weight
        return Moments(
            weight,
            self.mean + share * shift,
            self.products + other.products + self.weight * share * np.outer(shift, shift),
        )


def moments_of(columns: Array, weights: Array) -> Moments:
    """Return the moments of columns of shape (n, m); O(n m^2)."""
    weight = float(weights.sum())
    if not weight > 0:
        nothing = np.zeros(columns.shape[1])
        return Moments(0.0, nothing, np.outer(nothing, nothing))
    # Around the mean of a few rows first: the mean of all is then known to the last digit.
    rough = columns[:64].mean(axis=0)
    mean = rough + (weights @ (columns - rough)) / weight
    centred = (columns - mean) * np.sqrt(weights)[:, None]
    return Moments(weight, mean, centred.T @ centred)


def compressed(moments: Moments, centred: bool) -> Array:
    """Return as few rows as there are columns, of weight one, with the same (centred) products.

    Least squares on these rows, where ``centred`` without a constant, is least squares on all.
    Divided by the total weight. O(m^3).
    """
    products = moments.products / moments.weight
    if not centred:
        products = products + np.outer(moments.mean, moments.mean)
    # Columns of unit size: small ones keep their digits.
    sizes = np.sqrt(np.diag(products))
    sizes = np.where(sizes > 0, sizes, 1.0)
    values, axes = np.linalg.eigh(products / np.outer(sizes, sizes))
    return np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T * sizes
