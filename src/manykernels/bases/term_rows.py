"""Rows for the weighted kernel of spline terms that stands beside kernels with widths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Product
from ..backend import beside, filled, namespace, on_host, to_host
from ..limits import DEVICE_BLOCK_BYTES, HOST_BLOCK_BYTES
from .features import FeatureBlocks


class TermRows:
    r"""Features of columns on some rows, of which a kernel of given weights is made.

    The kernel is :math:`\sum_i w_i \prod_{j \in i} \Phi_j\Phi_j^\top`, with products of at most two
    base kernels. It is made of the base kernels' matrices: a product of two with 80 features each
    has 6,400, which are never made.

    Parameters
    ----------
    blocks : FeatureBlocks
        The base kernels in use.
    products : sequence of tuple of int
        Which base kernels each term is the product of.
    weights : ndarray
        Their weights w.
    """

    def __init__(self, blocks: FeatureBlocks, products: Sequence[Product], weights: Array) -> None:
        assert all(len(product) <= 2 for product in products)
        self.blocks, self.products, self.weights = blocks, list(products), weights

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return self.blocks.rows

    def take(self, rows: Array) -> TermRows:
        """Return some of the rows."""
        return TermRows(self.blocks.take(rows), self.products, self.weights)

    def kernel(self, other: TermRows, bits: int = 64) -> Array:
        """Return the kernel between own rows and others, in the precision of ``bits``.

        For m other rows and R features of columns O(n m R), and O(n m) for each term.
        """
        place = self.blocks.features
        xp, out = namespace(place), filled(0.0, (self.rows, other.rows), place, bits)
        ours, theirs = (
            [
                xp.astype(side.blocks.block(j), out.dtype, copy=False)
                for j in range(side.blocks.count)
            ]
            for side in (self, other)
        )
        room = HOST_BLOCK_BYTES if on_host(place) else DEVICE_BLOCK_BYTES
        height = max(1, room // (8 * (len(ours) + 2) * max(1, other.rows)))
        for start in range(0, self.rows, height):
            rows = slice(start, start + height)
            base = [left[rows, :] @ right.T for left, right in zip(ours, theirs, strict=True)]
            out[rows, :] = self._sum(base, out[rows, :])
        return out

    def diagonal(self) -> Array:
        """Return the kernel of each row with itself, on the host."""
        count = range(self.blocks.count)
        squares = [np.sum(to_host(self.blocks.block(j)) ** 2, axis=1) for j in count]
        return np.asarray(self._sum(squares, np.zeros(self.rows)))

    def _sum(self, base: Sequence[Array], zeros: Array) -> Array:
        """Return the weighted sum of products of base kernels, given by their values."""
        total = zeros + sum(
            weight for i, weight in zip(self.products, self.weights.tolist(), strict=True) if not i
        )
        for first, partners in self._by_first().items():
            beside_first = zeros
            for second, weight in partners:
                beside_first = beside_first + (weight if second is None else weight * base[second])
            total = total + base[first] * beside_first
        return total

    def _by_first(self) -> dict[int, list[tuple[int | None, float]]]:
        """Return the second factors of products and their weights, by the first factor."""
        found: dict[int, list[tuple[int | None, float]]] = defaultdict(list)
        for product, weight in zip(self.products, self.weights.tolist(), strict=True):
            if product:
                found[product[0]].append((product[1] if len(product) > 1 else None, weight))
        return found

    def coefficients(self, alpha: Array) -> list[Array]:
        """Return the coefficients of each term's features in an expansion, on the host.

        For terms of two, one and no base kernels of shape (m_1, m_2, c), (m_1, c) and (c,), where
        ``alpha`` are coefficients of rows, of shape (n, c).
        """
        found = []
        for product, weight in zip(self.products, self.weights.tolist(), strict=True):
            whole = to_host(self.blocks.inner([product], beside(alpha, self.blocks.features)))
            sizes = [int(self.blocks.sizes[j]) for j in product]
            found.append(weight * whole.reshape(*sizes, alpha.shape[1]))
        return found

    def expansion(self, coefficients: Sequence[Array]) -> Array:
        """Return the function of given :meth:`coefficients` on the rows, of shape (n, c)."""
        outputs = coefficients[0].shape[-1]
        flat = np.concatenate([one.reshape(-1, outputs) for one in coefficients])
        there = beside(flat, self.blocks.features)
        return to_host(self.blocks.combine(self.products, there))
