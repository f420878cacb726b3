"""Which terms can be drawn, and their functions at given values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..estimators.base import FamilyMachine
from ..estimators.validation import column_names
from ..feature_maps import Categorical
from ..function.terms import OTHERS
from ..kernels import MapKernels, WidthKernels
from ..limits import EFFECT_POINTS, EFFECT_VALUES


def drawable_columns(estimator: FamilyMachine, term: str) -> list[int]:
    """Return the columns of a term, or say why its function cannot be drawn."""
    terms = estimator.function_.terms
    columns = terms.columns(term)
    factors = terms.factors(term)
    if not factors:
        kind = "all that is in no other term" if term == OTHERS else "a constant"
        raise ValueError(f"term must have variables; got {term!r}, {kind}. Choose another.")
    if any(len(terms.inputs[j]) == 0 for j in factors):
        raise ValueError(
            f"term must be a function of columns of X; got {term!r}, with a kernel given by its "
            "matrix, which says nothing of values between the rows. Use contributions() for rows."
        )
    if len(columns) > 3:
        names = column_names(estimator)
        seen = ", ".join(names[c] for c in columns[:6]) + (", .." if len(columns) > 6 else "")
        raise ValueError(
            f"term must have three variables at most to be drawn; got {term!r}, a function of "
            f"{len(columns)} columns ({seen}). Use contributions(X, [term]) for its values on rows."
        )
    return columns


def is_category(estimator: FamilyMachine, column: int) -> bool:
    """Tell whether a model takes a column for a category: other values then say nothing of one."""
    kernels: Any = estimator.function_.kernels
    if isinstance(kernels, WidthKernels):
        pairs = zip(kernels.columns, kernels.categorical, strict=True)
        return any(category and list(own) == [column] for own, category in pairs)
    fitted = kernels.fitted if isinstance(kernels, MapKernels) else ()
    return any(isinstance(one, Categorical) and list(own) == [column] for _, one, own in fitted)


def evaluate(
    estimator: FamilyMachine, term: str, label: Any, values: Array, others: Array
) -> Array:
    """Return the function of a term at values of its columns, those of other columns fixed.

    Some rows at a time: these have all columns, and some kernels a matrix with training rows.
    """
    columns = estimator.function_.terms.columns(term)
    step = max(1, min(EFFECT_POINTS, EFFECT_VALUES // len(others)))
    parts = []
    for start in range(0, len(values), step):
        part = values[start : start + step]
        rows: Any = np.tile(others, (len(part), 1))
        rows[:, columns] = part
        parts.append(estimator.function_.contributions(rows, [term], label)[term].to_numpy())
    return np.concatenate(parts)


def dense(rows: Any) -> Array:
    """Return rows that may be sparse as an array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
