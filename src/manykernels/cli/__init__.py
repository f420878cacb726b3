"""The command ``manykernels``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    if sys.stderr is None:  # closed: notes and messages go nowhere
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 until the process ends
    try:
        from .app import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(
            f"The command line needs {error.name}, which is not installed. "
            "Install it with: pip install 'manykernels[cli]'"
        )
    except OSError as error:  # of what is written outside of commands: help, the version
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
