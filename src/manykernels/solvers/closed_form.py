"""p = 2: the optimum is the sum of all kernels, no search needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Index
from ..backend import approximately
from ..certificate import from_norm
from ..deadline import OutOfTimeError, strictly
from ..dual import FeatureSystem, GramSystem, System, solve, system_of
from ..families import KernelFamily
from ..limits import LISTED_KERNELS
from ..objective import Problem
from .base import FinalState, Needs, Result
from .loop import run

DRAWN_KERNELS = 1_000
"""Number of draws that find the important kernels of a family too large to list. Set by judgement,
not measured."""


@dataclass(frozen=True)
class KernelTotal(FinalState):
    """The sum of all kernels, ``active`` in number; of very many the important ones are listed.

    ``closed`` says whether it is a matrix in closed form, so that not all need be listed.
    """

    closed: bool = False

    steps = 1


@dataclass(frozen=True)
class ClosedForm:
    r"""Solve the problem with p = 2, where :math:`\theta = 1` is optimal, in one step.

    The kernel is :math:`\sum_d \rho_d^{-2} Q_d` for a product family. With fewer features than
    rows it is a ridge problem in feature space, else one with an n x n matrix. Of a family of
    more than 10,000 kernels the result lists those that 1,000 draws from q hit; of a continuum,
    or where there is no time for that, none. Beside an intercept the constant kernel, which adds
    nothing then, is not listed.
    """

    needs: ClassVar[Needs] = Needs(lambda p: p == 2, "p = 2", summed=True)

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[KernelTotal]:
        """Yield the solution."""
        small = family.listable and family.distinct <= LISTED_KERNELS
        indices: list[Index] = family.indices() if small else []
        if problem.intercept:  # dual points add up to zero: the constant kernel adds nothing
            indices = [index for index in indices if len(family.factors(index))]
        system: System | None = None
        if small and family.distinct < family.rows:
            system = system_of(family, indices, np.ones(len(indices)))
        closed = not isinstance(system, FeatureSystem)
        if system is None or closed:
            system = GramSystem(family.closed())
        solution = solve(problem, system)
        if family.listable and not small:
            with suppress(OutOfTimeError), strictly():  # predictions do without them
                indices = family.at(solution.alpha).draw(DRAWN_KERNELS, rng).indices
        # The dual norm over the family is the sum of all gradients: alpha' K alpha of this kernel.
        coefficients = system.from_dual(solution.alpha)
        values = system.values(coefficients)
        norm = float(system.inner(coefficients, coefficients, values).sum())
        certificate = from_norm(problem, solution, norm, "exact")
        weights = indices, np.ones(len(indices))
        count = int(approximately(family.distinct)) if family.listable else len(indices)
        yield KernelTotal(1, weights, count, solution, certificate, closed=closed)


def solve_closed(
    problem: Problem, family: KernelFamily, rng: np.random.Generator, tol: float = 1e-2
) -> Result:
    """Solve the problem with p = 2; see :class:`ClosedForm`."""
    return run(ClosedForm(), problem, family, rng, 1, tol)
