"""Base kernels given by Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from ..arrays import Array, Product
from ..backend import beside, double, filled, namespace, on_host, take, times, to_host
from ..deadline import check
from ..limits import DEVICE_BLOCK_BYTES, HOST_BLOCK_BYTES
from .columns import Products, Scales, split_rows

ENTRYWISE_COST = 5
"""Time of an entrywise multiplication, in those of a matrix product. Set by judgement, not
measured."""


class GramStack:
    r"""Any base kernels, as matrices :math:`K_1, \dots, K_r` in memory O(r n m).

    Parameters
    ----------
    grams : array of shape (r, n, m)
        Kernel values between n rows and m training rows; n = m for training. In double precision
        on the host; on a device in the precision they have, and sums over them in double.

    Notes
    -----
    The state of a prefix is the matrix M itself, of shape (n, n). Its entries have signs: a mass
    far below :math:`\|M\|_F \|K\|_F` carries a rounding error of that size times 1e-16.
    """

    explicit = single = False
    pairs_are_cheap = True
    matrix = property(attrgetter("grams"), doc="What is held: the stack of matrices.")

    def __init__(self, grams: Array) -> None:
        self.grams = np.ascontiguousarray(grams, dtype=float) if on_host(grams) else grams

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows on either side."""
        return self.grams.shape[1], self.grams.shape[2]

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.grams.shape[1])

    @property
    def count(self) -> int:
        """Number of base kernels r."""
        return int(self.grams.shape[0])

    def take(self, rows: Array) -> GramStack:
        """Return the same kernels between some of the rows; for matrices of all pairs of rows."""
        if on_host(self.grams):
            return GramStack(self.grams[:, rows[:, None], rows])
        xp, there = namespace(self.grams), beside(rows, self.grams)
        return GramStack(xp.take(xp.take(self.grams, there, axis=1), there, axis=2))

    def without_rows(self) -> GramStack:
        """Return the same number of kernels on no rows."""
        return GramStack(np.empty((self.count, 0, 0)))

    def kernel(self, j: int) -> Array:
        """Return the matrix of base kernel ``j``."""
        return double(self.grams[j, :, :])

    def filled(self, value: float) -> Array:
        """Return a matrix of one value."""
        return filled(value, self.shape, self.grams)

    def power_sum(self, k: int) -> Array:
        """Return the sum of the k-th powers of all kernels."""
        return sum((self.kernel(j) ** k for j in range(self.count)), self.filled(0.0))

    def product(self, product: Sequence[int]) -> Array:
        """Return the matrix of a product kernel; O(n m D)."""
        out = self.filled(1.0)
        check()
        for j in product:
            out *= self.kernel(j)
        return out

    def mass_work(self, degree: int) -> float:
        """Return the entries of a matrix."""
        return float(self.rows**2)

    def tree_work(self, degree: int) -> float:
        """Return the multiplications of entrywise products."""
        contractions = (sum(range(3, degree + 1)) + 50) * self.rows**2
        return ENTRYWISE_COST * float(contractions) * self.count

    def between(self, other: Any, rows: slice = slice(None)) -> GramStack:
        """Return some rows of the matrices, which are between two sets of rows already."""
        whole = len(range(self.rows)[rows]) == self.rows
        return self if whole else GramStack(self.grams[:, rows, :])

    def cross_rows(self, rows: slice) -> GramStack:
        """Return the matrices between some of the rows and all of them."""
        return self.between(self, rows)

    def masses(self, state: Array, products: Products, scales: Scales = 1.0) -> Array:
        """Return the inner products of a state and product kernels; O(n m D) each."""
        return np.array([_inner(state, self.product(product)) for product in products]) * scales

    def applied(self, products: Products, vectors: Array) -> Iterator[Array]:
        """Yield product kernels times vectors of shape (n, c), on the host; O(n m) each, or D + c.

        Those that differ in their last factor alone share the work for the others; with a single
        vector no matrix is made for them.
        """
        alone, there = vectors.shape[1] == 1, beside(vectors.T, self.grams)
        for prefix, own in groupby(products, key=lambda product: product[:-1]):
            state = self.product(prefix)
            if alone:
                state *= there
            for product in own:
                check()
                last = self.kernel(product[-1]) if product else self.filled(1.0)
                yield _row_sums(state, last) if alone else times(state * last, vectors)

    def mean_squares(
        self, products: Products, scales: Array, row_weights: Array
    ) -> tuple[Array, Array]:
        """Return weighted means of the matrices' diagonals and of all their entries."""
        squares, means = np.zeros(len(products)), np.zeros(len(products))
        for i, product in enumerate(products):
            check()
            gram = self.product(product)
            squares[i] = row_weights @ to_host(namespace(gram).linalg.diagonal(gram))
            means[i] = row_weights @ times(gram, row_weights)
        return squares * scales, means * scales

    def _rows_at_a_time(self, count: int) -> list[slice]:
        """Cut the rows so that those of ``count`` matrices are a good piece of work."""
        room = HOST_BLOCK_BYTES if on_host(self.grams) else DEVICE_BLOCK_BYTES
        return split_rows(self.rows, room // max(1, count))

    def weighted_sum(
        self, products: Products, weights: Array, scales: Scales = 1.0, other: Any = None
    ) -> Array:
        """Return a weighted sum of product kernels.

        Kernels that share all but their last two factors are summed by one matrix product,
        O(a b n m) if a and b different base kernels occur as these factors.
        """
        total = self.filled(0.0)
        groups: dict[Product, dict[tuple[int, int], float]] = {}
        for product, weight in zip(products, (weights * scales).tolist(), strict=True):
            if len(product) < 2:
                total += weight * self.product(product)
            else:
                group = groups.setdefault(tuple(product[:-2]), {})
                pair = (product[-2], product[-1])
                group[pair] = group.get(pair, 0.0) + weight
        for prefix, group in groups.items():
            first, left = np.unique([j for j, _ in group], return_inverse=True)
            second, right = np.unique([k for _, k in group], return_inverse=True)
            table = np.zeros((len(first), len(second)))
            table[left, right] = list(group.values())
            xp = namespace(total)
            left_grams, right_grams = (take(self.grams, some, axis=0) for some in (first, second))
            factors = beside(table, self.grams)
            for rows in self._rows_at_a_time(len(first)):
                check()
                inner = xp.tensordot(factors, double(right_grams[:, rows, :]), axes=1)
                inner *= left_grams[:, rows, :]
                part = xp.sum(inner, axis=0)
                for j in prefix:
                    part *= self.grams[j, rows, :]
                total[rows, :] += part
        return total

    def start(self, alpha: Array) -> Array:
        """Return the state of the empty prefix."""
        vectors = beside(alpha, self.grams)
        return vectors @ vectors.T

    def extend(self, state: Array, j: int) -> Array:
        """Multiply the state by kernel ``j``."""
        return state * self.kernel(j)

    def total(self, state: Array) -> float:
        """Return the sum of the state."""
        return float(namespace(state).sum(state))

    def weighted_total(self, state: Array, weight: Array, rows: slice) -> float:
        """Return the sum of products with the state."""
        return _inner(state[rows, :], weight)

    def diagonals(self) -> Array:
        """Return the diagonals of the kernels."""
        xp = namespace(self.grams)
        return to_host(xp.linalg.diagonal(self.grams))

    def state_diagonal(self, state: Array) -> Array:
        """Return the diagonal of the state."""
        return to_host(namespace(state).linalg.diagonal(state))

    def singles(self, state: Array) -> Array:
        """Return the mass of every kernel; O(r n^2)."""
        if on_host(state):
            return np.asarray(self.grams.reshape(self.count, -1) @ state.ravel())
        return np.array([_inner(self.kernel(j), state) for j in range(self.count)])

    def pair_sums(self, state: Array, excluded: Sequence[int]) -> tuple[Array, Array]:
        """Return sums over the second of two more kernels; O(r n^2)."""
        allowed = np.setdiff1d(np.arange(self.count), list(excluded))
        others = sum((self.kernel(j) for j in allowed.tolist()), self.filled(0.0))
        weighted = state * others
        off, diagonal = np.empty(self.count), np.empty(self.count)
        for j in range(self.count):
            gram = self.kernel(j)
            diagonal[j] = _inner(state * gram, gram)
            off[j] = _inner(weighted, gram)
        off[allowed] -= diagonal[allowed]
        return off, diagonal

    def pairs(self, state: Array, first: int, strict: bool) -> Array:
        """Return the masses of pairs, flattened; O(r^2 n^2), as matrix products."""
        count, xp = self.count - first, namespace(state)
        table = np.zeros((count, count))
        for rows in self._rows_at_a_time(count):
            check()
            grams = double(self.grams[first:, rows, :])
            weighted = grams * state[rows, :]
            part = xp.reshape(weighted, (count, -1)) @ xp.reshape(grams, (count, -1)).T
            table += to_host(part)
        return table[np.triu_indices(count, int(strict))]

    def row_blocks(self, budget: int) -> list[slice]:
        """Return all rows as one block: the stack itself is larger than any of its sums."""
        return [slice(0, self.rows)]

    def contract(self, state: Array, weights: Sequence[Array | None], rows: slice) -> Array:
        """Return weighted masses of kernels and their powers; O(r n^2) for each weight."""
        part = state[rows, :]
        weighted = [part if weight is None else part * weight for weight in weights]
        out = np.empty((self.count, len(weights)))
        for j in range(self.count):
            gram = double(self.grams[j, rows, :])
            power = gram
            for position, weight in enumerate(weighted):
                check()
                if position:
                    power = power * gram
                out[j, position] = _inner(power, weight)
        return out


def _row_sums(left: Array, right: Array) -> Array:
    """Return the sums over rows of the products of two matrices' entries, (n, 1), on the host."""
    if on_host(left):
        return np.einsum("ij,ij->i", left, right)[:, None]
    return to_host(namespace(left).sum(left * right, axis=1))[:, None]


def _inner(left: Array, right: Array) -> float:
    """Return the sum of the products of the entries of two matrices."""
    if on_host(left):
        return float(np.vdot(left, right))
    return float(namespace(left).sum(left * right))
