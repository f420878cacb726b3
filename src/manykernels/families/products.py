"""Families of all products of up to D base kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..arrays import Array, Index
from ..bases import Cross, CrossBlocks, FeatureBlocks, GramStack
from .base import Draw, GradientField, KernelFamily, as_numbers, choose, nonnegative
from .index_sets import (
    IndexSet,
    Monomials,
    all_indices,
    elementary,
    leave_one_out,
    unsigned_without,
    without,
)

ENUMERATION_WORK = 2e7  # some milliseconds: less than the dual solution that comes with it
ENUMERATION_SIZE = 2_000_000  # kernels whose indices are listed

CANCELLATION = 1e-7  # largest share of a table of masses that may be rounding

_CACHE_BYTES = 256 * 2**20  # for the symmetric polynomials, n x n each


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
        All gradients are computed, rather than a tree of masses, where that takes at most so
        many multiplications. By default where it takes milliseconds, or less than the tree
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
        bases: FeatureBlocks | GramStack,
        degree: int,
        index_set: IndexSet | None = None,
        rho: Sequence[float] | Array | None = None,
        names: Sequence[str] | None = None,
        enumerate_below: float | None = None,
    ) -> None:
        super().__init__(bases, names)
        self.degree, self.enumerate_below = degree, enumerate_below
        self.index_set: IndexSet = Monomials() if index_set is None else index_set
        self.rho = np.ones(degree + 1) if rho is None else as_numbers(rho)
        if self.rho.shape != (degree + 1,) or not np.all(self.rho > 0):
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
        return sum(self.counts)

    @property
    def distinct(self) -> int:
        """Number of distinct kernels: the number of weights after merging."""
        kind = self.index_set if self.index_set.strict else Monomials()
        return sum(kind.count(self.bases.count, d) for d in range(self.degree + 1))

    @property
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""
        if isinstance(self.bases, FeatureBlocks):
            widest = float(self.bases.sizes.mean() ** self.degree)
            return float(self.distinct) * self.rows * widest
        return float(self.distinct) * self.rows**2

    @property
    def tree_work(self) -> float:
        """Multiplications that some fifty draws by the tree of masses take, about."""
        contractions = sum(range(3, self.degree + 1)) * self.rows**2
        if isinstance(self.bases, FeatureBlocks):
            width = self.bases.features.shape[1]
            pairs = 50 * self.rows * width**2 if self.degree > 2 else 0
            return float(contractions) * width + pairs
        return float(contractions + 50 * self.rows**2) * self.bases.count

    def at(self, alpha: Array) -> ProductField:
        """Return the gradient over the family at a dual point of shape (n, c)."""
        return ProductField(self, alpha)

    @cached_property
    def tables(self) -> list[Array]:
        """All distinct indices of each degree, of shape (N, d)."""
        strict = self.index_set.strict
        return [all_indices(self.bases.count, d, strict) for d in range(self.degree + 1)]

    @cached_property
    def table_multiplicities(self) -> list[Array]:
        """How many members of the index set each row of ``tables`` stands for."""
        if self.index_set.merged:
            return [self.index_set.multiplicity(table) for table in self.tables]
        return [np.ones(1)] * (self.degree + 1)

    def indices(self) -> list[Index]:
        """Return all distinct kernels, by degree, then in lexicographic order."""
        return [tuple(row) for table in self.tables for row in table.tolist()]

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw uniformly from the index set; return kernels and their probabilities."""
        shares = np.array([float(number) for number in self.counts])
        degrees = rng.choice(self.degree + 1, size=count, p=shares / shares.sum())
        draws = [self.index_set.uniform(self.bases.count, int(d), rng) for d in degrees]
        return draws, self.multiplicities(draws) / float(self.size)

    def multiplicities(self, indices: Sequence[Index]) -> Array:
        """Return how many members of the index set each kernel stands for."""
        out = np.ones(len(indices))
        for which, table in by_degree(indices):
            out[which] = self.index_set.multiplicity(table)
        return out

    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""
        degrees = np.fromiter((len(index) for index in indices), dtype=int, count=len(indices))
        return self.index_set.weight(self.multiplicities(indices)) / self.rho[degrees] ** 2

    def on(self, bases: FeatureBlocks | GramStack) -> Self:
        """Return the same family on other rows."""
        return type(self)(
            bases, self.degree, self.index_set, self.rho, self.names, self.enumerate_below
        )

    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, :math:`\sum_d \rho_d^{-2} Q_d`: the optimum of p = 2.

        Between own rows and those of ``other``, by default own rows. For ordered tuples this
        holds with :math:`\nu = \infty`.
        """
        cross: Cross
        if isinstance(self.bases, FeatureBlocks):
            right = self.bases if other is None else other.bases
            assert isinstance(right, FeatureBlocks)
            cross = CrossBlocks(self.bases, right)
        else:
            cross = self.bases
        polynomials = self.index_set.polynomials(cross, self.degree)
        parts = [part / rho**2 for part, rho in zip(polynomials, self.rho, strict=True)]
        return np.sum(parts, axis=0)

    @cached_property
    def row_blocks(self) -> list[slice]:
        """Rows in blocks for which the symmetric polynomials fit in a fixed budget."""
        # The polynomials of a block and what they are made from: three matrices a degree.
        return self.bases.row_blocks(_CACHE_BYTES // max(1, 3 * self.degree))

    @cached_property
    def _cached_polynomials(self) -> list[Array]:
        whole = self.bases.cross_rows(slice(0, self.rows))
        return self.index_set.polynomials(whole, self.degree - 1)

    @cached_property
    def diagonals(self) -> tuple[Array, list[Array], list[Array]]:
        """The base kernels' diagonals, of shape (r, n), their power sums and polynomials."""
        diagonals = self.bases.diagonals()
        powers = [np.sum(diagonals**k, axis=0) for k in range(self.degree + 1)]
        return diagonals, powers, elementary(diagonals, self.degree)

    def completions(
        self, remaining: int, prefix: Index
    ) -> Iterator[tuple[slice, list[Array | None]]]:
        """Yield, by blocks of rows, the matrices that the next kernel is contracted with.

        Kept if they fit in a fixed budget, else made anew in every call from O(n R) memory.
        """
        for rows in self.row_blocks:
            whole = len(self.row_blocks) == 1
            cross = self.bases.cross_rows(rows)
            polynomials = (
                self._cached_polynomials[:remaining]
                if whole
                else self.index_set.polynomials(cross, remaining - 1)
            )
            if self.index_set.strict:
                for j in prefix:
                    polynomials = without(polynomials, cross.kernel(j))
            yield rows, self.index_set.move_weights(polynomials, remaining)


