"""Columns for kernels of free widths, each on a scale of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Product
from ..backend import HOST, beside, namespace
from ..bases import FeatureBlocks, TermRows, WidthRows
from ..deadline import check
from ..feature_maps import even_weights, ranks_of
from ..limits import LEARNING_BYTES, LEARNT_ROWS
from .base import KernelSet

RANK_STEPS = np.linspace(0, 1, 257)
"""Shares of the rows at whose quantiles a column's ranks are looked up. Set by judgement, not
measured."""


@dataclass
class WidthKernels(KernelSet):
    """Columns whose kernels have free widths, and categories, on the scales of the training rows.

    A number lies half way between its standardised value and its rank, brought to the same spread:
    rows in a long tail are told apart, and so are rows in a crowd. The whole has variance one, and
    numbers beyond the training rows are taken to be the last of them. Models of such kernels hold
    their training rows.

    Attributes
    ----------
    columns : list of ndarray of int
        The column of X that each base kernel is given.
    names : list of str
        Names of the columns.
    categorical : list of bool
        Which of them are categories.
    scales_of : list of tuple of ndarray
        Points of a column and where they lie on its scale; the values of categories.
    """

    columns: list[Array]
    names: list[str]
    categorical: list[bool]
    scales_of: list[tuple[Array, ...]] = field(default_factory=list)
    explicit = False
    scales = False
    free_widths = True

    def held_bytes(self, rows: int) -> int:
        """Return the bytes of the columns, and of the pairs of rows that widths are learnt on."""
        return 8 * rows * len(self.columns) + LEARNING_BYTES * min(rows, LEARNT_ROWS) ** 2

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> WidthRows:
        """Learn the scales of the columns; return the training rows on them."""
        weights = even_weights(raw) if weights is None else weights
        self.scales_of = []
        for (column,), category in zip(self.columns, self.categorical, strict=True):
            check()
            values = raw[:, column]
            scale = (np.unique(values),) if category else half_ranks(values, weights)
            self.scales_of.append(scale)
        return self.on(X, raw, place)

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> WidthRows:
        """Return new rows on the scales of the training rows."""
        values = np.empty((len(raw), len(self.columns)))
        for j, ((column,), scale) in enumerate(zip(self.columns, self.scales_of, strict=True)):
            if self.categorical[j]:
                known = np.searchsorted(scale[0], raw[:, column]).clip(max=len(scale[0]) - 1)
                seen = scale[0][known] == raw[:, column]
                values[:, j] = np.where(seen, known, -1)
            else:
                points, places = scale
                values[:, j] = np.interp(raw[:, column], points, places)
        pairs = enumerate(zip(self.categorical, self.scales_of, strict=True))
        counts = {j: len(scale[0]) for j, (category, scale) in pairs if category}
        return WidthRows(beside(values, place), counts)


@dataclass
class BothKernels(WidthKernels):
    """Columns whose kernels have free widths, and spline terms of the same columns beside them.

    The kernel of all terms together is scaled so that its mean over pairs of a row with itself is
    one, as that of kernels with widths is.

    Attributes
    ----------
    maps : KernelSet
        The functions of columns that terms are made of, fitted.
    scaler : StandardScaler or None
        How columns are standardised for them.
    products : list of tuple of int
        The numbers of the base kernels of each term, at most two.
    weights : ndarray
        The weights of the terms.
    """

    maps: Any = None
    scaler: Any = None
    products: list[Product] = field(default_factory=list)
    weights: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def factors(self) -> list[int]:
        """Numbers of the base kernels in some term, ascending."""
        return sorted({j for product in self.products for j in product})

    @property
    def owners(self) -> list[int]:
        """The column, by its place among the names, that each base kernel in use is of."""
        places = {int(column): j for j, (column,) in enumerate(self.columns)}
        return [places[int(self.maps.inputs[j][0])] for j in self.factors]

    def held_bytes(self, rows: int) -> int:
        """Return the bytes of the columns and of their functions."""
        sizes = np.asarray(self.maps.widths, dtype=int)[self.factors]
        return super().held_bytes(rows) + 8 * rows * int(sizes.sum())

    def fit(
        self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST
    ) -> WidthRows:
        """Learn the scales of the columns and that of the terms; return the training rows."""
        rows = super().fit(X, raw, weights, place)
        assert rows.terms is not None
        share = even_weights(raw) if weights is None else weights
        size = float(share @ rows.terms.diagonal())
        self.weights = self.weights / (size or 1.0)
        return self.on(X, raw, place)

    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> WidthRows:
        """Return new rows on the scales of the training rows, with the terms' functions."""
        rows = super().on(X, raw, place)
        return WidthRows(rows.values, rows.categories, self.term_rows(raw, place))

    def term_rows(self, raw: Array, place: Any = HOST) -> TermRows:
        """Return the functions of columns that terms are made of, on rows as they were given."""
        X = raw if self.scaler is None else self.scaler.transform(raw)
        whole = self.maps.on(X, raw, place, frozenset(self.factors))
        xp = namespace(whole.features)
        blocks = [whole.block(j) for j in self.factors]
        features = xp.concat([whole.features[:, :0], *blocks], axis=1)
        places = {j: place for place, j in enumerate(self.factors)}
        products = [tuple(places[j] for j in product) for product in self.products]
        return TermRows(FeatureBlocks(features, whole.sizes[self.factors]), products, self.weights)

    def at_values(self, values: Array) -> TermRows:
        """Return the same for values of columns on the scales of the training rows."""
        raw = np.zeros((len(values), self.scaler.n_features_in_ if self.scaler else self._last))
        for j, ((column,), scale) in enumerate(zip(self.columns, self.scales_of, strict=True)):
            if self.categorical[j]:
                raw[:, column] = scale[0][values[:, j].astype(int)]
            else:
                raw[:, column] = np.interp(values[:, j], scale[1], scale[0])
        return self.term_rows(raw)

    @property
    def _last(self) -> int:
        return 1 + max(int(column) for (column,) in self.columns)


