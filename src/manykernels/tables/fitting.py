"""From a table and the name of its target to a model and an honest score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from ..arrays import Array
from ..baselines.simple import SimpleModels
from ..estimators import MKLClassifierCV, MKLRegressorCV
from ..kernels import uses_widths
from ..limits import TABLE_PAIRS
from ..notices import InterruptedWarning, SlowWarning
from ..words import plural
from .columns import TableEncoder, TableError, missing_column
from .inference import learn_columns
from .model import TableEstimator, TableModel
from .written import (
    as_numbers,
    as_words,
    date_formats,
    mixture,
    number_style,
    refuse_objects,
    shown,
    target_values,
)

LEAST_TABLE_ROWS = 20
"""Fewest rows with a target that a table must have. Set by judgement, not measured."""

USEFUL = 0.001
"""Least difference between the score of a model and that of a baseline for the model to be called
better. Set by judgement, not measured."""

MOST_CLASSES = 50
"""Most classes of a target. Set by judgement, not measured."""


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
    """

    target: str
    task: str = "auto"
    degree: list[int] | None = None
    kernels: str = "auto"
    test: float = 0.2
    seed: int = 0
    drop: Sequence[str] = ()
    categories: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: str = "impute"
    max_rows: int | None = None


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
    """

    task: str
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: Array
    y_test: Array
    encoder: TableEncoder
    notes: list[str]


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
            "separator: --separator ';'."
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
    task, y = _target(frame[settings.target], settings, notes)
    X = frame.drop(columns=settings.target)
    if settings.missing == "refuse":
        refuse_missing(X)
    if held is None:
        train, test, y_train, y_test = _parts(X, y, task, settings, notes)
    else:
        train, test, y_train, y_test = X[~held], X[held], y[~held], y[held]
    encoder, found = learn_columns(train, settings.categories, settings.keep)
    return Split(task, train, test, y_train, y_test, encoder, notes + found)


def _target(column: pd.Series, settings: Settings, notes: list[str]) -> tuple[str, Array]:
    task, name = settings.task, settings.target
    if why := refuse_objects(column):
        raise TableError(f"target {name!r} {why}. Is it the right column?")
    column = _as_written(column, task, name)
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    distinct = column.nunique()
    if distinct == 1:
        raise TableError(
            f"target {name!r} has the same value in all rows. There is nothing to fit."
        )
    if task == "auto":
        task = "regression" if numeric and distinct > 2 else "classification"
        if numeric and 2 < distinct <= 10:
            notes.append(
                f"target {name!r} has {distinct} distinct numbers and is predicted as a number; "
                "use --task classification if they are classes."
            )
    if task == "regression" and not numeric:
        raise TableError(
            f"target {name!r} must hold numbers for a regression; got "
            f"{shown(column.iloc[0])}. Correct the file, or use --task classification."
        )
    if task == "classification" and distinct > MOST_CLASSES:
        what = "numbers" if numeric else "texts"
        raise TableError(
            f"target {name!r} has {distinct} different {what}, too many for classes (at most "
            f"{MOST_CLASSES}). {'Use --task regression.' if numeric else 'Is it the right column?'}"
        )
    if task == "regression" and np.isinf(column.to_numpy(dtype=float)).any():
        raise TableError(f"target {name!r} has infinite values. Correct the file.")
    return task, target_values(column, task)


def _as_written(column: pd.Series, task: str, name: str) -> pd.Series:
    """Return text that means numbers as numbers; refuse dates, and numbers mixed with text."""
    if pd.api.types.is_numeric_dtype(column) or task == "classification":
        return column
    words = as_words(column)
    numbers = as_numbers(words, number_style(words))
    if numbers.notna().all():
        return numbers
    if float(numbers.notna().mean()) >= 0.5:
        raise TableError(f"target {name!r} {mixture(words, numbers)}.")
    if pd.api.types.is_datetime64_any_dtype(column) or (
        column.nunique() > MOST_CLASSES and date_formats(column)
    ):
        raise TableError(
            f"target {name!r} holds dates, which cannot be predicted. Turn them into numbers, such "
            "as days from some day on."
        )
    return column


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
    X: pd.DataFrame, y: Array, task: str, settings: Settings, notes: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame, Array, Array]:
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
    if settings.test == 0:
        train, test, y_train, y_test = X, X.iloc[:0], y, y[:0]
    else:
        labels, seed = y if classes else None, settings.seed
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=settings.test, random_state=seed, stratify=labels
        )
    most = settings.max_rows
    if most is not None and len(train) > most:
        notes.append(
            f"trained on {most:,} of {len(train):,} rows, drawn at random; use --max-rows for more."
        )
        labels, seed = y_train if classes else None, settings.seed
        train, _, y_train, _ = train_test_split(
            train, y_train, train_size=most, random_state=seed, stratify=labels
        )
    return train, test, y_train, y_test


def fit_table(split: Split, settings: Settings, verbose: int = 0) -> TableModel:
    """Fit a model to the training rows and score it on the others, next to plain models.

    Ctrl-C keeps the best model so far and notes it, once there is one.
    """
    rows = split.encoder.encode(split.train)
    estimator = new_estimator(split, settings, verbose)
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(rows, split.y_train)
    seconds = perf_counter() - began
    return finished(split, settings, estimator, caught, seconds, len(split.train), [])


def new_estimator(split: Split, settings: Settings, verbose: int) -> TableEstimator:
    """Return the estimator for a table, not fitted."""
    kind = MKLRegressorCV if split.task == "regression" else MKLClassifierCV
    plain = settings.kernels == "linear" and not split.encoder.levels
    kernels = "linear" if plain else split.encoder.kernels(settings.kernels)
    return kind(
        kernels=kernels,
        degree=settings.degree or ("auto" if uses_widths(kernels) else table_degree(split)),
        random_state=settings.seed,
        verbose=verbose,
    )


def table_degree(split: Split) -> int:
    """Return the largest number of variables in a term where none is given."""
    return 2 if comb(len(split.encoder.names), 2) <= TABLE_PAIRS else 1


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
    if settings.degree is None and estimator.degree_ == 1 and table_degree(split) == 1:
        notes.append(
            f"{len(split.encoder.names):,} columns have too many pairs: each term is of one column "
            "alone. Use --degree 2 for terms of two, which may take long."
        )
    for warning in caught:
        known = issubclass(warning.category, InterruptedWarning | ConvergenceWarning)
        note = str(warning.message)
        if note not in notes and (known or issubclass(warning.category, SlowWarning)):
            notes.append(note)
    classes = split.task == "classification"
    train = split.encoder.encode(split.train)
    simple = SimpleModels.fit(train.to_numpy(), split.y_train, split.encoder.codes, classes)
    scores: dict[str, float] = {}
    if len(split.test):
        test = split.encoder.encode(split.test)
        others = simple.scores(test.to_numpy(), split.y_test)
        scores = {"this model": float(estimator.score(test, split.y_test)), **others}
        best = max(others, key=others.__getitem__)
        if scores["this model"] <= others[best] + USEFUL:
            notes.append(
                f"this model predicts no better than the baseline ({best}): do not read much into "
                "its terms."
            )
    summary = {
        "target": settings.target,
        "task": split.task,
        "rows_train": rows,
        "rows_test": len(split.test),
        "columns": split.encoder.names,
        "metric": "accuracy" if classes else "R^2",
        "evaluated_on": "held-out rows" if scores else "training rows",
        "scores": scores,
        "seconds": round(seconds, 2),
        "seed": settings.seed,
        "interrupted": any(issubclass(w.category, InterruptedWarning) for w in caught),
        "notes": notes,
    }
    return TableModel(split.encoder, estimator, summary, simple)
