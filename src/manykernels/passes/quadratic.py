"""Penalised quadratics in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Array, Index
from ..bases import FeatureBlocks
from ..families import ListFamily
from ..function import make_predictor
from ..losses import Squared
from ..objective import Problem
from ..solvers import Callback, Result, Solver, match, run
from ..spec import StopRule
from .moments import Moments, compressed
from .sums import PartsModel, Recipe

LEAST_STEPS = 1_000
"""Steps that a solver of a quadratic in memory may always take, whatever max_iter says of passes
over the rows: they are cheap beside a pass."""


class Quadratic:
    """A penalised quadratic in memory, given by moments of features and aims."""

    def __init__(self, recipe: Recipe, widths: Sequence[int]) -> None:
        self.recipe, self.widths = recipe, widths
        self.last: Result | None = None

    def set(self, moments: Moments) -> None:
        """Take the moments of features and, behind them, of the aims of the outputs."""
        recipe = self.recipe
        self.moments, self.last = moments, None
        rows = compressed(moments, recipe.intercept)
        # As many rows as columns. With some empty ones features are fewer than half the rows:
        # solvers that count on exact zeros are chosen by that.
        rows = np.pad(rows, ((0, len(rows) + 2), (0, 0)))
        rows = rows * np.sqrt(len(rows))
        features = len(rows[0]) - recipe.outputs
        self.family = ListFamily(FeatureBlocks(rows[:, :features], self.widths))
        weights = np.full(len(rows), 1 / len(rows))
        self.problem = Problem(rows[:, features:], weights, Squared(), 1.0, recipe.p, False)

    def solve(
        self,
        solver: str | Solver,
        strength: float,
        stop: StopRule,
        rng: np.random.Generator,
        callback: Callback | None = None,
    ) -> Result:
        """Return the optimum."""
        here = replace(self.problem, strength=strength / self.moments.weight)
        self.last = run(
            match(solver, here, self.family),
            here,
            self.family,
            rng,
            max(stop.max_iter, LEAST_STEPS),
            stop.tol,
            stop.max_time,
            callback,
            self.last,
        )
        return self.last

    def model(self, result: Result, indices: Sequence[Index]) -> tuple[PartsModel, Array]:
        """Return an optimum as a model of all kernels, and the weights of these."""
        learnt = make_predictor(self.family, result, self.problem.weights)
        assert learnt.coefficients is not None
        ends = np.concatenate([[0], np.cumsum(self.widths)])
        coefficients = np.zeros((int(ends[-1]), self.recipe.outputs))
        theta = np.zeros(len(self.widths))
        done = 0
        for index, weight in zip(learnt.indices, learnt.theta.tolist(), strict=True):
            (j,) = self.family.factors(index)
            width = self.widths[j]
            part = learnt.coefficients[done : done + width]
            coefficients[ends[j] : ends[j] + width] = part
            theta[j] = weight
            done += width
        intercept = np.zeros(self.recipe.outputs)
        if self.recipe.intercept:
            mean = self.moments.mean
            intercept = mean[len(coefficients) :] - mean[: len(coefficients)] @ coefficients
        return PartsModel(indices, coefficients, intercept), theta
