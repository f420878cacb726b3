"""The kernels of a working set and the optimum over them, in coefficients of their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ...arrays import Array, Index
from ...certificate import Certificate
from ...dual import DualSolution, TallColumns, solve, system_of, tall_columns
from ...families import KernelFamily
from ...families.pricing import Shortlist
from ...limits import ENTERING_FEATURES
from ...losses import SmoothLoss
from ...objective import Problem, in_weights
from ..base import FinalState, Result
from .prices import Prices
from .restricted import FeatureGroups, as_solution, no_groups


class WorkingKernels:
    """The kernels of a working set, and the optimum over them.

    While there are few features the optimum is sought in their coefficients, which ``groups``
    holds; with many, and for kernels without features, in the weights of the kernels. A start in
    coefficients is taken over with what is known of its columns.
    """

    def __init__(self, problem: Problem, family: KernelFamily, start: Result | None) -> None:
        self.problem, self.family = problem, family
        self.indices: list[Index] = []
        self.theta = np.empty(0)
        self.smooth = isinstance(problem.loss, SmoothLoss)
        self.several = family.explicit and not family.blocks.single
        # Number of features in the set beyond which interior points are faster.
        self.most_features = family.rows / 2
        self.solution: DualSolution
        self.groups: FeatureGroups | None = None
        self.next: list[Index] = []
        self.prices: Prices | None = None
        self.grew = False  # whether columns of kernels in use were added in the last round
        if not family.explicit:
            self.solution = solve(problem, system_of(family, [], self.theta))
        elif start is None or not start.indices or not start.solution.in_features:
            self.groups = no_groups(problem)
        else:
            self.indices = list(start.indices)
            owners, known = family.owners(self.indices), start.memory
            if isinstance(known, FeatureGroups) and known.columns.width == len(owners):
                columns = known.columns
            else:
                columns, _ = tall_columns(family, self.indices)
            coefficients = np.sqrt(start.theta)[owners, None] * start.solution.coefficients
            self.groups = FeatureGroups(columns, owners, coefficients, start.solution.intercept)

    @property
    def memory(self) -> object:
        """What the next run may start from."""
        return self.groups

    def entering(self, listed: Shortlist, room: int) -> list[Index]:
        r"""Return the best kernels outside the set that should enter, ``room`` at most.

        Those with a gradient above the mean :math:`\langle\theta, g\rangle`, which at the optimum
        all kernels in use have; of kernels of several features as many as may enter together.
        """
        mean, family = 0.0, self.family
        if self.indices:
            mean = float(self.theta @ family.at(self.solution.alpha).gradients(self.indices))
        known = set(self.indices)
        scored = zip(listed.indices, listed.scores.tolist(), strict=True)
        fresh = [index for index, score in scored if score > mean and index not in known][:room]
        if self.several:
            most = max(ENTERING_FEATURES, sum(family.widths(self.indices)))
            fits = np.cumsum(family.widths(fresh)) <= most
            fresh = fresh[: max(1, int(np.count_nonzero(fits)))]
        return fresh

    def enter(self, fresh: list[Index]) -> None:
        """Add kernels; leave coefficients behind where there are too many."""
        self.indices = self.indices + fresh
        if self.groups is not None:
            if fresh:
                self.groups = self.groups.add(*tall_columns(self.family, fresh))
            if self.smooth and self.groups.columns.width > self.most_features:
                self.groups = None

    def adopt(self, groups: FeatureGroups, slopes: Array, live: Array) -> None:
        """Take over the coefficients of some groups, given by a mask, as the optimum."""
        groups = groups.keep(live)
        self.indices = list(compress(self.indices, live.tolist()))
        if not groups.columns.small:
            # Columns that came and went must not be made again and again.
            make = tall_columns(self.family, self.indices)[0].make
            groups = replace(groups, columns=groups.columns.remade(make))
        self.groups = groups
        self.theta, self.solution = as_solution(self.problem, groups, slopes)

    def without_zeros(self, k: int, certificate: Certificate) -> FinalState:
        """Return the kernels of positive weight and their predictor before round k."""
        live, solution = self.theta > 0, self.solution
        if solution.in_features:
            kept = live[self.family.owners(self.indices)]
            solution = replace(solution, coefficients=solution.coefficients[kept])
        weights = list(compress(self.indices, live.tolist())), self.theta[live]
        return FinalState(k, weights, len(weights[0]), solution, certificate)


EXTENSION_SHARE = 0.1
"""Share of what the largest gradient exceeds that of kernels in use by: a kernel gets a new
direction if the part of its gradient outside its directions is larger. Set by judgement, not
measured."""

FIRST_EXTENSION = 0.003
"""Share of the gradient of kernels in use that the part outside their directions must exceed at the
start of a run from another strength. Set by judgement, not measured."""


@dataclass(frozen=True)
class Subspaces:
    """What a run on kernels of several features hands on to the next strength.

    Attributes
    ----------
    groups : FeatureGroups
        Kernels in use, a few columns each: their features times directions of unit length.
    directions : list of ndarray
        The direction of each column, orthogonal to the others of its kernel.
    next : list of Index
        The best kernels outside the set when it was last priced, which may have entered since.
    prices : Prices
        What finds the kernels of largest gradient.
    """

    groups: FeatureGroups
    directions: list[Array]
    next: list[Index]
    prices: Prices | None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.directions)


class SubspaceKernels(WorkingKernels):
    r"""Kernels of several features, each in a few directions of its own.

    At the optimum the coefficients of kernel i are a multiple of its gradient
    :math:`\Phi_i^\top\alpha`: one direction of hundreds. It is not known before, but the gradients
    at a few dual points on the way there span it well enough: some five columns for each kernel
    instead of all its features. A kernel enters with its gradient's direction, and gets another one
    in each round in which its gradient has left the span of those it has. O(n m) for the gradients
    of all kernels in use with m features together, which are never made.
    """

    groups: FeatureGroups

    def __init__(self, problem: Problem, family: KernelFamily, start: Result | None) -> None:
        super().__init__(problem, family, None)
        self.directions: list[Array] = []
        self.least = 0.0
        known = None if start is None else start.memory
        if start is not None and isinstance(known, Subspaces):
            self.groups, self.directions, self.next = known.groups, known.directions, known.next
            self.prices, self.indices = known.prices, list(start.indices)
        elif start is not None and start.indices and start.solution.in_features:
            self._take_over(start)
        self._settle()
        self.least = FIRST_EXTENSION * self._length() ** 2

    @property
    def memory(self) -> object:
        """What the next run may start from."""
        return Subspaces(self.groups, self.directions, self.next, self.prices)

    def _take_over(self, start: Result) -> None:
        """Begin with the directions of a start's coefficients, which are those of its gradients."""
        self.indices = list(start.indices)
        owners = self.family.owners(self.indices)
        whole = np.sqrt(start.theta)[owners, None] * start.solution.coefficients
        parts = np.split(whole, np.flatnonzero(np.diff(owners)) + 1)
        found = [outside(part, part[:, :0] @ part[:0], 0.0) for part in parts]
        self.directions = [direction for axes in found for direction in axes.T]
        own = np.repeat(np.arange(len(found)), [axes.shape[1] for axes in found])
        coefficients = np.vstack([axes.T @ part for axes, part in zip(found, parts, strict=True)])
        columns = directed_columns(self.family, self.indices, own, self.directions)
        self.groups = FeatureGroups(columns, own, coefficients, start.solution.intercept)

    def _length(self) -> float:
        return float(self.groups.norms(self.groups.coefficients).sum())

    def entering(self, listed: Shortlist, room: int) -> list[Index]:
        """Return the best kernels outside the set whose gradient is above that of those in use."""
        mean, known = self._length() ** 2, set(self.indices)
        excess = float(listed.scores[0]) - mean if listed.indices else 0.0
        self.least = EXTENSION_SHARE * max(0.0, excess)
        scored = zip(listed.indices, listed.scores.tolist(), strict=True)
        outside = [(index, score) for index, score in scored if index not in known]
        fresh = [index for index, score in outside if score > mean][:room]
        self.next = [index for index, _ in outside[len(fresh) : len(fresh) + room]]
        return fresh

    def enter(self, fresh: list[Index]) -> None:
        """Add kernels with the direction of their gradient; extend those in use where needed."""
        alpha, family = self.solution.alpha, self.family
        fresh = [index for index in fresh if index not in set(self.indices)]
        size = len(self.indices)
        own: list[list[Array]] = [[] for _ in range(size)]
        for owner, direction in zip(self.groups.owners.tolist(), self.directions, strict=True):
            own[owner].append(direction)
        owners: list[int] = []
        directions: list[Array] = []
        for number, index in enumerate([*self.indices, *fresh]):
            gradient = family.inner([index], alpha)
            basis = np.stack(own[number], axis=1) if number < size else gradient[:, :0]
            found = outside(gradient, basis, self.least if number < size else 0.0)
            directions += list(found.T)
            owners += [number] * found.shape[1]
        self.indices, self.grew = self.indices + fresh, bool(owners)
        if not owners:
            return
        more = directed_columns(family, self.indices, np.array(owners), directions)
        groups = self.groups
        nothing = np.zeros((len(owners), groups.coefficients.shape[1]))
        self.groups = replace(
            groups,
            columns=groups.columns.add(more),
            owners=np.concatenate([groups.owners, owners]),
            coefficients=np.vstack([groups.coefficients, nothing]),
        )
        self.directions = self.directions + directions

    def adopt(self, groups: FeatureGroups, slopes: Array, live: Array) -> None:
        """Take over the coefficients of some groups, given by a mask, as the optimum."""
        self.directions = list(compress(self.directions, live[groups.owners].tolist()))
        groups = groups.keep(live)
        self.indices = list(compress(self.indices, live.tolist()))
        if not groups.columns.small:
            make = directed_columns(self.family, self.indices, groups.owners, self.directions).make
            groups = replace(groups, columns=groups.columns.remade(make))
        self.groups = groups
        self._settle(slopes)

    def _settle(self, slopes: Array | None = None) -> None:
        """Make weights and predictor from the coefficients, those of all features."""
        groups, problem = self.groups, self.problem
        assert isinstance(problem.loss, SmoothLoss)
        if slopes is None:
            slopes = problem.loss.gradient(problem.y, groups.fitted)
        widths = self.family.widths(self.indices)
        parts = [np.zeros((width, problem.y.shape[1])) for width in widths]
        each = zip(groups.owners.tolist(), self.directions, groups.coefficients, strict=True)
        for owner, direction, coefficients in each:
            parts[owner] += direction[:, None] * coefficients
        whole = np.vstack([np.empty((0, problem.y.shape[1])), *parts])
        self.theta, scaled = in_weights(whole, self.family.owners(self.indices))
        solution = as_solution(problem, groups, slopes)[1]
        self.solution = replace(solution, coefficients=scaled)


