"""How much memory a fit may take: planned before it starts, refused where it cannot be kept."""

from __future__ import annotations

import os
import re
from typing import Any

from .backend import HOST, approximately, free_bytes
from .limits import BUDGET_SHARE, MEMORY_SHARE

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""Bytes in a unit of memory, by its letter."""

UNKNOWN_MACHINE = 2**33
"""Bytes that a machine is taken to have where the system does not tell."""

PRICING_COPY = 0.5
"""Memory of a pricing, as a share of that of the base kernels' features: a copy of these in single
precision."""


class NoRoomError(ValueError):
    """Raised where base kernels alone take more memory than a fit may hold."""


def machine_bytes() -> int:
    """Return the memory of this machine, zero where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, AttributeError, OSError):
        return 0


def as_bytes(size: Any) -> int | None:
    """Return a number of bytes, or one written as in 2GB, 500M or 1.5GiB; None if it is neither."""
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE)
        return int(float(found[1]) * UNITS[found[2].upper()]) if found else None
    try:
        return None if isinstance(size, bool) else int(size)
    except (TypeError, ValueError, OverflowError):
        return None


def budget(size: Any = None) -> int:
    """Return the bytes that a fit may hold: those given, or a quarter of the machine's."""
    given = None if size is None else as_bytes(size)
    return given or int(BUDGET_SHARE * (machine_bytes() or UNKNOWN_MACHINE))


def room_beside(bases: int, explicit: bool, allowed: int) -> int:
    """Return the bytes that are left for the rest of a fit.

    ``bases`` are the bytes of the base kernels, which a fit holds in any case; beside features, if
    kernels are ``explicit``, there is a copy for pricing. Raises :class:`NoRoomError` if they are
    more than what is allowed.
    """
    needed = int(bases * (1 + PRICING_COPY)) if explicit else bases
    if needed > allowed:
        what = "functions of columns" if explicit else "kernel matrices"
        raise NoRoomError(
            f"max_memory must be more than the {needed / 2**20:,.0f} MB that the {what} take on "
            f"these rows; got {allowed / 2**20:,.0f} MB. Use a larger max_memory, fewer columns or "
            "rows, or a Dask collection, whose rows are never all in memory."
        )
    return allowed - needed


def refuse_bytes(needed: int, what: str, value: str, remedy: str, place: Any = HOST) -> None:
    """Raise if something takes more than six tenths of the memory of the machine or device."""
    memory = int(free_bytes(place)) or machine_bytes()
    if memory and needed > MEMORY_SHARE * memory:
        raise ValueError(
            f"{what} must fit in memory; got {value}: {approximately(needed) / 2**30:.3g} GiB, of "
            f"{memory / 2**30:.1f} GiB. {remedy}"
        )
