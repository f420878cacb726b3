"""What pricing finds, and how it is found in any family."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...arrays import Array, Index
from .spreads import inverse

if TYPE_CHECKING:
    from ..base import KernelFamily


class Shortlist(NamedTuple):
    """Kernels in descending order of their scores."""

    indices: list[Index]
    scores: Array


class Pricer(Protocol):
    """Finds the kernels of largest score at one dual point after another."""

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        r"""Return the ``count`` kernels of largest score, of those with one above a threshold.

        The score is the gradient :math:`g_i`, or :math:`g_i / \sigma_i^2` if the pricer was made
        with row weights; ``alpha`` is of shape (n, c).
        """
        ...


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
