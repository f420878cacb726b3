"""What a fit was asked for: the parameters of an estimator, resolved and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from .bases import Bases, WidthRows
from .families import KernelFamily, ProductFamily, Tuples, WidthFamily, cell_family
from .kernels import KernelSet, alternatives, both_parts, uses_maps, uses_widths
from .limits import SPLIT_ROWS
from .losses import BY_NAME, Loss, Squared
from .memory import budget
from .objective import Problem, exponent
from .registry import AUTO, CLASS_LOSSES, INDEX_SETS, REAL_LOSSES
from .solvers import Greedy, Solver, is_priced

MOST_TERMS = 100
"""Largest number of terms that cross-validated greedy selection tries. Set by judgement."""

PRODUCT_DEGREE = 3
"""Largest number of base kernels in a product unless ``degree`` says otherwise: the paper's."""

PAIR_DEGREE = 2
"""Degree of the functions of columns of ``kernels="both"``, and of those among the alternatives of
``kernels="best"`` unless ``degree`` says otherwise: their products of three seldom pay
(``docs/benchmarks/tables.md``)."""

WIDTH_STRENGTHS = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
"""Strengths to choose from where widths are learnt, for a sum over rows instead of a mean: all
kernels have diagonal one, so these are ratios of noise to signal, whatever the rows and the target.
The last three give the same scores to .001 on seven tables (``docs/benchmarks/tables.md``)."""

CELLS = 4
"""Cells that the widths of a column are split into for 1 < p < 2. Set by judgement: at six decades
of widths a cell is a decade and a half."""

WIDTH_SPLIT_ROWS = 1_500
"""Rows from which on the strength of kernels with widths is chosen on one fifth held out, unless
``cv`` says otherwise: the result hardly depends on it. Set by judgement, not measured."""

BOTH_SPLIT_ROWS = 500
"""Rows from which on the strength of ``kernels="both"`` is chosen on one fifth held out: every fold
fits spline terms of its own first. On 659 rows of concrete five folds took 72 s, those of widths
alone 46 s."""

WIDTH_CHOICE_ROWS = 5_000
"""Rows that the strength of kernels of free widths is chosen on at the most, unless ``cv`` says
otherwise: four fifths to learn from, one held out. Set by judgement, not measured."""


@dataclass(frozen=True)
class StopRule:
    """When a solver stops: iterations, relative duality gap, seconds."""

    max_iter: int
    tol: float
    max_time: float | None


@dataclass(frozen=True)
class Search:
    """What cross-validation chooses from, and how.

    Attributes
    ----------
    alphas : sequence of float, optional
        Strengths to try; None for a grid made from the data.
    n_alphas : int
        Number of strengths of that grid.
    cv : object
        Folds as scikit-learn takes them; None for the default.
    one_standard_error : bool
        Whether the simplest model within one standard error of the best is taken.
    debias : bool
        Whether selected kernels are fitted again without a penalty.
    n_jobs : int, optional
        Folds computed at a time.
    ratios : tuple of float, optional
        Strengths of a sum over rows that make up the grid instead of one made from the data.
    most_rows : int, optional
        Rows that are drawn for the choice where there are more and ``cv`` is None.
    split_rows : int
        Rows from which on a fifth is held out once where ``cv`` is None, in place of five folds.
    """

    alphas: Any
    n_alphas: int
    cv: Any
    one_standard_error: bool
    debias: bool
    n_jobs: int | None
    ratios: tuple[float, ...] | None = None
    most_rows: int | None = None
    split_rows: int = SPLIT_ROWS


class FamilyMaker(Protocol):
    """From base kernels to the family of kernels that is weighed."""

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> KernelFamily:
        """Return the family on the rows of the base kernels."""

    def size(self, family: KernelFamily) -> int:
        """Return the number of kernels to choose from, as people count them."""


