"""Model files: one zip of JSON and plain arrays, written at once, read without running any code."""

from .files import FORMAT, ModelFileError, load, save
from .whole import write_whole

__all__ = ["FORMAT", "ModelFileError", "load", "save", "write_whole"]
