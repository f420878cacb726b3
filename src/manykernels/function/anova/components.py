r"""Components of a function of product kernels: coefficients of bases of its columns.

With the means :math:`m_{pj}(i)` of the kernels of product p and column j over the marginal law,
and the coefficients :math:`A_{pj}(i)` of the kernels in the basis of the column, the component of
a set u of columns has the coefficients

.. math:: C_u = \sum_p w_p \sum_i \alpha_i \prod_{j \in S_p \setminus u} m_{pj}(i)
          \bigotimes_{j \in u} A_{pj}(i),

its value is their inner product with the products of basis functions, and its variance under the
product of the marginals their sum of squares. Kernels are evaluated between the training rows'
own values and the nodes: coefficients of rows may be large and cancel, and would not in kernels
that are interpolated there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ...arrays import Array
from .marginals import Marginal
from .model import WidthModel

Columns = tuple[int, ...]
"""A set of columns, ascending."""

BLOCK_ROWS = 2_048
"""Training rows whose products of kernels are made at a time at the most: some megabytes. Set by
judgement, not measured."""

BLOCK_ENTRIES = 2**23
"""Distances of rows from nodes, over all columns, that are held at a time: 64 MB."""

VALUE_ROWS = 256
"""New rows on which components are evaluated at a time: with 32 basis functions 2 MB for a pair."""

SINGLE_ROWS = 2_048
"""Training rows from which on products of kernels are made in single precision, in half the time.
Set by judgement, not measured."""

SINGLE_ROUNDING = 1e-3
"""Largest error of single precision, relative to the coefficients that are to be found: 1e-7 for
each entry, times the norm of the rows' coefficients."""

NARROW_PART = 1e-3
"""Bound of the sum of all that is left out of a component of products of kernels too narrow to
matter, relative to the deviation of the function."""

SMALLEST_MEAN = 1e-30
"""Least mean of a kernel of one column, so that it can be divided by in single precision: between
nodes a narrow kernel is nothing, and what it is divided by must not be less."""


@dataclass(frozen=True)
class Component:
    """A component: the columns it is a function of, and its coefficients.

    Attributes
    ----------
    columns : tuple of int
        The columns.
    coefficients : ndarray of shape (q_1, .., q_d, c)
        Coefficients of products of the first functions of each column's basis.
    """

    columns: Columns
    coefficients: Array

    @property
    def variance(self) -> float:
        """Variance under the product of the marginals, all outputs together."""
        return float(np.sum(self.coefficients**2))

    def values(self, marginals: Mapping[int, Marginal], rows: Array) -> Array:
        """Return the component on rows, of shape (n, c); O(n q^d c), some rows at a time."""
        out = np.empty((len(rows), self.coefficients.shape[-1]))
        for start in range(0, len(rows), VALUE_ROWS):
            part = rows[start : start + VALUE_ROWS]
            left: Any = self.coefficients[None]
            for j, size in zip(self.columns, self.coefficients.shape, strict=False):
                known = marginals[j].at(part[:, j], size)
                flat = left.reshape(left.shape[0], size, -1)
                left = known @ flat[0] if len(flat) == 1 else np.matmul(known[:, None], flat)[:, 0]
            out[start : start + VALUE_ROWS] = left
        return out

    def energies(self, column: int) -> Array:
        """Return the variance that belongs to each basis function of a column."""
        place = self.columns.index(column)
        other = tuple(a for a in range(self.coefficients.ndim) if a != place)
        return np.sum(self.coefficients**2, axis=other)


