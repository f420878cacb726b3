"""From a table and the name of its target to a model and an honest score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import TimeSeriesSplit, train_test_split

from ..arrays import Array
from ..baselines.simple import SimpleModels, measures_of
from ..baselines.versus import remarks
from ..checkpoint import CheckpointWarning
from ..estimators import MKLClassifierCV, MKLRegressorCV
from ..frames import TableEncoder, TableError, learnt_encoder, missing_column
from ..notices import InterruptedWarning, SlowWarning, named_as_options, notify
from ..spec import affordable_degree
from ..specify import PAIR_DEGREE
from ..words import count, loss_meaning, plural
from .apart import Apart, apart_of, series_notes, units_of
from .model import TableEstimator, TableModel
from .options import COMMAND
from .targets import target_of

LEAST_TABLE_ROWS = 20
"""Fewest rows with a target that a table must have. Set by judgement, not measured."""


@dataclass(frozen=True)
class Settings:
    """What a person may decide about a fit.

    Attributes
    ----------
    target : str
        Name of the column to predict.
    task : {"auto", "regression", "classification"}
        Kind of the target.
    degree : list of int, optional
        Largest number of variables in a term; of several the best by validation. None: two, one
        if columns have more than 10 million pairs, and all for kernels of free widths.
    kernels : str
        Kind of the kernels of columns that are no categories.
    test : float
        Share of rows that are held out for the score; 0 for no score.
    seed : int
        Of all that is random.
    drop, categories, keep : sequence of str
        Columns to leave out, to take as categories, to take though they look like identifiers.
    missing : {"impute", "refuse"}
        What to do about missing values.
    max_rows : int, optional
        Most rows to train on.
    groups : str, optional
        Column that says which rows belong together: those of one value are never trained and
        validated on at once.
    time : str, optional
        Column by whose order later rows are held out, and validated on.
    strict : bool
        Whether identifiers and free text end the run; else such columns are left out.
    checkpoint : path, optional
        Folder from which a fit that was killed goes on.
    max_time : float, optional
        Seconds that the choice of a model and its fit may take; None for no limit.
    """

    target: str
    task: str = "auto"
    degree: list[int] | None = None
    kernels: str = "best"
    test: float = 0.2
    seed: int = 0
    drop: Sequence[str] = ()
    categories: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: str = "impute"
    max_rows: int | None = None
    groups: str | None = None
    time: str | None = None
    strict: bool = False
    checkpoint: Path | None = None
    max_time: float | None = None


@dataclass(frozen=True)
class Split:
    """A table in parts, with all that was found out about it before any fit.

    Attributes
    ----------
    task : str
        "regression" or "classification".
    train, test : DataFrame
        Rows to train on and rows to score on, without the target.
    y_train, y_test : ndarray
        Their targets.
    encoder : TableEncoder
        Learnt from the training rows.
    notes : list of str
        What people should know.
    groups : ndarray of int, optional
        The group of each training row.
    ordered : bool
        Whether training rows are in the order of time.
    where : str
        The rows to score on, in words.
    groups_test : ndarray of int, optional
        The group of each row to score on.
    """

    task: str
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: Array
    y_test: Array
    encoder: TableEncoder
    notes: list[str]
    groups: Array | None = None
    ordered: bool = False
    where: str = "held-out rows"
    groups_test: Array | None = None


def split_table(frame: pd.DataFrame, settings: Settings, held: Array | None = None) -> Split:
    """Check a table, find the kinds of its columns and split its rows.

    ``held`` tells which rows are held out; by default they are drawn.

    Raises
    ------
    TableError
        If something about the table or the settings is wrong.
    """
    for option, names in (
        ("--target", [settings.target]),
        ("--drop", settings.drop),
        ("--category", settings.categories),
        ("--keep", settings.keep),
        ("--groups", [settings.groups] if settings.groups else []),
        ("--time", [settings.time] if settings.time else []),
    ):
        for name in names:
            if name not in frame.columns:
                raise missing_column(name, frame, option)
    notes: list[str] = []
    if settings.target in settings.drop:
        raise TableError(f"--drop {settings.target!r} is the target. Drop other columns.")
    frame = frame.drop(columns=list(settings.drop))
    if frame.shape[1] < 2 and settings.drop:
        raise TableError("no column is left to predict from. Drop fewer of them.")
    if frame.shape[1] < 2:
        raise TableError(
            f"the table has a single column, {str(frame.columns[0])!r}; a target and at least one "
            "column to predict from are needed. If values are not separated by commas, name the "
            "separator: --separator ';'; if it is a title above the names, leave it out with "
            "--skip-rows N."
        )
    known = frame[settings.target].notna()
    if not known.any():
        raise TableError(f"target {settings.target!r} has no values. Is it the right column?")
    if not known.all():
        notes.append(f"{plural(int((~known).sum()), 'row')} without a target left out.")
        frame = frame[known]
        held = None if held is None else held[known.to_numpy()]
    if len(frame) < LEAST_TABLE_ROWS:
        raise TableError(
            f"the table has {plural(len(frame), 'row')} with a target; at least {LEAST_TABLE_ROWS} "
            "are needed. Collect more of them."
        )
    task, y = target_of(frame[settings.target], settings.task, settings.target, notes)
    if held is not None and (settings.groups or settings.time):
        raise TableError("--groups and --time need all rows in memory. Leave --chunked out.")
    apart = apart_of(frame, settings, notes)
    unused = [apart.name] if apart.name and apart.name not in settings.keep else []
    X = frame.drop(columns=[settings.target, *unused])
    if settings.missing == "refuse":
        refuse_missing(X)
    if held is None:
        inside, outside = _parts(apart, X, y, task, settings, notes)
    else:
        inside, outside = np.flatnonzero(~held), np.flatnonzero(held)
    train, test = X.iloc[inside], X.iloc[outside]
    beside = [settings.target, *settings.drop, *unused]
    encoder = learnt_encoder(
        train, settings.categories, settings.keep, COMMAND, settings.strict, beside
    )
    if not encoder.columns_:
        raise TableError(f"no column is left to predict from: {' '.join(encoder.notes_[:10])}")
    notes += [] if apart.name else series_notes(X, encoder)
    groups = (None, None) if apart.groups is None else (apart.groups[inside], apart.groups[outside])
    return Split(
        task,
        train,
        test,
        y[inside],
        y[outside],
        encoder,
        notes + encoder.notes_,
        groups[0],
        apart.ordered,
        apart.where,
        groups[1],
    )


def refuse_missing(X: pd.DataFrame) -> None:
    """Raise if a table has missing values."""
    counts = X.isna().sum()
    gaps = [f"{name!r} ({count})" for name, count in counts[counts > 0].items()]
    if gaps:
        raise TableError(
            f"{plural(len(gaps), 'column')} with missing values: {', '.join(gaps[:10])}"
            f"{', ...' if len(gaps) > 10 else ''}. Fill them in, drop the columns, or use "
            "--missing impute."
        )


def _parts(
    apart: Apart, X: pd.DataFrame, y: Array, task: str, settings: Settings, notes: list[str]
) -> tuple[Array, Array]:
    """Return the numbers of the rows to train on and of those held out."""
    classes = task == "classification"
    if classes:
        found = zip(*np.unique(y, return_counts=True), strict=True)
        rare = [str(label) for label, count in found if count < 10]
        if rare:
            listed = ", ".join(map(repr, rare[:8])) + (", ..." if len(rare) > 8 else "")
            raise TableError(
                f"target {settings.target!r} has classes of fewer than ten rows ({len(rare)}): "
                f"{listed}. Merge or remove them; if they are numbers, use --task regression."
            )
    train, test, seed = np.arange(len(y)), np.arange(0), settings.seed
    if settings.test > 0:
        train, test = apart.split(settings.test, seed) or _at_random(X, y, settings, classes, notes)
    most = settings.max_rows
    if most is not None and len(train) > most:
        notes.append(
            f"trained on {most:,} of {len(train):,} rows, drawn at random; use --max-rows for more."
        )
        labels = y[train] if classes else None
        train, _ = train_test_split(train, train_size=most, random_state=seed, stratify=labels)
    return apart.in_order(train), apart.in_order(test)


def _at_random(
    X: pd.DataFrame, y: Array, settings: Settings, classes: bool, notes: list[str]
) -> tuple[Array, Array]:
    """Return rows to train on and rows held out, drawn at random; copies of a row together."""
    units = units_of(X, y)
    count = int(units.max()) + 1
    labels = y[np.unique(units, return_index=True)[1]]
    if classes and np.unique(labels, return_counts=True)[1].min() < 2:
        units, count, labels = np.arange(len(y)), len(y), y
    if count < len(y):
        copies = plural(len(y) - count, "row")
        verb = "is a copy of another" if len(y) - count == 1 else "are copies of others"
        notes.append(f"{copies} {verb}, target and all; copies are held out together.")
    parts = train_test_split(
        np.arange(count),
        test_size=settings.test,
        random_state=settings.seed,
        stratify=labels if classes else None,
    )
    if count == len(y):
        return parts[0], parts[1]
    out = np.isin(units, parts[1])
    return np.flatnonzero(~out), np.flatnonzero(out)


def fit_table(split: Split, settings: Settings, verbose: int = 0) -> TableModel:
    """Fit a model to the training rows and score it on the others, next to plain models.

    Ctrl-C keeps the best model so far and notes it, once there is one.
    """
    rows = split.encoder.encode(split.train)
    estimator = new_estimator(split, settings, verbose)
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught, named_as_options():
        warnings.simplefilter("always")
        estimator.fit(rows, split.y_train, groups=split.groups)
    seconds = perf_counter() - began
    pass_on(caught)
    columns, notes = len(split.encoder.names), []
    if settings.degree is None and affordable_degree(PAIR_DEGREE, len(rows), columns) == 1:
        notes.append(too_many_pairs(columns))
    return finished(split, settings, estimator, caught, seconds, len(rows), notes)


def too_many_pairs(columns: int) -> str:
    """Say that terms are of single columns, where nobody asked for that."""
    return (
        f"{columns:,} columns have too many pairs: each term is of one column alone. Use "
        "--degree 2 for terms of two, which may take long."
    )


def pass_on(caught: Sequence[warnings.WarningMessage]) -> None:
    """Warn again of what concerns checkpoints: places on this machine are no notes of a model."""
    for warning in caught:
        if issubclass(warning.category, CheckpointWarning):
            notify(str(warning.message), warning.category)


def new_estimator(split: Split, settings: Settings, verbose: int) -> TableEstimator:
    """Return the estimator for a table, not fitted."""
    kind = MKLRegressorCV if split.task == "regression" else MKLClassifierCV
    kernels = split.encoder.kernels(settings.kernels)
    return kind(
        kernels=kernels,
        degree=settings.degree or "auto",
        cv=TimeSeriesSplit() if split.ordered else None,
        max_time=settings.max_time,
        random_state=settings.seed,
        verbose=verbose,
        checkpoint=settings.checkpoint,
    )


CHOSEN = "the kind of model was chosen from the data"
"""How the note begins that says which, and why."""


def finished(
    split: Split,
    settings: Settings,
    estimator: TableEstimator,
    caught: Sequence[warnings.WarningMessage],
    seconds: float,
    rows: int,
    more: Sequence[str],
) -> TableModel:
    """Return a fitted estimator as a model of a table, scored, with what is to be known of it."""
    notes = [*split.notes, *more]
    if hasattr(estimator, "chosen_"):
        notes += [f"{CHOSEN}: {estimator.chosen_}", loss_meaning(estimator)]
    for warning in caught:
        known = issubclass(warning.category, InterruptedWarning | ConvergenceWarning)
        note = str(warning.message)
        if note not in notes and (known or issubclass(warning.category, SlowWarning)):
            notes.append(note)
    classes = split.task == "classification"
    train = split.encoder.encode(split.train)
    simple = SimpleModels.fit(train.to_numpy(), split.y_train, split.encoder.codes, classes)
    scores: dict[str, float] = {}
    said: list[str] = []
    useful: bool | None = None
    found: dict[str, dict[str, float]] = {}
    main = "accuracy" if classes else "R²"
    if len(split.test):
        test = split.encoder.encode(split.test)
        found = {
            "this model": measures_of(estimator, test, split.y_test),
            **simple.measures(test.to_numpy(), split.y_test),
        }
        scores = {name: own[main] for name, own in found.items() if main in own}
        where = f"{count(len(split.test))} {split.where}"
        said, useful = remarks(estimator, test, split.y_test, simple, where, split.groups_test)
    summary = {
        "target": settings.target,
        "task": split.task,
        "rows_train": rows,
        "rows_test": len(split.test),
        "columns": split.encoder.names,
        "metric": "accuracy" if classes else "R^2",
        "evaluated_on": split.where if len(split.test) else "training rows",
        "scores": scores,
        "measures": found,
        "seconds": round(seconds, 2),
        "seed": settings.seed,
        "interrupted": any(issubclass(w.category, InterruptedWarning) for w in caught),
        "notes": notes + said,
        "remarks": said,
        "useful": useful,
    }
    return TableModel(split.encoder, estimator, summary, simple)
