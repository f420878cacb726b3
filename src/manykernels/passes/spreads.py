"""How much the kernels of a family vary over rows in parts; one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks
from ..families import KnownSpreads, StandardizedFamily
from ..families.pricing.spreads import inverse
from ..families.standardized import LEAST_SPREAD
from .sums import Block, Recipe, Totals, inner_tables


@dataclass(frozen=True)
class SquareSums:
    """Weighted sums of features and of their squares, in tables or in one row."""

    features: tuple[Array, ...]
    squares: tuple[Array, ...]

    def __add__(self, other: SquareSums) -> SquareSums:
        return SquareSums(
            tuple(a + b for a, b in zip(self.features, other.features, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class TableSpreads:
    """One over the spreads of all products, in a table of d axes for each degree d."""

    tables: Sequence[Array]

    def inverse(self, indices: Sequence[Index]) -> Array:
        """Return one over the spreads of kernels."""
        return np.array([float(self.tables[len(own)][own]) for own in indices])  # type: ignore

    def only(self, indices: Sequence[Index]) -> KnownSpreads:
        """Return the same of given kernels."""
        return KnownSpreads(list(indices), self.inverse(indices))


def standardized(parts: Totals, recipe: Recipe, listed: bool) -> Recipe:
    """Return a recipe whose kernels are divided by their spreads over the rows; one pass.

    ``listed`` tells whether all kernels can be listed; else their degree is three at most.
    """
    family = recipe.products
    starts = family.blocks.offsets[:-1]
    found: SquareSums = parts.total(listed_sums if listed else table_sums, recipe)
    pairs = zip(found.squares, found.features, strict=True)
    spreads: KnownSpreads | TableSpreads
    if listed:
        ((squares, sums),) = pairs
        owners, count = family.owners(family.indices()), family.distinct
        means = np.bincount(owners, sums**2, count) * recipe.intercept
        values = inverse(np.bincount(owners, squares, count), means, LEAST_SPREAD)
        spreads = KnownSpreads(list(family.indices()), values)
    else:
        tables = []
        for degree, (squares, sums) in enumerate(pairs):
            means = sums**2 * recipe.intercept
            for axis in range(degree):
                squares = np.add.reduceat(squares, starts, axis=axis)
                means = np.add.reduceat(means, starts, axis=axis)
            tables.append(inverse(squares, means, LEAST_SPREAD))
        spreads = TableSpreads(tables)
    return replace(recipe, family=StandardizedFamily(family, spreads))


def listed_sums(block: Block, recipe: Recipe) -> SquareSums:
    """Return the sums of some rows over the features of all kernels; O(n m)."""
    family = recipe.products
    products = family.products(family.indices())
    width = sum(family.widths(family.indices()))
    total = SquareSums((np.zeros(width),), (np.zeros(width),))
    for part in recipe.slices(block, width):
        columns, _ = recipe.bases(part.X).products(products)
        total += SquareSums((part.weights @ columns,), (part.weights @ columns**2,))
    return total


def table_sums(block: Block, recipe: Recipe) -> SquareSums:
    """Return the sums of some rows over all products of base features, by degree."""
    nothing = inner_tables(recipe, recipe.products.blocks, np.empty((0, 1)))
    total = SquareSums(*(tuple(table[0] for table in nothing) for _ in range(2)))
    for part in recipe.slices(block, 8):
        bases, weights = recipe.bases(part.X), part.weights[:, None]
        squared = FeatureBlocks(np.asarray(bases.features) ** 2, bases.sizes)
        total += SquareSums(
            tuple(table[0] for table in inner_tables(recipe, bases, weights)),
            tuple(table[0] for table in inner_tables(recipe, squared, weights)),
        )
    return total
