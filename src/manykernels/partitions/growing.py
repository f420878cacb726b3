"""A working set of kernels, grown by passes that price the whole family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..arrays import Array, Index
from ..families import ProductFamily
from ..objective import weights_from_norms
from .model import Fitted, Limits, Record, Task
from .passes import certificate_of, constant, covariances_of
from .rows import Design, Parts, Point, Sums, sums_at
from .whole import SHARE, Whole

BATCH = 20
"""Fewest kernels that may enter in a round."""

NEARLY = 0.999
"""Kernels of so much of the mean gradient in use may enter."""

IDLE = 2
"""Rounds without a new kernel before the last."""


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
        record = Record(limits)
        outputs = self.task.outputs
        point = Point([], np.zeros((0, outputs)), np.zeros(outputs))
        if start is not None:
            point = start.point
        best: Fitted | None = None
        quiet = replace(limits, callback=lambda *_: None)
        interrupted, idle = False, 0
        try:
            for passes in range(1, limits.max_iter + 1):
                sums: Sums = self.parts.total(sums_at, self.design, point, True, None)
                gradients = Gradients(self.design.family, sums.tables, strength)
                size = float(fitted_norm(self.design.family, point))
                objective = sums.risk + strength / 2 * size**2
                certificate = certificate_of(
                    self.task, sums, point, strength, gradients.largest, objective
                )
                theta = weights_of(self.design.family, point)
                record.add(passes, objective, certificate.relative, len(theta))
                converged = certificate.relative <= limits.tol
                best = Fitted(point, theta, objective, certificate, record.history, converged)
                if converged or record.late:
                    break
                limit = float(theta @ gradients.of(point.indices)) if len(theta) else 0.0
                fresh = gradients.top(max(BATCH, len(theta)), NEARLY * limit, set(point.indices))
                idle = 0 if fresh else idle + 1
                if idle > IDLE:
                    break  # rounding: the set is right and its optimum as good as can be had
                inside = Whole(self.parts, self.design, self.task, [*point.indices, *fresh])
                goal = SHARE * min(1.0, max(certificate.relative, limits.tol))
                tight = replace(quiet, tol=goal if fresh else SHARE * goal)
                point = inside.solve(strength, tight, rng, best).point
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


def fitted_norm(family: ProductFamily, point: Point) -> float:
    """Return the sum of the norms of the coefficients of kernels."""
    return float(_kernel_norms(family, point).sum())


def weights_of(family: ProductFamily, point: Point) -> Array:
    """Return the weights that p = 1 gives to the kernels of a model."""
    return weights_from_norms(_kernel_norms(family, point), 1.0)


def _kernel_norms(family: ProductFamily, point: Point) -> Array:
    energy = np.sum(point.coefficients**2, axis=1)
    owners = family.owners(point.indices)
    return np.sqrt(np.bincount(owners, energy, minlength=len(point.indices)))
