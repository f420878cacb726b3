"""Kernels by their values: functions, matrices, and what is asked of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor
from sklearn.metrics.pairwise import rbf_kernel

from ..arrays import Array
from ..backend import HOST, namespace, on_host
from ..inputs import shown
from ..memory import refuse_bytes

KernelFunction = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Precomputed:
    """A base kernel given by its matrix over all rows that will ever be used.

    X then holds row numbers: ``X = np.arange(n).reshape(-1, 1)``. Cross-validation splits the
    numbers, and the kernel looks up the matching parts of the matrix.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric positive semi-definite kernel matrix.
    name : str, default="precomputed"
        Name of the kernel in terms.
    """

    gram: Any
    name: str = "precomputed"

    def __call__(self, rows: Array, others: Array) -> Array:
        """Return the part of the matrix for two lists of row numbers, of shape (n, 1) each."""
        gram = as_values(self.gram, f"the matrix of the precomputed kernel {self.name!r} must hold")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise ValueError(
                f"the matrix of the precomputed kernel {self.name!r} must be square; got shape "
                f"{gram.shape}. It holds the kernel between all pairs of rows."
            )
        return gram[np.ix_(self._numbers(rows, len(gram)), self._numbers(others, len(gram)))]

    def _numbers(self, rows: Array, size: int) -> Array:
        numbers = np.asarray(rows)[:, 0]
        whole = numbers.astype(np.int64)
        if np.any(whole != numbers) or np.any(whole < 0) or np.any(whole >= size):
            raise ValueError(
                f"X must hold row numbers 0..{size - 1} of the precomputed kernel {self.name!r}; "
                f"got values from {numbers.min()} to {numbers.max()}. "
                "Use X = np.arange(n).reshape(-1, 1)."
            )
        return whole

    def __deepcopy__(self, memo: dict[int, Any]) -> Precomputed:
        # Immutable by contract: clones in a grid search share the matrix.
        return self


def as_values(values: Any, must: str) -> Array:
    """Return kernel values as an array of floats, or say what is wrong with them.

    ``must`` begins the message: what must hold, or return, real numbers.
    """
    got = ""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        got = "masked values"
    elif np.iscomplexobj(values):
        got = "complex numbers"
    else:
        try:
            return np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            got = shown(values)
    raise ValueError(f"{must} real numbers; got {got}. Make it a dense array of floats.")


def rbf(X: Array, Y: Array) -> Array:
    r"""Gaussian kernel :math:`\exp(-\|x-y\|^2 / (2m))` of m (standardised) columns."""
    gamma = 0.5 / X.shape[1]
    if on_host(X):
        return np.asarray(rbf_kernel(X, Y, gamma=gamma))
    xp = namespace(X)
    squares = xp.sum(X**2, axis=1)[:, None] + xp.sum(Y**2, axis=1)[None, :]
    return xp.exp(-gamma * xp.clip(squares - 2 * (X @ Y.T), 0.0, None))


def check_gram(gram: Array, name: str) -> None:
    """Raise ValueError unless a matrix is symmetric and positive semi-definite, up to rounding."""
    size = float(np.abs(gram).max(initial=0.0))
    if size == 0:
        return
    skew = float(np.abs(gram - gram.T).max())
    if skew > 1e-8 * size:
        raise ValueError(
            f"kernel {name!r} must be symmetric; got entries that differ from their mirror images "
            f"by up to {skew:.2g}. Use (K + K.T) / 2 if that is what you mean."
        )
    shifted = (gram / size + gram.T / size) / 2  # squares of its entries are numbers
    # Rounding in n x n inner products moves eigenvalues by about 1e-16 n times the largest.
    shifted[np.diag_indices_from(shifted)] += 1e-8 * float(np.linalg.norm(shifted))
    try:
        cho_factor(shifted, lower=True, check_finite=False)
    except LinAlgError:
        lowest = size * float(np.linalg.eigvalsh((gram / size + gram.T / size) / 2)[0])
        raise ValueError(
            f"kernel {name!r} must be positive semi-definite; got a matrix with an eigenvalue of "
            f"{lowest:.3g}. A similarity becomes a kernel by clipping its negative eigenvalues."
        ) from None


def refuse_large(count: int, rows: int, place: Any = HOST) -> None:
    """Raise before work starts if the Gram matrices would not fit in memory."""
    size = 8 if on_host(place) else 4
    refuse_bytes(
        size * count * rows**2,
        "kernels without features",
        f"{count} kernels on {rows} rows, a matrix each",
        'Use fewer rows or kernels, or kernels="nystroem", which needs none.',
        place,
    )
