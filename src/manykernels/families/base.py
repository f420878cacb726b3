"""What all families of kernels have in common, and what they hand out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, groupby
from operator import attrgetter
from typing import Any, Self

import numpy as np

from ..arrays import Array, Index, Product
from ..backend import approximately, beside, times, to_host
from ..bases import BaseKernels
from ..limits import WORKING_BYTES
from .pricing import ListPricer, Pricer


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
    r"""A set of kernels with scale factors :math:`\rho_i`, made of base kernels.

    Every family knows what its indices stand for (``factors``, ``name``), what its kernels weigh
    (``weights``), how they look on other rows (``on``), and the gradients of given ones (``at``).
    What else it can do it declares. One that is ``listable`` needs only ``indices`` for all of it:
    everything has a plain version, which lists all kernels.

    Parameters
    ----------
    bases : BaseKernels
        The base kernels on some rows.
    names : sequence of str, default=x0, x1, ...
        Their names.

    Attributes
    ----------
    listable : bool
        Whether there are finitely many kernels: ``size``, ``distinct``, ``enumeration_work``,
        ``indices``, ``all_features``, ``equal_weights``, and ``all`` of its gradients.
    priceable : bool
        Whether the kernels of largest gradient of the whole family can be found: ``pricer``.
    drawable : bool
        Whether kernels can be drawn: ``uniform``, and ``draw`` and ``mass`` of its gradients.
    summable : bool
        Whether the sum of all kernels is known: ``closed``.
    room : float
        Bytes that work on the family may hold beside the base kernels; what needs more is made
        anew, some rows at a time.
    """

    listable: bool = True
    priceable: bool = True
    drawable: bool = True
    summable: bool = True
    room: float = WORKING_BYTES

    explicit = property(attrgetter("bases.explicit"), doc="Whether kernels have features.")
    rows = property(attrgetter("bases.rows"), doc="Number of training rows.")
    blocks = property(attrgetter("bases"), doc="The base kernels, if they have features.")

    def __init__(self, bases: BaseKernels, names: Sequence[str] | None = None) -> None:
        self.bases = bases
        self.names = [f"x{j}" for j in range(bases.count)] if names is None else list(names)

    @abstractmethod
    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}`."""

    def unmerged_weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_i^{-2}` without what merging equal members adds to it."""
        return self.weights(indices)

    @abstractmethod
    def on(self, bases: Any) -> Self:
        """Return the same family on other rows: base kernels of the kind it is made of."""

    def without_rows(self, indices: Sequence[Index]) -> Self:
        """Return the same family on no rows; one may know only the kernels given from then on."""
        return self.on(self.bases.without_rows())

    def at(self, alpha: Array) -> GradientField:
        """Return the gradient at a dual point of shape (n, c), c outputs."""
        return GradientField(self, alpha)

    def products(self, indices: Sequence[Index]) -> Sequence[Product]:
        """Return the numbers of the base kernels that each kernel is the product of.

        By default the indices themselves; kernels that are no such products have none.
        """
        return indices  # type: ignore[return-value]

    def factors(self, index: Index) -> Product:
        """Return the numbers of the base kernels that a kernel is the product of."""
        return self.products([index])[0]

    def name(self, index: Index) -> str:
        """Return for instance ``"age^2 * income"``; the constant kernel is ``"1"``.

        Several base kernels of one name are kernels of one variable, which is named once.
        """
        factors = groupby(self.factors(index))
        powers = {self.names[j]: len(list(group)) for j, group in factors}
        return " * ".join(n if k == 1 else f"{n}^{k}" for n, k in powers.items()) or "1"

    def indices(self) -> list[Index]:
        """Return all distinct kernels."""
        raise NotImplementedError(f"{type(self).__name__} has no list of its kernels")

    @property
    def size(self) -> int:
        """Exact number of members of the index set."""
        return self.distinct

    @property
    def distinct(self) -> int:
        """Number of distinct kernels: the number of weights after merging equal members."""
        return len(self.indices())

    @property
    def enumeration_work(self) -> float:
        """Multiplications that computing every gradient takes."""
        indices = self.indices()
        widths = self.widths(indices) if self.explicit else [self.rows] * len(indices)
        return float(self.rows) * sum(widths)

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        """Draw kernels uniformly from the index set; return them and their probabilities."""
        indices = self.indices()
        drawn = rng.integers(len(indices), size=count).tolist()
        return [indices[i] for i in drawn], np.full(count, 1 / len(indices))

    def closed(self, other: Self | None = None) -> Array:
        r"""Return the sum of all kernels, each with weight :math:`\rho_i^{-2}`.

        Between own rows and those of ``other``, by default own rows: the optimum of p = 2.
        """
        return self.gram(self.indices(), np.ones(self.distinct), other)

    def pricer(self, row_weights: Array | None, bits: int, centred: bool) -> Pricer:
        """Return what finds the kernels of largest gradient; see :func:`pricing.pricer`."""
        return ListPricer(self, row_weights, centred)

    def equal_weights(self, nu: float) -> Array:
        r"""Return equal weights of the members of the index set, of norm one, merged.

        With these the kernel is :meth:`closed` times :math:`N^{-1/\nu}`, N the size of the set.
        """
        return np.full(self.distinct, approximately(self.size) ** (-1 / nu))

    def features(self, indices: Sequence[Index]) -> tuple[Array, Array]:
        r"""Return columns :math:`\phi_i/\rho_i`, and the position of the index each belongs to."""
        return self.blocks.products(self.products(indices), self.weights(indices))

    def inner(self, indices: Sequence[Index], values: Array) -> Array:
        """Return the inner products of features with values of shape (n, q), of shape (m, q)."""
        there = beside(values, self.bases.matrix)
        return to_host(self.blocks.inner(self.products(indices), there, self.weights(indices)))

    def combine(self, indices: Sequence[Index], coefficients: Array) -> Array:
        """Return features times coefficients of shape (m, q), of shape (n, q); O(n m q)."""
        listed = self.in_listed_order(indices, coefficients)
        if listed is not None:
            return self.combine_all(listed)
        products, scales = self.products(indices), self.weights(indices)
        there = beside(coefficients, self.bases.matrix)
        return to_host(self.blocks.combine(products, there, scales))

    def all_features(self) -> tuple[Array, Array]:
        """Return the features of all kernels, in the order of ``indices()``."""
        return self.features(self.indices())

    def owners(self, indices: Sequence[Index]) -> Array:
        """Return the position of the index that each column of ``features`` belongs to."""
        return np.repeat(np.arange(len(indices)), self.widths(indices))

    def widths(self, indices: Sequence[Index]) -> list[int]:
        """Return the number of features of each kernel."""
        return self.blocks.widths(self.products(indices))

    def gram(self, indices: Sequence[Index], theta: Array, other: Self | None = None) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` between own rows and those of ``other``.

        By default between own rows; Gram matrices bring their other rows with them. O(n m) for
        each kernel, with features made in blocks of bounded size.
        """
        there = None if other is None else other.bases
        products, scales = self.products(indices), self.weights(indices)
        return self.bases.weighted_sum(products, theta, scales, there)

    def gram_of_all(self, theta: Array) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` over all kernels, in listed order."""
        live = theta > 0
        return self.gram(list(compress(self.indices(), live.tolist())), theta[live])

    def expansion_of_all(self, theta: Array, alpha: Array, other: Self) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i \alpha` on the rows of ``other``.

        Over all kernels, in listed order.
        """
        inner = self.inner_of_all(alpha)
        if inner is not None:
            return other.combine_all(theta[:, None] * inner)
        live = theta > 0
        kernels = list(compress(self.indices(), live.tolist()))
        return times(other.gram(kernels, theta[live], self), alpha)

    def in_listed_order(self, indices: Sequence[Index], coefficients: Array) -> Array | None:
        """Return coefficients in the order of ``indices()``, if all kernels at once are faster."""
        return None

    def combine_all(self, coefficients: Array) -> Array:
        """Return the features of all kernels, in listed order, times coefficients."""
        return self.combine(self.indices(), coefficients)

    def inner_of_all(self, alpha: Array) -> Array | None:
        """Return the inner products of the features of all kernels with dual variables.

        One feature a kernel, in listed order, of shape (d, c); None where there is no short way.
        """
        return None


class GradientField:
    r"""The gradient over a whole family at one dual point.

    Its entries are :math:`g_i = \alpha^\top K_i \alpha / \rho_i^2`. This is
    :math:`-\partial J/\partial\theta_i` up to the factor :math:`\lambda/2`, which belongs to the
    objective. Calls on one field share their work. Here it is computed for every kernel of a family
    that can be listed.
    """

    def __init__(self, family: KernelFamily, alpha: Array) -> None:
        self.family = family
        self.bases = family.bases
        self.alpha = alpha

    enumerated = property(
        attrgetter("family.listable"), doc="Whether draws compute all gradients first."
    )

    @cached_property
    def start(self) -> Any:
        """The state of the empty prefix of a product."""
        return self.bases.start(self.alpha)

    @property
    def mass(self) -> float:
        """C, the mass of the index set that ``draw`` draws from.

        It is the sum of all gradients where members are neither merged nor weighted.
        """
        return float(self._all.sum())

    @property
    def rough_mass(self) -> float:
        """The mass, where something cheaper gives it up to rounding."""
        return self.mass

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        """Draw members of the index set with probability proportional to their gradient."""
        if not self.mass > 0:
            return Draw([], np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0.0)
        cells, counts = choose(self._all, count, rng)
        indices, ratios = self.family.indices(), np.full(len(cells), self.mass)
        drawn = [indices[i] for i in cells.tolist()]
        return Draw(drawn, counts, self._all[cells], ratios, self.mass)

    def all(self) -> Array:
        """Return every gradient, in the order of the family's ``indices()``."""
        return self._all

    @cached_property
    def _all(self) -> Array:
        return self.gradients(self.family.indices())

    def gradients(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels; O(n D) each with features, else O(n^2 D)."""
        products, scales = self.family.products(indices), self.family.weights(indices)
        return nonnegative(self.bases.masses(self.start, products, scales))


def as_numbers(values: object) -> Array:
    """Return values as an array of floats; an empty one if they are not numbers."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
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
