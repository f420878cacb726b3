"""Weighted ridge systems over a kernel matrix or over features: the linear algebra of the dual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ..arrays import Array
from ..backend import (
    Cholesky,
    add_to_diagonal,
    beside,
    copied,
    namespace,
    take,
    times,
    to_host,
)
from ..deadline import check


class Ridge(NamedTuple):
    """A function plus a constant: the solution of a weighted ridge problem.

    Attributes
    ----------
    coefficients : ndarray of shape (size, c)
        The function in the system's coordinates.
    intercept : ndarray of shape (c,)
        The constant b.
    values : ndarray of shape (n, c)
        The function's values without the constant, as the equations say they are.
    pull : ndarray of shape (n, c), optional
        :math:`r_t - d_t f_t`: the strength times the dual variables.
    """

    coefficients: Array
    intercept: Array
    values: Array
    pull: Array = np.empty(0)

    @property
    def fitted(self) -> Array:
        """Values with the constant."""
        return self.values + self.intercept


@dataclass(frozen=True)
class GramSystem:
    """The n x n system; coefficients are dual variables. O(n^3) a solve.

    Parameters
    ----------
    gram : array of shape (n, n)
        The kernel matrix, of any library and on any device.
    """

    gram: Array

    def ridge(self, curvature: Array, linear: Array, strength: float, intercept: bool) -> Ridge:
        r"""Minimise :math:`\sum_t \frac12 d_t f_t^2 - r_t f_t + \frac\lambda2\|f\|^2` over f (+ b).

        Solves :math:`(K + \lambda D^{-1})\alpha + b = D^{-1} r` on the rows with d > 0. Elsewhere
        :math:`\alpha_t = r_t/\lambda`, so the factorisation shrinks to the rows that matter (the
        support vectors).

        Parameters
        ----------
        curvature : ndarray of shape (n,)
            :math:`d_t \ge 0`, not all zero if there is an intercept.
        linear : ndarray of shape (n, c)
            :math:`r_t`, one column for each output.
        strength : float
            :math:`\lambda`.
        intercept : bool
            Whether :math:`f_t` includes a free constant b.
        """
        live = live_rows(curvature)
        if not live.all():
            own = to_host(namespace(self.gram).linalg.diagonal(self.gram))
            live |= bending_rows(curvature, own, strength)
        if live.all():
            return dual_ridge(copied(self.gram), curvature, linear, strength, intercept)
        alpha = linear / strength
        dead = alpha[~live]
        inside, outside = np.flatnonzero(live), np.flatnonzero(~live)
        rows = take(self.gram, inside, axis=0)
        fixed = times(take(rows, outside, axis=1), dead)
        d = curvature[live]
        alpha[live], b, own, pull = dual_ridge(
            copied(take(rows, inside, axis=1)),
            d,
            linear[live] - d[:, None] * fixed,
            strength,
            intercept,
            dead.sum(axis=0),
        )
        values = np.empty_like(alpha)
        values[live] = own + fixed
        values[~live] = times(take(self.gram, outside, axis=0), alpha)
        pulls = linear.copy()  # no curvature, no change
        pulls[live] = pull
        return Ridge(alpha, b, values, pulls)

    def values(self, coefficients: Array) -> Array:
        """Return a function's values on the training rows, of shape (n, c)."""
        return times(self.gram, coefficients)

    def inner(self, left: Array, right: Array, right_values: Array) -> Array:
        """Return inner products of functions, one for each column: dual variables times values.

        Functions are given by their coefficients and, the second, also by its values.
        """
        return np.sum(left * right_values, axis=0)

    def matrix(self) -> Array:
        """Return the kernel matrix."""
        return self.gram

    def from_dual(self, alpha: Array) -> Array:
        r"""Return coefficients of :math:`\sum_t \alpha_t \kappa(x_t, \cdot)`: the same numbers."""
        return alpha


