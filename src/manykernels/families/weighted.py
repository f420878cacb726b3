"""Arbitrary weights for single kernels, by importance weighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Self

import numpy as np

from ..arrays import Array, Index, Product
from ..bases import BaseKernels
from .base import Draw, GradientField, KernelFamily


class WeightedFamily(KernelFamily):
    r"""A family in which every kernel has a weight of its own.

    Parameters
    ----------
    family : KernelFamily
        The kernels, and the distribution that draws come from.
    weight : callable
        Takes an index of the family (of products, a sorted tuple of base-kernel numbers) and
        returns the positive number that multiplies its :math:`\rho_i^{-2}`.

    Notes
    -----
    Draws come from the unweighted family and carry the importance ratio
    :math:`g_i / s_i = C\,w_i` (footnote of the paper's section on polynomial kernels). The
    estimate stays unbiased, and its second moment grows by at most the square of the largest
    weight. The field's ``mass`` is that of the proposal, not the sum of the weighted gradients.
    """

    size = property(attrgetter("family.size"), doc="Exact number of members of the index set.")
    distinct = property(attrgetter("family.distinct"), doc="Number of distinct kernels.")
    enumeration_work = property(
        attrgetter("family.enumeration_work"), doc="Multiplications that every gradient takes."
    )

    def __init__(self, family: KernelFamily, weight: Callable[[Any], float]) -> None:
        super().__init__(family.bases, family.names)
        self.family, self.weight = family, weight
        self.listable, self.drawable = family.listable, family.drawable
        # The sum of all kernels, and the best of all, are found by listing them.
        self.priceable = self.summable = family.listable

    def indices(self) -> list[Index]:
        """Return all distinct kernels."""
        return self.family.indices()

    def products(self, indices: Sequence[Index]) -> Sequence[Product]:
        """Return the factors of many kernels."""
        return self.family.products(indices)

    def name(self, index: Index) -> str:
        """Return the kernel's name in the unweighted family."""
        return self.family.name(index)

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw kernels uniformly from the index set."""
        return self.family.uniform(count, rng)

    def own_weights(self, indices: Sequence[Index]) -> Array:
        """Return what multiplies the weights of the unweighted family."""
        return np.array([self.weight(index) for index in indices], dtype=float)

    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`, own weight included."""
        return self.family.weights(indices) * self.own_weights(indices)

    def on(self, bases: BaseKernels) -> Self:
        """Return the same family on other rows."""
        return type(self)(self.family.on(bases), self.weight)

    def at(self, alpha: Array) -> WeightedField:
        """Return the gradient over the family at a dual point."""
        return WeightedField(self, alpha)


class WeightedField(GradientField):
    """The gradient over a weighted family at one dual point."""

    family: WeightedFamily

    def __init__(self, family: WeightedFamily, alpha: Array) -> None:
        super().__init__(family, alpha)
        self.inner = family.family.at(alpha)

    enumerated = property(attrgetter("inner.enumerated"), doc="Whether draws compute all first.")
    mass = property(attrgetter("inner.mass"), doc="Mass of the proposal.")

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw from the unweighted family, with importance ratios for the weighted one."""
        draw = self.inner.draw(count, rng)
        own = self.family.own_weights(draw.indices)
        return replace(
            draw,
            gradients=draw.gradients * own,
            ratios=draw.ratios * own,
            largest_ratio=float("inf"),  # nothing bounds the weights of kernels not seen
        )

    def all(self) -> Array:
        """Return every gradient."""
        return self.inner.all() * self.family.own_weights(self.family.indices())
