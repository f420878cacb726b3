"""Penalised quadratics in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks
from ..families import ListFamily
from ..losses import Squared
from ..objective import Problem
from ..predictor import make_predictor
from ..solvers import Result, run, solve_closed
from .model import Limits, Task
from .moments import Moments, compressed
from .rows import Point


class Quadratic:
    """A penalised quadratic in memory, given by moments of features and aims."""

    def __init__(self, task: Task, widths: Sequence[int]) -> None:
        self.task, self.widths = task, widths
        self.last: Result | None = None

    def set(self, moments: Moments) -> None:
        """Take the moments of features and, behind them, of the aims of the outputs."""
        task = self.task
        self.moments, self.last = moments, None
        rows = compressed(moments, task.intercept)
        # As many rows as columns. With some empty ones features are fewer than half the rows:
        # solvers that count on exact zeros are chosen by that.
        rows = np.pad(rows, ((0, len(rows) + 2), (0, 0)))
        rows = rows * np.sqrt(len(rows))
        features = len(rows[0]) - task.outputs
        self.family = ListFamily(FeatureBlocks(rows[:, :features], self.widths))
        weights = np.full(len(rows), 1 / len(rows))
        self.problem = Problem(rows[:, features:], weights, Squared(), 1.0, task.p, False)

    def solve(
        self, strength: float, limits: Limits, tol: float, rng: np.random.Generator
    ) -> Result:
        """Return the optimum."""
        here = replace(self.problem, strength=strength / self.moments.weight)
        if limits.solver is None:
            self.last = solve_closed(here, self.family, rng, tol)
        else:
            solver = limits.solver(here, self.family)
            steps = max(limits.max_iter, 1000)
            self.last = run(
                solver, here, self.family, rng, steps, tol, limits.max_time, start=self.last
            )
        return self.last

    def point(self, result: Result, indices: Sequence[Index]) -> tuple[Point, Array]:
        """Return an optimum as a model of all kernels, and the weights of these."""
        learnt = make_predictor(self.family, result, self.problem.weights)
        assert learnt.coefficients is not None
        ends = np.concatenate([[0], np.cumsum(self.widths)])
        coefficients = np.zeros((int(ends[-1]), self.task.outputs))
        theta = np.zeros(len(self.widths))
        done = 0
        for (j,), weight in zip(learnt.indices, learnt.theta.tolist(), strict=True):
            width = self.widths[j]
            part = learnt.coefficients[done : done + width]
            coefficients[ends[j] : ends[j] + width] = part
            theta[j] = weight
            done += width
        intercept = np.zeros(self.task.outputs)
        if self.task.intercept:
            mean = self.moments.mean
            intercept = mean[len(coefficients) :] - mean[: len(coefficients)] @ coefficients
        return Point(indices, coefficients, intercept), theta
