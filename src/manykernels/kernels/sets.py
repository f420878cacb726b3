"""Base kernels of four kinds, and which of them the public ``kernels`` argument asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel

from ..arrays import Array
from ..backend import HOST, beside, on_host
from ..bases import FeatureBlocks
from ..bases.columns import side_by_side
from ..deadline import check
from ..feature_maps import (
    MAPS,
    FeatureMap,
    affordable_functions,
    choose_maps,
    differ,
    features_of_maps,
    fit_maps,
)
from ..limits import COLUMN_ENTRIES, GAUSSIAN_FEATURES, KEPT_MAPS
from .argument import column_numbers, numbers_by_name, parse_function, parse_maps
from .base import KernelSet
from .matrices import FunctionKernels, PairwiseKernel
from .widths import WidthKernels, parse_widths

ALTERNATIVES = ("linear", "auto", "widths", "both")
"""Kernels that ``"best"`` chooses from."""

KERNEL_NAMES = ("auto", "widths", *MAPS, "linear", "rbf", "precomputed")
"""Names of kernels of one kind; ``"both"`` and ``"best"`` stand for several kinds."""


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

    A column with ``"auto"`` may have several kernels, of the same name. Where there are thousands
    of columns, maps are let go once their features are made, and fitted again where they are used.

    Attributes
    ----------
    fitted : list of tuple
        Name, map (None for the column itself) and columns of each kernel.
    dropped : ndarray of int, optional
        Widths of the kernels whose maps have been let go, zero for the others. Such a map in
        ``fitted`` has learnt nothing.
    training : tuple of array and weights, optional
        The rows that they are fitted to when they are used; without them their features are zero.
    """

    maps: list[FeatureMap | str]
    columns: list[Array]
    labels: list[str]
    degree: int
    fitted: list[tuple[str, FeatureMap | None, Array]] = field(default_factory=list)
    rows: int | None = None
    dropped: Array | None = None
    training: tuple[Array, Array | None] | None = None
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
        """Return the bytes of the functions of all columns, about."""
        most = affordable_functions(self.degree, len(self.maps), rows)[1]
        total = 0
        for kind, columns in zip(self.maps, self.columns, strict=True):
            if isinstance(kind, str) and kind in ("auto", "linear"):
                total += most if kind == "auto" else len(columns)
                continue
            rank = getattr(MAPS[kind]() if isinstance(kind, str) else kind, "rank", most)
            total += rank if isinstance(rank, int) else GAUSSIAN_FEATURES
        return 8 * rows * total

    @cached_property
    def widths(self) -> list[int]:
        """Number of features of each base kernel."""
        row = np.zeros((1, 1 + max((int(seen.max()) for seen in self.inputs), default=0)))
        known = self._known(range(len(self.fitted)))
        widths = (
            np.zeros(len(self.fitted), dtype=int) if self.dropped is None else self.dropped.copy()
        )
        for number, block in self._blocks(row, known):
            widths[number] = max(1, block.shape[1])
        return widths.tolist()

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> FeatureBlocks:
        """Fit the maps; return the features of the training rows."""
        self.fitted, self.widths = [], []
        self.dropped, self.training = None, None
        learnt: list[bool] = []
        whole = side_by_side(self._fit_columns(X, weights, learnt), len(X))
        if not all(learnt):
            self.dropped, self.training = np.where(learnt, 0, self.widths), (X, weights)
        self.names = [label for label, _, _ in self.fitted]
        return FeatureBlocks(beside(whole, place), self.widths)

    def _fit_columns(self, X: Array, weights: Array | None, learnt: list[bool]) -> Iterator[Array]:
        """Fit the maps, those of many columns together; yield the features of each map.

        Note in ``learnt`` whether a map is kept, or one that has learnt nothing in its place.
        """
        afford = affordable_functions(self.degree, len(self.maps), self.rows or len(X))
        drop, blank = len(self.maps) > KEPT_MAPS, dict[int, list[FeatureMap]]()
        items = list(zip(self.labels, self.maps, self.columns, strict=True))
        step = max(1, COLUMN_ENTRIES // len(X))
        for start in range(0, len(items), step):
            check()
            block = items[start : start + step]
            seen = [_seen(X, columns) for _, _, columns in block]
            auto = [
                k
                for k, (_, kind, _) in enumerate(block)
                if isinstance(kind, str) and kind == "auto"
            ]
            ordered = (
                np.sort(np.stack([seen[k] for k in auto]), axis=1) if auto else np.empty((0, 1))
            )
            values = dict(
                zip(auto, np.count_nonzero(differ(ordered), axis=1).tolist(), strict=True)
            )
            chosen: list[list[FeatureMap]] = []
            for k, (_, kind, _) in enumerate(block):
                if k in values:
                    # Columns with as many values share maps that learn nothing.
                    if not drop or values[k] not in blank:
                        blank[values[k]] = choose_maps(values[k], *afford)
                    chosen.append(blank[values[k]])
                elif isinstance(kind, str):
                    chosen.append([] if kind == "linear" else [MAPS[kind]()])
                else:
                    chosen.append([deepcopy(kind)])
            keep = [not (drop and k in values) for k in range(len(block))]
            features = fit_maps(chosen, seen, weights, keep)
            for k, (label, _, columns) in enumerate(block):
                maps: list[Any] = chosen[k] or [None]
                self.fitted += [(label, one, columns) for one in maps]
                learnt += [keep[k]] * len(maps)
                for one in features[k] or [X[:, columns]]:
                    # A column without any variation has no function; it keeps one, which is zero.
                    self.widths.append(max(1, one.shape[1]))
                    yield one if one.shape[1] else np.zeros((len(X), 1))

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> FeatureBlocks:
        """Return the features of new rows; those of kernels that are not used are zero."""
        numbers = range(len(self.fitted)) if used is None else used
        self._fit_again(numbers)
        wanted = self._known(numbers)
        ends = np.cumsum([0, *self.widths]).tolist()
        whole = np.zeros((len(X), ends[-1]), order="F")  # zeros that stay so take no memory
        for number, block in self._blocks(X, wanted):
            check()
            whole[:, ends[number] : ends[number] + block.shape[1]] = block
        return FeatureBlocks(beside(whole, place), self.widths)

    def only(self, used: Collection[int] | None) -> Self:
        """Return the set without its rows; maps that were let go are fitted where they are used."""
        if self.training is None or self.dropped is None:
            return self
        self._fit_again(range(len(self.fitted)) if used is None else used)
        return replace(self, fitted=list(self.fitted), dropped=self.dropped.copy(), training=None)

    def _fit_again(self, numbers: Iterable[int]) -> None:
        """Fit those of some maps that were let go, if the rows are at hand."""
        if self.training is None or self.dropped is None:
            return
        X, weights = self.training
        lost = sorted(number for number in numbers if self.dropped[number])
        fresh: dict[int, Any] = {number: deepcopy(self.fitted[number][1]) for number in lost}
        groups = [list(own) for _, own in groupby(lost, lambda i: self.fitted[i][2].tolist())]
        step = max(1, COLUMN_ENTRIES // len(X))
        for start in range(0, len(groups), step):
            check()
            block = groups[start : start + step]
            seen = [_seen(X, self.fitted[own[0]][2]) for own in block]
            fit_maps([[fresh[i] for i in own] for own in block], seen, weights)
        for number in lost:
            name, _, columns = self.fitted[number]
            self.fitted[number], self.dropped[number] = (name, fresh[number], columns), 0

    def _known(self, numbers: Iterable[int]) -> set[int]:
        """Return those of some kernels whose maps have not been let go."""
        return {i for i in numbers if self.dropped is None or not self.dropped[i]}

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


def resolve(kernels: Any, feature_names: Sequence[str], degree: int = 1) -> KernelSet:
    """Turn the public ``kernels`` argument into base kernels, or say what is wrong with it.

    The degree is that of the products they are made for.
    """
    if isinstance(kernels, KernelSet):
        return kernels
    count = len(feature_names)
    if isinstance(kernels, str):
        if kernels == "precomputed":
            return PairwiseKernel()
        if kernels not in KERNEL_NAMES:
            allowed = ", ".join(map(repr, ("best", "both", *KERNEL_NAMES)))
            raise ValueError(
                f"kernels must be one of {allowed}, a callable, a scikit-learn kernel or a list; "
                f"got {kernels!r}. Use kernels='linear' for products of columns."
            )
        items = [(kernels, [j]) for j in range(count)]
        single = [np.array([j]) for j in range(count)]
        if kernels == "widths":
            return WidthKernels(single, list(feature_names), [False] * count)
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
    free = uses_widths(items)
    items = with_columns(items) or items
    if free:
        known = numbers_by_name(feature_names)
        inputs = [column_numbers(j, wanted, known) for j, (_, wanted) in enumerate(items)]
        return parse_widths(items, inputs, feature_names)
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


def with_columns(items: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the items of a list of kernels without those that are paired with no column."""
    return [item for item in items if not (isinstance(item[1], list) and not item[1])]


def only_categories(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument has kernels of categories only."""
    items = kernels if isinstance(kernels, list) else [kernels]
    pairs = [item if isinstance(item, tuple) and len(item) == 2 else (item, None) for item in items]
    heads = [head for head, _ in with_columns(pairs)]
    return bool(heads) and all(isinstance(head, str) and head == "categorical" for head in heads)


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


def uses_widths(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument has kernels of free widths."""
    items = kernels if isinstance(kernels, list) else [kernels]
    heads = [item[0] if isinstance(item, tuple) and item else item for item in items]
    return any(isinstance(head, str) and head in ("widths", "both") for head in heads)


def alternatives(kernels: Any) -> dict[str, Any]:
    """Return the ``kernels`` arguments that ``"best"`` stands for, by name; none without it.

    Columns beside it that are categories are so in all of them.
    """
    if _in_place_of("best", kernels, "auto") is None:
        return {}
    return {name: _in_place_of("best", kernels, name) for name in ALTERNATIVES}


def both_parts(kernels: Any) -> tuple[Any, Any] | None:
    """Return the ``kernels`` arguments of the two parts of ``"both"``: spline terms and widths.

    None without it.
    """
    terms, widths = (_in_place_of("both", kernels, name) for name in ("auto", "widths"))
    return None if terms is None else (terms, widths)


def _in_place_of(old: str, kernels: Any, new: str) -> Any:
    """Return a ``kernels`` argument with one name in place of another; None if it lacks that."""
    if isinstance(kernels, str):
        return new if kernels == old else None
    items = kernels if isinstance(kernels, list) else []
    pairs = [item if isinstance(item, tuple) and len(item) == 2 else (item, None) for item in items]
    if not any(isinstance(head, str) and head == old for head, _ in pairs):
        return None
    return [(new if isinstance(h, str) and h == old else h, seen) for h, seen in pairs]
