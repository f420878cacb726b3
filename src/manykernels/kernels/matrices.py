"""Base kernels by their values: functions of two rows, or a matrix."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..backend import HOST, beside, filled, on_host
from ..bases import GramStack
from ..deadline import check as check_time
from .base import KernelSet
from .functions import KernelFunction, Precomputed, as_values, check_gram, rbf, refuse_large


@dataclass
class FunctionKernels(KernelSet):
    """Kernels given by functions, evaluated against the training rows."""

    functions: list[KernelFunction]
    columns: list[Array]
    names: list[str]
    training: list[Array] = field(default_factory=list)
    explicit = False

    @property
    def inputs(self) -> list[Array]:
        """Columns that each kernel sees; none for matrices, which are no functions of columns."""
        pairs = zip(self.functions, self.columns, strict=True)
        return [columns[:0] if isinstance(one, Precomputed) else columns for one, columns in pairs]

    def held_bytes(self, rows: int) -> int:
        """Return the bytes of a matrix of each kernel."""
        return 8 * rows**2 * len(self.functions)

    def views(self, X: Array, raw: Array) -> list[Array]:
        """Return the columns that each kernel sees."""
        pairs = zip(self.functions, self.columns, strict=True)
        return [(raw if isinstance(one, Precomputed) else X)[:, seen] for one, seen in pairs]

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> GramStack:
        """Evaluate and check the kernels on the training rows."""
        refuse_large(len(self.functions), len(X), place)
        self.training = self.views(X, raw)
        return self.between(self.training, self.training, place, check=True)

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> GramStack:
        """Evaluate the kernels between new and training rows."""
        return self.between(self.views(X, raw), self.training, place)

    def pair(
        self, X: Array, raw: Array, other: Array, other_raw: Array
    ) -> tuple[GramStack, GramStack]:
        """Evaluate the kernels between two sets of rows."""
        stack = self.between(self.views(X, raw), self.views(other, other_raw))
        return stack, stack

    def _values(self, j: int, left: Array, right: Array) -> Array:
        """Return what a kernel gives for two sets of rows, as an array of numbers."""
        name = f"kernels[{j}] ({self.names[j]})"
        try:
            values = self.functions[j](left, right)
        except (TypeError, AttributeError) as error:
            raise ValueError(
                f"{name} must take two arrays of rows and return their kernel values as a matrix; "
                f"got {type(error).__name__}: {error}."
            ) from error
        return as_values(values, f"{name} must return")

    def between(
        self, left: list[Array], right: list[Array], place: Any = HOST, check: bool = False
    ) -> GramStack:
        """Evaluate the kernels between two sets of rows, on a device in single precision.

        If they are one set, check that they are kernels.
        """
        shape = (len(left[0]), len(right[0]))
        bits = 64 if on_host(place) else 32
        grams = filled(0.0, (len(self.functions), *shape), place, bits)
        for j, function in enumerate(self.functions):
            check_time()
            if function is rbf and not on_host(place):
                values = rbf(beside(left[j], place), beside(right[j], place))
                grams[j, :, :] = beside(values, place, grams.dtype)
                continue
            gram = self._values(j, left[j], right[j])
            if gram.shape != shape:
                raise ValueError(
                    f"kernels[{j}] ({self.names[j]}) must return a matrix of shape {shape}; "
                    f"got shape {gram.shape}. It is called with two arrays of rows."
                )
            if not np.all(np.isfinite(gram)):
                raise ValueError(
                    f"kernels[{j}] ({self.names[j]}) must return finite values; got NaN or "
                    "infinity. Look at the rows or the matrix it is made from."
                )
            if check and function is not rbf:
                check_gram(gram, self.names[j])
            grams[j, :, :] = beside(gram, place, grams.dtype)
        return GramStack(grams)


@dataclass
class PairwiseKernel(KernelSet):
    """One base kernel whose values are X itself, as in scikit-learn's ``"precomputed"``."""

    names: list[str] = field(default_factory=lambda: ["precomputed"])
    columns: Array | None = None
    explicit = False
    scales = False

    @property
    def inputs(self) -> list[Array]:
        """No columns: X has none but rows."""
        return [np.empty(0, dtype=int)]

    def held_bytes(self, rows: int) -> int:
        """Return the bytes of the matrix."""
        return 8 * rows**2

    def use(self, rows: Array, shape: tuple[int, int]) -> None:
        """Remember which rows of a square matrix are used, and so which columns."""
        if shape[0] != shape[1]:
            raise ValueError(
                f'X must be a square kernel matrix for kernels="precomputed"; got shape {shape}. '
                "For several kernels use kernels=[Precomputed(K1), ...] and row numbers as X."
            )
        self.columns = rows

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> GramStack:
        """Check the training matrix."""
        check_gram(raw[:, self.columns], "precomputed")
        return self.on(X, raw, place)

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> GramStack:
        """Take X as the values between new and training rows."""
        return GramStack(beside(raw[:, self.columns][None], place))

    def pair(
        self, X: Array, raw: Array, other: Array, other_raw: Array
    ) -> tuple[GramStack, GramStack]:
        """Take X as the values between both sets of rows; there is no other one."""
        if other_raw is not raw:
            raise ValueError(
                'Y must be None for kernels="precomputed": X holds the values between its '
                "rows and the training rows already."
            )
        stack = self.on(X, raw)
        return stack, stack
