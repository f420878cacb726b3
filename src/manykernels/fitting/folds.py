"""The models of a fold along a path, and how they do on the rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..deadline import current as current_deadline
from ..deadline import keeping
from ..families import WidthFamily
from ..function import Function, without_shares
from ..limits import PATH_COLUMNS, PATH_FEATURES
from ..losses import Squared
from ..rows import Prepared, Rows
from ..solvers import Result
from ..spec import Spec
from .both import with_terms
from .choose import SMALL_FEATURES, Candidate
from .kept import KeptPath
from .progress import (
    FIRST_OF_STEPS,
    FIRST_WIDTHS,
    Progress,
    choosing,
    current,
    model_shares,
)

FOLD_TOL = 3.0
"""Tolerance of the models of folds, which are only compared, relative to that of the last fit. Set
by judgement, not measured."""

MODEL_SHARE = 0.5
"""Share of the time left for the choice that the models of one strength may take in all folds: they
are many, and one that does not converge must not take it all. Set by judgement, not measured."""


@dataclass(frozen=True)
class Fold:
    """A fold: which rows are in it, which it is of how many, and its source of randomness.

    ``share`` is that of all rows that it is about: one, or less where rows were drawn for the
    choice.
    """

    train: Array
    test: Array
    number: int
    of: int
    seed: int
    share: float = 1.0


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
    result : Result or None
        What the solver returned, where the fit to all rows starts from it: widths that were learnt
        on the only fold.
    number : int
        Which of the folds it is, from 0: where the time was over early, some have no model.
    """

    test: Array
    predictions: Array | None
    function: Function
    result: Result | None = None
    number: int = 0


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
        Whether Ctrl-C cut it short, or the end of the time for the choice.
    """

    model: FoldModel
    score: float
    losses: Array
    small: bool
    large: bool
    interrupted: bool


@dataclass
class FoldRows:
    """The rows of a fold: to train on, left out, and prepared for the degree in use."""

    spec: Spec
    classes: Array
    fold: Fold
    inside: Rows
    outside: Any
    ready: tuple[int, Prepared] | None = None

    def models(self, candidates: Sequence[Candidate], number: int) -> Iterator[Scored]:
        """Yield the models of a candidate, from simple to rich, each started from the one before.

        They depend on nothing but the fold and the candidate, not on what else was fitted.
        """
        spec, fold, candidate = self.spec, self.fold, candidates[number]
        assert spec.search is not None
        if self.ready is None or (
            self.ready[0] != candidate.degree and self.ready[1].kernels.by_degree
        ):
            ready = spec if spec.first is None else with_terms(spec, self.inside)
            self.ready = candidate.degree, self.inside.prepare(ready, candidate.degree)
        prepared = self.ready[1]
        fits = prepared.fits(spec, candidate.degree, candidate.p)
        judge, family, count = fits.judge(self.outside), fits.family, len(candidate.sizes)
        stop = replace(spec.stop, tol=FOLD_TOL * spec.stop.tol)
        limits = spec.family.size(family), stop.tol, stop.max_iter, stop.max_time
        rng = np.random.default_rng([fold.seed, number])
        kept = None if spec.slot is None else KeptPath(spec.slot, candidate, fits)
        grown = None
        if spec.greedy is not None:
            rounds = None if kept is None else kept.slot
            grown = fits.grow(spec.greedy, stop, rng, rounds)
        widths = isinstance(family, WidthFamily)
        watch, share = current(), choosing(fold.of, widths) / len(candidates)
        search = FIRST_WIDTHS if isinstance(spec.loss, Squared) else FIRST_OF_STEPS
        before = model_shares(count, search if widths else None)
        label = f"degree {candidate.degree}"
        label += f", fold {fold.number + 1} of {fold.of}" if fold.of > 1 else ""
        last: Result | None = None
        known = [] if kept is None or grown is not None else kept.read(rng)
        for place, size in enumerate(candidate.sizes.tolist()):
            if watch is not None:
                parts = np.linspace(before[place], before[place + 1], fold.of + 1) + number
                watch.stage(label, *(parts[fold.number : fold.number + 2] * share))
            judged, rounds = None, None
            if place < len(known):
                result, judged, flags = known[place]
                last = result if kept is None else kept.last
            elif grown is None:
                progress = Progress(watch, *limits, (place, count))
                if kept is not None:
                    rounds = kept.rounds(place)
                with keeping(current_deadline().sooner(MODEL_SHARE / fold.of)):
                    last = fits.solve(
                        spec.solver, size / fold.share, stop, rng, last, progress, rounds
                    )
                result = fits.refit(last) if spec.search.debias else last
            elif (more := next(grown, None)) is not None:
                result = more
            else:
                return
            if judged is None:
                judged = judge(result)
                features = len(result.solution.coefficients)
                columns = getattr(result.memory, "width", 0)
                flags = (
                    features <= SMALL_FEATURES,
                    columns > PATH_COLUMNS
                    or (result.solution.in_features and not columns and features > PATH_FEATURES),
                )
                if kept is not None and last is not None and not last.interrupted:
                    kept.add(result, judged, flags, last, rng)
            losses, values = judged
            learnt = without_shares(family, result, fits.centre)
            function = Function(prepared.kernels, prepared.scaler, learnt, self.classes)
            first = result if widths and fold.of == 1 else None
            model = FoldModel(fold.test, values, function, first, fold.number)
            cut = result.interrupted or current_deadline().passed
            yield Scored(model, -float(losses.sum()), losses, *flags, cut)
