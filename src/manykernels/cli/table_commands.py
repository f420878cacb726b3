"""fit, predict, explain and report: from a file to an answer."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..registry import AUTO, GAP_RULES, TABLE_KERNELS, TASKS
from .files import (
    Encoding,
    Json,
    Model,
    Na,
    Separator,
    Sheet,
    SkipRows,
    load_model,
    refuse_unwritable,
)
from .options import SURE_SECONDS, degrees_of, limit_of, one_of, seconds_of, share_of
from .output import (
    Console,
    note_remarks,
    records,
    show_fit,
    show_row,
    show_split,
    show_terms,
    to_stdout,
    warnings_as_notes,
)
from .problems import problems


@problems()
def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help=".csv, .tsv, .parquet or .feather, also .gz; .xlsx; a folder of .csv or .parquet.",
        ),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[
        str, typer.Option(help="regression (a number), classification (a class), or auto.")
    ] = AUTO,
    degree: Annotated[
        str,
        typer.Option(
            help="Most variables in one term; of several, as in 2,3, rows left out decide. "
            "auto: 2 (3 for products of columns), fewer with thousands of columns, all with "
            "--kernels widths or both."
        ),
    ] = AUTO,
    kernels: Annotated[
        str,
        typer.Option(
            help="Kind of model; best is the one that predicts best on rows left out: "
            f"{', '.join(TABLE_KERNELS)}."
        ),
    ] = "best",
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
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column, such as patient: rows of one value are never on both sides of a split."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column, such as date: train on earlier rows, validate on later ones."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at identifiers and free text; by default they are left out."
        ),
    ] = False,
    missing: Annotated[
        str, typer.Option(help="impute: fill gaps and mark them. refuse: stop at any gap.")
    ] = GAP_RULES[0],
    na: Na = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    max_rows: Annotated[
        int, typer.Option(min=20, help="Most rows to train on; of more these are drawn at random.")
    ] = 100_000,
    max_time: Annotated[
        float | None,
        typer.Option(
            help="Seconds that choice and fit may take; the best model by then is kept. By "
            "default there is no limit. 300 or more lets --kernels best try both, too."
        ),
    ] = None,
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
        typer.Option(
            "--how-sure", help="Test which terms are sure: whether other rows would give them, too."
        ),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time for --how-sure; the split begun then is the last. "
            f"{SURE_SECONDS} by default."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the state of the work there: the same command goes on where a process "
            "was killed.",
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
    from ..tables.reading import refuse_skipped

    console, verbose = Console(as_json), 0 if quiet else 1
    limit = seconds_of(seconds, how_sure)
    settings = Settings(
        target=target,
        task=one_of("--task", task, AUTO, *TASKS),
        degree=degrees_of(degree),
        kernels=one_of("--kernels", kernels, *TABLE_KERNELS),
        test=share_of(test),
        seed=seed,
        drop=drop or (),
        categories=category or (),
        keep=keep or (),
        missing=one_of("--missing", missing, *GAP_RULES),
        max_rows=None if chunked else max_rows,
        groups=groups,
        time=time,
        strict=strict,
        checkpoint=checkpoint,
        max_time=limit_of(max_time),
    )
    if chunked:
        refuse_skipped(data, skip_rows)
    refuse_unwritable(model, data)
    refuse_unwritable(report, data, model)
    if report is not None:
        from .. import report as reports  # before the work: it may lack matplotlib
    with warnings_as_notes():
        if chunked:

            def say(rows: int, sample: Any, split: Any) -> None:
                show_split(console, data, rows, sample.shape[1], split, settings)

            budget = memory_size(memory)
            fitted, split = fit_chunked(data, settings, budget, verbose, say)
        else:
            frame = read(data, na or (), encoding, separator, sheet, skip_rows)
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
    show_fit(console, fitted, top, written, split.notes, verbose)


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
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table: one line for each, classes with their probabilities."""
    from ..store import write_whole
    from ..tables import read
    from ..tables.formulas import without_formulas

    refuse_unwritable(out, data, model)
    fitted = load_model(model)
    with warnings_as_notes():
        frame = read(data, na or (), encoding, separator, sheet, skip_rows)
    predictions = fitted.predict(frame)
    note_remarks(fitted, frame)
    if as_json:
        text = json.dumps(records(predictions)) + "\n"
    else:
        text = (without_formulas(predictions) if escape else predictions).to_csv(index=False)
    if out is None:
        to_stdout(text)
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
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    as_json: Json = False,
) -> None:
    """List the terms of a model, or what each adds to the prediction of one row."""
    from ..tables import TableError, read

    console, fitted = Console(as_json), load_model(model)
    if row is None and data is not None:
        raise TableError(f"which row of {data}? Add --row K, or leave the table out.")
    if row is None:
        show_terms(console, fitted, top)
        return
    if data is None:
        raise TableError(f"--row {row} needs the table that it is a row of. Add its name.")
    with warnings_as_notes():
        frame = read(data, na or (), encoding, separator, sheet, skip_rows)
    if row > len(frame):
        raise TableError(
            f"--row {row} is beyond the table's {len(frame):,} rows. They are counted from 1."
        )
    one = frame.iloc[[row - 1]]
    show_row(console, fitted, one, label, top)
    note_remarks(fitted, one)


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
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
) -> None:
    """Write a report on a model as one HTML file, with scores on the rows given."""
    from .. import report as reports
    from ..frames import missing_column
    from ..frames.written import shown
    from ..tables import TableError, read

    refuse_unwritable(out, data, model)
    fitted = load_model(model)
    with warnings_as_notes():
        frame = read(data, na or (), encoding, separator, sheet, skip_rows)
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
