"""The directed grid of products of base kernels, and sums over what lies below its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Product
from ..bases import BaseKernels, FeatureBlocks, GramStack
from ..deadline import check
from ..families import Interactions, Monomials, ProductFamily, WeightedFamily
from ..limits import LIST_BLOCK, MATRIX_BATCH_BYTES


@dataclass(frozen=True)
class Grid:
    r"""Nodes :math:`v \in \{0..q\}^r`, :math:`|v| \le D`; an edge adds one to a coordinate.

    A node is written as a sorted tuple of base-kernel numbers; its ancestors are its
    sub-multisets. The kernel of a node is :math:`\prod_j \binom{q}{v_j} K_j^{v_j}`, so that all of
    them add up to :math:`\prod_j (1 + K_j)^q`; with q = 1 nodes are subsets (ANOVA kernels).

    Parameters
    ----------
    count : int
        Number r of base kernels.
    power : int
        q, the largest power of one of them.
    degree : int, optional
        D, the largest number of factors; none by default.
    root_weight : float
        :math:`d_0`, the price of the root.
    growth : float
        :math:`d_A`; a node other than the root has the price :math:`d_v = d_A^{|v|}`.
    """

    count: int
    power: int
    degree: int | None
    root_weight: float
    growth: float

    @property
    def depth(self) -> int:
        """Largest number of factors."""
        deepest = self.count * self.power
        return deepest if self.degree is None else min(self.degree, deepest)

    @property
    def size(self) -> int:
        """Exact number of nodes."""
        if self.degree is None:
            return (self.power + 1) ** self.count
        return self._total([1] * (self.power + 1))

    @property
    def pairs(self) -> int:
        """Exact number of pairs of a node and one of its ancestors, itself included."""
        return self._total(list(range(1, self.power + 2)))

    def _total(self, ways: list[int]) -> int:
        """Add up over all nodes the products over base kernels of ``ways[power]``."""
        sums = [1] + [0] * self.depth
        for _ in range(self.count):
            sums = [
                sum(ways[k] * sums[d - k] for k in range(min(self.power, d) + 1))
                for d in range(self.depth + 1)
            ]
        return sum(sums)

    @property
    def bounded(self) -> bool:
        """Whether the total degree excludes any node."""
        return self.depth < self.count * self.power

    def prices(self, nodes: Sequence[Product]) -> Array:
        """Return :math:`d_v`."""
        return np.array([self.growth ** len(v) if v else self.root_weight for v in nodes])

    def weight(self, node: Product) -> float:
        """Return the factor of a node's kernel."""
        return float(np.prod([comb(self.power, node.count(j)) for j in set(node)]))

    def family(self, bases: FeatureBlocks | GramStack, names: Sequence[str]) -> WeightedFamily:
        """Return the kernels of the nodes."""
        kind = Interactions() if self.power == 1 else Monomials()
        return WeightedFamily(ProductFamily(bases, self.depth, kind, names=names), self.weight)

    def sources(self, hull: set[Product]) -> list[Product]:
        """Return the nodes outside an ancestor-closed set all of whose parents are inside."""
        found = set()
        for node in hull:
            if len(node) >= self.depth:
                continue
            for j in range(self.count):
                if node.count(j) < self.power:
                    found.add(tuple(sorted((*node, j))))
        return sorted(v for v in found - hull if all(u in hull for u in parents(v)))


def parents(node: Product) -> list[Product]:
    """Return the nodes with one factor less."""
    return [node[:i] + node[i + 1 :] for i in range(len(node)) if i == 0 or node[i] != node[i - 1]]


def ancestry(nodes: Sequence[Product], count: int) -> Array:
    """Return the matrix that tells whether node v is an ancestor of node w, or w itself."""
    powers = np.zeros((len(nodes), count), dtype=np.int16)
    for i, node in enumerate(nodes):
        np.add.at(powers[i], list(node), 1)
    out = np.empty((len(nodes), len(nodes)), dtype=float)
    for i, row in enumerate(powers):
        out[i] = np.all(row <= powers, axis=1)
    return out


