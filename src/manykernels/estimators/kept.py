"""Fits whose state is kept in a folder, so that a process that is killed loses little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from ..arrays import Array
from ..checkpoint import Checkpoint, fingerprint
from ..fitting import Outcome, fit
from ..passes import Block
from ..rows import MemoryRows, PartedRows, Rows
from ..spec import Spec

BESIDES = ("checkpoint", "n_jobs", "verbose")
"""Parameters that change no model."""


def kept_fit(estimator: Any, spec: Spec, rows: Rows) -> Outcome:
    """Fit a specification to rows; with a checkpoint, from where an earlier process was ended.

    The state is removed when the fit is done, or when it was refused for its data or parameters.
    """
    if getattr(estimator, "checkpoint", None) is None:
        return fit(spec, rows)
    checkpoint = opened(estimator, rows, spec.verbose)
    try:
        outcome = fit(_kept_in(spec, checkpoint), rows)
    except (TypeError, ValueError):
        checkpoint.remove()
        raise
    if not outcome.interrupted:
        checkpoint.remove()
    return outcome


def opened(estimator: Any, rows: Rows, verbose: int) -> Checkpoint:
    """Return the checkpoint of an estimator with these parameters, fitted to these rows."""
    parameters = {
        # Folds of an iterator cannot be looked at; the parts of each fold tell its rows. The
        # parameters of an estimator within are listed by themselves.
        name: type(value) if isinstance(value, Iterator | BaseEstimator) else value
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] not in BESIDES
    }
    key = fingerprint(kind=type(estimator), parameters=parameters, rows=_known_by(rows))
    return Checkpoint.opened(estimator.checkpoint, key, verbose)


def _kept_in(spec: Spec, checkpoint: Checkpoint) -> Spec:
    """Return a specification that keeps its state, and draws the same random numbers next time."""
    spec = replace(
        spec,
        slot=checkpoint.slot,
        random_state=checkpoint.random_state(spec.random_state),
        alternatives=tuple(_kept_in(other, checkpoint) for other in spec.alternatives),
    )
    first = spec.first
    return spec if first is None else replace(spec, first=_kept_in(first, checkpoint))


def _known_by(rows: Rows) -> Any:
    """Return all that tells rows from others."""
    if isinstance(rows, MemoryRows):
        values = rows.X, rows.y, rows.weights, rows.classes
        return *values, rows.names, rows.centre, rows.pairwise, rows.groups
    assert isinstance(rows, PartedRows)
    return rows.names, rows.labelled, rows.total(_block_key)  # one pass


def _block_key(block: Block) -> list[str]:
    parts: dict[str, Array] = {"X": block.X, "y": block.y, "weights": block.weights}
    return [fingerprint(**parts)]
