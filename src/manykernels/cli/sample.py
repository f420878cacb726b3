"""A small table to try the commands on."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_diabetes

from ..store import write_whole
from ..tables import TableError

LONG_NAMES = {
    "bp": "blood_pressure",
    "s1": "total_cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol_ratio",
    "s5": "log_triglycerides",
    "s6": "glucose",
    "target": "progression",
}
"""Columns of scikit-learn's table that have a longer name here, from its description."""


def diabetes() -> bytes:
    """Return scikit-learn's diabetes data as CSV: 442 patients, and how their disease went on."""
    frame = load_diabetes(as_frame=True, scaled=False).frame
    text: str = frame.rename(columns=LONG_NAMES).to_csv(index=False, lineterminator="\n")
    return text.encode()


def write_sample(out: Path) -> None:
    """Write the table to a file; another file of that name is not replaced."""
    content = diabetes()
    if out.suffix.lower() != ".csv":
        raise TableError(f"{out} must end in .csv. Name it diabetes.csv.")
    if out.exists() and not (out.is_file() and out.read_bytes() == content):
        raise TableError(f"{out} exists and is something else. Name another file.")
    write_whole(out, content)
