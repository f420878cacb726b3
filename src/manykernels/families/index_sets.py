"""The three index sets of product kernels and the symmetric polynomials behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, islice
from math import comb, factorial
from typing import ClassVar

import numpy as np

from ..arrays import Array, Product
from ..bases import Cross
from ..deadline import check


class IndexSet(ABC):
    r"""Which products of base kernels are in the family.

    A product of degree d is drawn in *moves*: one move takes one base kernel (or a power of it)
    and leaves the rest of the degree to the moves after it. A symmetric polynomial
    :math:`Q_d` of the base kernels is the sum of all products of degree d.
    """

    name: ClassVar[str]
    strict: ClassVar[bool] = False  # whether the factors of a product are distinct
    merged: ClassVar[bool] = False  # whether several members give one product, stored once

    @abstractmethod
    def count(self, r: int, degree: int) -> int:
        """Return the exact number of kernels of one degree."""

    def multiplicity(self, indices: Array) -> Array:
        """Return how often each (sorted) index occurs in the set; ``indices`` is (N, d)."""
        return np.ones(len(indices))

    def weight(self, multiplicity: Array) -> Array:
        r"""Return :math:`\rho_v^{-2} / \rho_d^{-2}` of indices merged from several."""
        return multiplicity

    @abstractmethod
    def polynomials(self, cross: Cross, degree: int) -> list[Array]:
        r"""Return :math:`Q_0, \dots, Q_{degree}` as matrices."""

    def paths(self, remaining: int) -> int:
        r"""Return how many times the moves at a state count :math:`Q_k`."""
        return remaining

    @abstractmethod
    def pair_moves(self, off: Array, diagonal: Array) -> Array:
        """Return the moves with two kernels to go, from the sums over the second."""

    def move_weights(self, polynomials: list[Array], remaining: int) -> list[Array | None]:
        """Return what the powers of the next kernel are contracted with; None is all ones."""
        return [*(polynomials[remaining - k] for k in range(1, remaining)), None]

    def combine(self, table: Array) -> Array:
        """Turn contracted powers, of shape (r, L), into the table of moves."""
        return table

    @abstractmethod
    def uniform(self, r: int, degree: int, rng: np.random.Generator) -> Product:
        """Draw an index of one degree uniformly from the set."""


@dataclass(frozen=True)
class Tuples(IndexSet):
    r"""Ordered tuples of base kernels, the paper's index set, merged to monomials.

    A monomial that :math:`m` tuples give is stored once. Under :math:`\|\theta\|_\nu \le 1` its
    m copies act as one kernel multiplied by :math:`m^{1-1/\nu}`. The polynomial is
    :math:`(\sum_j K_j)^{\odot d}`, and the draw is the paper's Algorithm 3.
    """

    nu: float = 2.0
    name: ClassVar[str] = "tuples"
    merged: ClassVar[bool] = True

    def count(self, r: int, degree: int) -> int:
        """Return r ** degree."""
        return r**degree

    def multiplicity(self, indices: Array) -> Array:
        """Return the multinomial coefficient of each row."""
        return multinomial(indices)

    def weight(self, multiplicity: Array) -> Array:
        """Return the multiplicity to the power 1 - 1/nu."""
        return multiplicity ** (1 - 1 / self.nu)

    def polynomials(self, cross: Cross, degree: int) -> list[Array]:
        """Return the powers of the sum of the kernels."""
        kernels = [cross.power_sum(1)] * degree
        return [cross.filled(1.0), *accumulate(kernels, lambda power, first: first * power)]

    def paths(self, remaining: int) -> int:
        """Return 1."""
        return 1

    def pair_moves(self, off: Array, diagonal: Array) -> Array:
        """Return the first kernel's masses."""
        return (off + diagonal)[:, None]

    def move_weights(self, polynomials: list[Array], remaining: int) -> list[Array | None]:
        """Return the sum of all completions."""
        return [polynomials[remaining - 1]]

    def uniform(self, r: int, degree: int, rng: np.random.Generator) -> Product:
        """Draw the kernels one by one."""
        return tuple(sorted(rng.integers(r, size=degree).tolist()))


@dataclass(frozen=True)
class Monomials(IndexSet):
    r"""Distinct monomials: multisets of base kernels.

    The polynomial is the complete homogeneous one. By Newton's identity
    :math:`d H_d = \sum_{k=1}^d P_k \odot H_{d-k}`, a move that takes :math:`K_j^{\odot k}` with
    weight :math:`\langle M, K_j^{\odot k} \odot H_{d-k}\rangle` draws every monomial of degree d
    in proportion to its mass: the moves' paths to it have total weight d! times it, without
    any subtraction.
    """

    name: ClassVar[str] = "monomials"

    def count(self, r: int, degree: int) -> int:
        """Return the number of multisets."""
        return comb(r + degree - 1, degree) if degree else 1

    def polynomials(self, cross: Cross, degree: int) -> list[Array]:
        """Return the complete homogeneous polynomials, by Newton's identity."""
        out = [cross.filled(1.0)]
        powers = [cross.power_sum(k) for k in range(1, degree + 1)]
        for d in range(1, degree + 1):
            check()
            products = [powers[k - 1] * out[d - k] for k in range(1, d + 1)]
            out.append(sum(products[1:], products[0]) / d)
        return out

    def pair_moves(self, off: Array, diagonal: Array) -> Array:
        """Return the masses of taking a kernel once, and twice."""
        return np.column_stack([off + diagonal, diagonal])

    def uniform(self, r: int, degree: int, rng: np.random.Generator) -> Product:
        """Draw a subset of stars among stars and bars."""
        if degree == 0:
            return ()
        stars = np.sort(rng.choice(r + degree - 1, size=degree, replace=False))
        return tuple((stars - np.arange(degree)).tolist())


