"""Support vector machines with an intercept, solved by libsvm through scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from ..arrays import Array
from ..backend import to_host
from ..limits import LIBSVM_ROWS
from ..losses import EpsilonInsensitive, Hinge
from ..objective import Problem
from .systems import Ridge
from .tall import System

LIBSVM_STEPS = 100_000
"""Most steps of libsvm; what it leaves is done by Newton steps. Set by judgement, not measured."""


def solvable(problem: Problem) -> bool:
    """Tell whether libsvm solves this problem: it always fits an intercept and needs two labels."""
    small = problem.intercept and len(problem.y) <= LIBSVM_ROWS
    if isinstance(problem.loss, Hinge):
        return small and len(np.unique(problem.y)) == 2
    return small and isinstance(problem.loss, EpsilonInsensitive)


def solve_libsvm(problem: Problem, system: System) -> tuple[Ridge, Array]:
    r"""Return libsvm's solution for one output and its :math:`v = -\lambda\alpha/s`.

    Good to a relative gap of 1e-9 to 1e-6: libsvm keeps the kernel in single precision.
    """
    options = {
        "kernel": "precomputed",
        "C": 1 / problem.strength,
        "tol": 1e-9,
        "max_iter": LIBSVM_STEPS,
    }
    machine = (
        SVR(epsilon=problem.loss.epsilon, **options)
        if isinstance(problem.loss, EpsilonInsensitive)
        else SVC(**options)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(to_host(system.matrix()), problem.y[:, 0], sample_weight=problem.weights)
    alpha = np.zeros_like(problem.y)
    alpha[machine.support_, 0] = machine.dual_coef_[0]
    coefficients = system.from_dual(alpha)
    b = np.asarray(machine.intercept_, dtype=float)
    point = Ridge(coefficients, b, system.values(coefficients))
    return point, problem.slopes(alpha)
