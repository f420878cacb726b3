"""From the parameters of an estimator to a specification of its fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .kernels import (
    alternatives,
    both_parts,
    only_categories,
    only_linear,
    uses_maps,
    uses_widths,
)
from .limits import PLAIN_STRENGTH
from .losses import BY_NAME, Loss, SmoothLoss, Squared
from .memory import budget
from .registry import AUTO, CLASS_LOSSES, REAL_LOSSES
from .solvers import Greedy
from .spec import Products, Search, Spec, StopRule, Widths

MOST_TERMS = 100
"""Largest number of terms that cross-validated greedy selection tries. Set by judgement."""

PRODUCT_DEGREE = 3
"""Largest number of base kernels in a product unless ``degree`` says otherwise: the paper's."""

PAIR_DEGREE = 2
"""Largest number of columns in a product of functions of columns unless ``degree`` says otherwise:
products of three seldom pay (``docs/benchmarks/tables.md``)."""

STRENGTHS = 25
"""Number of strengths to choose from where none is given, over six decades."""

WIDTH_STRENGTHS = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
"""Strengths to choose from where widths are learnt, for a sum over rows instead of a mean: all
kernels have diagonal one, so these are ratios of noise to signal, whatever the rows and the target.
The last three give the same scores to .001 on seven tables (``docs/benchmarks/tables.md``)."""

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


def specify(estimator: Any, labelled: bool, **changes: Any) -> Spec:
    """Resolve the parameters of an estimator; those that it lacks have no effect.

    ``changes`` are fields of the specification that a method sets itself.
    """
    asked, kernels = Asked(estimator), kernels_of(estimator)
    spec = _specify(asked, labelled, kernels)
    forms = alternatives(kernels)
    if forms:
        spec = replace(spec, alternatives=_alternatives(asked, labelled, forms))
    return replace(spec, **changes)


PARTICULARS = {
    "degree": AUTO,
    "index_set": AUTO,
    "rho": None,
    "p": None,
    "alpha": None,
    "alphas": None,
    "solver": AUTO,
    "standardize": True,
    "standardize_terms": AUTO,
    "subsample": None,
    "debias": False,
}
"""Parameters that say something about the family of kernels or the problem, and their defaults."""


def kernels_of(estimator: Any) -> Any:
    """Return the kernels of an estimator: those given, else "best", or "linear", the paper's.

    The latter if any parameter says something about the family of kernels or the problem. Columns
    of categories have kernels of their own.
    """
    kernels = asked_for(estimator)
    encoder = getattr(estimator, "encoder_", None)
    return kernels if encoder is None else encoder.kernels(kernels)


def asked_for(estimator: Any) -> Any:
    """Return the kernels of an estimator, whatever the table."""
    if estimator.kernels is not None:
        return estimator.kernels
    return "best" if _says_nothing(estimator) else "linear"


def _says_nothing(estimator: Any) -> bool:
    for name, usual in PARTICULARS.items():
        value = getattr(estimator, name, usual)
        if value is not usual and not (isinstance(value, str) and value == usual):
            return False
    return True


class Asked:
    """The parameters of an estimator, some of them changed.

    Parameters
    ----------
    estimator : object
        Where the others come from.
    **changes : object
        Parameters by name.
    """

    def __init__(self, estimator: Any, **changes: Any) -> None:
        self.estimator, self.changes = estimator, changes

    def __call__(self, name: str, default: Any = None) -> Any:
        """Return a parameter, or a default if there is none of that name."""
        if name in self.changes:
            return self.changes[name]
        return getattr(self.estimator, name, default)

    def has(self, name: str) -> bool:
        """Tell whether there is a parameter of that name."""
        return name in self.changes or hasattr(self.estimator, name)

    def but(self, **changes: Any) -> Asked:
        """Return the same with other parameters changed, too."""
        return Asked(self.estimator, **{**self.changes, **changes})

    def untouched(self, *names: str) -> bool:
        """Tell whether parameters have the values that say nothing: None or "auto"."""
        return all(
            (value := self(name)) is None or (isinstance(value, str) and value == AUTO)
            for name in names
        )


def _alternatives(asked: Asked, labelled: bool, forms: dict[str, Any]) -> tuple[Spec, ...]:
    """Return what ``kernels="best"`` chooses from, the simplest first, as far as others fit.

    A strength that is given is that of all.
    """
    found: dict[str, Spec] = {}
    free = asked.untouched("p", "solver", "rho", "index_set") and not asked("debias")
    pure = only_linear(forms["linear"])
    if free and asked.untouched("degree"):
        ridge = asked.but(degree=1, p=2.0, standardize_terms=False, subsample=None)
        found["ridge"] = _specify(ridge, labelled, forms["linear"], True)
    smooth = isinstance(resolve_loss(asked("loss"), labelled), SmoothLoss)
    if not only_categories(forms["auto"]):  # of categories these are what "auto" has
        terms = asked.but(p=1.0) if free else asked
        found["monomials"] = _specify(terms, labelled, forms["linear"], True)
    if free and pure and smooth:
        found["greedy"] = _specify(
            asked.but(solver="greedy", subsample=None), labelled, forms["linear"], True
        )
    found["auto"] = _specify(asked, labelled, forms["auto"], True)
    if smooth and asked.untouched("solver", "rho", "index_set", "standardize_terms", "subsample"):
        exponents = asked("p")
        if (exponents is None or np.all(np.atleast_1d(exponents) == 1)) and not asked("debias"):
            found["widths"] = _specify(asked, labelled, forms["widths"], True)
            found["both"] = _specify(asked, labelled, forms["both"], True)
    return tuple(
        replace(one, label=name, search=one.search or _one_strength(one.strength))
        for name, one in found.items()
    )


