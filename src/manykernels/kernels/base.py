"""What all kinds of base kernels have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, Self

from ..arrays import Array
from ..backend import HOST
from ..bases import Bases


class KernelSet(ABC):
    """Base kernels that have been resolved against the columns of X.

    Attributes
    ----------
    names : list of str
        Names of the base kernels.
    columns : list of ndarray of int
        Columns of X that each base kernel is given.
    explicit : bool
        Whether they have explicit features.
    powers : bool
        Whether powers of a base kernel are worth having: x^2 is no linear function of x.
    by_degree : bool
        Whether the kernels depend on the degree of the products to come.
    scales : bool
        Whether the columns of X are measurements, to be standardised.
    learns : bool
        Whether ``fit`` learns from the rows more than which they are.
    free_widths : bool
        Whether they are columns whose kernels have free widths.
    rows : int, optional
        Number of all rows, where ``fit`` sees only some of them.
    """

    names: list[str]
    columns: Any
    explicit: bool = True
    powers: bool = False
    by_degree: bool = False
    scales: bool = True
    learns: bool = False
    free_widths: bool = False
    rows: int | None = None

    @property
    def inputs(self) -> list[Array]:
        """Columns of X that each base kernel is a function of; none if it is given by a matrix."""
        return list(self.columns)

    def held_bytes(self, rows: int) -> int:
        """Return the bytes that the base kernels will take on some rows; about, before ``fit``."""
        return 8 * rows * sum(len(columns) for columns in self.columns)

    def use(self, rows: Array, shape: tuple[int, int]) -> None:  # noqa: B027
        """Take note of which rows of X, of a given shape, are trained on; before ``fit``."""

    def fit(self, X: Array, raw: Array, weights: Array | None = None, place: Any = HOST) -> Bases:
        """Remember the training rows if they are needed later; return the base kernels on them.

        ``X`` is standardised, ``raw`` is not; row weights add up to one, by default equal. The
        base kernels are put beside ``place``.
        """
        return self.on(X, raw, place)

    @abstractmethod
    def on(
        self, X: Array, raw: Array, place: Any = HOST, used: Collection[int] | None = None
    ) -> Bases:
        """Return the base kernels on new rows (between new and training rows).

        Those that are not among ``used`` need not be what they are; by default all are used.
        """

    def only(self, used: Collection[int] | None) -> Self:
        """Return the set with nothing learnt of kernels that are not among ``used``; None: all."""
        return self

    def pair(self, X: Array, raw: Array, other: Array, other_raw: Array) -> tuple[Bases, Bases]:
        """Return what the learnt kernel between two sets of rows is made of, for either set.

        Matrices hold the values between both sets, and stand for both.
        """
        return self.on(X, raw), self.on(other, other_raw)