def components(
    model: WidthModel,
    marginals: Mapping[int, Marginal],
    sets: Iterable[Columns],
    ranks: Mapping[tuple[int, int], int],
    deviation: float,
) -> dict[Columns, Component]:
    """Return the components of sets of columns, each with the empty set's among them if asked.

    For n rows, P products of r columns, g nodes and q functions O(n P (r g + sum_u q^|u|)) time,
    beside the coefficients O(block) memory.

    Parameters
    ----------
    model : WidthModel
        The function.
    marginals : mapping of int to Marginal
        The columns' laws.
    sets : iterable of tuple of int
        Sets of columns; the empty set's component is the function's mean.
    ranks : mapping of (int, int) to int
        Number of basis functions by column and size of the set.
    deviation : float
        About how large the function is; says whether single precision is enough.
    """
    wanted = sorted(sets, key=lambda u: (len(u), u))
    found = {u: np.zeros((model.alpha.shape[1], *(ranks[j, len(u)] for j in u))) for u in wanted}
    rough = 1e-7 * np.linalg.norm(model.alpha) * np.abs(model.theta).sum()
    single = len(model.alpha) >= SINGLE_ROWS and rough <= SINGLE_ROUNDING * deviation
    dtype = np.float32 if single else np.float64
    own = [
        [u for u in wanted if set(u) <= set(p.columns) and len(u) >= least]
        for p, least in zip(model.products, _least_sizes(model, marginals, deviation), strict=True)
    ]
    highest = {j: max([0, *(ranks[j, len(u)] for u in wanted if j in u)]) for j in marginals}
    projections = {
        j: marginals[j].projection[:, : 1 + size].T.astype(dtype) for j, size in highest.items()
    }
    nodes = sum(len(law.nodes) for law in marginals.values())
    height = min(BLOCK_ROWS, max(1, BLOCK_ENTRIES // max(1, nodes)))
    for start in range(0, len(model.alpha), height):
        block = slice(start, start + height)
        alpha, values = model.alpha[block].T, model.values[block]
        apart: dict[tuple[int, int], Array] = {}
        for product, inside in zip(model.products, own, strict=True):
            if not inside:
                continue
            factors = {}
            for j, s in zip(product.columns, product.widths, strict=True):
                if (j, product.power) not in apart:
                    far = marginals[j].distances(values[:, j], product.power)
                    apart[j, product.power] = np.negative(far.T.astype(dtype, order="C"))
                factors[j] = projections[j] @ np.exp(apart[j, product.power] * dtype(s))
            _add(found, product.weight, inside, factors, alpha, ranks)
    if model.terms is not None:
        for u, values in model.terms.components(marginals).items():
            if u in found:
                found[u] += values[tuple(slice(size) for size in found[u].shape)]
    return {u: Component(u, np.moveaxis(values, 0, -1)) for u, values in found.items()}


def _least_sizes(
    model: WidthModel, marginals: Mapping[int, Marginal], deviation: float
) -> list[int]:
    """Return the size of the smallest sets in which each product of kernels is more than nothing.

    In a component of size d a product has at most its weight, times the sum of the sizes of the
    rows' coefficients, times the means of its kernels of all but d columns.
    """
    most = np.abs(model.alpha).sum(axis=0).max() / (NARROW_PART * max(deviation, 1e-300))
    found = []
    for product in model.products:
        means = []
        for j, s in zip(product.columns, product.widths, strict=True):
            law = marginals[j]
            kernel = np.exp(-s * law.distances(law.nodes, product.power))
            means.append(float(np.max(kernel @ law.weights)))
        # The bound for size d, d = 0, 1, ..: the d smallest means are left out.
        bounds = np.cumprod([1.0, *sorted(means, reverse=True)])[::-1]
        large = np.abs(product.weight) * most * bounds * len(model.products) >= 1.0
        found.append(int(np.argmax(large)) if large.any() else len(bounds))
    return found


def _add(
    found: dict[Columns, Array],
    weight: float,
    inside: Sequence[Columns],
    factors: Mapping[int, Array],
    alpha: Array,
    ranks: Mapping[tuple[int, int], int],
) -> None:
    """Add what a product of kernels on some rows has in components; rows are the last axis."""
    whole, ratios = weight * alpha, {}
    for j, values in factors.items():
        mean = np.maximum(values[0].astype(float), SMALLEST_MEAN)
        whole = whole * mean
        ratios[j] = values[1:] * (1 / mean).astype(values.dtype)
    # Sets that differ in their last column share the product of the factors before it.
    for (size, before), group in groupby(inside, key=lambda u: (len(u), u[:-1])):
        if not size:
            found[()] += whole.sum(axis=1)
            continue
        sets = list(group)
        right = [ratios[u[-1]][: ranks[u[-1], size]] for u in sets]
        left = whole.astype(right[0].dtype)
        for j in before:
            left = _products(left, ratios[j][: ranks[j, size]])
        sums = left @ np.concatenate(right).T
        place = 0
        for u, part in zip(sets, right, strict=True):
            found[u] += sums[:, place : place + len(part)].reshape(found[u].shape)
            place += len(part)


def _products(left: Array, right: Array) -> Array:
    """Return all products of a row of ``left`` with a row of ``right``."""
    return (left[:, None, :] * right[None, :, :]).reshape(-1, left.shape[1])
