"""Products of one-column kernels over all sets of columns and all widths, and draws of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...arrays import Array, Product
from ...backend import to_host
from ...bases import GramStack, WidthRows
from ...deadline import check
from ...limits import BATCH_ENTRIES
from ..index_sets import elementary
from ..products import ProductFamily
from .laws import WidthLaw


class Pairs:
    """How far apart all pairs of n rows are, column by column, each distinct value once.

    All matrices over pairs of rows are symmetric here: they are held as vectors of the
    p = n (n + 1) / 2 entries on and above the diagonal.
    """

    def __init__(self, rows: WidthRows) -> None:
        self.rows = rows
        self.above = np.triu_indices(rows.rows)
        self._columns: dict[tuple[int, int], tuple[Array, Array]] = {}

    def column(self, j: int, power: int) -> tuple[Array, Array]:
        """Return the distinct distances in a column, to a power, and which one each pair has.

        Made in O(p log p) and kept.
        """
        if (j, power) not in self._columns:
            apart = to_host(self.rows.distances(j, power))[self.above]
            self._columns[j, power] = np.unique(apart, return_inverse=True)
        return self._columns[j, power]

    def matrix(self, vector: Array) -> Array:
        """Return a vector over pairs as a symmetric matrix."""
        out = np.empty((self.rows.rows, self.rows.rows))
        out[self.above] = out.T[self.above] = vector
        return out

    def outer(self, alpha: Array) -> Array:
        """Return the products of dual variables, those off the diagonal doubled."""
        first, second = self.above
        products = np.einsum("pc,pc->p", alpha[first], alpha[second])
        return np.where(first == second, products, 2 * products)


class Layer:
    r"""All products :math:`\prod_{j \in S} e^{-s_j \tau t_j}` with one factor :math:`\tau`.

    Parameters
    ----------
    pairs : Pairs
        The rows.
    sets : ProductFamily
        The sets of columns with their weights.
    law : WidthLaw
        The law of the widths.
    shape : str
        Which kernels these are part of: Gaussian and Laplace ones are one layer each, radial ones
        a mixture of layers of squared distances.
    scale : float
        The factor :math:`\tau`.
    share : float
        The probability of the layer.
    """

    def __init__(
        self,
        pairs: Pairs,
        sets: ProductFamily,
        law: WidthLaw,
        shape: str,
        scale: float,
        share: float,
    ) -> None:
        self.pairs, self.sets, self.law = pairs, sets, law
        self.shape, self.scale, self.share = shape, scale, share

    @property
    def power(self) -> int:
        """To which power distances are taken."""
        return 1 if self.shape == "laplace" else 2

    def column(self, j: int) -> tuple[Array, Array]:
        r"""Return the distinct values of :math:`\tau t_j`, and which one each pair has."""
        values, places = self.pairs.column(j, self.power)
        return self.scale * values, places

    def mean(self, j: int) -> Array:
        """Return the mean kernel of a column over all pairs."""
        values, places = self.column(j)
        return self.law.transform(values)[places]

    def total(self) -> Array:
        """Return the mean of all kernels, sets added up with their weights; O(p r D)."""
        means = [self.mean(j) for j in range(self.pairs.rows.count)]
        return sum_over_sets(np.stack(means), self.sets.rho)

    def total_between(self, other: WidthRows) -> Array:
        """Return the same between own rows and others, of shape (n, m)."""
        rows, law = self.pairs.rows, self.law
        apart = [to_host(rows.distances(j, self.power, other)) for j in range(rows.count)]
        return sum_over_sets(law.transform(self.scale * np.stack(apart)), self.sets.rho)

    @cached_property
    def means(self) -> GramStack:
        """The mean kernels of all columns, as matrices."""
        columns = range(self.pairs.rows.count)
        return GramStack(np.stack([self.pairs.matrix(self.mean(j)) for j in columns]))

    @cached_property
    def family(self) -> ProductFamily:
        """Products of the columns' mean kernels, which stand for all widths of a set."""
        return self.sets.on(self.means)

    def forget(self) -> None:
        """Let go of what draws have made."""
        for made in ("means", "family"):
            vars(self).pop(made, None)

    def column_masses(self, state: Array, product: Product, position: int) -> Array:
        r"""Return what the density of a column's width is made of, of shape (k, m).

        Parameters
        ----------
        state : ndarray of shape (k, p)
            :math:`\alpha\alpha^\top \odot \bigodot K_{l,s_l}` over the columns before this one.
        product : Product
            The set of columns.
        position : int
            Which column of the set; the mean kernels stand for those after it.

        Returns
        -------
        masses : ndarray of shape (k, m)
            M for each distinct distance t: the density is :math:`\langle M, e^{-st}\rangle`.
        """
        after = self.means.product(product[position + 1 :])
        weights = state * after[self.pairs.above]
        values, places = self.column(product[position])
        cells = places + len(values) * np.arange(len(weights))[:, None]
        sums = np.bincount(cells.ravel(), weights.ravel(), len(weights) * len(values))
        return sums.reshape(len(weights), len(values))

    def widths(self, outer: Array, product: Product, count: int, rng: np.random.Generator) -> Array:
        """Draw the widths of a set of columns given the set, of shape (count, S).

        One column after another, O(p) for each and each Newton step; all draws have the first
        column's density in common.
        """
        out = rng.random((count, len(product)))  # points, each replaced by the width it leads to
        height = max(1, BATCH_ENTRIES // max(1, len(outer)))
        for start in range(0, count, height):
            check()
            block = out[start : start + height]
            state = outer[None]
            for position, j in enumerate(product):
                values, places = self.column(j)
                masses = self.column_masses(state, product, position)
                block[:, position] = self.law.conditional(values, masses, block[:, position])
                kernels = np.exp(-block[:, position, None] * values)
                state = state * kernels[:, places]
        return out

    def draw(
        self, alpha: Array, outer: Array, count: int, rng: np.random.Generator
    ) -> list[tuple[Product, tuple[float, ...]]]:
        """Draw sets by the sampler of products of mean kernels, then their widths."""
        sets = self.family.at(alpha).draw(count, rng)
        drawn: list[tuple[Product, tuple[float, ...]]] = []
        for product, number in zip(self.sets.products(sets.indices), sets.counts, strict=True):
            widths = self.widths(outer, product, int(number), rng).tolist()
            drawn += [(product, tuple(row)) for row in widths]
        return drawn


def sum_over_sets(kernels: Array, rho: Array) -> Array:
    r"""Return :math:`\sum_d \rho_d^{-2} E_d` of kernels stacked along the first axis."""
    parts = zip(elementary(kernels, len(rho) - 1), rho.tolist(), strict=True)
    return np.sum([part / scale**2 for part, scale in parts], axis=0)