@dataclass(frozen=True)
class Products:
    """All products of up to ``degree`` base kernels.

    Attributes
    ----------
    index_set : {"auto", "tuples", "monomials", "interactions"}
        Which products.
    rho : sequence of float, optional
        Scale factors of the degrees.
    degrees : tuple of int
        The degrees to choose from; ``rho`` may be as long as the largest of them needs.
    """

    index_set: str
    rho: Any
    degrees: tuple[int, ...]

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> ProductFamily:
        """Return the products of the base kernels."""
        assert not isinstance(bases, WidthRows)
        rho = self.rho
        if rho is not None and np.shape(rho) == (max(self.degrees) + 1,):
            rho = list(rho)[: degree + 1]
        kind = self.index_set
        if kind == "auto":
            kind = "monomials" if kernels.powers else "interactions"
        members = Tuples(exponent(p)) if kind == "tuples" else INDEX_SETS[kind]()
        return ProductFamily(bases, degree, members, rho, kernels.names)

    def size(self, family: KernelFamily) -> int:
        """Return the number of members of the index set."""
        return family.size


@dataclass(frozen=True)
class Widths:
    """All kernels of up to ``degree`` columns with free widths; cells of widths for 1 < p < 2.

    Attributes
    ----------
    rho : sequence of float, optional
        Scale factors of the numbers of columns.
    """

    rho: Any

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> KernelFamily:
        """Return the kernels on rows of scaled columns."""
        assert isinstance(bases, WidthRows)
        if 1 < p < 2:
            return cell_family(bases, exponent(p), CELLS, degree, rho=self.rho, names=kernels.names)
        return WidthFamily(bases, degree, rho=self.rho, names=kernels.names)

    def size(self, family: KernelFamily) -> float:
        """Return the number of cells; there is no number of kernels with free widths."""
        return family.size if family.listable else np.inf


@dataclass(frozen=True)
class Spec:
    """What a fit was asked for.

    Attributes
    ----------
    kernels : object
        The public argument.
    degrees : tuple of int
        Largest numbers of base kernels in a product to choose from; None for that of all columns,
        see :meth:`on_columns`.
    exponents : tuple of float
        Exponents of the group norm to choose from.
    family : FamilyMaker
        Which kernels are weighed.
    loss : Loss
        The loss.
    labelled : bool
        Whether targets are classes.
    intercept : bool
        Whether an unpenalised constant is added.
    centres, scales : bool
        Whether columns are centred, and divided by their standard deviations.
    solver : str or Solver
        What finds the weights.
    greedy : Greedy or None
        The same if it is greedy selection.
    standardize_terms : bool or "auto"
        Whether kernels are divided by their spreads over the training rows; see
        :meth:`standardizes`.
    strength : float
        The public alpha; not a number where it is to be chosen.
    stop : StopRule
        When a solver stops.
    random_state : object
        Source of randomness, as scikit-learn takes it.
    verbose : int
        How much progress is shown.
    max_memory : int
        Bytes that the fit may hold.
    search : Search, optional
        What cross-validation chooses from; None where there is nothing to choose.
    alternatives : tuple of Spec
        Specifications of which the best on rows held out takes the place of this one.
    label : str
        What an alternative is called.
    first : Spec, optional
        A fit to the same rows that comes first, whose spline terms are one kernel beside those
        with widths.
    learn : callable, optional
        A method that weighs no family: from a problem and base kernels to the learnt function,
        the dual variables and further attributes of the estimator.
    """

    kernels: Any
    degrees: tuple[int, ...]
    exponents: tuple[float, ...]
    family: FamilyMaker
    loss: Loss
    labelled: bool
    intercept: bool
    centres: bool
    scales: bool
    solver: str | Solver
    greedy: Greedy | None
    standardize_terms: bool | str
    strength: float
    stop: StopRule
    random_state: Any
    verbose: int
    max_memory: int
    search: Search | None = None
    alternatives: tuple[Spec, ...] = ()
    label: str = ""
    first: Spec | None = None
    learn: Callable[[Problem, Any], Any] | None = None

    def standardizes(self, problem: Problem, family: KernelFamily) -> bool:
        """Tell whether kernels are divided by their spreads.

        ``"auto"``: for p = 1 by working sets, and kernels of one feature of columns that are
        scaled. Functions of columns vary alike as they are.
        """
        if self.standardize_terms != AUTO:
            return bool(self.standardize_terms)
        linear = problem.p == 1 and self.scales and family.explicit and family.blocks.single
        return linear and is_priced(self.solver, problem, family)

    def on_columns(self, count: int) -> Spec:
        """Return the specification for a number of columns: no degree is larger than that."""
        if not isinstance(self.family, Widths):
            return self
        degrees = (count if degree is None else min(degree, count) for degree in self.degrees)
        return replace(self, degrees=tuple(dict.fromkeys(degrees)))


