"""Arrays of any library on any device: the array API standard, and the little that it leaves out.

Matrices with a row for each row of the data (features, kernel matrices) live where the data are:
in NumPy on the host, or in another library, on a GPU say. Vectors over rows, and everything whose
size does not grow with the rows, are NumPy arrays. Whatever multiplies a matrix by a vector takes
the vector to the matrix and brings the result back. At the end of the file are counts as floats
and random numbers, which are NumPy's too.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import array_api_compat as compat
import array_api_compat.numpy as host_namespace
import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from .arrays import Array
from .inputs import shown

HOST = np.empty(0)
"""The host as a place: what is put beside it is a NumPy array."""

HOST_ARRAYS = (np.ndarray, sparse.sparray, sparse.spmatrix)
"""Classes of arrays on the host: NumPy's, and SciPy's sparse ones."""

LARGEST_COUNT = 10**300
"""Counts above this are held as this float: just below the largest one, 1.8e308."""


def place_of(X: Any, device: str | None) -> Any:
    """Return an empty array where the work on rows X is to be done.

    Parameters
    ----------
    X : array-like
        Rows: the work is done where they are.
    device : str or None
        A device of torch's to do it on instead, such as ``"cuda"``.
    """
    if device is not None:
        return _torch_place(device)
    if not compat.is_array_api_obj(X) or isinstance(X, HOST_ARRAYS):
        return HOST
    xp = namespace(X)
    return xp.empty((0,), dtype=xp.float64, device=compat.device(X))


def _torch_place(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed. Install it, or use "
            "device=None for the CPU."
        ) from error
    try:
        return torch.empty(0, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must be one that PyTorch can use here; got {device!r}: "
            f"{str(error).splitlines()[0].rstrip('.')}. Use device=None for the CPU."
        ) from error


def on_host(x: Any) -> bool:
    """Tell whether an array is NumPy's or a sparse matrix of SciPy's."""
    return isinstance(x, HOST_ARRAYS)


def is_array(x: Any) -> bool:
    """Tell whether something is an array of some library, wherever it is."""
    return bool(compat.is_array_api_obj(x))


def namespace(x: Any) -> Any:
    """Return the functions of the array API standard for the library of an array."""
    return host_namespace if isinstance(x, HOST_ARRAYS) else compat.array_namespace(x)


def to_host(x: Any) -> Array:
    """Return an array as NumPy's."""
    if isinstance(x, HOST_ARRAYS):
        return np.asarray(x)
    if compat.is_array_api_strict_namespace(namespace(x)):
        return np.array(x)
    if compat.is_torch_array(x):
        x = x.detach()  # gradients do not pass
        x = x.double() if str(x.dtype) == "torch.bfloat16" else x
    return np.asarray(compat.to_device(x, "cpu"))


def beside(values: Any, matrix: Any, dtype: Any = None) -> Any:
    """Return values as an array next to a matrix: same library, same device.

    Of the given type, by default the values' own.
    """
    if isinstance(matrix, HOST_ARRAYS):
        return np.asarray(values) if dtype is None else np.asarray(values, dtype=dtype)
    xp = namespace(matrix)
    if not isinstance(values, HOST_ARRAYS) and not np.isscalar(values):
        return values if dtype is None else xp.astype(values, dtype, copy=False)
    # A copy: some libraries would share the memory of the original.
    out = xp.asarray(np.array(values, order="C"), device=compat.device(matrix))
    return out if dtype is None else xp.astype(out, dtype, copy=False)


def times(matrix: Any, vectors: Array) -> Array:
    """Return a matrix, wherever it is, times vectors on the host, on the host."""
    return to_host(matrix @ beside(vectors, matrix))


