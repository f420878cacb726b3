"""Model files: one zip of JSON and plain arrays, written at once, read without running any code."""

from .files import FORMAT, ModelFileError, load, packed, save, unpacked
from .sound import parts_of, refuse_fields, refuse_infinite
from .values import UnstorableError
from .whole import may_run, resolved, this_host, write_whole

__all__ = [
    "FORMAT",
    "ModelFileError",
    "UnstorableError",
    "load",
    "may_run",
    "packed",
    "parts_of",
    "refuse_fields",
    "refuse_infinite",
    "resolved",
    "save",
    "this_host",
    "unpacked",
    "write_whole",
]
