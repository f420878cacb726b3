"""Families of all products of up to D base kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Index, Product
from ..backend import approximately, beside, dense, filled, on_host, times
from ..bases import BaseKernels, Cross
from ..bases.columns import all_products_of_columns
from ..bases.pairs import combine_pairs, inner_of_pairs, sum_of_tables
from ..deadline import check
from ..limits import BATCH_ENTRIES, LEAST_POLYNOMIAL_BYTES, LIST_BLOCK, POLYNOMIAL_BYTES
from .base import KernelFamily, as_numbers
from .index_sets import IndexSet, Monomials, elementary, indices_by_degree, without
from .pricing import Pricer, ProductPricer
from .product_field import ProductField


class SharedList(list[Index]):
    """A list of kernels that is kept as long as somebody uses it."""


SHARED_LISTS: WeakValueDictionary[tuple[int, int, bool], SharedList] = WeakValueDictionary()
"""Lists of all products, by the number of base kernels, the degree and whether factors differ. A
list of millions takes hundreds of megabytes, and all folds have the same one."""


class ProductFamily(KernelFamily):
    r"""All products of at most ``degree`` base kernels, never enumerated unless that is cheap.

    Parameters
    ----------
    bases : FeatureBlocks or GramStack
        The base kernels on the training rows.
    degree : int
        Largest degree D; degree 0 is the constant kernel.
    index_set : IndexSet, default=Monomials()
        :class:`Tuples`, :class:`Monomials` or :class:`Interactions`.
    rho : sequence of float, default=ones
        Scale factor :math:`\rho_d` of each degree 0..D; a larger one makes kernels of that degree
        more expensive.
    names : sequence of str, default=x0, x1, ...
        Names of the base kernels.
    enumerate_below : float, optional
        All gradients are computed, rather than a tree of masses, where that takes at most this
        number of multiplications. By default where it takes milliseconds, or less than the tree
        would: with many rows, n kernels cost less than an n x n matrix.

    Notes
    -----
    Cost of :meth:`at` followed by draws, with n rows, R features in all and q outputs:

    * features: O(n R^2 q) for each distinct prefix with two kernels to go, O(n R q) with one,
      and O(k n^2 R q) with k >= 3;
    * Gram matrices: O(k r n^2) for each distinct prefix with k to go.

    Draws that share a prefix share its cost.
    """

    def __init__(
        self,
        bases: BaseKernels,
        degree: int,
        index_set: IndexSet | None = None,
        rho: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        enumerate_below: float | None = None,
    ) -> None:
        super().__init__(bases, names)
        self.degree, self.enumerate_below = degree, enumerate_below
        self.index_set: IndexSet = Monomials() if index_set is None else index_set
        self.rho = np.ones(degree + 1) if rho is None else as_numbers(rho)
        if self.rho.shape != (degree + 1,) or not np.all((self.rho > 0) & np.isfinite(self.rho)):
            raise ValueError(
                f"rho must hold degree + 1 = {degree + 1} positive numbers, one for each degree "
                f"0..{degree}; got {rho!r}. Use rho=None for all ones."
            )

    @property
    def counts(self) -> list[int]:
        """Number of kernels of each degree."""
        return [self.index_set.count(self.bases.count, d) for d in range(self.degree + 1)]

    @property
    def size(self) -> int:
        """Exact number of kernels in the index set."""
        return sum(self.index_set.count(self.bases.count, d) for d in range(self.degree + 1))

    @property
    def distinct(self) -> int:
        """Number of distinct kernels: the number of weights after merging."""
        kind = self.index_set if self.index_set.strict else Monomials()
        return sum(kind.count(self.bases.count, d) for d in range(self.degree + 1))

    @property
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""
        return approximately(self.distinct) * self.bases.mass_work(self.degree)

    def pricer(self, row_weights: Array | None, bits: int, centred: bool) -> Pricer:
        """Return what finds the products of largest gradient, by matrix products of features."""
        if self.explicit:
            return ProductPricer(self, row_weights, bits, centred)
        return super().pricer(row_weights, bits, centred)

    def at(self, alpha: Array) -> ProductField:
        """Return the gradient over the family at a dual point of shape (n, c)."""
        return ProductField(self, alpha)

    @cached_property
    def tables(self) -> list[Array]:
        """All distinct indices of each degree, of shape (N, d)."""
        made = indices_by_degree(self.bases.count, self.index_set.strict)
        return list(islice(made, self.degree + 1))

    @cached_property
    def table_multiplicities(self) -> list[Array]:
        """How many members of the index set each row of ``tables`` stands for."""
        if self.index_set.merged:
            return [self.index_set.multiplicity(table) for table in self.tables]
        return [np.ones(1)] * (self.degree + 1)

    def equal_weights(self, nu: float) -> Array:
        r"""Return equal weights of the members of the set, merged: :math:`(m_i/N)^{1/\nu}`."""
        parts = zip(self.table_multiplicities, self.tables, strict=True)
        copies = np.concatenate([np.broadcast_to(repeats, len(table)) for repeats, table in parts])
        return np.asarray((copies / approximately(self.size)) ** (1 / nu))

    def indices(self) -> list[Index]:
        """Return all distinct kernels, by degree, then in lexicographic order.

        Families of the same products share one list, which must not be changed.
        """
        key = self.bases.count, self.degree, self.index_set.strict
        known = SHARED_LISTS.get(key)
        if known is None:
            listed = SharedList([()])
            for table in self.tables[1:]:
                for start in range(0, len(table), LIST_BLOCK):
                    check()
                    part = table[start : start + LIST_BLOCK]
                    listed += zip(*(column.tolist() for column in part.T), strict=True)
            known = SHARED_LISTS[key] = listed
        return known

    @property
    def in_pairs(self) -> bool:
        """Whether kernels are at most pairs of columns in memory: sums are matrix products."""
        single = self.explicit and self.bases.single and on_host(self.bases.matrix)
        return self.degree <= 2 and single

    def gram_of_all(self, theta: Array) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` over all kernels, in listed order."""
        if not (self.explicit and self.bases.single):
            return super().gram_of_all(theta)
        return sum_of_tables(self.bases.matrix, self.tables, self._by_degree(theta))

    def gram_of_some(self, positions: Array, theta: Array) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` over some of all kernels.

        They are given by their ascending positions in the list, which is not made.
        """
        ends = np.cumsum([0, *map(len, self.tables)])
        cuts = np.searchsorted(positions, ends[1:-1])
        places = zip(np.split(positions, cuts), ends.tolist(), strict=False)
        rows = [part - end for part, end in places]
        tables = [table[own] for table, own in zip(self.tables, rows, strict=True)]
        shares = [
            part * np.broadcast_to(square, len(table))[own]
            for part, square, table, own in zip(
                np.split(theta, cuts), self._squares, self.tables, rows, strict=True
            )
        ]
        return sum_of_tables(self.bases.matrix, tables, shares)

    def combine_all(self, coefficients: Array) -> Array:
        """Return the features of all kernels times coefficients, by tables of pairs if it can."""
        if not self.in_pairs:
            return super().combine_all(coefficients)
        ends = [1, 1 + self.bases.count][: self.degree]
        parts = [
            part * np.sqrt(square)[:, None] if np.any(square != 1) else part
            for part, square in zip(np.split(coefficients, ends), self._squares, strict=True)
        ]
        out = np.zeros((self.rows, coefficients.shape[1])) + parts[0]
        if self.degree > 0:
            out += times(self.bases.matrix, parts[1])
        if self.degree > 1:
            out += combine_pairs(dense(self.bases.matrix), parts[2], self.index_set.strict)
        return out

    def in_listed_order(self, indices: Sequence[Any], coefficients: Array) -> Array | None:
        """Return coefficients in the order of the list, if all kernels are meant and they are many.

        In any order: the kernels of a model are in that of their shares.
        """
        many = len(indices) == self.distinct and self.rows * len(indices) > BATCH_ENTRIES
        if not (many and self.in_pairs):
            return None
        ordered = np.empty_like(coefficients)
        ordered[self._positions(indices)] = coefficients
        return ordered

    def _positions(self, indices: Sequence[Any]) -> Array:
        """Return where kernels of at most two factors are in the list of all."""
        degrees = np.fromiter(map(len, indices), dtype=np.int64, count=len(indices))
        factors = np.fromiter(chain(chain.from_iterable(indices), [0]), dtype=np.int64)
        ends = np.cumsum(degrees)
        first, last = factors[ends - degrees], factors[ends - 1]
        count, strict = self.bases.count, int(self.index_set.strict)
        # Pairs whose first factor is below i: count - strict of 0, one less of 1, and so on.
        before = first * (count - strict) - first * (first - 1) // 2
        pairs = 1 + count + before + last - first - strict
        return np.where(degrees == 2, pairs, np.where(degrees == 1, 1 + first, 0))

    def inner_of_all(self, alpha: Array) -> Array | None:
        """Return inner products of all features with dual variables, by tables of pairs."""
        if not self.in_pairs:
            return None
        parts = [alpha.sum(axis=0)[None]]
        if self.degree > 0:
            parts.append(times(self.bases.matrix.T, alpha))
        if self.degree > 1:
            features = dense(self.bases.matrix)
            parts.append(inner_of_pairs(features, alpha, self.index_set.strict))
        for part, square in zip(parts, self._squares, strict=True):
            if np.any(square != 1):
                part *= np.sqrt(square)[:, None]
        return np.concatenate(parts)

    @property
    def _squares(self) -> list[Array]:
        r"""The weights :math:`\rho_i^{-2}` of each degree: one, or one for each kernel."""
        weight = self.index_set.weight
        parts = zip(self.table_multiplicities, self.rho, strict=True)
        return [np.asarray(weight(m)) / rho**2 for m, rho in parts]

    def _by_degree(self, theta: Array) -> list[Array]:
        r"""Return :math:`\theta_i \rho_i^{-2}` of all kernels, degree by degree."""
        ends = np.cumsum([len(table) for table in self.tables])
        parts = zip(np.split(theta, ends[:-1]), self._squares, strict=True)
        return [part * square for part, square in parts]

    def all_features(self) -> tuple[Array, Array]:
        """Return the features of all kernels, from tables of indices where these are enough."""
        if not self.bases.single:
            return super().all_features()
        columns = all_products_of_columns(self.bases.matrix, self.tables)
        parts = zip(self._squares, self.tables, strict=True)
        squares = [np.broadcast_to(square, len(table)) for square, table in parts]
        factors = np.sqrt(np.concatenate(squares))
        if np.any(factors != 1):
            columns *= beside(factors, columns)
        return columns, np.arange(columns.shape[1])

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw uniformly from the index set; return kernels and their probabilities."""
        shares = np.array([approximately(number) for number in self.counts])
        degrees = rng.choice(self.degree + 1, size=count, p=shares / shares.sum())
        draw = self.index_set.uniform
        draws: list[Index] = [draw(self.bases.count, int(d), rng) for d in degrees]
        return draws, self.multiplicities(draws) / approximately(self.size)

    def multiplicities(self, indices: Sequence[Any]) -> Array:
        """Return how many members of the index set each kernel stands for."""
        out, degrees = np.ones(len(indices)), np.array(list(map(len, indices)))
        for degree in np.unique(degrees).tolist() if self.index_set.merged else ():
            which = np.flatnonzero(degrees == degree)
            table = np.array([indices[i] for i in which.tolist()], dtype=np.int64)
            out[which] = self.index_set.multiplicity(table.reshape(len(which), degree))
        return out

    def weights(self, indices: Sequence[Any]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""
        merged: Array | float = 1.0
        if self.index_set.merged:
            merged = self.index_set.weight(self.multiplicities(indices))
        degrees = np.fromiter(map(len, indices), dtype=int, count=len(indices))
        return merged / self.rho[degrees] ** 2

    def unmerged_weights(self, indices: Sequence[Any]) -> Array:
        r"""Return :math:`\rho_d^{-2}` of the kernels' degrees."""
        return self.rho[list(map(len, indices))] ** -2.0

    def on(self, bases: BaseKernels) -> Self:
        """Return the same family on other rows."""
        return type(self)(
            bases, self.degree, self.index_set, self.rho, self.names, self.enumerate_below
        )

    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, :math:`\sum_d \rho_d^{-2} Q_d`: the optimum of p = 2.

        Between own rows and those of ``other``, by default own rows. For ordered tuples this
        holds with :math:`\nu = \infty`.
        """
        if other is not None or len(self.row_blocks) == 1:
            return self._summed(self.bases.between((other or self).bases))
        out = filled(0.0, (self.rows, self.rows), self.bases.matrix)
        for rows in self.row_blocks:
            out[rows, :] = self._summed(self.bases.cross_rows(rows))
        return out

    def _summed(self, cross: Cross) -> Array:
        r"""Return :math:`\sum_d \rho_d^{-2} Q_d` between the rows of a cross."""
        parts = zip(self.index_set.polynomials(cross, self.degree), self.rho.tolist(), strict=True)
        first, *rest = [part * rho**-2 for part, rho in parts]
        return sum(rest, first)

    @cached_property
    def polynomials(self) -> list[Array]:
        """Sums of all kernels of each degree on own rows, kept."""
        return self.index_set.polynomials(self.bases.between(self.bases), self.degree)

    @cached_property
    def total(self) -> Array:
        """The sum of all kernels on own rows, kept."""
        return self.closed()

    @cached_property
    def row_blocks(self) -> list[slice]:
        """Rows in blocks for which the symmetric polynomials fit in a budget."""
        # The polynomials of a block and what they are made from: four matrices a degree.
        budget = int(min(POLYNOMIAL_BYTES, max(LEAST_POLYNOMIAL_BYTES, self.room / 2)))
        return self.bases.row_blocks(budget // max(1, 4 * self.degree))

    @cached_property
    def diagonals(self) -> tuple[Array, list[Array], list[Array]]:
        """The base kernels' diagonals, of shape (r, n), their power sums and polynomials."""
        diagonals = self.bases.diagonals()
        powers = [np.sum(diagonals**k, axis=0) for k in range(self.degree + 1)]
        return diagonals, powers, elementary(diagonals, self.degree)

    def completions(
        self, remaining: int, prefix: Product
    ) -> Iterator[tuple[slice, list[Array | None]]]:
        """Yield, by blocks of rows, the matrices that the next kernel is contracted with.

        Kept if they fit in a fixed budget, else made anew in every call from O(n R) memory.
        """
        for rows in self.row_blocks:
            cross = self.bases.cross_rows(rows)
            if len(self.row_blocks) == 1:
                polynomials = self.polynomials[:remaining]
            else:
                polynomials = self.index_set.polynomials(cross, remaining - 1)
            if self.index_set.strict:
                for j in prefix:
                    polynomials = without(polynomials, cross.kernel(j))
            yield rows, self.index_set.move_weights(polynomials, remaining)
