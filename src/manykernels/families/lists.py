"""Families given as a finite list of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks, GramStack
from .base import Draw, GradientField, KernelFamily, as_numbers, choose, nonnegative


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
        self,
        bases: FeatureBlocks | GramStack,
        rho: Sequence[float] | Array | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(bases, names)
        self.rho = np.ones(bases.count) if rho is None else as_numbers(rho)
        if self.rho.shape != (bases.count,) or not np.all(self.rho > 0):
            raise ValueError(
                f"rho must hold {bases.count} positive numbers, one for each kernel; got {rho!r}. "
                "Use rho=None for all ones."
            )

    @property
    def size(self) -> int:
        """Number of kernels."""
        return self.bases.count

    @property
    def distinct(self) -> int:
        """Number of kernels."""
        return self.bases.count

    @property
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""
        width = self.bases.features.shape[1] if isinstance(self.bases, FeatureBlocks) else None
        return float(self.rows) * (self.size * self.rows if width is None else width)

    def at(self, alpha: Array) -> ListField:
        """Return the gradient over the list at a dual point of shape (n, c)."""
        return ListField(self, alpha)

    def indices(self) -> list[Index]:
        """Return all kernels."""
        return [(j,) for j in range(self.size)]

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw kernels uniformly; return them and their probabilities."""
        draws = rng.integers(self.size, size=count).tolist()
        return [(j,) for j in draws], np.full(count, 1 / self.size)

    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""
        return self.rho[[index[0] for index in indices]] ** -2.0

    def on(self, bases: FeatureBlocks | GramStack) -> Self:
        """Return the same list on other rows."""
        return type(self)(bases, self.rho, self.names)

    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, :math:`\sum_j \rho_j^{-2} K_j`: the optimum of p = 2."""
        return self.gram(self.indices(), np.ones(self.size), other)


class ListField(GradientField):
    """The gradient over a list of kernels at one dual point."""

    @property
    def enumerated(self) -> bool:
        """True."""
        return True

    @cached_property
    def _all(self) -> Array:
        masses = nonnegative(self.bases.singles(self.start))
        return masses * self.family.weights([(j,) for j in range(self.bases.count)])

    @property
    def mass(self) -> float:
        """Sum of all gradients."""
        return float(self._all.sum())

    def all(self) -> Array:
        """Return every gradient."""
        return self._all

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw kernels in proportion to their gradient."""
        if not self.mass > 0:
            return Draw([], np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0.0)
        cells, counts = choose(self._all, count, rng)
        ratios = np.full(len(cells), self.mass)
        return Draw([(int(j),) for j in cells], counts, self._all[cells], ratios, self.mass)
