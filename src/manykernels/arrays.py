"""The names that the whole library uses for arrays and indices."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of numbers, of float64 unless said otherwise."""

LARGE = 10**300


def approximately(count: int) -> float:
    """Return a count as a float; counts beyond the range of floats as 1e300."""
    return float(min(count, LARGE))


Index = tuple[int, ...]
"""A product kernel: the sorted numbers of its base kernels, with repetition; ``()`` is constant."""
