"""The items of a list of kernels: names, functions, maps, and the columns each one sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import linear_kernel

from ..arrays import Array
from ..feature_maps import MAPS
from .functions import KernelFunction, Precomputed, rbf

KERNEL_FUNCTIONS: dict[str, KernelFunction] = {"linear": linear_kernel, "rbf": rbf}
"""Kernels that are functions of two sets of rows, by name."""


def parse_maps(
    items: Sequence[tuple[Any, Any]], mapped: Sequence[bool], feature_names: Sequence[str]
) -> tuple[list[Any], list[Array], list[str]]:
    """Return feature maps, their columns and names, or say which item cannot be one of them."""
    names, known = [], numbers_by_name(feature_names)
    inputs = [column_numbers(j, wanted, known) for j, (_, wanted) in enumerate(items)]
    seen_by = np.bincount(np.concatenate(inputs))
    for j, ((kernel, _), has_map, numbers) in enumerate(zip(items, mapped, inputs, strict=True)):
        seen = ", ".join(feature_names[c] for c in numbers)
        if not has_map and not (isinstance(kernel, str) and kernel == "linear"):
            raise ValueError(
                f"kernels[{j}] has no features and the others have; got {kernel!r}. Use "
                f'"linear", {", ".join(map(repr, MAPS))} or "auto" for all, or none of them.'
            )
        _refuse_class(j, kernel)
        label = kernel if isinstance(kernel, str) else kernel.name
        if has_map and label != "nystroem" and len(numbers) != 1:
            raise ValueError(
                f"kernels[{j}] must see a single column; got {len(numbers)} ({seen}). Give each "
                "column a kernel of its own."
            )
        alone = label == "categorical" and seen_by[numbers[0]] == 1
        plain = (label in ("auto", "linear") or alone) and len(numbers) == 1
        names.append(seen if plain else f"{label}({seen})")
    return [kernel for kernel, _ in items], inputs, names


def parse_function(
    j: int, kernel: Any, columns: Any, feature_names: Sequence[str], known: dict[str, int]
) -> tuple[KernelFunction, Array, str]:
    """Return a kernel's function, its columns and its name, or say that it is none.

    ``known`` has the numbers of columns by their names.
    """
    numbers = column_numbers(j, columns, known)
    seen = ", ".join(feature_names[c] for c in numbers)
    if isinstance(kernel, Precomputed):
        return kernel, numbers[:1], kernel.name
    if isinstance(kernel, str) and kernel in KERNEL_FUNCTIONS:
        label = seen if kernel == "linear" and len(numbers) == 1 else f"{kernel}({seen})"
        return KERNEL_FUNCTIONS[kernel], numbers, label
    _refuse_class(j, kernel)
    if callable(kernel):
        label = getattr(kernel, "__name__", None) or str(kernel)
        return kernel, numbers, label if columns is None else f"{label}({seen})"
    raise ValueError(
        f'kernels[{j}] must be "auto", "linear", "rbf", {", ".join(map(repr, MAPS))}, a callable, '
        "a scikit-learn kernel or Precomputed; "
        f'got {kernel!r}. Each may be paired with its columns, as in ("rbf", [0, 1]).'
    )


def _refuse_class(j: int, kernel: Any) -> None:
    if isinstance(kernel, type):
        raise ValueError(
            f"kernels[{j}] must be an object, not a class; got {kernel.__name__}. Use "
            f"{kernel.__name__}()."
        )


def numbers_by_name(feature_names: Sequence[str]) -> dict[str, int]:
    """Return the numbers of columns by their names."""
    return {name: number for number, name in enumerate(feature_names)}


def column_numbers(j: int, columns: Any, feature_names: dict[str, int]) -> Array:
    """Return the numbers of the columns that item ``j`` of a list of kernels sees; None: all."""
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
    numbers = []
    for column in several:
        whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
        number = (
            feature_names.get(column) if isinstance(column, str) else int(column) if whole else None
        )
        if number is None or not 0 <= number < len(feature_names):
            raise ValueError(
                f"kernels[{j}] refers to column {column}, which X does not have; it has "
                f"{len(feature_names)} columns. Use a column's name or its number from 0."
            )
        numbers.append(number)
    if not numbers:
        raise ValueError(f"kernels[{j}] must see at least one column; got none. Use None for all.")
    return np.array(numbers)
