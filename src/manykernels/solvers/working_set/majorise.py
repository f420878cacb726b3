"""The problem of p = 1 on kernels of several features: quadratics above it, one after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...losses import SmoothLoss, Squared
from ...objective import Problem
from .blocks import ColumnForm, GroupQuadratic, ProductForm
from .restricted import OBJECTIVE_ROUNDING, FeatureGroups, smooth_gap, value

QUADRATICS = 200
"""Most quadratics for one problem. Set by judgement, not measured."""

PRODUCT_COLUMNS = 1_500
"""Number of columns up to which the matrix of all their products is made and kept along a path:
18 megabytes. Set by judgement, not measured."""

SLOW_SHARE = 0.5
"""Share of itself that the gap must fall to with one quadratic; else the curvatures of the rows are
looked at again. Set by judgement, not measured."""

FLATTEST_ROW = 0.05
"""Least curvature of a row, as a share of the largest, where each row has its own. That rows have
their own took classes on 5,000 rows of higgs from 22 to 9 seconds (commit cc83a81)."""

DOUBLINGS = 50
"""Most times that one quadratic is doubled until it lies above the risk."""

QUADRATIC_SHARE = 0.3
"""Share of the gap that is wanted to which a quadratic is solved; of a share of the present gap if
that is more. Set by judgement, not measured."""


def descend(problem: Problem, groups: FeatureGroups, tol: float) -> tuple[FeatureGroups, Array]:
    r"""Minimise until the duality gap over these groups is ``tol`` times the objective.

    Quadratics that touch the risk at the present predictor are minimised one after another, each
    by :class:`.blocks.GroupQuadratic`. They have one matrix, times a number that is doubled where
    the risk did not fall; after that, and where the gap falls slowly, the matrix is made anew. For
    the squared loss one is enough. Stops early where rounding allows no progress. Returns the
    slopes of the loss as well.
    """
    loss, weights = problem.loss, problem.weights
    assert isinstance(loss, SmoothLoss)
    plane = Plane(problem, groups)
    factor, before = plane.factor, np.inf
    objective = value(problem, loss, groups)
    for _ in range(QUADRATICS):
        slopes = loss.gradient(problem.y, groups.fitted)
        gradient = groups.columns.transposed_dot(weights[:, None] * slopes)
        gap = smooth_gap(problem, groups, slopes, gradient)
        if gap <= tol * objective:
            break
        # Rows have moved to where the loss is more curved, or less and steps are too short.
        if factor > plane.factor or (plane.own_curvatures and gap > SLOW_SHARE * before):
            plane = Plane(problem, groups)
            factor = plane.factor
        before = gap
        rough = 0.0 if isinstance(loss, Squared) else QUADRATIC_SHARE * gap
        wanted = QUADRATIC_SHARE * max(tol * objective, rough)
        for _ in range(DOUBLINGS):
            moved = plane.minimum(groups, slopes, gradient, factor, wanted)
            reached = value(problem, loss, moved)
            falls = reached < objective * (1 - OBJECTIVE_ROUNDING)
            if falls or (factor >= plane.above and reached <= objective + wanted):
                break
            factor *= 2.0
        if not falls:
            break
        groups, objective = moved, reached
    return groups, loss.gradient(problem.y, groups.fitted)


class Plane:
    """The quadratic's columns with their means taken out, where there is an intercept.

    The products of a few columns are made once, in O(n m^2), and kept for the next problem of a
    path; there all rows have the largest curvature of the loss. Many columns are held as they are,
    in O(n m), times the roots of the rows' own curvatures.

    Attributes
    ----------
    factor : float
        What to multiply the quadratic by at first.
    own_curvatures : bool
        Whether rows have curvatures of their own.
    above : float
        From this factor on it lies above the risk, but for rows whose curvature grows.
    """

    def __init__(self, problem: Problem, groups: FeatureGroups) -> None:
        self.problem = problem
        columns, weights = groups.columns, problem.weights
        self.wide = columns.width > min(PRODUCT_COLUMNS, 2 * columns.rows)
        self.factor = self.above = 1.0
        own = np.ones_like(weights)
        self.own_curvatures = self.wide and not isinstance(problem.loss, Squared)
        assert isinstance(problem.loss, SmoothLoss)
        if not isinstance(problem.loss, Squared):
            curvatures = problem.loss.curvature(problem.y, groups.fitted).max(axis=1)
            self.factor = self.above = float(curvatures.max()) or 1.0
            if self.own_curvatures:
                own = np.maximum(curvatures / self.factor, FLATTEST_ROW)
                self.above = self.factor / own.min()
        masses = weights * own
        self.total = float(masses.sum())
        root, self.slope_root = np.sqrt(masses)[:, None], np.sqrt(weights / own)[:, None]
        form: ProductForm | ColumnForm
        if self.wide:
            columns.forget()
            whole = np.empty((columns.rows, columns.width), order="F")
            self.centre = np.zeros(columns.width)
            if problem.intercept:
                self.centre = columns.transposed_dot(masses[:, None])[:, 0] / self.total
            for rows, block in columns.blocks():
                whole[rows] = root[rows] * (to_host(block) - self.centre)
            form = ColumnForm(whole)
        else:
            self.centre, products = columns.products(weights)
            if not problem.intercept:
                products = products + np.outer(self.centre, self.centre)
                self.centre = np.zeros_like(self.centre)
            form = ProductForm(products)
        starts = np.searchsorted(groups.owners, np.arange(groups.count + 1))
        self.quadratic = GroupQuadratic(form, starts)

    def minimum(
        self, groups: FeatureGroups, slopes: Array, gradient: Array, factor: float, tol: float
    ) -> FeatureGroups:
        """Return the minimum of the quadratic, times a factor, that touches at some groups."""
        weights, old = self.problem.weights, groups.coefficients
        level = 0.0 * slopes[0]
        if self.problem.intercept:
            level = (weights @ slopes) / (factor * self.total)
        if self.wide:
            down = self.slope_root * slopes / factor
        else:
            down = gradient / factor - np.outer(self.centre, level)
        begin = self.quadratic.form.image(old) - down
        found = self.quadratic.solve(begin, self.problem.strength / factor, old, tol / factor)
        intercept = groups.intercept - level - self.centre @ (found - old)
        return replace(groups, coefficients=found, intercept=intercept)
