"""The kernel of given weights on all rows, held in single precision or made a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array
from ...backend import beside, filled, in_single, on_host, to_host
from ...bases.width_rows import WidthKernel
from ...dual import ConjugateSystem, GramSystem
from ...families import WidthFamily
from .threads import one_by_one, side_by_side

KERNEL_ROWS = 256
"""Rows of a block of the kernel matrix on the host. Set by judgement, not measured."""

DEVICE_BLOCK_ROWS = 2_048
"""Rows of a block on a device. Set by judgement, not measured."""

CHOLESKY_ROWS = 4_000
"""Rows up to which the kernel matrix is factorised; beyond that conjugate gradients are faster.
Set by judgement, not measured."""

LANDMARKS = 1_000
"""Rows of the Nystroem preconditioner. On 25,600 rows of kin40k 2,000 took 103 products for 157, in
about the same time."""


class WholeKernel:
    r"""The kernel :math:`\sum_i \theta_i \rho_i^{-2} K_i` on all rows.

    Parameters
    ----------
    family : WidthFamily
        The rows and the kernels.
    indices : sequence of WidthKernel
        The kernels.
    theta : ndarray
        Their weights.
    held : bool
        Whether the matrix is held, 4 n^2 bytes, or made anew for each product.
    """

    def __init__(
        self, family: WidthFamily, indices: Sequence[WidthKernel], theta: Array, held: bool
    ) -> None:
        self.bases, self.rows = family.bases, family.rows
        self.terms = list(zip(indices, (theta * family.weights(indices)).tolist(), strict=True))
        self.held = held

    def part(self, rows: slice, start: int = 0) -> Any:
        """Return some rows of the matrix, its columns from ``start`` on."""
        own = self.bases.take(np.arange(self.rows)[rows])
        other = self.bases.take(np.arange(start, self.rows))
        return sum(factor * own.kernel(index, other, bits=32) for index, factor in self.terms)

    def columns(self, numbers: Array) -> Any:
        """Return some columns of the matrix."""
        other = self.bases.take(numbers)
        return sum(factor * self.bases.kernel(index, other) for index, factor in self.terms)

    @cached_property
    def matrix(self) -> Any:
        """The matrix in single precision; half of it is made, the other half is the same."""
        out = filled(0.0, (self.rows, self.rows), self.bases.matrix, 32)

        def fill(rows: slice) -> None:
            made = self.part(rows, rows.start)
            out[rows, rows.start :] = made
            out[rows.start :, rows] = made.T

        self._each(fill)
        return out

    @property
    def blocks(self) -> list[slice]:
        """Rows that are made at a time."""
        height = KERNEL_ROWS if on_host(self.bases.matrix) else DEVICE_BLOCK_ROWS
        return [
            slice(start, min(start + height, self.rows)) for start in range(0, self.rows, height)
        ]

    def product(self, vectors: Array) -> Array:
        """Return the matrix times vectors of shape (n, c)."""
        place = self.bases.matrix
        whole = self.matrix if self.held else None
        single, exponent = in_single(vectors)
        small = beside(single, place)

        def multiplied(rows: slice) -> Array:
            block = self.part(rows) if whole is None else whole[rows, :]
            return to_host(block @ small)

        return np.ldexp(np.vstack(self._each(multiplied)).astype(float), exponent)

    def _each(self, work: Callable[[slice], Any]) -> list[Any]:
        """Return work on each block of rows, on several threads on the host."""
        if not on_host(self.bases.matrix) or len(self.blocks) == 1:
            return one_by_one(work, self.blocks)
        with side_by_side() as together:
            return together(work, self.blocks)

    def whole(self) -> Any:
        """Return the matrix."""
        return self.matrix


def whole_system(
    family: WidthFamily,
    indices: Sequence[WidthKernel],
    theta: Array,
    rng: np.random.Generator,
) -> GramSystem | ConjugateSystem:
    """Return the system of given weights on all rows, as it fits in the family's room."""
    rows = family.rows
    if rows <= CHOLESKY_ROWS and 16 * rows**2 <= family.room:
        return GramSystem(family.gram(indices, theta))
    landmarks = np.sort(rng.choice(rows, min(LANDMARKS, rows), replace=False))
    whole = WholeKernel(family, indices, theta, held=4 * rows**2 <= family.room)
    return ConjugateSystem(whole, landmarks)
