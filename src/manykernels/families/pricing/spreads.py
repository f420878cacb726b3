"""How much the features of kernels vary over the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array
from ...backend import beside, dense, namespace, scale_columns, times
from ...bases import FeatureBlocks
from ...limits import PART_ENTRIES
from .tables import Piece, Tables

ROUGHEST_SPREAD = 0.02
"""Least spread, as a share of the mean square, that spreads made anew on a device are taken for:
less is not told from it in bfloat16, whose numbers are good to 0.4 %. Set by judgement, not
measured."""

UNIT_SIZE = 1e-6
"""How far from one the size of a kernel may be to count as one: sizes are made one to keep numbers
in range. Set by judgement, not measured."""


class Spreads:
    """One over the spreads of products, kept between calls where they fit in memory.

    Parameters
    ----------
    tables : Tables
        Inner products of features.
    row_weights : ndarray of shape (n,)
        Weights of the rows, adding up to one.
    centred : bool
        Whether spreads are around the mean, or else around zero.
    least : float, optional
        Share of the mean square that a spread must have; see :func:`inverse`.
    """

    def __init__(
        self, tables: Tables, row_weights: Array, centred: bool, least: float | None = None
    ) -> None:
        self.tables, self.centred, self.least = tables, centred, least
        self.precision = tables.layout.precision
        near = beside(row_weights, self.precision.place, self.precision.products)
        self.row_weights = near[:, None]
        self._kept: dict[tuple[int, int], Any] = {}

    def inverse_of_piece(self, number: int, piece: Piece) -> Any:
        """Return one over the spreads of a piece, the ``number``-th of its degree."""
        key = (piece.degree, number)
        if key in self._kept:
            return self._kept[key]
        make = partial(self.tables.of_piece, piece)
        if self.precision.rough is not None:
            # To find the best rows a few digits are enough; these are made again in full.
            return rough_inverse(*self._moments(partial(make, kind=self.precision.rough)))
        found = inverse(*self._moments(make), self.least)
        if self.precision.kept is not None:
            self._kept[key] = namespace(found).astype(found, self.precision.kept, copy=False)
        return found

    def inverse_of_rows(self, degree: int, begins: Array, kernels: Array) -> Any:
        """Return one over the spreads of some rows of tables."""
        make = partial(self.tables.of_rows, degree, begins, kernels)
        return inverse(*self._moments(make), self.least)

    def _moments(self, make: Callable[..., Any]) -> tuple[Any, Any]:
        """Return mean squares and squared means from what makes tables of vectors."""
        squares = make(self.row_weights, squared=True)
        means = make(self.row_weights, squared=False) if self.centred else 0.0 * squares
        return squares, means


def inverse(squares: Any, means: Any, least: float | None = None) -> Any:
    """Return one over the spread, zero where it is too small a share of the mean square.

    By default where rounding leaves nothing of it.
    """
    xp = namespace(squares)
    spread = squares - means
    share = 64 * xp.finfo(squares.dtype).eps if least is None else least
    known = spread > share * squares
    return xp.where(known, 1 / xp.where(known, spread, 1.0), 0.0)


def rough_inverse(squares: Any, means: Any) -> Any:
    """Return about one over the spread, and less than that for features that hardly vary."""
    xp = namespace(squares)
    spread = xp.maximum(squares - means, ROUGHEST_SPREAD * squares)
    return 1 / (spread + xp.finfo(xp.float32).smallest_normal)


def unit_size(bases: FeatureBlocks, row_weights: Array) -> FeatureBlocks:
    """Return the same kernels, each divided by the mean of its diagonal.

    Those of standardised columns are of unit size already, and are not copied.
    """
    width, squares = bases.features.shape[1], np.empty(bases.features.shape[1])
    step = max(1, PART_ENTRIES // max(1, bases.rows))
    for start in range(0, width, step):
        some = slice(start, min(start + step, width))
        squares[some] = times((dense(bases.features[:, some]) ** 2).T, row_weights)
    sizes = np.add.reduceat(squares, bases.offsets[:-1])
    roots = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    factors = 1 / np.repeat(roots, bases.sizes)
    if np.allclose(factors, 1.0, rtol=0.0, atol=UNIT_SIZE):
        return bases
    return FeatureBlocks(scale_columns(bases.features, factors), bases.sizes)
