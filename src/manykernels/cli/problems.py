"""Problems as messages and exit codes: 1 for what a person can put right, 130 for Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

MESSAGE_LENGTH = 4_000
"""Most characters of a message: cells of tables may hold millions. Set by judgement."""


@contextmanager
def problems() -> Iterator[None]:
    """Turn expected errors into a message on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(130) from None
    except (ValueError, TypeError, OSError, ModuleNotFoundError, MemoryError) as error:
        text = str(error) or type(error).__name__
        if len(text) > MESSAGE_LENGTH:
            text = f"{text[: MESSAGE_LENGTH - 3]}..."
        typer.secho(f"Error: {text}", fg="red", err=True)
        raise typer.Exit(1) from None
