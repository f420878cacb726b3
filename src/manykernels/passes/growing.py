"""A working set of kernels, grown by passes that price the whole family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import perf_counter

import numpy as np

from ..arrays import Array, Index
from ..objective import weights_from_norms
from ..solvers import Callback, Result, Slot, Solver
from ..spec import StopRule
from .base import PassFits, Record, kernel_norms
from .spreads import TableSpreads
from .sums import PartsModel, Recipe
from .whole import INNER_SHARE, Whole

FEWEST_ENTRANTS = 20
"""Kernels that may enter in a round, at the least; else as many as are in use. Set by judgement."""

ENTRY_SHARE = 0.999
"""Kernels whose gradient is this share of the mean gradient in use, or more, may enter."""

IDLE_PASSES = 2
"""Rounds without a new kernel and without progress after which only rounding is left to improve."""


class Growing(PassFits):
    """p = 1 over a family too large for the products of all features: a working set.

    Each round takes one pass that prices the whole family at the present model, and one (for the
    squared loss; a few for others) that gives the products of the features of the set.
    """

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
        """Return the model of a strength, from that of another one; rounds are kept in the slot."""
        record, family = Record(stop, callback), self.family
        model = self.recipe.nothing() if start is None else self.model(start)
        best: Result | None = None
        interrupted, idle, smallest = False, 0, np.inf
        first, known = 1, None if slot is None else slot.read()
        if known is not None:
            first, idle, smallest = known["rounds"]
            model = PartsModel(**known["model"])
            record.history, record.began = known["history"], record.began - known["seconds"]
            rng.bit_generator.state = known["rng"]
        try:
            for passes in range(first, stop.max_iter + 1):
                if slot is not None:
                    now = {"rounds": (passes, idle, smallest), "history": record.history}
                    now |= {"model": vars(model), "rng": rng.bit_generator.state}
                    slot.offer(partial(dict, now, seconds=perf_counter() - record.began))
                sums = self.sums(model, True, None)
                gradients = Gradients(self.recipe, sums.tables, strength)
                owners = family.owners(model.indices)
                norms = kernel_norms(model.coefficients, owners, len(model.indices))
                size = float(norms.sum())
                objective, certificate = self.certify(
                    sums, model, strength, gradients.largest, size
                )
                theta = weights_from_norms(norms, 1.0)
                record.add(passes, objective, certificate, len(theta))
                converged = certificate.relative <= stop.tol
                best = self.result(model, theta, objective, certificate, record.history, converged)
                if converged or record.late:
                    break
                limit = float(theta @ gradients.of(model.indices)) if len(theta) else 0.0
                room = max(FEWEST_ENTRANTS, len(theta))
                fresh = gradients.top(room, ENTRY_SHARE * limit, set(model.indices))
                better = certificate.relative < 0.5 * smallest
                smallest = min(smallest, certificate.relative)
                idle = 0 if fresh or better else idle + 1
                if idle > IDLE_PASSES:
                    break  # rounding: the set is right and its optimum as good as can be had
                inside = Whole(self.parts, self.recipe, [*model.indices, *fresh])
                goal = INNER_SHARE * min(1.0, max(certificate.relative, stop.tol))
                # Where no kernel is missing the next optimum may be the last.
                tight = replace(stop, tol=goal if fresh else INNER_SHARE * stop.tol)
                model = self.model(inside.solve(solver, strength, tight, rng, best))
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
        assert best is not None
        return replace(best, interrupted=interrupted)

    def start(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return the risk of the best constant, and the largest of the gradients there."""
        sums = self.constant(self.recipe.nothing(), True)
        return sums.risk, Gradients(self.recipe, sums.tables, 1.0).largest


class Gradients:
    """The gradients of all kernels of a family, from tables of inner products by degree."""

    def __init__(self, recipe: Recipe, tables: Sequence[Array], strength: float) -> None:
        self.family, self.masses = recipe.products, []
        family, spreads = recipe.products, getattr(recipe.family, "spreads", None)
        starts = family.blocks.offsets[:-1]
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
            masses = masses / family.rho[degree] ** 2
            if isinstance(spreads, TableSpreads):
                masses = masses * spreads.tables[degree]
            self.masses.append(masses)

    @property
    def largest(self) -> float:
        """The largest gradient."""
        return max(float(masses.max()) for masses in self.masses)

    def of(self, indices: Sequence[Index]) -> Array:
        """Return the gradients of given kernels."""
        kernels = [self.family.factors(index) for index in indices]
        return np.array([float(self.masses[len(own)][own]) for own in kernels])

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
