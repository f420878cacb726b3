"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, Index
from ..certificate import Certificate
from ..dual import DualSolution
from .theory import Constants

if TYPE_CHECKING:
    from .loop import State

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
        Whether the gap met the tolerance, or a solver without one came to its end.
    interrupted : bool
        Whether it was stopped by Ctrl-C.
    history : dict of list
        One entry for each iteration: iteration, seconds, objective, (relative) gap, active
        kernels.
    constants : Constants, optional
        The theorem's constants measured on the run.
    memory : object, optional
        What the solver has computed that does not depend on the strength, for its next start.
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
    memory: object = None


def from_state(state: State, history: dict[str, list[float]] | None = None) -> Result:
    """Return the answer of a solver that stopped at a state."""
    return Result(
        *state.weights,
        False,
        state.solution,
        state.certificate,
        state.k - 1,
        True,
        history=history or {key: [] for key in HISTORY},
    )


def in_weights(coefficients: Array, owners: Array, count: int) -> tuple[Array, Array]:
    r"""Return weights of kernels, and coefficients of features times the roots of these.

    The weights :math:`\theta_i = \|w_i\| / \sum_j \|w_j\|` are those that p = 1 gives to
    coefficients :math:`w_i` of features :math:`\phi_i/\rho_i`.
    """
    norms = np.sqrt(np.bincount(owners, np.sum(coefficients**2, axis=1), minlength=count))
    theta = norms / (norms.sum() or 1.0)
    roots = np.sqrt(theta)[owners, None]
    scaled = np.divide(coefficients, roots, out=np.zeros_like(coefficients), where=roots > 0)
    return theta, scaled
