"""Features of many rows that are never held whole: made anew, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..backend import beside, namespace, on_host, take, times, to_host
from .systems import Ridge, factorise

TALL_ENTRIES = 2**19
"""Number of entries of a block of rows, four megabytes. Set by judgement, not measured."""

TALL_ROWS = 2048
"""Least number of rows of a block: each kernel of a block costs some calls, however few rows it
has. Set by judgement, not measured."""

TALL_BYTES = 16 * 2**20
"""Bytes up to which columns are held whole, unless more are allowed for. Set by judgement, not
measured."""


class TallColumns:
    """Columns of which some rows at a time can be made; held whole if they are small.

    Parameters
    ----------
    make : callable
        Takes a slice of rows and returns their part of the columns.
    rows, width : int
        Number of rows and columns.
    most : int
        Bytes that may be held.
    """

    def __init__(
        self, make: Callable[[slice], Array], rows: int, width: int, most: int = TALL_BYTES
    ) -> None:
        self.rows, self.width, self.most = rows, width, most
        self.small = 8 * rows * width <= most
        self.make = make
        self.height = max(TALL_ROWS, TALL_ENTRIES // max(1, width))
        if self.small:
            whole = make(slice(0, rows))
            self.make = lambda part: whole[part, :]
            if not on_host(whole):
                self.height = max(1, rows)  # there few large products are faster
        self._curvature: Array | None = None
        self._centre, self._products = np.empty(0), np.empty((0, 0))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of each block and its columns."""
        for start in range(0, self.rows, self.height):
            rows = slice(start, min(start + self.height, self.rows))
            yield rows, self.make(rows)

    def dot(self, weights: Array) -> Array:
        """Return the columns times weights, of shape (n, c)."""
        out = np.zeros((self.rows, weights.shape[1]))
        for rows, block in self.blocks():
            out[rows] = times(block, weights)
        return out

    def transposed_dot(self, values: Array) -> Array:
        """Return inner products with columns of values, of shape (m, c)."""
        out = np.zeros((self.width, values.shape[1]))
        for rows, block in self.blocks():
            out += times(block.T, values[rows])
        return out

    def products(self, curvature: Array) -> tuple[Array, Array]:
        """Return weighted means, and inner products of the columns less their means.

        O(n m^2); from memory if the weights are the same array as before.
        """
        if curvature is not self._curvature:
            total = float(curvature.sum())
            # Around the mean of the first block: sums of raw squares would lose digits.
            shift = np.zeros(self.width)
            sums, squares = np.zeros(self.width), np.zeros((self.width, self.width))
            for rows, block in self.blocks():
                if rows.start == 0:
                    shift = to_host(namespace(block).mean(block, axis=0))
                root = np.sqrt(curvature[rows])
                moved = (block - beside(shift, block)) * beside(root[:, None], block)
                sums += times(moved.T, root)
                squares += to_host(moved.T @ moved)  # of one array with itself: half the work
            self._remember(curvature, shift + sums / total, squares - np.outer(sums, sums) / total)
        return self._centre, self._products

    def _remember(self, curvature: Array | None, centre: Array, products: Array) -> None:
        self._curvature, self._centre, self._products = curvature, centre, products

    def forget(self) -> None:
        """Drop what is known of products."""
        self._remember(None, np.empty(0), np.empty((0, 0)))

    def remade(self, make: Callable[[slice], Array]) -> TallColumns:
        """Return the same columns, made in another way unless they are held whole."""
        if self.small:
            return self
        out = TallColumns(make, self.rows, self.width, self.most)
        if self._curvature is not None:
            out._remember(self._curvature, self._centre, self._products)
        return out

    def keep(self, chosen: Array) -> TallColumns:
        """Return some of the columns, with what is known of their products."""
        if chosen.all():
            return self
        old = self.make
        out = TallColumns(
            lambda rows: take(old(rows), np.flatnonzero(chosen), axis=1),
            self.rows,
            int(chosen.sum()),
            self.most,
        )
        if self._curvature is not None:
            part = np.ix_(chosen, chosen)
            out._remember(self._curvature, self._centre[chosen], self._products[part])
        return out

    def add(self, other: TallColumns) -> TallColumns:
        """Return these columns and others; of known products only the new ones are made."""
        old, new = self.make, other.make
        both = TallColumns(
            lambda rows: side_by_side(old(rows), new(rows)),
            self.rows,
            self.width + other.width,
            max(self.most, other.most),
        )
        curvature = self._curvature
        if curvature is not None and other.width:
            centre, products = other.products(curvature)
            cross = np.zeros((self.width, other.width))
            for rows, block in both.blocks():
                left = block[:, : self.width] - beside(self._centre, block)
                left = left * beside(curvature[rows, None], block)
                right = block[:, self.width :] - beside(centre, block)
                cross += to_host(left.T @ right)
            both._remember(
                curvature,
                np.concatenate([self._centre, centre]),
                np.block([[self._products, cross], [cross.T, products]]),
            )
        return both


@dataclass(frozen=True)
class TallSystem:
    """The m x m system of tall columns times factors. O(n m^2 + m^3) a solve.

    The products of the columns are kept as long as the curvature is that of before: for the
    squared loss they are made once, and a solve with other factors is O(n m + m^3).

    Parameters
    ----------
    columns : TallColumns
        The columns.
    factors : ndarray of shape (m,)
        What they are multiplied by.
    """

    columns: TallColumns
    factors: Array

    def ridge(self, curvature: Array, linear: Array, strength: float, intercept: bool) -> Ridge:
        """Solve the normal equations."""
        scale = self.factors
        centre, matrix = self.columns.products(curvature)
        right = self.columns.transposed_dot(linear)
        total = curvature.sum()
        if intercept:
            level = linear.sum(axis=0) / total
            right = right - total * np.outer(centre, level)
        else:
            matrix = matrix + total * np.outer(centre, centre)
        matrix = matrix * scale[:, None] * scale
        matrix[np.diag_indices_from(matrix)] += strength
        factor, _ = factorise(matrix, matrix.diagonal().copy())
        w = factor.solve(scale[:, None] * right)
        b = level - (scale * centre) @ w if intercept else np.zeros(linear.shape[1])
        values = self.values(w)
        return Ridge(w, b, values, linear - curvature[:, None] * (values + b))

    def values(self, coefficients: Array) -> Array:
        """Return the function's values."""
        return self.columns.dot(self.factors[:, None] * coefficients)

    def inner(self, left: Array, right: Array, right_values: Array) -> Array:
        """Return inner products of weights."""
        return np.sum(left * right, axis=0)

    def matrix(self) -> Array:
        """Return the kernel matrix."""
        whole = self.columns.make(slice(0, self.columns.rows))
        whole = whole * beside(self.factors, whole)
        return whole @ whole.T

    def from_dual(self, alpha: Array) -> Array:
        """Return the weights of a dual point."""
        return self.factors[:, None] * self.columns.transposed_dot(alpha)


def side_by_side(left: Array, right: Array) -> Array:
    """Return the columns of two matrices; of one of them where the other has none."""
    if not left.shape[1] or not right.shape[1]:
        return left if left.shape[1] else right
    return namespace(left).concat([left, right], axis=1)
