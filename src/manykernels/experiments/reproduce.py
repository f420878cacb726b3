"""Run an experiment and write its table, figure and page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..datasets import load_paper
from ..datasets.facts import PAPER
from ..plot.style import need_matplotlib
from ..store import write_whole
from . import convergence, real, synthetic
from .runner import complete

QUICK_DATA = ("ringnorm", "waveform")
"""Data sets that are generated where there is no file, so that smoke tests run anywhere."""


def reproduce(
    name: str,
    out: Path,
    runs: int,
    seconds: float,
    quick: bool,
    data_dir: Path | None,
    progress: bool = True,
) -> Path:
    """Reproduce one experiment of the registry; return its page, in Markdown.

    Results are written to the folder ``out``, or to its folder ``quick`` for a smoke test; finished
    runs are kept in ``runs`` there. There are as many runs as random splits or polynomials, and
    each run of the convergence experiment takes as many seconds; 1 of each in a smoke test.
    ``data_dir`` is that of :func:`manykernels.datasets.load_paper`.
    """
    need_matplotlib()
    runs, seconds = (1, 1.0) if quick else (runs, seconds)
    out = out / "quick" if quick else out
    cache = out / "runs"
    if name != "synthetic":
        _load_all(QUICK_DATA if quick else tuple(PAPER), data_dir)
    command = f"manykernels reproduce {name}" + (" --quick" if quick else f" --runs {runs}")
    if name == "convergence":
        command += "" if quick else f" --seconds {seconds:g}"
        frame = convergence.execute(runs, seconds, quick, data_dir, cache, progress)
        text = convergence.report(frame, out, command)
    else:
        module = synthetic if name == "synthetic" else real
        work = partial(module.compute, data_dir=data_dir)
        frame = complete(module.plan(runs, quick, data_dir), work, cache, progress)
        text = module.report(frame, out, command)
    page = out / f"{name}.md"
    write_whole(page, (SMOKE * quick + text).encode())
    return page


SMOKE = """> A smoke test (`--quick`): less data, fewer methods, strengths and step sizes than
> described below. Its numbers mean little.

"""


def _load_all(names: Sequence[str], data_dir: Path | None) -> None:
    """Load the data sets once before work starts, so that what is missing is known at once."""
    for name in names:
        try:
            load_paper(name, data_dir)
        except ValueError as error:  # damaged, or of another version
            raise OSError(str(error)) from error
