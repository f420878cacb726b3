"""What a family of kernels must offer, and what it hands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks, GramStack


@dataclass(frozen=True)
class Draw:
    """Independent draws from a distribution s over the family, repeated ones merged.

    Attributes
    ----------
    indices : list of Index
        The distinct kernels drawn.
    counts : ndarray of int
        How often each was drawn.
    gradients : ndarray
        Their gradients :math:`g_i`.
    ratios : ndarray
        Importance ratios :math:`g_i / s_i`; all equal to the mass C when s is q.
    largest_ratio : float
        Upper bound of the ratios over the whole family.
    """

    indices: list[Index]
    counts: Array
    gradients: Array
    ratios: Array
    largest_ratio: float

    @property
    def total(self) -> int:
        """Number of draws."""
        return int(self.counts.sum())

    def estimate(self) -> Array:
        """Return the unbiased estimate of the whole gradient at the drawn kernels."""
        return self.counts * self.ratios / max(self.total, 1)

    def mean(self, values: Array) -> float:
        """Return the mean over draws of a quantity given per distinct kernel."""
        return float(np.dot(self.counts, values) / max(self.total, 1))


class GradientField(Protocol):
    r"""The gradient over a whole family at one dual point.

    Its entries are :math:`g_i = \alpha^\top K_i \alpha / \rho_i^2`. This is
    :math:`-\partial J/\partial\theta_i` up to the factor :math:`\lambda/2`, which belongs to the
    objective. Calls on one field share their work.
    """

    @property
    def mass(self) -> float:
        """Total mass of the distribution that ``draw`` draws from: C, the sum of all gradients."""
        ...

    @property
    def enumerated(self) -> bool:
        """Whether the gradient of every kernel is computed anyway."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw kernels with probability proportional to their gradient."""
        ...

    def gradients(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels."""
        ...

    def all(self) -> Array:
        """Return every gradient, in the order of the family's ``indices()``."""
        ...


class KernelFamily(Protocol):
    r"""An index set of kernels with scale factors :math:`\rho_i`."""

    @property
    def size(self) -> int:
        """Exact number of kernels."""
        ...

    @property
    def explicit(self) -> bool:
        """Whether the kernels have explicit features."""
        ...

    @property
    def rows(self) -> int:
        """Number of training rows."""
        ...

    @property
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""
        ...

    @property
    def distinct(self) -> int:
        """Number of distinct kernels: the number of weights after merging."""
        ...

    def at(self, alpha: Array) -> GradientField:
        """Return the gradient at a dual point of shape (n, c), c outputs."""
        ...

    def indices(self) -> list[Index]:
        """Return all distinct kernels."""
        ...

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw kernels uniformly from the index set; return them and their probabilities."""
        ...

    def features(self, indices: Sequence[Index]) -> tuple[Array, Array]:
        r"""Return columns :math:`\phi_i/\rho_i`, and the position of the index each belongs to."""
        ...

    def gram(self, indices: Sequence[Index], theta: Array, other: Self | None = None) -> Array:
        r"""Return :math:`\sum_i \theta_i\rho_i^{-2}K_i` between own rows and those of ``other``."""
        ...

    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, each with weight :math:`\rho_i^{-2}`."""
        ...

    def on(self, bases: FeatureBlocks | GramStack) -> Self:
        """Return the same family on other rows."""
        ...

    def name(self, index: Index) -> str:
        """Return a readable name."""
        ...


def nonnegative(masses: Array) -> Array:
    """Clip masses at zero.

    All masses are nonnegative in exact arithmetic (Schur's product theorem); rounding can make
    those of representations with signed sums slightly negative. This is the one place where
    that is put right.
    """
    return np.maximum(masses, 0.0)


def choose(masses: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw ``count`` cells in proportion to ``masses``; return the distinct cells and counts.

    Nothing is drawn where no cell has mass.
    """
    cumulative = np.cumsum(masses)
    if not cumulative[-1] > 0:
        count = 0
    points = rng.random(count) * cumulative[-1]
    # A point equal to the last sum (rounding) belongs to the last cell of positive mass.
    cells = np.minimum(
        np.searchsorted(cumulative, points, side="right"),
        np.searchsorted(cumulative, cumulative[-1], side="left"),
    )
    return np.unique(cells, return_counts=True)
