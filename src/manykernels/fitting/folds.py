"""The models of a fold along a path, and how they do on the rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..function import Function, without_shares
from ..limits import PATH_FEATURES
from ..rows import Fits, Prepared, Rows
from ..solvers import Result
from ..spec import Spec
from .choose import SMALL_FEATURES, Candidate
from .progress import CHOOSING, Progress, current

FOLD_TOL = 3.0
"""Tolerance of the models of folds, which are only compared, relative to that of the last fit. Set
by judgement, not measured."""


@dataclass(frozen=True)
class Fold:
    """A fold: which rows are in it, which it is of how many, and its source of randomness."""

    train: Array
    test: Array
    number: int
    of: int
    seed: int


@dataclass(frozen=True)
class FoldModel:
    """The model of the chosen setting in one fold.

    Attributes
    ----------
    test : ndarray of int
        The rows left out.
    predictions : ndarray of shape (n_test, c) or None
        Predictions (decision values for classes) on them; None for rows in parts.
    function : Function
        The model. Its kernels are in the order of the solver; shares of variance are not known.
    """

    test: Array
    predictions: Array | None
    function: Function


@dataclass(frozen=True)
class Scored:
    """A model of a fold and how it does on the rows left out.

    Attributes
    ----------
    model : FoldModel
        The model.
    score : float
        The mean loss, negative.
    losses : ndarray
        What each row left out adds to the mean loss; for rows in parts the mean loss alone.
    small, large : bool
        Whether the model has few features and costs next to nothing; more than a path should go on
        with.
    interrupted : bool
        Whether Ctrl-C cut it short.
    """

    model: FoldModel
    score: float
    losses: Array
    small: bool
    large: bool
    interrupted: bool


class FoldRows:
    """The rows of a fold. They are prepared when first needed, and again for another degree."""

    def __init__(self, spec: Spec, rows: Rows, fold: Fold) -> None:
        self.spec, self.fold, self.classes = spec, fold, rows.classes
        self.inside, self.outside = rows.split(fold.train, fold.test)
        self.ready: tuple[int, Prepared] | None = None

    def prepared(self, degree: int) -> Prepared:
        """Return the rows to train on, prepared for products up to a degree."""
        if self.ready is None or (self.ready[0] != degree and self.ready[1].kernels.by_degree):
            self.ready = degree, self.inside.prepare(self.spec, degree)
        return self.ready[1]

    def models(self, candidates: Sequence[Candidate], number: int) -> Iterator[Scored]:
        """Yield the models of a candidate in the order of its path.

        They depend on nothing but the fold and the candidate, not on what else was fitted.
        """
        spec, fold, candidate = self.spec, self.fold, candidates[number]
        prepared = self.prepared(candidate.degree)
        fits = prepared.fits(spec, candidate.degree, candidate.p)
        judge = fits.judge(self.outside)
        for result in self._path(fits, candidates, number):
            loss, values = judge(result)
            losses = np.array([loss])
            if values is not None:
                losses = losses_of(spec, self.outside, values - fits.centre)
            learnt = without_shares(fits.family, result, fits.centre)
            function = Function(prepared.kernels, prepared.scaler, learnt, self.classes)
            model = FoldModel(fold.test, values, function)
            features = len(result.solution.coefficients)
            large = result.solution.in_features and features > PATH_FEATURES
            small = features <= SMALL_FEATURES
            yield Scored(model, -loss, losses, small, large, result.interrupted)

    def _path(self, fits: Fits, candidates: Sequence[Candidate], number: int) -> Iterator[Result]:
        """Yield the models of a path, from simple to rich, each started from the one before."""
        spec, sizes = self.spec, candidates[number].sizes
        assert spec.search is not None
        stop = replace(spec.stop, tol=FOLD_TOL * spec.stop.tol)
        rng = np.random.default_rng([self.fold.seed, number])
        if spec.greedy is not None:
            for place, result in enumerate(fits.grow(spec.greedy, stop, rng)):
                self._say(candidates, number, place)
                yield result
            return
        size, last = spec.family.size(fits.family), None
        limits = stop.tol, stop.max_iter, stop.max_time
        for place, strength in enumerate(sizes.tolist()):
            self._say(candidates, number, place)
            progress = Progress(current(), size, *limits, (place, len(sizes)))
            last = fits.solve(spec.solver, strength, stop, rng, last, progress)
            yield fits.refit(last) if spec.search.debias else last

    def _say(self, candidates: Sequence[Candidate], number: int, place: int) -> None:
        """Say which model is fitted, if somebody watches this process."""
        watch, fold, candidate = current(), self.fold, candidates[number]
        if watch is None:
            return
        label = f"degree {candidate.degree}"
        label += f", fold {fold.number + 1} of {fold.of}" if fold.of > 1 else ""
        share = CHOOSING / (len(candidates) * len(candidate.sizes) * fold.of)
        done = (number * len(candidate.sizes) + place) * fold.of + fold.number
        watch.stage(label, done * share, (done + 1) * share)


def losses_of(spec: Spec, rows: Any, values: Array) -> Array:
    """Return what each row adds to the mean loss of decision values."""
    weights = rows.weights / (rows.weights.sum() or 1.0)
    losses: Array = weights * spec.loss.value(rows.y, values).sum(axis=1)
    return losses
