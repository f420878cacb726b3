"""Until when a fit may work: one deadline for all it consists of, looked at in every long loop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf

from .notices import at_command, setting

LATE_SECONDS = 1.0
"""Seconds by which a fit may overshoot ``max_time``, if a tenth of it is less. A promise."""

LATE_SHARE = 0.1
"""Share of ``max_time`` by which a fit may overshoot it, if a second is less. A promise."""

CUT = 0.6
"""Share of that overshoot after which work under way is cut: the rest is for the block at hand and
for making a model of what is there. Set by judgement, not measured."""

now = time.perf_counter
"""The clock: seconds from some moment, the same for all processes of a machine."""


class OutOfTimeError(TimeoutError):
    """Raised in the middle of work when the time is over; says what a user can do."""

    def __init__(self, max_time: float) -> None:
        time, degree = setting("max_time"), setting("degree")
        others = "--kernels linear" if at_command() else "solver='greedy'"
        super().__init__(
            f"{time} must be long enough for a first model; got {max_time:g} seconds, which were "
            f"over before there was one. Use a larger {time}, a smaller {degree}, fewer columns or "
            f"rows, or {others}."
        )
        self.max_time = max_time

    def __reduce__(self) -> tuple[type[OutOfTimeError], tuple[float]]:
        return OutOfTimeError, (self.max_time,)


@dataclass(frozen=True)
class Deadline:
    """When time is over, in seconds of :data:`now`.

    Attributes
    ----------
    max_time : float
        The seconds that were asked for, for words.
    over : float
        When it is over: no further step begins, and a step that is not the first is cut.
    last : float
        When it is cut what there would be no model without.
    """

    max_time: float = inf
    over: float = inf
    last: float = inf

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.over < inf and now() >= self.over

    @property
    def enough(self) -> float:
        """When a look at all kernels is cut that a first model does without: it has no gap then."""
        return (self.over + self.last) / 2

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.over - now()) if self.over < inf else inf

    def part(self, share: float) -> Deadline:
        """Return the deadline of a part that may take a share of the time that is left."""
        if self.over == inf:
            return self
        over = min(self.over, now() + share * self.left)
        return Deadline(self.max_time, over, (over + self.last) / 2)

    def sooner(self, share: float) -> Deadline:
        """Return one that is over after a share of the time left, but cuts no work before this."""
        return replace(self, over=self.part(share).over)


NEVER = Deadline()
"""No limit."""

_DEADLINE: ContextVar[Deadline] = ContextVar("deadline", default=NEVER)
_LIMIT: ContextVar[float] = ContextVar("limit", default=inf)


def current() -> Deadline:
    """Return the deadline of the fit that this is part of."""
    return _DEADLINE.get()


def check() -> None:
    """Raise :class:`OutOfTimeError` if the time is over; for every loop over blocks of work."""
    limit = _LIMIT.get()
    if limit < inf and now() > limit:
        raise OutOfTimeError(current().max_time)


@contextmanager
def keeping(deadline: Deadline) -> Iterator[Deadline]:
    """Keep to a deadline: work that takes longer than its ``last`` moment is cut."""
    tokens = _DEADLINE.set(deadline), _LIMIT.set(min(_LIMIT.get(), deadline.last))
    try:
        yield deadline
    finally:
        _DEADLINE.reset(tokens[0])
        _LIMIT.reset(tokens[1])


@contextmanager
def allowed(max_time: float | None) -> Iterator[Deadline]:
    """Keep to a number of seconds from now on, and to the deadline of what this is part of."""
    outer, deadline = current(), current()
    if max_time is not None and max_time < inf:
        over = now() + max_time
        last = over + CUT * max(LATE_SECONDS, LATE_SHARE * max_time)
        if over < outer.over:
            asked = max_time if outer is NEVER else outer.max_time
            deadline = Deadline(asked, over, min(last, outer.last))
    with keeping(deadline):
        yield deadline


@contextmanager
def strictly(limit: float | None = None) -> Iterator[None]:
    """Cut work at a moment, by default where time is over: there is a model without it."""
    token = _LIMIT.set(min(_LIMIT.get(), current().over if limit is None else limit))
    try:
        yield
    finally:
        _LIMIT.reset(token)
