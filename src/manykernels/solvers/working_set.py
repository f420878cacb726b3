"""p = 1: a working set of kernels, grown by exact pricing of the whole family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from ..arrays import Array, Index
from ..backend import on_host
from ..bases import FeatureBlocks
from ..certificate import Certificate, from_norm
from ..dual import DualSolution, solve
from ..families import KernelFamily
from ..families.pricing import Shortlist, pricer
from ..losses import SmoothLoss
from ..objective import Problem
from .full_pass import best_weights
from .interior import KernelList, solve_interior
from .iterate import maker, system_of, tall_columns
from .majorise import descend
from .restricted import Groups, as_solution, no_groups, restricted_gap, solve_restricted
from .result import Result

SHARE = 0.1
"""A restricted problem is solved to this share of the gap over the whole family."""

FINEST = 1e-10
"""No restricted problem is solved to less than this relative gap."""

ENTERING = 500
"""So many features may enter in a round, and more if the set has more."""

FEW_ROWS = 3_000
"""Up to so many rows interior points go on where descent has come to a halt."""

SMALL_ROWS = 1_000
"""Up to so many rows interior points are faster than descent beyond twice as many features."""

UPDATES = 300
"""Most updates of the weights in one round, for kernels given by matrices and kinked losses."""

NEARLY = 1e-7
"""Relative gap to which Newton's method always goes, and interior points of several features."""

IDLE = 2
"""Rounds without a new kernel and without progress before the last."""

ROUGH = 1e-4
"""Relative error of gradients in single precision, with room to spare."""

NOTHING = 1e-7
"""Weights of so much of the largest are zero, where a method only comes near to zero."""


@dataclass(frozen=True)
class Round:
    """The optimum over a working set.

    Attributes
    ----------
    k : int
        Number of the round to come, from 1.
    indices : list of Index
        Kernels with a positive weight.
    theta : ndarray
        Their weights.
    solution : DualSolution
        Predictor and objective.
    certificate : Certificate
        The exact duality gap over the whole family.
    memory : Groups, optional
        The columns of these kernels and their products.
    """

    k: int
    indices: list[Index]
    theta: Array
    solution: DualSolution
    certificate: Certificate
    memory: Groups | None = None

    final = True
    constants = None

    @property
    def active(self) -> int:
        """Number of kernels with a positive weight."""
        return len(self.indices)

    @property
    def weights(self) -> tuple[list[Index], Array]:
        """Kernels and their positive weights."""
        return self.indices, self.theta


