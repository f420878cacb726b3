"""Model files: one zip of JSON and plain arrays, written at once, read without running any code."""

from .files import FORMAT, ModelFileError, load, save
from .sound import parts_of, refuse_fields, refuse_infinite
from .whole import write_whole

__all__ = [
    "FORMAT",
    "ModelFileError",
    "load",
    "parts_of",
    "refuse_fields",
    "refuse_infinite",
    "save",
    "write_whole",
]
