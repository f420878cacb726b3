"""What a representation of the base kernels must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..arrays import Array


class Cross(Protocol):
    """Base kernels evaluated between two sets of rows, of shape (n, m)."""

    @property
    def count(self) -> int:
        """Number of base kernels."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows on either side."""
        ...

    def filled(self, value: float) -> Array:
        """Return a matrix of one value, of shape (n, m)."""
        ...

    def kernel(self, j: int) -> Array:
        """Return the matrix of base kernel ``j``, of shape (n, m)."""
        ...

    def power_sum(self, k: int) -> Array:
        r"""Return :math:`P_k = \sum_j K_j^{\odot k}`, of shape (n, m)."""
        ...


class BaseKernels(Protocol):
    r"""Base kernels :math:`K_1, \dots, K_r` on n rows, as sampling and enumeration see them.

    A *state* stands for the matrix :math:`M = (\alpha\alpha^\top) \odot K_{j_1} \odot \dots` of a
    prefix of a product; its form belongs to the representation. :math:`\langle A, B\rangle`
    is the sum of the entries of :math:`A \odot B`.
    """

    @property
    def rows(self) -> int:
        """Number of rows n."""
        ...

    @property
    def count(self) -> int:
        """Number of base kernels r."""
        ...

    @property
    def pairs_are_cheap(self) -> bool:
        """Whether ``pair_sums`` costs less than contracting n x n matrices."""
        ...

    def start(self, alpha: Array) -> Any:
        r"""Return the state of the empty prefix, :math:`M = \alpha\alpha^\top`; alpha is (n, c)."""
        ...

    def extend(self, state: Any, j: int) -> Any:
        r"""Return the state of :math:`M \odot K_j`."""
        ...

    def total(self, state: Any) -> float:
        r"""Return :math:`\langle M, \mathbf 1\rangle`."""
        ...

    def weighted_total(self, state: Any, weight: Array, rows: slice) -> float:
        r"""Return :math:`\langle M, W\rangle` over some rows, of which ``weight`` holds W's."""
        ...

    def diagonals(self) -> Array:
        """Return the diagonals of the base kernels, of shape (r, n)."""
        ...

    def state_diagonal(self, state: Any) -> Array:
        """Return the diagonal of M."""
        ...

    def singles(self, state: Any) -> Array:
        r"""Return :math:`\langle M, K_j\rangle` for every j, of shape (r,)."""
        ...

    def pair_sums(self, state: Any, excluded: Sequence[int]) -> tuple[Array, Array]:
        r"""Return sums over the second of two more kernels, each of shape (r,).

        The first is :math:`\sum_{i \ne j,\ i \notin A} \langle M, K_j \odot K_i\rangle`
        (A = ``excluded``), the second :math:`\langle M, K_j \odot K_j\rangle`.
        """
        ...

    def pairs(self, state: Any, first: int, strict: bool) -> Array:
        r"""Return :math:`\langle M, K_i \odot K_j\rangle`, first <= i <= j (i < j if strict).

        In lexicographic order of (i, j).
        """
        ...

    def row_blocks(self, budget: int) -> list[slice]:
        """Split the rows so that a block times n numbers of float64 fit in ``budget`` bytes."""
        ...

    def cross_rows(self, rows: slice) -> Cross:
        """Return the base kernels between some of the rows and all of them."""
        ...

    def contract(self, state: Any, weights: Sequence[Array | None], rows: slice) -> Array:
        r"""Return :math:`\langle M, K_j^{\odot l} \odot W_l\rangle` for every j and l = 1, 2, ...

        ``weights[l - 1]`` holds the given rows of :math:`W_l`, None for all ones, and only those
        rows are summed; shape (r, len(weights)).
        """
        ...


def split_rows(n: int, budget: int) -> list[slice]:
    """Cut ``range(n)`` in blocks; one of them times n float64 numbers fits in ``budget`` bytes."""
    size = max(1, min(n, budget // (8 * max(n, 1))))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
