"""Rows that are never all in one place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array, Index
from ..bases import FeatureBlocks
from ..families import ProductFamily
from ..kernels import KernelSet
from ..losses import Loss
from .moments import Moments, moments_of

FAN_IN = 8
"""Results of so many parts are added up at a time."""

TARGET, WEIGHT = "\0target", "\0weight"
"""Names of columns that are added to a dataframe."""

BLOCK_ENTRIES = 2**22
"""Features of a part are made for so many rows at a time that they have so many numbers."""


def is_partitioned(X: Any) -> bool:
    """Tell whether rows are a Dask array or dataframe."""
    return "dask" in sys.modules and type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def _dask() -> Any:
    import dask

    return dask


@dataclass(frozen=True)
class Block:
    """Some rows: X, y and weights as NumPy arrays, and which of them are used."""

    X: Array
    y: Array
    weights: Array

    def some(self, used: Array | None) -> Block:
        """Return the rows of a mask."""
        if used is None or used.all():
            return self
        return Block(self.X[used], self.y[used], self.weights[used])


@dataclass(frozen=True)
class Summary:
    """What one look at all rows tells of them.

    Attributes
    ----------
    counts : list of int
        Rows of each part.
    mean, squares : ndarray
        Means of the columns of X, and sums of weighted squares of what is left.
    weight : float
        Sum of the weights.
    centre : float
        Mean of y, where it is a number.
    reach : float
        Largest size of y.
    classes, present : ndarray
        The different values of y, where it is no number; those on rows of positive weight.
    bad, bad_weights : int
        How many values of X and y, and how many weights, cannot be used.
    """

    counts: list[int]
    mean: Array
    squares: Array
    weight: float
    centre: float
    reach: float
    classes: Array
    present: Array
    bad: int
    bad_weights: int

    def __add__(self, other: Summary) -> Summary:
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        shift = other.mean - self.mean
        return Summary(
            self.counts + other.counts,
            self.mean + share * shift,
            self.squares + other.squares + self.weight * share * shift**2,
            weight,
            self.centre + share * (other.centre - self.centre),
            max(self.reach, other.reach),
            np.union1d(self.classes, other.classes),
            np.union1d(self.present, other.present),
            self.bad + other.bad,
            self.bad_weights + other.bad_weights,
        )


def summarise(block: Block, labelled: bool) -> Summary:
    """Return the summary of some rows."""
    X, y, weights = block.X, block.y, block.weights
    if not labelled and y.dtype.kind not in "fiub":
        raise ValueError(
            f"y must be numeric for regression; got {y[0]!r}. Use MKLClassifier for classes, or "
            "convert y with astype(float)."
        )
    good = np.isfinite(weights) & (weights >= 0)
    bad_weights = int(np.count_nonzero(~good))
    bad = int(np.count_nonzero(~np.isfinite(X)))
    bad += int(np.count_nonzero(pd.isna(y)))
    if not labelled:
        bad += int(np.count_nonzero(np.isinf(y)))
    every, used = y[:0], y[:0]
    if labelled and not bad:
        every, used = y, y[weights > 0]
    weight = float(weights.sum())
    if bad or bad_weights or not weight > 0:
        nothing, weight = np.zeros(X.shape[1]), 0.0
        mean, squares, centre, reach = nothing, nothing, 0.0, 0.0
    else:
        mean = weights @ X / weight
        mean = mean + weights @ (X - mean) / weight
        squares = weights @ (X - mean) ** 2
        centre, reach = 0.0, 1.0
        if not labelled:
            centre = float(weights @ y / weight)
            centre += float(weights @ (y - centre) / weight)
            reach = float(np.abs(y[weights > 0]).max(initial=0.0))
    return Summary(
        [len(X)],
        mean,
        squares,
        weight,
        centre,
        reach,
        np.unique(every),
        np.unique(used),
        bad,
        bad_weights,
    )


@dataclass(frozen=True)
class Design:
    """How rows become features and targets; what the workers are told.

    Attributes
    ----------
    kernels : KernelSet
        The base kernels.
    mean, scale : ndarray, optional
        What columns are centred and divided by.
    family : ProductFamily
        The products, on no rows.
    loss : Loss
        The loss.
    classes : ndarray
        The classes of y, none for numbers.
    centre : float
        What is subtracted from y.
    weight : float
        The sum of all weights.
    """

    kernels: KernelSet
    mean: Array | None
    scale: Array | None
    family: ProductFamily
    loss: Loss
    classes: Array
    centre: float
    weight: float

    def bases(self, X: Array) -> FeatureBlocks:
        """Return the base kernels on some rows."""
        scaled = X if self.mean is None else X - self.mean
        scaled = scaled if self.scale is None else scaled / self.scale
        bases = self.kernels.on(scaled, X)
        assert isinstance(bases, FeatureBlocks)
        return bases

    def targets(self, y: Array) -> Array:
        """Return targets of shape (n, c)."""
        if not len(self.classes):
            return y[:, None] - self.centre
        codes = np.searchsorted(self.classes, y)
        outputs = [1] if len(self.classes) == 2 else range(len(self.classes))
        return np.column_stack([np.where(codes == c, 1.0, -1.0) for c in outputs])

    def slices(self, block: Block, width: int) -> Iterator[Block]:
        """Yield some rows at a time, those of positive weight."""
        block = block.some(block.weights > 0)
        height = max(256, BLOCK_ENTRIES // max(1, width))
        for start in range(0, len(block.X), height):
            rows = slice(start, start + height)
            yield Block(block.X[rows], block.y[rows], block.weights[rows] / self.weight)


@dataclass(frozen=True)
class Point:
    """A model: kernels, coefficients of their features, constants."""

    indices: Sequence[Index]
    coefficients: Array
    intercept: Array


@dataclass(frozen=True)
class Sums:
    """What one pass over rows at a point gives.

    Attributes
    ----------
    risk, conjugate : float
        Mean loss, and mean conjugate of the slopes.
    slope : ndarray of shape (c,)
        Mean slope.
    pull : ndarray of shape (m, c)
        Inner products of the features with the weighted slopes.
    moments : Moments, optional
        Of the features and the targets of the quadratic that touches the risk at the point.
    tables : tuple of ndarray
        Inner products of all products of base features with the weighted slopes, by degree.
    """

    risk: float
    conjugate: float
    slope: Array
    pull: Array
    moments: Moments | None = None
    tables: tuple[Array, ...] = ()

    def __add__(self, other: Sums) -> Sums:
        moments = self.moments
        if moments is not None and other.moments is not None:
            moments = moments + other.moments
        return Sums(
            self.risk + other.risk,
            self.conjugate + other.conjugate,
            self.slope + other.slope,
            self.pull + other.pull,
            moments,
            tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)),
        )


def sums_at(block: Block, design: Design, point: Point, tables: bool, floor: float | None) -> Sums:
    """Return the sums of some rows at a point; O(n m^2) with moments, else O(n m).

    ``floor`` is the least curvature of a row in the moments; None leaves them out.
    """
    width = len(point.coefficients) + 8
    outputs = point.coefficients.shape[1]
    total = _no_sums(design, point, outputs, floor is not None, tables)
    for part in design.slices(block, width):
        bases = design.bases(part.X)
        columns, _ = design.family.on(bases).features(point.indices)
        y, loss, weights = design.targets(part.y), design.loss, part.weights[:, None]
        fitted = columns @ point.coefficients + point.intercept
        slopes = loss.gradient(y, fitted)
        found = Sums(
            float(np.sum(weights * loss.value(y, fitted))),
            float(np.sum(weights * loss.conjugate(y, slopes))),
            np.sum(weights * slopes, axis=0),
            columns.T @ (weights * slopes),
        )
        if floor is not None:
            curvature = loss.curvature(y, fitted).max(axis=1)  # type: ignore[attr-defined]
            curvature = np.maximum(curvature, floor)
            aims = fitted - slopes / curvature[:, None]
            bent = part.weights * curvature
            found = replace(found, moments=moments_of(np.hstack([columns, aims]), bent))
        if tables:
            found = replace(found, tables=inner_tables(design, bases, weights * slopes))
        total = total + found
    return total


def _no_sums(design: Design, point: Point, outputs: int, moments: bool, tables: bool) -> Sums:
    width = len(point.coefficients)
    nothing = np.zeros(width + outputs)
    return Sums(
        0.0,
        0.0,
        np.zeros(outputs),
        np.zeros((width, outputs)),
        Moments(0.0, nothing, np.outer(nothing, nothing)) if moments else None,
        tuple(np.zeros(shape) for shape in table_shapes(design.family, outputs)) if tables else (),
    )


def table_shapes(family: ProductFamily, outputs: int) -> list[tuple[int, ...]]:
    """Return the shapes of the tables of inner products."""
    width = int(family.bases.sizes.sum())  # type: ignore[union-attr]
    return [(outputs, *(width,) * degree) for degree in range(family.degree + 1)]


def inner_tables(design: Design, bases: FeatureBlocks, slopes: Array) -> tuple[Array, ...]:
    """Return inner products of vectors with all products of base features, by degree.

    For degree d a table of d axes, each in ascending order of the features; O(n R^d), as matrix
    products.
    """
    shapes = table_shapes(design.family, slopes.shape[1])
    out = [np.zeros(shape) for shape in shapes]
    features = np.asarray(bases.features)
    for c, vector in enumerate(slopes.T):
        out[0][c] = vector.sum()
        if len(out) > 1:
            out[1][c] = features.T @ vector
        if len(out) > 2:
            out[2][c] = features.T @ (features * vector[:, None])
        if len(out) > 3:
            for j, column in enumerate(features.T):
                out[3][c, j] = features.T @ (features * (column * vector)[:, None])
    return tuple(out)


def feature_moments(block: Block, design: Design, point: Point) -> Moments:
    """Return the moments of the features of a model and of its values; O(n m^2)."""
    nothing = np.zeros(sum(point.coefficients.shape))
    total = Moments(0.0, nothing, np.outer(nothing, nothing))
    for part in design.slices(block, len(nothing)):
        columns, _ = design.family.on(design.bases(part.X)).features(point.indices)
        values = columns @ point.coefficients
        total = total + moments_of(np.hstack([columns, values]), part.weights)
    return total


def loss_at(block: Block, design: Design, point: Point) -> Array:
    """Return the weighted loss of some rows at a point, and their weight."""
    loss, weight = 0.0, 0.0
    for part in design.slices(block, len(point.coefficients) + 8):
        columns, _ = design.family.on(design.bases(part.X)).features(point.indices)
        fitted = columns @ point.coefficients + point.intercept
        values = design.loss.value(design.targets(part.y), fitted)
        loss += float(np.sum(part.weights[:, None] * values))
        weight += float(part.weights.sum())
    return np.array([loss, weight])


class Parts:
    """Rows in parts, and sums over them.

    Parameters
    ----------
    blocks : list of Delayed
        The parts; each computes to a :class:`Block`.
    used : list of ndarray of bool, optional
        Which rows of each part are used; all by default.
    """

    def __init__(self, blocks: list[Any], used: list[Array] | None = None) -> None:
        self.blocks, self.used = blocks, used

    def some(self, used: Array, counts: Sequence[int]) -> Parts:
        """Return the rows of a mask over all of them, given how many each part has."""
        return Parts(self.blocks, np.split(used, np.cumsum(counts)[:-1]))

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over parts of what a function of a block and arguments gives.

        One pass. Sums travel, rows do not.
        """
        dask = _dask()
        common = dask.delayed(tuple(arguments), traverse=False)
        everything: list[Any] = [None] * len(self.blocks)
        masks = everything if self.used is None else self.used
        results = [
            dask.delayed(_apply)(function, block, mask, common)
            for block, mask in zip(self.blocks, masks, strict=True)
        ]
        while len(results) > 1:
            groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
            results = [dask.delayed(_added)(group) for group in groups]
        with _memory_errors():
            return dask.compute(results[0])[0]


