"""What model files hold is looked at before it is used: sizes, types, finite numbers."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from ..arrays import Array

STORED_KINDS = "biufU"
"""Kinds of the arrays that model files hold: truth values, integers, floats and text."""

PRETENDED_BYTES = 2**24
"""Most bytes that an array without any may stand for by its other sides: those of 2 million rows
without features. Set by judgement."""


def read_array(content: bytes) -> Array:
    """Return the array of the bytes of an npy file; ValueError unless they are just its values.

    The shape that it declares is compared with the bytes there are before anything is allocated.
    """
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has version {version} of npy; 1.0 and 2.0 are read")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, columns_first, dtype = read(stream)
    if dtype.hasobject or dtype.kind not in STORED_KINDS:
        raise ValueError(f"an array is of {dtype}, which model files do not hold")
    count, held = 1, len(content) - stream.tell()
    for side in shape:
        if side < 0:
            raise ValueError(f"an array has the shape {shape}")
        count *= side  # a Python integer: no overflow
    if count * dtype.itemsize != held or _pretended(shape, dtype) > PRETENDED_BYTES:
        raise ValueError(f"an array of shape {shape} has {held:,} bytes of {dtype}")
    flat = np.frombuffer(content, dtype, count, stream.tell()) if held else np.empty(count, dtype)
    return flat.reshape(shape, order="F" if columns_first else "C").copy(order="K")


def _pretended(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return the bytes of an array without any, were its sides and its items not of size zero.

    Nothing bounds such sides, and whatever is made of them.
    """
    if dtype.itemsize and 0 not in shape:
        return 0
    return prod(side for side in shape if side) * max(dtype.itemsize, 1)


def parts_of(value: Any, place: str, besides: Collection[str] = ()) -> Iterator[tuple[Any, str]]:
    """Yield an object and all that it holds, each once, with words for where it is.

    Containers and the attributes of objects are looked into, but for those named in ``besides``;
    ``place`` says what the first is.
    """
    seen: set[int] = set()
    waiting = [(value, place)]
    while waiting:
        one, where = waiting.pop()
        if isinstance(one, float):
            yield one, where
            continue
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one, where
        if sparse.issparse(one):
            waiting.append((one.data, where))
        elif isinstance(one, list | tuple):
            waiting += [(part, where) for part in one]
        elif isinstance(one, dict):
            waiting += [(part, f"{key} of {where}") for key, part in one.items()]
        elif hasattr(one, "__dict__") and not isinstance(one, type):
            own = {key: part for key, part in vars(one).items() if key not in besides}
            waiting += [(part, f"{key} of {where}") for key, part in own.items()]


def refuse_infinite(value: Any, place: str, besides: Collection[str] = ()) -> None:
    """Raise ValueError if an object, or what it holds, has a number that is not finite."""
    for one, where in parts_of(value, place, besides):
        number = isinstance(one, float) or (isinstance(one, np.ndarray) and one.dtype.kind == "f")
        if number and not np.all(np.isfinite(one)):
            raise ValueError(f"{where} has values that are not finite")


def refuse_fields(value: Any, kinds: dict[str, Any], place: str) -> None:
    """Raise TypeError unless an object has these attributes, each of a type that it may have."""
    for name, kind in kinds.items():
        found = vars(value).get(name)
        wrong = isinstance(found, bool) and kind in (int, float)
        if name not in vars(value) or wrong or not isinstance(found, kind):
            raise TypeError(f"{name} of {place} is {type(found).__name__}")
