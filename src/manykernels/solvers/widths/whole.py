"""The kernel of given weights on all rows: half of a symmetric matrix, held or made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ...arrays import Array
from ...backend import beside, in_single, on_host, to_host
from ...bases.width_rows import WidthKernel
from ...dual import ConjugateSystem, GramSystem
from ...families import WidthFamily
from .threads import one_by_one, side_by_side

KERNEL_ROWS = 256
"""Rows of a block of the kernel matrix on the host. Set by judgement, not measured."""

DEVICE_BLOCK_ROWS = 2_048
"""Rows of a block on a device. Set by judgement, not measured."""

BLOCK_COLUMNS = 2_048
"""Columns of a block that the host multiplies with at a time, from both sides: 2 MB stay in its
cache. On 16,000 rows 512 to 16,000 columns took the same time within 5 %."""

PARTIAL_SUMS = 8
"""Sums that blocks on the host are added up in, so that threads need not wait for each other and
their number does not change the digits."""

CHOLESKY_ROWS = 4_000
"""Rows up to which the kernel matrix is factorised; beyond that conjugate gradients are faster.
Set by judgement, not measured."""

LANDMARKS = 1_000
"""Rows of the Nystroem preconditioner. On 25,600 rows of kin40k 2,000 took 103 products for 157, in
about the same time."""


Work = TypeVar("Work")


class WholeKernel:
    r"""The kernel :math:`\sum_i \theta_i \rho_i^{-2} K_i` on all rows.

    Of the symmetric matrix only the rows from the diagonal on are made, in single precision:
    O(n^2 d / 2) for kernels of d columns in all.

    Parameters
    ----------
    family : WidthFamily
        The rows and the kernels.
    indices : sequence of WidthKernel
        The kernels.
    theta : ndarray
        Their weights.
    held : bool
        Whether half of the matrix is held, 2 n^2 bytes, or made anew for each product.
    """

    def __init__(
        self, family: WidthFamily, indices: Sequence[WidthKernel], theta: Array, held: bool
    ) -> None:
        self.bases, self.rows = family.bases, family.rows
        self.terms = list(zip(indices, (theta * family.weights(indices)).tolist(), strict=True))
        self.held = held

    def columns(self, numbers: Array) -> Any:
        """Return some columns of the matrix."""
        other = self.bases.take(numbers)
        return sum(factor * self.bases.kernel(index, other) for index, factor in self.terms)

    @property
    def blocks(self) -> list[slice]:
        """Rows that are made at a time."""
        height = KERNEL_ROWS if on_host(self.bases.matrix) else DEVICE_BLOCK_ROWS
        return [
            slice(start, min(start + height, self.rows)) for start in range(0, self.rows, height)
        ]

    def made(self, rows: slice) -> Any:
        """Return some rows of the matrix, from the diagonal on."""
        own = self.bases.take(np.arange(rows.start, rows.stop))
        other = self.bases.take(np.arange(rows.start, self.rows))
        return sum(factor * own.kernel(index, other, bits=32) for index, factor in self.terms)

    @cached_property
    def upper(self) -> list[Any]:
        """Half of the matrix: the rows of each block from the diagonal on."""
        return self._each(self.made, self.blocks)

    def product(self, vectors: Array) -> Array:
        """Return the matrix times vectors of shape (n, c)."""
        place = self.bases.matrix
        single, exponent = in_single(vectors)
        small = beside(single, place)
        numbered = list(enumerate(self.blocks))
        shares = PARTIAL_SUMS if on_host(place) else 1
        if self.held:
            _ = self.upper  # made before threads share it

        def added(blocks: list[tuple[int, slice]]) -> Array:
            out = np.zeros(vectors.shape)
            for number, rows in blocks:
                block = self.upper[number] if self.held else self.made(rows)
                self._add(block, rows, small, out)
            return out

        parts = self._each(added, [numbered[first::shares] for first in range(shares)])
        return np.ldexp(np.sum(parts, axis=0), exponent)

    def _add(self, block: Any, rows: slice, vectors: Any, out: Array) -> None:
        """Add to a product what a block brings, as rows and, beyond the diagonal, as columns."""
        height = rows.stop - rows.start
        out[rows] += to_host(block[:, :height] @ vectors[rows, :])
        width = BLOCK_COLUMNS if on_host(block) else self.rows
        for start in range(rows.stop, self.rows, width):
            columns = slice(start, min(start + width, self.rows))
            beyond = block[:, start - rows.start : columns.stop - rows.start]
            out[rows] += to_host(beyond @ vectors[columns, :])
            out[columns] += to_host(beyond.T @ vectors[rows, :])

    def _each(self, work: Callable[[Work], Any], parts: Iterable[Work]) -> list[Any]:
        """Return work on each part, on several threads on the host."""
        if not on_host(self.bases.matrix) or len(self.blocks) == 1:
            return one_by_one(work, parts)
        with side_by_side() as together:
            return together(work, parts)


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
    whole = WholeKernel(family, indices, theta, held=2 * rows**2 <= family.room)
    return ConjugateSystem(whole, landmarks)
