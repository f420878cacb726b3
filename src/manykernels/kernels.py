"""Base kernels by name or by function, and the columns each one sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from .arrays import Array, approximately
from .backend import HOST, beside, filled, free_bytes, namespace, on_host
from .bases import FeatureBlocks, GramStack
from .feature_maps import BY_NAME as MAPS
from .feature_maps import FeatureMap, affordable_functions, choose_maps

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
        gram = np.asarray(self.gram, dtype=float)
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


class KernelSet(Protocol):
    """Base kernels that have been resolved against the columns of X."""

    @property
    def names(self) -> list[str]:
        """Names of the base kernels."""
        ...

    @property
    def inputs(self) -> list[Array]:
        """Columns of X that each base kernel is a function of; none for kernels of whole rows."""
        ...

    @property
    def explicit(self) -> bool:
        """Whether they have explicit features."""
        ...

    @property
    def powers(self) -> bool:
        """Whether powers of a base kernel are worth having: x^2 is no linear function of x."""
        ...

    @property
    def by_degree(self) -> bool:
        """Whether the kernels depend on the degree of the products to come."""
        ...

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> FeatureBlocks | GramStack:
        """Remember the training rows if they are needed later; return the base kernels on them.

        ``X`` is standardised, ``raw`` is not; row weights add up to one, by default equal. The
        base kernels are put beside ``place``.
        """
        ...

    def on(self, X: Array, raw: Array, place: Any = HOST) -> FeatureBlocks | GramStack:
        """Return the base kernels on new rows (between new and training rows)."""
        ...


@dataclass
class LinearKernels:
    """Linear kernels of one or several columns: features, nothing to remember."""

    columns: list[Array]
    names: list[str]
    explicit: bool = True
    powers: bool = True
    by_degree: bool = False

    @property
    def inputs(self) -> list[Array]:
        """Columns that each kernel sees."""
        return self.columns

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> FeatureBlocks:
        """Return the features of the training rows."""
        return self.on(X, raw, place)

    def on(self, X: Array, raw: Array, place: Any = HOST) -> FeatureBlocks:
        """Return the features of new rows."""
        order = np.concatenate(self.columns)
        if not (len(order) == X.shape[1] and np.all(order == np.arange(len(order)))):
            X = sparse.csc_array(X)[:, order] if sparse.issparse(X) else X[:, order]
        if not on_host(place):
            X = beside(X, place)
        return FeatureBlocks(X, [len(columns) for columns in self.columns])


@dataclass
class MapKernels:
    """Kernels by feature maps, fitted to the training rows.

    A column with ``"auto"`` may have several kernels, of the same name.
    """

    maps: list[FeatureMap | str]
    columns: list[Array]
    labels: list[str]
    degree: int
    explicit: bool = True
    powers: bool = False
    fitted: list[tuple[str, FeatureMap | None, Array]] = field(default_factory=list)
    rows: int | None = None  # of all rows, where the maps see only some of them

    @property
    def names(self) -> list[str]:
        """Names of the base kernels, those of one column alike."""
        return [name for name, _, _ in self.fitted] or self.labels

    @property
    def inputs(self) -> list[Array]:
        """Columns that each kernel sees."""
        return [columns for _, _, columns in self.fitted]

    @property
    def by_degree(self) -> bool:
        """Whether the kernels depend on the degree of the products to come."""
        return any(isinstance(kind, str) and kind == "auto" for kind in self.maps)

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> FeatureBlocks:
        """Fit the maps; return the features of the training rows."""
        self.fitted = []
        afford = affordable_functions(self.degree, len(self.maps), self.rows or len(X))
        for label, kind, columns in zip(self.labels, self.maps, self.columns, strict=True):
            if isinstance(kind, str) and kind == "linear":
                self.fitted.append((label, None, columns))
                continue
            x = _seen(X, columns)
            if isinstance(kind, str):
                chosen = choose_maps(x, *afford) if kind == "auto" else [MAPS[kind]()]
            else:
                chosen = [deepcopy(kind)]
            self.fitted += [(label, fresh.fit(x, weights), columns) for fresh in chosen]
        return self.on(X, raw, place)

    def on(self, X: Array, raw: Array, place: Any = HOST) -> FeatureBlocks:
        """Return the features of new rows."""
        blocks = [
            X[:, columns] if fitted is None else fitted.features(_seen(X, columns))
            for _, fitted, columns in self.fitted
        ]
        # A column without any variation has no function; it keeps one, which is zero.
        blocks = [block if block.shape[1] else np.zeros((len(X), 1)) for block in blocks]
        whole = beside(np.hstack(blocks), place)
        return FeatureBlocks(whole, [block.shape[1] for block in blocks])


@dataclass
class FunctionKernels:
    """Kernels given by functions, evaluated against the training rows."""

    functions: list[KernelFunction]
    columns: list[Array]
    names: list[str]
    explicit: bool = False
    powers: bool = False
    by_degree: bool = False
    training: list[Array] = field(default_factory=list)

    @property
    def inputs(self) -> list[Array]:
        """Columns that each kernel sees; none for matrices, which are no functions of columns."""
        return [
            columns[:0] if isinstance(function, Precomputed) else columns
            for function, columns in zip(self.functions, self.columns, strict=True)
        ]

    def views(self, X: Array, raw: Array) -> list[Array]:
        """Return the columns that each kernel sees."""
        return [
            (raw if isinstance(function, Precomputed) else X)[:, columns]
            for function, columns in zip(self.functions, self.columns, strict=True)
        ]

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> GramStack:
        """Evaluate and check the kernels on the training rows."""
        refuse_large(len(self.functions), len(X), place)
        self.training = self.views(X, raw)
        return self.between(self.training, self.training, place, check=True)

    def on(self, X: Array, raw: Array, place: Any = HOST) -> GramStack:
        """Evaluate the kernels between new and training rows."""
        return self.between(self.views(X, raw), self.training, place)

    def between(
        self, left: list[Array], right: list[Array], place: Any = HOST, check: bool = False
    ) -> GramStack:
        """Evaluate the kernels between two sets of rows, on a device in single precision.

        If they are one set, check that they are kernels.
        """
        shape = (len(left[0]), len(right[0]))
        bits = 64 if on_host(place) else 32
        grams = filled(0.0, (len(self.functions), *shape), place, bits)
        for j, function in enumerate(self.functions):
            if function is rbf and not on_host(place):
                values = rbf(beside(left[j], place), beside(right[j], place))
                grams[j, :, :] = beside(values, place, grams.dtype)
                continue
            gram = np.asarray(function(left[j], right[j]), dtype=float)
            if gram.shape != shape:
                raise ValueError(
                    f"kernels[{j}] ({self.names[j]}) must return a matrix of shape {shape}; "
                    f"got shape {gram.shape}. It is called with two arrays of rows."
                )
            if not np.all(np.isfinite(gram)):
                raise ValueError(
                    f"kernels[{j}] ({self.names[j]}) must return finite values; got NaN or "
                    "infinity. Look at the rows or the matrix it is made from."
                )
            if check and function is not rbf:
                check_gram(gram, self.names[j])
            grams[j, :, :] = beside(gram, place, grams.dtype)
        return GramStack(grams)


@dataclass
class PairwiseKernel:
    """One base kernel whose values are X itself, as in scikit-learn's ``"precomputed"``."""

    names: list[str] = field(default_factory=lambda: ["precomputed"])
    explicit: bool = False
    powers: bool = False
    by_degree: bool = False
    columns: Array | None = None

    @property
    def inputs(self) -> list[Array]:
        """No columns: X has none but rows."""
        return [np.empty(0, dtype=int)]

    def use(self, rows: Array, shape: tuple[int, int]) -> None:
        """Remember which rows of a square matrix are used, and so which columns."""
        if shape[0] != shape[1]:
            raise ValueError(
                'X must be a square kernel matrix for kernels="precomputed"; '
                f"got shape {shape}. "
                "For several kernels use kernels=[Precomputed(K1), ...] and row numbers as X."
            )
        self.columns = rows

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> GramStack:
        """Check the training matrix."""
        check_gram(raw[:, self.columns], "precomputed")
        return self.on(X, raw, place)

    def on(self, X: Array, raw: Array, place: Any = HOST) -> GramStack:
        """Take X as the values between new and training rows."""
        return GramStack(beside(raw[:, self.columns][None], place))