def _one_strength(strength: float) -> Search:
    """Return a search that has nothing to choose: it scores a strength that is given."""
    return Search([strength], 1, None, False, False, None)


def _search(asked: Asked, widths: bool, chooses: bool) -> Search | None:
    """Return what cross-validation chooses from; None where there is nothing to choose.

    ``chooses`` tells whether a strength that is not given is chosen.
    """
    if asked.has("alphas"):
        flags = bool(asked("one_standard_error")), bool(asked("debias"))
        grid = asked("alphas"), asked("n_alphas")
        search = Search(*grid, asked("cv"), *flags, asked("n_jobs"))
    elif asked("alpha", np.nan) is not None or not chooses:
        return None
    else:
        search = Search(None, STRENGTHS, None, False, False, None)
    if not widths:
        return search
    search = replace(search, ratios=WIDTH_STRENGTHS, most_rows=WIDTH_CHOICE_ROWS)
    return replace(search, split_rows=WIDTH_SPLIT_ROWS)


def _specify(asked: Asked, labelled: bool, kernels: Any, chooses: bool = False) -> Spec:
    """Resolve parameters with given kernels.

    ``chooses`` tells whether strength or number of terms are chosen even where they could be found
    otherwise, or have a default.
    """
    widths = uses_widths(kernels)
    parts = both_parts(kernels) if widths else None
    if parts is not None:
        if words := _refusal(asked):
            raise ValueError(words)
        first, last = (_specify(asked, labelled, part, chooses) for part in parts)
        if last.search is not None:
            last = replace(last, search=replace(last.search, split_rows=BOTH_SPLIT_ROWS))
        return replace(last, first=_first(first))
    solver, p = asked("solver", "auto"), asked("p", 2.0)
    greedy = solver if isinstance(solver, Greedy) else None
    if isinstance(solver, str) and solver == "greedy":
        greedy = Greedy(MOST_TERMS)
    degrees = _degrees(asked("degree", 0), widths, kernels)
    search = _search(asked, widths, chooses)
    if greedy is not None and search is not None:
        p = 1.0
    elif p is None:
        selects = widths or uses_maps(kernels) or bool(asked("debias"))
        selects = selects and not (isinstance(solver, str) and solver == "full-pass")
        p = 1.0 if selects or (isinstance(solver, str) and solver == "working-set") else 4 / 3
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
    strength = asked("alpha", np.nan)
    if strength is None:  # one that is no number is found on the way
        strength = np.nan if widths or search is not None else PLAIN_STRENGTH
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
        "strength": float(strength),
        "stop": StopRule(asked("max_iter", 0), asked("tol", 0.0), asked("max_time", None)),
        "random_state": asked("random_state", 0),
        "verbose": asked("verbose", 0),
        "max_memory": budget(asked("max_memory", None)),
        "search": search,
        "free_degree": isinstance(asked("degree"), str) and rho is None and not widths,
        "subsample": asked("subsample", None),
    }
    spec = Spec(**fields)
    if spec.subsample is not None:
        _refuse_subsets(spec, widths)
    return spec


def _refuse_subsets(spec: Spec, widths: bool) -> None:
    """Raise ValueError where a fit to fewer rows is no start of one to all rows."""
    why = ""
    if widths and 1.0 in spec.exponents:
        why = "kernels with free widths, which are learnt on growing subsets of the rows anyway"
    elif spec.greedy is not None:
        why = "greedy selection, which always starts from no term"
    elif spec.exponents == (2.0,):
        why = "p=2, whose closed form needs no start"
    elif not isinstance(spec.solver, str) and not hasattr(spec.solver, "resume"):
        why = f"solver={type(spec.solver).__name__}(), which cannot start from another model"
    if why:
        raise ValueError(
            f"subsample must be None for {why}; got {spec.subsample!r}. Use subsample=None."
        )


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


def _refusal(asked: Asked) -> str:
    """Say what ``kernels="both"`` cannot have of what was asked for; empty if nothing."""
    p, rho, kind = asked("p"), asked("rho"), asked("index_set", "auto")
    if p is not None and np.any(np.atleast_1d(p) != 1):
        return f'p must be None or 1 for kernels="both"; got {p}. Use kernels="widths".'
    if rho is None and kind == "auto":
        return ""
    return (
        'rho must be None and index_set "auto" for kernels="both", whose two parts have different '
        f'kernels; got {rho!r} and {kind!r}. Use kernels="auto" or "widths".'
    )


def _degrees(asked: Any, widths: bool, kernels: Any) -> tuple[Any, ...]:
    """Return the degrees asked for, each once; None for all columns, which only widths can have."""
    if isinstance(asked, str):
        return (None,) if widths else (PAIR_DEGREE if uses_maps(kernels) else PRODUCT_DEGREE,)
    if asked is None:
        if not widths:
            raise ValueError(
                'degree must be an integer >= 0 unless kernels="widths"; got None, which stands '
                "for all columns. Use degree=1 for a linear model, 2 or 3 for products."
            )
        return (None,)
    degrees = tuple(dict.fromkeys(int(degree) for degree in np.atleast_1d(asked)))
    if widths and 0 in degrees:
        raise ValueError(
            "degree must be at least 1 for kernels with widths, which have a column; got 0. Use "
            'degree="auto" for kernels of all columns, or kernels="linear" for a constant model.'
        )
    return degrees


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
