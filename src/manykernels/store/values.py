"""Objects as trees of JSON values and arrays, and back.

A tree has JSON's values, and objects with a single key that begins with ``$`` for what JSON lacks:
arrays, tuples, lists of kernels, numbers that are not finite, functions and objects of the
library's own classes. Only the classes and functions named here are ever made from a file, and none
of their code is run for that.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from .upgrade import upgraded

CLASSES = {
    "manykernels.estimators": "MKLRegressor MKLClassifier MKLRegressorCV MKLClassifierCV",
    "manykernels.fitting": "Candidate Choice",
    "manykernels.kernels": "LinearKernels MapKernels FunctionKernels PairwiseKernel Precomputed",
    "manykernels.feature_maps": "Spline Polynomial Nystroem Categorical",
    "manykernels.function": "Predictor Function",
    "manykernels.families": "ProductFamily Tuples Monomials Interactions",
    "manykernels.bases": "FeatureBlocks GramStack",
    "manykernels.losses": "Squared Huber EpsilonInsensitive Hinge SquaredHinge Logistic",
    "manykernels.potentials": "PowerNorm Entropy",
    "manykernels.solvers": "WorkingSet FullPass MirrorDescent Greedy ClosedForm "
    "GradientSampler UniformSampler DecreasingStep HarmonicStep TheoremStep",
    "manykernels.baselines.simple": "SimpleModels",
    "manykernels.tables": "TableModel TableEncoder Number Moment Category",
    "sklearn.preprocessing": "StandardScaler",
}
FUNCTIONS = {
    "rbf": ("manykernels.kernels", "rbf"),
    "linear": ("sklearn.metrics.pairwise", "linear_kernel"),
}
TRAINING = {"dual_coef_", "folds"}
"""Attributes about training rows that predictions do not need: not stored."""

FITTING = {"cv", "random_state"}
"""Parameters that only another fit needs: stored as None where they are objects."""

RENAMED = {"Encoder": "TableEncoder"}
"""Names of classes in files of version 0.1.0, and what they are called now."""

HOME = {name: module for module, names in CLASSES.items() for name in names.split()}


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
        if isinstance(value, list | tuple):
            return self._sequence(value, place)
        if isinstance(value, dict):
            if not all(isinstance(key, str) and key[:1] != "$" for key in value):
                raise UnstorableError(f"{place} has keys that are no names")
            return {key: self.encode(part, f"{place}[{key!r}]") for key, part in value.items()}
        for label, (module, name) in FUNCTIONS.items():
            if value is getattr(import_module(module), name):
                return {"$function": label}
        return self._object(value, place)

    def _array(self, value: Array, place: str) -> Any:
        if value.dtype == object:
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
        if HOME.get(kind.__name__) is None or class_of(kind.__name__) is not kind:
            raise UnstorableError(f"{place} is {_short(value)}, of class {kind.__name__}")
        state = {
            name: part
            for name, part in vars(value).items()
            if name not in TRAINING and not isinstance(getattr(kind, name, None), cached_property)
        }
        for name in FITTING & state.keys():
            if not isinstance(state[name], int | str | None):
                state[name] = None
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
        return sparse.csc_array(tuple(self.decode(part) for part in parts), shape=tuple(shape))

    def _objects(self, content: list[Any]) -> Array:
        out = np.empty(len(content), dtype=object)
        for i, part in enumerate(content):
            out[i] = self.decode(part)
        return out

    def _indices(self, content: Any) -> list[tuple[int, ...]]:
        lengths, flat = (self.decode(part).tolist() for part in content)
        out, start = [], 0
        for length in lengths:
            out.append(tuple(flat[start : start + length]))
            start += length
        return out

    def _tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(part) for part in content)

    def _number(self, content: str) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[content]

    def _function(self, content: str) -> Any:
        module, name = FUNCTIONS[content]
        return getattr(import_module(module), name)

    def _object(self, content: Any) -> Any:
        name, state = content
        kind = class_of(name)
        made: Any = object.__new__(kind)
        parts = {key: self.decode(part) for key, part in state.items()}
        vars(made).update(upgraded(parts, class_of))
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


def class_of(name: str) -> type:
    """Return one of the classes that files may hold; KeyError for any other name."""
    name = RENAMED.get(name, name)
    found: type = getattr(import_module(HOME[name]), name)
    return found
