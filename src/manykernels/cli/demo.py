"""A table whose truth is known, and what a fit makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ..store import write_whole
from ..tables import Settings, fit_table, split_table
from .output import Console, show_fit, show_split


def flats(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return flats and their rents.

    The rent depends on the area, on area and district together, on the distance to the centre, on
    the year built, and on noise; on nothing else.
    """
    rng = np.random.default_rng(seed)
    district = rng.choice(["harbour", "hill", "old town", "station"], size=rows)
    area = np.round(rng.gamma(9.0, 8.0, size=rows) + 15)
    distance = np.round(rng.exponential(3.0, size=rows) + 0.2, 1)
    built = rng.integers(1890, 2024, size=rows)
    price = pd.Series(district).map({"harbour": 4, "hill": 20, "old town": 10, "station": 0})
    rent = 150 + (6 + price.to_numpy()) * area - 90 * np.log1p(distance)
    rent = rent + 0.03 * (built - 1950.0) ** 2 + rng.normal(0, 40, size=rows)
    return pd.DataFrame(
        {
            "area": area,
            "district": district,
            "distance": distance,
            "built": built,
            "floor": rng.integers(0, 7, size=rows),
            "pets": rng.choice([True, False], size=rows),
            "listed": pd.Timestamp("2023-01-01")
            + pd.to_timedelta(rng.integers(0, 700, size=rows), unit="D"),
            "rent": np.round(rent),
        }
    )


def run(out: Path | None) -> None:
    """Fit the table; with a folder, write table, model and report to it."""
    console, settings = Console(False), Settings("rent")
    frame = flats()
    split = split_table(frame, settings)
    show_split(console, Path("flats.csv"), *frame.shape, split, settings)
    model = fit_table(split, settings, verbose=1)
    model = replace(model, summary={**model.summary, "file": "flats.csv"})
    written = {}
    if out is not None:
        from .. import report

        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / "flats.csv", frame.to_csv(index=False).encode())
        written["table"] = str(out / "flats.csv")
        written["model"] = str(model.save(out / "flats.mk"))
        written["report"] = str(report.write(model, split.test, split.y_test, out / "flats.html"))
    show_fit(console, model, 8, written, split.notes, verbose=1)
    console.say(
        "\nThe truth: rent = area times a price per square metre that depends on the district, "
        "less for a longer distance, more for very old and very new buildings. Floor, pets and "
        "the date have no effect."
    )
    if out is None:
        console.say("With --out FOLDER the table, the model and an HTML report are written there.")
