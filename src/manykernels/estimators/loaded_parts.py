"""What the parts of a function from a file must be: shapes, kinds of numbers, and their range."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..arrays import Array
from ..bases import SHAPES, TERMS, FeatureBlocks, GramStack, TermRows, WidthRows
from ..families import ProductFamily
from ..feature_maps import Categorical, Nystroem, Polynomial, Spline
from ..function import Function, Predictor
from ..kernels import BothKernels, KernelSet, MapKernels, WidthKernels
from ..registry import INDEX_SETS
from ..store import parts_of, refuse_fields

SCALE_ROUNDING = 1e-9
"""By how much places on a scale may fall, or lie beyond its ends: the rounding of a few operations
on numbers of moderate size is less. Set by judgement, not measured."""

LARGEST_PLACE = 1e10
"""Largest place on the scale of a column for kernels with widths. Rows have variance one there, so
that one with the share w of the weights lies within w^-1/2; weights are at least 1e-16 of the
largest (``LEAST_WEIGHT``), and of up to 10^4 rows the shares 1e-20."""


def refuse_unsound_parts(function: Function, columns: int) -> None:
    """Raise ValueError or TypeError unless each part of a function is what its class makes.

    ``columns`` is the number of columns of numbers that the function is of. Everything that
    numbers of columns, of cells or of kernels are computed from is looked at.
    """
    kinds = {"kernels": KernelSet, "predictor": Predictor, "classes": np.ndarray, "softmax": bool}
    refuse_fields(function, kinds, "the function")
    for one, where in parts_of(function, "the function"):
        if isinstance(one, KernelSet):
            _refuse_columns(one, where, columns)
        for kind, check in CHECKS.items():
            if isinstance(one, kind):
                check(one, where)
        if isinstance(one, StandardScaler):
            _refuse_scaler(one, where, columns)
    learnt = function.predictor
    if isinstance(function.kernels, WidthKernels) and isinstance(learnt, Predictor):
        _refuse_width_function(function.kernels, learnt)


def _numbers(value: Any, where: str, *shape: int | None, kind: str = "f") -> Array:
    """Return an attribute; raise unless it is an array of numbers of a shape, None for any."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind:
        found = getattr(value, "dtype", type(value).__name__)
        raise TypeError(f"{where} must be an array of {_KINDS[kind]}; got {found}")
    sides = zip(value.shape, shape, strict=False)
    if value.ndim != len(shape) or any(b is not None and a != b for a, b in sides):
        raise ValueError(f"{where} has the shape {value.shape}; it must be {shape}")
    return value


_KINDS = {"f": "floats", "i": "integers"}


def _refuse_scale(points: Any, places: Any, where: str, low: float, high: float) -> None:
    """Raise unless points of a column ascend, and so do their places between two ends."""
    size = len(_numbers(points, f"points of a scale in {where}", None))
    _numbers(places, f"places of a scale in {where}", size)
    if not size or not np.all(np.diff(points) > 0):
        raise ValueError(f"points of a scale in {where} do not ascend")
    inside = low - SCALE_ROUNDING <= places.min() and places.max() <= high + SCALE_ROUNDING
    if not inside or np.any(np.diff(places) < -SCALE_ROUNDING):
        raise ValueError(f"places of a scale in {where} do not ascend from {low:g} to {high:g}")


def _refuse_map(one: Any, where: str, functions: int) -> None:
    """Raise unless a map's functions are centred each by its own mean, with a common factor."""
    refuse_fields(one, {"factor": float}, where)
    _numbers(one.mean, f"mean of {where}", functions)


def _spline(one: Spline, where: str) -> None:
    _refuse_scale(one.places, one.evenly, where, 0.0, 1.0)
    knots = len(_numbers(one.knots, f"knots of {where}", None))
    axes = _numbers(one.axes, f"axes of {where}", knots - 4, None)
    if knots < 8:
        raise ValueError(f"{where} has {knots} knots; at least 8 are needed")
    for name in ("lowest", "highest"):
        _numbers(getattr(one, name), f"{name} of {where}", axes.shape[1])
    if np.any(one.lowest > one.highest):
        raise ValueError(f"least values of {where} are above the largest")
    _refuse_map(one, where, axes.shape[1])


def _nystroem(one: Nystroem, where: str) -> None:
    if "places" in vars(one):
        _refuse_scale(one.places, one.evenly, where, 0.0, 1.0)
    single = np.ndim(one.points) == 1
    points = len(_numbers(one.points, f"points of {where}", *(None,) * (1 if single else 2)))
    axes = _numbers(one.axes, f"axes of {where}", points, None)
    _refuse_map(one, where, axes.shape[1])


