"""Which kernels for these rows: whole fits of the alternatives on some rows, judged on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from ..rows import Rows
from ..spec import Spec
from .progress import current

JUDGED_ROWS = 5_000
"""Rows that kernels are chosen on at the most: four fifths to learn from, one to judge by. Set by
judgement, not measured."""

FEWEST_JUDGED = 20
"""Rows below which nothing is judged and the first alternative is taken. Set by judgement."""

SHARE = 0.3
"""Share of the work of a fit that the choice of kernels is taken to be, for the time left."""


def best_alternative(
    spec: Spec, rows: Any, fit: Callable[[Spec, Rows], Any]
) -> tuple[Spec, dict[str, float]]:
    """Return the alternative of the lowest mean loss on a held-out fifth of at most 5,000 rows.

    Every alternative is fitted to the other rows, its own strength chosen on these alone, or found
    where widths are learnt (:func:`without_choice`). Of fewer than 20 rows the first is taken.

    Parameters
    ----------
    spec : Spec
        What was asked for, with its alternatives.
    rows : MemoryRows
        All training rows.
    fit : callable
        The road of every fit.

    Returns
    -------
    chosen : Spec
        The alternative.
    losses : dict of str to float
        The mean loss of each on the held-out rows, by the name of its kernels.
    """
    labelled = len(rows.classes) > 0
    X, labels = rows.for_splitter()
    count = min(len(labels), JUDGED_ROWS)
    if count < FEWEST_JUDGED:
        return spec.alternatives[0], {}
    split = StratifiedShuffleSplit if labelled else ShuffleSplit
    parts = split(1, train_size=count - count // 5, test_size=count // 5, random_state=0)
    inside, outside = rows.split(*next(iter(parts.split(X, labels))))
    losses: dict[str, float] = {}
    watch = current()
    for number, one in enumerate(spec.alternatives):
        label = one.label
        if watch is not None:
            step = SHARE / len(spec.alternatives)
            watch.within(f"kernels {label!r}", number * step, (number + 1) * step)
        function = fit(without_choice(one), inside).function
        values = function.decision(outside.X) - outside.centre
        weights = outside.weights / outside.weights.sum()
        losses[label] = float(np.sum(weights[:, None] * spec.loss.value(outside.y, values)))
    best = min(losses, key=losses.__getitem__)
    if watch is not None:
        watch.within("", SHARE, 1.0)
    return next(one for one in spec.alternatives if one.label == best), losses


def without_choice(spec: Spec) -> Spec:
    """Return a specification whose strength is found with the widths, if that is what it learns.

    In half the time of one that is chosen, from which it hardly differs. Others stay as they are.
    """
    search = spec.search
    if search is None or search.ratios is None or search.alphas is not None:
        return spec
    if len(spec.degrees) > 1 or len(spec.exponents) > 1:
        return spec
    return replace(spec, search=None, strength=np.nan)
