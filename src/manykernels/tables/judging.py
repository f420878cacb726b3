"""How sure are the terms of a model of a table."""

from __future__ import annotations

import warnings
from dataclasses import replace

from ..frames import repeated_subjects
from ..selection import SplitTest
from ..selection.base import SUPPOSING
from ..specify import PAIR_DEGREE
from .fitting import Settings, Split, new_estimator, pass_on
from .model import TableModel

TESTED_KERNELS = {"ridge": "linear", "monomials": "linear", "greedy": "linear", "both": "auto"}
"""Kernels whose terms are tested, by the kind of model, where that is no name of kernels."""


CHOSEN_BEFORE = (
    "The kind of functions and how many columns a term may have were chosen with the same rows, "
    "which the p-values do not count."
)
"""What is said besides where these were chosen from the data."""


def judge_terms(
    model: TableModel,
    split: Split,
    settings: Settings,
    seconds: float | None = None,
    verbose: int = 0,
) -> TableModel:
    """Return a model with the result of a test of its terms on the rows it was trained on.

    The terms are those of its kernels, up to the degree that it has.

    Parameters
    ----------
    model : TableModel
        As :func:`fit_table` returns it.
    split : Split
        The table that it was fitted to.
    settings : Settings
        What was asked for.
    seconds : float, optional
        Time after which no further split of the rows is begun.
    verbose : int, default=0
        1 shows how many splits are done and how much time is left.

    Returns
    -------
    TableModel
        The same model with ``how_sure``. Ctrl-C keeps the splits that are done; before the first
        is, the model stays as it was, with a note.
    """
    fitted = model.estimator
    kernels = TESTED_KERNELS.get(kind := getattr(fitted, "kernels_", settings.kernels), kind)
    degree = PAIR_DEGREE if kind == "both" else fitted.degree_
    same = replace(settings, kernels=kernels, degree=[degree], max_time=None)
    test = SplitTest(
        new_estimator(split, same, verbose),
        max_time=seconds,
        random_state=settings.seed,
        checkpoint=settings.checkpoint,
    )
    notes, found = [], None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = test.fit(split.encoder.encode(split.train), split.y_train).how_sure_
        except KeyboardInterrupt:
            notes.append("the test of the terms was interrupted before its first split was done.")
    if found is not None:  # where widths are learnt, copies of a row are one for the test
        found = replace(found, rows=len(split.train))
    dependent = split.groups is not None or split.ordered or repeated_subjects(split.train)
    if found is not None and dependent and SUPPOSING not in found.meaning:
        found = replace(found, meaning=f"{SUPPOSING} {found.meaning}")
    if found is not None and (hasattr(fitted, "chosen_") or isinstance(settings.degree, list)):
        found = replace(found, meaning=f"{found.meaning} {CHOSEN_BEFORE}")
    pass_on(caught)
    # An early end, and that nothing was tested, are in what is said of terms; others are of
    # single fits.
    if found is None or not found.untested:
        notes += [str(warning.message) for warning in caught if warning.category is UserWarning]
    summary = {**model.summary, "notes": [*model.summary["notes"], *notes]}
    return replace(model, summary=summary, how_sure=found)
