"""Columns that go together: for them the product of the marginals is not the law of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from ...arrays import Array

HIGH_CORRELATION = 0.7
"""Absolute correlation above which shares are to be read with care. With an additive truth and a
correlation of 0.95 a pair got a share of 0.18."""


def correlated(
    values: Array, weights: Array, columns: Sequence[int]
) -> list[tuple[int, int, float]]:
    """Return pairs of columns of high correlation, the highest first; O(n r^2).

    Parameters
    ----------
    values : ndarray of shape (n, r)
        Rows.
    weights : ndarray of shape (n,)
        Their weights, which add up to one.
    columns : sequence of int
        The columns to compare.

    Returns
    -------
    list of (int, int, float)
        Two columns and Pearson's correlation of their values or of their ranks (Spearman's),
        whichever is larger in size.
    """
    own = values[:, list(columns)]
    plain, ranks = (_correlation(each, weights) for each in (own, rankdata(own, axis=0)))
    larger = np.where(np.abs(plain) >= np.abs(ranks), plain, ranks)
    pairs = zip(*np.nonzero(np.triu(np.abs(larger) > HIGH_CORRELATION, 1)), strict=True)
    found = [(columns[a], columns[b], float(larger[a, b])) for a, b in pairs]
    return sorted(found, key=lambda pair: -abs(pair[2]))


def _correlation(values: Array, weights: Array) -> Array:
    centred = values - weights @ values
    sizes = np.sqrt(weights @ centred**2)
    scaled = centred / np.where(sizes > 0, sizes, np.inf)
    return (weights[:, None] * scaled).T @ scaled
