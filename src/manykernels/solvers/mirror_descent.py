"""Randomized mirror descent: the paper's Algorithm 1, and Algorithm 2 as its Euclidean case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from math import log
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Index
from ..certificate import Certificate, bound, estimate, exact
from ..dual import DualSolution, solve
from ..families import Draw, GradientField, KernelFamily
from ..objective import Problem
from ..potentials import Potential, PowerNorm
from .base import Needs, Result, refuse_settings
from .iterate import Iterate
from .kept import frozen
from .theory import Constants, GradientMoments, HarmonicStep, StepSize

OWN_NORM_EXPONENT = 1.05
"""Exponent nu from which on the mirror map is that of the ball's own norm, whose gradient is too
steep to follow below it. Set by judgement, not measured."""

ITERATION_TOL = 1e-7
"""Relative duality gap to which the dual is solved at each iteration. Far below the gaps that
mirror descent reaches; set by judgement, not measured."""


class Sampler(Protocol):
    r"""A distribution s over a family, positive wherever the gradient is.

    The draws carry the importance ratios :math:`g_i/s_i`, which make the estimate unbiased.
    """

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw kernels given the gradient at the present dual point."""


@dataclass(frozen=True)
class GradientSampler:
    """Draw in proportion to the gradient: the estimate of least second moment."""

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw from q."""
        return field.draw(count, rng)


@dataclass(frozen=True)
class UniformSampler:
    """Draw uniformly (uniform coordinate descent, UCD)."""

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw uniformly from the index set."""
        indices, probabilities = family.uniform(count, rng)
        counts = Counter(indices)
        distinct = list(counts)
        probability = dict(zip(indices, probabilities, strict=True))
        gradients = field.gradients(distinct)
        ratios = gradients / np.array([probability[index] for index in distinct])
        repeats = np.fromiter(counts.values(), dtype=np.int64, count=len(distinct))
        return Draw(distinct, repeats, gradients, ratios, float("inf"))


@dataclass(frozen=True)
class DescentState:
    r"""Mirror descent before step k: the solution at :math:`\theta^{(k-1)}` and the step to come.

    Attributes
    ----------
    iterate : Iterate
        The weights :math:`\theta^{(k-1)}` (they change when the generator goes on).
    gradient : GradientField
        The gradient over the family at the solution.
    draw : Draw
        The draws that the step will use.
    estimate : ndarray
        :math:`-\hat g_k` at the drawn kernels.
    eta : float
        The step size :math:`\eta_{k-1}`.
    averaged : bool
        Whether the solver's answer is the average iterate.
    constants : Constants
        The theorem's constants measured on the steps taken.
    kept : callable
        What the solver goes on from; see :class:`~.base.State`.
    """

    k: int
    iterate: Iterate
    solution: DualSolution
    problem: Problem
    gradient: GradientField
    draw: Draw
    estimate: Array
    eta: float
    averaged: bool
    constants: Constants
    kept: Callable[[], dict[str, Any]] | None = None

    final = False
    memory = None

    @cached_property
    def certificate(self) -> Certificate:
        """What is known of the duality gap at these weights without further draws."""
        if self.gradient.enumerated:
            return exact(self.problem, self.solution, self.gradient)
        from_draw = bound if self.problem.p == 1 else estimate
        return from_draw(self.problem, self.solution, self.draw)

    @property
    def active(self) -> int:
        """Number of kernels visited."""
        return self.iterate.active

    @property
    def weights(self) -> tuple[list[Index], Array]:
        """The solver's answer if it stopped here: kernels and their positive weights."""
        theta = self.iterate.average if self.averaged else self.iterate.theta
        live = np.flatnonzero(theta > 0).tolist()
        return [self.iterate.indices[i] for i in live], theta[live]


