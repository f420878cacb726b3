"""Objects as trees of JSON values and arrays, and back.

A tree has JSON's values, and objects with a single key that begins with ``$`` for what JSON lacks:
arrays, tuples, lists of kernels, numbers that are not finite, functions and objects of the
library's own classes. Only the classes and functions that the registry names are ever made from a
file, and none of their code is run for that.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..backend import is_array, to_host
from ..kernels import KERNEL_FUNCTIONS
from ..registry import STORED_HOMES, stored_class
from .upgrade import upgraded

TRAINING = {"dual_coef_", "folds"}
"""Attributes about training rows that predictions do not need: not stored."""

FITTING = {"cv", "random_state"}
"""Parameters that only another fit needs: stored as None where they are objects."""

PLACES = {"checkpoint"}
"""Parameters that name a place on this machine: stored as None."""


SHARED = 8
"""Most times that an array is part of something else, in the mean. Set by judgement: it is once."""


class UnstorableError(TypeError):
    """A value that model files cannot hold."""


class Encoder:
    """Turns objects into trees; ``arrays`` has those that the tree refers to by number."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._numbers: dict[int, int] = {}

    def encode(self, value: Any, place: str = "the model") -> Any:
        """Return a tree; ``place`` says in errors what it is the tree of."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return self.encode(value.item(), place)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if sparse.issparse(value):
            columns = sparse.csc_array(value)
            parts = (columns.data, columns.indices, columns.indptr)
            return {"$columns": [list(columns.shape), *(self._array(part, "") for part in parts)]}
        if is_array(value):  # training rows on a device
            return self._array(to_host(value), place)
        if isinstance(value, list | tuple):
            return self._sequence(value, place)
        if isinstance(value, dict):
            if not all(isinstance(key, str) and key[:1] != "$" for key in value):
                raise UnstorableError(f"{place} has keys that are no names")
            return {key: self.encode(part, f"{place}[{key!r}]") for key, part in value.items()}
        for label, function in KERNEL_FUNCTIONS.items():
            if value is function:
                return {"$function": label}
        return self._object(value, place)

    def _array(self, value: Array, place: str) -> Any:
        if value.dtype == object and value.ndim == 1:
            return {"$objects": [self.encode(part, place) for part in value.ravel().tolist()]}
        if value.dtype.hasobject or value.dtype.kind not in "biufU":
            raise UnstorableError(f"{place} is an array of {value.dtype}")
        # Shared arrays are kept once; the list keeps them alive, so that no number is used twice.
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"$array": self._numbers[id(value)]}

    def _sequence(self, value: Any, place: str) -> Any:
        if len(value) > 8 and isinstance(value, list) and all(_is_index(part) for part in value):
            lengths = np.array([len(part) for part in value])
            return {
                "$indices": [
                    self._array(lengths, place),
                    self._array(np.array([j for part in value for j in part], dtype=int), place),
                ]
            }
        parts = [self.encode(part, f"{place}[{i}]") for i, part in enumerate(value)]
        return parts if isinstance(value, list) else {"$tuple": parts}

    def _object(self, value: Any, place: str) -> Any:
        kind = type(value)
        if kind.__name__ not in STORED_HOMES or stored_class(kind.__name__) is not kind:
            raise UnstorableError(f"{place} is {_short(value)}, of class {kind.__name__}")
        state = {
            name: part
            for name, part in vars(value).items()
            if name not in TRAINING and not isinstance(getattr(kind, name, None), cached_property)
        }
        for name in FITTING & state.keys():
            if not isinstance(state[name], int | str | None):
                state[name] = None
        state |= dict.fromkeys(PLACES & state.keys())
        trees = {name: self.encode(part, f"{name} of {place}") for name, part in state.items()}
        return {"$object": [kind.__name__, trees]}


def _is_index(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(part) is int for part in value)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class Decoder:
    """Turns trees back into objects."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self._room = SHARED * sum(array.nbytes for array in arrays)

    def decode(self, tree: Any) -> Any:
        """Return the object of a tree; ValueError, KeyError or TypeError if it is none."""
        if isinstance(tree, list):
            return [self.decode(part) for part in tree]
        if not isinstance(tree, dict):
            return tree
        if len(tree) != 1 or next(iter(tree))[:1] != "$":
            return {key: self.decode(part) for key, part in tree.items()}
        ((tag, content),) = tree.items()
        return getattr(self, "_" + _TAGS[tag])(content)

    def _array(self, number: int) -> Array:
        return self.arrays[number]

    def _columns(self, content: Any) -> Any:
        shape, *parts = content
        found = sparse.csc_array(tuple(self._parts(parts)), shape=tuple(shape))
        found.check_format(full_check=True)  # numbers of rows beyond the last end the process
        return found

    def _objects(self, content: list[Any]) -> Array:
        out = np.empty(len(content), dtype=object)
        for i, part in enumerate(content):
            out[i] = self.decode(part)
        return out

    def _indices(self, content: Any) -> list[tuple[int, ...]]:
        lengths, flat = self._parts(content)
        wrong = (
            lengths.ndim != 1 or flat.ndim != 1 or {lengths.dtype.kind, flat.dtype.kind} != {"i"}
        )
        if wrong or np.any(lengths < 0) or sum(lengths.tolist()) != len(flat):
            raise ValueError(
                f"{len(lengths)} kernels are of other lengths than {len(flat)} indices"
            )
        out, start, flat = [], 0, flat.tolist()
        for length in lengths.tolist():
            out.append(tuple(flat[start : start + length]))
            start += length
        return out

    def _parts(self, content: list[Any]) -> list[Array]:
        """Return the arrays that something is made of; raise if little text stands for much."""
        arrays = [self.decode(part) for part in content]
        self._room -= sum(array.nbytes for array in arrays)
        if self._room < 0:
            raise ValueError("the same arrays are parts of too many things")
        return arrays

    def _tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(part) for part in content)

    def _number(self, content: str) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[content]

    def _function(self, content: str) -> Any:
        return KERNEL_FUNCTIONS[content]

    def _object(self, content: Any) -> Any:
        name, state = content
        kind = stored_class(name)
        made: Any = object.__new__(kind)
        parts = {key: self.decode(part) for key, part in state.items()}
        vars(made).update(upgraded(kind.__name__, parts, stored_class))
        return made


_TAGS = {
    "$array": "array",
    "$columns": "columns",
    "$objects": "objects",
    "$indices": "indices",
    "$tuple": "tuple",
    "$float": "number",
    "$function": "function",
    "$object": "object",
}
