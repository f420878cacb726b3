"""Finite families in place of a continuum: widths in cells, each with its mean kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, Index
from ...backend import to_host
from ...bases import GramStack, WidthRows
from ..base import KernelFamily
from ..index_sets import Interactions
from ..products import ProductFamily
from .family import check_shapes
from .laws import LogUniform, WidthLaw

PRODUCT_SHAPES = ("gaussian", "laplace")
"""The shapes whose kernels are products of kernels of one column."""


class CellFamily(KernelFamily):
    r"""Products of mean kernels of cells, one cell for each of at most ``degree`` columns.

    For :math:`1 < p < 2` the weights over a continuum are a density :math:`\theta` with
    :math:`\|\theta\|_{L_\nu(\mu)} \le 1`. Let it be constant on cells: a cell of measure w with
    the mean kernel K adds :math:`w\theta K` to the kernel and :math:`w\theta^\nu` to the norm.
    With :math:`\phi = w^{1/\nu}\theta` that is a finite family with
    :math:`\rho^{-2} = w^{1-1/\nu}` and :math:`\|\phi\|_\nu \le 1`, on which every solver runs with
    its certificate. Cells of cells can only lower the optimum, which tends to that of the
    continuum. The mass, and with it the constant of mirror descent, grows like
    :math:`(cells^{|S|})^{1/\nu}`: use as few cells as the optimum needs.

    An index holds the numbers of base kernels, (shape, column, cell) in lexicographic order.

    Parameters
    ----------
    bases : GramStack
        The mean kernels of all cells, see :func:`cell_kernels`.
    nu : float
        The exponent :math:`\nu = p/(2-p)` that the weights are for.
    law, cells, degree, shapes, rho, names
        As in :func:`cell_family`.
    training : WidthRows, optional
        The training rows, which kernels between new rows and these are made of.
    """

    def __init__(
        self,
        bases: GramStack,
        nu: float,
        law: WidthLaw,
        cells: int,
        degree: int,
        shapes: tuple[str, ...],
        rho: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        training: WidthRows | None = None,
    ) -> None:
        columns = bases.count // (len(shapes) * cells)
        super().__init__(bases, [f"x{j}" for j in range(columns)] if names is None else names)
        self.nu, self.law, self.cells = nu, law, cells
        self.degree, self.shapes, self.training = degree, shapes, training
        no_rows = GramStack(np.empty((columns, 0, 0)))
        self.sets = ProductFamily(no_rows, degree, Interactions(), rho)

    @cached_property
    def _listed(self) -> list[Index]:
        columns, cells = len(self.names), range(self.cells)
        chosen = [
            (shape, columns_of, cells_of)
            for size in range(1, self.degree + 1)
            for shape in range(len(self.shapes))
            for columns_of in combinations(range(columns), size)
            for cells_of in product(cells, repeat=size)
        ]
        numbers = (
            tuple(
                (shape * columns + j) * self.cells + cell
                for j, cell in zip(columns_of, cells_of, strict=True)
            )
            for shape, columns_of, cells_of in chosen
        )
        return [(), *numbers]

    def indices(self) -> list[Index]:
        """Return all kernels, by their number of columns."""
        return self._listed

    def measures(self, indices: Sequence[Any]) -> Array:
        r"""Return the measures w of kernels: of cells, times the probability of a shape."""
        sizes = np.array([len(index) for index in indices], dtype=float)
        return np.where(sizes > 0, self.cells**-sizes / len(self.shapes), 1.0)

    def weights(self, indices: Sequence[Any]) -> Array:
        r"""Return :math:`\rho_{|S|}^{-2} w^{1-1/\nu}`."""
        return self.sets.weights(indices) * self.measures(indices) ** (1 - 1 / self.nu)

    def name(self, index: Any) -> str:
        """Return for instance ``"gaussian(age 2/4, income 1/4)"``: the second of four cells."""
        if not index:
            return "1"
        columns = len(self.names)
        shape = self.shapes[index[0] // (columns * self.cells)]
        places = [divmod(number % (columns * self.cells), self.cells) for number in index]
        parts = [f"{self.names[j]} {cell + 1}/{self.cells}" for j, cell in places]
        return f"{shape}({', '.join(parts)})"

    def on(self, bases: GramStack | WidthRows) -> Self:
        """Return the same family on other rows: mean kernels, or rows of columns to make them of.

        The latter are between these rows and the training rows.
        """
        if isinstance(bases, WidthRows):
            bases = cell_kernels(bases, self.law, self.cells, self.shapes, self.training)
        settings = self.nu, self.law, self.cells, self.degree, self.shapes
        return type(self)(bases, *settings, self.sets.rho, self.names, self.training)


def cell_family(
    rows: WidthRows,
    nu: float,
    cells: int,
    degree: int,
    law: WidthLaw | None = None,
    shapes: Sequence[str] = PRODUCT_SHAPES,
    rho: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> CellFamily:
    r"""Return a finite family in place of the continuum of kernels with free widths.

    Parameters
    ----------
    rows : WidthRows
        The scaled columns of the training rows.
    nu : float
        The exponent :math:`\nu = p/(2-p)` of the problem; infinity for p = 2.
    cells : int
        Number of cells of equal mass that the widths of a column are split into.
    degree : int
        Largest number of columns in a kernel; with r columns there are
        :math:`\sum_d \binom{r}{d} cells^d` kernels of each shape.
    law : WidthLaw, default=LogUniform()
        The law of the widths. Cells of a :class:`WidthGrid` hold equally many of its widths.
    shapes : sequence of str, default=("gaussian", "laplace")
        The shapes; radial kernels are no products.
    rho : sequence of float, default=ones
        Scale factor :math:`\rho_d` of kernels of d columns, d = 0..degree.
    names : sequence of str, default=x0, x1, ...
        Names of the columns.
    """
    shapes = check_shapes(shapes, PRODUCT_SHAPES)
    law = LogUniform() if law is None else law
    bases = cell_kernels(rows, law, cells, shapes)
    return CellFamily(bases, nu, law, cells, degree, shapes, rho, names, rows)


def cell_kernels(
    rows: WidthRows,
    law: WidthLaw,
    cells: int,
    shapes: Sequence[str] = PRODUCT_SHAPES,
    other: WidthRows | None = None,
) -> GramStack:
    """Return the mean kernels of all cells, by shape, column and cell; each O(n m).

    Between ``rows`` and those of ``other``, by default own rows.
    """
    parts = law.split(cells)
    powers = [1 if shape == "laplace" else 2 for shape in shapes]
    columns = product(powers, range(rows.count))
    distances = (to_host(rows.distances(j, power, other)) for power, j in columns)
    return GramStack(np.stack([part.transform(apart) for apart in distances for part in parts]))
