"""Rows that belong together, or follow each other: how they are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit

from ..arrays import Array
from ..frames import Moment, TableEncoder, TableError, repeated_subjects
from ..frames.written import (
    as_moments,
    as_numbers,
    as_words,
    date_formats,
    decimal_years,
    is_ambiguous,
    shown,
)
from ..words import count, plural
from .options import quoted

if TYPE_CHECKING:
    from .fitting import Settings

FEWEST_TIMES = 10
"""Fewest different dates of a column that may make a table a series. Set by judgement."""

REGULAR = 1.25
"""Most that the upper quartile of the steps between dates may be of the lower one, if the dates are
those of a series: 31 days and 28 of months are, while those of dates drawn at random are 4.8. Set
by judgement, not measured."""

FIRST_COLUMNS = 10
"""Columns by which rows are told apart before all are looked at. Set by judgement."""

BY_CHANCE = 0.1
"""Share of rows like another, with columns in other orders, from which on rows are alike by chance.
Set by judgement."""

FEWEST_GROUPS = 5
"""Fewest groups of a table: as many as there are folds."""


@dataclass(frozen=True)
class Apart:
    """How rows are held out: whole groups of them, the latest, or any.

    Attributes
    ----------
    groups : ndarray of int, optional
        The group of each row.
    moments : ndarray of float, optional
        The time of each row.
    name : str
        The column that says so.
    """

    groups: Array | None = None
    moments: Array | None = None
    name: str = ""

    @property
    def ordered(self) -> bool:
        """Whether rows are in the order of time."""
        return self.moments is not None

    @property
    def where(self) -> str:
        """The rows held out, in words."""
        if self.groups is not None:
            return f"held-out rows, none of a {self.name!r} trained on"
        return f"held-out rows, the latest by {self.name!r}" if self.ordered else "held-out rows"

    def split(self, share: float, seed: int) -> tuple[Array, Array] | None:
        """Return the rows to train on and those held out; None if any will do."""
        if self.groups is not None:
            some = GroupShuffleSplit(1, test_size=share, random_state=seed)
            train, test = next(some.split(self.groups, groups=self.groups))
            return train, test
        if self.moments is None:
            return None
        # Rows of one moment stay together: those of the border are held out.
        border = np.sort(self.moments)[int(np.ceil((1 - share) * len(self.moments)))]
        if border == self.moments.min():
            raise TableError(
                f"--time {self.name!r} has no rows before the last {share:.0%}. Use another column."
            )
        return np.flatnonzero(self.moments < border), np.flatnonzero(self.moments >= border)

    def in_order(self, rows: Array) -> Array:
        """Return numbers of rows, by time where that is known."""
        return rows if self.moments is None else rows[np.argsort(self.moments[rows], kind="stable")]


def _kinds(X: pd.DataFrame) -> Array:
    """Return a number for each row, the same for rows of the same values, from 0."""
    return np.asarray(pd.factorize(pd.util.hash_pandas_object(X, index=False).to_numpy())[0])


def units_of(X: pd.DataFrame, y: Array) -> Array:
    """Return the number of each row's unit, in the order of the rows: copies of a row are one.

    Rows of the same values and targets are copies, unless other rows of these values have other
    targets: then each is an observation of its own, as in the folds of a fit. So is each where rows
    are alike by chance, as in a table of few categories: one in ten of the different rows is like
    another once the values of each column are in another order. Values are compared by hashes of
    64 bits.
    """
    for seen in (X.iloc[:, :FIRST_COLUMNS], X):  # mostly the first columns tell all rows apart
        try:
            kinds = _kinds(seen)
        except TypeError:  # lists, which are refused by the name of their column
            return np.arange(len(y))
        if kinds.max() == len(y) - 1:
            return np.arange(len(y))
    targets = pd.factorize(y)[0]
    both = pd.factorize(kinds * (targets.max() + 1) + targets)[0]
    firsts = np.unique(both, return_index=True)[1]
    different = X.iloc[np.unique(kinds, return_index=True)[1]]
    codes = [pd.factorize(different.iloc[:, j])[0] for j in range(X.shape[1])]
    mixed = np.random.default_rng(0).permuted(np.column_stack(codes), axis=0)
    if _kinds(pd.DataFrame(mixed)).max() + 1 <= (1 - BY_CHANCE) * len(mixed):
        return np.arange(len(y))
    noisy = (np.bincount(kinds[firsts]) > 1)[kinds]
    return np.asarray(pd.factorize(np.where(noisy, -1 - np.arange(len(y)), both))[0])


def apart_of(frame: pd.DataFrame, settings: Settings, notes: list[str]) -> Apart:
    """Return how the rows of a table are held out; note what people should know."""
    if settings.groups is not None and settings.time is not None:
        raise TableError("--groups and --time cannot both be given. Use one of them.")
    name = settings.groups or settings.time
    if name is None:
        notes += _subjects(frame.drop(columns=settings.target))
        return Apart()
    if name == settings.target:
        raise TableError(f"--{_option(settings)} {name!r} is the target. Name another column.")
    column = frame[name]
    if column.isna().any():
        raise TableError(
            f"--{_option(settings)} {name!r} must have a value in every row; got "
            f"{plural(int(column.isna().sum()), 'row')} without. Fill them in, or remove the rows."
        )
    kept = name in settings.keep
    if settings.time is not None:
        left = (
            f" The column itself is left out of the model; --keep {quoted(name)} lets it be used."
        )
        notes.append(
            f"models are trained on earlier rows by {name!r} and validated on later ones."
            f"{'' if kept else left}"
        )
        return Apart(moments=_moments(column), name=name)
    numbers, values = pd.factorize(as_words(column))
    if len(values) < FEWEST_GROUPS:
        raise TableError(
            f"--groups {name!r} must have at least {FEWEST_GROUPS} different values; got "
            f"{len(values)}. Use another column, or leave --groups out."
        )
    left = "" if kept else "; the column itself is not used to predict"
    notes.append(
        f"{name!r} has {count(len(values))} groups; rows of one are never trained and validated on "
        f"at once{left}."
    )
    return Apart(groups=numbers, name=name)


def _option(settings: Settings) -> str:
    return "groups" if settings.groups is not None else "time"


def _moments(column: pd.Series) -> Array:
    """Return the times of rows as numbers."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return as_numbers(column, "").to_numpy(dtype=float)
    formats = date_formats(column)
    if not formats or is_ambiguous(formats):
        raise TableError(
            f"--time {column.name!r} must hold dates or numbers; got {shown(column.iloc[0])}. "
            "Write dates as 2024-05-31."
        )
    return decimal_years(as_moments(column, formats[0]))


