"""Commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__

app = typer.Typer(
    name="manykernels",
    help="Learn predictors together with combinations of very many kernels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Write the version and exit.")] = False,
) -> None:
    """Learn predictors together with combinations of very many kernels."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


class Experiment(StrEnum):
    """The experiments of the paper."""

    CONVERGENCE = "convergence"
    SYNTHETIC = "synthetic"
    REAL = "real"


@app.command()
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

    try:
        page = work(experiment.value, out, runs, seconds, quick, data_dir)
    except (OSError, ModuleNotFoundError) as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    typer.echo(f"Wrote {page} with its table and figure.")
