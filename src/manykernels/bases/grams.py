"""Base kernels given by Gram matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Index
from .base import split_rows

_BLOCK_BYTES = 2**20  # of rows of base kernels worked on at a time: they stay in the cache


class GramStack:
    r"""Any base kernels, as matrices :math:`K_1, \dots, K_r` in memory O(r n m).

    Parameters
    ----------
    grams : ndarray of shape (r, n, m)
        Kernel values between n rows and m training rows; n = m for training.

    Notes
    -----
    The state of a prefix is the matrix M itself, of shape (n, n). Its entries have signs: a mass
    far below :math:`\|M\|_F \|K\|_F` carries a rounding error of that size times 1e-16.
    """

    explicit = False
    pairs_are_cheap = True

    def __init__(self, grams: Array) -> None:
        self.grams = np.ascontiguousarray(grams, dtype=float)

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.grams.shape[1])

    @property
    def count(self) -> int:
        """Number of base kernels r."""
        return int(self.grams.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows on either side."""
        return self.grams.shape[1], self.grams.shape[2]

    def without_rows(self) -> GramStack:
        """Return as many kernels on no rows."""
        return GramStack(np.empty((self.count, 0, 0)))

    def kernel(self, j: int) -> Array:
        """Return the matrix of base kernel ``j``."""
        return self.grams[j]

    def power_sum(self, k: int) -> Array:
        """Return the sum of the k-th powers of all kernels."""
        return sum((gram**k for gram in self.grams), np.zeros(self.shape))

    def product(self, index: Sequence[int]) -> Array:
        """Return the matrix of a product kernel; O(n m D)."""
        out = np.ones(self.shape)
        for j in index:
            out *= self.grams[j]
        return out

    def weighted_sum(self, indices: Sequence[Index], weights: Array) -> Array:
        r"""Return :math:`\sum_i w_i K_i` over product kernels.

        Kernels that share all but their last two factors are summed by one matrix product,
        O(a b n m) if a and b different base kernels occur as these factors.
        """
        total = np.zeros(self.shape)
        groups: dict[Index, dict[tuple[int, int], float]] = {}
        for index, weight in zip(indices, weights.tolist(), strict=True):
            if len(index) < 2:
                total += weight * self.product(index)
            else:
                group = groups.setdefault(tuple(index[:-2]), {})
                pair = (index[-2], index[-1])
                group[pair] = group.get(pair, 0.0) + weight
        for prefix, group in groups.items():
            first, left = np.unique([j for j, _ in group], return_inverse=True)
            second, right = np.unique([k for _, k in group], return_inverse=True)
            table = np.zeros((len(first), len(second)))
            table[left, right] = list(group.values())
            left_grams, right_grams = self._some(first), self._some(second)
            for rows in split_rows(self.rows, _BLOCK_BYTES // len(first)):
                inner = np.tensordot(table, right_grams[:, rows], axes=1)
                inner *= left_grams[:, rows]
                part = inner.sum(axis=0)
                for j in prefix:
                    part *= self.grams[j, rows]
                total[rows] += part
        return total

    def _some(self, numbers: Array) -> Array:
        """Return some of the matrices, without a copy if they are neighbours."""
        if numbers[-1] - numbers[0] == len(numbers) - 1:
            return self.grams[numbers[0] : numbers[-1] + 1]
        return self.grams[numbers]

    def start(self, alpha: Array) -> Array:
        """Return the state of the empty prefix."""
        return alpha @ alpha.T

    def extend(self, state: Array, j: int) -> Array:
        """Multiply the state by kernel ``j``."""
        return state * self.grams[j]

    def total(self, state: Array) -> float:
        """Return the sum of the state."""
        return float(state.sum())

    def weighted_total(self, state: Array, weight: Array, rows: slice) -> float:
        """Return the sum of products with the state."""
        return float(np.vdot(state[rows], weight))

    def diagonals(self) -> Array:
        """Return the diagonals of the kernels."""
        return np.einsum("jtt->jt", self.grams)

    def state_diagonal(self, state: Array) -> Array:
        """Return the diagonal of the state."""
        return np.diagonal(state)

    def singles(self, state: Array) -> Array:
        """Return the mass of every kernel; O(r n^2)."""
        return np.asarray(self.grams.reshape(self.count, -1) @ state.ravel())

    def pair_sums(self, state: Array, excluded: Sequence[int]) -> tuple[Array, Array]:
        """Return sums over the second of two more kernels; O(r n^2)."""
        allowed = np.setdiff1d(np.arange(self.count), list(excluded))
        weighted = state * self.grams[allowed].sum(axis=0)
        off, diagonal = np.empty(self.count), np.empty(self.count)
        for j, gram in enumerate(self.grams):
            diagonal[j] = np.einsum("st,st,st->", state, gram, gram)
            off[j] = np.vdot(weighted, gram)
        off[allowed] -= diagonal[allowed]
        return off, diagonal

    def pairs(self, state: Array, first: int, strict: bool) -> Array:
        """Return the masses of pairs, flattened; O(r^2 n^2), as matrix products."""
        count = self.count - first
        table = np.zeros((count, count))
        for rows in split_rows(self.rows, _BLOCK_BYTES // max(1, count)):
            grams = self.grams[first:, rows]
            table += (grams * state[rows]).reshape(count, -1) @ grams.reshape(count, -1).T
        return table[np.triu_indices(count, int(strict))]

    def row_blocks(self, budget: int) -> list[slice]:
        """Return all rows as one block: the stack itself is larger than any of its sums."""
        return [slice(0, self.rows)]

    def cross_rows(self, rows: slice) -> GramStack:
        """Return the kernels between some of the rows and all of them."""
        return self if rows == slice(0, self.rows) else GramStack(self.grams[:, rows])

    def contract(self, state: Array, weights: Sequence[Array | None], rows: slice) -> Array:
        """Return weighted masses of kernels and their powers; O(r n^2) for each weight."""
        part = state[rows]
        weighted = [part if weight is None else part * weight for weight in weights]
        out = np.empty((self.count, len(weights)))
        for j, gram in enumerate(self.grams[:, rows]):
            power = gram
            for position, weight in enumerate(weighted):
                if position:
                    power = power * gram
                out[j, position] = np.vdot(power, weight)
        return out
