r"""Scores :math:`\alpha^\top K_s\alpha` of kernels with widths s on some rows, and slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...bases import WidthRows
from ...bases.width_rows import SHAPES, WidthKernel, squared_factors
from ...deadline import check
from .threads import Together, one_by_one

LEAST_VALUE = 1e-37
"""Values of kernels below this count as this much in logarithms: about the least float32."""

PAIRED_COLUMNS = 48
"""Most columns whose distances are held for all pairs of rows, and so most columns of Laplace
kernels. Set by judgement: 192 MB for 1,000 rows."""

BLOCK_PAIRS = 1 << 16
"""Pairs of rows that are worked on at a time: with eight columns and sixteen kernels some 8 MB, of
the size of a cache. Set by judgement, not measured."""


@dataclass
class PairBlock:
    """Some pairs of rows.

    Attributes
    ----------
    pairs : slice
        Which pairs.
    far : ndarray of shape (columns, pairs) or None
        Distances in each column, or their squares, if they are held.
    outer : ndarray of shape (pairs,)
        Products of the dual variables of the two rows.
    """

    pairs: slice
    far: Array | None
    outer: Array


class WidthScores:
    r"""The scores of any kernels at a dual point, on the host.

    Kernels are kept as their values for the n (n - 1) / 2 pairs of rows. With w =
    :math:`\alpha_i\alpha_k K_s(i, k)` the score is :math:`\|\alpha\|^2` and twice the sum of w, and
    its derivative in :math:`\ln s_j` is :math:`-2 s_j \langle w, t_j\rangle`, t the distances in
    column j; for radial kernels with w divided by twice the root. Many kernels take two matrix
    products with the distances of all pairs of rows in each column, O(n^2 r), which are held if
    they fit in ``room``, and else made anew. Gaussian and radial kernels of more columns than those
    take products of the rows instead: :math:`\langle W, t_j\rangle` needs only W X. Laplace kernels
    cannot.

    Parameters
    ----------
    rows : WidthRows
        The rows.
    paired : ndarray of int
        Columns whose distances are used: those that Laplace kernels may have.
    dtype : numpy dtype
        Type of the numbers.
    shapes : sequence of str
        Shapes that kernels may have.
    room : float
        Bytes that distances may take.
    """

    def __init__(
        self,
        rows: WidthRows,
        paired: Array,
        dtype: Any = np.float32,
        shapes: Sequence[str] = SHAPES,
        room: float = np.inf,
    ) -> None:
        self.dtype = dtype
        self.scaled, self.categories = to_host(rows.values), rows.categories
        rows = WidthRows(self.scaled, rows.categories)
        every = ("gaussian", tuple(range(rows.count)), (1.0,) * rows.count)
        self.points = rows.coordinates(every).astype(self.dtype)
        self.points -= self.points.mean(axis=0)
        self.owners = np.repeat(
            np.arange(rows.count), [1 + rows.categories.get(j, 0) for j in range(rows.count)]
        )
        self.rows, self.count, self.paired = rows.rows, rows.count, paired
        # Roots of radial kernels, which slopes are divided by, are logarithms of values: smaller
        # ones are mostly rounding. What such pairs add to a slope is less than the root itself.
        self.least_root = float(np.sqrt(np.finfo(dtype).eps))
        left, right = np.triu_indices(self.rows, 1)
        self.places = left * self.rows + right
        self.unpaired = np.setdiff1d(np.arange(self.count), paired)
        total = max(len(left), 1)  # a single row has a part, too: without pairs
        parts = [slice(start, start + BLOCK_PAIRS) for start in range(0, total, BLOCK_PAIRS)]
        # Laplace kernels need distances, the others squares, which are made from those in no time.
        self.power = 1 if "laplace" in shapes else 2
        held = np.dtype(dtype).itemsize * len(paired) * len(left) <= room
        self.blocks = [
            PairBlock(
                part,
                self._made(part) if held else None,
                np.zeros(len(left[part]), dtype=dtype),
            )
            for part in parts
        ]

    def _made(self, pairs: slice) -> Array:
        """Return the distances of pairs of rows in each of the columns of pairs, or squares."""
        left, right = np.divmod(self.places[pairs], self.rows)
        far = np.empty((len(self.paired), len(left)), dtype=self.dtype)
        for place, j in enumerate(self.paired.tolist()):
            a, b = self.scaled[left, j], self.scaled[right, j]
            far[place] = a != b if j in self.categories else np.abs(a - b)
        return far if self.power == 1 else np.square(far, out=far)

    def _distances(self, block: PairBlock, power: int) -> Array:
        """Return the distances of a block to a power, held or made anew."""
        far = self._made(block.pairs) if block.far is None else block.far
        return far if power == self.power else np.square(far)

    def at(self, alpha: Array, spread: float = 1.0) -> None:
        """Set the dual point, of shape (n, c).

        Where the rows are a sample, ``spread`` is how many more pairs there are to a row in all.
        """
        self._weigh(spread * alpha @ alpha.T, float(np.sum(alpha**2)))

    def weighed_by(self, matrix: Array) -> None:
        r"""Let scores be :math:`\langle M, K\rangle` for a symmetric matrix M.

        Only its upper triangle is looked at.
        """
        self._weigh(matrix, float(np.trace(matrix)))

    def _weigh(self, matrix: Array, trace: float) -> None:
        outer = matrix.ravel()[self.places].astype(self.dtype)
        for block in self.blocks:
            block.outer = outer[block.pairs]
        self.trace = trace

    def __call__(self, shape: str, widths: Array) -> tuple[float, Array]:
        """Return the score of widths of shape (r,), zero for columns left out, and its slopes."""
        scores, slopes = self.of([shape], widths[None, :])
        return float(scores[0]), slopes[0]

    def of(self, shapes: Sequence[str], widths: Array) -> tuple[Array, Array]:
        """Return the scores of m kernels, widths of shape (m, r), and their slopes."""
        return self.scored(shapes, widths, self.values(shapes, widths))

    def values(
        self, shapes: Sequence[str], widths: Array, together: Together = one_by_one
    ) -> list[Array]:
        """Return the values of m kernels, widths of shape (m, r), for each block of pairs."""
        wide = {i: self._wide_exponents(widths[i]) for i in self._wide(shapes, widths)}
        factors = -widths[:, self.paired].astype(self.dtype)

        def made(block: PairBlock) -> Array:
            check()
            out = np.empty((len(shapes), len(block.outer)), dtype=self.dtype)
            for power, own in _by_power(shapes):
                out[own] = factors[own] @ self._distances(block, power)
            for i, exponents in wide.items():
                out[i] = exponents[block.pairs]
            for i, shape in enumerate(shapes):
                if shape == "radial":
                    np.sqrt(np.negative(out[i], out=out[i]), out=out[i])
                    np.negative(out[i], out=out[i])
            return np.exp(out, out=out)

        return together(made, self.blocks)

    def scored(
        self,
        shapes: Sequence[str],
        widths: Array,
        values: Sequence[Array],
        together: Together = one_by_one,
    ) -> tuple[Array, Array]:
        """Return the scores of kernels, of shape (m,), and slopes, (m, r), from their values."""
        wide = self._wide(shapes, widths)

        def parts_of(block: PairBlock, own_values: Array) -> tuple[Array, Array, Array]:
            check()
            weighted = own_values * block.outer
            sums = weighted @ np.ones(weighted.shape[1], dtype=self.dtype)
            for i, shape in enumerate(shapes):
                if shape == "radial":
                    roots = np.maximum(own_values[i], LEAST_VALUE)
                    np.log(roots, out=roots)
                    np.maximum(np.negative(roots, out=roots), self.least_root, out=roots)
                    weighted[i] /= 2 * roots
            moments = np.zeros((len(shapes), len(self.paired)))
            for power, own in _by_power(shapes):
                moments[own] = weighted[own] @ self._distances(block, power).T
            return sums.astype(float), moments, weighted[wide]

        parts = together(parts_of, self.blocks, values)
        sums = sum((part[0] for part in parts), np.zeros(len(shapes)))
        slopes = np.zeros((len(shapes), self.count))
        slopes[:, self.paired] = sum((part[1] for part in parts), 0.0)
        for place, i in enumerate(wide):
            slopes[i] = self._wide_moments(np.concatenate([part[2][place] for part in parts]))
        return self.trace + 2 * sums, -2 * widths * slopes

    def summed(self, factors: Array, values: Sequence[Array]) -> Array:
        """Return the upper triangle, shape (n, n), of the sum of kernels times factors."""
        small = factors.astype(self.dtype)
        total = np.zeros(self.rows**2)
        total[self.places] = np.concatenate([small @ own for own in values])
        total[:: self.rows + 1] = factors.sum()
        return total.reshape(self.rows, self.rows)

    def _wide(self, shapes: Sequence[str], widths: Array) -> list[int]:
        """Return the numbers of the kernels that have columns whose distances are not held."""
        beyond = np.any(widths[:, self.unpaired] > 0, axis=1).tolist()
        return [i for i, shape in enumerate(shapes) if shape != "laplace" and beyond[i]]

    def _wide_exponents(self, widths: Array) -> Array:
        """Return minus the squared distances of all pairs of rows, by products of the rows."""
        scaled = self.points * np.sqrt(widths[self.owners]).astype(self.dtype)
        left, right = squared_factors(scaled, scaled)
        return np.minimum((left @ right).ravel()[self.places], 0.0)

    def _wide_moments(self, weighted: Array) -> Array:
        """Return the sums of weights times squared distances in each column."""
        flat = np.zeros(self.rows**2, dtype=self.dtype)
        flat[self.places] = weighted
        square = flat.reshape(self.rows, self.rows)
        square = square + square.T
        own = square.sum(axis=1) @ self.points**2
        cross = np.einsum("ij,ij->j", self.points, square @ self.points)
        return np.bincount(self.owners, own - cross, minlength=self.count)


def paired_columns(kernels: Sequence[WidthKernel]) -> Array:
    """Return the columns whose distances some kernels need: all of their columns if these are few.

    Else those of Laplace kernels.
    """
    columns = np.unique([j for kernel in kernels for j in kernel[1]]).astype(int)
    if len(columns) > PAIRED_COLUMNS:
        laplace = [j for kernel in kernels if kernel[0] == "laplace" for j in kernel[1]]
        columns = np.unique(laplace).astype(int)
    return columns


def _by_power(shapes: Sequence[str]) -> list[tuple[int, list[int]]]:
    """Return the power of distances and the numbers of the kernels that need it."""
    laplace = [i for i, shape in enumerate(shapes) if shape == "laplace"]
    others = [i for i, shape in enumerate(shapes) if shape != "laplace"]
    return [(power, own) for power, own in ((1, laplace), (2, others)) if own]