@dataclass(frozen=True)
class FeatureSystem:
    """The m x m system; coefficients are weights of m features. O(n m^2 + m^3) a solve.

    Parameters
    ----------
    features : array of shape (n, m)
        Features whose inner products are the kernel, of any library and on any device; m = 0 is
        the zero kernel.
    """

    features: Array

    def ridge(self, curvature: Array, linear: Array, strength: float, intercept: bool) -> Ridge:
        """Solve the normal equations, on features centred with the curvature as weights.

        When fewer rows than features have curvature, solve for their dual variables instead.
        """
        features, target = self.features, linear
        live = live_rows(curvature)
        if not live.all():
            own = to_host(namespace(features).sum(features**2, axis=1))
            live |= bending_rows(curvature, own, strength)
        if live.sum() < features.shape[1]:
            silent = take(features, np.flatnonzero(~live), axis=0)
            dead = times(silent.T, linear[~live] / strength)
            rows, d = take(features, np.flatnonzero(live), axis=0), curvature[live]
            alpha, b, _, _ = dual_ridge(
                rows @ rows.T,
                d,
                linear[live] - d[:, None] * times(rows, dead),
                strength,
                intercept,
                linear[~live].sum(axis=0) / strength,
            )
            w = times(rows.T, alpha) + dead
        else:
            b, centre = np.zeros(linear.shape[1]), np.zeros(features.shape[1])
            if intercept:
                total = curvature.sum()
                centre = times(features.T, curvature) / total
                features = features - beside(centre, features)
                b = linear.sum(axis=0) / total
                target = linear - np.outer(curvature, b)
            matrix = to_host(features.T @ (features * beside(curvature[:, None], features)))
            matrix = add_to_diagonal(matrix, strength)
            w = np.zeros((features.shape[1], linear.shape[1]))
            if len(matrix):
                w = factorise(matrix)[0].solve(times(features.T, target))
            b = b - centre @ w
        values = self.values(w)
        return Ridge(w, b, values, linear - curvature[:, None] * (values + b))

    def values(self, coefficients: Array) -> Array:
        """Return the function's values."""
        return times(self.features, coefficients)

    def inner(self, left: Array, right: Array, right_values: Array) -> Array:
        """Return inner products of weights."""
        return np.sum(left * right, axis=0)

    def matrix(self) -> Array:
        """Return the kernel matrix."""
        return self.features @ self.features.T

    def from_dual(self, alpha: Array) -> Array:
        """Return the weights of a dual point."""
        return times(self.features.T, alpha)


def live_rows(curvature: Array) -> Array:
    """Return which rows have a curvature that matters."""
    return curvature > 1e-12 * curvature.max(initial=0.0)


def bending_rows(curvature: Array, diagonal: Array, strength: float) -> Array:
    r"""Return which rows bend more than the penalty, however little they do beside the others.

    Without its curvature :math:`d_t` such a row would take the values :math:`r_t K_{tt}/\lambda`,
    beyond all targets by the factor :math:`d_t K_{tt}/\lambda`.
    """
    return curvature * diagonal > strength


def dual_ridge(
    gram: Array,
    curvature: Array,
    linear: Array,
    strength: float,
    intercept: bool,
    elsewhere: Array | float = 0.0,
) -> Ridge:
    r"""Solve :math:`(K + \lambda D^{-1})\alpha + b = D^{-1} r`; ``gram`` is overwritten.

    With an intercept the dual variables and ``elsewhere``, the sum of those of other rows, add
    up to zero. The values :math:`K\alpha` are returned as what the equation says they are: the
    product itself loses all digits when the ridge is tiny and :math:`\alpha` huge.
    """
    if not gram.shape[0]:
        nothing = np.zeros_like(linear)
        return Ridge(nothing, np.zeros(linear.shape[1]), nothing, nothing)
    target = linear / curvature[:, None]
    ridge = strength / curvature
    gram = add_to_diagonal(gram, ridge)
    # One amount for all rows: dual variables of small rows would explode under their own.
    factor, added = factorise(gram, even=True)
    alpha = factor.solve(target)
    b = np.zeros(linear.shape[1])
    if intercept:
        ones = factor.solve(np.ones(gram.shape[0]))
        b = (alpha.sum(axis=0) + elsewhere) / ones.sum()
        alpha = alpha - np.outer(ones, b)
    left = (ridge + added)[:, None] * alpha
    return Ridge(alpha, b, target - b - left, curvature[:, None] * left)


ADDED_SHARES = 10.0 ** np.arange(-12, 3)
"""Shares of its diagonal that are added to an indefinite matrix, one after the other. What rounding
leaves is far below a hundred times the largest entry; set by judgement."""


def factorise(matrix: Array, even: bool = False) -> tuple[Cholesky, Array | float]:
    """Return the Cholesky factor of a positive definite matrix, and what its diagonal was given.

    Where rounding has made the matrix indefinite (a ridge below 1e-16 of it), the diagonal grows
    by the smallest share of itself, or of its mean if ``even``, from 1e-12 up, that lets the
    factorisation through; the duality gap then shows what that cost. Where none does, since entries
    are next to nothing or below zero, all grow by a share of the largest.
    """
    try:
        return Cholesky(matrix), 0.0
    except LinAlgError as error:
        failed = error
    own = to_host(namespace(matrix).linalg.diagonal(matrix))
    largest = np.full(len(own), np.abs(own).max(initial=0.0))
    for amount in (np.full(len(own), own.mean()) if even else own, largest):
        for share in ADDED_SHARES:
            check()
            try:
                return Cholesky(add_to_diagonal(copied(matrix), share * amount)), share * amount
            except LinAlgError as error:
                failed = error
    raise failed
