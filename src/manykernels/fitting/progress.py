"""Progress while a fit runs: a bar where there is a screen, else lines, both on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from math import inf, isfinite, log
from time import perf_counter
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..solvers import State
from .choose import WORTHWHILE

EVERY_SECONDS = 2.0
"""Lines come at most so often, and nothing is said of time left before this."""

CHOOSING = 0.85
"""Share of the work of a cross-validated fit that is done when the folds are."""


SAID_FROM = 0.3
"""Share of the work from which on time left is said: before, too little of it has been seen."""

SEEN_PART = 0.15
"""Share of a part of the work, such as a kind of model, from which on its own pace tells how long
the rest takes: parts before it may have been far quicker than usual. Set by judgement."""

LATER = 0.57
"""Largest share of the work in later parts for which time left is said: how long these take is not
known before. Such that it is said while widths are learnt, on 32,000 rows, too, and not before."""

LATEST = 0.98
"""Share of the work that is said to be done at the most before it is."""

USUAL_END = 0.85
"""Share of the models of a path after which it usually ends: 20 to 24 of 25 on these tables."""

SEEN_STEPS = 5
"""Steps of a path after which its costs tell how long the others take. Set by judgement."""

STEP_GROWTH = 1.15, 1.4
"""Least and largest factor by which a step of a path is taken to cost more than the one before.
Chosen so that on 500 to 1,200 rows of concrete, california, bike and grid (spline terms of pairs)
the time left after a third of the fit is within a factor of two: there it was 0.6 to 0.7 of the
truth."""

FINAL_MODELS = 2.5
"""Cost of the fit to all rows, which has no start, in models of a single fold. Measured on
concrete; on other tables 1 to 4."""


FIRST_WIDTHS = 0.85
"""Share of the work of a path with free widths that its first model is: it learns the widths, which
the others keep. Measured: .95 on folds of 700 rows, .8 on 4,000 rows."""

FIRST_OF_STEPS = 0.5
"""Share of the work of such a path that its first model is for losses other than the squared one,
whose other models take several steps each. Measured on 4,000 rows of higgs15k."""


def choosing(folds: int, widths: bool) -> float:
    """Return the share of the work of a cross-validated fit that is done when the folds are.

    A fold that learns widths takes as long as the fit to all rows.
    """
    return folds / (folds + 1) if widths else CHOOSING


def model_shares(count: int, first: float | None = None) -> Array:
    """Return the shares of the work of a path that are done before each model, and 1 at its end.

    ``first`` is that of the first model, where it takes longer than the others.
    """
    if first is None or count < 2:
        return np.linspace(0, 1, count + 1)
    return np.append(0.0, np.linspace(first, 1, count))


def steps_left(losses: Array, most: int) -> int:
    """Guess how many models a path still has, from the mean losses of those so far.

    Gains shrink by about the same factor at each step, and a path ends where two steps gain less
    than the share WORTHWHILE of the loss; see :func:`~manykernels.fitting.choose.ended`. The guess
    stays near USUAL_END: gains of single steps say little.
    """
    usual = round(USUAL_END * most) - len(losses)
    gains = -np.diff(losses[-3:]) / max(abs(float(losses[-1])), 1e-300)
    guess = most
    if len(gains) < 2 or gains.min() <= 0:
        guess = usual
    elif gains[1] < gains[0]:
        guess = round(log(min(WORTHWHILE / 2 / gains[1], 1.0)) / log(gains[1] / gains[0]))
    near = min(max(guess, usual - 1), usual + 2)
    return max(1, min(near, most - len(losses)))


class Display(Protocol):
    """Something that shows how far a fit has come."""

    def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
        """Show what is going on, the share that is done, and seconds spent and left."""

    def end(self, seconds: float) -> None:
        """Show that the fit has ended."""


class Lines:
    """A line at once, then now and then, or whenever something happens; and one at the end."""

    def __init__(self, always: bool) -> None:
        self.always, self.last = always, -inf

    def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
        """Write a line if it is time to."""
        if not text or (not self.always and seconds - self.last < EVERY_SECONDS):
            return
        self.last = seconds
        rest = "" if left is None else f", about {left:.0f} s left"
        sys.stderr.write(f"{text}, {seconds:.1f} s{rest}\n")
        sys.stderr.flush()

    def end(self, seconds: float) -> None:
        """Write how long it took, so that also a short fit is seen to have ended."""
        if not self.always and isfinite(self.last):
            sys.stderr.write(f"done in {seconds:.1f} s\n")
            sys.stderr.flush()


@contextmanager
def bar() -> Iterator[Display]:
    """Show a bar of rich; it vanishes when the fit ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    flexible = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", markup=False, table_column=flexible),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, expand=True) as shown:
        task = shown.add_task("", total=1.0, left="")

        class Bar:
            def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
                rest = "" if left is None else f"about {left:.0f} s left"
                shown.update(task, description=text, completed=share, left=rest)

            def end(self, seconds: float) -> None:
                shown.update(task, completed=1.0)

        yield Bar()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _has_screen() -> bool:
    """Tell whether a bar can be drawn: in notebooks it would need widgets, and lines do not."""
    return find_spec("rich") is not None and not _in_notebook() and sys.stderr.isatty()


