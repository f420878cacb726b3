"""When a path of models has come to its end, and which of the models is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..backend import error_of_mean

STEP_DECADES = 0.25
"""Decades of strength (log10) between the models by which a path is judged: those between two
strengths of the default grid, which are 25 over six decades."""

WORTHWHILE = 0.005
"""A path ends when its last two steps, half a decade, lowered the mean loss by less than this share
of it, and FADING says so too. Measured on the study in ``benchmarks/paths.py``."""

FADING = 0.05
"""Share of all that was gained so far that the last two steps bring at most where a path ends: at
first the models of p > 1 get better by little, but by more and more. Measured on the study in
``benchmarks/paths.py``."""

SMALL_FEATURES = 150
"""Largest number of features (rows, for kernels by matrices) of models that cost next to nothing.
Measured on the study in ``benchmarks/paths.py``."""

SMALL_PATIENCE = 4
"""Steps for which models were worse than an earlier one before a path of small models ends: refits
without a penalty jump. Measured on the study in ``benchmarks/paths.py``."""

FOUND = 0.05
"""Share by which a model must lower the loss of the first one to have found something. Until then a
path ends only when it is worse than its best model by as much: a product of variables without
effects of their own enters late. Measured on the study in ``benchmarks/paths.py``."""

ERRORS = 2.0
"""Standard errors of a difference of losses that it must exceed too. Measured on the study in
``benchmarks/paths.py``."""

BLIND_PATIENCE = 8
"""Steps for which models were worse than an earlier one before a path that has found nothing ends,
however little worse they are. Set by judgement, not measured."""

GREEDY_PATIENCE = 6
"""Greedy selection, whose models differ by a single term, ends when this number of models in a row
were worse than an earlier one. Set by judgement, not measured."""


@dataclass(frozen=True)
class Candidate:
    """A degree, an exponent and the sizes of the models of its path.

    Attributes
    ----------
    degree : int
        Largest number of base kernels in a product.
    p : float
        Exponent of the group norm.
    sizes : ndarray
        Strengths in descending order; numbers of terms for greedy selection.
    """

    degree: int
    p: float
    sizes: Array


def carried(scores: Array) -> Array:
    """Return scores in which folds that have no more models keep their last one.

    Greedy selection may run out of terms in some folds. Models count as soon as half of the folds
    know them.

    Parameters
    ----------
    scores : ndarray of shape (candidates, models, folds)
        Scores, NaN where a fold did not come to a model.

    Returns
    -------
    ndarray of shape (candidates, models, folds)
        Scores, minus infinity for models that fewer than half of the folds know.
    """
    known = np.isfinite(scores)
    last = np.maximum.accumulate(np.where(known, np.arange(scores.shape[1])[:, None], 0), axis=1)
    filled = np.take_along_axis(scores, last, axis=1)
    enough = 2 * known.sum(axis=2, keepdims=True) >= scores.shape[2]
    return np.where(enough & np.isfinite(filled), filled, -np.inf)


def lowest_degree(
    candidates: list[Candidate], table: Array, best: tuple[int, int]
) -> tuple[int, int]:
    """Return the best model of the lowest degree that is not clearly worse than the best of all.

    Clearly is by more than the standard error of the differences in the folds: terms of a higher
    degree are many, and harder to understand. With a single fold the best is taken.
    """
    folds = table.shape[2]
    order = sorted(range(len(candidates)), key=lambda number: candidates[number].degree)
    for number in order if folds > 1 else []:
        if candidates[number].degree >= candidates[best[0]].degree:
            break
        place = int(table[number].mean(axis=1).argmax())
        if not np.isfinite(table[number, place]).all():  # there was no time for it
            continue
        losses = table[best] - table[number, place]
        if losses.mean() <= error_of_mean(losses):
            return number, place
    return best


def ended(
    losses: Array, sizes: Array, greedy: bool = False, small: bool = False, guess: bool = False
) -> bool:
    """Tell whether a path ends with its last model, given the losses of all so far.

    Parameters
    ----------
    losses : ndarray of shape (models, parts)
        What each row left out adds to the mean loss over folds; a row of numbers for each model.
    sizes : ndarray
        Strengths, descending, of the whole path or of its models so far. A path ends at about the
        same strength however finely it is sampled.
    greedy : bool
        Whether sizes are numbers of terms.
    small : bool
        Whether the last model costs next to nothing.
    guess : bool
        Whether a guess will do. Then there is no more patience with small models and with paths
        that have found nothing than with others.
    """
    if not greedy:
        places = first_of_steps(sizes[: len(losses)])
        if places[-1] != len(losses) - 1:
            return False
        losses = losses[places]
    mean = losses.sum(axis=1)
    # Refits without a penalty stay the same until a term enters: such models count once.
    fresh = np.concatenate([[True], ~np.isclose(mean[1:], mean[:-1], rtol=1e-9, atol=0.0)])
    losses, mean = losses[fresh], mean[fresh]
    best = int(mean.argmin())
    worse = len(mean) - 1 - best
    if greedy:
        return worse >= GREEDY_PATIENCE
    if guess or not small:
        before = mean[:-2].min(initial=np.inf)
        share = min(WORTHWHILE * before, FADING * (mean[0] - mean[best]))
        idle = bool(before - mean[best] <= share)
    else:
        idle = worse >= SMALL_PATIENCE
    if guess or not idle:
        return idle
    found = exceeds(losses[0], losses[best]) or exceeds(losses[-1], losses[best])
    return found or worse >= BLIND_PATIENCE


def exceeds(losses: Array, others: Array) -> bool:
    """Tell whether a loss exceeds another clearly, given what each row adds to them.

    That is by the share FOUND, and by ERRORS standard errors of the difference, which is a sum over
    rows. With a single part that error is not known and the share decides.
    """
    parts = losses - others
    error = len(parts) * error_of_mean(parts)
    return bool(parts.sum() > max(FOUND * others.sum(), ERRORS * error))


def first_of_steps(strengths: Array) -> list[int]:
    """Return the places of the models by which a path is judged, the first of each step.

    Steps are counted from the first strength, so that those of two grids do not drift apart.
    Strengths further apart than a step are all judged: one bad model ends no path.
    """
    logarithms = np.log10(strengths)
    # Distances on a geometric grid are whole numbers of steps but for rounding.
    steps = np.floor((logarithms[0] - logarithms) / STEP_DECADES + 1e-6)
    return np.flatnonzero(np.diff(steps, prepend=-1.0) > 0).tolist()
