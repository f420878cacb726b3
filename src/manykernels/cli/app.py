"""Commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from ..registry import EXPERIMENTS
from . import table_commands
from .export import export
from .problems import problems

app = typer.Typer(
    name="manykernels",
    help="Predict a column of a table, and learn which variables act together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Write the version and exit.")] = False,
) -> None:
    """Predict a column of a table, and learn which variables act together.

    Start with: manykernels sample diabetes.csv, then: manykernels fit diabetes.csv --target
    progression
    """
    if version:
        typer.echo(__version__)
        raise typer.Exit


app.command()(table_commands.fit)
app.command()(table_commands.predict)
app.command()(table_commands.explain)
app.command()(table_commands.report)
app.command()(export)


@app.command()
@problems()
def sample(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="CSV file to write.")] = Path(
        "diabetes.csv"
    ),
) -> None:
    """Write a small table to try the commands on: 442 patients with diabetes.

    The column to predict is progression: how far the disease went in a year.
    """
    from .sample import write_sample

    write_sample(out)
    typer.echo(
        f"Wrote {out}: 442 rows, 11 columns. Now: manykernels fit {out} --target progression"
    )


@app.command()
@problems()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write table, model and report to.")
    ] = None,
) -> None:
    """Fit a table whose truth is known: 400 flats, their rents and what these depend on."""
    from .demo import run

    run(out)


@app.command()
@problems()
def bench(
    columns: Annotated[int, typer.Option(min=5, max=150, help="Number of columns.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Of the random polynomial.")] = 0,
) -> None:
    """Time this machine: find ten terms among all products of up to three columns.

    Compares greedy selection, which never lists the products, with orthogonal matching pursuit
    over all of them written out.
    """
    from .bench import run

    run(columns, seed)


Experiment = StrEnum("Experiment", list(EXPERIMENTS))  # type: ignore[misc]


@app.command()
@problems()
def reproduce(
    experiment: Annotated[
        Experiment,
        typer.Argument(
            help="convergence: objective against time. synthetic: error, time and recovered terms "
            "as columns grow. real: errors on six data sets."
        ),
    ],
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder that holds paper/NAME.csv.gz. By default the environment variable "
            "MANYKERNELS_DATA, then OpenML or generated rows."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for table, figure, page, and finished runs.")
    ] = Path("reproduction"),
    runs: Annotated[
        int, typer.Option(min=1, help="Number of random splits, or of random polynomials.")
    ] = 10,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Time of each run of the convergence experiment.")
    ] = 30.0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test, to OUT/quick: less data, one run, one second."),
    ] = False,
) -> None:
    """Reproduce an experiment of the paper; interrupted, the same command goes on where it was.

    Writes a CSV table, a figure as PNG and SVG, and a page in Markdown to the folder OUT. Finished
    runs are kept in OUT/runs. The same command gives the same numbers, but for times, and for what
    depends on them in the convergence experiment, which runs against the clock.
    """
    from ..experiments.reproduce import reproduce as work

    page = work(experiment.value, out, runs, seconds, quick, data_dir)
    typer.echo(f"Wrote {page} with its table and figure.")
