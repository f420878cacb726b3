r"""Scores :math:`\alpha^\top K_s\,\alpha` of kernels with widths s on some rows, and their slopes."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...bases import WidthRows

LEAST_ROOT = 1e-3
"""Distances below this count as this much in the slope of a radial kernel, which divides by them;
what they add to it is about as small. Set by judgement, not measured."""


class Scores:
    r"""The score of any kernel at one dual point, on the host in single precision.

    With W = :math:`\alpha\alpha^\top \odot K_s` the score is the sum of W, and its derivative in
    :math:`\ln s_j` is :math:`-s_j \langle W, t_j\rangle`, for radial kernels with W divided by
    twice the distance. For squared distances :math:`\langle W, t_j\rangle` needs only W X, a matrix
    product: O(n^2 r) for all columns. Laplace kernels need the distances of all pairs of rows in
    each column, n (n - 1) / 2 numbers a column, which are held; these columns can be limited.

    Parameters
    ----------
    rows : WidthRows
        The rows.
    alpha : ndarray of shape (n, c)
        The dual point on these rows.
    paired : ndarray of int
        Columns that Laplace kernels may have.
    """

    def __init__(self, rows: WidthRows, alpha: Array, paired: Array) -> None:
        values = to_host(rows.values)
        rows = WidthRows(values, rows.categories)
        every = ("gaussian", tuple(range(rows.count)), (1.0,) * rows.count)
        self.points = rows.coordinates(every).astype(np.float32)
        self.points -= self.points.mean(axis=0)
        self.owners = np.repeat(
            np.arange(rows.count), [1 + rows.categories.get(j, 0) for j in range(rows.count)]
        )
        self.count, self.paired = rows.count, paired
        self.outer = (alpha @ alpha.T).astype(np.float32)
        left, right = np.triu_indices(rows.rows, 1)
        self.pairs = np.empty((len(paired), len(left)), dtype=np.float32)
        for place, j in enumerate(paired.tolist()):
            a, b = values[left, j], values[right, j]
            self.pairs[place] = a != b if j in rows.categories else np.abs(a - b)
        self.outer_pairs = self.outer[left, right]
        self.trace = float(np.trace(self.outer))
        self.calls = 0

    def __call__(self, shape: str, widths: Array) -> tuple[float, Array]:
        """Return the score of widths of shape (r,), zero for columns left out, and its slopes."""
        self.calls += 1
        return self._of_pairs(widths) if shape == "laplace" else self._of_squares(shape, widths)

    def _of_pairs(self, widths: Array) -> tuple[float, Array]:
        apart = widths[self.paired].astype(np.float32) @ self.pairs
        np.negative(apart, out=apart)
        np.exp(apart, out=apart)
        apart *= self.outer_pairs
        slopes = np.zeros(self.count)
        slopes[self.paired] = -2 * widths[self.paired] * (self.pairs @ apart)
        return self.trace + 2 * float(apart.sum(dtype=float)), slopes

    def _of_squares(self, shape: str, widths: Array) -> tuple[float, Array]:
        used = widths[self.owners] > 0
        points = self.points if used.all() else self.points[:, used]
        scaled = points * np.sqrt(widths[self.owners][used]).astype(np.float32)
        sizes = np.einsum("ij,ij->i", scaled, scaled)
        ones = np.ones_like(sizes)
        left = np.column_stack([2 * scaled, -sizes, -ones])
        apart = left @ np.column_stack([scaled, ones, sizes]).T
        np.minimum(apart, 0.0, out=apart)
        np.fill_diagonal(apart, 0.0)
        if shape == "radial":
            roots = np.sqrt(np.negative(apart, out=apart), out=apart)
            kernel = np.exp(-roots)
            kernel *= self.outer
            total = float(kernel.sum(dtype=float))
            np.maximum(roots, LEAST_ROOT, out=roots)
            kernel /= roots
            kernel *= 0.5
        else:
            kernel = np.exp(apart, out=apart)
            kernel *= self.outer
            total = float(kernel.sum(dtype=float))
        own = kernel.sum(axis=1) @ points**2
        cross = np.einsum("ij,ij->j", points, kernel @ points)
        sums = np.bincount(self.owners[used], own - cross, minlength=self.count)
        return total, -2 * widths * sums