def specify(estimator: Any, labelled: bool, **changes: Any) -> Spec:
    """Resolve the parameters of an estimator; those that it lacks have no effect.

    ``changes`` are fields of the specification that a method sets itself.
    """
    spec = _specify(estimator, labelled, estimator.kernels)
    others = alternatives(estimator.kernels)
    if others:
        if _refusal(estimator):
            others.pop("both")
        parts = {name: _specify(estimator, labelled, kernels) for name, kernels in others.items()}
        if isinstance(getattr(estimator, "degree", None), str):
            parts["auto"] = replace(parts["auto"], degrees=(PAIR_DEGREE,))
        named = tuple(replace(part, label=name) for name, part in parts.items())
        spec = replace(spec, alternatives=named)
    return replace(spec, **changes)


def _specify(estimator: Any, labelled: bool, kernels: Any) -> Spec:
    """Resolve the parameters of an estimator with given kernels."""
    widths = uses_widths(kernels)
    parts = both_parts(kernels) if widths else None
    if parts is not None:
        if words := _refusal(estimator):
            raise ValueError(words)
        first, last = (_specify(estimator, labelled, part) for part in parts)
        if last.search is not None:
            last = replace(last, search=replace(last.search, split_rows=BOTH_SPLIT_ROWS))
        return replace(last, first=_first(first))
    asked = partial(getattr, estimator)
    solver, p = asked("solver", "auto"), asked("p", 2.0)
    greedy = solver if isinstance(solver, Greedy) else None
    if isinstance(solver, str) and solver == "greedy":
        greedy = Greedy(MOST_TERMS)
    degrees = _degrees(asked("degree", 0), widths)
    search = None
    if hasattr(estimator, "alphas"):
        debias = bool(asked("debias"))
        flags = bool(asked("one_standard_error")), debias
        search = Search(asked("alphas"), asked("n_alphas"), asked("cv"), *flags, asked("n_jobs"))
        if greedy is not None:
            p = 1.0
        elif p is None:  # one where kernels are selected
            p = 1.0 if (debias or uses_maps(kernels)) and solver != "full-pass" else None
        if widths:
            search = replace(search, ratios=WIDTH_STRENGTHS, most_rows=WIDTH_CHOICE_ROWS)
            search = replace(search, split_rows=WIDTH_SPLIT_ROWS)
    if p is None:
        p = 1.0 if widths or (isinstance(solver, str) and solver == "working-set") else 4 / 3
    rho = asked("rho", None)
    family = Widths(rho) if widths else Products(asked("index_set", "auto"), rho, degrees)
    terms = asked("standardize_terms", False)
    if widths and terms == AUTO:
        terms = False
    if widths and terms:
        raise ValueError(
            "standardize_terms must be False for kernels with free widths, which cannot be listed "
            f"and whose diagonal is one; got {terms!r}. Use standardize_terms=False."
        )
    if terms != AUTO and terms and greedy is None and 2 in np.atleast_1d(p):
        raise ValueError(
            "standardize_terms must be False for p=2, whose sum of all kernels in closed form has "
            f"them as they are; got {terms!r}. Use p=1, 4/3 or standardize_terms=False."
        )
    standardize = asked("standardize")
    centres = isinstance(standardize, bool | np.bool_) and bool(standardize)
    fields = {
        "kernels": kernels,
        "degrees": degrees,
        "exponents": tuple(float(value) for value in np.atleast_1d(p)),
        "family": family,
        "loss": resolve_loss(asked("loss"), labelled),
        "labelled": labelled,
        "intercept": bool(asked("fit_intercept")),
        "centres": centres,
        "scales": centres or standardize == "scale",
        "solver": solver,
        "greedy": greedy,
        # Greedy selection compares kernels relative to their spreads anyway.
        "standardize_terms": terms if greedy is None else False,
        "strength": float(asked("alpha", np.nan)),
        "stop": StopRule(asked("max_iter", 0), asked("tol", 0.0), asked("max_time", None)),
        "random_state": asked("random_state", 0),
        "verbose": asked("verbose", 0),
        "max_memory": budget(asked("max_memory", None)),
        "search": search,
    }
    return Spec(**fields)


