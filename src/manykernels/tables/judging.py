"""How sure are the terms of a model of a table."""

from __future__ import annotations

import warnings
from dataclasses import replace

from ..selection import SplitTest
from .fitting import Settings, Split, new_estimator
from .model import TableModel


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
    kernels = getattr(fitted, "kernels_", settings.kernels)
    same = replace(settings, kernels=kernels, degree=[fitted.degree_])
    test = SplitTest(
        new_estimator(split, same, verbose), max_time=seconds, random_state=settings.seed
    )
    notes, found = [], None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = test.fit(split.encoder.encode(split.train), split.y_train).how_sure_
        except KeyboardInterrupt:
            notes.append("the test of the terms was interrupted before its first split was done.")
    # An early end is a number of splits in what is said of terms; others are of single fits.
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]
    summary = {**model.summary, "notes": [*model.summary["notes"], *notes]}
    return replace(model, summary=summary, how_sure=found)
