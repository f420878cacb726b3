"""Warnings that point at the line of the user's that called the library."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

PACKAGE_FOLDER = str(Path(__file__).parent)
"""Folder of the package: frames of files below it are the library's own."""


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
