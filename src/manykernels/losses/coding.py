"""Classes as the targets -1 and +1 that classification losses take."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def class_targets(codes: Array, count: int) -> Array:
    """Return a column of -1 and +1 for each of ``count`` classes; one column for two classes.

    ``codes`` has the number of the class of each row. With two classes +1 is the second.
    """
    outputs = [1] if count == 2 else range(count)
    return np.column_stack([np.where(codes == c, 1.0, -1.0) for c in outputs])
