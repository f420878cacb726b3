"""What a fit is of, in 64 digits: the same for the same data, parameters and version."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array

STATE_FORMAT = 1
"""Version of what the files of checkpoints hold. Those of others are not used."""


def fingerprint(**parts: Any) -> str:
    """Return 64 hexadecimal digits that stand for some values by name, and for the version.

    Arrays count with their types and every bit; objects with their class and attributes; functions
    with their names and code; sources of random numbers with their state. Objects that cannot be
    told from others in another process are a TypeError.
    """
    from .. import __version__

    hashed = hashlib.sha256()
    for piece in _pieces({"format": STATE_FORMAT, "version": __version__, **parts}, "checkpoint"):
        hashed.update(len(piece).to_bytes(8, "little"))
        hashed.update(piece)
    return hashed.hexdigest()


def _pieces(value: Any, place: str) -> Iterator[bytes | memoryview]:
    """Yield the bytes that a value is told by; ``place`` says in errors what it is."""
    yield type(value).__qualname__.encode()
    if value is None or isinstance(value, str | int | float | complex | bytes | np.generic):
        yield repr(value).encode()
    elif isinstance(value, os.PathLike):
        yield os.fsencode(value)
    elif isinstance(value, np.ndarray):
        yield from _array(value, place)
    elif sparse.issparse(value):
        columns = sparse.csc_array(value)
        for part in (columns.shape, columns.data, columns.indices, columns.indptr):
            yield from _pieces(part, place)
    elif isinstance(value, list | tuple):
        yield repr(len(value)).encode()
        for part in value:
            yield from _pieces(part, place)
    elif isinstance(value, Set):
        yield repr(sorted(map(repr, value))).encode()
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _pieces(value[key], f"{key} of {place}")
    else:
        yield from _object(value, place)


def _array(value: Array, place: str) -> Iterator[bytes | memoryview]:
    yield repr((value.dtype.str, value.shape)).encode()
    if value.dtype.hasobject:
        yield from _pieces(value.ravel().tolist(), place)
    else:
        yield np.ascontiguousarray(value).view(np.uint8).data if value.size else b""


def _object(value: Any, place: str) -> Iterator[bytes | memoryview]:
    if isinstance(value, np.random.Generator):
        yield from _pieces(value.bit_generator.state, place)
    elif isinstance(value, np.random.RandomState):
        yield from _pieces(value.get_state(legacy=False), place)
    elif isinstance(value, FunctionType):
        yield f"{value.__module__}.{value.__qualname__}".encode()
        yield value.__code__.co_code
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = [one for one in value.__code__.co_consts if not hasattr(one, "co_code")]
        yield from _pieces([names, value.__defaults__, value.__kwdefaults__, cells], place)
    elif isinstance(value, BuiltinFunctionType | type | Enum):
        yield repr(value).encode()
    elif isinstance(value, Iterator) or not hasattr(value, "__dict__"):
        raise TypeError(
            f"checkpoint needs parameters that are the same in another process; got "
            f"{str(value)[:60]} as {place}. Use a name, numbers or arrays there, or "
            "checkpoint=None."
        )
    else:
        yield type(value).__module__.encode()
        yield from _pieces(vars(value), place)