class ProductField(GradientField):
    """The gradient over a product family at one dual point."""

    family: ProductFamily

    def __init__(self, family: ProductFamily, alpha: Array) -> None:
        super().__init__(family, alpha)
        self._tables: dict[int, Array] = {}

    @property
    def enumerated(self) -> bool:
        """Whether the field computes all gradients rather than a tree of masses."""
        family, outputs = self.family, self.alpha.shape[1]
        limit = family.enumerate_below
        if limit is None:
            limit = max(ENUMERATION_WORK, family.tree_work * outputs)
            limit = limit if family.distinct <= ENUMERATION_SIZE else 0.0
        return family.enumeration_work * outputs <= limit

    @cached_property
    def by_degree(self) -> Array:
        """Mass of the index set at each degree."""
        if self.enumerated:
            sums = [float(part.sum()) for part in self._members]
        else:
            sums = [self.bases.total(self.start)]
            for d in range(1, self.family.degree + 1):
                paths = self.family.index_set.paths(d)
                sums.append(float(self.moves(self.start, d, ()).sum()) / paths)
        return np.array(sums) / self.family.rho**2

    @property
    def mass(self) -> float:
        """Sum of the gradients over the index set."""
        return float(self.by_degree.sum())

    @cached_property
    def _members(self) -> list[Array]:
        """For each degree, the mass of each distinct kernel times its multiplicity."""
        repeats = self.family.table_multiplicities
        return [masses * m for masses, m in zip(self._masses, repeats, strict=True)]

    @cached_property
    def _masses(self) -> list[Array]:
        r"""Return :math:`\alpha^\top K_v \alpha` for all distinct kernels, by degree."""
        strict = self.family.index_set.strict
        out = [np.array([self.bases.total(self.start)])]
        if self.family.degree >= 1:
            out.append(self.bases.singles(self.start))
        for d in range(2, self.family.degree + 1):
            parts = [np.empty(0)]
            for prefix in all_indices(self.bases.count, d - 2, strict).tolist():
                state = self.start
                for j in prefix:
                    state = self.bases.extend(state, j)
                first = prefix[-1] + int(strict) if prefix else 0
                if first < self.bases.count:
                    parts.append(self.bases.pairs(state, first, strict))
            out.append(np.concatenate(parts))
        return [nonnegative(part) for part in out]

    def all(self) -> Array:
        """Return every gradient in the order of the family's ``indices()``.

        O(n) for each kernel as matrix products if kernels have features, else O(n^2).
        """
        weight = self.family.index_set.weight
        parts = zip(self._masses, self.family.table_multiplicities, self.family.rho, strict=True)
        return np.concatenate([masses * weight(m) / rho**2 for masses, m, rho in parts])

    def moves(self, state: Any, remaining: int, prefix: Index) -> Array:
        """Return the masses of the next move, of shape (r, L): column l takes a kernel l + 1 times.

        Their sum is the mass of all completions times ``paths(remaining)``.
        """
        if not prefix and remaining in self._tables:
            return self._tables[remaining]
        table = self._raw_moves(state, remaining, prefix)
        if self.family.index_set.strict:
            table[list(prefix)] = 0.0
        table = nonnegative(table)
        if not prefix:
            self._tables[remaining] = table
        return table

    def _raw_moves(self, state: Any, remaining: int, prefix: Index) -> Array:
        """Return the masses of the next move as they are computed, kernels taken included."""
        kind = self.family.index_set
        if remaining == 1:
            return self.bases.singles(state)[:, None]
        if remaining == 2 and self.bases.pairs_are_cheap:
            excluded = prefix if kind.strict else ()
            return kind.pair_moves(*self.bases.pair_sums(state, excluded))
        if kind.strict and self._cancels(state, remaining, prefix):
            return self._careful_moves(state, remaining, prefix)
        table = np.zeros(())
        for rows, weights in self.family.completions(remaining, prefix):
            table = table + self.bases.contract(state, weights, rows)
        return kind.combine(table)

    def _cancels(self, state: Any, remaining: int, prefix: Index) -> bool:
        """Tell whether leaving kernels out by subtraction may cost too many digits.

        On the diagonals alone, which are cheap: how much larger are the sums without signs,
        which bound the rounding errors, than the sums without the kernels left out?
        """
        diagonals, powers, whole = self.family.diagonals
        sums = whole[:remaining]
        for j in prefix:
            sums = unsigned_without(sums, diagonals[j])
        weight = self.bases.state_diagonal(state)
        rounding = sum(
            float(np.sum(weight * powers[k] * sums[remaining - k])) for k in range(1, remaining + 1)
        )
        kept = whole
        if prefix:
            kept = elementary(np.delete(diagonals, prefix, axis=0), remaining)
        truth = remaining * float(np.sum(weight * kept[remaining]))
        return bool(np.finfo(float).eps * self.bases.rows * rounding > CANCELLATION * truth)

    def _careful_moves(self, state: Any, remaining: int, prefix: Index) -> Array:
        """Return the moves with distinct kernels without any subtraction; O(k r log r n^2)."""
        table = np.zeros((self.bases.count, 1))
        free = [j for j in range(self.bases.count) if j not in prefix]
        for rows in self.family.row_blocks:
            cross = self.bases.cross_rows(rows)
            none = elementary(np.empty((0, *cross.shape)), remaining - 1)
            for j, others in leave_one_out(cross, free, none):
                grown = self.bases.extend(state, j)
                table[j] += self.bases.weighted_total(grown, others[remaining - 1], rows)
        return table

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw ``count`` members of the index set in proportion to their gradient."""
        drawn: Counter[Index] = Counter()
        if self.mass > 0:
            degrees, counts = choose(self.by_degree, count, rng)
            for degree, number in zip(degrees.tolist(), counts.tolist(), strict=True):
                if self.enumerated:
                    rows, repeats = choose(self._members[degree], number, rng)
                    table = self.family.tables[degree][rows].tolist()
                    drawn.update(
                        {tuple(row): k for row, k in zip(table, repeats.tolist(), strict=True)}
                    )
                else:
                    self._descend(self.start, degree, (), number, rng, drawn)
        indices = list(drawn)
        multiplicity = self.family.multiplicities(indices)
        ratios = self.mass * self.family.index_set.weight(multiplicity) / multiplicity
        counts = np.fromiter(drawn.values(), dtype=np.int64, count=len(indices))
        # A merged kernel weighs at most its multiplicity, so no ratio exceeds the mass.
        return Draw(indices, counts, self.gradients(indices), ratios, self.mass)

    def _descend(
        self,
        state: Any,
        remaining: int,
        prefix: Index,
        count: int,
        rng: np.random.Generator,
        drawn: Counter[Index],
    ) -> None:
        """Complete a prefix ``count`` times; draws that agree so far share the work."""
        if remaining == 0:
            drawn[tuple(sorted(prefix))] += count
            return
        table = self.moves(state, remaining, prefix)
        cells, counts = choose(table.ravel(), count, rng)
        for cell, number in zip(cells.tolist(), counts.tolist(), strict=True):
            j, power = divmod(cell, table.shape[1])
            after = remaining - power - 1
            grown = state
            for _ in range(power + 1 if after else 0):
                grown = self.bases.extend(grown, j)
            self._descend(grown, after, prefix + (j,) * (power + 1), number, rng, drawn)


def by_degree(indices: Sequence[Index]) -> list[tuple[Array, Array]]:
    """Group indices by degree; return the positions and the (N, d) table of each group."""
    degrees = np.fromiter((len(index) for index in indices), dtype=int, count=len(indices))
    groups = []
    for degree in np.unique(degrees):
        which = np.flatnonzero(degrees == degree)
        table = np.array([indices[i] for i in which.tolist()], dtype=np.int64).reshape(
            len(which), degree
        )
        groups.append((which, table))
    return groups
