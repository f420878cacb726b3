"""Files of the commands: how tables are read, models loaded, and what may be written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..tables import TableModel

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, for programs.")]
Na = Annotated[
    list[str] | None, typer.Option(help="A value that means missing, such as '?'. Repeatable.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file, such as cp1252.")]
SkipRows = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Rows above the names to leave out, of a text or Excel file."
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file that has several.")]
Separator = Annotated[
    str | None, typer.Option(help="Separator of a text file. By default from its header row.")
]


def load_model(path: Path) -> TableModel:
    """Return the model of a table that a file holds."""
    from ..store import load
    from ..tables import TableError, TableModel

    if not path.exists():
        raise TableError(f"{path} does not exist. Write one with: manykernels fit ... --model FILE")
    model: Any = load(path)
    if not isinstance(model, TableModel):
        raise TableError(
            f"{path} holds an estimator saved from Python, which does not know the columns of "
            "files. Use manykernels.load in Python, or fit a model with: manykernels fit"
        )
    return model


def refuse_unwritable(path: Path | None, *others: Path | None) -> None:
    """Refuse a file that cannot or should not be written, before any work is done."""
    from ..store import resolved
    from ..tables import TableError

    if path is None:
        return
    place = resolved(path)
    if any(other is not None and resolved(other) == place for other in others):
        raise TableError(f"{path} is given twice: one file would replace another. Name another.")
    if not place.parent.is_dir():
        raise TableError(f"{path} cannot be written: there is no folder {place.parent}.")
    if place.exists() and not place.is_file():
        raise TableError(f"{path} cannot be written: it is no file. Name another.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise TableError(f"{path} cannot be written: permission is denied. Name another place.")
