"""What a model's columns of numbers are made from, asked of the columns of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..estimators.validation import column_names
from ..tables import Category, Moment, Number, TableModel

MARKS = {"%Y/%m/%d": "/ymd", "%d.%m.%Y": ".dmy", "%d/%m/%Y": "/dmy", "%m/%d/%Y": "/mdy"}
MARKS["%d-%m-%Y"] = "-dmy"
"""How dates are written besides 2024-05-31: what stands between the parts, and their order."""


@dataclass(frozen=True)
class Source:
    """A column of numbers that a model sees, and how it is made from a column of a table.

    Attributes
    ----------
    column : str
        Name of the table's column.
    kind : {"plain", "number", "moment", "missing", "category"}
        A number of a table of nothing else; one of any table; a date or time as decimal years, or
        a part of it; whether the value is missing, as 0 or 1; the code of a category.
    middle : float, optional
        What stands for missing numbers and dates; None if they must not be missing.
    style : str
        How dates are written besides 2024-05-31: a mark and the order of parts, such as ".dmy". How
        numbers were written in training; empty if they were plain.
    codes : dict
        Codes of categories.
    unknown, gap : float
        Codes of categories that are not among them, and of missing values.
    part : str
        The part of a date, such as "hour"; empty for decimal years.
    """

    column: str
    kind: str
    middle: float | None = None
    style: str = ""
    codes: dict[str, float] | None = None
    unknown: float = -1.0
    gap: float = -1.0
    part: str = ""

    @property
    def label(self) -> str:
        """What people call it."""
        if self.part:
            return f"{self.column}, {self.part}"
        return f"{self.column} is missing" if self.kind == "missing" else self.column


def sources_of(model: Any) -> list[Source]:
    """Return how each column of numbers of a model is made, in the order of its estimator."""
    encoder = model.encoder if isinstance(model, TableModel) else getattr(model, "encoder_", None)
    if encoder is None:
        names = [str(name) for name in column_names(model)]
        # Models of sparse matrices and of rows in parts fill nothing.
        own = model.medians_.tolist() if hasattr(model, "medians_") else [None] * len(names)
        return [Source(name, "plain", middle) for name, middle in zip(names, own, strict=True)]
    return [source for column in encoder.columns_ for source in _of_column(column)]


def _of_column(column: Number | Moment | Category) -> list[Source]:
    if isinstance(column, Category):
        other, gap = column.unknown_code, column.missing_code
        return [Source(column.name, "category", codes=column.codes, unknown=other, gap=gap)]
    kind = "moment" if isinstance(column, Moment) else "number"
    style = MARKS.get(column.style, "") if kind == "moment" else column.style
    own = [Source(column.name, kind, column.middle, style)]
    if isinstance(column, Moment):
        own += [Source(column.name, kind, one, style, part=name) for name, one in column.parts]
    return [*own, *([Source(column.name, "missing", style=kind)] if column.gaps else [])]
