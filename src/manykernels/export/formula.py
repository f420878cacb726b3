"""A learnt function as a formula: functions of columns, and a sum of products of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..arguments import refuse_unfitted
from ..arrays import Array
from ..feature_maps import Categorical, Nystroem, Polynomial, Spline
from ..function import Function, Predictor
from ..kernels import LinearKernels, MapKernels
from ..losses import Logistic, ProbabilisticLoss
from ..specify import resolve_loss
from ..tables import TableModel
from .sources import Source, sources_of


@dataclass(frozen=True)
class Line:
    """Columns as they are: a function for each."""

    columns: list[int]

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.columns)


@dataclass(frozen=True)
class Levels:
    """A function for each value of a column: ``high`` there, ``low`` at the others.

    All are zero at values that are not among them.
    """

    columns: list[int]
    values: Array
    high: Array
    low: Array

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.values)


@dataclass(frozen=True)
class Powers:
    """Polynomials in t = (z - middle) / reach, from -1.5 to 1.5.

    Row j of ``coefficients`` has those of t^j.
    """

    columns: list[int]
    middle: float
    reach: float
    coefficients: Array

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.coefficients.shape[1])


@dataclass(frozen=True)
class Smooth:
    """Sums of cubic B-splines of a column's place on a scale, kept between two values.

    The place of z is interpolated between ``places``, where it is ``evenly``. With q B-splines,
    s = (q - 3) place, cell c the whole part of s (q - 4 at most) and w the rest, B-splines c to
    c + 3 are (1 - w)^3 / 6, (3 w^3 - 6 w^2 + 4) / 6, (-3 w^3 + 3 w^2 + 3 w + 1) / 6 and w^3 / 6.
    Function k is their sum with the coefficients ``axes[:, k]``, at least ``lowest`` and at most
    ``highest``, less ``mean``, times ``factor``.
    """

    columns: list[int]
    places: Array
    evenly: Array
    axes: Array
    lowest: Array
    highest: Array
    mean: Array
    factor: float

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.axes.shape[1])


@dataclass(frozen=True)
class Bells:
    """Sums of exp(-gamma d^2), d the distance of columns from ``points``, with ``axes``.

    A single column is on a scale first if there are ``places``. Less ``mean``, times ``factor``.
    """

    columns: list[int]
    points: Array
    gamma: float
    axes: Array
    mean: Array
    factor: float
    places: Array | None
    evenly: Array | None

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.axes.shape[1])


Block = Line | Levels | Powers | Smooth | Bells


@dataclass(frozen=True)
class ProductSum:
    """A sum of products of functions, one of each block, with a table of coefficients.

    The table has an axis for each block, and a last one for outputs.
    """

    name: str
    blocks: tuple[int, ...]
    table: Array


@dataclass(frozen=True)
class Formula:
    """A model: constants and parts add up to its outputs.

    Attributes
    ----------
    target : str
        What is predicted.
    sources : dict
        The columns of numbers in use, by their numbers.
    shifts, scales : ndarray
        Column j is standardised: z = (x - shift) / scale.
    blocks : dict
        Functions of standardised columns, by the numbers of their base kernels.
    parts : list of ProductSum
        In the order of the model's terms.
    constants : ndarray
        One for each output.
    classes : list
        Classes; none for numbers. Two have one output, positive for the second.
    link : {"", "logistic", "linear", "exponential"}
        How outputs become probabilities, if they do.
    names : tuple of str
        Names of all columns of the table, in use or not.
    """

    target: str
    sources: dict[int, Source]
    shifts: Array
    scales: Array
    blocks: dict[int, Block]
    parts: list[ProductSum]
    constants: Array
    classes: list[Any]
    link: str
    names: tuple[str, ...] = ()

    @property
    def written(self) -> list[str]:
        """Columns of numbers that were no plain ones in training: 3,5 or 12 %, say."""
        return [s.column for s in self.sources.values() if s.kind == "number" and s.style]


def formula_of(model: Any) -> Formula:
    """Return a fitted model as a formula; ValueError says why that cannot be."""
    estimator = model.estimator if isinstance(model, TableModel) else model
    refuse_unfitted(estimator, "model")
    function = getattr(estimator, "function_", None)
    if not isinstance(function, Function):
        raise TypeError(
            f"model must be a fitted estimator or a model of a table; got {type(model).__name__}. "
            "Fit MKLRegressor or MKLClassifier."
        )
    learnt = _explicit(function)
    products = list(learnt.family.products(learnt.indices))
    used = sorted({j for product in products for j in product})
    kernels: Any = function.kernels.only(frozenset(used))
    blocks = {j: _block(kernels, j) for j in used}
    assert learnt.coefficients is not None
    widths = learnt.family.widths(learnt.indices)
    roots = np.sqrt(learnt.family.weights(learnt.indices))
    parts, start = [], 0
    for i, (index, product) in enumerate(zip(learnt.indices, products, strict=True)):
        own = roots[i] * learnt.coefficients[start : start + widths[i]]
        start += widths[i]
        sizes = [blocks[j].size for j in product]
        if prod(sizes) and np.any(own):
            table = own.reshape(*sizes, own.shape[1])
            parts.append(ProductSum(learnt.family.name(index), tuple(product), table))
    live = {j: blocks[j] for part in parts for j in part.blocks}
    sources = sources_of(model)
    seen = sorted({column for block in live.values() for column in block.columns})
    shifts, scales = _standards(function, len(sources))
    target = str(model.summary["target"]) if isinstance(model, TableModel) else "y"
    return Formula(
        target,
        {column: sources[column] for column in seen},
        shifts,
        scales,
        live,
        parts,
        np.atleast_1d(learnt.intercept),
        function.classes.tolist(),
        _link(estimator),
        tuple(dict.fromkeys(source.column for source in sources)),
    )


def _explicit(function: Function) -> Predictor:
    """Return the function by coefficients of features, or say why there are none."""
    learnt = function.predictor
    why, way = "", 'Fit with kernels="auto" (--kernels auto).'
    if function.kernels.free_widths:
        why = "kernels of free widths compare a row with all training rows"
    elif not isinstance(learnt, Predictor):
        why = f"a {type(learnt).__name__} is no sum of terms"
    elif learnt.closed:
        why = "its kernel is the sum of all kernels (p = 2), which compares rows with training rows"
        way = "Fit with p=1."
    elif not isinstance(function.kernels, LinearKernels | MapKernels):
        why = "its kernels are known by their values between rows only"
        way = 'Fit with kernels="auto" or "nystroem".'
    else:
        explicit = learnt if learnt.coefficients is not None else learnt.without_rows()
        if explicit.coefficients is not None:
            return explicit
        why = "it has no features"
    raise ValueError(f"the model cannot be written as a formula: {why}. {way}")


def _standards(function: Function, count: int) -> tuple[Array, Array]:
    scaler = function.scaler
    shifts, scales = np.zeros(count), np.ones(count)
    if scaler is not None and scaler.with_mean:
        shifts = np.asarray(scaler.mean_, dtype=float)
    if scaler is not None and scaler.with_std:
        scales = np.asarray(scaler.scale_, dtype=float)
    return shifts, scales


def _link(estimator: Any) -> str:
    if not estimator.labelled:
        return ""
    loss = resolve_loss(estimator.loss, labelled=True)
    if estimator.function_.softmax:
        return "exponential"
    if isinstance(loss, Logistic):
        return "logistic"
    if not isinstance(loss, ProbabilisticLoss):
        return ""
    probes = np.linspace(-3, 3, 13)
    if np.allclose(loss.probability(probes), np.clip((1 + probes) / 2, 0, 1), atol=1e-12):
        return "linear"
    raise ValueError(
        f"the model cannot be written as a formula: the probability of {type(loss).__name__} is "
        'not known. Fit with loss="logistic".'
    )


def _block(kernels: LinearKernels | MapKernels, number: int) -> Block:
    if isinstance(kernels, LinearKernels):
        return Line(_listed(kernels.columns[number]))
    name, one, columns = kernels.fitted[number]
    seen = _listed(columns)
    if one is None:
        return Line(seen)
    if isinstance(one, Categorical):
        low = -one.mean * one.factor
        return Levels(seen, one.values, (1 - one.mean) * one.factor, low)
    if isinstance(one, Polynomial):
        size = len(one.axes)
        rows = [-one.mean[:size], *one.axes] if size else np.empty((1, 0))
        return Powers(seen, one.middle, one.reach, np.array(rows) * one.factor)
    if isinstance(one, Spline):
        ends = one.lowest, one.highest
        return Smooth(seen, one.places, one.evenly, one.axes, *ends, one.mean, one.factor)
    if isinstance(one, Nystroem):
        single = len(seen) == 1
        points = np.reshape(one.points, (len(one.points), -1))
        width = one.width or (0.2 if one.points.ndim == 1 else 1.0)
        scale = (one.places, one.evenly) if single and one.points.ndim == 1 else (None, None)
        gamma = 0.5 / width**2 / points.shape[1]
        return Bells(seen, points, gamma, one.axes, one.mean, one.factor, *scale)
    raise ValueError(
        f"the model cannot be written as a formula: {name!r} has features of your own, a "
        f'{type(one).__name__}. Use one of ours, such as "spline".'
    )


def _listed(columns: Sequence[int] | Array) -> list[int]:
    return [int(column) for column in columns]