@dataclass(frozen=True)
class Interactions(IndexSet):
    r"""Products of distinct base kernels (the ANOVA case).

    The polynomial is the elementary one, :math:`E_d`, summed over the kernels one by one without
    subtraction. After the kernels A, the next one is j with weight
    :math:`\langle M, K_j \odot E_{d-1}^{(-A-j)}\rangle`; each set of d kernels is reached in d!
    orders. Leaving out one kernel is :math:`E_d^{(-j)} = E_d - K_j \odot E_{d-1}^{(-j)}`, a
    matrix product for all j at once. It loses digits when one kernel is much larger than all
    others together; where the loss could matter, the polynomials are summed anew for each j
    (:func:`leave_one_out`). With two kernels or fewer to go neither is needed.
    """

    name: ClassVar[str] = "interactions"
    strict: ClassVar[bool] = True

    def count(self, r: int, degree: int) -> int:
        """Return the number of subsets."""
        return comb(r, degree)

    def polynomials(self, cross: Cross, degree: int) -> list[Array]:
        """Return the elementary symmetric polynomials; O(r D) operations an entry."""
        kernels = map(cross.kernel, range(cross.count))
        return reduce(elementary_with, kernels, nothing_yet(cross, degree))

    def pair_moves(self, off: Array, diagonal: Array) -> Array:
        """Return the masses with distinct kernels."""
        return off[:, None]

    def combine(self, table: Array) -> Array:
        """Return the alternating sum over powers of each kernel."""
        signs = (-1.0) ** np.arange(table.shape[1])
        return (table @ signs)[:, None]

    def uniform(self, r: int, degree: int, rng: np.random.Generator) -> Product:
        """Draw a subset."""
        return tuple(np.sort(rng.choice(r, size=degree, replace=False)).tolist())


def elementary(kernels: Array, degree: int) -> list[Array]:
    """Return the elementary polynomials of arrays stacked along the first axis."""
    shape = kernels.shape[1:]
    return reduce(elementary_with, kernels, [np.ones(shape)] + [np.zeros(shape)] * degree)


def nothing_yet(cross: Cross, degree: int) -> list[Array]:
    """Return the elementary polynomials of no kernels: one, then zeros."""
    return [cross.filled(1.0)] + [cross.filled(0.0)] * degree


def elementary_with(polynomials: list[Array], kernel: Array) -> list[Array]:
    """Return the elementary polynomials with one more kernel."""
    first, *rest = polynomials
    return [first, *(rest[d] + kernel * polynomials[d] for d in range(len(rest)))]


def leave_one_out(
    cross: Cross, kernels: Sequence[int], polynomials: list[Array]
) -> Iterator[tuple[int, list[Array]]]:
    """Yield for each kernel the elementary polynomials of all the others, without subtraction.

    ``polynomials`` are those of the kernels outside the list (none: one, then zeros). Halving
    the list takes O(r log r) products of a kernel with the polynomials, and O(log r) copies.
    """
    if len(kernels) == 1:
        yield kernels[0], polynomials
        return
    half = len(kernels) // 2
    halves = kernels[:half], kernels[half:]
    for visited, others in (halves, halves[::-1]):
        grown = reduce(elementary_with, map(cross.kernel, others), polynomials)
        yield from leave_one_out(cross, visited, grown)


def without(polynomials: list[Array], kernel: Array) -> list[Array]:
    """Return the elementary polynomials with one kernel left out."""
    return list(accumulate(polynomials, lambda fewer, one: one - kernel * fewer))


def multinomial(indices: Array) -> Array:
    """Return the number of orders of each row of sorted ``indices``, of shape (N, d)."""
    rows, degree = indices.shape
    run, repeats = np.ones(rows), np.ones(rows)
    for position in range(1, degree):
        same = indices[:, position] == indices[:, position - 1]
        run = np.where(same, run + 1, 1.0)
        repeats *= run
    return factorial(degree) / repeats


def all_indices(r: int, degree: int, strict: bool) -> Array:
    """Return all sorted indices of one degree in lexicographic order, of shape (N, degree)."""
    return next(islice(indices_by_degree(r, strict), degree, None))


def indices_by_degree(r: int, strict: bool) -> Iterator[Array]:
    """Yield all sorted indices of degree 0, 1, 2, ...; each is made from the one before."""
    table = np.zeros((1, 0), dtype=np.int64)
    while True:
        yield table
        check()
        first = table[:, -1] + int(strict) if table.shape[1] else np.zeros(1, dtype=np.int64)
        counts = np.maximum(r - first, 0)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        check()
        last = np.repeat(first, counts) + within
        check()
        table = np.column_stack([np.repeat(table, counts, axis=0), last])
