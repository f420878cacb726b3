"""When a path of models has come to its end, and which of the models is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..limits import PATH_FEATURES
from ..solvers import Result

STEP_DECADES = 0.25
"""Decades of strength (log10) between the models by which a path is judged: those between two
strengths of the default grid, which are 25 over six decades."""

PATH_PATIENCE = 3
"""A path ends when its models were worse than an earlier one for this number of steps. Set by
judgement, not measured."""

BLIND_PATIENCE = 12
"""Steps of patience while no model has lowered the loss by five percent: a product of variables
without effects of their own enters late. Set by judgement, not measured."""

HOPELESS = 1.0
"""Patience is not prolonged for a last model whose loss exceeds the lowest by more than this share
of it. Set by judgement, not measured."""

GREEDY_PATIENCE = 6
"""Greedy selection, whose models differ by a single term, ends when this number of models in a row
were worse than an earlier one. Set by judgement, not measured."""

WORTHWHILE = 0.01
"""A path of strengths also ends when its last two steps lowered the loss by less than this share,
once a model has lowered it by five times as much. Set by judgement, not measured."""


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


def ended(
    scores: list[float], result: Result, greedy: bool, strengths: Array | None = None
) -> bool:
    """Tell whether a path ends with its last model, ``result``, given the scores of all so far.

    Strengths, descending, are those of the whole path or of its models so far; without them all
    models are judged. With them a path ends at about the same strength however finely it is
    sampled.
    """
    solution = result.solution
    if not greedy and solution.in_features and len(solution.coefficients) > PATH_FEATURES:
        return True
    judged = np.array(scores)
    if strengths is not None and not greedy:
        places = first_of_steps(strengths[: len(scores)])
        if places[-1] != len(scores) - 1:
            return False
        judged = judged[places]
    # Refits without a penalty stay the same until a term enters: such models count once.
    same = np.isclose(judged[1:], judged[:-1], rtol=1e-9, atol=0.0)
    judged = judged[np.concatenate([[True], ~same])]
    best = judged.max()
    worse = int(judged[::-1].argmax())
    if greedy:
        return worse >= GREEDY_PATIENCE
    gained = best > judged[0] * (1 - 5 * WORTHWHILE)
    blind = not gained and judged[-1] > best * (1 + HOPELESS)
    if worse >= (BLIND_PATIENCE if blind else PATH_PATIENCE):
        return True
    if not gained or len(judged) < 3:
        return False
    return bool(-best > (1 - WORTHWHILE) * -judged[:-2].max())


def first_of_steps(strengths: Array) -> list[int]:
    """Return the places of the models by which a path is judged, the first of each step.

    Steps are counted from the first strength, so that those of two grids do not drift apart.
    Strengths further apart than a step are all judged: one bad model ends no path.
    """
    logarithms = np.log10(strengths)
    # Distances on a geometric grid are whole numbers of steps but for rounding.
    steps = np.floor((logarithms[0] - logarithms) / STEP_DECADES + 1e-6)
    return np.flatnonzero(np.diff(steps, prepend=-1.0) > 0).tolist()
