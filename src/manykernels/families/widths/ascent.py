"""The score of a kernel with free widths, and its gradient in the logarithms of the widths."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...backend import add_to_diagonal, beside, namespace, to_host
from ...bases import WidthKernel, WidthRows

SMALLEST_ROOT = 1e-12
"""Exponent of the radial shape below which two rows are one: their part of the gradient is at most
as large. Far below the rounding error of such exponents, some 1e-8."""


def score_and_gradient(rows: WidthRows, alpha: Array, kernel: WidthKernel) -> tuple[float, Array]:
    r"""Return :math:`\alpha^\top K \alpha` and its derivatives in the logarithms of the widths.

    With :math:`W = \alpha\alpha^\top \odot K` the derivative in :math:`\ln s_j` is
    :math:`-s_j \langle W, t_j^2 \rangle` (Gaussian), :math:`-s_j \langle W, t_j \rangle` (Laplace)
    or :math:`-\frac{s_j}{2} \langle W / \sqrt u, t_j^2 \rangle` with :math:`K = e^{-\sqrt u}`
    (radial). O(n^2 |S|), by matrix products but for the Laplace shape, in memory O(n^2).

    Parameters
    ----------
    rows : WidthRows
        The n rows, wherever they are.
    alpha : array of shape (n, c)
        Dual variables of c outputs, whose scores are added up.
    kernel : WidthKernel
        Shape, columns and widths.

    Returns
    -------
    score : float
        The sum of the scores of all outputs.
    gradient : ndarray of shape (S,)
        Its derivative in the logarithm of each width.
    """
    shape, columns, widths = kernel
    matrix = rows.kernel(kernel)
    xp, vectors = namespace(matrix), beside(alpha, matrix)
    weights = (vectors @ vectors.T) * matrix
    score = float(xp.sum(weights))
    if shape == "radial":
        smallest = xp.finfo(matrix.dtype).smallest_normal
        roots = -xp.log(xp.clip(matrix, smallest, None))
        apart = roots > SMALLEST_ROOT
        weights = xp.where(apart, weights / (2 * xp.where(apart, roots, 1.0)), 0.0)
    parts = zip(columns, widths, strict=True)
    if shape == "laplace":
        slopes = [-s * float(xp.sum(weights * rows.distances(j, 1))) for j, s in parts]
    else:
        # A row is no distance from itself: without the diagonal no digits are lost to it.
        weights = add_to_diagonal(weights, -to_host(xp.linalg.diagonal(weights)))
        points = [rows.coordinates((shape, (j,), (s,))) for j, s in parts]
        slopes = [-_squared_distances(weights, part) for part in points]
    return score, np.array(slopes)


def _squared_distances(weights: Array, points: Array) -> float:
    """Return the weighted sum of squared distances of all pairs of points; O(n^2 d)."""
    xp = namespace(weights)
    points = points - xp.mean(points, axis=0)
    squares = xp.sum(weights, axis=1) @ xp.sum(points**2, axis=1)
    return 2 * float(squares - xp.sum(points * (weights @ points)))
