"""Kernel matrices of a set of kernels with widths, held in single precision or made anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...backend import beside, filled, in_single, to_host
from ...bases.width_rows import WidthKernel
from ...deadline import check
from ...dual import GramSystem
from ...families import WidthFamily


class HeldKernels:
    r"""Some kernels of a family on its rows, weighed again and again.

    Parameters
    ----------
    family : WidthFamily
        The kernels and their scale factors, on some rows.
    indices : sequence of WidthKernel
        Which kernels.
    before : HeldKernels, optional
        Kernels on the same rows, whose matrices are taken over.
    """

    def __init__(
        self,
        family: WidthFamily,
        indices: Sequence[WidthKernel],
        before: HeldKernels | None = None,
    ) -> None:
        self.family, self.indices = family, list(indices)
        self.scales = family.weights(self.indices)
        most = int(family.room / (4 * family.rows**2))
        known = {} if before is None else before.matrices
        self.matrices: dict[WidthKernel, Array] = {}
        for index in self.indices[:most]:
            check()
            old = known.get(index)
            self.matrices[index] = self._made(index) if old is None else old

    def _made(self, index: WidthKernel) -> Array:
        return self.family.bases.kernel(index, bits=32)

    def matrix(self, index: WidthKernel) -> Array:
        """Return the matrix of a kernel in single precision, its scale factor left out."""
        held = self.matrices.get(index)
        return self._made(index) if held is None else held

    def system(self, theta: Array) -> GramSystem:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i` in double precision; O(n^2 m)."""
        total = filled(0.0, (self.family.rows,) * 2, self.family.bases.matrix)
        for index, factor in zip(self.indices, theta * self.scales, strict=True):
            check()
            if factor > 0:
                total += float(factor) * self.matrix(index)
        return GramSystem(total)

    def responses(self, alpha: Array) -> Array:
        r"""Return :math:`K_i\alpha/\rho_i^2` for all kernels, of shape (m, n, c)."""
        small, exponent = in_single(alpha)
        parts = []
        for index in self.indices:
            check()
            matrix = self.matrix(index)
            parts.append(to_host(matrix @ beside(small, matrix, matrix.dtype)))
        products = np.array(parts, dtype=float).reshape(len(parts), *alpha.shape)
        return np.ldexp(products, exponent) * self.scales[:, None, None]
