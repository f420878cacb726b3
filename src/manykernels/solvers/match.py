"""Which solver for which problem: what solvers need and what they cost, in one place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..backend import approximately
from ..families import KernelFamily, StandardizedFamily, WidthFamily
from ..limits import DUAL_WORK, LISTED_LIMIT, REFUSED_FACTOR
from ..losses import Loss
from ..notices import SlowWarning, notify
from ..objective import Problem
from .base import Needs, Solver, refuse_kinks, refuse_matrices
from .closed_form import ClosedForm
from .cost_model import costs
from .dual_newton import DualNewton
from .full_pass import FullPass
from .greedy import Greedy
from .mirror_descent import MirrorDescent
from .widths import WidthSearch
from .working_set import WorkingSet

KNOWN_KERNELS = 200
"""Number of kernels whose gradient mirror descent computes rather than estimates, if it is asked
for by name. Set by judgement, not measured."""

SOLVERS: dict[str, Callable[[], Solver]] = {
    "working-set": WorkingSet,
    "full-pass": FullPass,
    "mirror-descent": partial(MirrorDescent, known=KNOWN_KERNELS),
    "greedy": Greedy,
}

NAMES = ("auto", *SOLVERS)
"""Names that solvers can be asked for by."""


def match(asked: str | Solver, problem: Problem, family: KernelFamily) -> Solver:
    """Return the solver of a problem: that of a name (see :func:`choose`), or the one given.

    Raises ValueError if the problem or the family lack something that the solver asked for needs;
    the message says what.
    """
    needs = refuse_needs(asked, problem.p, problem.loss)
    if needs.features and not family.explicit:
        refuse_matrices(needs.title)
    if isinstance(family, WidthFamily):
        _refuse_widths(asked, problem)
    solver = choose(asked, problem, family) if isinstance(asked, str) else asked
    if isinstance(family, StandardizedFamily) and not isinstance(solver, WorkingSet | FullPass):
        refuse_standardized(type(solver).__name__, problem.p)
    _refuse_family(asked, getattr(solver, "needs", needs), problem, family)
    return solver


def refuse_needs(asked: str | Solver, p: float, loss: Loss | None = None) -> Needs:
    """Return what a solver needs; nothing for ``"auto"`` and solvers that do not say.

    Raises ValueError if that is another exponent, or another loss, whatever the data.
    """
    solver = SOLVERS[asked]() if isinstance(asked, str) and asked != "auto" else asked
    needs: Needs = getattr(solver, "needs", Needs())
    if not needs.p(p):
        raise ValueError(
            f"solver={_named(asked)} needs {needs.p_words}; got p={p:g}. Use solver='auto'."
        )
    if loss is not None and needs.smooth:
        refuse_kinks(loss, f"for {needs.title}")
    return needs


def choose(name: str, problem: Problem, family: KernelFamily) -> Solver:
    """Return the solver of a name; for ``"auto"`` the cheapest that ends at a certified optimum.

    * p = 2: the closed form;
    * p = 1, and widths are free: the search for widths;
    * p = 1, and one pricing takes seconds at most: the working set;
    * 1 < p < 2, and one pass takes seconds at most: full passes; where it would take longer than
      making pairs of columns, Newton's method in the dual;
    * else: mirror descent, whose cost does not depend on the number of kernels.

    Families that the solver of a name cannot take are refused. Whether it is right for the problem
    is for :func:`match` to say.
    """
    if name != "auto":
        solver = SOLVERS[name]()
        _refuse_family(name, getattr(solver, "needs", Needs()), problem, family)
        return solver
    if problem.p == 2:
        return ClosedForm()
    if problem.p == 1 and isinstance(family, WidthFamily):
        return WidthSearch()
    cost = costs(family, problem.y.shape[1])
    listed = family.listable and family.distinct <= LISTED_LIMIT
    if listed and cost.full_pass > DUAL_WORK and DualNewton.suits(problem, family):
        return DualNewton()
    if (cost.pricing if problem.p == 1 else cost.full_pass) <= cost.limit:
        return WorkingSet() if problem.p == 1 else FullPass()
    return SOLVERS["mirror-descent"]()


def is_priced(asked: str | Solver, problem: Problem, family: KernelFamily) -> bool:
    """Tell whether a problem is one for a working set, which prices the whole family."""
    if asked == "auto":
        return isinstance(choose("auto", problem, family), WorkingSet)
    return asked == "working-set" or isinstance(asked, WorkingSet)


def describe(solver: Solver, problem: Problem, family: KernelFamily) -> str:
    """Return a line that says which solver is in use and what the choice was made by."""
    cost = costs(family, problem.y.shape[1])
    return f"{type(solver).__name__} for p = {problem.p:g}: {cost}"


def _refuse_widths(asked: str | Solver, problem: Problem) -> None:
    """Raise ValueError for a solver or a loss that cannot learn widths."""
    if asked != "auto" and not isinstance(asked, WidthSearch | ClosedForm):
        raise ValueError(
            f"solver={_named(asked)} needs a family that is finite; kernels of free widths are "
            "not. Use solver='auto', or 1 < p < 2, where widths are split into cells."
        )
    if problem.p == 1:
        refuse_kinks(problem.loss, f"for {WidthSearch.needs.title}")


def refuse_standardized(solver: str, p: float) -> None:
    """Raise ValueError for a solver that never looks at every kernel."""
    raise ValueError(
        "standardize_terms=True needs a solver that looks at every kernel: a working set (p = 1) "
        f"or full passes (1 < p < 2); got {solver} for p={p:g}. Use standardize_terms=False, p=1 "
        "or a smaller degree."
    )


def _refuse_family(
    asked: str | Solver, needs: Needs, problem: Problem, family: KernelFamily
) -> None:
    """Raise ValueError if a family cannot do what a solver needs, or a step would take too long.

    Warn before work starts if a pricing takes more than some ten seconds.
    """
    for needed, able, word in (
        (needs.priced, family.priceable, "priced"),
        (needs.listed, family.listable, "listed"),
        (needs.drawn, family.drawable, "drawn"),
        (needs.summed, family.summable, "added up in closed form"),
    ):
        if needed and not able:
            raise ValueError(
                f"solver={_named(asked)} needs a family whose kernels can be {word}; those of "
                f"{type(family).__name__} cannot. Use another solver or p."
            )
    if not (needs.priced or needs.listed):
        return
    cost = costs(family, problem.y.shape[1])
    work = max(needs.priced and cost.pricing, needs.listed and cost.full_pass)
    if work > REFUSED_FACTOR * cost.limit:
        raise ValueError(
            f"solver={_named(asked)} needs a family whose kernels can all be priced; got "
            f"{approximately(family.distinct):.3g} kernels on {family.rows} rows, {work:.1e} "
            'multiplications at a time. Use a smaller degree or solver="mirror-descent".'
        )
    if needs.priced and cost.limit < cost.pricing < float("inf"):
        notify(
            f"solver={_named(asked)} looks at {approximately(family.distinct):.3g} kernels on "
            f"{family.rows} rows again and again, {cost.pricing:.1e} multiplications at a time: "
            "that takes minutes to hours. Use a smaller degree or fewer columns.",
            SlowWarning,
        )


def _named(asked: str | Solver) -> str:
    return repr(asked) if isinstance(asked, str) else f"{type(asked).__name__}()"
