"""What rows in memory are refused for before a fit: values and matrices that are too large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import largest_size, to_host
from ..bases import Bases, WidthRows
from ..families import KernelFamily
from ..inputs import ranges
from ..limits import LEAST_SYSTEMS
from ..memory import NoRoomError
from ..solvers import Solver, list_bytes, system_bytes

LARGEST_EXPONENT = 280.0
"""Decimal exponent that products of features must stay below: doubles end at 308, and sums of
products need some room."""

LEAST_REFUSED = 2**30
"""Bytes of the features of a product below which no fit is refused for them: working sets do
without them. Set by judgement."""


def refuse_overflow(bases: Bases, degree: int, names: Sequence[str]) -> None:
    """Raise ValueError if products of features or kernel values would overflow."""
    if isinstance(bases, WidthRows):
        return  # no value of their kernels is above one
    largest = largest_size(bases.matrix)
    # Squares of features are kernel values; matrices of these are squared in their turn.
    if largest > 1 and 2 * degree * np.log10(largest) > LARGEST_EXPONENT:
        raise ValueError(
            f"X has values so large that products of degree {degree} overflow; the largest base "
            f"feature or kernel value is {largest:.3g}, of {_largest_kernel(bases, names)!r}. Use "
            "standardize=True or a smaller degree."
        )


def refuse_wide(family: KernelFamily, degree: int) -> None:
    """Raise NoRoomError if the features of a single product would not fit in memory."""
    if not family.explicit or family.blocks.single:
        return
    sizes = np.sort(family.blocks.sizes.astype(float))[::-1]
    plain: Any = getattr(family, "family", family)
    most = sizes[:degree] if plain.index_set.strict else np.full(degree, sizes[0])
    features = float(np.prod(most))
    if 8 * features * family.rows > max(family.room, LEAST_REFUSED):
        raise NoRoomError(
            "degree must be such that the functions of one product fit in max_memory; got "
            f"degree={degree}: up to {features:.2g} functions, {8 * features * family.rows:.2g} "
            f'bytes on {family.rows} rows. Use a smaller degree, kernels="linear" or "auto".'
        )


def refuse_systems(solver: Solver, family: KernelFamily) -> None:
    """Raise NoRoomError if the matrices of a fit to all kernels at once would not fit in memory."""
    needs = getattr(solver, "needs", None)
    if needs is None or not (needs.listed or needs.summed):
        return
    needed = system_bytes(family) + (list_bytes(family) if needs.listed else 0.0)
    if needed > max(family.room, LEAST_SYSTEMS):
        raise NoRoomError(
            f"max_memory must be more than the {needed / 2**20:,.0f} MB that a fit to all kernels "
            f"at once takes on {family.rows:,} rows; got {family.room / 2**20:,.0f} MB beside the "
            "functions of columns. Use a larger max_memory, or p=1, which fits few kernels at a "
            "time."
        )


def _largest_kernel(bases: Any, names: Sequence[str]) -> str:
    """Return the name of the base kernel with the largest feature or value."""
    sizes = abs(to_host(bases.matrix))
    if not bases.explicit:
        return names[int(sizes.reshape(len(names), -1).max(axis=1).argmax())]
    best = int(np.ravel(ranges(sizes)[1]).argmax())
    return names[int(np.searchsorted(bases.offsets, best, side="right")) - 1]