class Watch:
    """How far one fit has come, over all the runs of solvers it consists of.

    Parameters
    ----------
    display : Display
        Where it is shown.
    """

    def __init__(self, display: Display) -> None:
        self.display = display
        self.began = perf_counter()
        self.label, self.start, self.stop = "", 0.0, 1.0
        self.part, self.first, self.last, self.end = "", 0.0, 1.0, 1.0
        self.entered, self.done, self.least, self.over = self.began, 0.0, inf, inf
        self.whole: float | None = None
        self.times: list[float] = []
        self.guesses: list[float] = []

    def within(self, part: str, first: float, last: float, end: float | None = None) -> None:
        """Begin a part of the fit, between two shares of the whole; stages are of that part.

        ``end`` is where it ends if not all of its stages come.
        """
        self.part, self.first, self.last = part, first, last
        self.end, self.least = last if end is None else end, inf
        self.entered, self.whole, self.times, self.guesses = perf_counter(), None, [], []
        self.stage("", 0.0, 1.0)

    def step(self, losses: Array, most: int, paths: int, folds: int) -> None:
        """Take note of a finished step of a path: a model in each fold.

        Parameters
        ----------
        losses : ndarray
            Mean losses of the models of the path so far.
        most : int
            Most models that it may have.
        paths : int
            Paths that are still to come.
        folds : int
            Number of folds.
        """
        now = perf_counter() - self.entered
        if len(losses) == 1:
            self.times = []
        self.times.append(now)
        if len(self.times) < SEEN_STEPS:
            return
        more, last = steps_left(losses, most), self.times[-1] - self.times[-2]
        third = self.times[-SEEN_STEPS + 1] - self.times[-SEEN_STEPS]
        growth = (max(last, 1e-9) / max(third, 1e-9)) ** (1 / (SEEN_STEPS - 2))
        growth = min(max(growth, STEP_GROWTH[0]), STEP_GROWTH[1])
        coming = sum(last * growth**i for i in range(1, more + 1))
        own = now - self.times[0] + coming
        end = last * growth**more * FINAL_MODELS / folds
        self.guesses = [*self.guesses[-1:], now + coming + paths * own + end]
        self.whole = max(self.guesses)  # a single small gain does not mean that the end is near

    def stage(self, label: str, start: float, stop: float) -> None:
        """Begin a stage that takes the work of the part from one share to another."""
        self.label, self.start, self.stop = label, start, stop
        self.report("", 0.0)

    def report(self, text: str, share: float) -> None:
        """Show a share of the present stage."""
        now = perf_counter()
        seconds = now - self.began
        done = self.start + share * (self.stop - self.start)
        if self.whole is not None:  # by time, for models of a path cost more and more
            done = min((now - self.entered) / max(self.whole, 1e-9), LATEST)
        own = done * (self.last - self.first)
        self.done = max(self.first + own, self.done)
        known = done >= SEEN_PART and 1 - self.end <= LATER
        if known and self.done >= SAID_FROM and seconds >= EVERY_SECONDS:
            self.least = min((now - self.entered) * (1 - self.done) / own, self.least)
            self.over = now + self.least
        # Until the pace of a part is known, the part before tells when all will be over.
        soon = self.least if isfinite(self.least) else self.over - now
        left = soon if isfinite(soon) and soon > 0 else None
        said = ": ".join(part for part in (self.part, self.label, text) if part)
        self.display.show(said, self.done, seconds, left)


