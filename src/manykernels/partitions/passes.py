"""What a pass over the rows tells of a model: constants, covariances, gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..certificate import Certificate
from .model import Task
from .moments import Moments
from .rows import Design, Parts, Point, Sums, feature_moments, sums_at

CONSTANT_STEPS = 20
"""Most Newton steps for the best constant."""

LEAST = 1e-3
"""Least curvature of a row in a quadratic that stands for the risk; more where that fails."""


def constant(
    parts: Parts, design: Design, task: Task, nothing: Point, tables: bool
) -> tuple[Sums, Point]:
    """Return the sums at the best constant, found by Newton's method, and that model."""
    alone = Point([], np.zeros((0, task.outputs)), np.zeros(task.outputs))
    for _ in range(CONSTANT_STEPS if task.intercept else 0):
        sums: Sums = parts.total(sums_at, design, alone, False, LEAST)
        if np.all(np.abs(sums.slope) <= 1e-12 * task.reach):
            break
        assert sums.moments is not None
        alone = replace(alone, intercept=sums.moments.mean)
    point = replace(nothing, intercept=alone.intercept)
    return parts.total(sums_at, design, point, tables, None), point


def covariances_of(parts: Parts, design: Design, point: Point) -> Array:
    """Return the covariances of the features of a model with it, in one pass."""
    moments: Moments = parts.total(feature_moments, design, point)
    width = len(point.coefficients)
    return moments.products[:width, width:] / moments.weight


def certificate_of(
    task: Task, sums: Sums, point: Point, strength: float, norm: float, objective: float
) -> Certificate:
    """Return the certificate at a point whose slopes have a dual norm."""
    gap = abs(objective + sums.conjugate + strength / 2 * norm)
    if task.intercept:
        # A dual point must add up to zero; see Problem.infeasibility.
        gap += float((np.abs(point.intercept) + task.reach) @ np.abs(sums.slope))
    return Certificate(gap, gap / objective if objective > 0 else 0.0, "exact")
