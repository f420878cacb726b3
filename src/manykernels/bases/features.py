"""Base kernels with explicit features: one block of columns each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import chain, pairwise
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..arrays import Array, Product
from ..backend import (
    beside,
    columnwise,
    dense,
    double,
    filled,
    khatri_rao,
    namespace,
    segment_sums,
    times,
    to_host,
)
from ..deadline import check
from ..limits import BATCH_ENTRIES, CACHED_ROWS, DENSE_COLUMNS, PAIR_ENTRIES
from .columns import (
    Products,
    Scales,
    products_of_columns,
    scale_rows,
    split_rows,
)
from .cross import CrossBlocks


class FeatureBlocks:
    r"""Base kernels :math:`K_j = \Phi_j \Phi_j^\top` given by features, in memory O(n R).

    Parameters
    ----------
    features : array or scipy.sparse matrix of shape (n, R)
        The blocks :math:`\Phi_1, \dots, \Phi_r` side by side, of any library and on any device;
        so are the features that are made of them.
    sizes : sequence of int, default=one column each
        Number of columns of each block, adding up to R.

    Notes
    -----
    The state of a prefix is a matrix V of shape (n, q) with :math:`M = V V^\top`, one column for
    each output and each product of features chosen so far. With two kernels or fewer to go every
    mass is a sum of squares: never negative, and accurate relative to itself however small.
    """

    explicit = True
    count = property(attrgetter("sizes.size"), doc="Number of base kernels r.")
    matrix = property(attrgetter("features"), doc="What is held: the features.")

    def __init__(self, features: Any, sizes: ArrayLike | None = None) -> None:
        if sparse.issparse(features):
            self.features = sparse.csc_array(features)
        else:
            self.features = columnwise(double(features))
        width = self.features.shape[1]
        self.sizes = np.ones(width, dtype=int) if sizes is None else np.asarray(sizes, dtype=int)
        if self.sizes.sum() != width:
            raise ValueError(
                f"sizes must add up to the number of columns, {width}; got {self.sizes.sum()}. "
                "Give each base kernel its number of columns."
            )
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self.single = bool(np.all(self.sizes == 1))

    @cached_property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.features.shape[0])

    @property
    def pairs_are_cheap(self) -> bool:
        """Whether ``pair_sums``, O(n R^2), costs less than contracting n x n matrices, O(n^2 R)."""
        return bool(self.features.shape[1] <= 4 * self.rows)

    def mass_work(self, degree: int) -> float:
        """Return the multiplications that the mass of a product takes, on average."""
        return self.rows * float(self.sizes.mean() ** degree)

    def tree_work(self, degree: int) -> float:
        """Return the multiplications that some fifty draws by a tree of masses take, about.

        Those of contractions and, beyond degree 2, of tables of pairs.
        """
        width = self.features.shape[1]
        pairs = 50 * self.rows * width**2 if degree > 2 else 0
        return float(sum(range(3, degree + 1)) * self.rows**2) * width + pairs

    def between(self, other: Any, rows: slice = slice(None)) -> CrossBlocks:
        """Return the kernels between some of the own rows and those of ``other``: a ``Cross``."""
        return CrossBlocks(self, other, rows)

    def cross_rows(self, rows: slice) -> CrossBlocks:
        """Return the base kernels between some of the rows and all of them."""
        return CrossBlocks(self, self, rows)

    def row_blocks(self, budget: int) -> list[slice]:
        """Split the rows so that a block times n numbers of float64 fit in ``budget`` bytes."""
        return split_rows(self.rows, budget)

    def take(self, rows: slice | Array) -> FeatureBlocks:
        """Return the same blocks on some of the rows."""
        features = self.features
        part = sparse.csr_array(features)[rows] if sparse.issparse(features) else features[rows, :]
        return FeatureBlocks(part, self.sizes)

    def without_rows(self) -> FeatureBlocks:
        """Return the same blocks on no rows."""
        return FeatureBlocks(np.empty((0, self.features.shape[1])), self.sizes)

    def blocks(self, start: int, stop: int) -> Any:
        """Return the features of some base kernels, as they are held."""
        return self.features[:, int(self.offsets[start]) : int(self.offsets[stop])]

    def block(self, j: int) -> Array:
        """Return the features of base kernel ``j``, dense, of shape (n, m_j)."""
        return dense(self.blocks(j, j + 1))

    def products(self, products: Products, scales: Scales = 1.0) -> tuple[Array, Array]:
        r"""Return the features of product kernels, and the position of the one that owns each.

        Those of product i are multiplied by :math:`\sqrt{s_i}`. O(n D) for each.
        """
        if self.single:
            columns, owners = products_of_columns(self.features, products), np.arange(len(products))
        else:
            ones = filled(1.0, (self.rows, 1), self.features)
            edges, used = self.offsets.tolist(), set(chain.from_iterable(products))
            blocks = {j: dense(self.features[:, edges[j] : edges[j + 1]]) for j in used}
            parts = [reduce(khatri_rao, (blocks[j] for j in one), ones) for one in products]
            owners = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
            columns = namespace(ones).concat([ones[:, :0], *parts], axis=1)
        if np.all(scales == 1):
            return columns, owners
        roots = np.sqrt(np.broadcast_to(scales, len(products)))
        return columns * beside(roots[owners], columns), owners

    def widths(self, products: Products) -> list[int]:
        """Return the number of features of each product."""
        if self.single:
            return [1] * len(products)
        sizes = self.sizes.tolist()
        return [prod(sizes[j] for j in product) for product in products]

    def inner(self, products: Products, values: Array, scales: Scales = 1.0) -> Array:
        """Return the inner products of products' features with columns of values, (m, q).

        Features of several factors are not made but for those of all factors less the last;
        O(n m q).
        """
        xp, parts = namespace(values), [values[:0, :]]
        if self.single:
            for part in self.batches(products):
                check()
                parts.append(self.products(products[part])[0].T @ values)
        else:
            for product in products:
                check()
                first, last = self._halves(product)
                columns = [values[:, c][:, None] for c in range(values.shape[1])]
                tables = [first.T @ (last * column) for column in columns]
                width = first.shape[1] * last.shape[1]
                parts.append(xp.stack([xp.reshape(one, (width,)) for one in tables], axis=1))
        return xp.concat(parts) * self._roots(products, scales, values)

    def combine(self, products: Products, coefficients: Array, scales: Scales = 1.0) -> Array:
        """Return products' features times coefficients of shape (m, q), as :meth:`inner`."""
        scaled = coefficients * self._roots(products, scales, coefficients)
        xp, start = namespace(scaled), 0
        total = filled(0.0, (self.rows, scaled.shape[1]), self.features)
        if self.single:
            for part in self.batches(products):
                check()
                total += self.products(products[part])[0] @ scaled[part, :]
            return total
        for product in products:
            check()
            first, last = self._halves(product)
            shape = first.shape[1], last.shape[1]
            if shape[0] < shape[1]:
                first, last = last, first
            for c in range(scaled.shape[1]):
                table = xp.reshape(scaled[start : start + shape[0] * shape[1], c], shape)
                table = table.T if shape[0] < shape[1] else table
                total[:, c] += xp.sum((first @ table) * last, axis=1)
            start += shape[0] * shape[1]
        return total

    def _roots(self, products: Products, scales: Scales, place: Array) -> Any:
        """Return the roots of products' scales, one for each of their features."""
        if np.all(scales == 1):
            return 1.0
        roots = np.sqrt(np.broadcast_to(scales, len(products)))
        return beside(np.repeat(roots, self.widths(products))[:, None], place)

    def _halves(self, product: Product) -> tuple[Array, Array]:
        """Return the features of all factors of a product but the last, and those of the last."""
        ones, edges = filled(1.0, (self.rows, 1), self.features), self.offsets
        blocks = [dense(self.features[:, int(edges[j]) : int(edges[j + 1])]) for j in product]
        return reduce(khatri_rao, blocks[:-1] or [ones]), (blocks or [ones])[-1]

    def batches(self, products: Products) -> list[slice]:
        """Cut a list of products so that the features of a part stay of bounded size."""
        room = max(1, BATCH_ENTRIES // max(1, self.rows))
        if self.single:
            count = len(products)
            return [slice(a, min(a + room, count)) for a in range(0, count, room)]
        cuts, held = [0], 0
        for i, width in enumerate(self.widths(products)):
            if held and held + width > room:
                cuts.append(i)
                held = 0
            held += width
        return [slice(a, b) for a, b in pairwise([*cuts, len(products)]) if b > a]

    def masses(self, state: Array, products: Products, scales: Scales = 1.0) -> Array:
        r"""Return :math:`s_i \langle M, K_i\rangle` of product kernels.

        They are the energies of the features' inner products with the state; O(n D) each.
        """
        energy = np.sum(to_host(self.inner(products, state, scales)) ** 2, axis=1)
        owners = np.repeat(np.arange(len(products)), self.widths(products))
        return np.bincount(owners, weights=energy, minlength=len(products))

    def weighted_sum(
        self, products: Products, weights: Array, scales: Scales = 1.0, other: Any = None
    ) -> Array:
        r"""Return :math:`\sum_i w_i s_i K_i` between own rows and those of ``other``.

        By default between own rows; O(n m) for each feature.
        """
        scales = np.broadcast_to(scales, len(products))
        total = filled(0.0, (self.rows, (other or self).rows), self.features)
        roots = np.sqrt(weights) if np.all(weights >= 0) else None
        for part in self.batches(products):
            check()
            left, owners = self.products(products[part], scales[part])
            if other is None and roots is not None:
                left = left * beside(roots[part][owners], left)
                total += left @ left.T  # of one array with itself: half the work
                continue
            right = other.products(products[part], scales[part])[0] if other else left
            total += (left * beside(weights[part][owners], left)) @ right.T
        return total

    def mean_squares(
        self, products: Products, scales: Array, row_weights: Array
    ) -> tuple[Array, Array]:
        r"""Return :math:`\sum_t w_t\|\phi_i(x_t)\|^2` and :math:`\|\sum_t w_t\phi_i(x_t)\|^2`.

        Of product kernels times scales; O(n) for each feature.
        """
        squares, means = np.zeros(len(products)), np.zeros(len(products))
        for part in self.batches(products):
            check()
            columns, owners = self.products(products[part], scales[part])
            count = len(squares[part])
            squares[part] = np.bincount(owners, times((columns**2).T, row_weights), count)
            means[part] = np.bincount(owners, times(columns.T, row_weights) ** 2, count)
        return squares, means

    def start(self, alpha: Array) -> Array:
        r"""Return the state of the empty prefix, :math:`M = \alpha\alpha^\top`; alpha is (n, c)."""
        return beside(alpha, self.features)

    def extend(self, state: Array, j: int) -> Array:
        r"""Return the state of :math:`M \odot K_j`: all products of columns and features."""
        return khatri_rao(state, self.block(j))

    def total(self, state: Array) -> float:
        r"""Return :math:`\langle M, \mathbf 1\rangle`: the sum of squares of the column sums."""
        xp = namespace(state)
        return float(xp.sum(xp.sum(state, axis=0) ** 2))

    def weighted_total(self, state: Array, weight: Array, rows: slice) -> float:
        r"""Return :math:`\langle M, W\rangle` over some rows, of which ``weight`` holds W's."""
        return float(namespace(state).sum(state[rows, :] * (weight @ state)))

    def diagonals(self) -> Array:
        """Return the diagonals of the base kernels, of shape (r, n)."""
        return self._block_sums(to_host(dense(self.features**2))).T

    def state_diagonal(self, state: Array) -> Array:
        """Return the diagonal of M."""
        return to_host(namespace(state).sum(state**2, axis=1))

    def singles(self, state: Array) -> Array:
        r"""Return :math:`\langle M, K_j\rangle` for every j, of shape (r,); O(n R q)."""
        return self._block_sums(np.sum(to_host(self.features.T @ state) ** 2, axis=1))

    def pair_sums(self, state: Array, excluded: Sequence[int]) -> tuple[Array, Array]:
        r"""Return sums over the second of two more kernels, each of shape (r,); O(n R^2 q).

        The first is :math:`\sum_{i \ne j,\ i \notin A} \langle M, K_j \odot K_i\rangle`
        (A = ``excluded``), the second :math:`\langle M, K_j \odot K_j\rangle`.
        """
        off, diagonal = np.zeros(self.count), np.zeros(self.count)
        keep = np.ones(self.count)
        keep[list(excluded)] = 0.0
        for first, table in self._pair_rows(state, 0):
            span = np.arange(first, first + len(table))
            diagonal[span] = table[span - first, span]
            table[span - first, span] = 0.0
            off[span] = table @ keep
        return off, diagonal

    def pairs(self, state: Array, first: int, strict: bool) -> Array:
        r"""Return :math:`\langle M, K_i \odot K_j\rangle`, first <= i <= j (i < j if strict).

        In lexicographic order of (i, j); O(n R^2 q).
        """
        parts = [np.empty(0)]
        for start, table in self._pair_rows(state, first):
            least = np.arange(len(table))[:, None] + start - first + int(strict)
            parts.append(table[np.arange(table.shape[1]) >= least])
        return np.concatenate(parts)

    def _pair_rows(self, state: Array, first: int) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows of the table <M, K_i K_j>, i, j >= first, with their first i."""
        right = self.features[:, int(self.offsets[first]) :]
        inside = self.offsets[first:-1] - self.offsets[first]
        height = max(1, PAIR_ENTRIES // max(1, right.shape[1]))
        for start in range(first, self.count, height):
            check()
            stop = min(start + height, self.count)
            left = self.blocks(start, stop)
            table = filled(0.0, (left.shape[1], right.shape[1]), right)
            for c in range(state.shape[1]):
                table += self._weighted_products(left, right, state[:, c]) ** 2
            if not self.single:
                table = segment_sums(table, inside, axis=1)
                table = segment_sums(table, self.offsets[start:stop] - self.offsets[start], axis=0)
            yield start, to_host(table)

    def _weighted_products(self, left: Any, right: Any, column: Array) -> Array:
        """Return left' diag(column) right, some rows at a time."""
        if not isinstance(right, np.ndarray) or self.rows <= 2 * CACHED_ROWS:
            return dense(left.T @ scale_rows(right, column))
        total = filled(0.0, (left.shape[1], right.shape[1]), right)
        for start in range(0, self.rows, CACHED_ROWS):
            rows = slice(start, start + CACHED_ROWS)
            total += left[rows, :].T @ scale_rows(right[rows, :], column[rows])
        return total

    def _block_sums(self, squares: Array) -> Array:
        if self.single:
            return squares
        return np.add.reduceat(squares, self.offsets[:-1], axis=-1)

    def contract(self, state: Array, weights: Sequence[Array | None], rows: slice) -> Array:
        r"""Return :math:`\langle M, K_j^{\odot l} \odot W_l\rangle` for every j and l = 1, 2, ...

        ``weights[l - 1]`` holds the given rows of :math:`W_l`, None for all ones, and only those
        rows are summed; shape (r, len(weights)). O(n^2 R q) for each weight.
        """
        out = np.zeros((self.count, len(weights)))
        if not self.single:
            for j in range(self.count):
                grown = state
                for power, weight in enumerate(weights):
                    check()
                    grown = self.extend(grown, j)
                    out[j, power] = float(_forms(grown, weight, rows).sum())
            return out
        for start in range(0, self.count, DENSE_COLUMNS):
            stop = min(start + DENSE_COLUMNS, self.count)
            block = dense(self.blocks(start, stop))
            for c in range(state.shape[1]):
                check()
                grown = block * state[:, c][:, None]
                for power, weight in enumerate(weights):
                    if power:
                        grown = grown * block
                    out[start:stop, power] += _forms(grown, weight, rows)
        return out


def _forms(columns: Array, weight: Array | None, rows: slice) -> Array:
    """Return the quadratic form of each column, over some rows; all ones if there is no weight."""
    xp, part = namespace(columns), columns[rows, :]
    if weight is None:
        return to_host(xp.sum(part, axis=0) * xp.sum(columns, axis=0))
    return to_host(xp.sum(part * (weight @ columns), axis=0))
