"""Which sets of columns have a part in a function, and how much of its variance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np

from ...arrays import Array
from ...bases import WidthRows
from .components import Columns, Component, components
from .marginals import Marginal, columns_kernels, marginal
from .model import WidthModel

SMALLEST_TOTAL = 0.005
"""Share of the variance below which nothing more is looked for: sets are made of columns whose
interactions that are not yet known may have that much."""

PAIRS, SETS = 500, 150
"""Most sets of two columns, and of each larger size, that are looked at. Of more columns those of
largest total index are taken. Set by judgement: a set of three takes some 0.2 s on 32,000 rows."""

SCREENED = 64
"""Most columns whose total indices are sampled: those whose kernels vary most. Set by judgement,
not measured."""

PAIR_RANK = 32
"""Most basis functions of a column in a pair. Set by judgement: a step has 98 % of its variance in
the first 32 functions."""

TRIPLE_RANKS = 6, 12
"""Basis functions of a column in sets of three, at least and at most. Set by judgement: work grows
with their cube."""

LARGER_RANKS = 4, 6
"""Basis functions of a column in sets of four or more, at least and at most. Set by judgement."""

LOST = 1e-3
"""Part of a column's variance in pairs and alone that its basis in larger sets may leave out."""

TOTAL_ENTRIES, REST_ENTRIES = 1e8, 1e9
"""Values of kernels from which the total indices of columns, and the variance of what is in no
set looked at, are estimated: at 8 columns some 1 and 10 seconds on one core. For the latter the
coefficients of components count, too."""

BATCH = 256
"""Points in a batch of those at which the rest is sampled."""

SHARE_ERROR = 0.002
"""Standard error of the share of what is in no set looked at, at which sampling stops."""


@dataclass(frozen=True)
class Anova:
    """A function as a sum of components under the product of the marginals of its columns.

    Attributes
    ----------
    marginals : dict of int to Marginal
        Laws of the columns.
    mean : ndarray of shape (c,)
        The mean of the function, without its intercept.
    components : dict of tuple of int to Component
        The components that were looked at, by their columns.
    rest : float
        Variance of all other components together.
    error : float
        Standard error of ``rest``; 0 if there are no others.
    """

    marginals: dict[int, Marginal]
    mean: Array
    components: dict[Columns, Component]
    rest: float
    error: float

    @property
    def variance(self) -> float:
        """Variance of the function under the product of the marginals, all outputs together."""
        return self.rest + sum(part.variance for part in self.components.values())


def decompose(
    model: WidthModel,
    weights: Array,
    order: int,
    rng: np.random.Generator,
) -> Anova:
    """Return the components of a function, of sets of up to ``order`` columns.

    Columns alone and pairs come first. A larger set is looked at if each of its columns may have
    ``SMALLEST_TOTAL`` of the variance in interactions that are not known yet: its total index
    (sampled where columns are many) less the components found. That bounds the share of every
    set with the column. What is left of the variance is sampled at points of the product of the
    marginals.

    Parameters
    ----------
    model : WidthModel
        The function.
    weights : ndarray of shape (n,)
        Weights of the training rows in the marginals; they add up to one.
    order : int
        Most columns of a set.
    rng : Generator
        For the points.
    """
    marginals = {
        j: marginal(
            model.values[:, j],
            weights,
            j in model.rows.categories,
            columns_kernels(model.products, j),
            None if model.terms is None else partial(model.terms.kernel_at, j),
        )
        for j in model.columns
    }
    search = _Search(model, marginals, order, rng)
    active = [j for j in model.columns if len(marginals[j].nodes) > 1]
    totals = search.totals(active)
    found = search.of([(), *((j,) for j in active), *search.sets(totals, 2)])
    mean = found.pop(()).coefficients
    for size in range(3, order + 1):
        left = {
            j: total - sum(part.variance for u, part in found.items() if j in u)
            for j, total in totals.items()
        }
        found |= search.of(search.sets(left, size), found.values())
    rest, error = search.rest(found, mean)
    return Anova(marginals, mean, found, rest, error)


