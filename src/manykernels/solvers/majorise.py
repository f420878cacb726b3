"""The problem of p = 1 on kernels of several features: quadratics above it, one after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..backend import to_host
from ..losses import SmoothLoss, Squared
from ..objective import Problem
from .blocks import Factor, Products, Quadratic
from .restricted import ROUNDING, Groups, smooth_gap, value

STEPS = 200
"""Most quadratics for one problem."""

MANY = 1_500
"""Up to so many columns their products are made."""

SINGLE = 1e-4
"""Relative gap down to which single precision is enough."""

DOUBLINGS = 50
"""Most times that the curvature is doubled for one of them."""

SHARE = 0.3
"""A quadratic is solved to this share of what is wanted, or of the present gap if that is more."""


def descend(problem: Problem, groups: Groups, tol: float) -> tuple[Groups, Array]:
    r"""Minimise until the duality gap over these groups is ``tol`` times the objective.

    A quadratic of curvature :math:`\kappa`, at least that of the loss, lies above the risk and
    touches it at the present predictor. All have the same matrix, made once; each is solved by
    :class:`.blocks.Quadratic`. For the squared loss one is enough, for the logistic some five to
    ten. Stops early where rounding allows no progress. Returns the slopes of the loss as well.
    """
    loss, weights = problem.loss, problem.weights
    assert isinstance(loss, SmoothLoss)
    plane = Plane(problem, groups, tol)
    curvature = 1.0
    if not isinstance(loss, Squared):
        curvature = float(loss.curvature(problem.y, groups.fitted).max()) or 1.0
    objective = value(problem, loss, groups)
    for _ in range(STEPS):
        slopes = loss.gradient(problem.y, groups.fitted)
        pull = groups.columns.transposed_dot(weights[:, None] * slopes)
        gap = smooth_gap(problem, groups, slopes, pull)
        if gap <= tol * objective:
            break
        wanted = SHARE * max(tol * objective, 0.0 if isinstance(loss, Squared) else SHARE * gap)
        for _ in range(DOUBLINGS):
            moved = plane.minimum(groups, slopes, pull, curvature, wanted)
            reached = value(problem, loss, moved)
            if reached <= objective + wanted:
                break
            curvature *= 2.0  # it was too small for rows that have moved
        if reached >= objective * (1 - ROUNDING):
            break
        groups, objective = moved, reached
    return groups, loss.gradient(problem.y, groups.fitted)


class Plane:
    """The columns of a problem with their means taken out, where there is an intercept.

    The products of a few columns are made once, in O(n m^2), and kept for the next problem of a
    path. Many columns are held as they are, in O(n m), in single precision unless more is asked
    for: the slopes of the next quadratic are exact again.
    """

    def __init__(self, problem: Problem, groups: Groups, tol: float) -> None:
        self.problem = problem
        columns, weights = groups.columns, problem.weights
        self.root = np.sqrt(weights)[:, None]
        self.wide = columns.width > min(MANY, 2 * columns.rows)
        form: Products | Factor
        if self.wide:
            columns.forget()
            kind = np.float32 if tol >= SINGLE else np.float64
            whole = np.empty((columns.rows, columns.width), dtype=kind, order="F")
            self.centre = np.zeros(columns.width)
            if problem.intercept:
                self.centre = columns.transposed_dot(weights[:, None])[:, 0]
            for rows, block in columns.blocks():
                whole[rows] = self.root[rows] * (to_host(block) - self.centre)
            form = Factor(whole)
        else:
            self.centre, products = columns.products(weights)
            if not problem.intercept:
                products = products + np.outer(self.centre, self.centre)
                self.centre = np.zeros_like(self.centre)
            form = Products(products)
        starts = np.searchsorted(groups.owners, np.arange(groups.count + 1))
        self.quadratic = Quadratic(form, starts)

    def minimum(
        self, groups: Groups, slopes: Array, pull: Array, curvature: float, tol: float
    ) -> Groups:
        """Return the minimum of the quadratic of a curvature that touches at some coefficients."""
        weights, old = self.problem.weights, groups.coefficients
        level = (weights @ slopes) / curvature if self.problem.intercept else 0.0 * slopes[0]
        if self.wide:
            begin = self.quadratic.form.image(old) - self.root * slopes / curvature
        else:
            down = pull / curvature - np.outer(self.centre, level)
            begin = self.quadratic.form.image(old) - down
        strength = self.problem.strength / curvature
        found = self.quadratic.solve(begin, strength, old, tol / curvature)
        intercept = groups.intercept - level - self.centre @ (found - old)
        return replace(groups, coefficients=found, intercept=intercept)
