"""Where rows live: in memory, or in parts on disk or on a cluster."""

from .base import Fits, Prepared, Rows
from .memory import MemoryPrepared, MemoryRows
from .parts import PartedRows

__all__ = ["Fits", "MemoryPrepared", "MemoryRows", "PartedRows", "Prepared", "Rows"]