@dataclass(frozen=True)
class MirrorDescent:
    r"""Randomized mirror descent over the weights of a family of kernels.

    Each iteration solves the dual at the present weights, draws a few kernels, and takes a
    mirror-descent step along the unbiased estimate of the gradient that they give.

    Parameters
    ----------
    draws : int, default=50
        Kernels drawn for one dual solution; 1 is the paper's algorithm. b draws share the dual
        solution and much of their own work, and cut the variance of the estimate by b.
    sampler : Sampler, default=GradientSampler()
        Distribution of the draws.
    step : StepSize, default=HarmonicStep()
        Step sizes.
    potential : Potential, optional
        Mirror map. By default :math:`\|\theta\|_\nu^2/2`, whose projection is a scaling (the
        paper's Algorithm 2 at nu = 2); for nu < 1.05, where that is no mirror map or nearly
        none, :math:`\|\theta\|_q^2/2` with :math:`q = 1 + 1/\ln d`.
    average : bool, default=False
        Whether the result is the average iterate, which the theorem bounds, or the last.
    known : int, default=0
        Kernels of largest weight whose gradient is computed rather than estimated in each
        iteration; draws then stand for all others. The estimate stays unbiased, and its variance
        is that of the rest alone. 0 is the paper's algorithm.
    """

    draws: int = 50
    sampler: Sampler = field(default_factory=GradientSampler)
    step: StepSize = field(default_factory=HarmonicStep)
    potential: Potential | None = None
    average: bool = False
    known: int = 0

    def __post_init__(self) -> None:
        refuse_settings(self, {"draws": 1, "known": 0})

    @property
    def needs(self) -> Needs:
        """P < 2; a list of all kernels where the mirror map starts with all weights positive."""
        positive = self.potential is not None and self.potential.start(2, 1.0) > 0
        words = "p < 2 (p = 2 has a closed form)"
        return Needs(lambda p: p < 2, words, listed=positive, drawn=True)

    def mirror_map(self, family: KernelFamily, nu: float) -> Potential:
        """Return the potential in use for a family and an exponent."""
        if self.potential is not None:
            return self.potential
        if nu < OWN_NORM_EXPONENT:
            return PowerNorm(min(2.0, 1 + 1 / log(max(3, family.distinct))))
        return PowerNorm(nu)

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[DescentState]:
        """Yield the state before each step; the step is taken when the next one is asked for.

        From no weights, or from those of a start. Steps are as long as without it: with steps that
        go on where those of the start ended, 111 and 130 were needed instead of 42 and 43
        (Friedman's function, 2,400 rows, 816 kernels, no and 200 known ones). The theorem
        is about runs without a start.

        Cost of an iteration: one dual solution (O(min(n, m)^2 max(n, m)) for m features in use,
        O(n^3) for kernels without features) and the draws (see the family).
        """
        potential = self.mirror_map(family, problem.nu)
        iterate = Iterate(family, potential, problem.nu)
        if start is not None and not iterate.active:
            iterate.begin(start.indices, start.theta)
        forecast = Forecast(problem, family, potential)
        radius = potential.radius(family.distinct, problem.nu)
        constants = Constants(0.0, 0.0, radius, potential.strong_convexity(), 0)
        solution: DualSolution | None = None
        first_step = 1
        if kept is not None:
            first_step, constants = kept["k"], Constants(**kept["constants"])
            iterate.restore(kept["iterate"])
            forecast.seen = kept["forecast"]
            rng.bit_generator.state = kept["rng"]
            if kept["solution"] is not None:
                solution = DualSolution(**kept["solution"])
        for k in count(first_step):
            now = {"k": k, "forecast": forecast.seen, "rng": rng.bit_generator.state}
            ahead = partial(_kept, now, iterate, constants, solution)
            solution = solve(problem, iterate.system(), solution, ITERATION_TOL)
            gradient = family.at(solution.alpha)
            if k == 1:
                # A step must not depend on the draw it is used with: the first one is
                # normalised by a draw of its own.
                first = self.sampler.draw(family, gradient, self.draws, rng)
                forecast.observe(first, first.estimate(), gradient)
            draw = self.sampler.draw(family, gradient, self.draws, rng)
            eta = self.step(k, forecast.moments(gradient))
            indices, estimate = self._estimate(iterate, gradient, draw)
            ascent = problem.slope(estimate)
            point = k, iterate, solution, problem, gradient
            yield DescentState(*point, draw, ascent, eta, self.average, constants, ahead)
            iterate.step(indices, eta * ascent, eta)
            forecast.observe(draw, estimate, gradient)
            squares = problem.slope(draw.ratios) ** 2
            constants = constants.after(draw.mean(squares), float(squares.max(initial=0.0)))

    resume = iterate

    def _estimate(
        self, iterate: Iterate, gradient: GradientField, draw: Draw
    ) -> tuple[list[Index], Array]:
        """Return an unbiased estimate of the gradient: kernels and the estimate at them."""
        if not self.known or not iterate.active:
            return draw.indices, draw.estimate()
        heaviest = np.argsort(-iterate.theta, kind="stable")[: self.known].tolist()
        known = [iterate.indices[i] for i in heaviest]
        inside = set(known)
        rest = [i for i, index in enumerate(draw.indices) if index not in inside]
        values = np.concatenate([gradient.gradients(known), draw.estimate()[rest]])
        return known + [draw.indices[i] for i in rest], values


def _kept(
    now: dict[str, Any], iterate: Iterate, constants: Constants, solution: DualSolution | None
) -> dict[str, Any]:
    """Return what the steps go on from: all that was known before the draws of this one."""
    parts = {"iterate": iterate.frozen(), "constants": frozen(constants)}
    return {**now, **parts, "solution": None if solution is None else frozen(solution)}


class Forecast:
    """Predicts the size of the next gradient estimate from those drawn so far.

    The sizes are followed relative to the mass C, which is known before the draw, as moving
    averages over some ten iterations.
    """

    def __init__(self, problem: Problem, family: KernelFamily, potential: Potential) -> None:
        self.potential, self.strength = potential, problem.strength
        self.power = problem.dual_exponent
        self.own_norm = potential.projects_by_scaling(problem.nu)
        self.radius = potential.radius(family.distinct, problem.nu)
        self.first = 0.0
        self.second_moment: float | None = None
        self.norm_power: float | None = None

    @property
    def seen(self) -> tuple[float, float | None, float | None]:
        """All that it has learnt from draws."""
        return self.first, self.second_moment, self.norm_power

    @seen.setter
    def seen(self, values: tuple[float, float | None, float | None]) -> None:
        self.first, self.second_moment, self.norm_power = values

    def observe(self, draw: Draw, estimate: Array, gradient: GradientField) -> None:
        """Take a draw, and the estimate that it was used in, into account."""
        mass = gradient.rough_mass
        if not mass > 0:
            return
        self.second_moment = _moving(
            self.second_moment, (self.potential.dual_norm(estimate) / mass) ** 2
        )
        if self.own_norm:
            values = draw.ratios / mass * (draw.gradients / mass) ** (self.power - 1)
            self.norm_power = _moving(self.norm_power, draw.mean(values))

    def moments(self, gradient: GradientField) -> GradientMoments:
        """Return the forecast at a dual point."""
        scale = self.strength / 2 * gradient.rough_mass
        now = max(scale * np.sqrt(self.second_moment or 0.0), np.finfo(float).tiny)
        self.first = self.first or now
        curvature = scale * (self.norm_power or 0.0) ** (1 / self.power) if self.own_norm else 0.0
        return GradientMoments(
            self.first, now, curvature, self.radius, self.potential.strong_convexity()
        )


def _moving(average: float | None, value: float) -> float:
    return value if average is None else 0.9 * average + 0.1 * value
