"""The names that the whole library uses for arrays and indices."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of numbers, of float64 unless said otherwise."""

Index = Hashable
"""A kernel of a family. What it is belongs to the family alone: it can be hashed and compared for
equality; ``family.name`` and ``family.factors`` say what it stands for. Model files can hold
numbers, strings and tuples of them."""

Product = tuple[int, ...]
"""A product of base kernels: their sorted numbers, with repetition; ``()`` is the constant one."""
