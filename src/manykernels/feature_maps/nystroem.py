"""Gaussian kernels of one column or several, by their values at a few points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from ..arrays import Array
from ..deadline import check
from ..inputs import LARGEST_VALUE, LEAST_RANGE, is_number, shown
from ..limits import GAUSSIAN_FEATURES, GAUSSIAN_VALUES, PIVOT_ROWS
from .base import Centred, check_rank
from .scales import even_scale


@dataclass
class Nystroem(Centred):
    r"""Gaussian kernel of one column or several by features: its values at a few points.

    The kernel is :math:`\exp(-d^2 / (2 w^2))` with the width w and the root mean square d of two
    rows' differences in the columns. A single column is measured on a scale from 0 to 1 that it is
    spread over evenly; several are taken as they come, which is standardised in estimators.

    Parameters
    ----------
    rank : int or "auto", optional
        Number of features; by default 12 for a single column and ``"auto"`` for several.
        ``"auto"``: the smallest number that leaves out no more than ``tol`` of the kernel, 200 at
        most. An integer means evenly spread points for a single column. Otherwise points are drawn
        among the training rows by randomly pivoted Cholesky factorisation [1]_, up to twice as
        many as features, and the features are the directions in which the rows differ most.
    width : float, optional
        Width of the kernel; by default 0.2, as a share of the range, for a single column and 1 for
        several, which is the kernel ``"rbf"``.
    tol : float, default=1e-3
        Share of the trace of the centred kernel matrix that ``rank="auto"`` may leave out; of more
        than 8,000 training rows, that of a sample of 8,000. Rows unlike those lose more.

    References
    ----------
    .. [1] Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky: Practical approximation of
       a kernel matrix with few entry evaluations", 2022.
    """

    rank: int | Literal["auto"] | None = None
    width: float | None = None
    tol: float = 1e-3
    name: ClassVar[str] = "nystroem"

    def __post_init__(self) -> None:
        if self.rank is not None and not (isinstance(self.rank, str) and self.rank == "auto"):
            check_rank(self.rank, 1, ' or "auto"')
        width = self.width
        usable = is_number(width) and LEAST_RANGE < float(width or 0) < LARGEST_VALUE
        if width is not None and not usable:
            raise ValueError(
                f"width must be a positive number from {LEAST_RANGE:g} to {LARGEST_VALUE:g}; got "
                f"{shown(width)}. Use width=0.2."
            )
        if not (is_number(self.tol) and 0 < self.tol < 1):
            raise ValueError(
                f"tol must be a number between 0 and 1; got {shown(self.tol)}. Use tol=1e-3."
            )

    def _learn(self, x: Array, weights: Array) -> None:
        if x.ndim == 1:
            self.places, self.evenly = even_scale(x, weights)
            if self.rank != "auto":
                self.points = np.linspace(0, 1, self.rank or 12)
                self.axes = _inverse_root(self._kernel(self.points, self.points))
                return
        if self.rank is None or self.rank == "auto":
            most, tol = GAUSSIAN_FEATURES, self.tol
        else:
            most, tol = self.rank, 0.0
        rows, shares = _sample(x, weights)
        inside = self._inside(rows)
        self.points = inside[self._pivots(inside, shares, 2 * most, tol / 2)]
        axes = _inverse_root(self._kernel(self.points, self.points))
        features = self._kernel(inside, self.points) @ axes
        self.axes = axes @ _directions(features, shares, most, tol)

    def _pivots(self, rows: Array, weights: Array, most: int, tol: float) -> list[int]:
        """Draw rows, each by what those before it leave out, until that is a small share."""
        rng = np.random.default_rng(0)  # a map of the same rows is the same
        factor = np.empty((len(rows), most))
        left = np.ones(len(rows))
        pivots: list[int] = []
        kept = 0.0
        for count in range(most):
            check()
            reached = np.cumsum(weights * left)
            if reached[-1] <= max(tol * kept, 1e-10):
                break
            pivot = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
            values = self._kernel(rows, rows[pivot : pivot + 1])[:, 0]
            column = (values - factor[:, :count] @ factor[pivot, :count]) / np.sqrt(left[pivot])
            factor[:, count] = column
            left = np.maximum(left - column**2, 0.0)
            left[pivot] = 0.0
            pivots.append(pivot)
            kept += weights @ column**2 - (weights @ column) ** 2
        return pivots

    def _kernel(self, inside: Array, points: Array) -> Array:
        width = self.width or (0.2 if points.ndim == 1 else 1.0)
        inside, points = inside.reshape(len(inside), -1), points.reshape(len(points), -1)
        return np.asarray(rbf_kernel(inside, points, gamma=0.5 / width**2 / points.shape[1]))

    def _inside(self, x: Array) -> Array:
        return np.interp(x, self.places, self.evenly) if x.ndim == 1 else x

    def _raw(self, x: Array) -> Array:
        out = np.empty((len(x), self.axes.shape[1]))
        step = max(1, GAUSSIAN_VALUES // len(self.points))
        for start in range(0, len(x), step):
            check()
            inside = self._inside(x[start : start + step])
            out[start : start + step] = self._kernel(inside, self.points) @ self.axes
        return out


def _sample(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct rows and their weights, of a sample by weight if there are many."""
    if len(x) > PIVOT_ROWS:
        reached = np.cumsum(weights)
        shares = (np.arange(PIVOT_ROWS) + np.random.default_rng(0).random(PIVOT_ROWS)) / PIVOT_ROWS
        chosen = np.searchsorted(reached, shares * reached[-1], side="right")
        x, weights = x[chosen], np.full(PIVOT_ROWS, 1 / PIVOT_ROWS)
    rows, inverse = np.unique(x, axis=0, return_inverse=True)
    return rows, np.bincount(inverse.ravel(), weights)


def _inverse_root(gram: Array) -> Array:
    values, axes = np.linalg.eigh(gram)
    keep = values > 1e-8 * values[-1]
    return np.asarray(axes[:, keep] / np.sqrt(values[keep]))


def _directions(features: Array, weights: Array, most: int, tol: float) -> Array:
    """Return the few directions of features that leave out a share of the kernel's trace.

    What the features themselves leave out of a kernel whose diagonal is one counts too.
    """
    centred = np.sqrt(weights)[:, None] * (features - weights @ features)
    values, axes = np.linalg.eigh(centred.T @ centred)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    kept = np.cumsum(values)
    left = max(0.0, 1 - float(weights @ np.sum(features**2, axis=1)))
    needed = int(np.searchsorted(kept, (1 - tol) * kept[-1] + left)) + 1
    known = int(np.sum(values > 1e-10 * values[0]))
    return np.asarray(axes[:, : min(needed, most, known)])