def directed_columns(
    family: KernelFamily, indices: Sequence[Index], owners: Array, directions: list[Array]
) -> TallColumns:
    """Return features times directions; made some rows at a time if there is no room."""
    own = [(indices[i], np.flatnonzero(owners == i)) for i in np.unique(owners).tolist()]
    axes = [np.stack([directions[j] for j in places], axis=1) for _, places in own]

    def make(rows: slice) -> Array:
        whole = rows == slice(0, family.rows)
        here = family if whole else family.on(family.blocks.take(rows))
        out = np.empty((here.rows, len(owners)), order="F")
        for (index, places), axis in zip(own, axes, strict=True):
            out[:, places] = here.combine([index], axis)
        return out

    return TallColumns(make, family.rows, len(owners), family.room / 2)


def outside(gradient: Array, basis: Array, least: float) -> Array:
    """Return orthonormal directions of a gradient's columns outside the span of a basis.

    As many as have more energy than ``least``, of shape (m, q); rounding counts for nothing.
    """
    rest = gradient
    for _ in range(2):  # once more, for the digits that the first time loses
        rest = rest - basis @ (basis.T @ rest)
    energy = float(np.sum(gradient**2))
    left, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    return left[:, sizes**2 > max(least, ROUNDING * energy)]


ROUNDING = 1e-20
"""Share of a gradient's energy that is rounding, however small."""
