"""Families given as a finite list of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Index
from ..bases import BaseKernels
from .base import GradientField, KernelFamily, as_numbers, nonnegative


class ListFamily(KernelFamily):
    r"""A finite list of kernels, each with its own scale factor; kernel j has the index ``(j,)``.

    Parameters
    ----------
    bases : FeatureBlocks or GramStack
        The kernels on the training rows.
    rho : sequence of float of length r, default=ones
        Scale factor :math:`\rho_j` of each kernel.
    names : sequence of str, default=x0, x1, ...
        Names of the kernels.
    """

    def __init__(
        self, bases: BaseKernels, rho: ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> None:
        super().__init__(bases, names)
        self.rho = np.ones(bases.count) if rho is None else as_numbers(rho)
        if self.rho.shape != (bases.count,) or not np.all(self.rho > 0):
            raise ValueError(
                f"rho must hold {bases.count} positive numbers, one for each kernel; got {rho!r}. "
                "Use rho=None for all ones."
            )

    @property
    def distinct(self) -> int:
        """Number of kernels."""
        return self.bases.count

    def at(self, alpha: Array) -> ListField:
        """Return the gradient over the list at a dual point of shape (n, c)."""
        return ListField(self, alpha)

    def indices(self) -> list[Index]:
        """Return all kernels."""
        return [(j,) for j in range(self.distinct)]

    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""
        return self.rho[[j for (j,) in self.products(indices)]] ** -2.0

    def on(self, bases: BaseKernels) -> Self:
        """Return the same list on other rows."""
        return type(self)(bases, self.rho, self.names)


class ListField(GradientField):
    """The gradient over a list of kernels at one dual point."""

    @cached_property
    def _all(self) -> Array:
        masses = nonnegative(self.bases.singles(self.start))
        return masses * self.family.weights(self.family.indices())