def only_linear(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument names linear kernels only."""
    items = kernels if isinstance(kernels, list) else [kernels]
    heads = [item[0] if isinstance(item, tuple) and item else item for item in items]
    return bool(heads) and all(isinstance(head, str) and head == "linear" for head in heads)


def uses_maps(kernels: Any) -> bool:
    """Tell whether the public ``kernels`` argument has kernels by feature maps."""
    items = kernels if isinstance(kernels, list) else [kernels]
    return any(_is_map(item[0] if isinstance(item, tuple) and item else item) for item in items)


def rbf(X: Array, Y: Array) -> Array:
    r"""Gaussian kernel :math:`\exp(-\|x-y\|^2 / (2m))` of m (standardised) columns."""
    gamma = 0.5 / X.shape[1]
    if on_host(X):
        return np.asarray(rbf_kernel(X, Y, gamma=gamma))
    xp = namespace(X)
    squares = xp.sum(X**2, axis=1)[:, None] + xp.sum(Y**2, axis=1)[None, :]
    return xp.exp(-gamma * xp.clip(squares - 2 * (X @ Y.T), 0.0, None))


def resolve(kernels: Any, feature_names: Sequence[str], degree: int = 1) -> KernelSet:
    """Turn the public ``kernels`` argument into base kernels, or say what is wrong with it.

    The degree is that of the products they are made for.
    """
    count = len(feature_names)
    if isinstance(kernels, str):
        if kernels == "precomputed":
            return PairwiseKernel()
        items = [(kernels, [j]) for j in range(count)]
        single = [np.array([j]) for j in range(count)]
        if kernels == "linear":
            return LinearKernels(single, list(feature_names))
        if kernels == "auto" or kernels in MAPS:
            return MapKernels([kernels] * count, single, list(feature_names), degree)
    else:
        listed = list(kernels) if isinstance(kernels, list) else [kernels]
        if not listed:
            raise ValueError('kernels must not be empty; got []. Use kernels="linear".')
        items = [item if isinstance(item, tuple) else (item, None) for item in listed]
        for j, item in enumerate(items):
            if len(item) != 2:
                raise ValueError(
                    f"kernels[{j}] must be a kernel or a pair (kernel, columns); got a tuple of "
                    f'{len(item)}. Write it as in ("rbf", ["age", "income"]).'
                )
    mapped = [_is_map(kernel) for kernel, _ in items]
    if any(mapped):
        return _map_kernels(items, mapped, feature_names, degree)
    parsed = [
        _parse(j, kernel, columns, feature_names) for j, (kernel, columns) in enumerate(items)
    ]
    functions, columns, names = (list(part) for part in zip(*parsed, strict=True))
    names = [name if names.count(name) == 1 else f"{name}[{j}]" for j, name in enumerate(names)]
    if all(function is linear_kernel for function in functions):
        return LinearKernels(columns, names)
    return FunctionKernels(functions, columns, names)


def _is_map(kernel: Any) -> bool:
    if isinstance(kernel, str):
        return kernel == "auto" or kernel in MAPS
    return hasattr(kernel, "features") and hasattr(kernel, "fit")


def _seen(X: Array, columns: Array) -> Array:
    """Return what a feature map sees: a column, of shape (n,), or several, of shape (n, c)."""
    return X[:, columns[0]] if len(columns) == 1 else X[:, columns]


def _map_kernels(
    items: Sequence[tuple[Any, Any]],
    mapped: Sequence[bool],
    feature_names: Sequence[str],
    degree: int,
) -> MapKernels:
    """Return kernels by feature maps, or say which item cannot be one of them."""
    maps, columns, names = [], [], []
    inputs = [_column_numbers(j, wanted, feature_names) for j, (_, wanted) in enumerate(items)]
    seen_by = np.bincount(np.concatenate(inputs))
    for j, ((kernel, _), has_map, numbers) in enumerate(zip(items, mapped, inputs, strict=True)):
        seen = ", ".join(feature_names[c] for c in numbers)
        if not has_map and not (isinstance(kernel, str) and kernel == "linear"):
            raise ValueError(
                f"kernels[{j}] has no features and the others have; got {kernel!r}. Use "
                f'"linear", {", ".join(map(repr, MAPS))} or "auto" for all, or none of them.'
            )
        label = kernel if isinstance(kernel, str) else kernel.name
        if has_map and label != "nystroem" and len(numbers) != 1:
            raise ValueError(
                f"kernels[{j}] must see a single column; got {len(numbers)} ({seen}). Give each "
                "column a kernel of its own."
            )
        alone = label == "categorical" and seen_by[numbers[0]] == 1
        plain = (label in ("auto", "linear") or alone) and len(numbers) == 1
        maps.append(kernel)
        columns.append(numbers)
        names.append(seen if plain else f"{label}({seen})")
    names = [name if names.count(name) == 1 else f"{name}[{j}]" for j, name in enumerate(names)]
    return MapKernels(maps, columns, names, degree)


def _parse(
    j: int, kernel: Any, columns: Any, feature_names: Sequence[str]
) -> tuple[KernelFunction, Array, str]:
    numbers = _column_numbers(j, columns, feature_names)
    seen = ", ".join(feature_names[c] for c in numbers)
    named: dict[str, KernelFunction] = {"linear": linear_kernel, "rbf": rbf}
    if isinstance(kernel, Precomputed):
        return kernel, numbers[:1], kernel.name
    if isinstance(kernel, str) and kernel in named:
        label = seen if kernel == "linear" and len(numbers) == 1 else f"{kernel}({seen})"
        return named[kernel], numbers, label
    if callable(kernel):
        label = getattr(kernel, "__name__", None) or str(kernel)
        return kernel, numbers, label if columns is None else f"{label}({seen})"
    raise ValueError(
        f'kernels[{j}] must be "auto", "linear", "rbf", {", ".join(map(repr, MAPS))}, a callable, '
        "a scikit-learn kernel or Precomputed; "
        f'got {kernel!r}. Each may be paired with its columns, as in ("rbf", [0, 1]).'
    )


def _column_numbers(j: int, columns: Any, feature_names: Sequence[str]) -> Array:
    if columns is None:
        return np.arange(len(feature_names))
    if isinstance(columns, slice):
        columns = range(len(feature_names))[columns]
    single = isinstance(columns, str) or not isinstance(columns, Iterable)
    several = [columns] if single else list(columns)
    if several and all(isinstance(column, bool | np.bool_) for column in several):
        if len(several) != len(feature_names):
            raise ValueError(
                f"kernels[{j}] has a mask of {len(several)} columns; X has {len(feature_names)}. "
                "Use one True or False for each column."
            )
        several = [number for number, keep in enumerate(several) if keep]
    known = {name: number for number, name in enumerate(feature_names)}
    numbers = []
    for column in several:
        whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
        number = known.get(column) if isinstance(column, str) else int(column) if whole else None
        if number is None or not 0 <= number < len(feature_names):
            raise ValueError(
                f"kernels[{j}] refers to column {column}, which X does not have; it has "
                f"{len(feature_names)} columns. Use a column's name or its number from 0."
            )
        numbers.append(number)
    if not numbers:
        raise ValueError(f"kernels[{j}] must see at least one column; got none. Use None for all.")
    return np.array(numbers)


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
    shifted = (gram + gram.T) / 2
    # Rounding in n x n inner products moves eigenvalues by about 1e-16 n times the largest.
    shifted[np.diag_indices_from(shifted)] += 1e-8 * float(np.linalg.norm(gram))
    try:
        cho_factor(shifted, lower=True, check_finite=False)
    except LinAlgError:
        lowest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
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


def refuse_bytes(needed: int, what: str, value: str, remedy: str, place: Any = HOST) -> None:
    """Raise if something takes more than six tenths of the memory of the machine or device."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, AttributeError, OSError):
        return
    memory = int(free_bytes(place)) or memory
    if needed > 0.6 * memory:
        raise ValueError(
            f"{what} must fit in memory; got {value}: {approximately(needed) / 2**30:.3g} GiB, of "
            f"{memory / 2**30:.1f} GiB. {remedy}"
        )
