"""What all fits to rows in parts share: the model of a result, its predictor, its loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from .. import deadline
from ..arrays import Array
from ..certificate import Certificate
from ..dual import DualSolution
from ..families import ProductFamily, StandardizedFamily
from ..function import Predictor, together
from ..solvers import HISTORY, Callback, Result
from ..spec import StopRule
from .moments import Moments
from .sums import PartsModel, Recipe, Sums, Totals, feature_moments, loss_at, sums_at

CONSTANT_STEPS = 20
"""Most Newton steps for the best constant. Set by judgement: a handful is enough in practice."""

LEAST_CURVATURE = 1e-3
"""Least curvature of a row in a quadratic that stands for the risk, relative to the loss's largest;
it is raised where a step fails. Set by judgement, not measured."""

LIGHT_FOLDS = (
    "cv must give folds with rows of positive weight on both sides; got one without. Drop the "
    "rows of weight zero, mix the rows, as with cv=KFold(5, shuffle=True), or use fewer folds."
)


@dataclass(frozen=True)
class PassState:
    """What progress is told of a pass: its number, the kernels in use and the certificate."""

    k: int
    active: int
    certificate: Certificate


class Record:
    """What the passes of a fit found, and how long they took."""

    def __init__(self, stop: StopRule, callback: Callback | None) -> None:
        self.stop, self.callback = stop, callback
        self.history: dict[str, list[float]] = {key: [] for key in HISTORY}
        self.began = perf_counter()

    def add(self, passes: int, objective: float, certificate: Certificate, active: int) -> None:
        """Take down what a pass found, and tell the caller."""
        values = (passes, perf_counter() - self.began, objective, certificate.relative, active)
        record = dict(zip(HISTORY, map(float, values), strict=True))
        for key, value in record.items():
            self.history[key].append(value)
        if self.callback is not None:
            self.callback(PassState(passes + 1, active, certificate), record)  # type: ignore[arg-type]

    @property
    def late(self) -> bool:
        """Whether time is up."""
        longest = self.stop.max_time
        return deadline.current().passed or (
            longest is not None and perf_counter() - self.began > longest
        )


class PassFits:
    """Fits of one family to the same rows in parts; see :class:`manykernels.rows.base.Fits`.

    Parameters
    ----------
    parts : Totals
        The rows.
    recipe : Recipe
        How rows become features and targets.
    """

    def __init__(self, parts: Totals, recipe: Recipe) -> None:
        self.parts, self.recipe = parts, recipe

    @property
    def family(self) -> ProductFamily | StandardizedFamily:
        """The kernels, on no rows."""
        return self.recipe.family

    @property
    def centre(self) -> float:
        """What was subtracted from real targets."""
        return self.recipe.centre

    def sums(self, model: PartsModel, tables: bool, floor: float | None) -> Sums:
        """Return the sums over all rows at a model; one pass."""
        recipe = self.recipe.only(model.indices)
        found: Sums = self.parts.total(sums_at, recipe, model, tables, floor)
        return found

    def constant(self, nothing: PartsModel, tables: bool) -> Sums:
        """Return the sums at the best constant, found by Newton's method."""
        alone, recipe = self.recipe.nothing(), self.recipe
        for _ in range(CONSTANT_STEPS if recipe.intercept else 0):
            sums = self.sums(alone, False, LEAST_CURVATURE)
            if np.all(np.abs(sums.slope) <= 1e-12 * recipe.reach):
                break
            assert sums.moments is not None
            alone = replace(alone, intercept=sums.moments.mean)
        return self.sums(replace(nothing, intercept=alone.intercept), tables, None)

    def certify(
        self, sums: Sums, model: PartsModel, strength: float, norm: float, size: float
    ) -> tuple[float, Certificate]:
        """Return objective and certificate at a model.

        ``norm`` is the dual norm of the gradients of the family, ``size`` the group norm of the
        coefficients.
        """
        objective = sums.risk + strength / 2 * size**2
        gap = abs(objective + sums.conjugate + strength / 2 * norm)
        if self.recipe.intercept:
            # A dual point must add up to zero; see Problem.infeasibility.
            reach = np.abs(model.intercept) + self.recipe.reach
            gap += float(reach @ np.abs(sums.slope))
        return objective, Certificate(gap, gap / objective if objective > 0 else 0.0, "exact")

    def model(self, result: Result) -> PartsModel:
        """Return a result as coefficients of features."""
        roots = np.sqrt(result.theta)[self.family.owners(result.indices), None]
        solution = result.solution
        return PartsModel(result.indices, roots * solution.coefficients, solution.intercept)

    def result(
        self,
        model: PartsModel,
        theta: Array,
        objective: float,
        certificate: Certificate,
        history: dict[str, list[float]],
        converged: bool,
        interrupted: bool = False,
    ) -> Result:
        """Return a model and positive weights of its kernels as the result of a solver."""
        roots = np.sqrt(theta)[self.family.owners(model.indices), None]
        nothing = np.empty((0, self.recipe.outputs))
        solution = DualSolution(
            nothing, model.coefficients / roots, True, model.intercept, nothing, objective
        )
        passes = len(history[HISTORY[0]])
        return Result(
            model.indices,
            theta,
            False,
            solution,
            certificate,
            passes,
            converged,
            interrupted,
            history,
        )

    def covariances(self, model: PartsModel) -> Array:
        """Return the covariances of the features of a model, of shape (m, m); one pass."""
        recipe = self.recipe.only(model.indices)
        moments: Moments = self.parts.total(feature_moments, recipe, model)
        return moments.products / moments.weight

    def predictor(self, result: Result) -> Predictor:
        """Return the learnt function, kernels by descending spread of their terms.

        Losses without single terms are not measured: that would take more passes.
        """
        model, family = self.model(result), self.family
        count, coefficients = len(model.indices), model.coefficients
        owners = family.owners(model.indices)
        found = self.covariances(model) if count else np.zeros((0, 0))
        parts = np.sum(coefficients * (found @ coefficients), axis=1)
        sums = np.bincount(owners, parts, minlength=count)
        total = float(sums.sum())
        shares = sums / total if total > 0 else np.zeros(count)
        terms = together(family, model.indices)
        spreads = np.zeros(count)
        for term in np.unique(terms).tolist():
            own = np.flatnonzero(np.isin(owners, np.flatnonzero(terms == term)))
            variance = np.sum(coefficients[own] * (found[np.ix_(own, own)] @ coefficients[own]))
            spreads[terms == term] = np.sqrt(max(float(variance), 0.0))
        order = np.argsort(-spreads, kind="stable")
        rank = np.empty(count, dtype=int)
        rank[order] = np.arange(count)
        return Predictor(
            family.without_rows(model.indices),
            [model.indices[i] for i in order.tolist()],
            result.theta[order],
            False,
            None,
            model.intercept + self.centre,
            model.coefficients[np.argsort(rank[owners], kind="stable")],
            shares[order],
            spreads=spreads[order],
        )

    def judge(self, rows: Totals) -> Callable[[Result], tuple[Array, None]]:
        """Return a function from results to their mean loss on other rows; a pass for each.

        Predictions are not brought here: they stay with the rows.
        """

        def loss(result: Result) -> tuple[Array, None]:
            model = self.model(result)
            recipe = self.recipe.only(model.indices)
            found, weight = rows.total(loss_at, recipe, model).tolist()
            if not weight > 0:
                raise ValueError(LIGHT_FOLDS)
            return np.array([found / weight]), None

        return loss


def kernel_norms(values: Array, owners: Array, count: int) -> Array:
    """Return the norm of each kernel's rows of a matrix with a row for each feature."""
    return np.sqrt(np.bincount(owners, np.sum(values**2, axis=1), minlength=count))


def used(model: PartsModel, theta: Array, widths: Sequence[int]) -> tuple[PartsModel, Array]:
    """Return the model of the kernels with a weight, and these weights."""
    live = theta > 0
    rows = np.repeat(live, widths)
    indices = [index for index, keep in zip(model.indices, live.tolist(), strict=True) if keep]
    return PartsModel(indices, model.coefficients[rows], model.intercept), theta[live]
