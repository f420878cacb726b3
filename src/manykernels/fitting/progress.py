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

from ..solvers import State

EVERY_SECONDS = 2.0
"""Lines come at most so often, and nothing is said of time left before this."""

CHOOSING = 0.85
"""Share of the work of a cross-validated fit that is done when the folds are."""


class Display(Protocol):
    """Something that shows how far a fit has come."""

    def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
        """Show what is going on, the share that is done, and seconds spent and left."""


class Lines:
    """A line now and then, or whenever something happens."""

    def __init__(self, always: bool) -> None:
        self.always, self.last = always, 0.0

    def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
        """Write a line if it is time to."""
        if not self.always and seconds - self.last < EVERY_SECONDS:
            return
        self.last = seconds
        rest = "" if left is None else f", about {left:.0f} s left"
        sys.stderr.write(f"{text}, {seconds:.1f} s{rest}\n")
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
    console = Console(stderr=not _in_notebook())
    with Progress(*columns, console=console, transient=True, expand=True) as shown:
        task = shown.add_task("", total=1.0, left="")

        class Bar:
            def show(self, text: str, share: float, seconds: float, left: float | None) -> None:
                rest = "" if left is None else f"about {left:.0f} s left"
                shown.update(task, description=text, completed=share, left=rest)

        yield Bar()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _has_screen() -> bool:
    if find_spec("rich") is None:
        return False
    if _in_notebook():
        return find_spec("ipywidgets") is not None
    return sys.stderr.isatty()


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
        self.part, self.first, self.last = "", 0.0, 1.0

    def within(self, part: str, first: float, last: float) -> None:
        """Begin a part of the fit, between two shares of the whole; stages are of that part."""
        self.part, self.first, self.last = part, first, last
        self.stage("", 0.0, 1.0)

    def stage(self, label: str, start: float, stop: float) -> None:
        """Begin a stage that takes the work of the part from one share to another."""
        self.label, self.start, self.stop = label, start, stop
        self.report("", 0.0)

    def report(self, text: str, share: float) -> None:
        """Show a share of the present stage."""
        done = self.start + share * (self.stop - self.start)
        done = self.first + done * (self.last - self.first)
        seconds = perf_counter() - self.began
        known = done > 0.01 and seconds >= EVERY_SECONDS
        left = seconds * (1 - done) / done if known else None
        said = ": ".join(part for part in (self.part, self.label, text) if part)
        self.display.show(said, done, seconds, left)


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
        0 is silent; 1 shows a bar where stderr is a screen (or a notebook with widgets) and rich
        is installed, else a line every two seconds; 2 writes a line for each iteration.
    """
    if not verbose or current() is not None:
        yield current()
        return
    with ExitStack() as stack:
        fancy = verbose == 1 and _has_screen()
        display: Display = stack.enter_context(bar()) if fancy else Lines(verbose >= 2)
        token = _CURRENT.set(Watch(display))
        try:
            yield _CURRENT.get()
        finally:
            _CURRENT.reset(token)


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
        share = self._share(state.k - 1, record["seconds"], gap if known else inf)
        self.watch.report(
            (f"model {number + 1} of at most {models}, " if models > 1 else "")
            + f"round {state.k - 1}, best {state.active} of {self.many} kernels, "
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
