"""What a representation of the base kernels must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array, Product
from .columns import largest_size

Products = Sequence[Product]
"""Products of base kernels."""

Scales = Array | float
"""What multiplies each of many kernels; a number multiplies all of them."""


class BaseKernels(ABC):
    r"""Base kernels :math:`K_1, \dots, K_r` on n rows.

    Sampling and enumeration build products factor by factor. A *state* stands for the matrix
    :math:`M = (\alpha\alpha^\top) \odot K_{j_1} \odot \dots` of a prefix of a product; its form
    belongs to the representation. :math:`\langle A, B\rangle` is the sum of the entries of
    :math:`A \odot B`.

    Attributes
    ----------
    explicit : bool
        Whether the kernels have explicit features.
    single : bool
        Whether every kernel has exactly one feature.
    """

    explicit: ClassVar[bool]
    single: bool = False

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows n."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of base kernels r."""

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """What is held: features, or matrices."""

    @property
    def largest(self) -> float:
        """The largest size of a number held."""
        return largest_size(self.matrix)

    def largest_power(self, degree: int) -> float:
        """Return the power of ten that no value of a product of ``degree`` kernels exceeds."""
        factors = 2 * degree if self.explicit else degree
        return factors * float(np.log10(max(self.largest, 1.0)))

    @property
    @abstractmethod
    def pairs_are_cheap(self) -> bool:
        """Whether ``pair_sums`` costs less than contracting n x n matrices."""

    @abstractmethod
    def mass_work(self, degree: int) -> float:
        """Return the multiplications that the mass of a product takes, on average."""

    @abstractmethod
    def tree_work(self, degree: int) -> float:
        """Return the multiplications that some fifty draws by a tree of masses take, about."""

    @abstractmethod
    def without_rows(self) -> Self:
        """Return the same kernels on no rows."""

    @abstractmethod
    def between(self, other: Any, rows: slice = slice(None)) -> Any:
        """Return the kernels between some of the own rows and those of ``other``: a ``Cross``.

        Matrices hold the values between two sets of rows already.
        """

    @abstractmethod
    def masses(self, state: Any, products: Products, scales: Scales = 1.0) -> Array:
        r"""Return :math:`s_i \langle M, K_i\rangle` of product kernels."""

    @abstractmethod
    def weighted_sum(
        self, products: Products, weights: Array, scales: Scales = 1.0, other: Any = None
    ) -> Array:
        r"""Return :math:`\sum_i w_i s_i K_i` between own rows and those of ``other``.

        By default between own rows; matrices bring their other rows with them.
        """

    @abstractmethod
    def mean_squares(
        self, products: Products, scales: Array, row_weights: Array
    ) -> tuple[Array, Array]:
        r"""Return :math:`\sum_t w_t\|\phi_i(x_t)\|^2` and :math:`\|\sum_t w_t\phi_i(x_t)\|^2`.

        Of product kernels times scales; O(n) for each feature, O(n^2) for each matrix.
        """

    @abstractmethod
    def start(self, alpha: Array) -> Any:
        r"""Return the state of the empty prefix, :math:`M = \alpha\alpha^\top`; alpha is (n, c)."""

    @abstractmethod
    def extend(self, state: Any, j: int) -> Any:
        r"""Return the state of :math:`M \odot K_j`."""

    @abstractmethod
    def total(self, state: Any) -> float:
        r"""Return :math:`\langle M, \mathbf 1\rangle`."""

    @abstractmethod
    def weighted_total(self, state: Any, weight: Array, rows: slice) -> float:
        r"""Return :math:`\langle M, W\rangle` over some rows, of which ``weight`` holds W's."""

    @abstractmethod
    def diagonals(self) -> Array:
        """Return the diagonals of the base kernels, of shape (r, n)."""

    @abstractmethod
    def state_diagonal(self, state: Any) -> Array:
        """Return the diagonal of M."""

    @abstractmethod
    def singles(self, state: Any) -> Array:
        r"""Return :math:`\langle M, K_j\rangle` for every j, of shape (r,)."""

    @abstractmethod
    def pair_sums(self, state: Any, excluded: Sequence[int]) -> tuple[Array, Array]:
        r"""Return sums over the second of two more kernels, each of shape (r,).

        The first is :math:`\sum_{i \ne j,\ i \notin A} \langle M, K_j \odot K_i\rangle`
        (A = ``excluded``), the second :math:`\langle M, K_j \odot K_j\rangle`.
        """

    @abstractmethod
    def pairs(self, state: Any, first: int, strict: bool) -> Array:
        r"""Return :math:`\langle M, K_i \odot K_j\rangle`, first <= i <= j (i < j if strict).

        In lexicographic order of (i, j).
        """

    def cross_rows(self, rows: slice) -> Any:
        """Return the base kernels between some of the rows and all of them."""
        return self.between(self, rows)

    def row_blocks(self, budget: int) -> list[slice]:
        """Split the rows so that a block times n numbers of float64 fit in ``budget`` bytes."""
        return split_rows(self.rows, budget)

    @abstractmethod
    def contract(self, state: Any, weights: Sequence[Array | None], rows: slice) -> Array:
        r"""Return :math:`\langle M, K_j^{\odot l} \odot W_l\rangle` for every j and l = 1, 2, ...

        ``weights[l - 1]`` holds the given rows of :math:`W_l`, None for all ones, and only those
        rows are summed; shape (r, len(weights)).
        """


def split_rows(n: int, budget: int) -> list[slice]:
    """Cut ``range(n)`` in blocks; one of them times n float64 numbers fits in ``budget`` bytes."""
    size = max(1, min(n, budget // (8 * max(n, 1))))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