def _subjects(frame: pd.DataFrame) -> list[str]:
    """Return notes about columns that look like identifiers of subjects with several rows."""
    return [
        f"column {name!r} looks like the identifier of subjects with several rows "
        f"({count(values)} values in {count(rows)} rows): rows of one may be trained and scored "
        f"on at once, which flatters the score. Use --groups {quoted(name)}."
        for name, (values, rows) in repeated_subjects(frame).items()
    ]


def series_notes(frame: pd.DataFrame, encoder: TableEncoder) -> list[str]:
    """Return a note if rows are in the order of a column of dates, or one for each of its dates."""
    for column in encoder.columns_:
        if not isinstance(column, Moment):
            continue
        times = column.values(frame[column.name].dropna())
        ordered = _in_order(times)
        if len(np.unique(times)) < FEWEST_TIMES or not (ordered or _regular(times)):
            continue
        name = quoted(column.name)
        how = "rows are in the order of" if ordered else "there is one row for each date of"
        return [
            f"{how} column {column.name!r}: held-out rows are drawn at random, between those that "
            "are trained on, which flatters the score if later rows are to be predicted. Use "
            f"--time {name}, with --keep {name} to predict from the date, too."
        ]
    return []


def _in_order(times: Array) -> bool:
    steps = np.diff(times)
    return bool(np.all(steps >= 0) or np.all(steps <= 0))


def _regular(times: Array) -> bool:
    """Tell whether times are those of a series: all different, most steps between them alike."""
    steps = np.diff(np.sort(times))
    low, high = np.quantile(steps, [0.25, 0.75])
    return bool(np.all(steps > 0) and high <= REGULAR * low)
