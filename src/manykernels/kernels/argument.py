"""The public ``kernels`` argument: names, functions, and the columns each one sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import linear_kernel

from ..arrays import Array
from ..feature_maps import MAPS
from .functions import KernelFunction, Precomputed, rbf
from .sets import FunctionKernels, KernelSet, LinearKernels, MapKernels, PairwiseKernel

KERNEL_FUNCTIONS: dict[str, KernelFunction] = {"linear": linear_kernel, "rbf": rbf}
"""Kernels that are functions of two sets of rows, by name."""


def resolve(kernels: Any, feature_names: Sequence[str], degree: int = 1) -> KernelSet:
    """Turn the public ``kernels`` argument into base kernels, or say what is wrong with it.

    The degree is that of the products they are made for.
    """
    count = len(feature_names)
    if isinstance(kernels, str):
        if kernels == "precomputed":
            return PairwiseKernel()
        items = [(kernels, [j]) for j in range(count)]
        single = [np.array([j]) for j in range(count)]
        if kernels == "linear":
            return LinearKernels(single, list(feature_names))
        if kernels == "auto" or kernels in MAPS:
            return MapKernels([kernels] * count, single, list(feature_names), degree)
    else:
        listed = list(kernels) if isinstance(kernels, list) else [kernels]
        if not listed:
            raise ValueError('kernels must not be empty; got []. Use kernels="linear".')
        items = [item if isinstance(item, tuple) else (item, None) for item in listed]
        for j, item in enumerate(items):
            if len(item) != 2:
                raise ValueError(
                    f"kernels[{j}] must be a kernel or a pair (kernel, columns); got a tuple of "
                    f'{len(item)}. Write it as in ("rbf", ["age", "income"]).'
                )
    mapped = [_is_map(kernel) for kernel, _ in items]
    if any(mapped):
        return _map_kernels(items, mapped, feature_names, degree)
    parsed = [
        _parse(j, kernel, columns, feature_names) for j, (kernel, columns) in enumerate(items)
    ]
    functions, columns, names = (list(part) for part in zip(*parsed, strict=True))
    names = [name if names.count(name) == 1 else f"{name}[{j}]" for j, name in enumerate(names)]
    if all(function is linear_kernel for function in functions):
        return LinearKernels(columns, names)
    return FunctionKernels(functions, columns, names)


def only_linear(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument names linear kernels only."""
    items = kernels if isinstance(kernels, list) else [kernels]
    heads = [item[0] if isinstance(item, tuple) and item else item for item in items]
    return bool(heads) and all(isinstance(head, str) and head == "linear" for head in heads)


def uses_maps(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument has kernels by feature maps."""
    items = kernels if isinstance(kernels, list) else [kernels]
    return any(_is_map(item[0] if isinstance(item, tuple) and item else item) for item in items)


def _is_map(kernel: Any) -> bool:
    if isinstance(kernel, str):
        return kernel == "auto" or kernel in MAPS
    return hasattr(kernel, "features") and hasattr(kernel, "fit")


def _map_kernels(
    items: Sequence[tuple[Any, Any]],
    mapped: Sequence[bool],
    feature_names: Sequence[str],
    degree: int,
) -> MapKernels:
    """Return kernels by feature maps, or say which item cannot be one of them."""
    maps, columns, names = [], [], []
    inputs = [_column_numbers(j, wanted, feature_names) for j, (_, wanted) in enumerate(items)]
    seen_by = np.bincount(np.concatenate(inputs))
    for j, ((kernel, _), has_map, numbers) in enumerate(zip(items, mapped, inputs, strict=True)):
        seen = ", ".join(feature_names[c] for c in numbers)
        if not has_map and not (isinstance(kernel, str) and kernel == "linear"):
            raise ValueError(
                f"kernels[{j}] has no features and the others have; got {kernel!r}. Use "
                f'"linear", {", ".join(map(repr, MAPS))} or "auto" for all, or none of them.'
            )
        label = kernel if isinstance(kernel, str) else kernel.name
        if has_map and label != "nystroem" and len(numbers) != 1:
            raise ValueError(
                f"kernels[{j}] must see a single column; got {len(numbers)} ({seen}). Give each "
                "column a kernel of its own."
            )
        alone = label == "categorical" and seen_by[numbers[0]] == 1
        plain = (label in ("auto", "linear") or alone) and len(numbers) == 1
        maps.append(kernel)
        columns.append(numbers)
        names.append(seen if plain else f"{label}({seen})")
    names = [name if names.count(name) == 1 else f"{name}[{j}]" for j, name in enumerate(names)]
    return MapKernels(maps, columns, names, degree)


def _parse(
    j: int, kernel: Any, columns: Any, feature_names: Sequence[str]
) -> tuple[KernelFunction, Array, str]:
    numbers = _column_numbers(j, columns, feature_names)
    seen = ", ".join(feature_names[c] for c in numbers)
    if isinstance(kernel, Precomputed):
        return kernel, numbers[:1], kernel.name
    if isinstance(kernel, str) and kernel in KERNEL_FUNCTIONS:
        label = seen if kernel == "linear" and len(numbers) == 1 else f"{kernel}({seen})"
        return KERNEL_FUNCTIONS[kernel], numbers, label
    if callable(kernel):
        label = getattr(kernel, "__name__", None) or str(kernel)
        return kernel, numbers, label if columns is None else f"{label}({seen})"
    raise ValueError(
        f'kernels[{j}] must be "auto", "linear", "rbf", {", ".join(map(repr, MAPS))}, a callable, '
        "a scikit-learn kernel or Precomputed; "
        f'got {kernel!r}. Each may be paired with its columns, as in ("rbf", [0, 1]).'
    )


def _column_numbers(j: int, columns: Any, feature_names: Sequence[str]) -> Array:
    if columns is None:
        return np.arange(len(feature_names))
    if isinstance(columns, slice):
        columns = range(len(feature_names))[columns]
    single = isinstance(columns, str) or not isinstance(columns, Iterable)
    several = [columns] if single else list(columns)
    if several and all(isinstance(column, bool | np.bool_) for column in several):
        if len(several) != len(feature_names):
            raise ValueError(
                f"kernels[{j}] has a mask of {len(several)} columns; X has {len(feature_names)}. "
                "Use one True or False for each column."
            )
        several = [number for number, keep in enumerate(several) if keep]
    known = {name: number for number, name in enumerate(feature_names)}
    numbers = []
    for column in several:
        whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
        number = known.get(column) if isinstance(column, str) else int(column) if whole else None
        if number is None or not 0 <= number < len(feature_names):
            raise ValueError(
                f"kernels[{j}] refers to column {column}, which X does not have; it has "
                f"{len(feature_names)} columns. Use a column's name or its number from 0."
            )
        numbers.append(number)
    if not numbers:
        raise ValueError(f"kernels[{j}] must see at least one column; got none. Use None for all.")
    return np.array(numbers)
