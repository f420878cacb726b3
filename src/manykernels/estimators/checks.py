"""Checks of the estimators' parameters, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from ..inputs import LARGEST_INTEGER, is_number, refuse_huge, shown
from ..kernels import alternatives, uses_widths
from ..memory import as_bytes
from ..registry import AUTO, INDEX_SETS, SOLVER_NAMES
from ..solvers import refuse_needs

LEAST_SCALE = 1e-50
"""Least scale factor of kernels; the largest is one over it. Set by judgement: squares of products
with values of moderate size do not overflow."""


@dataclass(frozen=True)
class Rule:
    """What a parameter must be: a test, the same in words, and what to do about it."""

    holds: Callable[[Any], bool]
    words: str
    remedy: str


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter that is out of its range.

    Parameters have the same meaning, and the same range, in every estimator that has them.
    """
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if isinstance(value, type):
            raise ValueError(
                f"{name} must be an object, not a class; got {value.__name__}. Use "
                f"{value.__name__}()."
            )
    kernels = parameters.get("kernels")
    if (uses_widths(kernels) or alternatives(kernels)) and not estimator.takes_widths:
        raise ValueError(
            f"kernels must have widths that are given for {type(estimator).__name__}; got "
            f"{parameters['kernels']!r}. Use MKLRegressor or MKLClassifier, or another name."
        )
    chooses = "alphas" in parameters
    for name, rule in RULES:
        values = [parameters[name]] if name in parameters else []
        # Estimators that choose also take lists of these.
        first: Any = values[0] if values else None
        several = isinstance(first, list | tuple) or (isinstance(first, np.ndarray) and first.ndim)
        if several and chooses and name in ("p", "degree"):
            values = list(first) or values
        for value in values:
            if not rule.holds(value):
                raise ValueError(f"{name} {rule.words}; got {shown(value)}. {rule.remedy}.")
            if isinstance(value, Integral) and abs(int(value)) > LARGEST_INTEGER:
                refuse_huge(value, name)
            if name == "p" and value is not None:
                refuse_needs(parameters.get("solver", "auto"), value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _positive(remedy: str) -> Rule:
    return Rule(lambda value: is_number(value) and value > 0, "must be a positive number", remedy)


def _moderate(value: Any) -> bool:
    return is_number(value) and LEAST_SCALE <= float(value) <= 1 / LEAST_SCALE


def _scale(remedy: str) -> Rule:
    words = f"must be a number from {LEAST_SCALE:g} to {1 / LEAST_SCALE:g}"
    return Rule(_moderate, words, remedy)


def _at_least(lowest: int, remedy: str) -> Rule:
    return Rule(
        lambda value: (
            isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= lowest
        ),
        f"must be an integer >= {lowest}",
        remedy,
    )


def _one_of(*allowed: Any) -> Rule:
    return Rule(
        lambda value: any(
            value is one or (isinstance(one, str) and isinstance(value, str) and value == one)
            for one in allowed
        ),
        f"must be one of {', '.join(map(repr, allowed))}",
        f"Use {allowed[0]!r}",
    )


def _or(accepted: Callable[[Any], bool], rule: Rule) -> Rule:
    return Rule(lambda value: accepted(value) or rule.holds(value), rule.words, rule.remedy)


_FLAG = _or(lambda value: isinstance(value, bool | np.bool_), _one_of(True, False))

RULES: list[tuple[str, Rule]] = [
    (
        "solver",
        _or(lambda value: callable(getattr(value, "iterate", None)), _one_of(*SOLVER_NAMES)),
    ),
    (
        "degree",
        _or(
            lambda value: value is None or (isinstance(value, str) and value == AUTO),
            _at_least(0, "Use degree=1 for a linear model, 2 or 3 for products"),
        ),
    ),
    ("total_degree", _or(lambda v: v is None, _at_least(0, "Use for instance 3, or None"))),
    ("per_variable_degree", _or(lambda v: v is None, _at_least(1, "Use for instance 3, or None"))),
    ("root_weight", _scale("Use for instance root_weight=0.1")),
    ("growth", _scale("Use for instance growth=4")),
    ("draws", _at_least(1, "Use draws=50")),
    (
        "step",
        Rule(
            lambda value: value is None or callable(value),
            "must be a step size or None",
            "Use for instance manykernels.solvers.DecreasingStep(0.3)",
        ),
    ),
    ("constant", _FLAG),
    ("norm", _at_least(1, "Use norm=1 or norm=2")),
    ("norm", Rule(lambda value: value <= 2, "must be 1 or 2", "Use norm=2")),
    ("radius", _positive("Use radius=1")),
    (
        "centre",
        Rule(
            lambda value: is_number(value) and value >= 0, "must be a number >= 0", "Use centre=0"
        ),
    ),
    ("max_iter", _at_least(1, "Use max_iter=1000")),
    ("alpha", _or(lambda v: v is None, _positive("Use for instance alpha=1e-3, or None"))),
    ("tol", _positive("Use for instance tol=1e-2")),
    (
        "max_memory",
        Rule(
            lambda value: value is None or (as_bytes(value) or 0) > 0,
            'must be a number of bytes, a size such as "2GB", or None',
            "Use None for a quarter of the machine's memory",
        ),
    ),
    ("max_time", _or(lambda v: v is None, _positive("Use seconds, or None for no limit"))),
    (
        "p",
        Rule(
            lambda value: value is None or (is_number(value) and 1 <= value <= 2),
            "must satisfy 1 <= p <= 2",
            "Use 1 for few kernels, 4/3 for the paper's choice, 2 for all kernels with equal "
            "weight",
        ),
    ),
    (
        "rho",
        Rule(
            lambda value: (
                value is None or (_is_list(value) and len(value) > 0 and all(map(_moderate, value)))
            ),
            f"must hold positive numbers from {LEAST_SCALE:g} to {1 / LEAST_SCALE:g}, one for each "
            "degree",
            "Use rho=None for all ones",
        ),
    ),
    ("index_set", _one_of(AUTO, *INDEX_SETS)),
    ("standardize", _or(_FLAG.holds, _one_of(True, False, "scale"))),
    ("standardize_terms", _or(_FLAG.holds, _one_of(AUTO, True, False))),
    ("subsample", _one_of(None, AUTO)),
    ("fit_intercept", _FLAG),
    (
        "device",
        Rule(
            lambda value: value is None or isinstance(value, str),
            'must be None or a name such as "cuda" or "cuda:1"',
            "Use None to work where X is",
        ),
    ),
    ("verbose", _or(lambda value: value is True, _at_least(0, "Use 0, 1 or 2"))),
    (
        "alphas",
        Rule(
            lambda value: (
                value is None
                or (
                    _is_list(value)
                    and len(value) > 0
                    and all(is_number(v) and v > 0 for v in value)
                )
            ),
            "must be a list of positive numbers or None",
            "Use None for a grid chosen from the data",
        ),
    ),
    ("n_alphas", _at_least(1, "Use n_alphas=25")),
    (
        "n_jobs",
        Rule(
            lambda value: (
                value is None
                or (isinstance(value, Integral) and not isinstance(value, bool) and value != 0)
            ),
            "must be None or an integer other than 0",
            "Use n_jobs=-1 for all processors",
        ),
    ),
    (
        "checkpoint",
        Rule(
            lambda value: (
                value is None
                or (
                    isinstance(value, str | PathLike)
                    and str(value) != ""
                    and "\0" not in str(value)
                )
            ),
            "must be a folder or None",
            'Use for instance checkpoint="work"',
        ),
    ),
    ("one_standard_error", _FLAG),
    ("debias", _FLAG),
]
"""The rules of parameters. That of the solver comes first: exponents are checked against it."""
