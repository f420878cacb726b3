"""Kernels of given weights as systems: features made a block of rows at a time, held, or n x n."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Index
from ..backend import beside, namespace, on_host, take, to_host
from ..deadline import check
from ..families import KernelFamily
from ..limits import TALL_BYTES
from .conjugate import ConjugateSystem
from .systems import FeatureSystem, GramSystem, Ridge, factorise

TALL_ENTRIES = 2**19
"""Number of entries of a block of rows, four megabytes. Set by judgement, not measured."""

TALL_ROWS = 2048
"""Least number of rows of a block: each kernel of a block costs some calls, however few rows it
has. Set by judgement, not measured."""

GRAM_COLUMNS = 1024
"""Least number of columns that enter a kernel matrix at a time, so that a block of them stays in
the cache. Set by judgement, not measured."""


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
    known : tuple of ndarray, optional
        Weights of the rows, weighted means of the columns and products of the columns less these.
    """

    def __init__(
        self,
        make: Callable[[slice], Array],
        rows: int,
        width: int,
        most: float = TALL_BYTES,
        known: tuple[Array, Array, Array] | None = None,
    ) -> None:
        self.rows, self.width, self.most, self.known = rows, width, most, known
        self.small = 8 * rows * width <= most
        self.make = make
        self.height = max(TALL_ROWS, TALL_ENTRIES // max(1, width))
        if self.small:
            whole = make(slice(0, rows))
            self.make = lambda part: whole[part, :]
            if not on_host(whole):
                self.height = max(1, rows)  # there few large products are faster

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of each block and its columns."""
        for start in range(0, self.rows, self.height):
            check()
            rows = slice(start, min(start + self.height, self.rows))
            yield rows, self.make(rows)

    def dot(self, weights: Array) -> Array:
        """Return the columns times weights, of shape (n, c)."""
        out = np.zeros((self.rows, weights.shape[1]))
        for rows, block in self.blocks():
            out[rows] = to_host(block @ beside(weights, block))
        return out

    def transposed_dot(self, values: Array) -> Array:
        """Return inner products with columns of values, of shape (m, c)."""
        out = np.zeros((self.width, values.shape[1]))
        for rows, block in self.blocks():
            out += to_host(block.T @ beside(values[rows], block))
        return out

    def products(self, curvature: Array) -> tuple[Array, Array]:
        """Return weighted means, and inner products of the columns less their means.

        O(n m^2); from memory if the weights are the same array as before.
        """
        if self.known is None or curvature is not self.known[0]:
            total = float(curvature.sum())
            # Around the mean: sums of squares around another point, such as the mean of rows whose
            # weights are all the same, lose digits where few rows have most of the weight.
            shift = self.transposed_dot(curvature[:, None])[:, 0] / total
            sums, squares = np.zeros(self.width), np.zeros((self.width, self.width))
            for rows, block in self.blocks():
                root = np.sqrt(curvature[rows])
                moved = (block - beside(shift, block)) * beside(root[:, None], block)
                sums += to_host(moved.T @ beside(root, block))
                squares += to_host(moved.T @ moved)  # of one array with itself: half the work
            squares -= np.outer(sums, sums) / total
            self.known = curvature, shift + sums / total, squares
        return self.known[1:]

    def remade(self, make: Callable[[slice], Array]) -> TallColumns:
        """Return the same columns, made in another way unless they are held whole."""
        if self.small:
            return self
        return TallColumns(make, self.rows, self.width, self.most, self.known)

    def keep(self, chosen: Array) -> TallColumns:
        """Return some of the columns, with what is known of their products."""
        if chosen.all():
            return self
        old, known, numbers = self.make, self.known, np.flatnonzero(chosen)
        if known is not None:
            known = known[0], known[1][chosen], known[2][np.ix_(chosen, chosen)]
        return TallColumns(
            lambda rows: take(old(rows), numbers, axis=1),
            self.rows,
            len(numbers),
            self.most,
            known,
        )

    def add(self, other: TallColumns) -> TallColumns:
        """Return these columns and others; of known products only the new ones are made."""
        if not (self.width and other.width):
            only = self if self.width else other
            return TallColumns(only.make, self.rows, only.width, max(self.most, other.most))
        old, new = self.make, other.make
        both = TallColumns(
            lambda rows: namespace(left := old(rows)).concat([left, new(rows)], axis=1),
            self.rows,
            self.width + other.width,
            max(self.most, other.most),
        )
        if self.known is not None:
            curvature, mean, square = self.known
            centre, products = other.products(curvature)
            cross = np.zeros((self.width, other.width))
            for rows, block in both.blocks():
                left = block[:, : self.width] - beside(mean, block)
                left = left * beside(curvature[rows, None], block)
                right = block[:, self.width :] - beside(centre, block)
                cross += to_host(left.T @ right)
            means = np.concatenate([mean, centre])
            both.known = curvature, means, np.block([[square, cross], [cross.T, products]])
        return both


class Columns(TallColumns):
    """Columns that are there: ``values`` of shape (n, m), used with other factors each time."""

    def __init__(self, values: Array) -> None:
        super().__init__(lambda rows: values[rows], len(values), values.shape[1], np.inf)
        self.values = values

    def system(self, factors: Array) -> TallSystem:
        """Return the system of the columns times factors."""
        return TallSystem(self, factors)


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
        w = factorise(matrix)[0].solve(scale[:, None] * right)
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


System = GramSystem | FeatureSystem | TallSystem | ConjugateSystem
"""A reproducing kernel Hilbert space on the training rows, in some coordinates; see the first."""


def system_of(family: KernelFamily, indices: Sequence[Index], theta: Array) -> System:
    """Return the kernel of given weights, made from scratch, in the smaller form."""
    if family.explicit and len(indices) < family.rows:
        columns, owners = family.features(indices)
        if columns.shape[1] < family.rows:
            return smaller_system(columns, np.sqrt(theta[owners]))
    return GramSystem(family.gram(indices, theta))


def smaller_system(columns: Array | TallColumns, factors: Array) -> System:
    """Return the kernel of features times factors, in the smaller form; O(n^2 m) if in rows."""
    if isinstance(columns, TallColumns):
        return TallSystem(columns, factors)
    rows, features = columns.shape
    if features < rows:
        return FeatureSystem(columns * beside(factors, columns))
    # By blocks of columns: one read of the features, nothing written.
    gram: Any = 0.0
    width = max(GRAM_COLUMNS, 4 * rows)
    for start in range(0, features, width):
        check()
        part = slice(start, min(start + width, features))
        scaled = columns[:, part] * beside(factors[part], columns)
        gram += scaled @ scaled.T
    return GramSystem(gram)


def tall_columns(family: KernelFamily, indices: Sequence[Index]) -> tuple[TallColumns, Array]:
    """Return the features of kernels, made a block of rows at a time, and whose they are."""
    bases, owners = family.blocks, family.owners(indices)
    most = TALL_BYTES if bases.single else family.room / 2
    columns = TallColumns(
        lambda rows: family.on(bases.take(rows)).features(indices)[0],
        family.rows,
        len(owners),
        most,
    )
    return columns, owners
