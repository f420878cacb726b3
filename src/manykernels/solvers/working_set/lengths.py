"""One Newton step for groups of several coefficients, as a problem in the groups' lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import LinAlgError

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

Lengths = tuple[Array, Array, Callable[[Array], Array]]
"""A quadratic in changes of lengths, its matrix and its slope downwards, and what makes the step of
all coefficients from such changes."""


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

    For given lengths the best t solve linear systems, and what is left is a problem in the lengths
    alone, with a matrix that :func:`reflected` finds for one output and :func:`by_output` for
    several, plus :math:`\lambda 1 1^\top`. One factorisation for each output, however many lengths
    end at zero: O(c (m^3 + m^2 k) + k^3) for m columns, c outputs and k groups. All is done in
    steps from the present coefficients, so that rounding is a share of the step and not of them.

    Parameters
    ----------
    matrices : sequence of c arrays of shape (m, m)
        Second derivative G of the risk, for each output.
    right : ndarray of shape (m, c)
        Of a step d the model is :math:`\frac12\langle d, Gd\rangle - \langle r, d\rangle`; this
        is r, the slope of the risk downwards.
    directions : ndarray of shape (m, c)
        The groups' present directions, each of length one.
    owners : ndarray of int of shape (m,)
        The group of each column.
    present : ndarray of shape (k,)
        The groups' present lengths; zero for those that enter.
    weights : ndarray of shape (k,)
        :math:`\theta_i > 0`, present lengths as shares of their sum; a little for those of zero.
    strength : float
        :math:`\lambda`.
    """
    eliminate = reflected if len(matrices) == 1 else by_output
    reduced, down, complete = eliminate(matrices, right, directions, owners, strength / weights)
    change = nonnegative_minimum(reduced + strength, down - strength * present.sum(), present)
    return complete(change), present + change


def reflected(
    matrices: Sequence[Array], right: Array, directions: Array, owners: Array, springs: Array
) -> Lengths:
    r"""Return the problem in the lengths of groups of one output.

    In coordinates of which the first of each group lies along its direction (a reflection for each
    group) it is the Schur complement of :math:`G + \lambda\,\mathrm{diag}(1/\theta)` in the others:
    exact to rounding, however small :math:`\lambda` is beside G. ``springs`` are
    :math:`\lambda/\theta`.
    """
    order = np.argsort(owners, kind="stable")
    own = owners[order]
    mirrors = Mirrors(directions[order, 0], own)
    whole = mirrors.both(matrices[0][np.ix_(order, order)])
    linear = mirrors(right[order])[:, 0]
    along, across = mirrors.first, np.setdiff1d(np.arange(len(own)), mirrors.first)
    stiff = whole[np.ix_(across, across)]
    stiff[np.diag_indices_from(stiff)] += springs[own[across]]
    mixed = whole[np.ix_(across, along)]
    factor, _ = factorise(stiff)
    half = factor.half_solve(np.column_stack([mixed, linear[across]]))
    rest, pull = half[:, :-1], half[:, -1]
    reduced = whole[np.ix_(along, along)] - rest.T @ rest
    reduced = np.outer(mirrors.signs, mirrors.signs) * (reduced + reduced.T) / 2

    def complete(change: Array) -> Array:
        step = np.empty(len(own))
        step[along] = mirrors.signs * change
        step[across] = factor.solve(linear[across] - mixed @ step[along])
        found = np.empty((len(own), 1))
        found[order] = mirrors(step[:, None])
        return found

    return reduced, mirrors.signs * (linear[along] - rest.T @ pull), complete


def by_output(
    matrices: Sequence[Array], right: Array, directions: Array, owners: Array, springs: Array
) -> Lengths:
    r"""Return the problem in the lengths of groups of several outputs.

    A group's direction runs through all outputs, so that reflections would make one matrix of all
    of them. With :math:`\Lambda = \lambda\,\mathrm{diag}(1/\theta)` and :math:`H = G + \Lambda`,
    which outputs share nothing of, the best step d of given changes b of the lengths,
    :math:`U^\top d = b`, is :math:`H^{-1}(r + U S^{-1}(b - q))`, :math:`S = U^\top H^{-1} U`,
    :math:`q = U^\top H^{-1} r`. The matrix of the lengths is :math:`S^{-1} - \Lambda`, which is
    :math:`S^{-1}\Lambda^{-1} Q`, :math:`Q = U^\top G H^{-1} \Lambda U`, without a difference of
    large numbers. Where :math:`\lambda` is tiny beside G, rounding in S costs more steps (four
    times the time at a strength of 1e-9 if used for one output).
    """
    groups = len(springs)
    inverse, bent = np.zeros((2, groups, groups))  # S and Q Lambda^{-1}
    free = np.zeros(groups)  # q: changes of the lengths of the best step of all
    steps = []
    for matrix, axis, slope in zip(matrices, directions.T, right.T, strict=True):
        towards = np.zeros((len(owners), groups))
        towards[np.arange(len(owners)), owners] = axis
        factor, _ = factorise(matrix + np.diag(springs[owners]))
        solved = factor.solve(np.column_stack([towards, slope]))
        inverse += towards.T @ solved[:, :-1]
        bent += towards.T @ (matrix @ solved[:, :-1])
        free += towards.T @ solved[:, -1]
        steps.append(solved)
    root = np.sqrt(springs)  # on this scale S and Q add up to one
    factor, _ = factorise(root[:, None] * (inverse + inverse.T) / 2 * root)
    reduced = root[:, None] * factor.solve(bent * root / root[:, None]) * root

    def complete(change: Array) -> Array:
        pull = root * factor.solve(root * (change - free))
        return np.stack([solved[:, -1] + solved[:, :-1] @ pull for solved in steps], axis=1)

    return (reduced + reduced.T) / 2, root * factor.solve(root * free), complete


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
