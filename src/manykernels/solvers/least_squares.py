"""Unpenalised risk over a growing set of columns: what greedy selection and debiasing solve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..arrays import Array
from ..dual import DualSolution, FeatureSystem, solve
from ..losses import Logistic, Squared
from ..objective import Problem
from .base import refuse_kinks

DEPENDENT = 1e-7
"""Share of a column's length that must lie outside the span of the others; with less it adds
nothing. About the root of the rounding error of a number; set by judgement, not measured."""

RIDGE = 1e-8
"""Ridge next to the mean loss, as a share of the mean square of the columns, that keeps the
coefficients finite. Set by judgement, not measured."""

APART_RIDGE = 3e-5
"""Ridge, as that share, where columns separate the classes. Coefficients are then as large as it
lets them be, and with next to none a single other row on the wrong side costs more than all the
rest. Mean log loss of greedy selection on other rows of ten tables of 60 to 400 rows, four draws
each: .27 with 1e-8, .22 with 1e-5, .20 with 3e-5 and with 1e-4. One of them is worse for it, 400
rows on two sides of a plane without noise: .006, .016, .022 and .033."""


def fit_of(problem: Problem) -> UnpenalisedFit:
    """Return the minimiser of the risk over no columns (but a constant), to which some are added.

    It tells what is left to explain (``pull``, ``scale``) and about how much of that groups of
    candidate columns would explain (``gains``, of candidates that ``prepare`` was given and that
    ``update`` changes after an addition); ``add`` fits anew with more columns, and tells whether
    they add anything: else nothing is done.
    """
    return Projection(problem) if isinstance(problem.loss, Squared) else Refit(problem)


class Projection:
    """Least squares by orthogonalisation: O(n m) for a new column, accurate to rounding."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.root = np.sqrt(problem.weights)[:, None]
        self.residual = self.root * problem.y
        self.basis = np.empty((len(self.root), 16), order="F")
        self.triangle = np.zeros((16, 16))
        self.used: list[int] = []  # columns behind the basis vectors; -1 is the constant
        self.width = 0
        self.fresh = self.basis[:, :0]
        self.products = np.zeros((16, problem.y.shape[1]))
        if problem.intercept:
            self._extend(self.root, [-1])

    @property
    def size(self) -> int:
        """Number of basis vectors."""
        return len(self.used)

    @property
    def scale(self) -> float:
        """Weighted sum of squares of the residual."""
        return float(np.sum(self.residual**2))

    def pull(self) -> Array:
        """Return the weighted residual."""
        return self.root * self.residual

    def prepare(self, columns: Array) -> Array:
        """Return the part of columns of unit length outside the span, weighted."""
        weighted = self.root * columns
        lengths = np.linalg.norm(weighted, axis=0)
        return self._outside(weighted / np.where(lengths > 0, lengths, 1.0))[0]

    def update(self, prepared: Array) -> Array:
        """Take the last columns added out of candidates."""
        return prepared - self.fresh @ (self.fresh.T @ prepared)

    def gains(self, prepared: Array, starts: Array) -> Array:
        """Return how much the sum of squares would fall, exactly."""
        products = prepared.T @ self.residual
        if len(starts) == prepared.shape[1]:
            lengths = np.einsum("ij,ij->j", prepared, prepared)
            energy = np.sum(products**2, axis=1)
            # A candidate that is nearly in the span would be all rounding.
            return np.divide(
                energy, lengths, out=np.zeros_like(energy), where=lengths > DEPENDENT**2
            )
        out = np.empty(len(starts))
        for i, (start, stop) in enumerate(
            zip(starts.tolist(), [*starts[1:].tolist(), prepared.shape[1]], strict=True)
        ):
            block = prepared[:, start:stop]
            lengths, axes = np.linalg.eigh(block.T @ block)
            free = lengths > DEPENDENT**2
            energy = np.sum((axes[:, free].T @ products[start:stop]) ** 2, axis=1)
            out[i] = np.sum(energy / lengths[free])
        return out

    def add(self, columns: Array) -> bool:
        """Add columns to the basis."""
        before = self.size
        self._extend(self.root * columns, range(self.width, self.width + columns.shape[1]))
        if self.size == before:
            return False
        self.width += columns.shape[1]
        return True

    def _outside(self, columns: Array) -> tuple[Array, Array]:
        """Return what the basis does not explain, and the coefficients of what it does."""
        basis = self.basis[:, : self.size]
        coefficients = basis.T @ columns
        rest = columns - basis @ coefficients
        # Twice is enough: once leaves the rounding of the first subtraction.
        again = basis.T @ rest
        return rest - basis @ again, coefficients + again

    def _extend(self, weighted: Array, numbers: Sequence[int]) -> None:
        rest, inside = self._outside(weighted)
        vectors, upper, order = qr(rest, mode="economic", pivoting=True)
        lengths = np.linalg.norm(weighted, axis=0)[order[: len(upper)]]
        free = int(np.count_nonzero(np.abs(upper.diagonal()) > DEPENDENT * lengths))
        # Pivoting puts the columns that add something first.
        kept, old, new = order[:free], self.size, self.size + free
        self._reserve(new)
        self.basis[:, old:new] = vectors[:, :free]
        self.triangle[:old, old:new] = inside[:, kept]
        self.triangle[old:new, old:new] = upper[:free, :free]
        self.used.extend(numbers[i] for i in kept.tolist())
        self.fresh = self.basis[:, old:new]
        self.products[old:new] = self.fresh.T @ self.residual
        self.residual = self.residual - self.fresh @ self.products[old:new]

    def _reserve(self, size: int) -> None:
        if size <= self.basis.shape[1]:
            return
        room = 2 * size
        basis = np.empty((len(self.basis), room), order="F")
        basis[:, : self.size] = self.basis[:, : self.size]
        triangle, products = np.zeros((room, room)), np.zeros((room, self.products.shape[1]))
        triangle[: self.size, : self.size] = self.triangle[: self.size, : self.size]
        products[: self.size] = self.products[: self.size]
        self.basis, self.triangle, self.products = basis, triangle, products

    def solution(self) -> DualSolution:
        """Return the predictor."""
        size, problem = self.size, self.problem
        outputs = problem.y.shape[1]
        weights = solve_triangular(
            self.triangle[:size, :size], self.products[:size], check_finite=False
        )
        used = np.array(self.used, dtype=int)
        coefficients = np.zeros((self.width, outputs))
        coefficients[used[used >= 0]] = weights[used >= 0]
        intercept = weights[used < 0].sum(axis=0) if problem.intercept else np.zeros(outputs)
        fitted = problem.y - self.residual / self.root
        alpha = problem.dual_point(problem.loss.gradient(problem.y, fitted))
        risk = problem.risk(fitted)
        return DualSolution(alpha, coefficients, True, intercept, fitted, risk)


