"""The command ``manykernels``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
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
    except KeyboardInterrupt:
        sys.exit(130)