def _apply(function: Any, block: Block, used: Array | None, arguments: tuple[Any, ...]) -> Any:
    return function(block.some(used), *arguments)


def _added(parts: list[Any]) -> Any:
    return reduce(add, parts)


class _memory_errors:  # noqa: N801 a context manager, used like a function
    """Turn the death of workers into an error that says what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and kind.__name__ == "KilledWorker":
            raise MemoryError(
                "workers of the cluster died again and again on the same part of the rows, most "
                "likely for lack of memory. Use smaller partitions (X.rechunk or "
                "X.repartition), fewer threads a worker, or workers with more memory."
            ) from error


def parts_of(X: Any, y: Any, sample_weight: Any) -> Parts:
    """Return Dask rows as parts; y and weights may also be ordinary arrays."""
    dask = _dask()
    if hasattr(y, "columns") and y.ndim == 2 and len(y.columns) == 1:
        y = y[y.columns[0]]
    lazy = [X, y] if sample_weight is None else [X, y, sample_weight]
    if hasattr(X, "assign") and all(hasattr(one, "map_partitions") for one in lazy):
        return _frame_parts(X, y, sample_weight)
    blocks = _delayed(X)
    columns = [
        [None] * len(blocks) if values is None else _aligned(values, name, X, len(blocks))
        for name, values in (("y", y), ("sample_weight", sample_weight))
    ]
    return Parts(
        [dask.delayed(_block)(*row) for row in zip(blocks, *columns, strict=True)],
    )


def _frame_parts(X: Any, y: Any, sample_weight: Any) -> Parts:
    """Return a dataframe and columns of it as parts.

    Together: each by itself Dask might read in partitions of another size.
    """
    whole = X.assign(**{TARGET: y})
    if sample_weight is not None:
        whole = whole.assign(**{WEIGHT: sample_weight})
    delayed = _dask().delayed
    return Parts([delayed(_frame_block)(part) for part in whole.to_delayed()])


def _frame_block(frame: Any) -> Block:
    weights = frame.pop(WEIGHT) if WEIGHT in frame else None
    y = frame.pop(TARGET)
    return _block(frame, y, weights)


def _delayed(values: Any) -> list[Any]:
    if hasattr(values, "rechunk") and values.ndim == 2:
        values = values.rechunk({1: -1})
    return list(np.ravel(values.to_delayed()))


def _aligned(values: Any, name: str, X: Any, count: int) -> list[Any]:
    if is_partitioned(values):
        found = _delayed(values)
        if len(found) != count:
            raise ValueError(
                f"{name} must have the partitions of X; got {len(found)} and {count}. Make both "
                "from one dataframe, or rechunk one like the other."
            )
        return found
    dask = _dask()
    lengths = dask.compute(*(dask.delayed(len)(block) for block in _delayed(X)))
    host = np.asarray(values)
    if len(host) != sum(lengths):
        raise ValueError(
            f"{name} must have a value for each row of X; got {len(host)} for {sum(lengths)} rows."
        )
    return list(np.split(host, np.cumsum(lengths)[:-1]))


def _block(X: Any, y: Any, weights: Any) -> Block:
    rows = _numbers(X)
    labels = np.asarray(y)
    if labels.dtype.kind in "iu":
        labels = labels.astype(np.int64)
    own = np.ones(len(rows)) if weights is None else _numbers(weights)
    for name, values in (("y", labels), ("sample_weight", own)):
        if values.size != len(rows):
            raise ValueError(
                f"{name} must have one value for each row of X; got shape {values.shape} for "
                f"{len(rows)} rows of a partition."
            )
    return Block(rows, labels.reshape(len(rows)), own.reshape(len(rows)))


def _numbers(values: Any) -> Array:
    """Return values as floats, NaN where they are missing."""
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
    return np.asarray(values, dtype=float)