_CURRENT: ContextVar[Watch | None] = ContextVar("watch", default=None)


def current() -> Watch | None:
    """Return the watch of the fit that this is part of, if any."""
    return _CURRENT.get()


@contextmanager
def watching(verbose: int) -> Iterator[Watch | None]:
    """Watch a fit, unless it is part of one that is watched already or wants no words.

    Parameters
    ----------
    verbose : int
        0 is silent; 1 shows a bar where stderr is a screen and rich is installed, else, as in
        notebooks, a line at once, every two seconds and at the end; 2 writes a line for each
        iteration.
    """
    if not verbose or current() is not None:
        yield current()
        return
    with ExitStack() as stack:
        fancy = verbose == 1 and _has_screen()
        display: Display = stack.enter_context(bar()) if fancy else Lines(verbose >= 2)
        watch = Watch(display)
        token = _CURRENT.set(watch)
        try:
            yield watch
        finally:
            _CURRENT.reset(token)
            display.end(perf_counter() - watch.began)


class Progress:
    """A callback of solvers that reports to a watch.

    Parameters
    ----------
    watch : Watch or None
        Where to; None is silent.
    size : int or float
        Number of kernels in the family; infinite where widths are free.
    tol : float
        Gap to reach.
    max_iter : int
        Largest number of iterations.
    max_time : float or None
        Largest number of seconds.
    place : pair of int, default=(0, 1)
        Number of the model, which is a stage of its own, and how many there are at most.
    """

    def __init__(
        self,
        watch: Watch | None,
        size: float,
        tol: float,
        max_iter: int,
        max_time: float | None,
        place: tuple[int, int] = (0, 1),
    ) -> None:
        self.watch, self.tol = watch, tol
        self.many = "infinitely many" if size == inf else f"{min(size, 1e300):.3g}"
        self.max_iter, self.max_time, self.place = max_iter, max_time, place
        self.first = inf

    def __call__(self, state: State, record: dict[str, float]) -> None:
        """Report an iteration."""
        if self.watch is None:
            return
        gap = record["gap"]
        known = isfinite(gap) and gap > 0
        certified = f", gap {gap:.2g} ({state.certificate.kind})" if known else ""
        number, models = self.place
        share = getattr(state, "share", None)
        if share is None:
            share = self._share(state.k - 1, record["seconds"], gap if known else inf)
        self.watch.report(
            (f"model {number + 1} of at most {models}, " if models > 1 else "")
            + f"round {state.k - 1}, {state.active} of {self.many} kernels in use, "
            f"objective {record['objective']:.6g}{certified}",
            share,
        )

    def _share(self, iterations: int, seconds: float, gap: float) -> float:
        """Guess how much is done: by iterations, by time, or by the digits of the gap."""
        shares = [iterations / max(self.max_iter, 1)]
        if self.max_time is not None:
            shares.append(seconds / self.max_time)
        if self.first == inf:
            self.first = gap
        if self.tol < gap < self.first < inf:
            shares.append(log(self.first / gap) / log(self.first / self.tol))
        elif gap <= self.tol:
            shares.append(1.0)
        return min(max(shares), 1.0)
