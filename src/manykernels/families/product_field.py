"""The gradient over a product family, and exact draws in proportion to it."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Index, Product
from ..backend import times
from ..deadline import check
from ..limits import ENUMERATION_SIZE, ENUMERATION_WORK, ROUGH_ROWS
from .base import Draw, GradientField, choose, nonnegative
from .index_sets import elementary, leave_one_out, nothing_yet, without

if TYPE_CHECKING:
    from .products import ProductFamily

CANCELLATION = 1e-7
"""Largest share of rounding errors in a table of masses. Set by judgement, not measured."""

FEW_KERNELS = 32
"""Number of base kernels of one feature up to which products of three and more are made one by one:
the pairs behind a prefix are too few to be worth a matrix product. Set by judgement."""


class ProductField(GradientField):
    """The gradient over a product family at one dual point."""

    family: ProductFamily

    @property
    def enumerated(self) -> bool:
        """Whether the field computes all gradients rather than a tree of masses."""
        family, outputs = self.family, self.alpha.shape[1]
        limit = family.enumerate_below
        if limit is None:
            limit = max(ENUMERATION_WORK, family.bases.tree_work(family.degree) * outputs)
            limit = limit if family.distinct <= ENUMERATION_SIZE else 0.0
        return family.enumeration_work * outputs <= limit

    @cached_property
    def by_degree(self) -> Array:
        """Mass of the index set at each degree."""
        if self.enumerated:
            sums = [float(part.sum()) for part in self._members]
        elif not self.bases.explicit:
            whole = slice(0, self.bases.rows)
            sums = [
                self.bases.weighted_total(self.start, part, whole)
                for part in self.family.polynomials
            ]
        else:
            # Sums of squares, unlike the quadratic forms of n x n matrices, keep their digits.
            sums = [self.bases.total(self.start)]
            for d in range(1, self.family.degree + 1):
                paths = self.family.index_set.paths(d)
                sums.append(float(self.moves(self.start, d, ()).sum()) / paths)
        return nonnegative(np.array(sums)) / self.family.rho**2

    @property
    def mass(self) -> float:
        """Sum of the gradients over the index set."""
        return float(self.by_degree.sum())

    @property
    def rough_mass(self) -> float:
        """The mass; from the sum of all kernels, O(n^2), unless draws have computed it already."""
        if "by_degree" in vars(self) or self.family.rows > ROUGH_ROWS:
            return self.mass
        return float(np.sum(self.alpha * times(self.family.total, self.alpha)))

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
        before: list[int] = []
        states = [self.start]
        for d in range(2, self.family.degree + 1):
            if d > 2 and self.bases.single and self.bases.count <= FEW_KERNELS:
                products = [tuple(row) for row in self.family.tables[d].tolist()]
                out.append(self.bases.masses(self.start, products))
                continue
            parts = [np.empty(0)]
            for prefix in self.family.tables[d - 2].tolist():
                check()
                # In lexicographic order most of a prefix is that of the one before.
                pairs = enumerate(zip(prefix, before, strict=False))
                same = next((i for i, (one, last) in pairs if one != last), len(before))
                del states[same + 1 :]
                for j in prefix[same:]:
                    states.append(self.bases.extend(states[-1], j))
                before, state = prefix, states[-1]
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

    @cached_property
    def _tables(self) -> dict[int, Array]:
        """Masses of the first move of a product, by its degree, once they are known."""
        return {}

    def moves(self, state: Any, remaining: int, prefix: Product) -> Array:
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

    def _raw_moves(self, state: Any, remaining: int, prefix: Product) -> Array:
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

    def _cancels(self, state: Any, remaining: int, prefix: Product) -> bool:
        """Tell whether leaving kernels out by subtraction may cost too many digits.

        On the diagonals alone, which are cheap: how much larger are the sums without signs,
        which bound the rounding errors, than the sums without the kernels left out?
        """
        diagonals, powers, whole = self.family.diagonals
        sums = whole[:remaining]
        for j in prefix:
            sums = without(sums, -diagonals[j])  # the minus turns all signs to plus
        weight = self.bases.state_diagonal(state)
        rounding = sum(
            float(np.sum(weight * powers[k] * sums[remaining - k])) for k in range(1, remaining + 1)
        )
        kept = whole
        if prefix:
            kept = elementary(np.delete(diagonals, prefix, axis=0), remaining)
        truth = remaining * float(np.sum(weight * kept[remaining]))
        return bool(np.finfo(float).eps * self.bases.rows * rounding > CANCELLATION * truth)

    def _careful_moves(self, state: Any, remaining: int, prefix: Product) -> Array:
        """Return the moves with distinct kernels without any subtraction; O(k r log r n^2)."""
        table = np.zeros((self.bases.count, 1))
        free = [j for j in range(self.bases.count) if j not in prefix]
        for rows in self.family.row_blocks:
            cross = self.bases.cross_rows(rows)
            none = nothing_yet(cross, remaining - 1)
            for j, others in leave_one_out(cross, free, none):
                check()
                grown = self.bases.extend(state, j)
                table[j] += self.bases.weighted_total(grown, others[remaining - 1], rows)
        return table

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw ``count`` members of the index set in proportion to their gradient."""
        drawn: Counter[Product] = Counter()
        if self.mass > 0:
            degrees, counts = choose(self.by_degree, count, rng)
            for degree, number in zip(degrees.tolist(), counts.tolist(), strict=True):
                if self.enumerated:
                    rows, repeats = choose(self._members[degree], number, rng)
                    table = self.family.tables[degree][rows].tolist()
                    drawn.update(dict(zip(map(tuple, table), repeats.tolist(), strict=True)))
                else:
                    drawn.update(self._descend(self.start, degree, (), number, rng))
        indices: list[Index] = list(drawn)
        multiplicity = self.family.multiplicities(indices)
        ratios = self.mass * self.family.index_set.weight(multiplicity) / multiplicity
        counts = np.fromiter(drawn.values(), dtype=np.int64, count=len(indices))
        # A merged kernel weighs at most its multiplicity, so no ratio exceeds the mass.
        return Draw(indices, counts, self.gradients(indices), ratios, self.mass)

    def _descend(
        self, state: Any, remaining: int, prefix: Product, count: int, rng: np.random.Generator
    ) -> Counter[Product]:
        """Complete a prefix ``count`` times; draws that agree so far share the work."""
        if remaining == 0:
            return Counter({tuple(sorted(prefix)): count})
        check()
        drawn: Counter[Product] = Counter()
        table = self.moves(state, remaining, prefix)
        cells, counts = choose(table.ravel(), count, rng)
        for cell, number in zip(cells.tolist(), counts.tolist(), strict=True):
            j, power = divmod(cell, table.shape[1])
            after = remaining - power - 1
            grown = state
            for _ in range(power + 1 if after else 0):
                grown = self.bases.extend(grown, j)
            drawn.update(self._descend(grown, after, prefix + (j,) * (power + 1), number, rng))
        return drawn
