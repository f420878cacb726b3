"""fit, predict, explain and report: from a file to an answer."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..registry import AUTO, GAP_RULES, TABLE_KERNELS, TASKS
from .output import Console, records, show_fit, show_row, show_split, show_terms
from .problems import problems

if TYPE_CHECKING:
    from ..tables import TableModel

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, for programs.")]
Na = Annotated[
    list[str] | None, typer.Option(help="A value that means missing, such as '?'. Repeatable.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file, such as latin-1.")]
Separator = Annotated[
    str | None, typer.Option(help="Separator of a text file. By default from its header row.")
]

SURE_SECONDS = 90
"""Seconds for the test of how sure terms are, unless --seconds says otherwise. Set by judgement:
all 50 splits of 824 rows of 8 columns (concrete) take less than half of it on one core."""


@problems()
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help=".csv, .tsv, .parquet or .feather, also .gz.")
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[
        str, typer.Option(help="regression (a number), classification (a class), or auto.")
    ] = AUTO,
    degree: Annotated[
        str,
        typer.Option(
            help="Most variables in one term; of several, as in 2,3, the best is taken. "
            "auto: 2, 1 with thousands of columns, all with --kernels widths or both."
        ),
    ] = AUTO,
    kernels: Annotated[
        str, typer.Option(help=f"Functions of a column: {', '.join(TABLE_KERNELS)}.")
    ] = AUTO,
    test: Annotated[
        float, typer.Option(help="Share of rows held out for the score; 0 for none.")
    ] = 0.2,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the split and all that is random.")
    ] = 0,
    model: Annotated[Path | None, typer.Option(help="File to write the model to.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML file to write a report to.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out. Repeatable.")] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Take a column as categories. Repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Keep a column that looks like an identifier. Repeatable."),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="impute: fill gaps and mark them. refuse: stop at any gap.")
    ] = GAP_RULES[0],
    na: Na = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    max_rows: Annotated[
        int, typer.Option(min=20, help="Most rows to train on; of more these are drawn at random.")
    ] = 100_000,
    chunked: Annotated[
        bool,
        typer.Option(
            "--chunked",
            help="Train on all rows of a Parquet file, one row group at a time (no --max-rows).",
        ),
    ] = False,
    memory: Annotated[
        str, typer.Option(help="Memory that --chunked may take, such as 2GB.")
    ] = "2GB",
    how_sure: Annotated[
        bool,
        typer.Option("--how-sure", help="Test which terms stand, by many splits of the rows."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time for --how-sure; the split begun then is the last. "
            f"{SURE_SECONDS} by default."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many terms to list.")] = 12,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: Json = False,
) -> None:
    """Fit a model to a table; say how good it is and which variables act together.

    Example: manykernels fit houses.csv --target price --model price.mk --report price.html

    A fifth of the rows is held out: the score is theirs, next to that of a linear model and of
    no model. Ctrl-C keeps the best model so far.
    """
    from ..tables import (
        Settings,
        fit_chunked,
        fit_table,
        judge_terms,
        memory_size,
        read,
        split_table,
    )

    console, verbose = Console(as_json), 0 if quiet else 1
    limit = _seconds(seconds, how_sure)
    settings = Settings(
        target=target,
        task=_one_of("--task", task, AUTO, *TASKS),
        degree=_degrees(degree),
        kernels=_one_of("--kernels", kernels, *TABLE_KERNELS),
        test=_share(test),
        seed=seed,
        drop=drop or (),
        categories=category or (),
        keep=keep or (),
        missing=_one_of("--missing", missing, *GAP_RULES),
        max_rows=None if chunked else max_rows,
    )
    _writable(model, data)
    _writable(report, data, model)
    if report is not None:
        from .. import report as reports  # before the work: it may lack matplotlib
    if chunked:

        def say(rows: int, sample: Any, split: Any) -> None:
            show_split(console, data, rows, sample.shape[1], split, settings)

        budget = memory_size(memory)
        fitted, split = fit_chunked(data, settings, budget, verbose, say)
    else:
        frame = read(data, na or (), encoding, separator)
        split = split_table(frame, settings)
        show_split(console, data, *frame.shape, split, settings)
        fitted = fit_table(split, settings, verbose)
    if how_sure:
        fitted = judge_terms(fitted, split, settings, limit, verbose)
    command = shlex.join(["manykernels", *sys.argv[1:]])
    fitted = replace(fitted, summary={**fitted.summary, "file": data.name, "command": command})
    written = {}
    if model is not None:
        written["model"] = str(fitted.save(model))
    if report is not None:
        rows = split.test if len(split.test) else split.train
        truth = split.y_test if len(split.test) else split.y_train
        written["report"] = str(reports.write(fitted, rows, truth, report))
    show_fit(console, fitted, top, written, split.notes)


@problems()
def predict(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table with the same columns.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file to write; by default stdout.")
    ] = None,
    escape: Annotated[
        bool,
        typer.Option(
            help="In CSV, write ' before text that spreadsheets would run as a formula (=1+1)."
        ),
    ] = True,
    na: Na = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table: one line for each, classes with their probabilities."""
    from ..store import write_whole
    from ..tables import read
    from ..tables.written import shown, without_formulas

    _writable(out, data, model)
    fitted = _load(model)
    frame = read(data, na or (), encoding, separator)
    predictions = fitted.predict(frame)
    for name, values in fitted.encoder.unknown(frame).items():
        typer.echo(
            f"note: column {name!r} has values that the model does not know, such as "
            f"{shown(values[0])}; they count as average.",
            err=True,
        )
    if as_json:
        text = json.dumps(records(predictions)) + "\n"
    else:
        text = (without_formulas(predictions) if escape else predictions).to_csv(index=False)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text.encode())
        typer.echo(f"Wrote {len(predictions):,} predictions to {out}.", err=True)


