"""Strength, exponent, degree or number of terms, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from .. import deadline
from ..arrays import Array
from ..backend import error_of_mean, generator
from ..deadline import OutOfTimeError, keeping
from ..function import Predictor
from ..losses import Logistic, class_losses
from ..notices import InterruptedWarning, notify, setting
from ..rows import Fits, Prepared, Rows
from ..spec import Search, Spec
from .both import with_terms
from .choose import Candidate, carried, lowest_degree
from .default_folds import default_folds
from .folds import Fold, FoldModel
from .paths import Paths, finished, in_processes, in_step
from .splits import folds_of, one_split

EXPLAINED = 0.01
"""Share of the risk that the model of the largest strength explains, so that paths begin with
next to nothing. Set by judgement."""

CHOOSING_TIME = 0.7
"""Share of ``max_time`` after which a choice rests on the models that there are; the rest is for
the fit to all rows. Set by judgement, not measured."""

SPAN = 1e-6
"""Smallest strength of a grid made from the data, relative to the largest. Set by judgement."""

UNEXPLAINED = 1e-20
"""Kernels that explain less than this share of the risk at unit strength explain rounding only."""


@dataclass(frozen=True)
class Choice:
    """What cross-validation found.

    Attributes
    ----------
    candidates : list of Candidate
        Pairs of degree and exponent, and the sizes of the models of their paths.
    scores : ndarray of shape (n_candidates, n_sizes, n_folds)
        Mean losses on the rows left out, negative; NaN behind the end of a path.
    best : pair of int
        The number of the candidate that was chosen, and of the size among its sizes.
    score : float
        Its mean score; folds that ran out of terms count with their last score.
    counts_terms : bool
        Whether sizes are numbers of terms (greedy selection) rather than strengths.
    degree, p, size : int, float, float or int
        What was chosen: degree, exponent, and strength or number of terms.
    folds : tuple of FoldModel
        The models of the chosen setting; not stored in model files.
    softmax : bool
        Whether the softmax of decision values is the better probability of more than two classes.
    """

    candidates: list[Candidate]
    scores: Array
    best: tuple[int, int]
    score: float
    counts_terms: bool
    degree: int
    p: float
    size: Any
    folds: tuple[FoldModel, ...] = ()
    softmax: bool = False

    def predictions(self, count: int) -> Array:
        """Return out-of-fold predictions of ``count`` rows, of shape (count, c).

        The mean over the folds that left a row out, NaN for rows that none did.
        """
        known = [(fold.test, fold.predictions) for fold in self.folds]
        if not known or known[0][1] is None:
            raise ValueError(
                "out-of-fold predictions are kept for rows in memory, and not in model files. For "
                "rows in parts use the function of each of choice_.folds."
            )
        total, times = np.zeros((count, known[0][1].shape[1])), np.zeros((count, 1))
        for test, values in known:
            assert values is not None
            total[test] += values
            times[test] += 1.0
        return np.divide(total, times, out=np.full_like(total, np.nan), where=times > 0)


def crossval(spec: Spec, rows: Rows) -> tuple[Choice, Prepared, bool]:
    """Choose a model by its scores on rows left out.

    In every fold columns are standardised, base kernels fitted and kernels weighed anew.

    Returns
    -------
    choice : Choice
        What was chosen.
    prepared : Prepared
        All rows, ready for the fit of the chosen degree.
    interrupted : bool
        Whether Ctrl-C cut the choice short.
    """
    search = spec.search
    assert search is not None
    if search.debias and spec.greedy is None and any(p > 1 for p in spec.exponents):
        p = spec.exponents[0] if len(spec.exponents) == 1 else list(spec.exponents)
        raise ValueError(
            f"debias=True needs p = 1 or solver='greedy'; got p={p}. With p > 1 every kernel has a "
            "weight: there is no selection to refit. Use p=1."
        )
    splits = splits_of(search, rows)
    rng = generator(spec.random_state)
    candidates: list[Candidate] = []
    ready: dict[int, Prepared] = {}
    whole = spec if spec.first is None else with_terms(spec, rows)
    for degree in spec.degrees:
        shared = next(iter(ready.values()), None)
        if shared is None or shared.kernels.by_degree:
            shared = rows.prepare(whole, degree)
        ready[degree] = shared
        for p in spec.exponents:
            fits = ready[degree].fits(spec, degree, p)
            if search.debias and not fits.family.explicit:
                raise ValueError(
                    "debias=True needs kernels with features; got kernels given by matrices. Use "
                    'kernels="linear" or "auto", or debias=False.'
                )
            candidates.append(Candidate(degree, p, sizes_of(spec, fits, rng)))
    seeds = rng.integers(2**31, size=len(splits)).tolist()
    folds = [
        Fold(train, test, number, len(splits), seed, _sampled(search, rows, train, test))
        for number, ((train, test), seed) in enumerate(zip(splits, seeds, strict=True))
    ]
    # Folds may come from a generator, which cannot be copied and is not needed any more.
    # The folds and all rows are in memory together and share what the fit may hold.
    share = spec.max_memory // (len(splits) + 1)
    lasting = replace(spec, search=replace(search, cv=None), max_memory=share)
    lasting = replace(lasting, subsample=None, compared=True)
    jobs = effective_n_jobs(search.n_jobs) if rows.in_memory and len(folds) > 1 else 1
    with keeping(deadline.current().part(CHOOSING_TIME)) as clock:
        if jobs == 1:
            paths, interrupted = in_step(lasting, rows, folds, candidates)
        else:
            paths, interrupted = in_processes(lasting, rows, folds, candidates, jobs)
    by_user = interrupted and not clock.passed
    if interrupted:  # what is finished is kept
        paths = finished(paths)
        if not paths[0]:
            raise OutOfTimeError(clock.max_time) if clock.passed else KeyboardInterrupt
        models = sum(len(own[0].models) for own in paths)
        why, kind = "Interrupted", InterruptedWarning  # type: tuple[str, type[Warning]]
        if clock.passed:
            why, kind = f"Stopped by {setting('max_time', clock.max_time)}", ConvergenceWarning
        notify(
            f"{why}: the choice rests on {len(paths[0])} of {len(folds)} folds and "
            f"{models} models in each.",
            kind,
        )
    choice = _choose(search, candidates, paths, spec.greedy is not None)
    choice = replace(choice, softmax=_softmax(spec, rows, choice))
    return choice, ready[choice.degree], by_user


def _softmax(spec: Spec, rows: Any, choice: Choice) -> bool:
    """Tell whether the softmax of decision values is the better probability of rows left out."""
    known = all(fold.predictions is not None for fold in choice.folds)
    if len(rows.classes) <= 2 or not isinstance(spec.loss, Logistic) or not known:
        return False
    ways = (False, True)
    plain, softmax = (fold_losses(spec, replace(choice, softmax=way), rows) for way in ways)
    return bool(softmax.sum() < plain.sum())


def fold_losses(
    spec: Spec, choice: Choice, rows: Any, shared: Collection[int] | None = None
) -> Array:
    """Return what each row left out adds to the mean loss over folds, in their order.

    That of more than two classes with logistic probabilities is their log loss. ``shared`` are the
    numbers of the folds that count, by default all.
    """
    parts = []
    folds = [fold for fold in choice.folds if shared is None or fold.number in shared]
    for fold in folds:
        weights = rows.weights[fold.test]
        share = weights / weights.sum() / len(folds)
        assert fold.predictions is not None
        y, values = rows.y[fold.test], fold.predictions - rows.centre
        if len(rows.classes) > 2 and isinstance(spec.loss, Logistic):
            parts.append(share * class_losses(y, values, choice.softmax))
        else:
            parts.append(share * spec.loss.value(y, values).sum(axis=1))
    return np.concatenate(parts)


def splits_of(search: Search, rows: Rows) -> list[tuple[Array, Array]]:
    """Return the rows to train on and to test on of all folds, or refuse what are none."""
    splits = [_sound(split, rows.count) for split in _splits(search, rows)]
    if not splits:
        raise ValueError("cv must give folds; got none. Use cv=5.")
    return splits


def _splits(search: Search, rows: Rows) -> Iterator[tuple[Array, Array]]:
    if search.cv is None and rows.in_memory and rows.groups is None and not rows.ordered:
        return iter(default_folds(search, rows))
    if search.cv is None and rows.count >= search.split_rows:
        return iter([one_split(rows, search.most_rows)])
    return folds_of(rows, search.cv)


def _sound(split: Any, count: int) -> tuple[Array, Array]:
    """Return the rows of a fold to train on and to test on, or refuse what is no fold."""
    try:
        train, test = (np.asarray(side) for side in split)
        whole = all(
            side.ndim == 1 and (side.dtype.kind in "iub" or not side.size) for side in (train, test)
        )
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(
            "cv must be a number of folds, a splitter of scikit-learn, or pairs of arrays with the "
            f"numbers of rows to train and to test on; got {str(split)[:60]} as a pair. Use cv=5."
        )
    sides = [
        np.flatnonzero(side) if side.dtype.kind == "b" else side.astype(int)
        for side in (train, test)
    ]
    for side in sides:
        if side.size and not (-count <= side.min() and side.max() < count):
            raise ValueError(
                f"cv must have numbers of rows from 0 to {count - 1}; got {side.min()} to "
                f"{side.max()}. Make the folds from these rows."
            )
    return sides[0], sides[1]


def _sampled(search: Search, rows: Rows, train: Array, test: Array) -> float:
    """Return the share of all rows that a fold is about, where it is about some rows drawn.

    Next to a mean over fewer rows a strength must be larger by the same factor to mean the same.
    """
    return (len(train) + len(test)) / rows.count if search.ratios is not None else 1.0


def sizes_of(spec: Spec, fits: Fits, rng: np.random.Generator) -> Array:
    """Return the sizes of the models of a path: strengths, descending, or numbers of terms."""
    search, greedy = spec.search, spec.greedy
    assert search is not None
    if greedy is not None:
        return np.arange(greedy.terms + 1)
    if search.alphas is not None:
        return np.sort(np.asarray(search.alphas, dtype=float))[::-1]
    if search.ratios is not None:
        return np.array(search.ratios) / fits.family.rows
    risk, norm = fits.start(rng)
    largest = norm / (EXPLAINED * risk) if norm > UNEXPLAINED * risk else 1.0
    if search.n_alphas == 1:
        return np.array([largest])
    return np.geomspace(largest, largest * SPAN, search.n_alphas)


def _choose(
    search: Search, candidates: list[Candidate], paths: Paths, counts_terms: bool
) -> Choice:
    """Take the best mean score, or the simplest model within its standard error."""
    longest, count = max(len(candidate.sizes) for candidate in candidates), len(paths[0])
    known = np.full((len(candidates), longest, count), np.nan)
    for number, own in enumerate(paths):
        for fold, path in enumerate(own):
            known[number, : len(path.models), fold] = [model.score for model in path.models]
    table = carried(known)
    mean = table.mean(axis=2)
    top = np.unravel_index(int(mean.argmax()), mean.shape)
    number, place = lowest_degree(candidates, table, (int(top[0]), int(top[1])))
    if search.one_standard_error and count > 1:
        error = error_of_mean(table[number, place])
        # Models come in the order from simple to rich.
        place = int(np.argmax(mean[number] >= mean[number, place] - error))
    folds = []
    for path in paths[number]:
        # A fold that has no more models counts, and stands, with its last one.
        model = path.models[min(place, len(path.models) - 1)].model
        learnt = model.function.predictor
        assert isinstance(learnt, Predictor)
        # It holds no training rows, if it can do without.
        kernels = model.function.kernels.only(model.function.used)
        function = replace(model.function, kernels=kernels, predictor=learnt.without_rows())
        folds.append(replace(model, function=function))
    score, chosen = float(mean[number, place]), candidates[number]
    size = chosen.sizes[place].item()
    setting = chosen.degree, chosen.p, size
    return Choice(candidates, known, (number, place), score, counts_terms, *setting, tuple(folds))
