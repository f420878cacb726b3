"""Which solver for which problem: the cost model, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import approximately
from ..backend import on_host
from ..families import KernelFamily, ProductFamily
from ..families.pricing import SIDE_ENTRIES, ProductPricer
from ..objective import Problem
from .full_pass import FullPass
from .greedy import Greedy
from .loop import Solver
from .mirror_descent import MirrorDescent
from .working_set import WorkingSet

NAMES = ("auto", "working-set", "full-pass", "mirror-descent", "greedy")

PRICING_LIMIT = 2e11
"""Multiplications of one pricing that is affordable: some ten seconds."""

PASS_LIMIT = 2e11
"""Multiplications of one full pass that is affordable: some ten seconds."""

LISTED_LIMIT = 2_000_000
"""Kernels of a list that is affordable."""

KNOWN = 200
"""Kernels whose gradient mirror descent computes rather than estimates."""

DEVICE = 100.0
"""A device other than the host affords so many times as much."""

ENTRYWISE = 5.0
"""Entrywise products of matrices take so many times longer than matrix products."""


@dataclass(frozen=True)
class Costs:
    """What the solvers would cost, in multiplications; infinite where memory rules them out.

    Attributes
    ----------
    pricing : float
        One pricing of the whole family.
    full_pass : float
        One pass over all kernels: their weighted sum and their gradients.
    """

    pricing: float
    full_pass: float

    def __str__(self) -> str:
        return f"one pricing {self.pricing:.1e} multiplications, one full pass {self.full_pass:.1e}"


def costs(family: KernelFamily, outputs: int) -> Costs:
    """Return the cost of pricing a family and of a full pass over it."""
    work = family.enumeration_work
    listed = family.distinct <= LISTED_LIMIT
    if not family.explicit:
        work *= ENTRYWISE
        return Costs(work * outputs, 2 * work) if listed else Costs(float("inf"), float("inf"))
    features = work / max(1, family.rows)
    full_pass = work * min(float(family.rows), features) if listed else float("inf")
    if isinstance(family, ProductFamily):
        fits = ProductPricer.side_entries(family) <= SIDE_ENTRIES
    else:
        fits = listed
    return Costs(work * outputs if fits else float("inf"), full_pass)


def choose(name: str, problem: Problem, family: KernelFamily) -> Solver:
    """Return the solver of a name; for ``"auto"`` the cheapest that ends at a certified optimum.

    * p = 1, and one pricing takes seconds at most: the working set;
    * p > 1, and one pass takes seconds at most: full passes;
    * else: mirror descent, whose cost does not depend on the number of kernels.
    """
    cost = costs(family, problem.y.shape[1])
    speed = 1.0 if on_host(family.bases.matrix) else DEVICE
    if name == "greedy":
        _refuse(cost.pricing, 100 * speed * PRICING_LIMIT, name, family)
        return Greedy()
    if name == "auto":
        if problem.p == 1 and cost.pricing <= speed * PRICING_LIMIT:
            return WorkingSet()
        if problem.p > 1 and cost.full_pass <= speed * PASS_LIMIT:
            return FullPass()
    if name == "working-set":
        _refuse(cost.pricing, 100 * speed * PRICING_LIMIT, name, family)
        return WorkingSet()
    if name == "full-pass":
        _refuse(cost.full_pass, 100 * speed * PASS_LIMIT, name, family)
        return FullPass()
    return MirrorDescent(known=KNOWN)


def _refuse(work: float, limit: float, name: str, family: KernelFamily) -> None:
    if work > limit:
        raise ValueError(
            f"solver={name!r} needs a family whose kernels can all be priced; got "
            f"{approximately(family.distinct):.3g} kernels on {family.rows} rows, {work:.1e} "
            'multiplications at a time. Use a smaller degree or solver="mirror-descent".'
        )