@dataclass(frozen=True)
class WorkingSet:
    r"""Solve p = 1 on a small set of kernels, price the whole family, add the worst offenders.

    At the optimum no kernel has a gradient above :math:`\langle\theta, g\rangle`. Each round adds
    the kernels of largest gradient that do, solves the problem on the set to a tenth of the gap,
    and drops the kernels whose weight has become zero.

    Parameters
    ----------
    batch : int, default=20
        Fewest kernels that may enter in a round; as many as there are in the set if these are
        more.
    """

    batch: int = 20

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Yield the state before each round.

        Cost of a round: one pricing of the family and a few Newton steps, O(n m^2 + m^3) each for
        m features in the set (kernels without features: O(n^3 + m n^2) for each update of the
        weights).
        """
        return self._from(problem, family, Inside(problem, family))

    def resume(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator, start: Result
    ) -> Iterator[Round]:
        """Yield the state before each round, from the kernels of a start."""
        inside = Inside(problem, family)
        inside.start(start)
        return self._from(problem, family, inside)

    def _from(self, problem: Problem, family: KernelFamily, inside: Inside) -> Iterator[Round]:
        price, idle, smallest = Exact(family), 0, np.inf
        for k in count(1):
            room = max(self.batch, len(inside.indices)) if inside.groups else family.rows
            # Of the kernels in the set none is far above the limit; so many more are enough.
            listed, norm = price.top(inside.solution.alpha, room + len(inside.indices))
            certificate = from_norm(problem, inside.solution, norm, "exact")
            yield inside.round(k, certificate)
            known = set(inside.indices)
            limit = inside.limit
            fresh = [
                index
                for index, score in zip(listed.indices, listed.scores.tolist(), strict=True)
                if score > limit and index not in known
            ]
            before, better = inside.solution.objective, certificate.relative < 0.5 * smallest
            smallest = min(smallest, certificate.relative)
            fresh = inside.affordable(fresh[:room])
            inside.solve(fresh, max(FINEST, SHARE * min(1.0, certificate.relative)))
            moved = bool(fresh) or inside.solution.objective < before * (1 - 1e-10)
            idle = 0 if moved or better else idle + 1
            if idle >= IDLE:
                return  # rounding: the set is right and its optimum as good as can be had


class Exact:
    """Kernels of largest gradient, and the largest gradient of all, in double precision.

    On a device the family is priced in single precision, and the best kernels once more in double.
    """

    def __init__(self, family: KernelFamily) -> None:
        self.family = family
        self.rough = not on_host(family.bases.matrix) and family.explicit
        self.pricer = pricer(family, bits=32 if self.rough else 64)

    def top(self, alpha: Array, count: int) -> tuple[Shortlist, float]:
        """Return so many kernels of largest gradient, and a bound of all gradients.

        The bound is the largest gradient unless single precision cannot tell the kernels listed
        from the others.
        """
        listed = self.pricer.top(alpha, count)
        if not self.rough or not listed.indices:
            return listed, float(listed.scores[0]) if listed.indices else 0.0
        exact = self.family.at(alpha).gradients(listed.indices)
        order = np.argsort(-exact, kind="stable")
        ranked = Shortlist([listed.indices[i] for i in order.tolist()], exact[order])
        others = float(listed.scores[-1]) * (1 + ROUGH) if len(listed.indices) == count else 0.0
        return ranked, max(float(ranked.scores[0]), others)


class Inside:
    """The kernels of a working set, and the optimum over them.

    Three methods find it. For kernels of several features it is descent over one kernel after
    another (:mod:`.majorise`). For kernels of one feature Newton's method with exact zeros
    (:mod:`.restricted`) is fast while the features in use are fewer than half the rows; interior
    points (:mod:`.interior`) are for what lies beyond, down to interpolation, and for kernels
    without features.
    """

    def __init__(self, problem: Problem, family: KernelFamily) -> None:
        self.problem, self.family = problem, family
        self.indices: list[Index] = []
        self.theta = np.empty(0)
        self.groups: Groups | None = None
        self.smooth = isinstance(problem.loss, SmoothLoss)
        bases = family.bases
        self.blocks = isinstance(bases, FeatureBlocks) and not bases.single
        # Beyond so many features in use interior points are faster.
        self.most_features = family.rows / 2
        if self.blocks:
            self.most_features = 2 * family.rows if family.rows <= SMALL_ROWS else np.inf
        if family.explicit:
            self.groups = no_groups(problem)
            self._primal(FINEST)
        else:
            self.solution = solve(problem, system_of(family, [], self.theta))

    @property
    def limit(self) -> float:
        r"""The mean gradient :math:`\langle\theta, g\rangle`; all in use have it at the optimum."""
        if not self.indices:
            return 0.0
        return float(self.theta @ self.family.at(self.solution.alpha).gradients(self.indices))

    def affordable(self, fresh: list[Index]) -> list[Index]:
        """Return the first of some kernels: as many features as there are, or some, but one."""
        if not self.blocks:
            return fresh
        room = max(ENTERING, sum(self.family.widths(self.indices)))
        fits = np.cumsum(self.family.widths(fresh)) <= room
        return fresh[: max(1, int(np.count_nonzero(fits)))]

    def start(self, start: Result) -> None:
        """Take over the kernels of a start and what is known of them."""
        fresh = list(start.indices)
        if self.groups is not None and start.solution.in_features:
            columns, owners = tall_columns(self.family, fresh)
            if isinstance(start.memory, Groups) and start.memory.columns.width == len(owners):
                columns = start.memory.columns
            roots = np.sqrt(start.theta)[owners, None]
            coefficients = roots * start.solution.coefficients
            self.groups = Groups(columns, owners, coefficients, start.solution.intercept)
            self.indices, fresh = fresh, []
        self.solve(fresh, SHARE)

    def solve(self, fresh: list[Index], tol: float) -> None:
        """Add kernels; find the optimum over the set."""
        self.indices = self.indices + fresh
        if self.groups is not None:
            if fresh:
                self.groups = self.groups.add(*tall_columns(self.family, fresh))
            if self.smooth and self.groups.columns.width > self.most_features:
                self.groups = None
        if self.groups is not None:
            self._primal(tol)
        elif self.smooth:
            self._interior(tol)
        else:
            self._analytic(len(fresh), tol)

    def _primal(self, tol: float) -> None:
        assert self.groups is not None
        everything = self.indices
        smooth = self.smooth
        if smooth and self.blocks and everything:
            self.groups, slopes = descend(self.problem, self.groups, tol)
            few = self.family.rows <= FEW_ROWS
            if few and restricted_gap(self.problem, self.groups, slopes) > tol:
                # Descent is slow near interpolation; interior points are not.
                self.groups = None
                self._interior(tol)
                return
        else:
            # For a few steps more the answer does not depend on the method.
            goal = min(tol, NEARLY) if smooth else tol
            self.groups, slopes = solve_restricted(self.problem, self.groups, goal)
        # At kinks the slopes must be such that kernels without weight stay so: these stay too.
        live = (self.groups.norms(self.groups.coefficients) > 0) | (not smooth)
        self.groups = self.groups.keep(live)
        self.indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        # Columns that came and went must not be made again and again.
        columns = self.groups.columns.remade(maker(self.family, self.indices))
        self.groups = replace(self.groups, columns=columns)
        self.theta, self.solution = as_solution(self.problem, self.groups, slopes)
        if not smooth:
            gap = self._settle_kinks(restricted_gap(self.problem, self.groups, slopes))
            if gap > tol and everything:
                # Proximal steps can come to a halt between kinks; the slower method does not.
                self.groups, self.indices, self.theta = None, everything, np.empty(0)
                self._analytic(len(everything), tol)

    def _settle_kinks(self, gap: float) -> float:
        """Take the dual solution of the weights if it certifies them better than the slopes do.

        At kinks a loss has many slopes. Those of proximal steps certify zero weights too; the
        dual solution is the more accurate one where there are few kernels or none. Return the
        relative gap over the set.
        """
        system = system_of(self.family, self.indices, self.theta)
        other = solve(self.problem, system, self.solution)
        masses = self.family.at(other.alpha).gradients(self.indices)
        own = from_norm(self.problem, other, float(masses.max(initial=0.0)), "exact")
        if own.relative < gap and other.in_features:
            self.solution = other
            return own.relative
        return gap

    def _interior(self, tol: float) -> None:
        kernels = KernelList(self.family, self.indices)
        # Near interpolation the gradients of points well inside lead to the right kernels, those
        # of exact optima of small sets astray.
        goal = min(tol, NEARLY) if self.blocks else tol
        theta, self.solution = solve_interior(self.problem, kernels, goal)
        self._keep(theta, theta > NOTHING * theta.max())
        # Ends at once but where interior points have failed (losses with jumps of curvature).
        self._analytic(0, 2 * tol)

    def _analytic(self, fresh: int, tol: float) -> None:
        # Zeros are absorbing: new kernels start with as much as the average.
        theta = np.concatenate([self.theta, np.full(fresh, 1 / max(1, len(self.indices)))])
        self._keep(theta, np.ones(len(theta), dtype=bool))
        for _ in range(UPDATES):
            system = system_of(self.family, self.indices, self.theta)
            self.solution = solve(self.problem, system, self.solution)
            gradients = self.family.at(self.solution.alpha).gradients(self.indices)
            norm = float(gradients.max(initial=0.0))
            if from_norm(self.problem, self.solution, norm, "exact").relative <= tol:
                return
            theta = best_weights(self.theta, gradients, 1.0)
            self._keep(theta, theta > NOTHING)

    def _keep(self, theta: Array, live: Array) -> None:
        self.indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        self.theta = theta[live] / theta[live].sum()

    def round(self, k: int, certificate: Certificate) -> Round:
        """Return the state."""
        live, solution = self.theta > 0, self.solution
        indices = [self.indices[i] for i in np.flatnonzero(live).tolist()]
        if solution.in_features and not live.all():
            kept = live[self.family.owners(self.indices)]
            solution = replace(solution, coefficients=solution.coefficients[kept])
        memory = self.groups if live.all() else None
        return Round(k, indices, self.theta[live], solution, certificate, memory)