def _polynomial(one: Polynomial, where: str) -> None:
    refuse_fields(one, {"rank": int, "middle": float, "reach": float}, where)
    size = len(one.axes)
    _numbers(one.axes, f"axes of {where}", size, size)
    if not one.reach > 0 or size > one.rank:
        raise ValueError(f"{where} has a reach of {one.reach} and {size} powers of {one.rank}")
    _refuse_map(one, where, size)


def _categorical(one: Categorical, where: str) -> None:
    values = _numbers(one.values, f"values of {where}", None)
    if not np.all(np.diff(values) > 0):
        raise ValueError(f"values of {where} do not ascend")
    _refuse_map(one, where, len(values))


MAP_CHECKS: dict[type, Callable[[Any, str], None]] = {
    Spline: _spline,
    Nystroem: _nystroem,
    Polynomial: _polynomial,
    Categorical: _categorical,
}
"""What fitted feature maps must be."""


def _refuse_columns(kernels: KernelSet, where: str, columns: int) -> None:
    """Raise unless base kernels are given numbers of columns there are."""
    refuse_fields(kernels, {"columns": list | np.ndarray}, where)
    if not all(type(name) is str for name in kernels.names):
        raise TypeError(f"names of {where} are no text")
    given = kernels.columns if isinstance(kernels.columns, list) else [kernels.columns]
    for own in [*given, *kernels.inputs]:
        numbers = _numbers(own, f"columns of {where}", None, kind="i")
        if np.any((numbers < 0) | (numbers >= columns)):
            raise ValueError(f"{where} sees columns {numbers.tolist()} of {columns}")


def _refuse_scaler(scaler: StandardScaler, where: str, columns: int) -> None:
    """Raise unless columns are divided by positive numbers, one for each, and have a mean each."""
    refuse_fields(scaler, {"with_mean": bool, "with_std": bool, "n_features_in_": int}, where)
    if not np.all(_numbers(scaler.scale_, f"scales of {where}", columns) > 0):
        raise ValueError(f"scales of {where} must be positive")
    if scaler.with_mean:
        _numbers(scaler.mean_, f"means of {where}", columns)
    if scaler.n_features_in_ != columns:
        raise ValueError(f"{where} is of {scaler.n_features_in_} columns, not {columns}")


def _maps(kernels: MapKernels, where: str) -> None:
    refuse_fields(kernels, {"fitted": list}, where)
    count = len(kernels.fitted)
    let_go = np.zeros(count, dtype=int)
    if kernels.dropped is not None:
        let_go = _numbers(kernels.dropped, f"dropped of {where}", count, kind="i")
    for (name, one, columns), gone in zip(kernels.fitted, let_go.tolist(), strict=True):
        if gone < 0 or type(name) is not str or not len(columns):
            raise ValueError(f"a kernel of {where} has no name, no columns or {gone} functions")
        if one is not None and not gone:  # maps that were let go have learnt nothing
            MAP_CHECKS[type(one)](one, f"the functions of {name!r}")


def _widths(kernels: WidthKernels, where: str) -> None:
    count = len(kernels.columns)
    refuse_fields(kernels, {"names": list, "categorical": list, "scales_of": list}, where)
    lists = (kernels.names, kernels.categorical, kernels.scales_of)
    alone = len({int(j) for own in kernels.columns for j in own}) == count
    if not alone or any(len(own) != 1 for own in kernels.columns):
        raise ValueError(f"base kernels of {where} are not of one column each")
    if any(len(own) != count for own in lists) or set(map(type, kernels.categorical)) - {bool}:
        raise ValueError(f"{where} has other scales than columns")
    for name, category, scale in zip(*lists, strict=True):
        if category:
            (values,) = scale
            if not np.all(np.diff(_numbers(values, f"categories of {name!r}", None)) > 0):
                raise ValueError(f"categories of {name!r} do not ascend")
        else:
            points, places = scale
            _refuse_scale(points, places, repr(name), -LARGEST_PLACE, LARGEST_PLACE)


def _both(kernels: BothKernels, where: str) -> None:
    refuse_fields(kernels, {"maps": MapKernels}, where)
    _refuse_products(kernels, where, len(kernels.maps.fitted))
    own = {int(j) for (j,) in kernels.columns}
    if not all(len(seen) == 1 and int(seen[0]) in own for seen in kernels.maps.inputs):
        raise ValueError(f"functions of {where} are not of one of its columns each")


def _refuse_products(terms: BothKernels | TermRows, where: str, count: int) -> None:
    """Raise unless terms are products of at most two of some base kernels, each with a weight."""
    refuse_fields(terms, {"products": list}, where)
    for product in terms.products:
        short = isinstance(product, tuple) and len(product) <= 2
        if not short or not all(type(j) is int and 0 <= j < count for j in product):
            raise ValueError(f"a term of {where} is the product {product!r} of {count} functions")
    if np.any(_numbers(terms.weights, f"weights of {where}", len(terms.products)) < 0):
        raise ValueError(f"weights of {where} must not be negative")


