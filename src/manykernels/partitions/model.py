"""What is fitted to rows in parts, until when, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..certificate import Certificate
from ..families import KernelFamily
from ..objective import Problem
from ..solvers import HISTORY, Solver
from .rows import Point


@dataclass(frozen=True)
class Task:
    """What is minimised, but for the strength.

    Attributes
    ----------
    p : float
        Exponent of the group norm.
    intercept : bool
        Whether there is a free constant.
    outputs : int
        Number of outputs.
    reach : float
        Largest size of a target.
    """

    p: float
    intercept: bool
    outputs: int
    reach: float


@dataclass(frozen=True)
class Limits:
    """When a fit ends, and what solves problems in memory.

    Attributes
    ----------
    solver : callable
        Takes a problem and a family and returns a solver; None for p = 2 in closed form.
    max_iter, tol, max_time :
        Largest number of passes, relative gap and seconds to end at.
    callback : callable
        Called with the number of passes, the objective, the gap and the number of kernels.
    """

    solver: Callable[[Problem, KernelFamily], Solver] | None
    max_iter: int
    tol: float
    max_time: float | None
    callback: Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class Fitted:
    """A model of rows in parts.

    Attributes
    ----------
    point : Point
        Kernels in use, coefficients of their features, constants.
    theta : ndarray
        Weights of the kernels.
    objective : float
        The objective.
    certificate : Certificate
        Its exact duality gap over the whole family.
    history : dict of list
        One entry for each pass, or step in memory.
    converged, interrupted : bool
        Whether the gap is small enough, and whether Ctrl-C ended the fit.
    """

    point: Point
    theta: Array
    objective: float
    certificate: Certificate
    history: dict[str, list[float]]
    converged: bool
    interrupted: bool = False


class Record:
    """What the passes of a fit found, and how long they took."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.history: dict[str, list[float]] = {key: [] for key in HISTORY}
        self.began = perf_counter()

    def add(self, passes: int, objective: float, gap: float, active: int) -> None:
        """Take down what a pass found, and tell the caller."""
        record = (passes, perf_counter() - self.began, objective, gap, active)
        for key, value in zip(HISTORY, record, strict=True):
            self.history[key].append(float(value))
        self.limits.callback(passes, objective, gap, active)

    @property
    def late(self) -> bool:
        """Whether time is up."""
        longest = self.limits.max_time
        return longest is not None and perf_counter() - self.began > longest


class Engine(Protocol):
    """Fits of one family to the same rows."""

    def solve(
        self, strength: float, limits: Limits, rng: np.random.Generator, start: Fitted | None
    ) -> Fitted:
        """Return the model of a strength, from that of another one."""
        ...

    def start(self) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""
        ...

    def covariances(self, point: Point) -> Array:
        """Return the covariances of the features in use with the function, of shape (m, c)."""
        ...
