"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..arrays import Array, Index
from ..certificate import Certificate
from ..dual import DualSolution
from .theory import Constants

HISTORY = ("iteration", "seconds", "objective", "gap", "active")


@dataclass(frozen=True)
class Result:
    r"""Weights of a family of kernels and the predictor they give.

    Attributes
    ----------
    indices : sequence of Index
        Kernels with a positive weight; all of them unless ``closed``.
    theta : ndarray
        Their weights.
    closed : bool
        Whether the kernel is the sum of the whole family in closed form (p = 2), of which
        ``indices`` lists only some.
    solution : DualSolution
        Dual and primal variables at these weights.
    certificate : Certificate
        Duality gap.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the gap met the tolerance.
    interrupted : bool
        Whether it was stopped by Ctrl-C.
    history : dict of list
        One entry for each iteration: iteration, seconds, objective, (relative) gap, active
        kernels.
    constants : Constants, optional
        The theorem's constants measured on the run.
    """

    indices: Sequence[Index]
    theta: Array
    closed: bool
    solution: DualSolution
    certificate: Certificate
    n_iter: int
    converged: bool
    interrupted: bool = False
    history: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in HISTORY})
    constants: Constants | None = None
