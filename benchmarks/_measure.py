"""Time and memory of a call in a process of its own, and tables of what was measured."""

import os
import platform
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

DOCS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


def measured(function, *arguments, threads=None):
    """Call ``prepare, work = function(*arguments)`` in a fresh process and measure ``work``.

    ``function`` returns two callables: what is not measured (data, imports) and what is. The
    result of the second gets the seconds it took, by the clock and of the processor (with those of
    its own processes), and the megabytes that its peak was above what the process held before.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_run, function, arguments, threads).result()


def _run(function, arguments, threads):
    prepare, work = function(*arguments)
    state = prepare()
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    began, worked = time.perf_counter(), processor()
    with threadpool_limits(threads or os.cpu_count()):
        result = work(state)
    spent = {"seconds": time.perf_counter() - began, "cpu": processor() - worked}
    return {**result, **spent, "megabytes": _memory("VmHWM") - before}


def processor():
    """Return the seconds that the processor has worked for this process and ended ones of its."""
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


def _memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return float("nan")


def write_page(name, title, text, tables, script, where=None):
    """Write docs/benchmarks/NAME.md with its tables, (heading, words if any, frame) each.

    ``where`` are the words for the machine that made the results, if it is not this one.
    """
    DOCS.mkdir(parents=True, exist_ok=True)
    where = where or machine()
    page = [f"# {title}\n", f"Made by `python dev.py bench benchmarks/{script}` on {where}.\n"]
    page.append(text.strip() + "\n")
    for heading, *words, frame in tables:
        page += [f"## {heading}\n", *(part.strip() + "\n" for part in words), markdown(frame)]
    content = "\n".join(page)
    (DOCS / f"{name}.md").write_text(content)
    print(content)


def markdown(frame):
    """Return a frame as a Markdown table."""
    lines = ["| " + " | ".join(map(str, frame.columns)) + " |"]
    lines.append("|" + " --- |" * len(frame.columns))
    for row in frame.itertuples(index=False):
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    return "\n".join(lines) + "\n"


def _cell(value):
    if isinstance(value, float):
        if pd.isna(value):
            return ""
        return f"{value:.2g}" if abs(value) < 99.5 else f"{value:,.0f}"
    return str(value)


def machine():
    """Return the machine in words."""
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"


def say(*words):
    """Write a line of progress."""
    print(*words, file=sys.stderr, flush=True)
