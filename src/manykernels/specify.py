"""From the parameters of an estimator to a specification of its fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .kernels import alternatives, both_parts, uses_maps, uses_widths
from .losses import BY_NAME, Loss, Squared
from .memory import budget
from .registry import AUTO, CLASS_LOSSES, REAL_LOSSES
from .solvers import Greedy
from .spec import Products, Search, Spec, StopRule, Widths

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

PLAIN_STRENGTH = 1e-3
"""Strength next to the mean loss where none is given. Set by judgement, not measured."""

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
    strength = asked("alpha", np.nan)
    if strength is None:  # one that is no number is found on the way
        strength = np.nan if widths else PLAIN_STRENGTH
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
