"""Values of options, checked."""

from __future__ import annotations

from math import inf

import typer

from ..registry import AUTO

SURE_SECONDS = 90
"""Seconds for the test of how sure terms are, unless --seconds says otherwise. Set by judgement:
all 50 splits of 824 rows of 8 columns (concrete) take less than half of it on one core."""


def one_of(option: str, value: str, *allowed: str) -> str:
    """Return a value of an option if it is allowed."""
    if value not in allowed:
        raise typer.BadParameter(f"{option} must be one of {', '.join(allowed)}; got {value!r}.")
    return value


def degrees_of(text: str) -> list[int] | None:
    """Return the degrees of ``--degree``; None for auto."""
    if text == AUTO:
        return None
    try:
        degrees = [int(part) for part in text.split(",")]
    except ValueError:
        degrees = []
    if not degrees or not all(1 <= degree <= 9 for degree in degrees):
        raise typer.BadParameter(
            f"--degree must be auto or numbers from 1 to 9, as 3 or 2,3; got {text!r}."
        )
    return degrees


def share_of(value: float) -> float:
    """Return the share of ``--test`` if it is one."""
    if not 0 <= value <= 0.9:
        raise typer.BadParameter(f"--test must be from 0 to 0.9; got {value:g}.")
    return value


def limit_of(value: float | None) -> float | None:
    """Return the seconds of ``--max-time`` if there are any."""
    return None if value is None else _above_zero("--max-time", value)


def _above_zero(option: str, value: float) -> float:
    if not 0 < value < inf:
        raise typer.BadParameter(f"{option} must be above 0; got {value:g}.")
    return value


def seconds_of(value: float | None, how_sure: bool) -> float:
    """Return the seconds of ``--seconds``, or those by default."""
    if value is None:
        return SURE_SECONDS
    if not how_sure:
        raise typer.BadParameter(f"--seconds {value:g} is the time for --how-sure. Add --how-sure.")
    return _above_zero("--seconds", value)
