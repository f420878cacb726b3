"""What pricing finds: the kernels of largest score."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...arrays import Array, Index


class Shortlist(NamedTuple):
    """Kernels in descending order of their scores."""

    indices: list[Index]
    scores: Array


class Pricer(Protocol):
    """Finds the kernels of largest score at one dual point after another."""

    def top(self, alpha: Array, count: int, above: float = 0.0) -> Shortlist:
        r"""Return the ``count`` kernels of largest score, of those with one above a threshold.

        The score is the gradient :math:`g_i`, or :math:`g_i / \sigma_i^2` if the pricer was made
        with row weights; ``alpha`` is of shape (n, c).
        """
        ...
