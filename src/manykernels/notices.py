"""Warnings that point at the line of the user's that called the library, in words that it knows."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

PACKAGE_FOLDER = str(Path(__file__).parent)
"""Folder of the package: frames of files below it are the library's own."""


_AT_COMMAND: ContextVar[bool] = ContextVar("at_command", default=False)


@contextmanager
def named_as_options() -> Iterator[None]:
    """Name parameters in messages as the options of the command line are."""
    token = _AT_COMMAND.set(True)
    try:
        yield
    finally:
        _AT_COMMAND.reset(token)


def at_command() -> bool:
    """Tell whether messages are for people at the command line."""
    return _AT_COMMAND.get()


def setting(name: str, value: float | None = None) -> str:
    """Return how people set a parameter: ``max_time=300``, or ``--max-time 300`` at a command."""
    if not at_command():
        return name if value is None else f"{name}={value:g}"
    option = f"--{name.replace('_', '-')}"
    return option if value is None else f"{option} {value:g}"


class InterruptedWarning(ConvergenceWarning):  # type: ignore[misc]
    """A fit was ended by Ctrl-C; the model is that of its last iteration."""


class SlowWarning(UserWarning):
    """What was asked for takes minutes or more; the message says how to do with less."""


def notify(message: str, category: type[Warning]) -> None:
    """Warn, with the line that called the library from outside as the place.

    That is the caller of the outermost frame of the package, however deep the warning arises and
    whatever libraries (joblib, say) lie in between.
    """
    outermost, level = 1, 1
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
            outermost = level
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=outermost + 2)
