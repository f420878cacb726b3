"""Checks of the estimators' parameters, with messages that say what to do."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..solvers import MirrorDescent


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter that is out of its range."""
    _integer("degree", estimator.degree, 0, "Use degree=1 for a linear model, 2 or 3 for products")
    _integer("max_iter", estimator.max_iter, 1, "Use max_iter=1000")
    _positive("alpha", estimator.alpha, "Use for instance alpha=1e-3")
    _positive("tol", estimator.tol, "Use for instance tol=1e-2")
    if estimator.max_time is not None:
        _positive("max_time", estimator.max_time, "Use seconds, or None for no limit")
    p = estimator.p
    if not (_real(p) and 1 <= p <= 2):
        raise ValueError(
            f"p must satisfy 1 <= p <= 2; got {p!r}. Use 1 for few kernels, 4/3 for the paper's "
            "choice, 2 for all kernels with equal weight."
        )
    _one_of("index_set", estimator.index_set, ("auto", "tuples", "monomials", "interactions"))
    if not isinstance(estimator.standardize, bool | np.bool_):
        _one_of("standardize", estimator.standardize, (True, False, "scale"))
    if not isinstance(estimator.fit_intercept, bool | np.bool_):
        _one_of("fit_intercept", estimator.fit_intercept, (True, False))
    _integer(
        "verbose",
        int(estimator.verbose) if estimator.verbose is True else estimator.verbose,
        0,
        "Use 0, 1 or 2",
    )
    solver = estimator.solver
    if not isinstance(solver, MirrorDescent):
        _one_of("solver", solver, ("auto", "mirror-descent"))
    if solver != "auto" and p == 2:
        raise ValueError(
            f"solver={solver!r} needs p < 2; got p=2, whose optimum is a closed form. "
            "Use solver='auto'."
        )


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _positive(name: str, value: Any, remedy: str) -> None:
    if not (_real(value) and value > 0):
        raise ValueError(f"{name} must be a positive number; got {value!r}. {remedy}.")


def _integer(name: str, value: Any, lowest: int, remedy: str) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be an integer >= {lowest}; got {value!r}. {remedy}.")


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if not any(
        value is option or (isinstance(option, str) and value == option) for option in allowed
    ):
        choices = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {choices}; got {value!r}. Use {allowed[0]!r}.")
