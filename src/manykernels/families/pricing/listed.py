"""Pricing of any family, and of those that can be listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from .shortlist import Pricer, Shortlist
from .spreads import inverse

if TYPE_CHECKING:
    from ..base import KernelFamily


def pricer(
    family: KernelFamily,
    weights: Array | None = None,
    bits: int = 64,
    centred: bool = True,
) -> Pricer:
    r"""Return the pricer of a family.

    Parameters
    ----------
    family : KernelFamily
        The kernels; a family that is ``priceable``.
    weights : ndarray of shape (n,), optional
        Weights of the rows, adding up to one. If given, gradients are divided by the kernels'
        spreads :math:`\sigma_i^2 = \sum_t s_t \|\phi_i(x_t) - \bar\phi_i\|^2`, in which
        :math:`\rho_i` has no part; kernels without spread have the score 0.
    bits : {64, 32}, default=64
        Precision of the matrix products. With 32 bits scores are good to some 1e-6 of
        :math:`\|\phi_i\|^2\|\alpha\|^2`.
    centred : bool, default=True
        Whether spreads are around the mean, or else around zero.
    """
    return family.pricer(weights, bits, centred)


class ListPricer:
    """Prices every kernel of a family that can be listed; O(n^2 d) for d kernels of matrices."""

    def __init__(
        self, family: KernelFamily, row_weights: Array | None = None, centred: bool = True
    ) -> None:
        self.family, self.indices = family, family.indices()
        self.inverse: Array | float = 1.0
        if row_weights is not None:
            products, scales = family.products(self.indices), family.weights(self.indices)
            squares, means = family.bases.mean_squares(products, scales, row_weights)
            self.inverse = inverse(squares, means * centred) * family.unmerged_weights(self.indices)

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        """Return the kernels of largest score."""
        scores = self.family.at(alpha).all() * self.inverse
        best = np.argsort(-scores, kind="stable")[:count]
        best = best[scores[best] > above]
        return Shortlist([self.indices[i] for i in best.tolist()], scores[best])
