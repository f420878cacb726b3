"""Checks of the parameters of selections."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any

from ..inputs import LARGEST_INTEGER, is_integer, refuse_huge, shown


def check_numbers(selection: Any) -> None:
    """Raise ValueError for the first parameter that is out of its range."""
    for name, (whole, low, high, remedy) in RANGES.items():
        value = getattr(selection, name, None)
        if value is None and (name in OPTIONAL or not hasattr(selection, name)):
            continue
        kind: Any = Integral if whole else Real
        if not isinstance(value, kind) or isinstance(value, bool) or not low <= value <= high:
            what = "an integer" if whole else "a number"
            limits = f">= {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
            raise ValueError(f"{name} must be {what} {limits}; got {shown(value)}. {remedy}.")
        refuse_huge(value, name)
    folder = selection.checkpoint
    if folder is not None and (not isinstance(folder, str | PathLike) or str(folder) == ""):
        raise ValueError(
            f'checkpoint must be a folder or None; got {shown(folder)}. Use checkpoint="work".'
        )
    jobs = getattr(selection, "n_jobs", None)
    if jobs is not None and (not is_integer(jobs, -LARGEST_INTEGER) or jobs == 0):
        raise ValueError(
            f"n_jobs must be None or an integer other than 0; got {shown(jobs)}. Use n_jobs=-1 for "
            "all processors."
        )
    control = getattr(selection, "control", CONTROLS[0])
    if not isinstance(control, str) or control not in CONTROLS:
        names = " or ".join(map(repr, CONTROLS))
        raise ValueError(f"control must be {names}; got {control!r}. Use {CONTROLS[0]!r}.")


CONTROLS = ("family-wise", "false-discovery-rate")
"""What the level of tests can bound."""

OPTIONAL = ("q", "max_time")
"""Parameters that may be None."""

RANGES = {
    "level": (False, 1e-12, 1.0, "Use level=0.1"),
    "n_splits": (True, 1, float("inf"), "Use n_splits=50"),
    "n_pairs": (True, 1, float("inf"), "Use n_pairs=50"),
    "q": (True, 1, float("inf"), "Use q=20, or None"),
    "share": (False, 0.1, 0.9, "Use share=0.7"),
    "threshold": (False, 0.501, 1.0, "Use threshold=0.6; the bound needs more than a half"),
    "correlation": (False, 0.0, 1.01, "Use correlation=0.8; above 1 there are no groups"),
    "max_time": (False, 0.0, float("inf"), "Use seconds, or None"),
}
"""Whether a parameter is an integer, its range, and what to do about it."""
