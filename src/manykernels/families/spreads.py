"""How much the features of kernels vary over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Index
from ..backend import namespace, times, to_host
from ..bases import FeatureBlocks, GramStack
from ..bases.features import dense, scale_columns

if TYPE_CHECKING:
    from .base import KernelFamily

HARDLY = 0.02
"""Where spreads are made anew on a device, in low precision, less than this share of the mean
square is not told from it."""


def moments(family: KernelFamily, indices: list[Index], weights: Array) -> tuple[Array, Array]:
    r"""Return :math:`\sum_t s_t\|\phi_i(x_t)\|^2` and :math:`\|\sum_t s_t\phi_i(x_t)\|^2`.

    Of given kernels, scale factors included; O(n) for each feature, O(n^2) for each matrix.
    """
    squares, means = np.zeros(len(indices)), np.zeros(len(indices))
    if isinstance(family.bases, GramStack):
        for i, index in enumerate(indices):
            gram = family.bases.product(index)
            diagonal = to_host(namespace(gram).linalg.diagonal(gram))
            squares[i], means[i] = weights @ diagonal, weights @ times(gram, weights)
        return squares * family.weights(indices), means * family.weights(indices)
    for part in family.batches(indices):
        columns, owners = family.features(indices[part])
        count = len(squares[part])
        squares[part] = np.bincount(owners, times((columns**2).T, weights), count)
        means[part] = np.bincount(owners, times(columns.T, weights) ** 2, count)
    return squares, means


def inverse(squares: Any, means: Any) -> Any:
    """Return one over the spread, zero where rounding leaves nothing of it."""
    xp = namespace(squares)
    spread = squares - means
    known = spread > 64 * xp.finfo(squares.dtype).eps * squares
    return xp.where(known, 1 / xp.where(known, spread, 1.0), 0.0)


def rough_inverse(squares: Any, means: Any) -> Any:
    """Return about one over the spread, and less than that for features that hardly vary."""
    xp = namespace(squares)
    return 1 / (
        xp.maximum(squares - means, HARDLY * squares) + xp.finfo(xp.float32).smallest_normal
    )


def unit_size(bases: FeatureBlocks, weights: Array) -> FeatureBlocks:
    """Return the same kernels, each divided by the mean of its diagonal."""
    squares = times((dense(bases.features) ** 2).T, weights)
    sizes = np.add.reduceat(squares, bases.offsets[:-1])
    roots = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    factors = 1 / np.repeat(roots, bases.sizes)
    return FeatureBlocks(scale_columns(bases.features, factors), bases.sizes)
