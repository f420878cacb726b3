"""What a solver is, what it needs, the states it goes through and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Index
from ..certificate import Certificate
from ..dual import DualSolution
from ..families import KernelFamily
from ..inputs import LARGEST_INTEGER, refuse_huge
from ..losses import Loss, SmoothLoss
from ..objective import Problem
from .theory import Constants

HISTORY = ("iteration", "seconds", "objective", "gap", "active")
"""Names of what is recorded of each iteration; the gap is relative to the objective."""


@dataclass(frozen=True)
class Needs:
    """What a solver needs of a problem and of a family of kernels; by default nothing.

    Attributes
    ----------
    p, p_words : callable, str
        Tells whether the solver is right for an exponent of the penalty; the same in words.
    smooth : bool
        Whether the loss must have a continuous derivative.
    features : bool
        Whether kernels must have features; kernels given by matrices will not do.
    priced, listed : bool
        Whether it must be possible, and affordable, to find the best kernels of the whole family
        (pricing); to list all kernels and compute with each.
    drawn, summed : bool
        Whether it must be possible to draw kernels; to add all of them up in closed form.
    title : str
        Name of the solver in error messages, such as ``"greedy selection"``.
    """

    p: Callable[[float], bool] = lambda p: True
    p_words: str = "1 <= p <= 2"
    smooth: bool = False
    features: bool = False
    priced: bool = False
    listed: bool = False
    drawn: bool = False
    summed: bool = False
    title: str = "the solver"


def refuse_matrices(title: str) -> None:
    """Raise ValueError for kernels without features; say what needs them."""
    raise ValueError(
        f"{title} needs kernels with features; got kernels given by matrices. "
        'Use kernels="linear" or "spline", or another solver.'
    )


def refuse_kinks(loss: Loss, where: str) -> None:
    """Raise ValueError for a loss without a continuous derivative; say where one is needed."""
    if not isinstance(loss, SmoothLoss):
        raise ValueError(
            f"loss must be smooth {where}; got {type(loss).__name__}. "
            'Use loss="squared", "huber", "squared_hinge" or "logistic".'
        )


class State(Protocol):
    """A solver before step k.

    It may also say that it is ``closed`` (see :class:`Result`), how many ``steps`` it took to get
    there if that is not k - 1, and that it ``ended`` a solver that stops by no tolerance. One that
    is not ``final`` may have a method ``finish``: the solution at its weights, and its certificate.
    One that a solver can go on from in another process has ``kept``: a function that returns, as
    long as no further state was asked for, a tree of plain values and arrays. ``iterate`` takes
    that as its argument ``kept``, and yields this very state again, and all that follow.
    """

    @property
    def k(self) -> int:
        """Number of the step to come, from 1."""

    @property
    def solution(self) -> DualSolution:
        """Predictor and objective at the present weights."""

    @property
    def certificate(self) -> Certificate:
        """What is known of their duality gap."""

    @property
    def active(self) -> int:
        """Number of kernels with a weight."""

    @property
    def weights(self) -> tuple[list[Index], Array]:
        """The solver's answer if it stopped here: kernels and their positive weights."""

    @property
    def final(self) -> bool:
        """Whether ``solution`` and ``certificate`` are those of ``weights``, as good as can be."""

    @property
    def constants(self) -> Constants | None:
        """The theorem's constants measured so far, if the theorem is about this solver."""

    @property
    def memory(self) -> object:
        """What the solver has computed that does not depend on the strength, or None."""


@dataclass(frozen=True)
class FinalState:
    """A :class:`State` whose predictor and certificate are those of its weights.

    ``weights`` are the kernels with a positive weight, ``active`` in number, and their weights.
    """

    k: int
    weights: tuple[list[Index], Array]
    active: int
    solution: DualSolution
    certificate: Certificate
    memory: object = None
    kept: Callable[[], dict[str, Any]] | None = None

    final = True
    constants = None

    @property
    def indices(self) -> list[Index]:
        """The kernels alone."""
        return self.weights[0]


class Solver(Protocol):
    """An algorithm as a generator of states; all else is the loop around it.

    What it needs is its attribute ``needs``; a solver without one needs nothing. One that can
    start from the answer to a similar problem on the same family has a method ``resume``, which
    takes that :class:`Result` behind the arguments of ``iterate``. Weights and coefficients of the
    start are those of the same kernels on other rows, too, where it has no ``memory``; one that
    needs ``solution.fitted`` of its own rows says so by ``starts_from_values``.
    """

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[State]:
        """Yield the state before each step."""


class Slot(Protocol):
    """Where the state of a part of a fit is kept, so that another process can go on from it."""

    def at(self, name: str) -> Slot:
        """Return the slot of a part of this part."""

    def read(self) -> Any:
        """Return what was kept, a tree of plain values and arrays; None if there is nothing."""

    def offer(self, make: Callable[[], Any]) -> bool:
        """Keep what a function returns if it is time to, and tell whether it was."""

    def write(self, state: Any) -> bool:
        """Keep a tree, and tell whether that was possible."""

    def drop(self) -> None:
        """Forget what was kept."""


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
    gradient_power : float, optional
        Power of the gradients at the dual variables that the weights are, up to their norm; where
        it is known, weights need not be kept.
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
    gradient_power: float | None = None


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


def refuse_settings(solver: Any, least: dict[str, int]) -> None:
    """Raise ValueError unless settings of a solver are integers that are large enough."""
    for name, lowest in least.items():
        value = getattr(solver, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and int(value) > LARGEST_INTEGER:
            refuse_huge(value, name)
        if not whole or int(value) < lowest:
            kind = type(solver)
            raise ValueError(
                f"{name} of {kind.__name__} must be an integer >= {lowest}; got {value!r}. Use "
                f"{kind.__name__}({name}={getattr(kind, name)})."
            )
