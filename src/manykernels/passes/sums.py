"""Sums over rows at a model: risk, gradients, moments. What one pass over rows in parts gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks
from ..families import ProductFamily, StandardizedFamily
from ..kernels import KernelSet
from ..limits import PART_ENTRIES
from ..losses import Loss
from ..losses.classification import class_targets
from .moments import Moments, moments_of


class Totals(Protocol):
    """Rows somewhere, over which a function can be added up."""

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over parts of ``function(block, *arguments)``; one pass."""


@dataclass(frozen=True)
class Block:
    """Some rows: X, y and sample weights as NumPy arrays."""

    X: Array
    y: Array
    weights: Array

    def some(self, used: Array | None) -> Block:
        """Return the rows of a mask."""
        if used is None or used.all():
            return self
        return Block(self.X[used], self.y[used], self.weights[used])


@dataclass(frozen=True)
class Recipe:
    """How rows become features and targets; what the workers are told.

    Attributes
    ----------
    kernels : KernelSet
        The base kernels.
    mean, scale : ndarray, optional
        What columns are centred and divided by.
    family : ProductFamily or StandardizedFamily
        The products, on no rows.
    loss : Loss
        The loss.
    classes : ndarray
        The classes of y, none for numbers.
    centre : float
        What is subtracted from y.
    weight : float
        The sum of all sample weights.
    p : float
        Exponent of the group norm.
    intercept : bool
        Whether there is a free constant.
    reach : float
        Largest size of a target.
    """

    kernels: KernelSet
    mean: Array | None
    scale: Array | None
    family: ProductFamily | StandardizedFamily
    loss: Loss
    classes: Array
    centre: float
    weight: float
    p: float = 1.0
    intercept: bool = True
    reach: float = 1.0

    @property
    def outputs(self) -> int:
        """Number of outputs: one for numbers and two classes, else one a class."""
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def products(self) -> ProductFamily:
        """The products as they are, not divided by their spreads."""
        found = self.family.family if isinstance(self.family, StandardizedFamily) else self.family
        assert isinstance(found, ProductFamily)
        return found

    def only(self, indices: Sequence[Index]) -> Recipe:
        """Return the recipe of some kernels: workers need not know about all."""
        return replace(self, family=self.family.without_rows(indices))

    def nothing(self) -> PartsModel:
        """Return the model without kernels, and with constants zero."""
        return PartsModel([], np.zeros((0, self.outputs)), np.zeros(self.outputs))

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
        return class_targets(np.searchsorted(self.classes, y), len(self.classes))

    def slices(self, block: Block, width: int) -> Iterator[Block]:
        """Yield some rows at a time, those of positive weight."""
        block = block.some(block.weights > 0)
        height = max(256, PART_ENTRIES // max(1, width))
        for start in range(0, len(block.X), height):
            rows = slice(start, start + height)
            yield Block(block.X[rows], block.y[rows], block.weights[rows] / self.weight)


@dataclass(frozen=True)
class PartsModel:
    """A model: kernels, coefficients of their features, constants."""

    indices: Sequence[Index]
    coefficients: Array
    intercept: Array


@dataclass(frozen=True)
class Sums:
    """What one pass over rows at a model gives.

    Attributes
    ----------
    risk, conjugate : float
        Mean loss, and mean conjugate of the slopes.
    slope : ndarray of shape (c,)
        Mean slope.
    gradient : ndarray of shape (m, c)
        Gradient of the risk: inner products of the features with the weighted slopes.
    moments : Moments, optional
        Of the features and the targets of the quadratic that touches the risk at the model.
    tables : tuple of ndarray
        Inner products of all products of base features with the weighted slopes, by degree.
    """

    risk: float
    conjugate: float
    slope: Array
    gradient: Array
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
            self.gradient + other.gradient,
            moments,
            tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)),
        )


def sums_at(
    block: Block, recipe: Recipe, model: PartsModel, tables: bool, floor: float | None
) -> Sums:
    """Return the sums of some rows at a model; O(n m^2) with moments, else O(n m).

    ``floor`` is the least curvature of a row in the moments; None leaves them out.
    """
    width = len(model.coefficients) + 8
    outputs = model.coefficients.shape[1]
    total = _no_sums(recipe, model, outputs, floor is not None, tables)
    for part in recipe.slices(block, width):
        bases = recipe.bases(part.X)
        columns, _ = recipe.family.on(bases).features(model.indices)
        y, loss, weights = recipe.targets(part.y), recipe.loss, part.weights[:, None]
        fitted = columns @ model.coefficients + model.intercept
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
            found = replace(found, tables=inner_tables(recipe, bases, weights * slopes))
        total = total + found
    return total


def _no_sums(recipe: Recipe, model: PartsModel, outputs: int, moments: bool, tables: bool) -> Sums:
    width = len(model.coefficients)
    nothing = np.zeros(width + outputs)
    return Sums(
        0.0,
        0.0,
        np.zeros(outputs),
        np.zeros((width, outputs)),
        Moments(0.0, nothing, np.outer(nothing, nothing)) if moments else None,
        tuple(np.zeros(shape) for shape in table_shapes(recipe.products, outputs))
        if tables
        else (),
    )


def table_shapes(family: ProductFamily, outputs: int) -> list[tuple[int, ...]]:
    """Return the shapes of the tables of inner products."""
    width = int(family.blocks.sizes.sum())
    return [(outputs, *(width,) * degree) for degree in range(family.degree + 1)]


def inner_tables(recipe: Recipe, bases: FeatureBlocks, slopes: Array) -> tuple[Array, ...]:
    """Return inner products of vectors with all products of base features, by degree.

    For degree d a table of d axes, each in ascending order of the features; O(n R^d), as matrix
    products.
    """
    shapes = table_shapes(recipe.products, slopes.shape[1])
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


def feature_moments(block: Block, recipe: Recipe, model: PartsModel) -> Moments:
    """Return the moments of the features of a model; O(n m^2)."""
    nothing = np.zeros(len(model.coefficients))
    total = Moments(0.0, nothing, np.outer(nothing, nothing))
    for part in recipe.slices(block, len(nothing)):
        columns, _ = recipe.family.on(recipe.bases(part.X)).features(model.indices)
        total = total + moments_of(columns, part.weights)
    return total


def loss_at(block: Block, recipe: Recipe, model: PartsModel) -> Array:
    """Return the weighted loss of some rows at a model, and their weight."""
    loss, weight = 0.0, 0.0
    for part in recipe.slices(block, len(model.coefficients) + 8):
        columns, _ = recipe.family.on(recipe.bases(part.X)).features(model.indices)
        fitted = columns @ model.coefficients + model.intercept
        values = recipe.loss.value(recipe.targets(part.y), fitted)
        loss += float(np.sum(part.weights[:, None] * values))
        weight += float(part.weights.sum())
    return np.array([loss, weight])