def next_to_one(values: Array) -> tuple[Array, int]:
    """Return values divided by a power of two, and its exponent; the largest is below one then.

    Their squares neither overflow nor vanish, and no digit is lost.
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent


def in_single(vectors: Array) -> tuple[Array, int]:
    """Return vectors in single precision, divided by a power of two, and its exponent."""
    small, exponent = next_to_one(vectors)
    return small.astype(np.float32), exponent


def error_of_mean(parts: Array) -> float:
    """Return the standard error of a mean of parts of any size; zero for a single one."""
    small, exponent = next_to_one(parts)
    spread = np.std(small, ddof=1) if len(parts) > 1 else 0.0
    return float(np.ldexp(spread, exponent) / np.sqrt(len(parts)))


def double(matrix: Any) -> Any:
    """Return a matrix in double precision, without a copy if it has that already."""
    xp = namespace(matrix)
    return xp.astype(matrix, xp.float64, copy=False)


def filled(value: float, shape: tuple[int, ...], matrix: Any, bits: int = 64) -> Any:
    """Return an array of one value next to a matrix; memory of zeros is touched when it is used."""
    if isinstance(matrix, HOST_ARRAYS):
        dtype = f"float{bits}"
        return np.full(shape, value, dtype=dtype) if value else np.zeros(shape, dtype=dtype)
    xp = namespace(matrix)
    return xp.full(shape, value, dtype=getattr(xp, f"float{bits}"), device=compat.device(matrix))


def columnwise(matrix: Any) -> Any:
    """Return a matrix with columns in one piece where the library knows of such things."""
    return np.asfortranarray(matrix) if isinstance(matrix, HOST_ARRAYS) else matrix


def take(matrix: Any, numbers: Array, axis: int) -> Any:
    """Return some rows or columns of a matrix; a range of them without a copy."""
    ranged = len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1
    if ranged and np.all(np.diff(numbers) == 1):
        part = slice(int(numbers[0]), int(numbers[-1]) + 1)
        return matrix[part, ...] if axis == 0 else matrix[:, part]
    if isinstance(matrix, HOST_ARRAYS):
        return matrix[numbers] if axis == 0 else matrix[:, numbers]
    return namespace(matrix).take(matrix, beside(numbers, matrix), axis=axis)


def dense(matrix: Any) -> Any:
    """Return a matrix as an ordinary array."""
    return np.asarray(matrix.toarray()) if sparse.issparse(matrix) else matrix


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


def largest_size(matrix: Any) -> float:
    """Return the largest size of an entry of a matrix, or of a stack of matrices."""
    if not min(matrix.shape):
        return 0.0
    if sparse.issparse(matrix):
        return float(abs(matrix).max())
    xp = namespace(matrix)
    return max(float(xp.max(matrix)), -float(xp.min(matrix)))


def segment_sums(matrix: Any, starts: Array, axis: int) -> Any:
    """Return the sums of neighbouring rows (axis 0) or columns (axis 1).

    ``starts`` holds the first of each segment, none of which is empty.
    """
    if isinstance(matrix, HOST_ARRAYS):
        return np.add.reduceat(matrix, starts, axis=axis)
    xp, size = namespace(matrix), matrix.shape[axis]
    widths = np.diff(np.append(starts, size))
    if np.all(widths == widths[0]):
        shape = list(matrix.shape)
        shape[axis : axis + 1] = [len(starts), int(widths[0])]
        return xp.sum(xp.reshape(matrix, tuple(shape)), axis=axis + 1)
    owners = np.repeat(np.arange(len(starts)), widths)
    table = np.zeros((size, len(starts)))
    table[np.arange(size), owners] = 1.0
    selector = beside(table, matrix, matrix.dtype)
    return matrix @ selector if axis == 1 else selector.T @ matrix


def free_bytes(matrix: Any) -> float:
    """Return the free memory of the device that holds a matrix; zero where it is not known."""
    if compat.is_torch_array(matrix) and matrix.device.type == "cuda":
        from torch import cuda

        # What torch keeps for its own use later is free for us.
        kept = cuda.memory_reserved(matrix.device) - cuda.memory_allocated(matrix.device)
        return float(cuda.mem_get_info(matrix.device)[0] + kept)
    if compat.is_cupy_array(matrix):
        return float(matrix.device.mem_info[0])
    return 0.0


def largest(values: Any, count: int) -> Array:
    """Return the positions of the largest numbers of a vector, in no order, on the host."""
    size = int(values.shape[0])
    if count >= size:
        return np.arange(size)
    if isinstance(values, HOST_ARRAYS):
        return np.argpartition(values, size - count)[size - count :]
    if compat.is_torch_array(values):
        return to_host(values.topk(count, sorted=False).indices)
    return to_host(namespace(values).argsort(values)[size - count :])


def add_to_diagonal(matrix: Any, values: Array | float) -> Any:
    """Return a square matrix with numbers added to its diagonal; it may be overwritten."""
    if isinstance(matrix, HOST_ARRAYS):
        matrix[np.diag_indices_from(matrix)] += values
        return matrix
    many = beside(np.broadcast_to(np.asarray(values, dtype=float), (matrix.shape[0],)), matrix)
    if compat.is_torch_array(matrix):
        matrix.diagonal().add_(many)
        return matrix
    xp = namespace(matrix)
    unit = xp.eye(matrix.shape[0], dtype=matrix.dtype, device=compat.device(matrix))
    return matrix + unit * many


def copied(matrix: Any) -> Any:
    """Return a copy of a matrix, where it is."""
    return (
        matrix.copy()
        if isinstance(matrix, HOST_ARRAYS)
        else namespace(matrix).asarray(matrix, copy=True)
    )


class Cholesky:
    """The Cholesky factor of a positive definite matrix, wherever that is."""

    def __init__(self, matrix: Any) -> None:
        """Factorise; raise LinAlgError where the matrix is not positive definite."""
        self.matrix = matrix
        if isinstance(matrix, HOST_ARRAYS):
            self.lower = cho_factor(matrix, lower=True, check_finite=False)[0]
            return
        xp = namespace(matrix)
        try:
            self.lower = xp.linalg.cholesky(matrix)
        except Exception as error:  # each library has a class of its own
            raise LinAlgError(str(error)) from error
        if not bool(xp.all(xp.isfinite(xp.linalg.diagonal(self.lower)))):
            raise LinAlgError("the matrix is not positive definite")

    def solve(self, right: Array) -> Array:
        """Solve the system for a right-hand side on the host."""
        if isinstance(self.lower, HOST_ARRAYS):
            return np.asarray(cho_solve((self.lower, True), right, check_finite=False))
        many = beside(right if right.ndim == 2 else right[:, None], self.lower)
        many = _triangular(self.lower, many, lower=True)
        many = to_host(_triangular(self.lower.T, many, lower=False))
        return many if right.ndim == 2 else many[:, 0]

    def half_solve(self, right: Array) -> Array:
        """Return the inverse of the lower factor times a matrix on the host."""
        if isinstance(self.lower, HOST_ARRAYS):
            return np.asarray(solve_triangular(self.lower, right, lower=True, check_finite=False))
        return to_host(_triangular(self.lower, beside(right, self.lower), lower=True))


def _triangular(factor: Any, right: Any, lower: bool) -> Any:
    if compat.is_torch_array(factor):
        import torch

        return torch.linalg.solve_triangular(factor, right, upper=not lower)
    if compat.is_cupy_array(factor):
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, right, lower=lower)
    return namespace(factor).linalg.solve(factor, right)


def approximately(count: int) -> float:
    """Return a count as a float; counts beyond the range of floats as 1e300."""
    return float(min(count, LARGEST_COUNT))


def generator(random_state: Any) -> np.random.Generator:
    """Return one generator of random numbers from scikit-learn's ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, Integral) and not 0 <= int(random_state) < 2**32:
        raise ValueError(
            "random_state must be an integer from 0 to 4294967295, a generator of numbers, or "
            f"None; got {shown(random_state)}. Use for instance random_state=0."
        )
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
