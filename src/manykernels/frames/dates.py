"""What a date says beside its decimal year: the day of the week, the hour, the month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..inputs import weighted_median

WEEK_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
"""Levels of the day of the week, in their order; all seven always are levels."""

DAY_OF_WEEK, HOUR, MONTH = "day of the week", "hour", "month"
"""Names of the parts of a date, as columns and model files have them."""

LEAST_WEEK_DAYS = 3
"""Fewest different days of the week among dates. Set by judgement, not measured: dates of two, as
those of a weekly meeting that was moved once, say little of a week."""

WEEK_DAYS_SPAN = 28.0
"""Fewest days from the first date to the last if days of the week are to tell anything: four of
each. Set by judgement, not measured."""

LEAST_TIMES = 3
"""Fewest different times of day. Set by judgement, not measured: days that began at midnight of a
place with daylight saving time have two in UTC."""

TIMES_SPAN = 1.0
"""Fewest days between the first date and the last if the time of day is to tell anything but the
date itself does. Set by judgement, not measured."""

LEAST_MONTHS = 2
"""Fewest different months of the year. Set by judgement, not measured."""

MONTHS_SPAN = 548.0
"""Fewest days between the first date and the last if the month is to tell anything but the decimal
year does: a year and a half. Set by judgement, not measured."""

DAY = pd.Timedelta(days=1)


@dataclass(frozen=True)
class DatePart:
    """A number that dates have beside their decimal year.

    ``values`` makes it of moments in UTC, NaN where there is none, and ``kind`` what is counted to
    tell whether it differs: at least ``least`` of these, over ``span`` days or more. ``labels`` are
    those of its numbers, none if they are themselves.
    """

    values: Callable[[pd.Series], Array]
    kind: Callable[[pd.Series], pd.Series]
    least: int
    span: float
    labels: list[str] = field(default_factory=list)

    def differs(self, moments: pd.Series) -> bool:
        """Tell whether moments differ enough in it for a model to learn from that."""
        days = (moments.max() - moments.min()) / DAY
        return bool(days >= self.span and self.kind(moments).nunique() >= self.least)

    def filling(self, moments: pd.Series, weights: Array) -> float:
        """Return what stands for missing dates: the most frequent level, or the median."""
        values = self.values(moments)
        if self.labels:
            return float(np.bincount(values.astype(int), weights).argmax())
        return float(weighted_median(values, weights))


def _week_days(moments: pd.Series) -> Array:
    """Return days of the week, 0 for Monday."""
    return moments.dt.day_of_week.to_numpy(dtype=float, na_value=np.nan)


def _time_of_day(moments: pd.Series) -> pd.Series[pd.Timedelta]:
    return moments - moments.dt.normalize()


def _hours(moments: pd.Series) -> Array:
    """Return the hours since midnight, with decimals."""
    return (_time_of_day(moments) / pd.Timedelta(hours=1)).to_numpy(dtype=float)


def _months(moments: pd.Series) -> Array:
    """Return months and the share of each that has passed: 1.5 is the middle of January."""
    days = moments.dt.day - 1 + _time_of_day(moments) / DAY
    return (moments.dt.month + days / moments.dt.days_in_month).to_numpy(dtype=float)


PARTS = {
    DAY_OF_WEEK: DatePart(
        _week_days, lambda m: m.dt.day_of_week, LEAST_WEEK_DAYS, WEEK_DAYS_SPAN, WEEK_DAYS
    ),
    HOUR: DatePart(_hours, _time_of_day, LEAST_TIMES, TIMES_SPAN),
    MONTH: DatePart(_months, lambda m: m.dt.month, LEAST_MONTHS, MONTHS_SPAN),
}
"""The parts of dates by name, in the order of their columns."""


def parts_of_dates(moments: pd.Series, weights: Array) -> tuple[tuple[str, float], ...]:
    """Return the parts in which moments differ, with what stands in them for missing dates.

    ``weights`` are those of the moments, of which none is missing.
    """
    return tuple(
        (name, part.filling(moments, weights))
        for name, part in PARTS.items()
        if part.differs(moments)
    )


def without_week_days(kernels: Any, encoded: Mapping[str, list[str]]) -> Any:
    """Return a ``kernels`` argument in which kernels of all columns do without days of the week.

    ``encoded`` has the labels of encoded columns.
    """
    rest = [name for name, own in encoded.items() if own != WEEK_DAYS]
    if len(rest) == len(encoded):
        return kernels
    if isinstance(kernels, str):  # one for each column
        return [(kernels, name) for name in rest]
    items = kernels if isinstance(kernels, list) else [kernels]
    named = [isinstance(item, tuple) and len(item) == 2 for item in items]
    return [item if own else (item, rest) for item, own in zip(items, named, strict=True)]
