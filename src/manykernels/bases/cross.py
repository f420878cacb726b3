"""Base kernels with explicit features, between two sets of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..arrays import Array
from ..backend import dense, filled

if TYPE_CHECKING:
    from .features import FeatureBlocks


class CrossBlocks:
    """Kernels of features between two sets of rows; ``rows`` selects on the left."""

    def __init__(
        self, left: FeatureBlocks, right: FeatureBlocks, rows: slice = slice(None)
    ) -> None:
        self.left, self.right, self.selected = left, right, rows
        self.count, self.shape = left.count, (len(range(left.rows)[rows]), right.rows)

    def filled(self, value: float) -> Array:
        """Return a matrix of one value."""
        return filled(value, self.shape, self.left.features)

    def kernel(self, j: int) -> Array:
        """Return the matrix of base kernel ``j``."""
        return self.left.block(j)[self.selected, :] @ self.right.block(j).T

    def power_sum(self, k: int) -> Array:
        """Return the sum of all kernels' k-th powers; one matrix product if blocks are columns."""
        if self.left.single:
            left = self.left.features[self.selected, :] ** k
            return dense(left @ (self.right.features**k).T)
        return sum((self.kernel(j) ** k for j in range(self.count)), self.filled(0.0))
