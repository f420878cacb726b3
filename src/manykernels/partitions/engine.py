"""Fits to rows in parts: a few passes over them, everything else in memory on sums."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Protocol

import numpy as np

from ..arrays import Array, Index, approximately
from ..bases import FeatureBlocks
from ..certificate import Certificate
from ..families import KernelFamily, ListFamily, ProductFamily
from ..losses import SmoothLoss, Squared
from ..objective import Problem, exponent
from ..potentials import power_norm
from ..predictor import make_predictor
from ..solvers import HISTORY, Result, Solver, run, solve_closed
from ..solvers.full_pass import accelerated
from .moments import Moments, compressed
from .rows import Design, Parts, Point, Sums, feature_moments, sums_at

MOST_FEATURES = 1_500
"""A family of so many features is fitted from the products of all of them, made in one pass."""

MOST_ENTRIES = 2e7
"""Most inner products that a pricing brings from the workers."""

BATCH = 20
"""Fewest kernels that may enter in a round."""

SHARE = 0.1
"""Problems in memory are solved to this share of the gap, or of what is wanted."""

INNER_TOL = 1e-6
"""Largest relative gap to which a quadratic in memory is solved."""

NEARLY = 0.999
"""Kernels of so much of the mean gradient in use may enter."""

CONSTANT_STEPS = 20
"""Most Newton steps for the best constant."""

IDLE = 2
"""Rounds without a new kernel before the last."""

MEMORY = 6
"""Steps that acceleration combines."""

LEAST = 1e-3
"""Least curvature of a row in a quadratic that stands for the risk; more where that fails."""

ROUNDING = 1e-12
"""Relative change of an objective that is no more than rounding."""


@dataclass(frozen=True)
class Task:
    """What is minimised, but for the strength.

    Attributes
    ----------
    p : float
        Exponent of the group norm.
    intercept : bool
        Whether there is a free constant.
    outputs : int
        Number of outputs.
    reach : float
        Largest size of a target.
    """

    p: float
    intercept: bool
    outputs: int
    reach: float


@dataclass(frozen=True)
class Limits:
    """When a fit ends, and what solves problems in memory.

    Attributes
    ----------
    solver : callable
        Takes a problem and a family and returns a solver; None for p = 2 in closed form.
    max_iter, tol, max_time :
        Largest number of passes, relative gap and seconds to end at.
    callback : callable
        Called with the number of passes, the objective, the gap and the number of kernels.
    """

    solver: Callable[[Problem, KernelFamily], Solver] | None
    max_iter: int
    tol: float
    max_time: float | None
    callback: Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class Fitted:
    """A model of rows in parts.

    Attributes
    ----------
    point : Point
        Kernels in use, coefficients of their features, constants.
    theta : ndarray
        Weights of the kernels.
    objective : float
        The objective.
    certificate : Certificate
        Its exact duality gap over the whole family.
    history : dict of list
        One entry for each pass, or step in memory.
    converged, interrupted : bool
        Whether the gap is small enough, and whether Ctrl-C ended the fit.
    """

    point: Point
    theta: Array
    objective: float
    certificate: Certificate
    history: dict[str, list[float]]
    converged: bool
    interrupted: bool = False


class Engine(Protocol):
    """Fits of one family to the same rows."""

    def solve(
        self, strength: float, limits: Limits, rng: np.random.Generator, start: Fitted | None
    ) -> Fitted:
        """Return the model of a strength, from that of another one."""
        ...

    def start(self) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""
        ...

    def covariances(self, point: Point) -> Array:
        """Return the covariances of the features in use with the function, of shape (m, c)."""
        ...


def engine_of(parts: Parts, design: Design, task: Task) -> Engine:
    """Return the engine for a family: all features in one pass if they are few, else by rounds."""
    if not isinstance(design.loss, SmoothLoss):
        raise ValueError(
            "loss must be smooth for rows in partitions; got "
            f'{type(design.loss).__name__}. Use loss="squared", "huber", "squared_hinge" or '
            '"logistic".'
        )
    family = design.family
    features = float(family.bases.sizes.sum())  # type: ignore[union-attr]
    whole = approximately(family.distinct) * float(family.bases.sizes.mean()) ** family.degree  # type: ignore[union-attr]
    if whole <= MOST_FEATURES:
        return Whole(parts, design, task)
    if task.p != 1:
        raise ValueError(
            f"rows in partitions with p={task.p:g} need a family of at most {MOST_FEATURES} "
            f"features; got about {whole:.3g}. Use p=1, a smaller degree or fewer columns."
        )
    if family.degree > 3 or features**family.degree > MOST_ENTRIES:
        raise ValueError(
            "rows in partitions need a family whose inner products fit in memory; got degree "
            f"{family.degree} with {features:.0f} base features. Use a smaller degree or fewer "
            "columns."
        )
    return Growing(parts, design, task)


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
        return sums.risk, power_norm(self._norms(sums.pull) ** 2, _dual(self.task.p))

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
        began = perf_counter()
        history: dict[str, list[float]] = {key: [] for key in HISTORY}
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
                seconds = perf_counter() - began
                record = (passes, seconds, objective, certificate.relative, active)
                for key, value in zip(HISTORY, record, strict=True):
                    history[key].append(float(value))
                limits.callback(passes, objective, certificate.relative, active)
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
                late = limits.max_time is not None and perf_counter() - began > limits.max_time
                if certificate.relative <= limits.tol or late:
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
        theta = self._theta(point.coefficients)
        converged = certificate.relative <= limits.tol
        used, theta = _used(point, theta, self.widths)
        return Fitted(used, theta, objective, certificate, history, converged, interrupted)

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

    def _theta(self, coefficients: Array) -> Array:
        r"""Return :math:`\theta_i = \|w_i\|^{2-p} / (\sum_j\|w_j\|^p)^{(2-p)/p}`."""
        norms, p = self._norms(coefficients), self.task.p
        if p == 2:
            return np.ones(len(norms))
        size = power_norm(norms, p)
        if not size > 0:
            return np.zeros(len(norms))
        return np.asarray((norms / size) ** (2 - p))

    def _judge(self, sums: Sums, point: Point, strength: float) -> tuple[float, Certificate]:
        """Return objective and certificate at a point."""
        size = power_norm(self._norms(point.coefficients), self.task.p)
        objective = sums.risk + strength / 2 * size**2
        masses = (self._norms(sums.pull) / strength) ** 2
        norm = power_norm(masses, _dual(self.task.p))
        return objective, certificate_of(self.task, sums, point, strength, norm, objective)


class Growing:
    """p = 1 over a family too large for the products of all features: a working set.

    Each round takes one pass that prices the whole family at the present model, and one (for the
    squared loss; a few for others) that gives the products of the features of the set.
    """

    def __init__(self, parts: Parts, design: Design, task: Task) -> None:
        self.parts, self.design, self.task = parts, design, task

    def solve(
        self,
        strength: float,
        limits: Limits,
        rng: np.random.Generator,
        start: Fitted | None = None,
    ) -> Fitted:
        """Return the model of a strength."""
        began = perf_counter()
        history: dict[str, list[float]] = {key: [] for key in HISTORY}
        outputs = self.task.outputs
        point = Point([], np.zeros((0, outputs)), np.zeros(outputs))
        fitted = start
        if start is not None:
            point = start.point
        best: Fitted | None = None
        quiet = replace(limits, callback=lambda *_: None)
        interrupted, idle = False, 0
        try:
            for k in range(1, limits.max_iter + 1):
                sums: Sums = self.parts.total(sums_at, self.design, point, True, None)
                gradients = Gradients(self.design.family, sums.tables, strength)
                size = float(fitted_norm(self.design.family, point))
                objective = sums.risk + strength / 2 * size**2
                certificate = certificate_of(
                    self.task, sums, point, strength, gradients.largest, objective
                )
                theta = weights_of(self.design.family, point)
                record = (k, perf_counter() - began, objective, certificate.relative, len(theta))
                for key, value in zip(HISTORY, record, strict=True):
                    history[key].append(float(value))
                limits.callback(k, objective, certificate.relative, len(theta))
                converged = certificate.relative <= limits.tol
                best = Fitted(point, theta, objective, certificate, history, converged)
                late = limits.max_time is not None and perf_counter() - began > limits.max_time
                if converged or late:
                    break
                limit = float(theta @ gradients.of(point.indices)) if len(theta) else 0.0
                fresh = gradients.top(max(BATCH, len(theta)), NEARLY * limit, set(point.indices))
                idle = 0 if fresh else idle + 1
                if idle > IDLE:
                    break  # rounding: the set is right and its optimum as good as can be had
                inside = Whole(self.parts, self.design, self.task, [*point.indices, *fresh])
                goal = SHARE * min(1.0, max(certificate.relative, limits.tol))
                tight = replace(quiet, tol=goal if fresh else SHARE * goal)
                fitted = inside.solve(strength, tight, rng, best)
                point = fitted.point
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
        assert best is not None
        return replace(best, interrupted=interrupted)

    def covariances(self, point: Point) -> Array:
        """Return the covariances of the features in use with the function, of shape (m, c)."""
        return covariances_of(self.parts, self.design, point)

    def start(self) -> tuple[float, float]:
        """Return the risk of the best constant, and the largest of the gradients there."""
        outputs = self.task.outputs
        nothing = Point([], np.zeros((0, outputs)), np.zeros(outputs))
        sums, _ = constant(self.parts, self.design, self.task, nothing, True)
        return sums.risk, Gradients(self.design.family, sums.tables, 1.0).largest


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


class Gradients:
    """The gradients of all kernels of a family, from tables of inner products by degree."""

    def __init__(self, family: ProductFamily, tables: Sequence[Array], strength: float) -> None:
        self.family, self.masses = family, []
        starts = family.bases.offsets[:-1]  # type: ignore[union-attr]
        strict = int(family.index_set.strict)
        for degree, table in enumerate(tables):
            masses = np.sum((table / strength) ** 2, axis=0)
            for axis in range(degree):
                masses = np.add.reduceat(masses, starts, axis=axis)
            if degree > 1:
                # Only indices in ascending order are kernels.
                numbers = np.indices(masses.shape)
                for left, right in pairwise(numbers):
                    masses = np.where(right >= left + strict, masses, -1.0)
            self.masses.append(masses / family.rho[degree] ** 2)

    @property
    def largest(self) -> float:
        """The largest gradient."""
        return max(float(masses.max()) for masses in self.masses)

    def of(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels."""
        return np.array([float(self.masses[len(index)][tuple(index)]) for index in indices])

    def top(self, count: int, above: float, known: set[Index]) -> list[Index]:
        """Return the kernels of largest gradient above a limit that are not known."""
        found: list[tuple[float, Index]] = []
        room = count + len(known)
        for masses in self.masses:
            flat = masses.ravel()
            best = np.argsort(-flat, kind="stable")[:room]
            for place in best[flat[best] > above].tolist():
                index = tuple(int(i) for i in np.unravel_index(place, masses.shape))
                if index not in known:
                    found.append((-float(flat[place]), index))
        return [index for _, index in sorted(found)[:count]]


