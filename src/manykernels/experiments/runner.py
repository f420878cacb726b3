"""Many independent runs, each kept in a file as soon as it is finished."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from .. import __version__
from ..store import write_whole

CACHE_FORMAT = 1
"""Version of the cache files; another one makes every file of the cache stale."""

NAME_LENGTH = 60
"""Most characters of a cache file's name that come from the settings."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One unit of work: it is computed whole or not at all.

    The name of the experiment is that of its folder in the cache. The settings are all that the
    rows depend on, with the seed; what else they depend on, such as all settings of a method or the
    source of the data, is the recipe, which is no column of the table. The cost is relative to that
    of the other runs, for the time left.
    """

    experiment: str
    settings: Mapping[str, str | int | float | bool | None]
    cost: float = 1.0
    recipe: str = ""

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.experiment}: {listed}"


def complete(
    runs: Sequence[Run],
    compute: Callable[[Run], list[Row]],
    cache: Path,
    progress: bool = True,
) -> pd.DataFrame:
    """Compute the runs that the cache does not have; return the rows of all of them.

    ``compute`` gives the rows of a run, whose values are numbers, strings, booleans or None. The
    cache is a folder with a folder for each experiment and a file for each run. With ``progress``
    there is a bar on a terminal, or else a line for each computed run, on stderr. Rows come in the
    order of the runs; the settings are the first columns.
    """
    paths = [cache_path(run, cache) for run in runs]
    known: dict[Path, list[Row] | None] = {}
    for run, path in zip(runs, paths, strict=True):
        if path in known:
            raise ValueError(f"runs must be distinct; got {run} twice. Drop one of them.")
        known[path] = _load(run, path)
    pending = [(run, path) for run, path in zip(runs, paths, strict=True) if known[path] is None]
    pace = Pace(len(runs), len(runs) - len(pending), sum(run.cost for run, _ in pending))
    try:
        with _display(pace, progress) as show:
            for run, path in pending:
                show(run, False)
                start = perf_counter()
                known[path] = _compute_and_store(run, compute, path)
                pace.record(run.cost, perf_counter() - start)
                show(run, True)
    except KeyboardInterrupt:
        print(
            f"Interrupted: {pace.finished} of {pace.total} runs are kept in {cache}; "
            "the same command goes on from there.",
            file=sys.stderr,
        )
        raise
    return _frame(runs, [known[path] or [] for path in paths])


def cache_path(run: Run, cache: Path) -> Path:
    """File of a run: readable from its settings, unique by a hash of all that identifies it."""
    words = "-".join(str(value) for value in run.settings.values())
    slug = re.sub(r"[^a-z0-9.]+", "-", words.lower())[:NAME_LENGTH].strip("-.")
    digest = hashlib.sha256(_json(_identity(run)).encode()).hexdigest()[:12]
    return cache / run.experiment / f"{slug}-{digest}.json"


@dataclass
class Pace:
    """Number of finished runs, and the time left.

    The time is in proportion to the costs of the runs computed here (``cost_done``) and left
    (``cost_left``); runs from the cache count as finished, but take no time.
    """

    total: int
    finished: int
    cost_left: float
    cost_done: float = 0.0
    seconds: float = 0.0
    last: float = field(default_factory=perf_counter)

    def record(self, cost: float, seconds: float) -> None:
        """Count a computed run."""
        self.finished += 1
        self.cost_left -= cost
        self.cost_done += cost
        self.seconds += seconds
        self.last = perf_counter()

    def seconds_left(self) -> float | None:
        """Seconds left now, None before the first computed run."""
        if self.finished == self.total:
            return 0.0
        if not self.cost_done:
            return None
        expected = self.seconds / self.cost_done * self.cost_left
        return max(expected - (perf_counter() - self.last), 0.0)

    def __str__(self) -> str:
        seconds = self.seconds_left()
        return "" if seconds is None else f"about {timedelta(seconds=round(seconds))} left"


Show = Callable[[Run, bool], None]
"""Called with a run before it is computed (False) and after (True)."""


def _display(pace: Pace, progress: bool) -> AbstractContextManager[Show]:
    def line(run: Run, finished: bool) -> None:
        if progress and finished:
            left = f"about {pace.seconds_left() or 0.0:.0f} s left"
            print(f"{run}: {pace.finished} of {pace.total}, {left}", file=sys.stderr, flush=True)

    return _bar(pace) if progress and sys.stderr.isatty() else nullcontext(line)


@contextmanager
def _bar(pace: Pace) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # The pace is formatted anew at each refresh, so the time left also falls during a run. rich's
    # own estimate forgets steps older than half a minute and knows no costs.
    # On a narrow terminal only the description is cut.
    flexible = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", markup=False, table_column=flexible),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task("", total=pace.total, completed=pace.finished, pace=pace)

        def show(run: Run, finished: bool) -> None:
            bar.update(task, description=str(run), completed=pace.finished)

        yield show


def _compute_and_store(run: Run, compute: Callable[[Run], list[Row]], path: Path) -> list[Row]:
    try:
        # Limited anew for each run: a limit does not reach libraries that are loaded after it.
        with threadpool_limits(1, user_api="blas"):
            rows = compute(run)
        for name in run.settings:
            if any(name in row for row in rows):
                raise ValueError(
                    f"rows must not repeat the settings of their run; got {name!r}. Rename it."
                )
        text = _json({"run": _identity(run), "rows": rows}, indent=1) + "\n"
    except Exception as error:
        error.add_note(f"in the run {run}")
        raise
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    # What the file says, not what was computed: both ways give the same types.
    return json.loads(text)["rows"]


def _load(run: Run, path: Path) -> list[Row] | None:
    """Rows in the file of a run, None if it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = content["rows"]
        whole = _json(content["run"]) == _json(_identity(run))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not whole or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return rows


def _identity(run: Run) -> Row:
    return {
        "experiment": run.experiment,
        "format": CACHE_FORMAT,
        "recipe": run.recipe,
        "settings": dict(run.settings),
        "version": __version__,
    }


def _json(value: Any, indent: int | None = None) -> str:
    # Rows keep the order of their columns; only identities need sorted names.
    return json.dumps(value, default=_plain, sort_keys=indent is None, indent=indent)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        "values must be numbers, strings, booleans or None; "
        f"got a {type(value).__name__}. Give each number a column or a row of its own."
    )


def _frame(runs: Sequence[Run], rows: Sequence[list[Row]]) -> pd.DataFrame:
    settings = {name: None for run in runs for name in run.settings}
    results = {name: None for block in rows for row in block for name in row}
    return pd.DataFrame(
        [{**run.settings, **row} for run, block in zip(runs, rows, strict=True) for row in block],
        columns=list(settings | results),
    )
