"""Tables and figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..store import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 120
"""Resolution of PNG files. Set by judgement, not measured."""


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a CSV file, floats with six significant digits, without the index."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    write_whole(path, text.encode())


def markdown_table(frame: pd.DataFrame, digits: int = 3) -> str:
    """Return a frame without its index as a table for GitHub, with a newline at the end.

    Numbers are aligned to the right; floats have as many significant digits as asked for, and a
    missing value is ``-``.
    """
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    lines = [
        [_cell(name, digits) for name in frame.columns],
        ["---:" if right else "---" for right in numeric],
        *([_cell(value, digits) for value in row] for row in frame.itertuples(index=False)),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def mean_and_error(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    r"""Return the mean of a column in each group, with its standard error :math:`s / \sqrt{n}`.

    The columns ``by`` make the groups, which come in the order of their first row. After them are
    mean, error (NaN when the count is 1) and count; missing values are not counted.
    """
    names = [by] if isinstance(by, str) else list(by)
    grouped = frame.groupby(names, sort=False, dropna=False, observed=True)[value]
    summary = grouped.agg(["mean", "std", "count"])
    # A count of 0 gives NaN, not a division by zero.
    error = summary["std"] / np.sqrt(summary["count"].clip(lower=1))
    return summary.assign(error=error)[["mean", "error", "count"]].reset_index()


def new_figure(
    rows: int, columns: int, width: float, height: float
) -> tuple[Figure, np.ndarray[Any, np.dtype[np.object_]]]:
    """Return a figure in inches and its array of axes, outside pyplot's global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write ``name.png`` and ``name.svg``, the same bytes for the same figure, and clear it."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, dict[str, Any]] = {
        "png": {"dpi": DOTS_PER_INCH},
        "svg": {"metadata": {"Date": None}},
    }
    with mpl.rc_context({"svg.hashsalt": "manykernels"}):
        for kind, own in options.items():
            drawn = BytesIO()
            figure.savefig(drawn, format=kind, **own)
            write_whole(folder / f"{name}.{kind}", drawn.getvalue())
    figure.clear()


def _cell(value: Any, digits: int) -> str:
    if pd.isna(value):
        return "-"
    text = _rounded(float(value), digits) if isinstance(value, float | np.floating) else str(value)
    return text.replace("|", r"\|").replace("\n", " ")


def _rounded(value: float, digits: int) -> str:
    """Format with trailing zeros, and an exponent only far from 1, unlike the format ``g``."""
    scientific = f"{value:.{digits - 1}e}"
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    exponent = int(scientific.split("e")[1])
    if not -5 < exponent < 6:
        return scientific
    return f"{float(scientific):.{max(digits - 1 - exponent, 0)}f}"
