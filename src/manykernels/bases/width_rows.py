"""Rows for kernels of columns whose widths are free: nothing is held but the columns."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array
from ..backend import beside, double, filled, namespace, on_host, take
from ..limits import DEVICE_BLOCK_BYTES, HOST_BLOCK_BYTES

SHAPES = ("gaussian", "laplace", "radial")
"""Shapes of kernels: products of exp(-s t^2), products of exp(-s t), exp(-sqrt(sum s t^2)), where
t is how far apart two values of a column are and s the column's width."""

WidthKernel = tuple[str, tuple[int, ...], tuple[float, ...]]
"""A kernel with widths: its shape, the numbers of its columns, ascending, and a width for each."""


class WidthRows:
    r"""Scaled columns, from which kernels of any widths are made.

    A kernel is a shape, a set S of columns and a width :math:`s_j > 0` for each:
    :math:`\prod_{j \in S} e^{-s_j t_j^2}` (Gaussian), :math:`\prod_{j \in S} e^{-s_j t_j}`
    (Laplace) or :math:`\exp(-(\sum_{j \in S} s_j t_j^2)^{1/2})` (radial), with
    :math:`t_j = |x_j - x'_j|`, and 1 for two different values of a category. The larger a
    width, the faster the kernel falls: a *wide* s is a narrow bump.

    Parameters
    ----------
    values : array of shape (n, r)
        Scaled columns; numbers of categories from 0, and -1 for all that were not seen in
        training, which differ from those that were.
    categories : dict of int to int, default={}
        Columns that are categories, and how many categories they have.
    """

    explicit = single = False
    matrix = property(attrgetter("values"), doc="What is held: the columns.")

    def __init__(self, values: Array, categories: Mapping[int, int] | None = None) -> None:
        self.values = values
        self.categories = dict(categories or {})

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.values.shape[0])

    @property
    def count(self) -> int:
        """Number of columns r."""
        return int(self.values.shape[1])

    def without_rows(self) -> WidthRows:
        """Return the rows as they are: functions of such kernels need their training rows."""
        return self

    def take(self, rows: Array) -> WidthRows:
        """Return some of the rows."""
        return WidthRows(take(self.values, rows, axis=0), self.categories)

    def distances(self, j: int, power: int, other: WidthRows | None = None) -> Array:
        """Return how far apart values of a column are, to a power, of shape (n, m)."""
        there = self if other is None else other
        left, right = self.values[:, j], there.values[:, j]
        if j in self.categories:
            xp = namespace(left)
            return xp.astype(left[:, None] != right[None, :], xp.float64)
        return namespace(left).abs(left[:, None] - right[None, :]) ** power

    def kernel(self, kernel: WidthKernel, other: WidthRows | None = None, bits: int = 64) -> Array:
        """Return the matrix of a kernel, by default between own rows; O(n m |S|).

        Distances are made in double precision, values in that of ``bits``, some rows at a time.
        """
        there = self if other is None else other
        out = filled(1.0, (self.rows, there.rows), self.values, bits)
        shape, columns, _ = kernel
        if not columns:
            return out
        xp = namespace(out)
        left, right = self._coordinates(kernel), there._coordinates(kernel)
        squares = xp.sum(right**2, axis=1)
        room = HOST_BLOCK_BYTES if on_host(out) else DEVICE_BLOCK_BYTES
        height = max(1, room // (8 * max(1, there.rows)))
        for start in range(0, self.rows, height):
            rows = slice(start, start + height)
            own = left[rows, :]
            if shape == "laplace":
                apart = self._sums_of_distances(kernel, there, rows)
            else:
                apart = xp.sum(own**2, axis=1)[:, None] + squares[None, :] - 2 * own @ right.T
                apart = xp.clip(apart, 0.0, None)
                apart = xp.sqrt(apart) if shape == "radial" else apart
            out[rows, :] = xp.exp(xp.astype(-apart, out.dtype, copy=False))
        if other is None and shape == "radial":  # the root of rounding is none of zero
            indices = beside(np.arange(self.rows), self.values)
            out[indices, indices] = 1.0
        return out

    def _sums_of_distances(self, kernel: WidthKernel, there: WidthRows, rows: slice) -> Array:
        part = WidthRows(self.values[rows, :], self.categories)
        _, columns, widths = kernel
        found = dict(zip(columns, widths, strict=True))
        total = filled(0.0, (part.rows, there.rows), self.values)
        plain = [j for j in columns if j not in self.categories]
        if on_host(self.values) and plain:  # one pass instead of four a column
            scales = np.array([found.pop(j) for j in plain])
            total = cdist(
                part.values[:, plain] * scales, there.values[:, plain] * scales, "cityblock"
            )
        for j, s in found.items():
            total += s * part.distances(j, 1, there)
        return total

    def _coordinates(self, kernel: WidthKernel) -> Array:
        """Return points whose squared distances are the sums of widths times squared distances."""
        _, columns, widths = kernel
        xp, parts = namespace(self.values), []
        for j, width in zip(columns, widths, strict=True):
            column = double(self.values[:, j])
            if j in self.categories:
                codes = np.arange(-1, self.categories[j])
                known = xp.astype(column[:, None] == beside(codes, column)[None, :], xp.float64)
                parts.append(known * np.sqrt(width / 2))
            else:
                parts.append(column[:, None] * np.sqrt(width))
        return xp.concat(parts, axis=1)
