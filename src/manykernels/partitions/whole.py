"""All kernels of a family at once, by the products of their features."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Array, Index
from ..certificate import Certificate
from ..losses import Squared
from ..objective import dual_exponent, weights_from_norms
from ..potentials import power_norm
from ..solvers import Result
from ..solvers.acceleration import accelerated
from .model import Fitted, Limits, Record, Task
from .moments import Moments
from .passes import LEAST, certificate_of, constant, covariances_of
from .quadratic import Quadratic
from .rows import Design, Parts, Point, Sums, sums_at

INNER_TOL = 1e-6
"""Largest relative gap to which a quadratic in memory is solved."""

SHARE = 0.1
"""Problems in memory are solved to this share of the gap, or of what is wanted."""

MEMORY = 6
"""Steps that acceleration combines."""

ROUNDING = 1e-12
"""Relative change of an objective that is no more than rounding."""


class Whole:
    """All kernels of a family, by the products of their features.

    For the squared loss one pass is enough for all strengths. Other losses take a few passes: each
    gives the quadratic that touches the risk at the present model, and its optimum with the
    penalty is the next one.
    """

    def __init__(
        self, parts: Parts, design: Design, task: Task, indices: Sequence[Index] | None = None
    ) -> None:
        self.parts, self.design, self.task = parts, design, task
        self.indices = design.family.indices() if indices is None else list(indices)
        self.widths = design.family.widths(self.indices)
        self.owners = np.repeat(np.arange(len(self.indices)), self.widths)
        self.quadratic = Quadratic(task, self.widths)
        self.moments: Moments | None = None

    def nothing(self) -> Point:
        """Return the model of no effect."""
        outputs = self.task.outputs
        return Point(self.indices, np.zeros((len(self.owners), outputs)), np.zeros(outputs))

    def solve(
        self,
        strength: float,
        limits: Limits,
        rng: np.random.Generator,
        start: Fitted | None = None,
    ) -> Fitted:
        """Return the model of a strength."""
        if isinstance(self.design.loss, Squared):
            return self._squared(strength, limits, rng)
        return self._curved(strength, limits, rng, start)

    def start(self) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""
        sums, _ = constant(self.parts, self.design, self.task, self.nothing(), False)
        return sums.risk, power_norm(self._norms(sums.pull) ** 2, dual_exponent(self.task.p))

    def prepare(self) -> Moments:
        """Return the moments of all features and targets, for the squared loss; one pass."""
        if self.moments is None:
            self.moments = self.moments_on(self.parts)
            self.quadratic.set(self.moments)
        return self.moments

    def moments_on(self, parts: Parts) -> Moments:
        """Return the same on some rows; one pass."""
        sums: Sums = parts.total(sums_at, self.design, self.nothing(), False, LEAST)
        assert sums.moments is not None
        return sums.moments

    def _squared(self, strength: float, limits: Limits, rng: np.random.Generator) -> Fitted:
        self.prepare()
        return self.fitted(self.quadratic.solve(strength, limits, limits.tol, rng))

    def fitted(self, result: Result) -> Fitted:
        """Return the model of an answer in memory, for the squared loss."""
        point, theta = self.quadratic.point(result, self.indices)
        return Fitted(
            *_used(point, theta, self.widths),
            result.solution.objective,
            result.certificate,
            result.history,
            result.converged,
            result.interrupted,
        )

    def _curved(
        self, strength: float, limits: Limits, rng: np.random.Generator, start: Fitted | None
    ) -> Fitted:
        record = Record(limits)
        point = self.nothing() if start is None else self._placed(start.point)
        best: tuple[float, Point, Certificate] | None = None
        # Outputs share one curvature a row, which is too large for most: accelerate.
        past: deque[tuple[Array, Array]] = deque(maxlen=MEMORY if self.task.outputs > 1 else 1)
        careful: Point | None = None
        floor, interrupted = LEAST, False
        try:
            for passes in range(1, limits.max_iter + 1):
                sums: Sums = self.parts.total(sums_at, self.design, point, False, floor)
                objective, certificate = self._judge(sums, point, strength)
                active = int(np.count_nonzero(self._norms(point.coefficients)))
                record.add(passes, objective, certificate.relative, active)
                if best is not None and objective > best[0] * (1 + ROUNDING):
                    past.clear()
                    if careful is None and floor >= 1:
                        break  # rounding: no further progress is possible
                    # A quadratic of more curvature lies above the risk for longer.
                    floor = floor if careful is not None else min(1.0, 10 * floor)
                    point, careful = careful or best[1], None
                    continue
                if best is not None and point is not best[1]:
                    floor = max(LEAST, floor / 3)
                best = objective, point, certificate
                if certificate.relative <= limits.tol or record.late:
                    break
                assert sums.moments is not None
                self.quadratic.set(sums.moments)
                # Tightly: where rows have little curvature the quadratic is mostly a constant.
                tol = min(INNER_TOL, SHARE * limits.tol)
                result = self.quadratic.solve(strength, limits, tol, rng)
                found, _ = self.quadratic.point(result, self.indices)
                before, after = _flat(point), _flat(found)
                past.append((after, after - before))
                point, careful = found, None
                if len(past) > 1:
                    ahead = accelerated(past, np.ones(len(after)))
                    point, careful = _unflat(ahead, found), found
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
        assert best is not None
        objective, point, certificate = best
        theta = weights_from_norms(self._norms(point.coefficients), self.task.p)
        converged = certificate.relative <= limits.tol
        used, theta = _used(point, theta, self.widths)
        return Fitted(used, theta, objective, certificate, record.history, converged, interrupted)

    def covariances(self, point: Point) -> Array:
        """Return the covariances of the features in use with the function, of shape (m, c)."""
        if self.moments is None:
            return covariances_of(self.parts, self.design, point)
        inside = set(point.indices)
        used = np.repeat([index in inside for index in self.indices], self.widths)
        places = np.flatnonzero(used)
        products = self.moments.products[np.ix_(places, places)] / self.moments.weight
        return np.asarray(products @ point.coefficients)

    def _placed(self, start: Point) -> Point:
        """Return a model of some of the kernels as one of all."""
        out = self.nothing()
        ends = np.concatenate([[0], np.cumsum(self.widths)])
        place = {index: i for i, index in enumerate(self.indices)}
        done = 0
        for index, width in zip(
            start.indices, self.design.family.widths(start.indices), strict=True
        ):
            if index in place:
                first = ends[place[index]]
                out.coefficients[first : first + width] = start.coefficients[done : done + width]
            done += width
        return replace(out, intercept=start.intercept)

    def _norms(self, values: Array) -> Array:
        energy = np.bincount(self.owners, np.sum(values**2, axis=1), minlength=len(self.indices))
        return np.sqrt(energy)

    def _judge(self, sums: Sums, point: Point, strength: float) -> tuple[float, Certificate]:
        """Return objective and certificate at a point."""
        size = power_norm(self._norms(point.coefficients), self.task.p)
        objective = sums.risk + strength / 2 * size**2
        masses = (self._norms(sums.pull) / strength) ** 2
        norm = power_norm(masses, dual_exponent(self.task.p))
        return objective, certificate_of(self.task, sums, point, strength, norm, objective)


def _flat(point: Point) -> Array:
    return np.append(point.coefficients.ravel(), point.intercept)


def _unflat(values: Array, like: Point) -> Point:
    size = like.coefficients.size
    coefficients = values[:size].reshape(like.coefficients.shape)
    return replace(like, coefficients=coefficients, intercept=values[size:])


def _used(point: Point, theta: Array, widths: Sequence[int]) -> tuple[Point, Array]:
    """Return a model of the kernels with a weight."""
    live = theta > 0
    rows = np.repeat(live, widths)
    indices = [index for index, keep in zip(point.indices, live.tolist(), strict=True) if keep]
    return Point(indices, point.coefficients[rows], point.intercept), theta[live]