def _blocks(bases: FeatureBlocks, where: str) -> None:
    shape: tuple[int, ...] = getattr(bases.features, "shape", ())  # sparse matrices have one, too
    width = shape[1] if len(shape) == 2 else -1
    sizes = _numbers(bases.sizes, f"sizes of {where}", None, kind="i")
    offsets = _numbers(bases.offsets, f"offsets of {where}", len(sizes) + 1, kind="i")
    whole = offsets[0] == 0 and offsets[-1] == width and np.array_equal(np.diff(offsets), sizes)
    if not whole or np.any(sizes < 0) or bases.single is not bool(np.all(sizes == 1)):
        raise ValueError(f"sizes of {where} do not add up to its {width} features")


def _grams(bases: GramStack, where: str) -> None:
    _numbers(bases.grams, f"matrices of {where}", None, None, None)


def _products(family: ProductFamily, where: str) -> None:
    kinds = {"degree": int, "names": list, "index_set": tuple(INDEX_SETS.values())}
    refuse_fields(family, kinds, where)
    if not np.all(_numbers(family.rho, f"rho of {where}", family.degree + 1) > 0):
        raise ValueError(f"rho of {where} must be positive")
    if family.bases.count != len(family.names):
        raise ValueError(f"{len(family.names)} base kernels of {where} are {family.bases.count}")


def _width_rows(rows: WidthRows, where: str) -> None:
    _numbers(rows.values, f"values of {where}", None, None)
    if rows.terms is None:
        return
    refuse_fields(rows, {"terms": TermRows}, where)
    refuse_fields(rows.terms, {"blocks": FeatureBlocks}, where)
    _refuse_products(rows.terms, where, rows.terms.blocks.count)
    if rows.terms.rows != rows.rows:
        raise ValueError(f"spline terms of {where} have {rows.terms.rows} rows, not {rows.rows}")


CHECKS: dict[type, Callable[[Any, str], None]] = {
    MapKernels: _maps,
    WidthKernels: _widths,
    BothKernels: _both,
    FeatureBlocks: _blocks,
    GramStack: _grams,
    ProductFamily: _products,
    WidthRows: _width_rows,
}
"""What parts of functions must be, by class; subclasses also as their base classes."""


def _refuse_width_function(kernels: WidthKernels, learnt: Predictor) -> None:
    """Raise unless kernels have widths of their columns, and training rows lie on their scales."""
    count, rows = len(kernels.columns), learnt.family.bases
    if not isinstance(rows, WidthRows):
        raise TypeError(f"rows of kernels with widths are {type(rows).__name__}")
    sizes = {j: len(s[0]) for j, s in enumerate(kernels.scales_of) if kernels.categorical[j]}
    if rows.count != count or rows.categories != sizes:
        raise ValueError("training rows are not of the columns of the kernels")
    for j, scale in enumerate(kernels.scales_of):
        own = rows.values[:, j]
        low, high = (-1, sizes[j] - 1) if j in sizes else (scale[1].min(), scale[1].max())
        beyond = np.any((own < low - SCALE_ROUNDING) | (own > high + SCALE_ROUNDING))
        if beyond or (j in sizes and np.any(own != np.round(own))):
            raise ValueError(f"training rows lie off the scale of {kernels.names[j]!r}")
    _numbers(learnt.expansion, "the expansion", rows.rows, len(learnt.intercept))
    own = [index for index in learnt.indices if index != TERMS]
    for shape, columns, widths in own:
        known = shape in SHAPES and len(columns) == len(widths)
        ascend = all(type(j) is int and 0 <= j < count for j in columns) and all(
            a < b for a, b in pairwise(columns)
        )
        positive = all(type(s) is float and s > 0 for s in widths)
        if not (known and ascend and positive):
            raise ValueError(f"no kernel with widths is {shape!r} of columns {columns!r}")
    terms = len(learnt.indices) - len(own)
    if terms != (learnt.terms is not None) or (terms and not isinstance(kernels, BothKernels)):
        raise ValueError(f"{terms} kernels of spline terms have {type(learnt.terms).__name__}")
    if learnt.terms is not None and isinstance(kernels, BothKernels):
        _refuse_terms(kernels, learnt.terms, len(learnt.intercept))


def _refuse_terms(kernels: BothKernels, terms: list[Array], outputs: int) -> None:
    """Raise unless spline terms have a coefficient for each product of their functions."""
    sizes = kernels.maps.widths
    if len(terms) != len(kernels.products):
        raise ValueError(f"{len(kernels.products)} spline terms have {len(terms)} coefficients")
    for product, own in zip(kernels.products, terms, strict=True):
        _numbers(own, "coefficients of a spline term", *(sizes[j] for j in product), outputs)
