"""The models of a path that are kept, so that another process goes on behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..checkpoint import fingerprint
from ..rows import Fits
from ..solvers import Result, Slot, frozen_result, thawed_result
from ..spec import Spec
from .choose import Candidate

if TYPE_CHECKING:
    from .folds import Fold

Judged = tuple[Array, Array | None]
"""What each row left out adds to the mean loss, and predictions there."""

Kept = tuple[Result, Judged, tuple[bool, bool]]
"""A model, what was found of it on the rows left out, and whether it is small, and large."""

NAME_DIGITS = 16
"""Digits of a fingerprint in the name of a part."""


def kept_by_fold(spec: Spec, folds: Sequence[Fold]) -> list[Spec]:
    """Return a specification for each fold, whose state is kept by itself: that of its rows."""
    specs = []
    for fold in folds:
        rows = {"train": fold.train, "test": fold.test}
        digits = fingerprint(**rows, seed=fold.seed, share=fold.share)
        specs.append(spec.kept_at(f"fold {digits[:NAME_DIGITS]}"))
    return specs


def setting_digits(spec: Spec) -> str:
    """Return the digits that the fit of a setting that was chosen is kept under.

    With other folds than the process before had, of an iterator, another one may be chosen.
    """
    setting = {"degrees": spec.degrees, "exponents": spec.exponents, "strength": spec.strength}
    return fingerprint(**setting, solver=spec.solver)[:NAME_DIGITS]


class KeptPath:
    """The models of a candidate in a fold, kept in chunks; and the last one, with its memory.

    Parameters
    ----------
    slot : Slot
        Where they are kept.
    candidate : Candidate
        What they are models of.
    fits : Fits
        What makes models on these rows.
    """

    def __init__(self, slot: Slot, candidate: Candidate, fits: Fits) -> None:
        setting = {"degree": candidate.degree, "p": candidate.p, "sizes": candidate.sizes}
        self.slot = slot.at(f"path {fingerprint(**setting)[:NAME_DIGITS]}")
        self.family = fits.family
        problem = getattr(fits, "problem", None)  # rows in parts have none of their own
        self.weights = None if problem is None else problem.weights
        self.last: Result | None = None
        self.written = 0
        self.waiting: list[dict[str, Any]] = []

    def rounds(self, place: int) -> Slot:
        """Return where the solver of a model keeps its state."""
        return self.slot.at(f"rounds {place}")

    def read(self, rng: np.random.Generator) -> list[Kept]:
        """Return the models that were kept; their last one becomes ``last``, and so with draws."""
        end = self.slot.at("last").read()
        trees: list[dict[str, Any]] = []
        while end is not None and len(trees) < end["count"]:
            chunk = self.slot.at(f"models {len(trees)}").read()
            if not chunk:
                return []  # it is missing or damaged: the path begins anew
            trees += chunk
        if end is None:
            return []
        trees = trees[: end["count"]]
        self.last = thawed_result(end["result"], self.family, self.weights)
        rng.bit_generator.state = end["rng"]
        self.written = len(trees)
        return [
            (thawed_result(tree["result"], self.family, None), tree["judged"], tree["flags"])
            for tree in trees
        ]

    def add(
        self,
        result: Result,
        judged: Judged,
        flags: tuple[bool, bool],
        last: Result,
        rng: np.random.Generator,
    ) -> None:
        """Keep a model, with those before it that are not written yet, when it is time to.

        ``last`` is what the next one starts from: the model itself, or that before a refit.
        """
        noise = isinstance(result.memory, float)  # of a search for widths, which the last fit needs
        tree = {"result": frozen_result(result, self.family, memory=noise)}
        self.waiting.append({**tree, "judged": judged, "flags": flags})
        first, count = self.written, self.written + len(self.waiting)
        if not self.slot.at(f"models {first}").offer(lambda: self.waiting):
            return
        end = {"count": count, "result": frozen_result(last, self.family)}
        if self.slot.at("last").write({**end, "rng": rng.bit_generator.state}):
            for place in range(first, count):
                self.rounds(place).drop()
            self.written, self.waiting = count, []
