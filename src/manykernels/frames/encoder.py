"""The transformer from tables of all kinds of columns to tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..arrays import Array
from ..inputs import row_weights
from ..kernels import alternatives, uses_widths
from ..notices import notify
from ..registry import TABLE_KERNELS
from ..store import refuse_fields, refuse_infinite
from ..words import plural
from .columns import (
    FIELDS,
    MOST_NAMED,
    Category,
    Column,
    Moment,
    Number,
    TableError,
    encoded_names,
    plain_numbers,
    refuse_parts,
    some_of,
)
from .dates import without_week_days
from .given import as_frame, is_table, refuse_unknown
from .inference import learn_columns
from .ways import PYTHON, Ways
from .written import refuse_objects, shown


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns tables of numbers, text, categories, dates and gaps into numbers, always the same way.

    Estimators use it by themselves for tables with a column that is not of numbers, or with missing
    values; in a pipeline it can be told more. The kind of a column is found from its values:

    * Numbers, also as people write them (``"1,200"``, ``"$3.50"``, ``"12 %"``), stay numbers.
      Missing ones become the median; where there were some in training, a further column
      ``NAME is missing`` says which (``NAME is missing (2)`` if the table has one of that name).
    * Dates and time stamps become decimal years: the middle of 2024 is 2024.5. Beside them stand
      ``NAME, day of the week`` (categories, Monday to Sunday), ``NAME, hour`` (from 0 to 24) and
      ``NAME, month`` (from 1 to 13; 1.5 is the middle of January), as far as training rows differ
      in them: in three days of the week at least and over four weeks, in three times of day and
      over a day, in two months and over a year and a half. All are in UTC; a time without a zone
      counts as such. Of missing dates each has its median, or the most frequent day of the week.
    * Text, categories and booleans become the numbers of their levels, by name or in the order of
      an ordered type. The 100 most frequent have a level each, the rest is ``(other)``; missing
      ones are a level ``(missing)`` if there were some in training. A value that is new, where
      there is no such level, becomes -1, which counts as average in every kernel of categories.

    Columns without values, or with the same value everywhere, are left out; so are those that look
    like row numbers, identifiers or free text, unless ``keep`` or ``categories`` names them. A
    warning says which.

    Parameters
    ----------
    categories : sequence of str, optional
        Columns to take as categories whatever they look like, for instance numbers of districts.
    keep : sequence of str, optional
        Columns to take though they look like identifiers.

    Attributes
    ----------
    columns_ : list of Number, Moment or Category
        The columns in use, with medians and levels.
    notes_ : list of str
        What people should know: which columns are left out, which have rare categories, what
        becomes of dates, and units of numbers.
    levels_ : dict of str to list of str
        What the numbers 0, 1, .. of encoded columns mean, by their names; none for numbers.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if they were text.

    See Also
    --------
    manykernels.MKLRegressor : Takes tables as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from manykernels import TableEncoder
    >>> table = pd.DataFrame({"size": [50.0, None, 70.0], "town": ["Bonn", "Ulm", "Bonn"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'town']
    >>> encoder.transform(table).tolist()
    [[50.0, 0.0, 0.0], [60.0, 1.0, 1.0], [70.0, 0.0, 0.0]]
    """

    _beside: Sequence[str] = ()  # columns of the training table that were no part of X

    def __init__(
        self, categories: Sequence[str] | None = None, keep: Sequence[str] | None = None
    ) -> None:
        self.categories = categories
        self.keep = keep

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the kinds of the columns.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Training rows; a table of pandas, polars or pyarrow, or an array of text and numbers.
        y : object
            Not looked at.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for medians and the most frequent categories; those of weight zero
            are not looked at.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        TableError
            If a column cannot be used; the message says why and what to do.
        """
        frame = self._frame(X, reset=True)
        for option, names in (("categories", self.categories), ("keep", self.keep)):
            refuse_unknown(names, option, frame)
        return self._learn(frame, row_weights(sample_weight, len(frame)), PYTHON)

    def _learn(self, frame: pd.DataFrame, weights: Array, ways: Ways, strict: bool = False) -> Self:
        """Find the kinds of columns; messages advise what the ways out are."""
        self._names = frame.columns.tolist()
        used = weights > 0
        if not used.all():
            frame, weights = frame[used], weights[used]
        categories, keep = self.categories or (), self.keep or ()
        self.columns_, self.notes_ = learn_columns(frame, weights, categories, keep, ways, strict)
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers that stand for a table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows. Columns of a table may come in any order, and others are not looked at.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The numbers; a table if ``set_output`` says so. None is missing or infinite. Warnings
            name values of categories that were not in training, and columns with values far
            beyond those in training.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        numbers = self.encode(frame)
        for remark in self._news(frame, numbers):
            notify(remark, UserWarning)
        return numbers.to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : object
            Not looked at: names are those of the fit.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        return np.array(list(self._encoded), dtype=object)

    @property
    def names(self) -> list[str]:
        """Names of the columns in use."""
        return [column.name for column in self.columns_]

    @property
    def levels_(self) -> dict[str, list[str]]:
        """Labels of the numbers of those encoded columns that hold categories."""
        return {name: own for name, own in self._encoded.items() if own}

    @property
    def dates(self) -> dict[str, str]:
        """The encoded columns made of dates: "hour" and other parts, "" for decimal years."""
        pairs = zip(encoded_names(self.columns_), self.columns_, strict=True)
        return {
            name: part
            for names, column in pairs
            if isinstance(column, Moment)
            for name, part in zip(names, ["", *(part for part, _ in column.parts)], strict=False)
        }

    @property
    def sources(self) -> list[int]:
        """The number, in the table, of the column that each encoded column stands for."""
        places = {name: number for number, name in enumerate(self._names)}
        return [places[column.name] for column in self.columns_ for _ in column.labels]

    @property
    def codes(self) -> list[list[float]]:
        """Codes of the levels of each encoded column, none for those of numbers."""
        return [list(map(float, range(len(own)))) for own in self._encoded.values()]

    @property
    def _encoded(self) -> dict[str, list[str]]:
        pairs = zip(encoded_names(self.columns_), self.columns_, strict=True)
        return {
            name: labels
            for names, column in pairs
            for name, labels in zip(names, column.labels.values(), strict=True)
        }

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return X as a table; arrays must have as many columns as in training."""
        if not is_table(X):
            options = {"dtype": None, "ensure_all_finite": "allow-nan"}
            X = check_array(X, **options, ensure_min_samples=2 if reset else 1, estimator=self)
            validate_data(self, X, reset=reset, skip_check_array=True)
            frame = as_frame(X)
            return frame if reset else frame.set_axis(self._names, axis=1)
        if reset:
            validate_data(self, X, reset=True, skip_check_array=True)
        if X.shape[0] < (least := 2 if reset else 1):
            raise TableError(
                f"X must have at least {plural(least, 'row')}; got n_samples={X.shape[0]}. Collect "
                "more of them."
            )
        return as_frame(X)

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table of numbers; columns may come in any order, others are not looked at."""
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise TableError(self._missing(absent, frame))
        parts: list[Array] = []
        plain = plain_numbers(frame)
        for column in self.columns_:
            if type(column) is Number and column.name in plain:
                parts += column.encoded(plain[column.name])
                continue
            if why := refuse_objects(frame[column.name].dropna()):
                raise TableError(f"column {column.name!r} {why}. Write it as in training.")
            parts += column.encode(frame[column.name])
        return pd.DataFrame(dict(zip(self._encoded, parts, strict=True)), index=frame.index)

    def example(self) -> pd.DataFrame:
        """Return a table of one row, as training rows were; TypeError if columns are none."""
        refuse_fields(self, {"columns_": list}, "the encoder")
        parts: dict[str, list[object]] = {}
        for column in self.columns_:
            if not isinstance(column, Column):
                raise TypeError(f"a column is {type(column).__name__}")
            refuse_fields(column, FIELDS[type(column)], "a column")
            refuse_infinite(column, f"the column {column.name!r}")
            if isinstance(column, Number) and column.ends is not None:
                kinds = [type(one) for one in (*column.ends, column.slack)]
                if kinds != [float] * 3:
                    raise TypeError(f"ends of {column.name!r} are no two numbers")
            if isinstance(column, Moment):
                refuse_parts(column)
            if isinstance(column, Category) and not all(type(one) is str for one in column.levels):
                raise TypeError(f"levels of {column.name!r} are no text")
            parts[column.name] = [column.example]
        return pd.DataFrame(parts)

    def _missing(self, absent: list[str], frame: pd.DataFrame) -> str:
        """Say which columns a table lacks, and what to do."""
        known = {*self._names, *self._beside}
        spare = [str(name) for name in frame.columns if name not in known]
        hints = [
            f"{name!r} may be its {close[0]!r}"
            for name in absent[:MOST_NAMED]
            if (close := get_close_matches(name, spare, 1, 0.6))
        ]
        said = (
            f"the table lacks {plural(len(absent), 'column')} that the model needs: "
            f"{some_of(absent)}. "
        )
        if hints:
            return f"{said}{'; '.join(hints)}: rename it."
        add = f"Add {'a column of that name' if len(absent) == 1 else 'columns of these names'}"
        other = f", or rename one that the model does not know: {some_of(spare)}" if spare else ""
        return f"{said}{add} to the table{other}."

    def unknown(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return values of categories that the model does not know, by column."""
        found = {column.name: column.unknown(frame[column.name]) for column in self.columns_}
        return {name: new for name, new in found.items() if new}

    def remarks(self, frame: pd.DataFrame, numbers: pd.DataFrame) -> list[str]:
        """Return what to know of rows: values new to the model, or far beyond the training range.

        ``numbers`` are the rows encoded. A tenth of the range beyond its ends is not far, for
        dates ten steps from one to the next, if these are less.
        """
        found = self._news(frame, numbers)
        ranged = [column for column in self.columns_ if isinstance(column, Number) and column.ends]
        values = numbers[[column.name for column in ranged]].to_numpy()
        ends, limits = (
            np.array(pairs).reshape(-1, 2).T
            for pairs in ([one.ends for one in ranged], [one.limits for one in ranged])
        )
        far = ((values < limits[0]) | (values > limits[1])).any(axis=0)
        rows = np.count_nonzero((values < ends[0]) | (values > ends[1]), axis=0)
        beyond = [(column, rows[j]) for j, column in enumerate(ranged) if far[j]]
        if len(beyond) > MOST_NAMED:
            names = some_of([column.name for column, _ in beyond])
            words = f"{len(beyond):,} columns have values far beyond their training ranges: {names}"
            return [*found, f"{words}; the model knows nothing there."]
        return found + [
            f"column {column.name!r} is beyond its training range, {column.range_in_words}, in "
            f"{plural(int(count), 'row')}; the model knows nothing there."
            for column, count in beyond
        ]

    def _news(self, frame: pd.DataFrame, numbers: pd.DataFrame) -> list[str]:
        """Return which columns have categories that are new, with an example."""
        categories = [column.name for column in self.columns_ if isinstance(column, Category)]
        new = (numbers[categories] < 0).any(axis=None)
        return [
            f"column {name!r} has values that the model does not know, such as "
            f"{shown(values[0])}; they count as average."
            for name, values in (self.unknown(frame).items() if new else ())
        ]

    def kernels(self, given: Any) -> Any:
        """Return a ``kernels`` argument for the encoded table: kernels of categories for these.

        Kernels of all columns do without days of the week. Where all are categories, a pair with no
        column says that there is a choice, or that widths are free.

        Raises
        ------
        ValueError
            If it has other kernels for categories, or names columns by their numbers.
        """
        if isinstance(given, str) and given in TABLE_KERNELS:
            if given == "linear" and not self.levels_:
                return given
            kinds = [("categorical" if own else given, name) for name, own in self._encoded.items()]
            lost = len(self.levels_) == len(kinds) and (alternatives(given) or uses_widths(given))
            return [(given, []), *kinds] if lost else kinds
        categories = [c.name for c in self.columns_ if isinstance(c, Category)]
        items = given if isinstance(given, list) else [given]
        for kernel, seen in (
            i if isinstance(i, tuple) and len(i) == 2 else (i, None) for i in items
        ):
            names = [seen] if isinstance(seen, str | int | slice) else seen
            if names is not None and not all(isinstance(name, str) for name in names):
                raise ValueError(
                    f"kernels must name columns of a table with text, dates or gaps; got {seen!r}. "
                    "Use their names: encoded columns have other numbers."
                )
            wrong = [name for name in categories if names is None or name in names]
            if wrong and not (isinstance(kernel, str) and kernel == "categorical"):
                raise ValueError(
                    f'kernels must be "categorical" for columns of categories; got {kernel!r} for '
                    f'{some_of(wrong)}. Use kernels="auto", or ("categorical", {wrong[0]!r}) in a '
                    "list with kernels by features."
                )
        return without_week_days(given, self._encoded)


def learnt_encoder(
    frame: pd.DataFrame,
    categories: Sequence[str],
    keep: Sequence[str],
    ways: Ways,
    strict: bool = False,
    beside: Sequence[str] = (),
) -> TableEncoder:
    """Return an encoder fitted to a table; messages advise what ``ways`` has.

    ``strict`` raises at identifiers and free text, which are else left out. ``beside`` names what
    people know as columns of the same table, such as the target.
    """
    encoder = TableEncoder(list(categories), list(keep))
    encoder._beside = list(beside)
    rows = encoder._frame(frame, reset=True)
    return encoder._learn(rows, np.ones(len(rows)), ways, strict)
