"""The continuum of kernels of columns with free widths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, Index, Product
from ...backend import beside, filled, times
from ...bases import SHAPES, TERMS, GramStack, WidthKernel, WidthRows
from ...deadline import check
from ..base import Draw, GradientField, KernelFamily, choose, nonnegative
from ..index_sets import Interactions
from ..pricing import Pricer
from ..products import ProductFamily
from .laws import LogUniform, WidthLaw
from .layers import Layer, Pairs
from .radial import radial_nodes


class WidthFamily(KernelFamily):
    r"""All kernels of at most ``degree`` columns with a width for each column.

    An index is a :data:`WidthKernel`: a shape, the columns S and their widths. The measure over
    the family is :math:`\mu`: every set S counts once, a shape has the probability one over the
    number of shapes, and the widths are independent draws from the law. The weight of a kernel,
    :math:`\rho_{|S|}^{-2}`, knows of neither: shapes compete as equals for p = 1, and for p = 2
    they are averaged. Sums over a finite family are integrals over :math:`\mu` here: the ``mass``
    is :math:`\int g\,d\mu`, ``closed`` is :math:`\int \rho^{-2} K\,d\mu`, and draws have the
    density g / C relative to :math:`\mu`. Without columns all shapes are one kernel, the constant
    one, whose index has the first shape.

    Parameters
    ----------
    rows : WidthRows
        The scaled columns of the n training rows.
    degree : int, optional
        Largest number of columns; by default all of them.
    shapes : sequence of str, default=("gaussian", "laplace", "radial")
        The shapes.
    law : WidthLaw, default=LogUniform()
        The law of the widths.
    rho : sequence of float, default=ones
        Scale factor :math:`\rho_d` of kernels of d columns, d = 0..degree.
    names : sequence of str, default=x0, x1, ...
        Names of the columns.

    Notes
    -----
    Made on first use and kept: :math:`\binom{n+1}{2}` distances for each column and power, and as
    many sums for each layer (one, or 60 for the radial shape); what draws need on top, n x n
    matrices for each column and layer, is kept if it fits in ``room``. The mass at a dual point
    is O(n^2) for each layer. A draw is that of :class:`ProductFamily` with
    :class:`Interactions`, and then O(n^2) for each column and step of its search, some eight.

    Points of a continuum have no probability: draws bound no gradient, and the largest ratio of
    a :class:`Draw` is infinite. For 1 < p < 2 use :func:`cell_family`.
    """

    listable = priceable = False
    bases: WidthRows  # type: ignore[assignment]

    def __init__(
        self,
        rows: WidthRows,
        degree: int | None = None,
        shapes: Sequence[str] = SHAPES,
        law: WidthLaw | None = None,
        rho: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(rows, names)  # type: ignore[arg-type]
        self.degree = rows.count if degree is None else degree
        self.shapes = check_shapes(shapes, SHAPES)
        self.law: WidthLaw = LogUniform() if law is None else law
        no_rows = GramStack(np.empty((rows.count, 0, 0)))
        self.sets = ProductFamily(no_rows, self.degree, Interactions(), rho, self.names)

    @property
    def rho(self) -> Array:
        """Scale factors of kernels by their number of columns."""
        return self.sets.rho

    def products(self, indices: Sequence[Any]) -> Sequence[Product]:
        """Return the columns of each kernel."""
        return [columns for _, columns, _ in indices]

    def name(self, index: Any) -> str:
        """Return for instance ``"gaussian(age, income)"``; the constant kernel is ``"1"``."""
        if index == TERMS:
            return "spline terms"
        shape, columns, _ = index
        return f"{shape}({', '.join(self.names[j] for j in columns)})" if columns else "1"

    def weights(self, indices: Sequence[Index]) -> Array:
        r"""Return :math:`\rho_{|S|}^{-2}`."""
        return self.sets.weights(self.products(indices))

    def on(self, bases: WidthRows) -> Self:
        """Return the same family on other rows."""
        return type(self)(bases, self.degree, self.shapes, self.law, self.rho, self.names)

    def at(self, alpha: Array) -> WidthField:
        """Return the gradient over the family at a dual point of shape (n, c)."""
        return WidthField(self, alpha)

    def indices(self) -> NoReturn:
        """Raise: a continuum has no list."""
        raise NotImplementedError(
            "WidthFamily is a continuum of kernels, which cannot be listed. Use cell_family."
        )

    def pricer(self, row_weights: Array | None, bits: int, centred: bool) -> Pricer:
        """Raise: the best kernels of a continuum are looked for uphill."""
        raise NotImplementedError(
            "WidthFamily has no table of gradients: WidthSearch climbs to kernels of large ones."
        )

    def uniform(self, count: int, rng: np.random.Generator) -> tuple[list[Index], Array]:
        r"""Draw from :math:`\mu`; return kernels and their density relative to it."""
        sets, densities = self.sets.uniform(count, rng)
        shapes = rng.integers(len(self.shapes), size=count).tolist()
        drawn: list[Index] = []
        for columns, shape in zip(self.sets.products(sets), shapes, strict=True):
            widths = self.law.quantile(rng.random(len(columns))).tolist()
            drawn.append(self.index(self.shapes[shape], columns, tuple(widths)))
        return drawn, densities

    def index(self, shape: str, columns: Product, widths: tuple[float, ...]) -> WidthKernel:
        """Return the index of a kernel; the constant kernel has only one."""
        return (shape, columns, widths) if columns else (self.shapes[0], (), ())

    def gram(self, indices: Sequence[Any], theta: Array, other: Self | None = None) -> Array:
        r"""Return :math:`\sum_i \theta_i \rho_i^{-2} K_i`; O(n m d) for d columns each."""
        there = None if other is None else other.bases
        shape = self.bases.rows, (self.bases if there is None else there).rows
        out = filled(0.0, shape, self.bases.values)
        scales = (theta * self.weights(indices)).tolist()
        for index, scale in zip(indices, scales, strict=True):
            check()
            out += scale * self.bases.kernel(index, there)
        return out

    def closed(self, other: Self | None = None) -> Array:
        r"""Return :math:`\int \rho^{-2} K\,d\mu`, the optimum of p = 2; O(n m r D) a layer.

        It is :math:`\sum_d \rho_d^{-2} E_d(L_1, \dots, L_r)` with the mean kernels L of the
        columns, averaged over layers.
        """
        if other is None:
            out = self.pairs.matrix(self.totals.T @ self.shares)
        else:
            parts = (layer.share * layer.total_between(other.bases) for layer in self.layers)
            out = sum(parts, np.zeros((self.bases.rows, other.bases.rows)))
        return beside(out, self.bases.values)

    @cached_property
    def pairs(self) -> Pairs:
        """Distances of all pairs of rows."""
        return Pairs(self.bases)

    @cached_property
    def layers(self) -> list[Layer]:
        """The products of which the kernels of all shapes are made, kernels of a shape together."""
        mixtures = {shape: (np.ones(1), np.ones(1)) for shape in self.shapes}
        if "radial" in mixtures:
            mixtures["radial"] = radial_nodes()
        return [
            Layer(self.pairs, self.sets, self.law, shape, scale, weight / len(self.shapes))
            for shape, nodes in mixtures.items()
            for scale, weight in zip(*(part.tolist() for part in nodes), strict=True)
        ]

    @cached_property
    def shares(self) -> Array:
        """Probabilities of the layers."""
        return np.array([layer.share for layer in self.layers])

    @cached_property
    def totals(self) -> Array:
        """Sums of all kernels of each layer, over all pairs of rows."""
        return np.stack([layer.total() for layer in self.layers])

    @property
    def kept(self) -> bool:
        """Whether what draws need of all layers is kept."""
        matrices = len(self.layers) * (self.bases.count + self.degree + 1)
        return 8 * matrices * self.bases.rows**2 <= self.room


class WidthField(GradientField):
    """The gradient over a continuum of kernels at one dual point."""

    family: WidthFamily

    @cached_property
    def outer(self) -> Array:
        """Products of dual variables over all pairs of rows."""
        return self.family.pairs.outer(self.alpha)

    @cached_property
    def by_layer(self) -> Array:
        """Mass of each layer."""
        return nonnegative(self.family.totals @ self.outer) * self.family.shares

    @property
    def mass(self) -> float:
        r"""The integral of the gradient over :math:`\mu`."""
        return float(self.by_layer.sum())

    def draw(self, count: int, rng: np.random.Generator) -> Draw:
        r"""Draw with density g / C relative to :math:`\mu`: a layer, a set, then its widths."""
        drawn: Counter[Index] = Counter()
        layers, counts = choose(self.by_layer, count, rng)
        for number, repeats in zip(layers.tolist(), counts.tolist(), strict=True):
            layer = self.family.layers[number]
            for columns, widths in layer.draw(self.alpha, self.outer, repeats, rng):
                drawn[self.family.index(layer.shape, columns, widths)] += 1
            if not self.family.kept:
                layer.forget()
        indices = list(drawn)
        repeats = np.fromiter(drawn.values(), dtype=np.int64, count=len(indices))
        ratios = np.full(len(indices), self.mass)
        return Draw(indices, repeats, self.gradients(indices), ratios, np.inf)

    def gradients(self, indices: Sequence[Any]) -> Array:
        """Return the gradients of given kernels; O(n^2 d) each, for d columns."""
        rows, alpha = self.family.bases, self.alpha
        scores = [np.vdot(alpha, times(rows.kernel(index), alpha)) for index in indices]
        return nonnegative(np.array(scores)) * self.family.weights(indices)


def check_shapes(shapes: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return shapes of kernels as a tuple; raise where one is not known or stands there twice."""
    many = len(set(shapes)) == len(shapes) > 0 and not isinstance(shapes, str)
    if not (many and set(shapes) <= set(known)):
        raise ValueError(
            f"shapes must be some of {known}; got {shapes!r}. Use shapes={known[:1]} for one."
        )
    return tuple(shapes)
