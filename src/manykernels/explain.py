"""The chosen terms as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .predictor import Predictor

if TYPE_CHECKING:
    import pandas as pd


def table(predictor: Predictor, top: int | None) -> pd.DataFrame:
    """Return the most important terms of a learnt function, one row each.

    Parameters
    ----------
    predictor : Predictor
        The learnt function.
    top : int or None
        How many terms; None for all.

    Returns
    -------
    pandas.DataFrame
        Columns ``term`` (name), ``degree``, ``theta`` (weight of the kernel), ``share`` (of the
        function's variance over the training rows) and ``sign`` (+1 or -1 of the coefficient of
        a term with a single feature and output, else 0).
    """
    import pandas as pd

    names = predictor.family.names
    several = len(set(names)) < len(names)
    # Where a variable has several kernels all are needed to make one term of them.
    count = len(predictor.indices) if top is None or several else top
    chosen = list(predictor.indices[:count])
    coefficients = predictor.coefficients
    signs = np.zeros(len(chosen), dtype=int)
    if coefficients is not None and coefficients.shape == (len(predictor.indices), 1):
        signs = np.sign(coefficients[:count, 0]).astype(int)
    frame = pd.DataFrame(
        {
            "term": [predictor.family.name(index) for index in chosen],
            "degree": [
                len({names[j] for j in index}) if several else len(index) for index in chosen
            ],
            "theta": predictor.theta[:count],
            "share": predictor.shares[:count],
            "sign": signs,
        }
    )
    if not several:
        return frame
    merged = frame.groupby(["term", "degree"], sort=False, as_index=False)[["theta", "share"]].sum()
    merged = merged.sort_values("share", ascending=False, kind="stable", ignore_index=True)
    return merged.assign(sign=0).head(len(merged) if top is None else top)
