"""What all families of kernels have in common, and what they hand out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import prod
from typing import Self

import numpy as np

from ..arrays import Array, Index, approximately
from ..backend import filled, times
from ..bases import BaseKernels, FeatureBlocks, GramStack
from ..bases.features import scale_columns

_BLOCK_ENTRIES = 2**20  # entries of the features made at a time when many kernels are summed


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


class KernelFamily(ABC):
    r"""A set of products of base kernels with scale factors :math:`\rho_i`.

    Parameters
    ----------
    bases : FeatureBlocks or GramStack
        The base kernels on some rows.
    names : sequence of str, default=x0, x1, ...
        Their names.
    """

    def __init__(
        self, bases: FeatureBlocks | GramStack, names: Sequence[str] | None = None
    ) -> None:
        self.bases = bases
        self.names = [f"x{j}" for j in range(bases.count)] if names is None else list(names)

    @property
    @abstractmethod
    def size(self) -> int:
        """Exact number of members of the index set."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """Number of distinct kernels: the number of weights after merging equal members."""

    @property
    @abstractmethod
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""

    @abstractmethod
    def at(self, alpha: Array) -> GradientField:
        """Return the gradient at a dual point of shape (n, c), c outputs."""

    @abstractmethod
    def indices(self) -> list[Index]:
        """Return all distinct kernels."""

    @abstractmethod
    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw kernels uniformly from the index set; return them and their probabilities."""

    @abstractmethod
    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""

    def prices(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}` without what merging equal members adds to it."""
        return self.weights(indices)

    @abstractmethod
    def on(self, bases: FeatureBlocks | GramStack) -> Self:
        """Return the same family on other rows."""

    @abstractmethod
    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, each with weight :math:`\rho_i^{-2}`."""

    def equal_weights(self, nu: float) -> Array:
        r"""Return equal weights of the members of the index set, of norm one, merged.

        With these the kernel is :meth:`closed` times :math:`N^{-1/\nu}`, N the size of the set.
        """
        return np.full(self.distinct, approximately(self.size) ** (-1 / nu))

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
        return scale_columns(columns, np.sqrt(self.weights(indices))[owners]), owners

    def all_features(self) -> tuple[Array, Array]:
        """Return the features of all kernels, in the order of ``indices()``."""
        return self.features(self.indices())

    def owners(self, indices: Sequence[Index]) -> Array:
        """Return the position of the index that each column of ``features`` belongs to."""
        return np.repeat(np.arange(len(indices)), self.widths(indices))

    def widths(self, indices: Sequence[Index]) -> list[int]:
        """Return the number of features of each kernel."""
        assert isinstance(self.bases, FeatureBlocks)
        sizes = self.bases.sizes.tolist()
        return [prod(sizes[j] for j in index) for index in indices]

    def gram(
        self, indices: Sequence[Index], theta: Array, other: KernelFamily | None = None
    ) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` between own rows and those of ``other``.

        By default between own rows; Gram matrices bring their other rows with them. O(n m) for
        each kernel, with features made in blocks of bounded size.
        """
        if isinstance(self.bases, GramStack):
            return self.bases.weighted_sum(indices, theta * self.weights(indices))
        shape = (self.rows, self.rows if other is None else other.rows)
        total = filled(0.0, shape, self.bases.features)
        for part in self.batches(indices):
            columns, owners = self.features(indices[part])
            right = columns if other is None else other.features(indices[part])[0]
            total += scale_columns(columns, theta[part][owners]) @ right.T
        return total

    def batches(self, indices: Sequence[Index]) -> list[slice]:
        """Cut a list of kernels so that the features of a part stay of bounded size."""
        room = max(1, _BLOCK_ENTRIES // max(1, self.rows))
        if not isinstance(self.bases, FeatureBlocks) or self.bases.single:
            return [slice(start, start + room) for start in range(0, len(indices), room)]
        cuts, held = [0], 0
        for i, width in enumerate(self.widths(indices)):
            if held and held + width > room:
                cuts.append(i)
                held = 0
            held += width
        return [slice(a, b) for a, b in pairwise([*cuts, len(indices)]) if b > a]

    def name(self, index: Index) -> str:
        """Return for instance ``"age^2 * income"``; the constant kernel is ``"1"``.

        Several base kernels of one name are kernels of one variable, which is named once.
        """
        powers = [(self.names[j], len(list(group))) for j, group in groupby(index)]
        return " * ".join(n if k == 1 else f"{n}^{k}" for n, k in dict(powers).items()) or "1"


class GradientField(ABC):
    r"""The gradient over a whole family at one dual point.

    Its entries are :math:`g_i = \alpha^\top K_i \alpha / \rho_i^2`. This is
    :math:`-\partial J/\partial\theta_i` up to the factor :math:`\lambda/2`, which belongs to the
    objective. Calls on one field share their work.
    """

    def __init__(self, family: KernelFamily, alpha: Array) -> None:
        self.family = family
        self.bases: BaseKernels = family.bases
        self.alpha = alpha
        self.start = self.bases.start(alpha)

    @property
    @abstractmethod
    def enumerated(self) -> bool:
        """Whether the gradient of every kernel is computed anyway."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """C, the mass of the index set that ``draw`` draws from.

        It is the sum of all gradients where members are neither merged nor weighted.
        """

    @property
    def rough_mass(self) -> float:
        """The mass, where something cheaper gives it up to rounding."""
        return self.mass

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw members of the index set with probability proportional to their gradient."""

    @abstractmethod
    def all(self) -> Array:
        """Return every gradient, in the order of the family's ``indices()``."""

    def gradients(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels; O(n D) each with features, else O(n^2 D)."""
        if isinstance(self.bases, FeatureBlocks):
            out = np.zeros(len(indices))
            for part in self.family.batches(indices):
                columns, owners = self.family.features(indices[part])
                energy = np.sum(times(columns.T, self.alpha) ** 2, axis=1)
                out[part] = np.bincount(owners, weights=energy, minlength=len(out[part]))
            return out
        assert isinstance(self.bases, GramStack)
        masses = self.bases.masses(self.start, indices)
        return nonnegative(masses * self.family.weights(indices))


def as_numbers(values: object) -> Array:
    """Return values as an array of floats; an empty one if they are not numbers."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)


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
