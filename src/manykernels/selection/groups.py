"""Terms that the rows cannot tell apart, as one group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array


def correlations(features: Sequence[Array], weights: Array) -> Array:
    r"""Return how much terms go together, between 0 and 1, of shape (terms, terms).

    For terms of one feature the size of their correlation. For others the alignment of their
    kernels, which generalises it:
    :math:`\|\Phi_a^\top\Phi_b\|_F/\sqrt{\|\Phi_a^\top\Phi_a\|_F\|\Phi_b^\top\Phi_b\|_F}`, features
    centred. (The largest canonical correlation is near 1 for any two terms of many features.)

    Parameters
    ----------
    features : sequence of ndarray of shape (n, m_i)
        The features of each term.
    weights : ndarray of shape (n,)
        Weights of the rows, adding up to one.

    Notes
    -----
    O(n m^2) for m features altogether.
    """
    if not features:
        return np.empty((0, 0))
    together = np.hstack(list(features))
    together = (together - weights @ together) * np.sqrt(weights)[:, None]
    starts = np.cumsum([0, *(part.shape[1] for part in features[:-1])])
    squares = (together.T @ together) ** 2
    sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    sizes = np.sqrt(np.sqrt(sums.diagonal()))
    scale = np.where(sizes > 0, sizes, np.inf)
    out = np.minimum(1.0, np.sqrt(sums) / scale[:, None] / scale)
    np.fill_diagonal(out, 1.0)
    return out


def in_groups(alike: Array, selected: Array, limit: float) -> list[list[int]]:
    """Put terms that go together in groups around a term in the middle.

    The likes of a term are those with a correlation of ``limit`` or more with it. The first term of
    a group is the one that was selected most often, by itself and with its likes (the sum of both
    counts); these are the group. Then the same for the terms that are left. So no chain of
    neighbours makes one group of terms that have nothing in common.

    Parameters
    ----------
    alike : ndarray of shape (terms, terms)
        Correlations.
    selected : ndarray of bool of shape (sets of rows, terms)
        Which terms were selected.
    limit : float
        Least correlation with the first term of the group.

    Returns
    -------
    list of list of int
        Numbers of the terms of each group, the first one first, then by falling correlation.
    """
    near = alike >= limit
    own = selected.sum(axis=0)
    free = near.sum(axis=0) > 1
    groups = [[term] for term in np.flatnonzero(~free).tolist()]
    while free.any():
        left = np.flatnonzero(free)
        likes = selected[:, left].astype(np.float32) @ near[np.ix_(left, left)].astype(np.float32)
        counts = (likes > 0).sum(axis=0) + own[left]
        middle = int(left[np.lexsort((left, -counts))[0]])
        members = np.flatnonzero(free & near[middle])
        members = members[np.lexsort((members, -alike[middle, members], members != middle))]
        groups.append(members.tolist())
        free[members] = False
    return groups
