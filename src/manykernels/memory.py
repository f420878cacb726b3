"""Work that would not fit in memory is refused before it starts."""

from __future__ import annotations

import os
from typing import Any

from .backend import HOST, approximately, free_bytes
from .limits import MEMORY_SHARE


def refuse_bytes(needed: int, what: str, value: str, remedy: str, place: Any = HOST) -> None:
    """Raise if something takes more than six tenths of the memory of the machine or device."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, AttributeError, OSError):
        return
    memory = int(free_bytes(place)) or memory
    if needed > MEMORY_SHARE * memory:
        raise ValueError(
            f"{what} must fit in memory; got {value}: {approximately(needed) / 2**30:.3g} GiB, of "
            f"{memory / 2**30:.1f} GiB. {remedy}"
        )
