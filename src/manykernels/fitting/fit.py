"""The one road of every fit: choose if there is a choice, prepare the rows, solve, judge."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..backend import generator
from ..deadline import allowed
from ..function import Function
from ..notices import InterruptedWarning, at_command, notify
from ..rows import Prepared, Rows
from ..solvers import Result, remembered
from ..spec import Spec, Widths
from .alternatives import best_alternative
from .both import with_terms
from .crossval import Choice, crossval
from .kept import setting_digits
from .progress import Progress, choosing, watching


@dataclass(frozen=True)
class Outcome:
    """What a fit gives.

    Attributes
    ----------
    function : Function
        The learnt function.
    dual : ndarray of shape (n, c) or None
        Dual variables of all rows; None where they stay with rows in parts.
    result : Result or None
        What the solver returned; None for methods that weigh no family.
    size : int
        Number of kernels in the family.
    strength : float or None
        Strength of the penalty, given, chosen or found on the way; None where there is none.
    degree, p : int, float
        Degree and exponent in use; None for methods that weigh no family.
    choice : Choice or None
        What cross-validation found.
    facts : dict
        Further attributes of the estimator.
    interrupted : bool
        Whether Ctrl-C cut the fit short.
    """

    function: Function
    dual: Array | None
    result: Result | None = None
    size: int = 0
    strength: float | None = None
    degree: int | None = None
    p: float | None = None
    choice: Choice | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False


def fit(spec: Spec, rows: Rows) -> Outcome:
    """Fit a specification to rows; ``max_time`` is that of all it takes.

    A fit that is part of another keeps to the deadline of that one.
    """
    if spec.alternatives:
        with watching(spec.verbose), allowed(spec.stop.max_time):
            verdict = best_alternative(spec, rows)
            chosen = rows.affordable(verdict.spec.kept_at("chosen"))
            if verdict.choice is None:
                found = fit(chosen, rows)
            else:
                with rows.threads():
                    found = settle(chosen, rows, verdict.choice, verdict.prepared)
        if spec.verbose:
            sys.stderr.write(f"Chosen: {verdict.words}\n")
        facts = {"kernels_": chosen.label, "kernels_losses_": verdict.losses}
        found = replace(found, interrupted=found.interrupted or verdict.interrupted)
        return replace(found, facts={**found.facts, **facts, "chosen_": verdict.words})
    spec = rows.affordable(spec)
    with watching(spec.verbose) as watch, rows.threads(), allowed(spec.stop.max_time):
        if watch is not None and not rows.in_memory:
            watch.report("first look at the rows", 0.0)
        if spec.search is None:
            ready = spec if spec.first is None else with_terms(spec, rows)
            prepared = rows.prepare(ready, max(spec.degrees))
            return learn(spec, rows, prepared) if spec.learn else weigh(spec, rows, prepared)
        choice, prepared, cut_short = crossval(spec, rows)
        if watch is not None:
            widths = isinstance(spec.family, Widths)
            watch.stage("all rows", choosing(len(choice.folds), widths), 1.0)
        found = settle(spec, rows, choice, prepared)
        return replace(found, interrupted=cut_short or found.interrupted)


def settle(spec: Spec, rows: Rows, choice: Choice, prepared: Prepared | None) -> Outcome:
    """Fit the chosen degree, exponent and strength, or number of terms, to all rows."""
    settled = replace(spec, degrees=(choice.degree,), exponents=(choice.p,))
    if spec.greedy is None:
        settled = replace(settled, strength=choice.size)
    else:
        settled = replace(settled, solver=replace(spec.greedy, terms=choice.size), strength=1.0)
    if prepared is None:
        ready = settled if spec.first is None else with_terms(settled, rows)
        prepared = rows.prepare(ready, choice.degree)
    start = choice.folds[0].result if len(choice.folds) == 1 else None
    choice = replace(choice, folds=tuple(replace(fold, result=None) for fold in choice.folds))
    if settled.slot is not None:
        settled = settled.kept_at(setting_digits(settled))
    found = weigh(settled, rows, prepared, start)
    function = replace(found.function, softmax=choice.softmax)
    return replace(found, function=function, choice=choice)


def weigh(spec: Spec, rows: Rows, prepared: Prepared, start: Result | None = None) -> Outcome:
    """Weigh the kernels of a family: one degree, one exponent, one strength.

    ``start`` is what was found of them on some of the rows, where that saves work.
    """
    (degree,), (p,) = spec.degrees, spec.exponents
    fits = prepared.fits(spec, degree, p)
    size = spec.family.size(fits.family)
    with watching(spec.verbose) as watch:
        progress = Progress(watch, size, spec.stop.tol, spec.stop.max_iter, spec.stop.max_time)
        rng = generator(spec.random_state)
        ask = partial(fits.solve, spec.solver, spec.strength, spec.stop, rng, start, progress)
        if spec.slot is None:
            result = ask()
        else:
            problem = getattr(fits, "problem", None)  # rows in parts have none of their own
            weights = None if problem is None else problem.weights
            result = remembered(spec.slot.at("all rows"), fits.family, weights, rng, ask)
    if spec.search is not None and spec.search.debias and spec.greedy is None:
        result = fits.refit(result)
    warn_of(spec, result)
    function = Function(prepared.kernels, prepared.scaler, fits.predictor(result), rows.classes)
    function = replace(function, kernels=prepared.kernels.only(function.used))
    strength = result.solution.strength if np.isnan(spec.strength) else spec.strength
    used = strength if spec.greedy is None else None
    dual = prepared.dual(result.solution.alpha)
    return Outcome(function, dual, result, size, used, degree, p, interrupted=result.interrupted)


def learn(spec: Spec, rows: Any, prepared: Any) -> Outcome:
    """Learn by a method that weighs no family."""
    assert spec.learn is not None
    learnt, alpha, facts = spec.learn(prepared.problem(spec, 2.0), prepared.bases)
    refuse_infinite(facts["objective_"], spec.strength)
    learnt = replace(learnt, intercept=learnt.intercept + rows.centre)
    function = Function(prepared.kernels.only(None), prepared.scaler, learnt, rows.classes)
    return Outcome(function, prepared.dual(alpha), facts=facts)


def warn_of(spec: Spec, result: Result) -> None:
    """Refuse a result that is no number; warn of one that is not what was asked for."""
    gap, kind = result.certificate.relative, result.certificate.kind
    certified = kind != "none"
    # An estimate may be infinite: it is not known how far the optimum is.
    counts = certified and not (kind == "estimate" and gap == np.inf)
    refuse_infinite(result.solution.objective + (gap if counts else 0.0), spec.strength)
    state = f"a relative duality gap of {gap:.2g}" if certified else f"{len(result.indices)} terms"
    if result.interrupted:
        notify(
            f"Interrupted after {result.n_iter} iterations; the model is that of the last one, "
            f"with {state}.",
            InterruptedWarning,
        )
    elif not result.converged:
        goal = f", above tol={spec.stop.tol:g}" if certified else ", fewer than asked for"
        remedy = "Raise max_iter or max_time, or accept a larger tol."
        if at_command():
            remedy = "Raise --max-time if it is given, or use a smaller --degree."
        if spec.exponents == (2.0,):
            remedy = "With p = 2 that is rounding: use a larger alpha."
        elif kind == "bound" and gap >= 1:
            remedy = (
                "Kernels are weighed by draws here, and these were too few. Use a smaller "
                "degree, p=1 or solver='greedy', or raise max_iter and max_time a lot."
            )
        notify(
            f"Stopped after {result.n_iter} iterations with {state} ({kind}){goal}. {remedy}",
            ConvergenceWarning,
        )


def refuse_infinite(value: float, alpha: float) -> None:
    """Raise ValueError for an objective or a duality gap that is no number."""
    if not np.isfinite(value):
        raise ValueError(
            "alpha, rho or the scale of y is beyond floating-point range; the duality gap is "
            f"not finite with alpha={alpha:g}. Use values nearer to 1, or rescale y."
        )
