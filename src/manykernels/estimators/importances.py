"""How much each variable matters: the spreads of terms, shared among their variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .validation import pairwise


def importances(estimator: Any) -> Array:
    """Return the importance of each column of X; AttributeError where it is not known.

    The spread of each term (:mod:`manykernels.function.importance`) in equal parts for the term's
    columns. They add up to one, unless no term varies. Encoded columns count for those that they
    encode.
    """
    terms, encoder = estimator.function_.terms, getattr(estimator, "encoder_", None)
    table = terms.table(None)
    if table["spread"].isna().any() or pairwise(estimator):
        raise AttributeError(
            "feature_importances_ is known for models that were fitted to columns in memory, by "
            "this version or a later one. Fit the model anew, to some of the rows."
        )
    sources = None if encoder is None else encoder.sources
    total = np.zeros(estimator.n_features_in_)
    for name, spread in zip(table["term"], table["spread"], strict=True):
        columns = terms.columns(name)
        own = columns if sources is None else sorted({sources[column] for column in columns})
        if own:
            total[own] += spread / len(own)
    whole = total.sum()
    return total / whole if whole > 0 else total
