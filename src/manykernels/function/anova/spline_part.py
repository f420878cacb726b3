"""The spline terms in a function of kernels with widths: values, and parts in components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...bases import TermRows, WidthRows
from ...kernels import BothKernels
from .marginals import Marginal


@dataclass(frozen=True)
class SplinePart:
    r"""What spline terms add to a function, :math:`\sum_i \alpha_i \sum_u w_u K_u(x_i, x)`.

    Attributes
    ----------
    kernels : BothKernels
        The functions of columns that terms are products of.
    coefficients : list of ndarray
        Coefficients of the features of each term; see :meth:`~.TermRows.coefficients`.
    weight : float
        Weight of the kernel of all terms.
    """

    kernels: BothKernels
    coefficients: list[Array]
    weight: float

    @cached_property
    def products(self) -> list[tuple[int, ...]]:
        """The numbers of the base kernels of each term, among those in use."""
        places = {j: place for place, j in enumerate(self.kernels.factors)}
        return [tuple(places[j] for j in product) for product in self.kernels.products]

    @cached_property
    def sets(self) -> list[tuple[int, ...]]:
        """The columns of the terms, ascending, each set once."""
        owners = self.kernels.owners
        found = (tuple(sorted({owners[j] for j in product})) for product in self.products)
        return list(dict.fromkeys(u for u in found if u))

    def decision(self, rows: WidthRows) -> Array:
        """Return the terms together on rows, of shape (n, c)."""
        own = self.kernels.at_values(to_host(rows.values)) if rows.terms is None else rows.terms
        return own.expansion(self.coefficients)

    def features_at(self, j: int, nodes: Array) -> list[Array]:
        """Return the functions of each base kernel in use of a column at values of it.

        None for base kernels of other columns: an empty list in their place.
        """
        rows = self._on_values(j, nodes)
        owners = enumerate(self.kernels.owners)
        return [rows.blocks.block(a) if owner == j else np.empty((0, 0)) for a, owner in owners]

    def kernel_at(self, j: int, nodes: Array) -> Array:
        """Return the sum of the base kernels of a column between values of it."""
        parts = [part for part in self.features_at(j, nodes) if len(part)]
        whole = np.concatenate([np.zeros((len(nodes), 1)), *parts], axis=1)
        return whole @ whole.T

    def _on_values(self, j: int, nodes: Array) -> TermRows:
        values = np.zeros((len(nodes), len(self.kernels.columns)))
        values[:, j] = nodes
        return self.kernels.at_values(values)

    def components(self, marginals: Mapping[int, Marginal]) -> dict[tuple[int, ...], Array]:
        """Return what terms add to the coefficients of components, in all basis functions.

        A product of functions of two columns has a part in the component of both, and what its
        means leave in those of either and in the mean of the function; two functions of one
        column are one function of it. Arrays of shape (c, q_1, .., q_d).
        """
        owners = self.kernels.owners
        known = {j: self.features_at(j, marginals[j].nodes) for u in self.sets for j in u}
        found: dict[tuple[int, ...], Array] = {}

        def add(u: tuple[int, ...], values: Array) -> None:
            found[u] = found[u] + values if u in found else values

        for product, own in zip(self.products, self.coefficients, strict=True):
            if not product:
                add((), own)
                continue
            columns = tuple(owners[a] for a in product)
            tables = [known[j][a] for j, a in zip(columns, product, strict=True)]
            if len(set(columns)) == 1:
                values = tables[0] @ own if len(product) == 1 else _diagonal(own, *tables)
                whole = marginals[columns[0]].projection.T @ values
                add((), whole[0])
                add(columns[:1], whole[1:].T)
                continue
            sides = [
                marginals[j].projection.T @ table for j, table in zip(columns, tables, strict=True)
            ]
            whole = np.einsum("ga,abc,hb->cgh", sides[0], own, sides[1], optimize=True)
            if columns[0] > columns[1]:
                columns, whole = columns[::-1], whole.transpose(0, 2, 1)
            add((), whole[:, 0, 0])
            add(columns[:1], whole[:, 1:, 0])
            add(columns[1:], whole[:, 0, 1:])
            add(columns, whole[:, 1:, 1:])
        return found


def _diagonal(coefficients: Array, left: Array, right: Array) -> Array:
    """Return the product of two functions of a column at its nodes, of shape (g, c)."""
    return np.asarray(np.einsum("ga,abc,gb->gc", left, coefficients, right, optimize=True))