def certificate_of(
    task: Task, sums: Sums, point: Point, strength: float, norm: float, objective: float
) -> Certificate:
    """Return the certificate at a point whose slopes have a dual norm."""
    gap = abs(objective + sums.conjugate + strength / 2 * norm)
    if task.intercept:
        # A dual point must add up to zero; see Problem.infeasibility.
        gap += float((np.abs(point.intercept) + task.reach) @ np.abs(sums.slope))
    return Certificate(gap, gap / objective if objective > 0 else 0.0, "exact")


def fitted_norm(family: ProductFamily, point: Point) -> float:
    """Return the sum of the norms of the coefficients of kernels."""
    return float(_kernel_norms(family, point).sum())


def weights_of(family: ProductFamily, point: Point) -> Array:
    """Return the weights that p = 1 gives to the kernels of a model."""
    norms = _kernel_norms(family, point)
    return norms / (norms.sum() or 1.0)


def _kernel_norms(family: ProductFamily, point: Point) -> Array:
    energy = np.sum(point.coefficients**2, axis=1)
    owners = family.owners(point.indices)
    return np.sqrt(np.bincount(owners, energy, minlength=len(point.indices)))


def _dual(p: float) -> float:
    """Return the exponent of the dual norm of gradients."""
    if p == 2:
        return 1.0
    return np.inf if p == 1 else exponent(p) / (exponent(p) - 1)


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
