"""The public ``loss`` argument -> a loss."""

from __future__ import annotations

from typing import Any

from ..losses import LOSSES_BY_NAME, Loss, Squared

REGRESSION = ("squared", "huber", "epsilon_insensitive")
CLASSIFICATION = ("logistic", "hinge", "squared_hinge", "squared")


def resolve_loss(loss: Any, allowed: tuple[str, ...], kind: str) -> Loss:
    """Turn the public ``loss`` argument into a loss, or say what is wrong with it."""
    if isinstance(loss, str):
        if loss not in allowed:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, allowed))} for a {kind}, or a loss "
                f"object; got {loss!r}. See manykernels.losses."
            )
        return LOSSES_BY_NAME[loss]()
    missing = [name for name in ("value", "gradient", "conjugate") if not hasattr(loss, name)]
    if missing or not (hasattr(loss, "curvature") or hasattr(loss, "conjugate_prox")):
        raise ValueError(
            f"loss must be a name or have value, gradient, conjugate, and curvature or "
            f"conjugate_prox; got {loss!r}. See manykernels.losses."
        )
    classes = bool(getattr(loss, "classification", False))
    if kind == "regressor" and classes:
        raise ValueError(
            f"loss must be for real targets; got {loss!r}. Use MKLClassifier for classes."
        )
    if kind == "classifier" and not (classes or isinstance(loss, Squared)):
        raise ValueError(f"loss must be for classes; got {loss!r}. Use loss='logistic'.")
    return loss
