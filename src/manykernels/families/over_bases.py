"""What all families whose kernels are products of base kernels have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Self

import numpy as np

from ..arrays import Array, Index
from ..bases import BaseKernels, FeatureBlocks, GramStack
from .base import nonnegative

_BLOCK_ENTRIES = 2**24  # entries of the features made at a time when many kernels are summed


class FamilyOverBases(ABC):
    """Kernels that are products of base kernels: their matrices, features and names."""

    def __init__(
        self, bases: FeatureBlocks | GramStack, names: Sequence[str] | None = None
    ) -> None:
        self.bases = bases
        self.names = [f"x{j}" for j in range(bases.count)] if names is None else list(names)

    @abstractmethod
    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""

    @abstractmethod
    def on(self, bases: FeatureBlocks | GramStack) -> Self:
        """Return the same family on other rows."""

    @abstractmethod
    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, each with weight :math:`\rho_i^{-2}`."""

    @property
    def explicit(self) -> bool:
        """Whether the kernels have explicit features."""
        return self.bases.explicit

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return self.bases.rows

    def features(self, indices: Sequence[Index]) -> tuple[Array, Array]:
        r"""Return columns :math:`\phi_i/\rho_i`, and the position of the index each belongs to."""
        assert isinstance(self.bases, FeatureBlocks)
        columns, owners = self.bases.products(indices)
        return columns * np.sqrt(self.weights(indices))[owners], owners

    def gram(
        self, indices: Sequence[Index], theta: Array, other: FamilyOverBases | None = None
    ) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` between own rows and those of ``other``.

        By default between own rows; Gram matrices bring their other rows with them. O(n m) for
        each kernel, with features made in blocks of bounded size.
        """
        if isinstance(self.bases, GramStack):
            total = np.zeros(self.bases.shape)
            for weight, index in zip(theta * self.weights(indices), indices, strict=True):
                total += weight * self.bases.product(index)
            return total
        total = np.zeros((self.rows, self.rows if other is None else other.rows))
        for part in self.batches(len(indices)):
            columns, owners = self.features(indices[part])
            right = columns if other is None else other.features(indices[part])[0]
            total += (columns * theta[part][owners]) @ right.T
        return total

    def batches(self, count: int) -> list[slice]:
        """Cut a list of kernels so that the features of a part stay of bounded size."""
        step = max(1, _BLOCK_ENTRIES // max(1, self.rows))
        return [slice(start, start + step) for start in range(0, count, step)]

    def name(self, index: Index) -> str:
        """Return for instance ``"age^2 * income"``; the constant kernel is ``"1"``."""
        powers = [(self.names[j], len(list(group))) for j, group in groupby(index)]
        return " * ".join(n if k == 1 else f"{n}^{k}" for n, k in powers) or "1"


class FieldOverBases:
    """Gradients of single kernels at one dual point."""

    def __init__(self, family: FamilyOverBases, alpha: Array) -> None:
        self.family = family
        self.bases: BaseKernels = family.bases
        self.alpha = alpha
        self.start = self.bases.start(alpha)

    def gradients(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels; O(n D) each with features, else O(n^2 D)."""
        if isinstance(self.bases, FeatureBlocks):
            out = np.zeros(len(indices))
            for part in self.family.batches(len(indices)):
                columns, owners = self.family.features(indices[part])
                energy = np.sum((columns.T @ self.alpha) ** 2, axis=1)
                out[part] = np.bincount(owners, weights=energy, minlength=len(out[part]))
            return out
        assert isinstance(self.bases, GramStack)
        masses = np.array([np.vdot(self.start, self.bases.product(index)) for index in indices])
        return nonnegative(masses * self.family.weights(indices))