class _Search:
    """The steps of a decomposition, on one function."""

    def __init__(
        self,
        model: WidthModel,
        marginals: dict[int, Marginal],
        order: int,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.marginals, self.order, self.rng = model, marginals, order, rng
        self.kernels = model.sets
        self.cost = max(1, len(model.alpha) * len(model.kernels))
        roughly = model.decision(self.draw(BATCH // 4))
        self.variance = float(np.sum(np.var(roughly, axis=0)))

    def draw(self, count: int) -> WidthRows:
        """Return points of the product of the marginals, all of them nodes."""
        values = np.zeros((count, self.model.rows.count))
        for j, law in self.marginals.items():
            strata = (self.rng.permutation(count) + self.rng.random(count)) / count
            place = np.searchsorted(np.cumsum(law.weights), strata)
            values[:, j] = law.nodes[np.minimum(place, len(law.nodes) - 1)]
        return WidthRows(values, self.model.rows.categories)

    def totals(self, active: list[int]) -> dict[int, float]:
        """Return bounds of the variance of all components with a column, for some of the columns.

        Infinite where the columns are so few that all sets are looked at. Else the mean of half
        the squared change of the function when the column is drawn anew, and two standard errors.
        """
        if len(active) <= _columns_for(SETS, 3):
            return dict.fromkeys(active, np.inf)
        active = sorted(active, key=lambda j: -self._variation(j))[:SCREENED]
        count = int(np.clip(TOTAL_ENTRIES / self.cost / len(active), 32, BATCH))
        points, others = self.draw(count), self.draw(count)
        before, totals = self.model.decision(points), {}
        for j in active:
            values = points.values.copy()
            values[:, j] = others.values[:, j]
            after = self.model.decision(WidthRows(values, points.categories))
            half = np.sum((after - before) ** 2, axis=1) / 2
            totals[j] = float(np.mean(half) + 2 * np.std(half) / np.sqrt(count))
        return totals

    def _variation(self, j: int) -> float:
        """Return how much the kernels of a column vary, weighted; infinite if a term has it."""
        law, terms = self.marginals[j], self.model.terms
        if terms is not None and any(j in u for u in terms.sets):
            return float(np.inf)
        return sum(
            abs(weight) * float(np.var(np.exp(-width * law.distances(law.nodes, power))))
            for weight, power, width in columns_kernels(self.model.products, j)
        )

    def sets(self, bounds: dict[int, float], size: int) -> Iterator[Columns]:
        """Yield the sets of a size that are worth a look, by bounds of their columns' parts."""
        if size > self.order:
            return
        worth = [j for j, bound in bounds.items() if bound > SMALLEST_TOTAL * self.variance]
        worth = sorted(worth, key=lambda j: -bounds[j])
        worth = sorted(worth[: _columns_for(PAIRS if size == 2 else SETS, size)])
        for u in combinations(worth, size):
            if any(kernel.issuperset(u) for kernel in self.kernels):
                yield u

    def of(
        self, sets: Iterable[Columns], known: Iterable[Component] = ()
    ) -> dict[Columns, Component]:
        """Return the components of sets, with ranks from those that are known."""
        sets, known = list(sets), list(known)
        ranks = {(j, len(u)): self._rank(j, len(u), known) for u in sets for j in u}
        size = float(np.sqrt(self.variance))
        return components(self.model, self.marginals, sets, ranks, size) if sets else {}

    def _rank(self, j: int, size: int, known: list[Component]) -> int:
        """Return how many basis functions a column has in sets of a size."""
        full = self.marginals[j].basis.shape[1]
        if size <= 2:
            return min(full, PAIR_RANK) if size == 2 else full
        energies = np.zeros(full)
        for part in known:
            if j in part.columns:
                own = part.energies(j)
                energies[: len(own)] += own
        after = energies.sum() - np.cumsum(energies)
        needed = 1 + int(np.sum(after > LOST * energies.sum()))
        least, most = TRIPLE_RANKS if size == 3 else LARGER_RANKS
        return min(full, max(least, min(needed, most)))

    def rest(self, found: dict[Columns, Component], mean: Array) -> tuple[float, float]:
        """Return the variance of what is in no component found, and its standard error.

        The mean over points of the square of the function less these components, which are
        orthogonal to it. Nothing is sampled if every set of columns of a kernel was looked at in
        all basis functions.
        """
        if self._complete(found):
            return 0.0, 0.0
        known = sum(part.variance for part in found.values())
        cost = self.cost + sum(part.coefficients.size for part in found.values())
        count, sums = 0, np.zeros(2)  # of squares, and of their squares
        variance = error = 0.0
        while not count or (count + BATCH) * cost <= REST_ENTRIES:
            points = self.draw(BATCH)
            left = self.model.decision(points) - self.model.intercept - mean
            for part in found.values():
                left = left - part.values(self.marginals, points.values)
            squares = np.sum(left**2, axis=1)
            count += BATCH
            sums += np.array([squares.sum(), squares @ squares])
            variance, fourth = (sums / count).tolist()
            error = float(np.sqrt(max(0.0, fourth - variance**2) / count))
            if error * known <= SHARE_ERROR * (known + variance) ** 2:
                break
        return variance, error

    def _complete(self, found: dict[Columns, Component]) -> bool:
        if any(len(kernel) > self.order for kernel in self.kernels):
            return False
        for kernel in self.kernels:
            varied = sorted(j for j in kernel if len(self.marginals[j].nodes) > 1)
            for size in range(1, len(varied) + 1):
                for u in combinations(varied, size):
                    full = tuple(self.marginals[j].basis.shape[1] for j in u)
                    if u not in found or found[u].coefficients.shape[:-1] != full:
                        return False
        return True


def _columns_for(sets: int, size: int) -> int:
    """Return the largest number of columns that has at most ``sets`` sets of a size."""
    count = size
    while comb(count + 1, size) <= sets:
        count += 1
    return count
