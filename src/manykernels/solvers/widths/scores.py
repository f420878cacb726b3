r"""Scores :math:`\alpha^\top K_s\alpha` of kernels with widths s on some rows, and slopes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...bases import WidthRows
from ...bases.width_rows import squared_factors

LEAST_ROOT = 1e-3
"""Distances below this count as this much in the slope of a radial kernel, which divides by them;
what they add to it is about as small. Set by judgement, not measured."""


LEAST_VALUE = 1e-37
"""Values of kernels below this count as this much in logarithms: about the least float32."""


class WidthScores:
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

    def at(self, alpha: Array, spread: float = 1.0) -> None:
        """Set the dual point, of shape (n, c).

        Where the rows are a sample, ``spread`` is how many more pairs there are to a row in all.
        """
        self.outer = (spread * alpha @ alpha.T).astype(np.float32)
        np.fill_diagonal(self.outer, np.sum(alpha**2, axis=1))
        self.outer_pairs = self.outer[self.above] if len(self.paired) else self.outer[:0]
        self.trace = float(np.sum(alpha**2))

    def __call__(self, shape: str, widths: Array) -> tuple[float, Array]:
        """Return the score of widths of shape (r,), zero for columns left out, and its slopes."""
        return self.scored(shape, widths, self.values(shape, widths))

    def values(self, shape: str, widths: Array) -> Array:
        """Return a kernel's values, of shape (n, n), or (n (n - 1) / 2,) for a Laplace kernel."""
        if shape == "laplace":
            apart = -widths[self.paired].astype(np.float32) @ self.pairs
            return np.exp(apart, out=apart)
        scaled = self.points * np.sqrt(widths[self.owners]).astype(np.float32)
        left, right = squared_factors(scaled, scaled)
        apart = left @ right
        np.minimum(apart, 0.0, out=apart)
        np.fill_diagonal(apart, 0.0)
        if shape == "radial":
            np.sqrt(np.negative(apart, out=apart), out=apart)
            np.negative(apart, out=apart)
        return np.exp(apart, out=apart)

    def scored(self, shape: str, widths: Array, values: Array) -> tuple[float, Array]:
        """Return the score of widths and its slopes from the kernel's values."""
        if shape == "laplace":
            weighted = values * self.outer_pairs
            slopes = np.zeros(self.count)
            slopes[self.paired] = -2 * widths[self.paired] * (self.pairs @ weighted)
            return self.trace + 2 * float(weighted.sum(dtype=float)), slopes
        weighted = values * self.outer
        total = float(weighted.sum(dtype=float))
        if shape == "radial":
            roots = np.maximum(values, LEAST_VALUE)
            np.log(roots, out=roots)
            roots *= -2
            weighted /= np.maximum(roots, LEAST_ROOT, out=roots)
            np.fill_diagonal(weighted, 0.0)  # no distance, and a large number to cancel
        own = weighted.sum(axis=1) @ self.points**2
        cross = np.einsum("ij,ij->j", self.points, weighted @ self.points)
        sums = np.bincount(self.owners, own - cross, minlength=self.count)
        return total, -2 * widths * sums

    def summed(self, shapes: Sequence[str], factors: Array, values: Sequence[Array]) -> Array:
        """Return the sum of kernels, given by their values, times factors; of shape (n, n)."""
        total = np.zeros((self.rows, self.rows))
        pairs = np.zeros(self.pairs.shape[1])
        for shape, factor, own in zip(shapes, factors.tolist(), values, strict=True):
            if shape == "laplace":
                pairs += factor * own
            else:
                total += factor * own
        if "laplace" in shapes:
            square = np.zeros_like(total)
            square[self.above] = pairs
            total += square
            total += square.T
            own = sum(f for f, shape in zip(factors, shapes, strict=True) if shape == "laplace")
            total[np.diag_indices_from(total)] += own
        return total
