"""Which engine fits a family to rows in parts."""

from __future__ import annotations

from ..arrays import approximately
from ..losses import SmoothLoss
from .growing import Growing
from .model import Engine, Task
from .rows import Design, Parts
from .whole import Whole

MOST_FEATURES = 1_500
"""A family of so many features is fitted from the products of all of them, made in one pass."""

MOST_ENTRIES = 2e7
"""Most inner products that a pricing brings from the workers."""


def engine_of(parts: Parts, design: Design, task: Task) -> Engine:
    """Return the engine for a family: all features in one pass if they are few, else by rounds."""
    if not isinstance(design.loss, SmoothLoss):
        raise ValueError(
            "loss must be smooth for rows in partitions; got "
            f'{type(design.loss).__name__}. Use loss="squared", "huber", "squared_hinge" or '
            '"logistic".'
        )
    family = design.family
    features = float(family.bases.sizes.sum())  # type: ignore[union-attr]
    whole = approximately(family.distinct) * float(family.bases.sizes.mean()) ** family.degree  # type: ignore[union-attr]
    if whole <= MOST_FEATURES:
        return Whole(parts, design, task)
    if task.p != 1:
        raise ValueError(
            f"rows in partitions with p={task.p:g} need a family of at most {MOST_FEATURES} "
            f"features; got about {whole:.3g}. Use p=1, a smaller degree or fewer columns."
        )
    if family.degree > 3 or features**family.degree > MOST_ENTRIES:
        raise ValueError(
            "rows in partitions need a family whose inner products fit in memory; got degree "
            f"{family.degree} with {features:.0f} base features. Use a smaller degree or fewer "
            "columns."
        )
    return Growing(parts, design, task)
