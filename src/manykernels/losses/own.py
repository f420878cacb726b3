"""What must hold of a loss of a user's own on the targets of a fit."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..inputs import shown
from .base import Loss

LOSS_ROUNDING = 1e-6
"""Share of the largest value of a loss by which values may differ that are the same but for
rounding. Set by judgement."""


def refuse_unsound(loss: Loss, y: Array) -> None:
    """Raise ValueError if a loss gives no number for a target, or can be below zero.

    The least value for a target y is -conjugate(y, 0). Gaps are shares of the objective: one below
    zero has none.
    """
    zero = np.zeros_like(y)
    with np.errstate(all="ignore"):
        value, _, conjugate = (
            _numbers(loss, name, y, zero) for name in ("value", "gradient", "conjugate")
        )
    worst = np.unravel_index(np.argmax(conjugate), y.shape)
    if conjugate[worst] > LOSS_ROUNDING * np.abs(value).max():
        raise ValueError(
            f"loss must have no value below zero; got values down to {-conjugate[worst]:.3g} for a "
            f"target of {y[worst]:.3g}: -conjugate(y, 0). Add to value what depends on y alone, so "
            "that the best prediction costs nothing, and take it from conjugate."
        )


def depends_on_errors(loss: Loss, y: Array, centre: float) -> bool:
    """Tell whether a loss stays the same if targets and predictions move together."""
    with np.errstate(all="ignore"):
        for f in (np.zeros_like(y), np.full_like(y, centre)):
            own, moved = _numbers(loss, "value", y, f), loss.value(y - centre, f - centre)
            if not np.allclose(moved, own, rtol=0, atol=LOSS_ROUNDING * np.abs(own).max()):
                return False
    return True


def _numbers(loss: Loss, name: str, y: Array, other: Array) -> Array:
    """Return what a method of a loss gives, a number for each target."""
    found = np.asarray(getattr(loss, name)(y, other))
    real = found.dtype.kind in "fiub"
    finite = real and (name == "conjugate" or np.all(np.isfinite(found)))
    if found.shape != y.shape or not finite or np.any(np.isnan(found)):
        got = shown(found) if found.shape == y.shape else f"shape {found.shape}"
        raise ValueError(
            f"loss.{name} must return a finite number for each target and prediction, here of "
            f"shape {y.shape}; got {got}. See manykernels.losses."
        )
    return np.asarray(found, dtype=float)