class ListedSums:
    r"""Sums over descendants, by listing all nodes once; for grids of bounded degree.

    :math:`S_t = \sum_{w \ge t} a_w / (\sum_{t \le v \le w} d_v)^2`, where
    :math:`a_w = \alpha^\top K_w \alpha`. The map from a to S is a sparse matrix with one entry for
    each pair of a node and an ancestor: at most :math:`2^D` a node.
    """

    def __init__(self, grid: Grid, family: ProductFamily) -> None:
        self.grid, self.family = grid, family
        nodes: Any = family.indices()
        self.positions: dict[Product, int] = {}
        for start in range(0, len(nodes), LIST_BLOCK):
            check()
            self.positions.update(zip(nodes[start : start + LIST_BLOCK], count(start)))
        self.factors = np.concatenate([self._factors(table) for table in family.tables])

    def _factors(self, table: Array) -> Array:
        out = np.ones(len(table))
        for runs, rows in patterns(table):
            out[rows] = np.prod([comb(self.grid.power, length) for length in runs])
        return out

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The map from the masses of all nodes to the sums of all nodes but the root."""
        growth, tables = self.grid.growth, self.family.tables
        starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
        codes = [encode(table, self.grid.count) for table in tables]
        rows, columns, values = [], [], []
        for depth, table in enumerate(tables):
            for runs, members in patterns(table):
                first = np.concatenate([[0], np.cumsum(runs)])[:-1]
                for kept in product(*(range(length + 1) for length in runs)):
                    if not any(kept):
                        continue
                    places = [f + i for f, k in zip(first, kept, strict=True) for i in range(k)]
                    ancestors = encode(table[members][:, places], self.grid.count)
                    degree = len(places)
                    between = [
                        sum(growth**power for power in range(k, length + 1))
                        for k, length in zip(kept, runs, strict=True)
                    ]
                    rows.append(starts[degree] + np.searchsorted(codes[degree], ancestors))
                    columns.append(starts[depth] + members)
                    values.append(np.full(len(members), np.prod(between) ** -2.0))
        shape = (starts[-1], starts[-1])
        if not rows:
            return sparse.csr_array(shape)
        entries = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.concatenate(values), entries), shape=shape)

    def __call__(self, alpha: Array, nodes: Sequence[Product]) -> Array:
        """Return the sums of some nodes other than the root."""
        sums = self.matrix @ (self.factors * self.family.at(alpha).all())
        return np.asarray(sums[[self.positions[v] for v in nodes]])


class ProductSums:
    r"""Sums over descendants, by the algebra of products; for grids of any depth.

    :math:`S_t = \alpha^\top \big[\prod_j T_{j,t_j}\big] \alpha`,
    :math:`T_{j,s} = \sum_{k=s}^q \binom qk K_j^k / (\sum_{l=s}^k d_A^l)^2`; O(r q n^2) a node.
    """

    def __init__(self, grid: Grid, bases: BaseKernels) -> None:
        self.grid, self.bases = grid, bases

    def __call__(self, alpha: Array, nodes: Sequence[Product]) -> Array:
        """Return the sums of some nodes other than the root."""
        size = max(1, MATRIX_BATCH_BYTES // (8 * self.bases.rows**2))
        parts = [nodes[start : start + size] for start in range(0, len(nodes), size)]
        return np.concatenate([np.zeros(0), *(self._batch(alpha, part) for part in parts)])

    def _batch(self, alpha: Array, nodes: Sequence[Product]) -> Array:
        powers = np.array([[v.count(j) for j in range(self.grid.count)] for v in nodes])
        out = np.zeros(len(nodes))
        for rows in self.bases.row_blocks(MATRIX_BATCH_BYTES // len(nodes)):
            check()
            outer = alpha[rows] @ alpha.T
            products = np.repeat(outer[None], len(nodes), axis=0)
            cross = self.bases.cross_rows(rows)
            for j in range(self.grid.count):
                check()
                kernel = cross.kernel(j)
                for least in np.unique(powers[:, j]).tolist():
                    products[powers[:, j] == least] *= self._factor(kernel, least)
            out += products.sum(axis=(1, 2))
        return out

    def _factor(self, kernel: Array, least: int) -> Array:
        total, between = np.zeros_like(kernel), 0.0
        for k in range(least, self.grid.power + 1):
            between += self.grid.growth**k
            total += comb(self.grid.power, k) / between**2 * kernel**k
        return total


def encode(table: Array, count: int) -> Array:
    """Return a number for each row of base-kernel numbers, in lexicographic order."""
    out = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        out = out * count + column
    return out


def patterns(table: Array) -> list[tuple[tuple[int, ...], Array]]:
    """Group the sorted rows of a table by the lengths of their runs of equal entries."""
    if table.shape[1] == 0:
        return [((), np.arange(len(table)))]
    breaks = encode((np.diff(table, axis=1) != 0).astype(np.int64), 2)
    groups = []
    for code in np.unique(breaks):
        members = np.flatnonzero(breaks == code)
        where = np.flatnonzero(np.diff(table[members[0]]) != 0)
        runs = np.diff(np.concatenate([[-1], where, [table.shape[1] - 1]]))
        groups.append((tuple(int(length) for length in runs), members))
    return groups
