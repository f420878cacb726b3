"""The names that the whole library uses for arrays and indices."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of numbers, of float64 unless said otherwise."""

Index = tuple[int, ...]
"""A product kernel: the sorted numbers of its base kernels, with repetition; ``()`` is constant."""
