"""Greedy selection: one kernel after another, all coefficients fitted anew each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, ClassVar

import numpy as np

from .. import deadline
from ..arrays import Array, Index
from ..backend import to_host
from ..certificate import NO_CERTIFICATE
from ..dual import DualSolution
from ..families import KernelFamily
from ..families.pricing import pricer
from ..objective import Problem, in_weights
from .base import FinalState, Needs, refuse_matrices, refuse_settings
from .least_squares import UnpenalisedFit, fit_of

POOL_SHARE = 0.8
"""Least gain of a candidate of the pool, as a share of the best gain when the pool was priced and
both relative to what is left to explain: below it the family is priced anew. Set by judgement,
not measured."""

ROUNDED_RESIDUAL = 1e-28
"""Share of the target's sum of squares up to which a residual is rounding and selection ends. Set
by judgement, not measured."""


@dataclass(frozen=True)
class Greedy:
    r"""Fully corrective greedy selection from a family of kernels with features.

    The kernel whose features explain most of what is left enters: the one of largest
    :math:`g_i/\sigma_i^2`, with :math:`\sigma_i^2` the variance of its features and the scale
    factors as a prior. Then all coefficients are fitted anew, without any penalty but a slight one
    where they separate classes. For the squared loss this is orthogonal matching pursuit over a
    dictionary that is never made.

    One pricing of the family serves several choices: its best ``pool`` kernels are followed
    exactly as the fit changes, and the next one is taken from among them while it explains
    nearly as large a share of what is left as the first one did.

    Parameters
    ----------
    terms : int, default=20
        Number of kernels to choose. Fewer are chosen if nothing is left to explain.
    pool : int, default=100
        Kernels that one pricing yields; 1 prices the family for every choice.
    """

    terms: int = 20
    pool: int = 100
    needs: ClassVar[Needs] = Needs(
        smooth=True, features=True, priced=True, title="greedy selection"
    )

    def __post_init__(self) -> None:
        refuse_settings(self, {"terms": 0, "pool": 1})

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        until: float | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[FinalState]:
        """Yield the model before each choice.

        What is kept are the kernels that each pricing has found: with them all models are made
        again, those before number ``k`` without being yielded, and the family is not priced.
        After ``until``, by default when the time of the fit is over, a choice is made among the
        kernels that have been looked at: one look at billions of them takes minutes.

        Cost of a choice: O(n m) for m features in the pool and in the model; one pricing, in
        single precision, every few choices.
        """
        if not family.explicit:
            refuse_matrices(self.needs.title)
        until = deadline.current().over if until is None else until
        fit = fit_of(problem)
        price = pricer(family, problem.weights, 32, problem.intercept)
        everything = float(np.sum(problem.weights[:, None] * problem.y**2))
        chosen: list[Index] = []
        refused: set[Index] = set()
        pool, floor = EMPTY, 0.0
        pools: list[list[Index]] = [] if kept is None else kept["pools"]
        used = 0
        for k in count(1):
            if kept is None or k >= kept["k"]:
                model = selection(k, family, chosen, fit.solution())
                yield replace(model, kept=partial(_kept, k, pools))
            while True:
                if len(chosen) >= self.terms or fit.scale <= ROUNDED_RESIDUAL * everything:
                    return
                best, score = pool.best(fit)
                if not score > floor * fit.scale:
                    if used == len(pools):
                        taken = {*chosen, *refused}
                        listed = price.top(fit.pull(), self.pool + len(taken), until=until)
                        fresh = [index for index in listed.indices if index not in taken]
                        pools.append(fresh[: self.pool])
                    pool = pool_of(family, pools[used], fit)
                    used += 1
                    best, score = pool.best(fit)
                    floor = POOL_SHARE * score / fit.scale
                if not score > 0:
                    return
                index = pool.indices[best]
                added = fit.add(features_of(family, [index])[0])
                pool = pool.without(best, fit)
                if added:
                    break
                refused.add(index)
            chosen.append(index)


def _kept(k: int, pools: list[list[Index]]) -> dict[str, Any]:
    """Return what the choices go on from: what pricings have found."""
    return {"k": k, "pools": pools}


def debiased(problem: Problem, family: KernelFamily, indices: Sequence[Index]) -> FinalState:
    """Return the model of given kernels without a penalty, less those that add nothing."""
    fit = fit_of(problem)
    chosen = [index for index in indices if fit.add(features_of(family, [index])[0])]
    return selection(len(chosen) + 1, family, chosen, fit.solution())


@dataclass(frozen=True)
class Pool:
    """Candidates: kernels, their columns as the fit wants them, and the first column of each.

    ``priors`` are what their gains are multiplied by: smaller where the scale factor is larger.
    """

    indices: list[Index]
    prepared: Array
    starts: Array
    priors: Array

    def best(self, fit: UnpenalisedFit) -> tuple[int, float]:
        """Return the position of the candidate that would explain most, and its score."""
        if not self.indices:
            return 0, 0.0
        gains = fit.gains(self.prepared, self.starts) * self.priors
        best = int(np.argmax(gains))
        return best, float(gains[best])

    def without(self, position: int, fit: UnpenalisedFit) -> Pool:
        """Return the others after one has been added to the fit, or refused."""
        ends = np.append(self.starts, self.prepared.shape[1])
        start, stop = ends[position], ends[position + 1]
        prepared = np.delete(self.prepared, slice(start, stop), axis=1)
        starts = np.delete(self.starts, position)
        starts[position:] -= stop - start
        indices = self.indices[:position] + self.indices[position + 1 :]
        return Pool(indices, fit.update(prepared), starts, np.delete(self.priors, position))


EMPTY = Pool([], np.empty((0, 0)), np.empty(0, dtype=int), np.empty(0))


def features_of(family: KernelFamily, indices: Sequence[Index]) -> tuple[Array, Array]:
    """Return features on the host, where the few that are fitted at a time are at home."""
    columns, owners = family.features(indices)
    return to_host(columns), owners


def pool_of(family: KernelFamily, indices: Sequence[Index], fit: UnpenalisedFit) -> Pool:
    """Return candidates as they are now."""
    columns, owners = features_of(family, indices)
    starts = np.searchsorted(owners, np.arange(len(indices)))
    return Pool(list(indices), fit.prepare(columns), starts, family.unmerged_weights(indices))


def selection(
    k: int, family: KernelFamily, chosen: Sequence[Index], solution: DualSolution
) -> FinalState:
    """Return a model as weights and a predictor in the space they give."""
    theta, scaled = in_weights(solution.coefficients, family.owners(chosen))
    there = replace(solution, coefficients=scaled)
    return FinalState(k, (list(chosen), theta), len(chosen), there, NO_CERTIFICATE)
