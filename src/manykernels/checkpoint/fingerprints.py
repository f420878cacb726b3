"""What a fit is of, in 64 digits: the same for the same data, parameters and version."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..backend import is_array, to_host
from .code import (
    OPAQUE,
    closed_over,
    code_of,
    globals_of,
    is_installed,
    own_attributes,
    reduced,
)

STATE_FORMAT = 1
"""Version of what the files of checkpoints hold. Those of others are not used."""

PLAIN = (type(None), bool, int, float, complex, str, bytes)
"""Types of values that are told by how they are written."""

REMEMBERED = type(lru_cache(len))
"""Type of functions that remember their values: told by the function within."""

Pieces = Iterator[bytes | memoryview]


def fingerprint(**parts: Any) -> str:
    """Return 64 hexadecimal digits that stand for some values by name, and for the version.

    Arrays count with their types and every bit; objects with their class and all of their state;
    functions and classes with their code, what it calls and the values it uses, those of installed
    packages by their names; sources of random numbers with their state. Objects that cannot be told
    from others in another process are a TypeError.
    """
    from .. import __version__

    whole = {"format": STATE_FORMAT, "version": __version__, **parts}
    return _Fingerprints().digest(whole, "checkpoint").hex()


class _Fingerprints:
    """Tells values by bytes; functions, classes and objects that hold themselves by their places.

    ``open_`` has the objects that are being told, ``known`` the digests of functions and classes
    that were.
    """

    def __init__(self) -> None:
        self.open_: dict[int, int] = {}
        self.known: dict[int, tuple[Any, bytes]] = {}

    def digest(self, value: Any, place: str) -> bytes:
        """Return the digest of a value; ``place`` says in errors what it is."""
        hashed = hashlib.sha256()
        for piece in self._pieces(value, place):
            hashed.update(len(piece).to_bytes(8, "little"))
            hashed.update(piece)
        return hashed.digest()

    def _pieces(self, value: Any, place: str) -> Pieces:
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}".encode()
        if kind in PLAIN:
            yield repr(value).encode(errors="surrogatepass")
        elif isinstance(value, np.generic):
            yield from self._array(np.asarray(value), place)
        elif kind in (np.ndarray, np.memmap):
            yield from self._array(value, place)
        elif sparse.issparse(value):
            columns = sparse.csc_array(value)
            parts = (columns.shape, columns.data, columns.indices, columns.indptr)
            yield from self._each(parts, place)
        elif not isinstance(value, np.ndarray | type) and is_array(value):
            yield from self._array(to_host(value), place)
        elif isinstance(value, os.PathLike):
            yield os.fsencode(value)
        elif id(value) in self.open_:
            yield str(self.open_[id(value)]).encode()
        else:
            yield from self._holder(value, place)

    def _holder(self, value: Any, place: str) -> Pieces:
        """Yield the bytes of a value that holds others, possibly itself."""
        self.open_[id(value)] = len(self.open_)
        try:
            if type(value) in (list, tuple):
                yield from self._each(value, place)
            elif type(value) in (set, frozenset):
                yield b"".join(sorted(self.digest(one, place) for one in value))
            elif type(value) in (dict, MappingProxyType):
                yield from self._mapping(value, place)
            elif isinstance(value, FunctionType | type):
                yield self._once(value, place)
            else:
                yield from self._object(value, place)
        finally:
            del self.open_[id(value)]

    def _each(self, values: Iterable[Any], place: str) -> Pieces:
        parts = list(values)
        yield str(len(parts)).encode()
        for part in parts:
            yield from self._pieces(part, place)

    def _mapping(self, value: Any, place: str) -> Pieces:
        yield str(len(value)).encode()
        digests = [(self.digest(key, place), key) for key in value]
        for digest, key in sorted(digests, key=lambda pair: pair[0]):
            yield digest
            yield from self._pieces(value[key], f"{key} of {place}")

    def _array(self, value: Array, place: str) -> Pieces:
        yield repr((value.dtype, value.shape)).encode()
        if value.dtype.hasobject:
            yield from self._pieces(value.ravel().tolist(), place)
        else:
            yield np.ascontiguousarray(value).view(np.uint8).data if value.size else b""

    def _once(self, value: Any, place: str) -> bytes:
        """Return the digest of a function or a class, made once: many call the same."""
        if id(value) not in self.known:
            if is_installed(value):
                parts: Any = f"{value.__module__}.{value.__qualname__}"
            elif isinstance(value, type):
                parts = (value.__qualname__, value.__bases__, own_attributes(value))
            else:
                parts = self._function(value)
            self.known[id(value)] = value, self.digest(parts, place)
        return self.known[id(value)][1]

    def _function(self, value: FunctionType) -> Any:
        given = (value.__defaults__, value.__kwdefaults__, closed_over(value), vars(value))
        return (value.__qualname__, code_of(value.__code__), given, globals_of(value))

    def _object(self, value: Any, place: str) -> Pieces:
        yield self._once(type(value), place)
        if isinstance(value, np.random.RandomState):
            yield from self._pieces(value.get_state(legacy=False), place)
        elif isinstance(value, np.random.Generator):
            yield from self._pieces(value.bit_generator.state, place)
        elif isinstance(value, Enum):
            yield value.name.encode()
        elif isinstance(value, ModuleType):
            yield value.__name__.encode()
        elif isinstance(value, CodeType):
            yield from self._pieces(code_of(value), place)
        elif isinstance(value, MethodType):
            yield from self._pieces((value.__func__, value.__self__), place)
        elif isinstance(value, BuiltinFunctionType) and not _of_module(value):
            yield from self._pieces((value.__name__, value.__self__), place)
        elif isinstance(value, REMEMBERED):
            yield from self._pieces(value.__wrapped__, place)
        elif isinstance(value, OPAQUE):
            yield str(getattr(value, "__name__", "")).encode()
        else:
            yield from self._reduced(value, place)

    def _reduced(self, value: Any, place: str) -> Pieces:
        """Yield the bytes of all that pickle would keep of an object."""
        try:
            parts = None if isinstance(value, Iterator) else reduced(value)
        except Exception:  # whatever a class may raise
            parts = None
        if parts is None:
            raise TypeError(
                "checkpoint needs parameters that are the same in another process; got "
                f"{str(value)[:60]} as {place}. Use a name, numbers or arrays there, or "
                "checkpoint=None."
            )
        yield from self._each(parts, place)


def _of_module(value: BuiltinFunctionType) -> bool:
    return value.__self__ is None or isinstance(value.__self__, ModuleType)
