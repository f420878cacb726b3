"""The active set of hierarchical kernel learning, and the problem restricted to it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from ..arrays import Array, Index, Product
from ..certificate import Certificate, from_norm
from ..deadline import check
from ..dual import Columns, DualSolution, GramSystem, System, solve
from ..families import KernelFamily, ProductFamily, WeightedFamily
from ..memory import refuse_bytes
from ..objective import Problem
from ..solvers.base import FinalState
from .hierarchy import Grid, ListedSums, ProductSums, ancestry

SMOOTHING = 1e-9
"""Share of the weight that is spread over all nodes: a weight of zero would stay zero. Set by
judgement, not measured."""

NEWCOMERS = 0.05
"""Share of the weight that nodes get when they enter. Set by judgement, not measured."""

ENTRANTS = 200
"""Most nodes that enter in one round. Set by judgement, not measured."""

NEGLIGIBLE = 1e-5
"""Share of the whole norm below which nodes, by that of their descendants, are left out at the
end. Set by judgement, not measured."""

RELAXATION = 1.9
"""Power of the factor by which an update changes a weight; 1 is the exact minimisation. Set by
judgement, not measured."""

LOOSEST, LOOSE = 0.3, 0.03
"""Relative gap that the problem on the active set is always solved to, and to what share of the gap
over the whole grid. Set by judgement, not measured."""

REDUCED_ITERATIONS = 1000
"""Most updates of the weights in one round. Set by judgement, not measured."""


class Round(FinalState):
    """The active set before its next growth; the certificate is over the whole grid."""

    @property
    def nodes(self) -> list[Any]:
        """The hull: an ancestor-closed set of nodes."""
        return self.indices

    @property
    def zeta(self) -> Array:
        """Weights of their kernels."""
        return self.weights[1]


class Reduced:
    r"""The problem restricted to an ancestor-closed set W of nodes.

    Weights :math:`\eta_v` of nodes give weights
    :math:`\zeta_w = (\sum_{v \le w} \eta_v^{-1})^{-1}` of kernels. For a predictor with parts
    :math:`\beta_w` the best are :math:`\eta_v = \|\beta_{D(v)}\|/(d_v\Omega)`, where D(v) are the
    descendants of v.

    Parameters
    ----------
    grid : Grid
        The grid.
    family : KernelFamily
        Its kernels.
    """

    def __init__(self, grid: Grid, family: KernelFamily) -> None:
        self.grid, self.family = grid, family
        self.nodes: list[Product] = []
        self.x = np.zeros(0)  # d_v^2 eta_v, on the simplex
        self.columns, self.owners = Columns(np.zeros((family.rows, 0))), np.zeros(0, dtype=int)
        self.grams = np.zeros((0, family.rows, family.rows))
        self.enter([()])

    def enter(self, nodes: list[Product]) -> None:
        """Add nodes, all of whose parents are inside, with a small weight each."""
        share = NEWCOMERS if self.nodes else 1.0
        fresh = np.full(len(nodes), share / len(nodes))
        self.x = np.concatenate([(1 - share) * self.x, fresh])
        if self.family.explicit:
            columns, owners = self.family.features(nodes)
            self.columns = Columns(np.hstack([self.columns.values, columns]))
            self.owners = np.concatenate([self.owners, owners + len(self.nodes)])
        else:
            count = len(self.nodes) + len(nodes)
            refuse_bytes(
                2 * 8 * count * self.family.rows**2,
                "the active set",
                f"{count} products of kernels without features on {self.family.rows} rows",
                "Use a larger alpha, fewer rows, or linear kernels.",
            )
            one = np.ones(1)
            self.grams = np.concatenate(
                [self.grams, *(self.family.gram([node], one)[None] for node in nodes)]
            )
        self._set(self.nodes + nodes)

    def pruned(self, solution: DualSolution) -> Reduced:
        """Return the problem without the nodes that have, with all below them, next to no part."""
        below = self.above @ self.squares(solution, self.zeta)
        kept = np.flatnonzero(below > NEGLIGIBLE**2 * below.max(initial=0.0))
        kept = kept if len(kept) else np.zeros(1, dtype=int)
        out = copy(self)
        out.x = self.x[kept] / self.x[kept].sum()
        if self.family.explicit:
            columns = np.isin(self.owners, kept)
            out.columns = Columns(self.columns.values[:, columns])
            out.owners = np.searchsorted(kept, self.owners[columns])
        else:
            out.grams = self.grams[kept]
        out._set([self.nodes[i] for i in kept.tolist()])
        return out

    def _set(self, nodes: list[Product]) -> None:
        self.nodes = nodes
        self.prices = self.grid.prices(nodes)
        self.above = ancestry(nodes, self.grid.count)

    @property
    def eta(self) -> Array:
        """Weights of the nodes."""
        return ((1 - SMOOTHING) * self.x + SMOOTHING / len(self.x)) / self.prices**2

    @property
    def zeta(self) -> Array:
        """Weights of the kernels."""
        return 1 / (self.above.T @ (1 / self.eta))

    def system(self, zeta: Array) -> System:
        """Return the kernel of given weights, in the smaller form."""
        if not self.family.explicit:
            return GramSystem(np.tensordot(zeta, self.grams, axes=1))
        factors = np.sqrt(zeta)[self.owners]
        if len(self.owners) < self.family.rows:
            return self.columns.system(factors)
        scaled = self.columns.values * factors
        return GramSystem(scaled @ scaled.T)

    def masses(self, alpha: Array) -> Array:
        r"""Return :math:`\alpha^\top K_w \alpha` of all nodes; O(n) for each feature."""
        if self.family.explicit:
            squares = np.sum((self.columns.values.T @ alpha) ** 2, axis=1)
            return np.bincount(self.owners, squares, minlength=len(self.nodes))
        outer = (alpha @ alpha.T).ravel()
        return np.maximum(self.grams.reshape(len(self.nodes), -1) @ outer, 0.0)

    def squares(self, solution: DualSolution, zeta: Array) -> Array:
        r"""Return :math:`\|\beta_w\|^2` of the predictor itself."""
        if solution.in_features:
            own = np.sum(solution.coefficients**2, axis=1)
            return zeta * np.bincount(self.owners, own, minlength=len(self.nodes))
        return zeta**2 * self.masses(solution.coefficients)

    def improve(
        self, problem: Problem, tol: float, start: DualSolution | None
    ) -> tuple[DualSolution, float]:
        r"""Alternate predictor and weights until the gap over W is small.

        Both halves are exact minimisations, so the objective does not rise (but for the smoothing,
        1e-9 of it). The weights are moved further than to the minimum, which halves the number of
        iterations; where the objective rises, the exact minimum is taken.

        Returns
        -------
        DualSolution
            The predictor at the present weights; its objective has :math:`\frac\lambda2\Omega^2`.
        float
            :math:`B = \max_v d_v^{-2} \sum_{w \in D(v)} (\zeta_w/\eta_v)^2 a_w`, a bound of the
            squared dual norm over W.
        """
        solution, plain = start, self.x
        least, relaxed = np.inf, False
        norm = 0.0
        for _ in range(REDUCED_ITERATIONS):
            check()
            eta = self.eta
            zeta = 1 / (self.above.T @ (1 / eta))
            trial = solve(problem, self.system(zeta), solution, tol / 100)
            if relaxed and trial.objective > least:
                self.x, relaxed = plain, False
                continue
            least = trial.objective
            below = np.sqrt(self.above @ self.squares(trial, zeta))
            omega = float(self.prices @ below)
            objective = problem.primal(trial.fitted, omega**2)
            solution, chosen = replace(trial, objective=objective), self.x
            squares = self.above @ (zeta**2 * self.masses(trial.alpha))
            norm = float((squares / (eta * self.prices) ** 2).max())
            if objective - problem.dual(trial.alpha, norm) <= tol * objective or not omega > 0:
                break
            plain = self.prices * below / omega
            now = eta * self.prices**2
            further = now * (plain / now) ** RELAXATION
            self.x, relaxed = further / further.sum(), True
        assert solution is not None
        self.x = chosen
        return solution, norm


@dataclass(frozen=True)
class ActiveSet:
    r"""Grow an ancestor-closed set of nodes until it is optimal for the whole grid.

    A round solves the problem on the set W and looks at its sources, the nodes outside whose
    parents are all inside. Those that violate the necessary condition
    :math:`a_t/d_t^2 \le B` enter; if there are none, those that violate the sufficient condition
    :math:`S_t \le B`, where :math:`S_t` bounds the dual norm below t. The gap over the whole grid
    is at most the primal value less the dual one with :math:`\max(B, \max_t S_t)`.

    An update of the weights costs O(m^3) for m active features up to n, and O(n^2 m) above; the
    sums of a round cost as much as all gradients of the family once.

    Parameters
    ----------
    grid : Grid
        The grid.
    tol : float
        Relative duality gap; the problem on W is solved to a third of it.
    """

    grid: Grid
    tol: float

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Yield the state before each growth of the active set."""
        assert isinstance(family, WeightedFamily)
        assert isinstance(family.family, ProductFamily)
        sums_below: ListedSums | ProductSums = (
            ListedSums(self.grid, family.family)
            if self.grid.bounded
            else ProductSums(self.grid, family.bases)
        )
        reduced = Reduced(self.grid, family)
        solution: DualSolution | None = None
        finest, gap = self.tol / 3, np.inf
        for k in count(1):
            # While nodes are missing there is no use in knowing the best weights of the others.
            tol = max(finest, min(LOOSEST, LOOSE * gap))
            solution, norm = reduced.improve(problem, tol, solution)
            sources, sums, certificate = self._judge(problem, reduced, solution, norm, sums_below)
            if certificate.relative <= self.tol:
                # The answer should not list nodes that do nothing, if it is as good without them.
                smaller = reduced.pruned(solution)
                pruned, least = smaller.improve(problem, tol, solution)
                judged = self._judge(problem, smaller, pruned, least, sums_below)
                if judged[2].relative <= self.tol:
                    reduced, solution, norm = smaller, pruned, least
                    sources, sums, certificate = judged
            gap = certificate.relative
            hull: list[Index] = list(reduced.nodes)
            yield Round(k, (hull, reduced.zeta), len(hull), solution, certificate)
            allowed = norm + 2 / problem.strength * self.tol / 3 * solution.objective
            alone = family.at(solution.alpha).gradients(sources) / self.grid.prices(sources) ** 2
            scores = alone if np.any(alone > allowed) else sums
            order = np.argsort(-scores, kind="stable")[:ENTRANTS].tolist()
            fresh = [sources[i] for i in order if scores[i] > allowed]
            if fresh:
                reduced.enter(fresh)
            elif tol == finest:
                finest /= 3

    def _judge(
        self,
        problem: Problem,
        reduced: Reduced,
        solution: DualSolution,
        norm: float,
        sums_below: ListedSums | ProductSums,
    ) -> tuple[list[Product], Array, Certificate]:
        """Return the sources of the active set, the sums below them, and the certificate."""
        sources = self.grid.sources(set(reduced.nodes))
        sums = sums_below(solution.alpha, sources) if sources else np.zeros(0)
        largest = max(norm, float(sums.max(initial=0.0)))
        return sources, sums, from_norm(problem, solution, largest, "exact")
