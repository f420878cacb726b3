"""All kernels of a family at once, by the products of their features."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Array, Index
from ..certificate import Certificate
from ..losses import Squared
from ..objective import dual_exponent, weights_from_norms
from ..potentials import power_norm
from ..solvers import Callback, Greedy, Result, Slot, Solver, debiased
from ..solvers.base import from_state
from ..solvers.full_pass import accelerated
from ..solvers.loop import growing
from ..spec import StopRule
from .base import LEAST_CURVATURE, LIGHT_FOLDS, PassFits, Record, kernel_norms, used
from .moments import Moments
from .quadratic import Quadratic
from .sums import PartsModel, Recipe, Sums, Totals, sums_at

TOUCHING_TOL = 1e-6
"""Largest relative gap to which a quadratic that touches the risk is solved: where rows have
little curvature it is mostly a constant. Set by judgement, not measured."""

INNER_SHARE = 0.1
"""Problems in memory are solved to this share of the gap at hand, or of the one wanted."""

COMBINED_STEPS = 6
"""Steps that Anderson acceleration combines. Set by judgement, not measured."""

ROUNDING_RISE = 1e-12
"""Relative change of an objective that is no more than rounding."""


class Whole(PassFits):
    """All kernels of a family, by the products of their features.

    For the squared loss one pass is enough for all strengths. Other losses take a few passes: each
    gives the quadratic that touches the risk at the present model, and its optimum with the
    penalty is the next one.
    """

    def __init__(
        self, parts: Totals, recipe: Recipe, indices: Sequence[Index] | None = None
    ) -> None:
        super().__init__(parts, recipe)
        self.indices = recipe.family.indices() if indices is None else list(indices)
        if recipe.intercept and recipe.p == 2:  # as in memory: the constant kernel adds nothing
            factors = recipe.family.factors
            self.indices = [index for index in self.indices if len(factors(index))]
        self.widths = recipe.family.widths(self.indices)
        self.owners = np.repeat(np.arange(len(self.indices)), self.widths)
        self.quadratic = Quadratic(recipe, self.widths)
        self.moments: Moments | None = None

    def nothing(self) -> PartsModel:
        """Return the model of all kernels, without effect."""
        outputs = self.recipe.outputs
        return PartsModel(self.indices, np.zeros((len(self.owners), outputs)), np.zeros(outputs))

    def start(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""
        sums = self.constant(self.nothing(), False)
        return sums.risk, power_norm(self._norms(sums.gradient) ** 2, dual_exponent(self.recipe.p))

    def solve(
        self,
        solver: str | Solver,
        strength: float,
        stop: StopRule,
        rng: np.random.Generator,
        start: Result | None = None,
        callback: Callback | None = None,
        slot: Slot | None = None,
    ) -> Result:
        """Return the model of a strength, from that of another one; nothing is kept on the way."""
        if isinstance(self.recipe.loss, Squared):
            self.prepare()
            return self._placed(self.quadratic.solve(solver, strength, stop, rng, callback))
        return self._curved(solver, strength, stop, rng, start, callback)

    def prepare(self) -> Moments:
        """Return the moments of all features and targets, for the squared loss; one pass."""
        if self.moments is None:
            self.moments = self.moments_on(self.parts)
            self.quadratic.set(self.moments)
        return self.moments

    def moments_on(self, parts: Totals) -> Moments:
        """Return the same on some rows; one pass."""
        nothing, recipe = self.nothing(), self.recipe.only(self.indices)
        sums: Sums = parts.total(sums_at, recipe, nothing, False, LEAST_CURVATURE)
        assert sums.moments is not None
        return sums.moments

    def _placed(self, result: Result) -> Result:
        """Return an answer to the quadratic as one about the kernels, for the squared loss."""
        model, theta = self.quadratic.model(result, self.indices)
        objective, history = result.solution.objective, result.history
        ends = result.converged, result.interrupted
        model, theta = used(model, theta, self.widths)
        return self.result(model, theta, objective, result.certificate, history, *ends)

    def _curved(
        self,
        solver: str | Solver,
        strength: float,
        stop: StopRule,
        rng: np.random.Generator,
        start: Result | None,
        callback: Callback | None,
    ) -> Result:
        record = Record(stop, callback)
        model = self.nothing() if start is None else self._widened(self.model(start))
        best: tuple[float, PartsModel, Certificate] | None = None
        # Outputs share one curvature a row, which is too large for most: accelerate.
        memory = COMBINED_STEPS if self.recipe.outputs > 1 else 1
        past: deque[tuple[Array, Array]] = deque(maxlen=memory)
        careful: PartsModel | None = None
        floor, interrupted = LEAST_CURVATURE, False
        # Tightly: where rows have little curvature the quadratic is mostly a constant.
        tight = replace(stop, tol=min(TOUCHING_TOL, INNER_SHARE * stop.tol))
        try:
            for passes in range(1, stop.max_iter + 1):
                sums = self.sums(model, False, floor)
                objective, certificate = self._judged(sums, model, strength)
                active = int(np.count_nonzero(self._norms(model.coefficients)))
                record.add(passes, objective, certificate, active)
                if best is not None and objective > best[0] * (1 + ROUNDING_RISE):
                    past.clear()
                    if careful is None and floor >= 1:
                        break  # rounding: no further progress is possible
                    # A quadratic of more curvature lies above the risk for longer.
                    floor = floor if careful is not None else min(1.0, 10 * floor)
                    model, careful = careful or best[1], None
                    continue
                if best is not None and model is not best[1]:
                    floor = max(LEAST_CURVATURE, floor / 3)
                best = objective, model, certificate
                if certificate.relative <= stop.tol or record.late:
                    break
                assert sums.moments is not None
                self.quadratic.set(sums.moments)
                result = self.quadratic.solve(solver, strength, tight, rng)
                found, _ = self.quadratic.model(result, self.indices)
                before, after = _flat(model), _flat(found)
                past.append((after, after - before))
                model, careful = found, None
                if len(past) > 1:
                    ahead = accelerated(past, np.ones(len(after)))
                    model, careful = _unflat(ahead, found), found
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
        assert best is not None
        objective, model, certificate = best
        theta = weights_from_norms(self._norms(model.coefficients), self.recipe.p)
        model, theta = used(model, theta, self.widths)
        converged = certificate.relative <= stop.tol
        return self.result(
            model, theta, objective, certificate, record.history, converged, interrupted
        )

    def refit(self, result: Result) -> Result:
        """Return the model of the same kernels without a penalty, for the squared loss."""
        self.prepare()
        places = {index: i for i, index in enumerate(self.indices)}
        kernels = [(places[index],) for index in result.indices]
        problem, family = self.quadratic.problem, self.quadratic.family
        state = debiased(problem, family, kernels)
        return self._placed(from_state(state, result.history))

    def grow(
        self, greedy: Greedy, stop: StopRule, rng: np.random.Generator, slot: Slot | None = None
    ) -> Iterator[Result]:
        """Yield the models of 0, 1, 2, ... terms, for the squared loss."""
        self.prepare()
        problem, family = self.quadratic.problem, self.quadratic.family
        for result in growing(greedy, problem, family, stop.max_iter, stop.max_time, rng, slot):
            yield self._placed(result)

    def covariances(self, model: PartsModel) -> Array:
        """Return the covariances of the features of a model, of shape (m, m)."""
        if self.moments is None:
            return super().covariances(model)
        inside = set(model.indices)
        places = np.flatnonzero(np.repeat([index in inside for index in self.indices], self.widths))
        return np.asarray(self.moments.products[np.ix_(places, places)] / self.moments.weight)

    def judge(self, rows: Totals) -> Callable[[Result], tuple[Array, None]]:
        """Return a function from results to their mean loss on other rows.

        For the squared loss from the moments of these, made in one pass.
        """
        if not isinstance(self.recipe.loss, Squared):
            return super().judge(rows)
        moments = self.moments_on(rows)
        if not moments.weight > 0:
            raise ValueError(LIGHT_FOLDS)
        mean, products = moments.mean, moments.products / moments.weight
        places_of = {index: i for i, index in enumerate(self.indices)}

        def loss(result: Result) -> tuple[Array, None]:
            model = self.model(result)
            chosen = [places_of[index] for index in model.indices]
            columns = [np.flatnonzero(self.owners == i) for i in chosen]
            places = np.concatenate([np.empty(0, dtype=int), *columns])
            total = 0.0
            for c in range(self.recipe.outputs):
                target = len(mean) - self.recipe.outputs + c
                w = model.coefficients[:, c]
                level = mean[target] - model.intercept[c] - mean[places] @ w
                spread = products[target, target] - 2 * products[target, places] @ w
                total += level**2 + spread + w @ products[np.ix_(places, places)] @ w
            return np.array([total / 2]), None

        return loss

    def _widened(self, start: PartsModel) -> PartsModel:
        """Return a model of some of the kernels as one of all."""
        out = self.nothing()
        place = {index: i for i, index in enumerate(self.indices)}
        owners = self.family.owners(start.indices)
        for i, index in enumerate(start.indices):
            if index in place:
                out.coefficients[self.owners == place[index]] = start.coefficients[owners == i]
        return replace(out, intercept=start.intercept)

    def _norms(self, values: Array) -> Array:
        return kernel_norms(values, self.owners, len(self.indices))

    def _judged(self, sums: Sums, model: PartsModel, strength: float) -> tuple[float, Certificate]:
        """Return objective and certificate at a model of all kernels."""
        p = self.recipe.p
        size = power_norm(self._norms(model.coefficients), p)
        masses = (self._norms(sums.gradient) / strength) ** 2
        norm = power_norm(masses, dual_exponent(p))
        return self.certify(sums, model, strength, norm, size)


def _flat(model: PartsModel) -> Array:
    return np.append(model.coefficients.ravel(), model.intercept)


def _unflat(values: Array, like: PartsModel) -> PartsModel:
    size = like.coefficients.size
    coefficients = values[:size].reshape(like.coefficients.shape)
    return replace(like, coefficients=coefficients, intercept=values[size:])