@problems()
def explain(
    model: Model,
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="Table with the row to explain.")
    ] = None,
    row: Annotated[
        int | None, typer.Option(min=1, help="Explain the prediction of this row of DATA, from 1.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Of more than two classes, the one to explain.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many terms to list.")] = 20,
    na: Na = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: Json = False,
) -> None:
    """List the terms of a model, or what each adds to the prediction of one row."""
    from ..tables import TableError, read

    console, fitted = Console(as_json), _load(model)
    if row is None and data is not None:
        raise TableError(f"which row of {data}? Add --row K, or leave the table out.")
    if row is None:
        show_terms(console, fitted, top)
        return
    if data is None:
        raise TableError(f"--row {row} needs the table that it is a row of. Add its name.")
    frame = read(data, na or (), encoding, separator)
    if row > len(frame):
        raise TableError(f"--row {row} is beyond the table's {len(frame):,} rows.")
    show_row(console, fitted, frame.iloc[[row - 1]], label, top)


@problems()
def report(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows with the target.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    na: Na = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
) -> None:
    """Write a report on a model as one HTML file, with scores on the rows given."""
    from .. import report as reports
    from ..tables import TableError, read
    from ..tables.columns import missing_column
    from ..tables.written import shown

    _writable(out, data, model)
    fitted = _load(model)
    frame = read(data, na or (), encoding, separator)
    name = fitted.summary["target"]
    if name not in frame.columns:
        raise missing_column(name, frame, "the model's target")
    frame = frame[frame[name].notna()]
    if frame.empty:
        raise TableError(f"{data} has no row with a value of the target {name!r}.")
    truth = fitted.truth(frame)
    new = set(truth) - set(getattr(fitted.estimator, "classes_", truth))
    if new:
        raise TableError(
            f"the target {name!r} has classes that the model does not know: "
            f"{', '.join(map(shown, sorted(new)[:8]))}. Give rows of the same kind."
        )
    where = f"the {len(frame):,} rows of {data.name}"
    summary = {**fitted.summary, "scores": None, "rows_test": None, "evaluated_on": where}
    path = reports.write(fitted, frame.drop(columns=name), truth, out, summary=summary)
    typer.echo(f"Wrote {path}.", err=True)


def _load(path: Path) -> TableModel:
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


def _one_of(option: str, value: str, *allowed: str) -> str:
    if value not in allowed:
        raise typer.BadParameter(f"{option} must be one of {', '.join(allowed)}; got {value!r}.")
    return value


def _degrees(text: str) -> list[int] | None:
    if text == AUTO:
        return None
    try:
        degrees = [int(part) for part in text.split(",")]
    except ValueError:
        degrees = []
    if not degrees or not all(1 <= degree <= 9 for degree in degrees):
        raise typer.BadParameter(
            f"--degree must be auto or numbers from 1 to 9, as 3 or 2,3; got {text!r}."
        )
    return degrees


def _share(value: float) -> float:
    if not 0 <= value <= 0.9:
        raise typer.BadParameter(f"--test must be from 0 to 0.9; got {value:g}.")
    return value


def _seconds(value: float | None, how_sure: bool) -> float:
    if value is None:
        return SURE_SECONDS
    if not how_sure:
        raise typer.BadParameter(f"--seconds {value:g} is the time for --how-sure. Add --how-sure.")
    if not 0 < value < inf:
        raise typer.BadParameter(f"--seconds must be above 0; got {value:g}.")
    return value


def _writable(path: Path | None, *others: Path | None) -> None:
    """Refuse a file that cannot or should not be written, before any work is done."""
    from ..tables import TableError

    if path is None:
        return
    place = path.resolve()
    if any(other is not None and other.resolve() == place for other in others):
        raise TableError(f"{path} is given twice: one file would replace another. Name another.")
    if not place.parent.is_dir():
        raise TableError(f"{path} cannot be written: there is no folder {place.parent}.")
    if place.exists() and not place.is_file():
        raise TableError(f"{path} cannot be written: it is no file. Name another.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise TableError(f"{path} cannot be written: permission is denied. Name another place.")
