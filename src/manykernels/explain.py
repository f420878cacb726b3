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

    count = len(predictor.indices) if top is None else min(top, len(predictor.indices))
    coefficients = predictor.coefficients
    signs = np.zeros(count, dtype=int)
    if coefficients is not None and coefficients.shape == (len(predictor.indices), 1):
        signs = np.sign(coefficients[:count, 0]).astype(int)
    chosen = predictor.indices[:count]
    return pd.DataFrame(
        {
            "term": [predictor.family.name(index) for index in chosen],
            "degree": [len(index) for index in chosen],
            "theta": predictor.theta[:count],
            "share": predictor.shares[:count],
            "sign": signs,
        }
    )
