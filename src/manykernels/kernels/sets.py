"""Base kernels of four kinds, and which of them the public ``kernels`` argument asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel

from ..arrays import Array
from ..backend import HOST, beside, filled, on_host
from ..bases import BaseKernels, FeatureBlocks, GramStack
from ..bases.columns import side_by_side
from ..feature_maps import (
    MAPS,
    FeatureMap,
    affordable_functions,
    choose_maps,
    features_of_maps,
    fit_maps,
)
from ..limits import GAUSSIAN_FEATURES
from .argument import numbers_by_name, parse_function, parse_maps
from .functions import KernelFunction, Precomputed, check_gram, rbf, refuse_large


class KernelSet(ABC):
    """Base kernels that have been resolved against the columns of X.

    Attributes
    ----------
    names : list of str
        Names of the base kernels.
    columns : list of ndarray of int
        Columns of X that each base kernel is given.
    explicit : bool
        Whether they have explicit features.
    powers : bool
        Whether powers of a base kernel are worth having: x^2 is no linear function of x.
    by_degree : bool
        Whether the kernels depend on the degree of the products to come.
    scales : bool
        Whether the columns of X are measurements, to be standardised.
    learns : bool
        Whether ``fit`` learns from the rows more than which they are.
    rows : int, optional
        Number of all rows, where ``fit`` sees only some of them.
    """

    names: list[str]
    columns: Any
    explicit: bool = True
    powers: bool = False
    by_degree: bool = False
    scales: bool = True
    learns: bool = False
    rows: int | None = None

    @property
    def inputs(self) -> list[Array]:
        """Columns of X that each base kernel is a function of; none if it is given by a matrix."""
        return list(self.columns)

    def held_bytes(self, rows: int) -> int:
        """Return the bytes that the base kernels will take on some rows; about, before ``fit``."""
        return 8 * rows * sum(len(columns) for columns in self.columns)

    def use(self, rows: Array, shape: tuple[int, int]) -> None:  # noqa: B027
        """Take note of which rows of X, of a given shape, are trained on; before ``fit``."""

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> BaseKernels:
        """Remember the training rows if they are needed later; return the base kernels on them.

        ``X`` is standardised, ``raw`` is not; row weights add up to one, by default equal. The
        base kernels are put beside ``place``.
        """
        return self.on(X, raw, place)

    @abstractmethod
    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> BaseKernels:
        """Return the base kernels on new rows (between new and training rows).

        Those that are not among ``used`` need not be what they are; by default all are used.
        """

    def pair(
        self, X: Array, raw: Array, other: Array, other_raw: Array
    ) -> tuple[BaseKernels, BaseKernels]:
        """Return what the learnt kernel between two sets of rows is made of, for either set.

        Matrices hold the values between both sets, and stand for both.
        """
        return self.on(X, raw), self.on(other, other_raw)


@dataclass
class LinearKernels(KernelSet):
    """Linear kernels of one or several columns: features, nothing to remember."""

    columns: list[Array]
    names: list[str]
    powers = True

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> FeatureBlocks:
        """Return the features of new rows."""
        order = np.concatenate(self.columns)
        if not (len(order) == X.shape[1] and np.all(order == np.arange(len(order)))):
            X = sparse.csc_array(X)[:, order] if sparse.issparse(X) else X[:, order]
        if not on_host(place):
            X = beside(X, place)
        return FeatureBlocks(X, [len(columns) for columns in self.columns])


@dataclass
class MapKernels(KernelSet):
    """Kernels by feature maps, fitted to the training rows.

    A column with ``"auto"`` may have several kernels, of the same name.
    """

    maps: list[FeatureMap | str]
    columns: list[Array]
    labels: list[str]
    degree: int
    fitted: list[tuple[str, FeatureMap | None, Array]] = field(default_factory=list)
    rows: int | None = None
    learns = True

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """Names of the base kernels, those of one column alike."""
        return [name for name, _, _ in self.fitted] or self.labels

    @property
    def inputs(self) -> list[Array]:
        """Columns that each kernel sees."""
        return [columns for _, _, columns in self.fitted]

    @property
    def by_degree(self) -> bool:  # type: ignore[override]
        """Whether the kernels depend on the degree of the products to come."""
        return any(isinstance(kind, str) and kind == "auto" for kind in self.maps)

    def held_bytes(self, rows: int) -> int:
        """Return the bytes of the functions of all columns, at the most."""
        most = affordable_functions(self.degree, len(self.maps), rows)[1]
        ranks = [
            most if isinstance(kind, str) else getattr(kind, "rank", most) for kind in self.maps
        ]
        return (
            8 * rows * sum(rank if isinstance(rank, int) else GAUSSIAN_FEATURES for rank in ranks)
        )

    @cached_property
    def widths(self) -> list[int]:
        """Number of features of each base kernel."""
        row = np.zeros((1, 1 + max((int(seen.max()) for seen in self.inputs), default=0)))
        blocks = self._blocks(row, set(range(len(self.fitted))))
        return [max(1, block.shape[1]) for _, block in blocks]

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> FeatureBlocks:
        """Fit the maps; return the features of the training rows."""
        self.fitted, self.widths = [], []
        whole = side_by_side(self._fit_columns(X, weights), len(X))
        self.names = [label for label, _, _ in self.fitted]
        return FeatureBlocks(beside(whole, place), self.widths)

    def _fit_columns(self, X: Array, weights: Array | None) -> Iterator[Array]:
        """Fit the maps of one column after another; yield the features of each map."""
        afford = affordable_functions(self.degree, len(self.maps), self.rows or len(X))
        for label, kind, columns in zip(self.labels, self.maps, self.columns, strict=True):
            if isinstance(kind, str) and kind == "linear":
                self.fitted.append((label, None, columns))
                self.widths.append(len(columns))
                yield X[:, columns]
                continue
            x = _seen(X, columns)
            if isinstance(kind, str):
                chosen = choose_maps(x, *afford) if kind == "auto" else [MAPS[kind]()]
            else:
                chosen = [deepcopy(kind)]
            for block in fit_maps(chosen, x, weights):
                # A column without any variation has no function; it keeps one, which is zero.
                self.widths.append(max(1, block.shape[1]))
                yield block if block.shape[1] else np.zeros((len(X), 1))
            self.fitted += [(label, fresh, columns) for fresh in chosen]

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> FeatureBlocks:
        """Return the features of new rows; those of kernels that are not used are zero."""
        wanted = range(len(self.fitted)) if used is None else set(used)
        ends = np.cumsum([0, *self.widths]).tolist()
        whole = np.zeros((len(X), ends[-1]), order="F")  # zeros that stay so take no memory
        for number, block in self._blocks(X, wanted):
            whole[:, ends[number] : ends[number] + block.shape[1]] = block
        return FeatureBlocks(beside(whole, place), self.widths)

    def _blocks(self, X: Array, wanted: Collection[int]) -> Iterator[tuple[int, Array]]:
        """Yield the features of some kernels with their numbers, column after column."""
        numbered = ((number, *one) for number, one in enumerate(self.fitted) if number in wanted)
        for _, group in groupby(numbered, key=lambda one: one[3].tolist()):
            numbers, _, maps, (columns, *_) = zip(*group, strict=True)
            fitted = [one for one in maps if one is not None]
            made = iter(features_of_maps(fitted, _seen(X, columns)) if fitted else [])
            for number, one in zip(numbers, maps, strict=True):
                yield number, X[:, columns] if one is None else next(made)


def _seen(X: Array, columns: Array) -> Array:
    """Return what a map sees: a column, of shape (n,), or several, of shape (n, c)."""
    return X[:, columns[0]] if len(columns) == 1 else X[:, columns]


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
            if function is rbf and not on_host(place):
                values = rbf(beside(left[j], place), beside(right[j], place))
                grams[j, :, :] = beside(values, place, grams.dtype)
                continue
            gram = np.asarray(function(left[j], right[j]), dtype=float)
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
    mapped = [uses_maps([item]) for item in items]
    if any(mapped):
        functions, columns, names = parse_maps(items, mapped, feature_names)
    else:
        known = numbers_by_name(feature_names)
        parsed = [parse_function(j, *item, feature_names, known) for j, item in enumerate(items)]
        functions, columns, names = (list(part) for part in zip(*parsed, strict=True))
    times = Counter(names)
    names = [name if times[name] == 1 else f"{name}[{j}]" for j, name in enumerate(names)]
    if any(mapped):
        return MapKernels(functions, columns, names, degree)
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
    heads = [item[0] if isinstance(item, tuple) and item else item for item in items]
    return any(
        head == "auto" or head in MAPS
        if isinstance(head, str)
        else hasattr(head, "features") and hasattr(head, "fit")
        for head in heads
    )
