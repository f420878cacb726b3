"""A function of kernels with widths: its values on new rows, and its kernels as products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...backend import on_host, times, to_host
from ...bases import WidthKernel, WidthRows
from ...families.widths import ROUGH_MIXTURE, radial_nodes
from ...limits import DEVICE_BLOCK_BYTES

if TYPE_CHECKING:
    from .spline_part import SplinePart

HEIGHT, WIDTH = 1_024, 4_096
"""New rows and training rows in one block of kernel values on the host: 32 MB. The fastest of four
sizes tried on 32,000 rows of 8 columns."""


@dataclass(frozen=True)
class ProductKernel:
    r"""A weight times :math:`\prod_{j \in S} e^{-s_j t_j^q}`, with q = 1 (Laplace) or 2 (Gaussian).

    Attributes
    ----------
    weight : float
        The weight.
    power : int
        The exponent q.
    columns : tuple of int
        The set S.
    widths : tuple of float
        The widths s of its columns.
    """

    weight: float
    power: int
    columns: tuple[int, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True)
class WidthModel:
    r"""A function :math:`f(x) = b + \sum_k \theta_k \sum_i \alpha_i \kappa_k(x_i, x)`.

    Attributes
    ----------
    kernels : sequence of WidthKernel
        Shape, columns and widths of each kernel.
    theta : ndarray of shape (K,)
        Weights of the kernels.
    alpha : ndarray of shape (n, c)
        Coefficients of the training rows.
    intercept : ndarray of shape (c,)
        Constants b.
    rows : WidthRows
        The training rows.
    terms : SplinePart, optional
        Spline terms, which are added.
    """

    kernels: Sequence[WidthKernel]
    theta: Array
    alpha: Array
    intercept: Array
    rows: WidthRows
    terms: SplinePart | None = None

    def decision(self, new: WidthRows) -> Array:
        """Return the function on new rows, of shape (n_new, c).

        O(n_new n) for each column of each kernel; a block of kernel values is held at a time, where
        the training rows are.
        """
        height, width = HEIGHT, WIDTH
        if not on_host(self.rows.values):
            height = width = int(np.sqrt(DEVICE_BLOCK_BYTES / 8))
        out = np.zeros((new.rows, self.alpha.shape[1])) + self.intercept
        points = new.next_to(self.rows)
        for first in range(0, self.rows.rows, width):
            alpha = self.alpha[first : first + width]
            there = _slice(self.rows, first, first + width)
            for start in range(0, new.rows, height):
                here = _slice(points, start, start + height)
                for kernel, theta in zip(self.kernels, self.theta.tolist(), strict=True):
                    if theta:
                        values = here.kernel(kernel, there)
                        out[start : start + height] += times(values, theta * alpha)
        return out if self.terms is None else out + self.terms.decision(new)

    @cached_property
    def products(self) -> list[ProductKernel]:
        r"""The kernels of positive weight as products of kernels of one column.

        A radial kernel is :math:`\int e^{-1/(4\tau)} (4 \pi \tau^3)^{-1/2} \prod_j
        e^{-\tau s_j t_j^2} d\tau`; of one column it is a Laplace kernel of width
        :math:`\sqrt{s}`.
        """
        found = []
        tau, mixture = radial_nodes(ROUGH_MIXTURE)
        for (shape, columns, widths), theta in zip(self.kernels, self.theta.tolist(), strict=True):
            if not theta:
                continue
            if shape == "radial" and len(columns) == 1:
                found.append(ProductKernel(theta, 1, columns, (float(np.sqrt(widths[0])),)))
            elif shape == "radial" and columns:
                for weight, factor in zip(mixture.tolist(), tau.tolist(), strict=True):
                    narrow = tuple(factor * s for s in widths)
                    found.append(ProductKernel(theta * weight, 2, columns, narrow))
            else:
                power = 1 if shape == "laplace" else 2
                found.append(ProductKernel(theta, power, columns, tuple(widths)))
        return found

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Columns that some kernel of positive weight, or some term, sees, ascending."""
        return tuple(sorted({j for u in self.sets for j in u}))

    @property
    def sets(self) -> list[set[int]]:
        """The columns of each product of kernels, and of each term."""
        terms = [] if self.terms is None else self.terms.sets
        return [*(set(product.columns) for product in self.products), *map(set, terms)]

    def weight_with(self, columns: Sequence[int]) -> float:
        """Return the sum of the weights of the kernels that see all of some columns."""
        own = [set(columns) <= set(kernel[1]) for kernel in self.kernels]
        weight = float(self.theta[own].sum()) if own else 0.0
        if self.terms is not None and any(set(columns) <= set(u) for u in self.terms.sets):
            weight += self.terms.weight
        return weight

    @cached_property
    def values(self) -> Array:
        """The columns of the training rows, on the host."""
        return to_host(self.rows.values)


def _slice(rows: WidthRows, start: int, stop: int) -> WidthRows:
    return WidthRows(rows.values[start : min(stop, rows.rows), :], rows.categories)
