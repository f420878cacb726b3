"""Rows in parts: of files larger than memory, or on the workers of a cluster, through Dask."""

from .engine import engine_of
from .growing import Growing
from .model import Engine, Fitted, Limits, Task
from .moments import Moments, compressed
from .rows import Block, Design, Parts, Point, Summary, is_partitioned
from .whole import Whole

__all__ = [
    "Block",
    "Design",
    "Engine",
    "Fitted",
    "Growing",
    "Limits",
    "Moments",
    "Parts",
    "Point",
    "Summary",
    "Task",
    "Whole",
    "compressed",
    "engine_of",
    "is_partitioned",
]
