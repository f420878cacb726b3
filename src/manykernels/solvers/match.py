"""Which solver for which problem: what solvers need and what they cost, in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..backend import approximately, on_host
from ..families import KernelFamily, ProductFamily
from ..families.pricing import ProductPricer
from ..limits import SIDE_ENTRIES
from ..losses import Loss
from ..objective import Problem
from .base import Needs, Solver, refuse_kinks
from .closed_form import ClosedForm
from .full_pass import FullPass
from .greedy import Greedy
from .mirror_descent import MirrorDescent
from .working_set import WorkingSet

KNOWN_KERNELS = 200
"""Number of kernels whose gradient mirror descent computes rather than estimates, if it is asked
for by name. Set by judgement, not measured."""

WORK_LIMIT = 2e11
"""Multiplications of one pricing of the family, or of one full pass, up to which it is affordable:
some ten seconds."""

REFUSED_FACTOR = 100.0
"""Factor by which a solver that was asked for may exceed that limit before it is refused: some
quarter of an hour for one step. Set by judgement, not measured."""

LISTED_LIMIT = 2_000_000
"""Number of kernels up to which a list of all is affordable. Set by judgement, not measured."""

DEVICE_FACTOR = 100.0
"""Factor by which a device other than the host affords more multiplications. An order of
magnitude, see benchmarks/gpu.py."""

ENTRYWISE_FACTOR = 5.0
"""Factor by which entrywise products of matrices take longer than matrix products of as many
multiplications. An order of magnitude, set by judgement."""

SOLVERS: dict[str, Callable[[], Solver]] = {
    "working-set": WorkingSet,
    "full-pass": FullPass,
    "mirror-descent": partial(MirrorDescent, known=KNOWN_KERNELS),
    "greedy": Greedy,
}

NAMES = ("auto", *SOLVERS)
"""Names that solvers can be asked for by."""


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
        work *= ENTRYWISE_FACTOR
        return Costs(work * outputs, 2 * work) if listed else Costs(float("inf"), float("inf"))
    features = work / max(1, family.rows)
    full_pass = work * min(float(family.rows), features) if listed else float("inf")
    if isinstance(family, ProductFamily):
        fits = ProductPricer.side_entries(family) <= SIDE_ENTRIES
    else:
        fits = listed
    return Costs(work * outputs if fits else float("inf"), full_pass)


def match(asked: str | Solver, problem: Problem, family: KernelFamily) -> Solver:
    """Return the solver of a problem: that of a name (see :func:`choose`), or the one given.

    Raises ValueError if the problem or the family lack something that the solver asked for needs;
    the message says what.
    """
    refuse_needs(asked, problem.p, problem.loss)
    solver = choose(asked, problem, family) if isinstance(asked, str) else asked
    needs_of(solver).refuse_family(family)
    if solver is asked:
        _refuse_costs(asked, problem, family)
    return solver


def refuse_needs(asked: str | Solver, p: float, loss: Loss | None = None) -> None:
    """Raise ValueError if a solver needs another exponent, or another loss, whatever the data."""
    needs = needs_of(asked)
    if not needs.p(p):
        raise ValueError(
            f"solver={_named(asked)} needs {needs.p_words}; got p={p:g}. Use solver='auto'."
        )
    if loss is not None and needs.smooth:
        refuse_kinks(loss, f"for {needs.title}")


def needs_of(asked: str | Solver) -> Needs:
    """Return what a solver needs; nothing for ``"auto"`` and solvers that do not say."""
    solver = SOLVERS[asked]() if isinstance(asked, str) and asked != "auto" else asked
    needs: Needs = getattr(solver, "needs", Needs())
    return needs


def choose(name: str, problem: Problem, family: KernelFamily) -> Solver:
    """Return the solver of a name; for ``"auto"`` the cheapest that ends at a certified optimum.

    * p = 2: the closed form;
    * p = 1, and one pricing takes seconds at most: the working set;
    * 1 < p < 2, and one pass takes seconds at most: full passes;
    * else: mirror descent, whose cost does not depend on the number of kernels.

    Families that the solver of a name cannot afford are refused. Whether it is right for the
    problem is for :func:`match` to say.
    """
    if name != "auto":
        _refuse_costs(name, problem, family)
        return SOLVERS[name]()
    if problem.p == 2:
        return ClosedForm()
    cost, limit = costs(family, problem.y.shape[1]), _limit(family)
    if (cost.pricing if problem.p == 1 else cost.full_pass) <= limit:
        return WorkingSet() if problem.p == 1 else FullPass()
    return SOLVERS["mirror-descent"]()


def describe(solver: Solver, problem: Problem, family: KernelFamily) -> str:
    """Return a line that says which solver is in use and what the choice was made by."""
    cost = costs(family, problem.y.shape[1])
    return f"{type(solver).__name__} for p = {problem.p:g}: {cost}"


def _refuse_costs(asked: str | Solver, problem: Problem, family: KernelFamily) -> None:
    """Raise ValueError if a step of a solver would take far too long on a family."""
    needs = needs_of(asked)
    if not (needs.priced or needs.listed):
        return
    cost = costs(family, problem.y.shape[1])
    work = max(needs.priced and cost.pricing, needs.listed and cost.full_pass)
    if work > REFUSED_FACTOR * _limit(family):
        raise ValueError(
            f"solver={_named(asked)} needs a family whose kernels can all be priced; got "
            f"{approximately(family.distinct):.3g} kernels on {family.rows} rows, {work:.1e} "
            'multiplications at a time. Use a smaller degree or solver="mirror-descent".'
        )


def _limit(family: KernelFamily) -> float:
    return WORK_LIMIT * (1.0 if on_host(family.bases.matrix) else DEVICE_FACTOR)


def _named(asked: str | Solver) -> str:
    return repr(asked) if isinstance(asked, str) else f"{type(asked).__name__}()"
