"""Rows for the weighted kernel of spline terms that stands beside kernels with widths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Product
from ..backend import beside, filled, namespace, on_host, to_host
from ..deadline import check
from ..limits import DEVICE_BLOCK_BYTES, HOST_BLOCK_BYTES
from .features import FeatureBlocks

KEPT_ROWS = 4_000
"""Most rows whose kernel is kept once it is made, 128 MB: as many as systems are factorised for
(``solvers/widths/whole.py``), which need it at every strength."""


LEAST_ROWS = 64
"""Rows made at a time at the least: matrix products of fewer are slow. Set by judgement."""


class Partners(NamedTuple):
    """Terms with the same first factor.

    Attributes
    ----------
    first : ndarray of int
        The columns of the first factor among all features.
    constant : float
        The weight of the first factor alone.
    partners : ndarray of int
        The columns of all second factors.
    scales : ndarray
        The weight of each of these columns' term.
    """

    first: Array
    constant: float
    partners: Array
    scales: Array


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

        The terms with the same first factor are that factor's kernel times a sum of kernels, which
        is one matrix product. For m other rows O(n m R) for each first factor, R the features of
        its partners. That of few rows with themselves is made once and kept.
        """
        if other is self and self.rows <= KEPT_ROWS:
            xp = namespace(self._own)
            return xp.astype(self._own, getattr(xp, f"float{bits}"), copy=False)
        return self._made(other, bits)

    @cached_property
    def _own(self) -> Array:
        """The kernel between own rows."""
        return self._made(self, 64)

    def _made(self, other: TermRows, bits: int) -> Array:
        place = self.blocks.features
        xp, out = namespace(place), filled(self._constant, (self.rows, other.rows), place, bits)
        ours, theirs = (
            xp.astype(side.blocks.features, out.dtype, copy=False) for side in (self, other)
        )
        room = HOST_BLOCK_BYTES if on_host(place) else DEVICE_BLOCK_BYTES
        height = max(LEAST_ROWS, room // (8 * 3 * max(1, other.rows)))
        for part in self._by_first:
            first = beside(part.first, place)
            partners, scales = beside(part.partners, place), beside(part.scales, place, out.dtype)
            left, right = xp.take(ours, first, axis=1), xp.take(theirs, first, axis=1).T
            sums, others = (
                xp.take(ours, partners, axis=1) * scales[None, :],
                xp.take(theirs, partners, axis=1).T,
            )
            for start in range(0, self.rows, height):
                check()
                rows = slice(start, start + height)
                inner = sums[rows, :] @ others + part.constant
                out[rows, :] += (left[rows, :] @ right) * inner
        return out

    def diagonal(self) -> Array:
        """Return the kernel of each row with itself, on the host."""
        squares = to_host(self.blocks.features) ** 2
        total = np.full(self.rows, self._constant)
        for part in self._by_first:
            inner = squares[:, part.partners] @ part.scales + part.constant
            total += squares[:, part.first].sum(axis=1) * inner
        return total

    @property
    def _constant(self) -> float:
        """The weight of the constant term."""
        weights = zip(self.products, self.weights.tolist(), strict=True)
        return float(sum(weight for product, weight in weights if not product))

    @cached_property
    def _by_first(self) -> list[Partners]:
        """The terms by their first factor."""
        edges = pairwise(self.blocks.offsets.tolist())
        columns = [np.arange(start, stop) for start, stop in edges]
        constants: dict[int, float] = defaultdict(float)
        found: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for product, weight in zip(self.products, self.weights.tolist(), strict=True):
            if len(product) == 1:
                constants[product[0]] += weight
            elif product:
                found[product[0]].append((product[1], weight))
        return [
            Partners(
                columns[first],
                constants[first],
                np.concatenate([columns[0][:0], *(columns[j] for j, _ in found[first])]),
                np.concatenate(
                    [np.empty(0), *(np.full(len(columns[j]), w) for j, w in found[first])]
                ),
            )
            for first in sorted({*constants, *found})
        ]

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