class Refit:
    """Newton's method from the last fit, with a ridge that matters for separable classes alone.

    Where columns separate the classes there is no finite minimiser of the logistic risk.
    """

    def __init__(self, problem: Problem) -> None:
        refuse_kinks(problem.loss, "where nothing is penalised")
        self.problem = problem
        self.columns = np.empty((len(problem.y), 0))
        self.last: DualSolution | None = None
        self.apart = False
        self._solve()

    @property
    def scale(self) -> float:
        """Weighted sum of squares of the slopes."""
        return float(np.sum(self.pull() ** 2 / self.problem.weights[:, None]))

    def pull(self) -> Array:
        """Return the weighted slopes."""
        problem = self.problem
        assert self.last is not None
        slopes = problem.loss.gradient(problem.y, self.last.fitted)
        return -problem.weights[:, None] * slopes

    def prepare(self, columns: Array) -> Array:
        """Return the columns, centred if there is an intercept."""
        return columns - self.problem.weights @ columns if self.problem.intercept else columns

    def update(self, prepared: Array) -> Array:
        """Return the candidates as they are."""
        return prepared

    def gains(self, prepared: Array, starts: Array) -> Array:
        """Return squared slopes along the candidates of unit length."""
        energy = np.sum((prepared.T @ self.pull()) ** 2, axis=1)
        lengths = self.problem.weights @ prepared**2
        energy, lengths = np.add.reduceat(energy, starts), np.add.reduceat(lengths, starts)
        return np.divide(energy, lengths, out=np.zeros_like(energy), where=lengths > 0)

    def add(self, columns: Array) -> bool:
        """Add columns and fit anew."""
        self.columns = np.hstack([self.columns, columns])
        self._solve()
        return True

    def _solve(self) -> None:
        if not self.apart:  # more columns keep apart what some do
            self.last = self._with(RIDGE)
            margins = self.problem.y * self.last.fitted
            alone = np.all(margins > 0, axis=0) & (np.ptp(self.problem.y, axis=0) > 0)
            self.apart = isinstance(self.problem.loss, Logistic) and bool(np.any(alone))
        if self.apart:
            self.last = self._with(APART_RIDGE)

    def _with(self, share: float) -> DualSolution:
        """Return the fit with a ridge, as a share of the mean square of the columns."""
        sizes = self.problem.weights @ self.columns**2
        ridge = share * (float(sizes.mean()) if len(sizes) else 1.0)
        nearly = replace(self.problem, strength=max(ridge, np.finfo(float).tiny))
        return solve(nearly, FeatureSystem(self.columns), self.last)

    def solution(self) -> DualSolution:
        """Return the predictor."""
        assert self.last is not None
        problem, fitted = self.problem, self.last.fitted
        alpha = problem.dual_point(problem.loss.gradient(problem.y, fitted))
        return replace(self.last, alpha=alpha, objective=problem.risk(fitted))


UnpenalisedFit = Projection | Refit
