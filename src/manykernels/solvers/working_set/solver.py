"""The rounds of a working set: price the whole family, add kernels, solve, drop kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...backend import on_host
from ...certificate import from_norm
from ...families import KernelFamily
from ...families.pricing import Shortlist, pricer
from ...objective import Problem
from ..base import FinalState, Needs, Result
from .inner import FINEST_GAP, GAP_SHARE, WorkingKernels

IDLE_ROUNDS = 2
"""Number of rounds without a new kernel and without progress after which a run ends: what is left
is rounding. Set by judgement, not measured."""

SINGLE_ERROR = 1e-4
"""Relative error of gradients in single precision, with room to spare."""


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
    needs: ClassVar[Needs] = Needs(lambda p: p == 1, "p = 1", priced=True)

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[FinalState]:
        """Yield the state before each round.

        Cost of a round: one pricing of the family and a few Newton steps, O(n m^2 + m^3) each for
        m features in the set (kernels without features: O(n^3 + m n^2) for each update of the
        weights).
        """
        return self._from(problem, family, WorkingKernels(problem, family))

    def resume(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator, start: Result
    ) -> Iterator[FinalState]:
        """Yield the state before each round, from the kernels of a start."""
        inside = WorkingKernels(problem, family)
        inside.start(start)
        return self._from(problem, family, inside)

    def _from(
        self, problem: Problem, family: KernelFamily, inside: WorkingKernels
    ) -> Iterator[FinalState]:
        price, idle, smallest = ExactPricer(family), 0, np.inf
        for k in count(1):
            room = max(self.batch, len(inside.indices)) if inside.groups else family.rows
            # Kernels of the set may be listed too, so room is left for all of them.
            listed, norm = price.top(inside.solution.alpha, room + len(inside.indices))
            certificate = from_norm(problem, inside.solution, norm, "exact")
            yield inside.state(k, certificate)
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
            inside.solve(fresh, max(FINEST_GAP, GAP_SHARE * min(1.0, certificate.relative)))
            moved = bool(fresh) or inside.solution.objective < before * (1 - 1e-10)
            idle = 0 if moved or better else idle + 1
            if idle >= IDLE_ROUNDS:
                return  # rounding: the set is right and its optimum as good as can be had


class ExactPricer:
    """Kernels of largest gradient, and the largest gradient of all, in double precision.

    On a device the family is priced in single precision, and the best kernels once more in double.
    """

    def __init__(self, family: KernelFamily) -> None:
        self.family = family
        self.rough = not on_host(family.bases.matrix) and family.explicit
        self.pricer = pricer(family, bits=32 if self.rough else 64)

    def top(self, alpha: Array, count: int) -> tuple[Shortlist, float]:
        """Return kernels of largest gradient, ``count`` at most, and a bound of all gradients.

        The bound is the largest gradient unless single precision cannot tell the kernels listed
        from the others.
        """
        listed = self.pricer.top(alpha, count)
        if not self.rough or not listed.indices:
            return listed, float(listed.scores[0]) if listed.indices else 0.0
        exact = self.family.at(alpha).gradients(listed.indices)
        order = np.argsort(-exact, kind="stable")
        ranked = Shortlist([listed.indices[i] for i in order.tolist()], exact[order])
        full = len(listed.indices) == count
        others = float(listed.scores[-1]) * (1 + SINGLE_ERROR) if full else 0.0
        return ranked, max(float(ranked.scores[0]), others)
