"""Families whose kernels all vary alike over the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from ..arrays import Array, Index
from ..backend import beside
from .base import KernelFamily
from .pricing import ListPricer, Pricer, ProductPricer
from .pricing.spreads import inverse
from .products import ProductFamily
from .weighted import WeightedFamily

LEAST_SPREAD = 1e-10
"""Share of the mean square that a spread must have; kernels that vary less are left out. Spreads
are differences of two sums, good to some 1e-15 of these: above this share to five digits."""


class KernelSpreads(Protocol):
    """Knows how much kernels vary over training rows."""

    def inverse(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`1/\sigma_i^2` of kernels; zero where they do not vary."""

    def only(self, indices: Sequence[Index]) -> KernelSpreads:
        """Return the same of given kernels, without any rows."""


@dataclass(frozen=True, eq=False)
class KnownSpreads:
    """The inverse spreads of a list of kernels.

    Attributes
    ----------
    indices : list of Index
        The kernels.
    values : ndarray
        One over their spreads.
    """

    indices: list[Index]
    values: Array

    @cached_property
    def places(self) -> dict[Index, int]:
        """Where each kernel stands in the list."""
        return {index: i for i, index in enumerate(self.indices)}

    def inverse(self, indices: Sequence[Index]) -> Array:
        """Return one over the spreads of kernels."""
        if indices is self.indices:
            return self.values
        places = self.places
        return self.values[np.array([places[index] for index in indices], dtype=int)]

    def only(self, indices: Sequence[Index]) -> KnownSpreads:
        """Return the same of given kernels."""
        return KnownSpreads(list(indices), self.inverse(indices))


class TrainingSpreads:
    r"""The spreads :math:`\sigma_i^2` of kernels, made from training rows when they are asked for.

    Parameters
    ----------
    family : KernelFamily
        The kernels on the training rows; their scale factors play no part.
    row_weights : ndarray of shape (n,)
        Weights of the rows, adding up to one.
    centred : bool
        Whether spreads are around the mean, or else around zero.
    """

    def __init__(self, family: KernelFamily, row_weights: Array, centred: bool) -> None:
        self.family, self.row_weights, self.centred = family, row_weights, centred
        self._known: dict[Index, float] = {}

    def inverse(self, indices: Sequence[Index]) -> Array:
        """Return one over the spreads of kernels; O(n) for each feature the first time."""
        whole = self.family.listable and len(indices) == self.family.distinct
        if whole and indices is self.family.indices():
            return self.of_all
        fresh = [index for index in dict.fromkeys(indices) if index not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._made(fresh).tolist(), strict=True))
        return np.array([self._known[index] for index in indices], dtype=float)

    def only(self, indices: Sequence[Index]) -> KnownSpreads:
        """Return the same of given kernels, without the rows."""
        return KnownSpreads(list(indices), self.inverse(indices))

    @cached_property
    def of_all(self) -> Array:
        """One over the spreads of all kernels, in listed order."""
        return self._made(self.family.indices())

    def _made(self, indices: Sequence[Index]) -> Array:
        products = self.family.products(indices)
        ones = np.ones(len(indices))
        squares, means = self.family.bases.mean_squares(products, ones, self.row_weights)
        return inverse(squares, means * self.centred, LEAST_SPREAD)


class StandardizedFamily(WeightedFamily):
    r"""A family in which every kernel is divided by its spread over the training rows.

    The scale factor of kernel i is :math:`\rho_i\sigma_i`, with
    :math:`\sigma_i^2 = \sum_t s_t\|\phi_i(x_t) - \bar\phi_i\|^2`: all features vary alike, as
    columns do that are divided by their standard deviations, and :math:`\rho_i` alone says which
    kernels cost more. Kernels that do not vary have the weight zero and are never used.

    Parameters
    ----------
    family : KernelFamily
        The kernels as they are.
    spreads : KernelSpreads
        How much each varies over the training rows.
    """

    def __init__(self, family: KernelFamily, spreads: KernelSpreads) -> None:
        super().__init__(family, spreads)  # type: ignore[arg-type]

    spreads = property(lambda self: self.weight, doc="How much each kernel varies.")

    def own_weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`1/\sigma_i^2`."""
        found: Array = self.spreads.inverse(indices)
        return found

    def unmerged_weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}` of the kernels as they are: what greedy selection weighs."""
        return self.family.unmerged_weights(indices)

    def without_rows(self, indices: Sequence[Index]) -> Self:
        """Return the same family on no rows, for some of its kernels."""
        return type(self)(self.family.without_rows(indices), self.spreads.only(indices))

    def pricer(self, row_weights: Array | None, bits: int, centred: bool) -> Pricer:
        """Return what finds the kernels of largest gradient.

        Products are priced relative to their spreads, in double precision: features that vary
        little next to their size would lose too many digits in single.
        """
        if row_weights is not None:  # relative to their spreads kernels are what they were
            return self.family.pricer(row_weights, bits, centred)
        spreads = self.spreads
        if not (isinstance(self.family, ProductFamily) and self.explicit):
            return ListPricer(self)
        assert isinstance(spreads, TrainingSpreads)
        return ProductPricer(self.family, spreads.row_weights, 64, spreads.centred, LEAST_SPREAD)

    def all_features(self) -> tuple[Array, Array]:
        """Return the features of all kernels, in the order of ``indices()``."""
        columns, owners = self.family.all_features()
        columns *= beside(np.sqrt(self.own_weights(self.indices()))[owners], columns)
        return columns, owners

    def gram_of_all(self, theta: Array) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` over all kernels, in listed order."""
        return self.family.gram_of_all(theta * self.own_weights(self.indices()))

    def expansion_of_all(self, theta: Array, alpha: Array, other: Self) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i \alpha` on the rows of ``other``."""
        weighted = theta * self.own_weights(self.indices())
        return self.family.expansion_of_all(weighted, alpha, other.family)

    def inner_of_all(self, alpha: Array) -> Array | None:
        """Return the inner products of all features with dual variables, if there is a way."""
        found = self.family.inner_of_all(alpha)
        if found is None:
            return None
        return found * np.sqrt(self.own_weights(self.indices()))[:, None]
