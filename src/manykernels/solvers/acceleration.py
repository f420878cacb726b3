"""Anderson acceleration of fixed-point iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array

RIDGE_SHARE = 1e-10
"""What is added to the diagonal of the least-squares problem, as a share of its trace, so that
updates that repeat each other do not make it singular. Set by judgement, not measured."""


def extrapolation(residuals: Array, metric: Array | float = 1.0) -> Array:
    """Return the shares of updates, adding up to one, whose residuals cancel best (Anderson).

    ``residuals``, of shape (k, m), are what k >= 2 updates changed, the last one last; ``metric``
    is what their coordinates are multiplied by before sizes are compared.
    """
    changes = (residuals[-1] - residuals[:-1]) * metric
    square = changes @ changes.T
    square[np.diag_indices_from(square)] += RIDGE_SHARE * np.trace(square) + np.finfo(float).tiny
    share = np.linalg.solve(square, changes @ (residuals[-1] * metric))
    return np.append(share, 1 - share.sum())


def accelerated(past: Sequence[tuple[Array, Array]], metric: Array) -> Array:
    """Return that combination of past updates; each is what it led to, and what it changed."""
    values, residuals = (np.stack(part) for part in zip(*past, strict=True))
    share = extrapolation(residuals, metric)[:-1]
    return values[-1] - share @ (values[-1] - values[:-1])
