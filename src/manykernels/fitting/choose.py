"""When a path of models has come to its end, and which of the models is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..solvers import Result

PATIENCE = 3
"""A path ends when so many of its models in a row were worse than an earlier one."""

BLIND = 12
"""As many where no model has lowered the loss by five percent yet: a product of variables without
effects of their own is found late."""

HOPELESS = 1.0
"""But not where the last model has raised the loss by so much."""

GREEDY_PATIENCE = 6
"""As many where models differ by a single term."""

WORTHWHILE = 0.01
"""A path of strengths also ends when its last two models together lowered the loss by less than
this share of it, once one model has lowered it by five times as much."""

FEATURES = 8_000
"""A path ends with a model of so many features: the next ones take minutes and seldom pay."""


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
    """Return scores in which folds whose path has ended keep their last one.

    A path ends where its models get worse or hardly better. Others go on, and so that the first
    to end does not end the comparison, models count as soon as half of the folds know them.

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
        losses = table[best] - table[number, place]
        if losses.mean() <= losses.std(ddof=1) / np.sqrt(folds):
            return number, place
    return best


def ended(scores: list[float], result: Result, greedy: bool) -> bool:
    """Tell whether a path has come to its end; the last score is that of the result.

    Models that are the same as the one before, as refits without a penalty are until a term
    enters, count once.
    """
    before = [np.nan, *scores[:-1]]
    scores = [
        score
        for score, last in zip(scores, before, strict=True)
        if not np.isclose(score, last, rtol=1e-9, atol=0.0)
    ]
    best = max(scores)
    worse = len(scores) - 1 - max(i for i, score in enumerate(scores) if score == best)
    gained = best > scores[0] * (1 - 5 * WORTHWHILE)
    patience = GREEDY_PATIENCE if greedy else PATIENCE
    if not greedy and not gained and scores[-1] > best * (1 + HOPELESS):
        patience = BLIND
    if greedy or worse >= patience:
        return worse >= patience
    features = len(result.solution.coefficients) if result.solution.in_features else 0
    if features > FEATURES:
        return True
    if not gained or len(scores) < 3:
        return False
    return -best > (1 - WORTHWHILE) * -max(scores[:-2])
