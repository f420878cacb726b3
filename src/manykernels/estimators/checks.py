"""Checks of the estimators' parameters, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..solvers import NAMES, refuse_needs


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter that is out of its range.

    Parameters have the same meaning, and the same range, in every estimator that has them.
    """
    parameters = estimator.get_params(deep=False)
    for name, check in CHECKS.items():
        if name in parameters:
            # Estimators with a list of strengths also take lists of these, and choose; or no p.
            many = "alphas" in parameters and name in ("p", "degree")
            values = parameters[name]
            if many and name == "p" and values is None:
                continue
            for value in values if many and _several(values) else [values]:
                check(name, value)
    solver, p = parameters.get("solver", "auto"), parameters.get("p")
    for value in p if _several(p) else [] if p is None else [p]:
        refuse_needs(solver, value)


def _device(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise ValueError(
            f'device must be None or a name such as "cuda" or "cuda:1"; got {value!r}. Use None to '
            "work where X is."
        )


def _p(name: str, value: Any) -> None:
    if not (_real(value) and 1 <= value <= 2):
        raise ValueError(
            f"p must satisfy 1 <= p <= 2; got {value!r}. Use 1 for few kernels, 4/3 for the "
            "paper's choice, 2 for all kernels with equal weight."
        )


def _several(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and len(value) > 0


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        _one_of(name, value, (True, False))


def _standardize(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        _one_of(name, value, (True, False, "scale"))


def _solver(name: str, value: Any) -> None:
    if not callable(getattr(value, "iterate", None)):
        _one_of(name, value, NAMES)


def _alphas(name: str, value: Any) -> None:
    if value is None:
        return
    if not _several(value) or not all(_real(v) and v > 0 for v in value):
        raise ValueError(
            f"alphas must be a list of positive numbers or None; got {value!r}. Use None for a "
            "grid chosen from the data."
        )


def _bound(name: str, value: Any, lowest: int) -> None:
    if value is not None:
        _integer(name, value, lowest, "Use for instance 3, or None")


def _step(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise ValueError(
            f"step must be a step size or None; got {value!r}. Use for instance "
            "manykernels.solvers.DecreasingStep(0.3)."
        )


def _norm(name: str, value: Any) -> None:
    _integer(name, value, 1, "Use norm=1 or norm=2")
    if value > 2:
        raise ValueError(f"norm must be 1 or 2; got {value!r}. Use norm=2.")


def _nonnegative(name: str, value: Any) -> None:
    if not (_real(value) and value >= 0):
        raise ValueError(f"{name} must be a number >= 0; got {value!r}. Use {name}=0.")


def _verbose(name: str, value: Any) -> None:
    _integer(name, int(value) if value is True else value, 0, "Use 0, 1 or 2")


def _seconds(name: str, value: Any) -> None:
    if value is not None:
        _positive(name, value, "Use seconds, or None for no limit")


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


CHECKS: dict[str, Callable[[str, Any], None]] = {
    "degree": partial(
        _integer, lowest=0, remedy="Use degree=1 for a linear model, 2 or 3 for products"
    ),
    "total_degree": partial(_bound, lowest=0),
    "per_variable_degree": partial(_bound, lowest=1),
    "root_weight": partial(_positive, remedy="Use for instance root_weight=0.1"),
    "growth": partial(_positive, remedy="Use for instance growth=4"),
    "draws": partial(_integer, lowest=1, remedy="Use draws=50"),
    "step": _step,
    "constant": _flag,
    "norm": _norm,
    "radius": partial(_positive, remedy="Use radius=1"),
    "centre": _nonnegative,
    "max_iter": partial(_integer, lowest=1, remedy="Use max_iter=1000"),
    "alpha": partial(_positive, remedy="Use for instance alpha=1e-3"),
    "tol": partial(_positive, remedy="Use for instance tol=1e-2"),
    "max_time": _seconds,
    "p": _p,
    "index_set": partial(_one_of, allowed=("auto", "tuples", "monomials", "interactions")),
    "standardize": _standardize,
    "fit_intercept": _flag,
    "device": _device,
    "verbose": _verbose,
    "solver": _solver,
    "alphas": _alphas,
    "n_alphas": partial(_integer, lowest=1, remedy="Use n_alphas=25"),
    "one_standard_error": _flag,
    "debias": _flag,
}