def _first(terms: Spec) -> Spec:
    """Return the specification of the spline terms that come before kernels with widths.

    It chooses its own strength where one is to be chosen, on folds of its own.
    """
    assert isinstance(terms.family, Products)
    family, search = replace(terms.family, degrees=(PAIR_DEGREE,)), terms.search
    if search is not None:
        cv = search.cv if isinstance(search.cv, int) else None
        search = replace(search, cv=cv, alphas=None, debias=False)
    fixed: dict[str, Any] = {"exponents": (1.0,), "solver": "auto", "greedy": None}
    return replace(terms, degrees=family.degrees, family=family, search=search, **fixed)


def _refusal(estimator: Any) -> str:
    """Say what ``kernels="both"`` cannot have of what was asked for; empty if nothing."""
    p, rho = getattr(estimator, "p", None), getattr(estimator, "rho", None)
    kind = getattr(estimator, "index_set", "auto")
    if p is not None and np.any(np.atleast_1d(p) != 1):
        return f'p must be None or 1 for kernels="both"; got {p}. Use kernels="widths".'
    if rho is None and kind == "auto":
        return ""
    return (
        'rho must be None and index_set "auto" for kernels="both", whose two parts have different '
        f'kernels; got {rho!r} and {kind!r}. Use kernels="auto" or "widths".'
    )


def _degrees(asked: Any, widths: bool) -> tuple[Any, ...]:
    """Return the degrees asked for, each once; None for all columns, which only widths can have."""
    if isinstance(asked, str):
        return (None,) if widths else (PRODUCT_DEGREE,)
    if asked is None:
        if not widths:
            raise ValueError(
                'degree must be an integer >= 0 unless kernels="widths"; got None, which stands '
                "for all columns. Use degree=1 for a linear model, 2 or 3 for products."
            )
        return (None,)
    return tuple(dict.fromkeys(int(degree) for degree in np.atleast_1d(asked)))


def resolve_loss(loss: Any, labelled: bool) -> Loss:
    """Return the loss of an argument, or say what is wrong with it.

    ``labelled`` tells whether targets are classes.
    """
    allowed, kind = (CLASS_LOSSES, "classifier") if labelled else (REAL_LOSSES, "regressor")
    if isinstance(loss, str):
        if loss not in allowed:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, allowed))} for a {kind}, or a loss "
                f"object; got {loss!r}. See manykernels.losses."
            )
        return BY_NAME[loss]()
    missing = [name for name in ("value", "gradient", "conjugate") if not hasattr(loss, name)]
    if missing or not (hasattr(loss, "curvature") or hasattr(loss, "conjugate_prox")):
        raise ValueError(
            f"loss must be a name or have value, gradient, conjugate, and curvature or "
            f"conjugate_prox; got {loss!r}. See manykernels.losses."
        )
    classes = bool(getattr(loss, "classification", False))
    if not labelled and classes:
        raise ValueError(
            f"loss must be for real targets; got {loss!r}. Use MKLClassifier for classes."
        )
    if labelled and not (classes or isinstance(loss, Squared)):
        raise ValueError(f"loss must be for classes; got {loss!r}. Use loss='logistic'.")
    return loss
