"""A function of kernels with widths by terms: the components of its functional ANOVA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Array
from ...backend import to_host
from ...bases import WidthRows
from ..importance import spread_of
from ..terms import OTHERS
from .components import Columns
from .correlation import correlated
from .model import WidthModel
from .search import Anova, decompose

if TYPE_CHECKING:
    import pandas as pd

LISTED = 0.001
"""Least share of a component that is a term of its own; smaller ones are part of the rest."""

SPREAD_ENTRIES = 1.5e8
"""Values of kernels for predictions on training rows, whose spread terms are compared with: some
2 seconds on one core."""

SPREAD_ROWS = 400, 4_000
"""Training rows for the spreads at least and at most."""


@dataclass(frozen=True)
class AnovaTerms:
    r"""The terms of a function of kernels with widths, with the interface of ``Terms``.

    Its components under the product of the marginals: :math:`f_u` of a set u of columns has mean 0
    in each of them, all add up to f, and their variances add up to that of f. The share of a term
    is its part of that variance (a Sobol index). What is in no term, above all interactions of
    more columns than ``order``, is one line, ``other terms``.

    Columns that correlate have a law that is not the product of their marginals. Beside each share
    stands therefore ``spread``: the standard deviation of the term over training rows, by which
    terms are ordered. Spreads need not add up to anything; that shares add up to one is an
    identity, and no evidence. The loss without a term is not known: kernels with widths are in many
    terms at once, and none can be left out alone.

    Attributes
    ----------
    model : WidthModel
        The function.
    factor_names : sequence of str
        Names of the columns of its rows.
    weights : ndarray of shape (n,), optional
        Weights of the training rows; by default all alike.
    order : int
        Most columns of a term, at least 1.
    seed : int
        Of the points that variances beyond that are sampled at.
    listed : float
        Least share of a term.
    """

    model: WidthModel
    factor_names: Sequence[str]
    weights: Array | None = None
    order: int = 3
    seed: int = 0
    listed: float = LISTED
    rest: ClassVar[str] = OTHERS
    """Name of the line for what is in no term."""

    @property
    def sampled(self) -> int | None:
        """Number of training rows that spreads are over, where these are some; None for all."""
        n = self.model.rows.rows
        wanted = int(np.clip(SPREAD_ENTRIES / max(1, n * len(self.model.kernels)), *SPREAD_ROWS))
        return wanted if wanted < n else None

    @cached_property
    def inputs(self) -> list[Array]:
        """Columns of X that each factor sees: one."""
        return [np.array([j]) for j in range(self.model.rows.count)]

    @cached_property
    def row_weights(self) -> Array:
        """Weights of the training rows, which add up to one."""
        size = self.model.rows.rows
        return np.full(size, 1 / size) if self.weights is None else self.weights / sum(self.weights)

    @cached_property
    def anova(self) -> Anova:
        """The components that were looked at."""
        rng = np.random.default_rng(self.seed)
        with one_thread():
            return decompose(self.model, self.row_weights, self.order, rng)

    @cached_property
    def _listed(self) -> dict[str, Columns]:
        """Columns of each term by its name; none for the rest."""
        whole = self.anova.variance
        parts = {u: part.variance for u, part in self.anova.components.items()}
        parts = {u: variance for u, variance in parts.items() if variance >= self.listed * whole}
        parts[()] = whole - sum(parts.values())
        return {" * ".join(self.factor_names[j] for j in u) or OTHERS: u for u in parts}

    @cached_property
    def _sets(self) -> dict[str, Columns]:
        """Columns of each term by its name, by descending spread; none for the rest."""
        order = sorted(self._listed, key=lambda name: -self.spreads[name])
        return {name: self._listed[name] for name in order}

    @property
    def names(self) -> list[str]:
        """Names of the terms, by descending spread; that of the rest among them."""
        return list(self._sets)

    def factors(self, name: str) -> list[int]:
        """Return the columns of a term, ascending; the rest has none."""
        return list(self._known(name))

    def _known(self, name: str) -> Columns:
        if name not in self._listed:
            some = ", ".join(map(repr, self.names[:3]))
            raise ValueError(
                f"terms must be those of the model; got {name!r}. It has {len(self.names)}, such "
                f"as {some}; explain(None) lists them."
            )
        return self._listed[name]

    def columns(self, name: str) -> list[int]:
        """Return the columns of X that a term is a function of, ascending; none for the rest."""
        return self.factors(name)

    def degree(self, name: str) -> int:
        """Return the number of columns of a term; of the rest one more than terms have at most."""
        return len(self.factors(name)) or self.order + 1

    def sign(self, name: str) -> int:
        """Return 0: terms are functions, without a single coefficient."""
        return 0

    def share(self, name: str) -> float:
        """Return the share of a term in the variance under the product of the marginals."""
        whole = self.anova.variance
        if not whole:
            return 0.0
        if u := self._listed[name]:
            return self.anova.components[u].variance / whole
        return 1.0 - sum(self.share(other) for other in self._listed if other != name)

    def table(self, top: int | None) -> pd.DataFrame:
        """Return the terms of largest spread as a table, one row each; all if ``top`` is None.

        ``theta`` is the sum of the weights of the kernels that see all columns of a term.
        """
        import pandas as pd

        names = self.names[:top]
        return pd.DataFrame(
            {
                "term": pd.Series(names, dtype=object),
                "degree": np.array([self.degree(name) for name in names], dtype=int),
                "theta": np.array([self.model.weight_with(self._sets[n]) for n in names]),
                "share": np.array([self.share(name) for name in names], dtype=float),
                "sign": np.array([self.sign(name) for name in names], dtype=int),
                "spread": np.array([self.spreads[name] for name in names], dtype=float),
                "loss_without": np.full(len(names), np.nan),
            }
        )

    @cached_property
    def spreads(self) -> dict[str, float]:
        """Standard deviation of each term over training rows.

        Outputs together; on some rows, drawn at random, where there are many.
        """
        n, model = self.model.rows.rows, self.model
        chosen = np.arange(n)
        if self.sampled is not None:
            rng = np.random.default_rng(self.seed)
            chosen = np.sort(rng.choice(n, self.sampled, replace=False))
        weights = self.row_weights[chosen] / self.row_weights[chosen].sum()
        with one_thread():
            parts = self._parts(model.rows.take(chosen), list(self._listed))
        return {name: spread_of(part, weights) for name, part in parts.items()}

    @cached_property
    def correlated(self) -> list[tuple[int, int, float]]:
        """Columns of the function's that correlate above 0.7 in size, categories left out."""
        own = [j for j in self.model.columns if j not in self.model.rows.categories]
        return correlated(self.model.values, self.row_weights, own)

    @property
    def caution(self) -> str:
        """What is to be known of the shares, in words; empty if no columns correlate highly."""
        if not self.correlated:
            return ""
        pairs = [
            f"{self.factor_names[a]} and {self.factor_names[b]} ({value:.2f})"
            for a, b, value in self.correlated[:3]
        ]
        more = f" and {len(self.correlated) - 3} more pairs" if len(self.correlated) > 3 else ""
        return (
            f"Columns correlate: {', '.join(pairs)}{more}. Shares are for columns that vary "
            "independently of each other; the spread is that over the actual rows."
        )

    def contributions(
        self, bases: WidthRows, names: Sequence[str] | None, output: int
    ) -> pd.DataFrame:
        """Return the parts of an output of the function, a column for each term.

        Of all terms, with the intercept (the mean of the function under the product of the
        marginals) first, so that the columns add up to the function; or of those named. For n new
        rows O(n q^order) for each term, and the function itself for the rest.
        """
        import pandas as pd

        listed = self.names if names is None else list(names)
        parts = self._parts(bases, listed)
        frame = pd.DataFrame({name: part[:, output] for name, part in parts.items()})
        if names is None:
            constant = "intercept" if "intercept" not in listed else "(intercept)"
            frame.insert(0, constant, float(self.mean[output]))
        return frame

    @property
    def mean(self) -> Array:
        """Mean of the function under the product of the marginals, of shape (c,)."""
        return self.model.intercept + self.anova.mean

    def _parts(self, rows: WidthRows, names: Sequence[str]) -> dict[str, Array]:
        """Return terms on rows, of shape (n, c) each; the rest is what others leave."""
        sets = {name: self._known(name) for name in names}
        values, laws = to_host(rows.values), self.anova.marginals
        known = self._listed.values() if () in sets.values() else sets.values()
        parts = {u: self.anova.components[u].values(laws, values) for u in known if u}
        if () in sets.values():
            left = self.model.decision(rows) - self.mean
            parts[()] = left - sum(parts.values(), np.zeros(left.shape))
        return {name: parts[u] for name, u in sets.items()}


def one_thread() -> Any:
    """Return a context of one BLAS thread: matrices of components are small, and threads in excess.

    On 32,000 rows of kin40k, beside other work on two cores, components took 16 s of the processor
    on one thread and 91 s on two.
    """
    return threadpool_limits(1, user_api="blas")
