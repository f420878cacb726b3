"""One Newton step for groups of several coefficients, as a problem in the groups' lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, block_diag

from ...arrays import Array
from ...deadline import check
from ...dual.systems import factorise

PIVOT_ROUNDS = 60
"""Most exchanges of sets of lengths between zero and not zero. Set by judgement: where there were
more lengths than rows, 200 did not end, either."""

PATIENT_EXCHANGES = 3
"""Exchanges that may leave as many lengths on the wrong side as before, until one length at a time
is moved, which always ends (Portugal, Judice, Vicente 1994), if not within PIVOT_ROUNDS."""

JITTERS = (1e-10, 1e-6, 1e-4, 1e-2, 1.0)
"""What is added to the diagonal of a problem in steps of lengths, as a share of it, so that kernels
that are the same on all rows do not make it singular: the first that exchanges end with. It
shortens steps; it does not move the optimum, at which the step is zero. With 146 kernels on 90 rows
1e-2 was needed for one step of seven, 1e-10 for the others."""


def minimum_in_lengths(
    matrices: Sequence[Array],
    right: Array,
    directions: Array,
    owners: Array,
    present: Array,
    weights: Array,
    strength: float,
) -> tuple[Array, Array]:
    r"""Return the step to the minimum of the quadratic model of p = 1, and the lengths there.

    A group's coefficients are :math:`w_i = a_i u_i + t_i`, :math:`a_i \ge 0` its length along its
    present direction and :math:`t_i \perp u_i`. To second order the penalty is

    .. math:: \frac\lambda2 \Big(\sum_i a_i\Big)^2
              + \frac\lambda2 \sum_i \frac{\|t_i\|^2}{\theta_i}.

    In coordinates of which the first of each group lies along its direction (a reflection for each
    group) the best t for given lengths is one linear system, and what is left is a problem in the
    lengths alone: the Schur complement of G + :math:`\lambda\,\mathrm{diag}(1/\theta)` in the
    coordinates across, plus :math:`\lambda 1 1^\top`. One factorisation, however many lengths end
    at zero: O(m^3 + m^2 k) for m coefficients, outputs counted, of k groups. All is done in steps
    from the present coefficients, so that rounding is a share of the step and not of them.

    Parameters
    ----------
    matrices : sequence of c arrays of shape (m, m)
        Second derivative G of the risk, for each output.
    right : ndarray of shape (m, c)
        Of a step d the model is :math:`\frac12\langle d, Gd\rangle - \langle b, d\rangle`; this
        is b, the slope of the risk downwards.
    directions : ndarray of shape (m, c)
        The groups' present directions, each of length one.
    owners : ndarray of int of shape (m,)
        The group of each coefficient.
    present : ndarray of shape (k,)
        The groups' present lengths; zero for those that enter.
    weights : ndarray of shape (k,)
        :math:`\theta_i > 0`, present lengths as shares of their sum; a little for those of zero.
    strength : float
        :math:`\lambda`.
    """
    size, outputs = directions.shape
    order = np.argsort(np.tile(owners, outputs), kind="stable")
    own = np.tile(owners, outputs)[order]
    mirrors = Mirrors(directions.T.ravel()[order], own)
    whole = mirrors.both(block_diag(*matrices)[np.ix_(order, order)])
    linear = mirrors(right.T.reshape(-1, 1)[order])[:, 0]
    along, across = mirrors.first, np.setdiff1d(np.arange(size * outputs), mirrors.first)
    stiff = whole[np.ix_(across, across)]
    stiff[np.diag_indices_from(stiff)] += strength / weights[own[across]]
    mixed = whole[np.ix_(across, along)]
    factor, _ = factorise(stiff)
    half = factor.half_solve(np.column_stack([mixed, linear[across]]))
    rest, pull = half[:, :-1], half[:, -1]
    reduced = whole[np.ix_(along, along)] - rest.T @ rest
    reduced = np.outer(mirrors.signs, mirrors.signs) * (reduced + reduced.T) / 2 + strength
    down = mirrors.signs * (linear[along] - rest.T @ pull) - strength * present.sum()
    change = nonnegative_minimum(reduced, down, present)
    step = np.empty(size * outputs)
    step[along] = mirrors.signs * change
    step[across] = factor.solve(linear[across] - mixed @ step[along])
    found = np.empty(size * outputs)
    found[order] = mirrors(step[:, None])[:, 0]
    return found.reshape(outputs, size).T, present + change


class Mirrors:
    """Reflections, one for each group, that turn its direction onto its first coordinate.

    Parameters
    ----------
    directions : ndarray of shape (m,)
        Directions of length one.
    owners : ndarray of int of shape (m,)
        Their groups, ascending.

    Attributes
    ----------
    first : ndarray of int
        The first coordinate of each group.
    signs : ndarray
        The sign that a direction ends up with there.
    """

    def __init__(self, directions: Array, owners: Array) -> None:
        self.owners = owners
        self.first = np.flatnonzero(np.diff(owners, prepend=-1))
        self.signs = -np.where(directions[self.first] < 0, -1.0, 1.0)
        self.normals = directions.copy()
        self.normals[self.first] -= self.signs
        self.factors = 2 / np.add.reduceat(self.normals**2, self.first)

    def __call__(self, values: Array) -> Array:
        """Reflect the rows of a matrix."""
        inner = np.add.reduceat(self.normals[:, None] * values, self.first, axis=0)
        return values - self.normals[:, None] * (self.factors[:, None] * inner)[self.owners]

    def both(self, matrix: Array) -> Array:
        """Reflect the rows and the columns of a symmetric matrix."""
        return self(self(matrix).T)


def nonnegative_minimum(matrix: Array, right: Array, start: Array) -> Array:
    """Return a step towards the minimum of a quadratic over points that are not negative.

    To the minimum itself, unless there are more lengths than rows can tell apart: then exchanges
    may go round in circles, and with more and more on the diagonal, which shortens the step, they
    end. ``right`` is minus the gradient at the start, of coordinates that are not negative. Where
    rounding has left no quadratic with a minimum, there is no step.
    """
    size = np.abs(np.diag(matrix))
    for jitter in JITTERS:
        shift = jitter * np.maximum(size, size.max(initial=0.0) * JITTERS[0])
        step = pivoted_minimum(matrix + np.diag(shift), right, start)
        if step is not None:
            return step
    return np.zeros(len(right))


def pivoted_minimum(matrix: Array, right: Array, start: Array) -> Array | None:
    """Return the step to the minimum by block principal pivoting; None where it does not end.

    Coordinates below zero become zero, those of zero that would lower the quadratic become free,
    all at once; O(k^3) for each exchange, of which there are some five.
    """
    free = np.ones(len(right), dtype=bool)
    least, patience = len(right) + 1, PATIENT_EXCHANGES
    least_slope = -JITTERS[0] * np.abs(right).max(initial=0.0)
    for _ in range(PIVOT_ROUNDS):
        check()
        step = -start
        if free.any():
            try:
                factor, _ = factorise(matrix[np.ix_(free, free)])
            except LinAlgError:
                return None
            step[free] = factor.solve(right[free] - matrix[np.ix_(free, ~free)] @ step[~free])
        slope = matrix @ step - right
        wrong = np.where(free, start + step < 0, slope < least_slope)
        number = int(np.count_nonzero(wrong))
        if not number:
            return np.maximum(step, -start)
        patience = PATIENT_EXCHANGES if number < least else patience - 1
        least = min(least, number)
        if patience >= 0:
            free = free ^ wrong
        else:
            last = int(np.flatnonzero(wrong)[-1])
            free[last] = not free[last]
    return None
