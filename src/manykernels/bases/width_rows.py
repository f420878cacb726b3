"""Rows for kernels of columns whose widths are free: nothing is held but the columns."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array
from ..backend import beside, double, filled, namespace, on_host, take, to_host
from ..deadline import check
from ..limits import DEVICE_BLOCK_BYTES, HOST_BLOCK_BYTES
from .term_rows import TermRows

SHAPES = ("gaussian", "laplace", "radial")
"""Shapes of kernels: products of exp(-s t^2), products of exp(-s t), exp(-sqrt(sum s t^2)), where
t is how far apart two values of a column are and s the column's width."""

WidthKernel = tuple[str, tuple[int, ...], tuple[float, ...]]
"""A kernel with widths: its shape, the numbers of its columns, ascending, and a width for each."""


TERMS: WidthKernel = ("terms", (), ())
"""The kernel of the spline terms beside kernels with widths: their weighted sum."""


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
    terms : TermRows, optional
        The same rows for spline terms, whose weighted sum is the kernel ``TERMS``.
    """

    explicit = single = False
    matrix = property(attrgetter("values"), doc="What is held: the columns.")
    terms: TermRows | None = None  # files of models without them lack it

    def __init__(
        self,
        values: Array,
        categories: Mapping[int, int] | None = None,
        terms: TermRows | None = None,
    ) -> None:
        self.values, self.terms = values, terms
        self._category_counts = tuple((categories or {}).items())  # as model files can hold it

    @property
    def categories(self) -> dict[int, int]:
        """Columns that are categories, and how many categories they have."""
        return dict(self._category_counts)

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.values.shape[0])

    @property
    def count(self) -> int:
        """Number of columns r."""
        return int(self.values.shape[1])

    def without_rows(self) -> WidthRows:
        """Return what functions of such kernels need of their training rows: not the terms."""
        return self if self.terms is None else WidthRows(self.values, self.categories)

    def next_to(self, other: WidthRows) -> WidthRows:
        """Return the rows where others are: on the host, or on their device."""
        if on_host(self.values) == on_host(other.values):
            return self
        here = on_host(other.values)
        values = to_host(self.values) if here else beside(self.values, other.values)
        return WidthRows(values, self.categories, self.terms)

    def take(self, rows: Array) -> WidthRows:
        """Return some of the rows."""
        terms = None if self.terms is None else self.terms.take(rows)
        return WidthRows(take(self.values, rows, axis=0), self.categories, terms)

    def distances(self, j: int, power: int, other: WidthRows | None = None) -> Array:
        """Return how far apart values of a column are, to a power, of shape (n, m)."""
        there = self if other is None else other
        left, right = self.values[:, j], there.values[:, j]
        if j in self.categories:
            xp = namespace(left)
            return xp.astype(left[:, None] != right[None, :], xp.float64)
        return namespace(left).abs(left[:, None] - right[None, :]) ** power

    def kernel(self, kernel: WidthKernel, other: WidthRows | None = None, bits: int = 64) -> Array:
        """Return the matrix of a kernel, by default between own rows; O(n m d) for d columns.

        Distances are made in double precision, values in that of ``bits``, some rows at a time.
        """
        there = self if other is None else other
        if kernel == TERMS:
            assert self.terms is not None
            assert there.terms is not None
            return self.terms.kernel(there.terms, bits)
        out = filled(1.0, (self.rows, there.rows), self.values, bits)
        shape, columns, _ = kernel
        if not columns:
            return out
        xp = namespace(out)
        left, right = self.coordinates(kernel), there.coordinates(kernel)
        if shape != "laplace":
            left, right = squared_factors(left, right)
        room = HOST_BLOCK_BYTES if on_host(out) else DEVICE_BLOCK_BYTES
        height = max(1, room // (8 * max(1, there.rows)))
        for start in range(0, self.rows, height):
            check()
            rows = slice(start, min(start + height, self.rows))
            if shape == "laplace":
                apart = -sums_of_differences(left[rows, :], right)
            else:
                apart = left[rows, :] @ right
            apart = xp.clip(xp.astype(apart, out.dtype, copy=False), None, 0.0)
            apart = -xp.sqrt(-apart) if shape == "radial" else apart
            out[rows, :] = xp.exp(apart)
        if other is None and shape == "radial":  # the root of rounding is none of zero
            indices = beside(np.arange(self.rows), self.values)
            out[indices, indices] = 1.0
        return out

    def coordinates(self, kernel: WidthKernel) -> Array:
        """Return points whose distances are the sums of widths times those in the columns.

        Laplace kernels: sums of absolute differences; others: squared distances.
        """
        shape, columns, widths = kernel
        power = 1.0 if shape == "laplace" else 0.5
        xp, parts = namespace(self.values), []
        for j, width in zip(columns, widths, strict=True):
            column = double(self.values[:, j])
            if j in self.categories:
                codes = np.arange(-1, self.categories[j])
                known = xp.astype(column[:, None] == beside(codes, column)[None, :], xp.float64)
                parts.append(known * (width / 2) ** power)
            else:
                parts.append(column[:, None] * width**power)
        return xp.concat(parts, axis=1)


def squared_factors(left: Array, right: Array) -> tuple[Array, Array]:
    """Return two matrices whose product is minus the squared distances of two sets of points."""
    xp = namespace(left)
    ones = [xp.ones_like(side[:, :1]) for side in (left, right)]
    sizes = [xp.sum(side**2, axis=1)[:, None] for side in (left, right)]
    before = xp.concat([2 * left, -sizes[0], -ones[0]], axis=1)
    return before, xp.concat([right, ones[1], sizes[1]], axis=1).T


def sums_of_differences(left: Array, right: Array) -> Array:
    """Return the sums of absolute differences of the coordinates of two sets of points."""
    if on_host(left):  # one pass instead of three for each coordinate
        return np.asarray(cdist(left, right, "cityblock"))
    total = filled(0.0, (left.shape[0], right.shape[0]), left)
    for j in range(left.shape[1]):
        total += namespace(left).abs(left[:, j][:, None] - right[:, j][None, :])
    return total
