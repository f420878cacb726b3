"""What a search for widths goes through: what it has found, its states, what it goes on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...bases.width_rows import WidthKernel
from ...certificate import UNKNOWN, Certificate
from ...dual import DualSolution
from ..base import FinalState
from ..kept import frozen


class Behind(NamedTuple):
    """What lies behind a stage: its rounds, the evidence of the last, whether it is over."""

    rounds: int
    evidence: float
    over: bool


NOTHING_BEHIND = Behind(0, np.inf, False)
"""A stage that has not begun."""


class Found(NamedTuple):
    """What a search has found: kernels, weights, the noise, and whether a slide was their last."""

    kernels: list[WidthKernel]
    theta: Array
    noise: float
    slid: bool


@dataclass(frozen=True)
class SearchState:
    """The search after a round.

    Attributes
    ----------
    k : int
        Number of the round.
    found : Found
        The kernels, their weights and the noise.
    solution : DualSolution
        Their predictor on the rows of the round.
    finish : callable
        Returns their predictor on all rows and its certificate.
    share : float
        Share of the search that is done, as its rows, rounds and steps let expect.
    kept : callable
        What the search goes on from; see :class:`~..base.State`.
    """

    k: int
    found: Found
    solution: DualSolution
    finish: Callable[[], tuple[DualSolution, Certificate]]
    share: float
    kept: Callable[[], dict[str, Any]] | None = None

    certificate = UNKNOWN
    final = False
    constants = None

    @property
    def weights(self) -> tuple[list[Any], Array]:
        """The kernels and their weights."""
        return self.found.kernels, self.found.theta

    @property
    def active(self) -> int:
        """Number of kernels with a weight."""
        return len(self.found.kernels)

    @property
    def memory(self) -> float:
        """The noise, from which the search goes on."""
        return self.found.noise


@dataclass(frozen=True)
class SearchEnd(FinalState):
    """The model on all rows, at the end of the search, which no tolerance decides."""

    ended = True


def kept_search(now: dict[str, Any], solution: DualSolution) -> dict[str, Any]:
    """Return what the search goes on from, after a round."""
    return {**now, "found": tuple(now["found"]), "solution": frozen(solution)}
