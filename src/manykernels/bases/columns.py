"""Operations on the columns and rows of matrices, sparse or not, on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..backend import beside, namespace


def dense(matrix: Any) -> Any:
    """Return a matrix as an ordinary array."""
    return np.asarray(matrix.toarray()) if sparse.issparse(matrix) else matrix


def scale_rows(matrix: Any, factors: Array) -> Any:
    """Multiply the rows of a matrix, sparse or not, by factors."""
    if sparse.issparse(matrix):
        return sparse.diags_array(factors) @ matrix
    return matrix * factors[:, None]


def scale_columns(matrix: Any, factors: Array) -> Any:
    """Multiply the columns of a matrix, sparse or not, by factors."""
    if sparse.issparse(matrix):
        return matrix @ sparse.diags_array(factors)
    return matrix * beside(factors, matrix)


def khatri_rao(left: Array, right: Array) -> Array:
    """Return all products of a column of ``left`` with a column of ``right``."""
    columns = left.shape[1] * right.shape[1]
    products = left[:, :, None] * right[:, None, :]
    return namespace(left).reshape(products, (left.shape[0], columns))
