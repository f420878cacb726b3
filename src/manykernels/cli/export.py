"""export: a model for where this library is not at hand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..registry import EXPORTS
from .files import Model, load_model, refuse_unwritable
from .options import one_of
from .output import to_stdout
from .problems import problems


@problems()
def export(
    model: Model,
    to: Annotated[str, typer.Option(help=f"{', '.join(EXPORTS[:-1])} or {EXPORTS[-1]}.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; by default stdout.")
    ] = None,
    table: Annotated[str, typer.Option(help="Name of the table, for sql.")] = "data",
    digits: Annotated[
        int, typer.Option(min=1, max=17, help="Significant digits of numbers, for latex.")
    ] = 6,
) -> None:
    """Write a model as a Python function, an SQL query (SQLite, DuckDB) or a LaTeX formula.

    Example: manykernels export price.mk --to sql --table houses -o price.sql

    Python and SQL predict what the model does, to rounding. Models with --kernels widths or both
    cannot be exported.
    """
    from .. import export as exports
    from ..store import write_whole

    one_of("--to", to, *EXPORTS)
    refuse_unwritable(out, model)
    fitted = load_model(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if to == "python":
            text = exports.to_python(fitted)
        elif to == "sql":
            text = exports.to_sql(fitted, table)
        else:
            text = exports.to_latex(fitted, digits)
    for warning in caught:
        typer.echo(f"note: {warning.message}", err=True)
    if out is None:
        to_stdout(text)
    else:
        write_whole(out, text.encode())
        typer.echo(f"Wrote {out}.", err=True)
