"""Progress lines while a fit runs."""

from __future__ import annotations

import sys

from ..arrays import approximately
from ..solvers import State

EVERY_SECONDS = 2.0


class Progress:
    """A callback that writes a line now and then: iteration, objective, gap, time left.

    Parameters
    ----------
    verbose : int
        0 is silent, 1 writes at most a line every two seconds, 2 a line for each iteration.
    size : int
        Number of kernels in the family.
    max_iter : int
        Largest number of iterations.
    max_time : float or None
        Largest number of seconds.
    """

    def __init__(self, verbose: int, size: int, max_iter: int, max_time: float | None) -> None:
        self.verbose, self.size = verbose, size
        self.max_iter, self.max_time = max_iter, max_time
        self.last = 0.0

    def __call__(self, state: State, record: dict[str, float]) -> None:
        """Write a line if it is time to."""
        seconds = record["seconds"]
        if not self.verbose or (self.verbose == 1 and seconds - self.last < EVERY_SECONDS):
            return
        self.last = seconds
        left = seconds / max(state.k, 1) * (self.max_iter - state.k)
        if self.max_time is not None:
            left = min(left, self.max_time - seconds)
        sys.stdout.write(
            f"iteration {state.k - 1}: objective {record['objective']:.6g}, "
            f"gap {record['gap']:.2g} ({state.certificate.kind}), "
            f"{state.active} of {approximately(self.size):.3g} kernels, "
            f"{seconds:.1f} s, at most {max(left, 0.0):.0f} s left\n"
        )