def half_ranks(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return points of a column and where they lie on a scale half of values, half of ranks.

    Values between points lie between their places in proportion. The scale has mean zero and
    variance one over the rows; a constant column lies at zero.
    """
    mean = float(weights @ x)
    spread = float(np.sqrt(weights @ (x - mean) ** 2))
    points, ranks = ranks_of(x, weights, RANK_STEPS)
    if len(points) < 2 or not spread > 0:
        return points[:1], np.zeros(1)
    # Ranks are uniform from 0 to 1: their variance is 1 / 12.
    places = (points - mean) / spread + np.sqrt(12) * (ranks - 0.5)
    values = np.interp(x, points, places)
    middle = float(weights @ values)
    return points, (places - middle) / np.sqrt(weights @ (values - middle) ** 2)


def parse_widths(
    items: Sequence[tuple[Any, Any]], columns: Sequence[Array], feature_names: Sequence[str]
) -> WidthKernels:
    """Return the columns of a list of ``"widths"`` and ``"categorical"``, each of them once."""
    found: dict[int, bool] = {}
    for j, ((kind, _), numbers) in enumerate(zip(items, columns, strict=True)):
        if not isinstance(kind, str) or kind not in ("widths", "categorical"):
            raise ValueError(
                f'kernels[{j}] must be "widths" or "categorical" beside "widths"; got {kind!r}. '
                'Use kernels="widths" alone, or kernels without it.'
            )
        for column in numbers.tolist():
            if column in found:
                raise ValueError(
                    f"kernels[{j}] names column {feature_names[column]!r} again. Name each column "
                    'once, as "widths" or as "categorical".'
                )
            found[column] = kind == "categorical"
    order = sorted(found)
    names = [feature_names[column] for column in order]
    return WidthKernels(
        [np.array([column]) for column in order], names, [found[column] for column in order]
    )
