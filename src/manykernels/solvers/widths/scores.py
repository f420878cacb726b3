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
    r"""The scores of any kernels at a dual point, on the host in single precision.

    With W = :math:`\alpha\alpha^\top \odot K_s` the score is the sum of W, and its derivative in
    :math:`\ln s_j` is :math:`-s_j \langle W, t_j\rangle`, for radial kernels with W divided by
    twice the distance. For squared distances :math:`\langle W, t_j\rangle` needs only W X, a matrix
    product: O(n^2 r) for all columns. Laplace kernels need the distances of all pairs of rows in
    each column, n (n - 1) / 2 numbers a column, which are held; these columns can be limited.

    Parameters
    ----------
    rows : WidthRows
        The rows.
    paired : ndarray of int
        Columns that Laplace kernels may have.
    """

    def __init__(self, rows: WidthRows, paired: Array) -> None:
        values = to_host(rows.values)
        rows = WidthRows(values, rows.categories)
        every = ("gaussian", tuple(range(rows.count)), (1.0,) * rows.count)
        self.points = rows.coordinates(every).astype(np.float32)
        self.points -= self.points.mean(axis=0)
        self.owners = np.repeat(
            np.arange(rows.count), [1 + rows.categories.get(j, 0) for j in range(rows.count)]
        )
        self.rows, self.count, self.paired = rows.rows, rows.count, paired
        self.above = np.triu(np.ones((self.rows, self.rows), dtype=bool), 1)
        left, right = np.nonzero(self.above)
        self.pairs = np.empty((len(paired), len(left)), dtype=np.float32)
        for place, j in enumerate(paired.tolist()):
            a, b = values[left, j], values[right, j]
            self.pairs[place] = a != b if j in rows.categories else np.abs(a - b)
        self.calls = 0

    def at(self, alpha: Array) -> None:
        """Set the dual point, of shape (n, c)."""
        self.outer = (alpha @ alpha.T).astype(np.float32)
        self.trace = float(np.trace(self.outer))
        self.outer_pairs = self.outer[self.above] if len(self.paired) else self.outer[:0]

    def __call__(self, shape: str, widths: Array) -> tuple[float, Array]:
        """Return the score of widths of shape (r,), zero for columns left out, and its slopes."""
        self.calls += 1
        return self._of_pairs(widths) if shape == "laplace" else self._of_squares(shape, widths)

    def kernel(self, shape: str, widths: Array) -> Array:
        """Return the kernel of given widths, of shape (n, n)."""
        if shape != "laplace":
            apart = self._squares(widths)
            apart = -np.sqrt(-apart) if shape == "radial" else apart
            return np.exp(apart, out=apart)
        out = np.zeros((self.rows, self.rows), dtype=np.float32)
        out[self.above] = self._falls(widths)
        out += out.T
        np.fill_diagonal(out, 1.0)
        return out

    def _falls(self, widths: Array) -> Array:
        """Return the values of a Laplace kernel for pairs of rows."""
        apart = -widths[self.paired].astype(np.float32) @ self.pairs
        return np.exp(apart, out=apart)

    def _of_pairs(self, widths: Array) -> tuple[float, Array]:
        weighted = self._falls(widths)
        weighted *= self.outer_pairs
        slopes = np.zeros(self.count)
        slopes[self.paired] = -2 * widths[self.paired] * (self.pairs @ weighted)
        return self.trace + 2 * float(weighted.sum(dtype=float)), slopes

    def _squares(self, widths: Array) -> Array:
        """Return the sums of widths times squared distances, with a minus."""
        scaled = self.points * np.sqrt(widths[self.owners]).astype(np.float32)
        sizes = np.einsum("ij,ij->i", scaled, scaled)
        ones = np.ones_like(sizes)
        left = np.column_stack([2 * scaled, -sizes, -ones])
        apart = left @ np.column_stack([scaled, ones, sizes]).T
        np.minimum(apart, 0.0, out=apart)
        np.fill_diagonal(apart, 0.0)
        return apart

    def _of_squares(self, shape: str, widths: Array) -> tuple[float, Array]:
        apart = self._squares(widths)
        if shape == "radial":
            roots = np.sqrt(np.negative(apart, out=apart), out=apart)
            weighted = np.exp(-roots)
        else:
            weighted = np.exp(apart, out=apart)
        weighted *= self.outer
        total = float(weighted.sum(dtype=float))
        if shape == "radial":
            weighted /= np.maximum(2 * roots, LEAST_ROOT)
        own = weighted.sum(axis=1) @ self.points**2
        cross = np.einsum("ij,ij->j", self.points, weighted @ self.points)
        sums = np.bincount(self.owners, own - cross, minlength=self.count)
        return total, -2 * widths * sums
