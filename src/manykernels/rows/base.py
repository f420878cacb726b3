"""What a fit asks of rows, wherever they live.

``Rows`` become ``Prepared`` rows once for each set of rows and degree: columns are standardised and
base kernels fitted. From these come ``Fits``: models of one family of kernels on these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..arrays import Array
from ..families import KernelFamily
from ..function import Predictor
from ..kernels import KernelSet
from ..solvers import Callback, Greedy, Result, Slot, Solver
from ..spec import Spec, StopRule


class Fits(Protocol):
    """Models of one family of kernels on one set of rows."""

    @property
    def family(self) -> KernelFamily:
        """The kernels."""

    @property
    def centre(self) -> float:
        """What was subtracted from real targets."""

    def start(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""

    def solve(
        self,
        solver: str | Solver,
        strength: float,
        stop: StopRule,
        rng: np.random.Generator,
        start: Result | None = None,
        callback: Callback | None = None,
        slot: Slot | None = None,
    ) -> Result:
        """Return the model of a strength, found from that of another one if there is one.

        The state of the solver is kept in the slot.
        """

    def refit(self, result: Result) -> Result:
        """Return the model of the same kernels without a penalty."""

    def grow(
        self, greedy: Greedy, stop: StopRule, rng: np.random.Generator, slot: Slot | None = None
    ) -> Iterator[Result]:
        """Yield the models of 0, 1, 2, ... terms."""

    def judge(self, rows: Any) -> Callable[[Result], tuple[Array, Array | None]]:
        """Return a function from models to their losses on other rows and predictions there.

        The losses are what each row adds to the mean loss. Rows in parts keep theirs, and their
        predictions: the mean loss alone, and None.
        """

    def predictor(self, result: Result) -> Predictor:
        """Return the learnt function of a model."""


class Prepared(Protocol):
    """Rows whose columns are standardised and whose base kernels are fitted."""

    @property
    def kernels(self) -> KernelSet:
        """The base kernels."""

    @property
    def scaler(self) -> StandardScaler | None:
        """How columns were standardised."""

    def dual(self, alpha: Array) -> Array | None:
        """Return dual variables as ones of all rows, of shape (n, c), if rows are here."""

    def fits(self, spec: Spec, degree: int, p: float) -> Fits:
        """Return the fits of a degree and an exponent."""


class Rows(Protocol):
    """Rows with targets and sample weights."""

    @property
    def count(self) -> int:
        """Number of rows."""

    @property
    def classes(self) -> Array:
        """The classes, empty for real targets."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in the memory of this process."""

    @property
    def groups(self) -> Array | None:
        """The group of each row, if rows belong together."""

    @property
    def ordered(self) -> bool:
        """Whether rows are in the order of time."""

    def threads(self) -> AbstractContextManager[Any]:
        """Return a context with as many BLAS threads as work on these rows can use."""

    def for_splitter(self) -> tuple[Array, Array]:
        """Return what scikit-learn's splitters ask for: rows, and targets or class numbers."""

    def split(self, train: Array, test: Array) -> tuple[Self, Self]:
        """Return the rows of a fold to train on and those left out, or refuse the fold."""

    def affordable(self, spec: Spec) -> Spec:
        """Return the specification with a degree that these rows can have, where it is free."""

    def prepare(self, spec: Spec, degree: int) -> Prepared:
        """Standardise the columns and fit the base kernels, for products up to a degree."""
