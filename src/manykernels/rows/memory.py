"""Rows in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ..arrays import Array
from ..backend import on_host
from ..bases import Bases
from ..families import KernelFamily, StandardizedFamily, TrainingSpreads
from ..function import Predictor, make_predictor, scaled, without_shares
from ..kernels import KernelSet, resolve
from ..limits import ONE_THREAD_ROWS
from ..memory import room_beside
from ..objective import Problem
from ..passes.base import LIGHT_FOLDS
from ..solvers import (
    Callback,
    DualPoint,
    Greedy,
    Result,
    Slot,
    Solver,
    WidthSearch,
    at_no_effect,
    describe,
    growing,
    match,
    run,
    unpenalised,
)
from ..solvers.nested import Part, run_on_subsets
from ..spec import Spec, StopRule
from .distinct import Gathered, distinct
from .refusals import refuse_overflow, refuse_systems, refuse_wide
from .scaling import fitted_scaler

LACKING = (
    "every fold must train on all classes; got one whose training rows lack a class. "
    "Merge or leave out classes of few rows; of MKLClassifierCV cv=StratifiedKFold(...) or fewer "
    "folds may do."
)


@dataclass(frozen=True)
class MemoryRows:
    """Rows in memory.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, n_columns)
        The rows; values between rows where ``pairwise``.
    y : ndarray of shape (n, c)
        Targets, less ``centre``.
    weights : ndarray of shape (n,)
        Sample weights.
    classes : ndarray
        The classes, empty for real targets.
    names : list of str
        Names of the columns.
    centre : float
        What was subtracted from the targets.
    place : object
        Where the work is done.
    pairwise : bool
        Whether X holds the values of a kernel between its rows.
    groups : ndarray of int, optional
        The group of each row: rows of one are never trained and validated on at once.
    ordered : bool
        Whether rows are in the order of time: one validates on later ones.
    """

    X: Any
    y: Array
    weights: Array
    classes: Array
    names: list[str]
    centre: float
    place: Any
    pairwise: bool = False
    groups: Array | None = None
    ordered: bool = False

    in_memory = True

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def threads(self) -> AbstractContextManager[Any]:
        """Limit BLAS to one thread where the matrix products of a fit are too small for more."""
        few = self.X.shape[0] <= ONE_THREAD_ROWS
        return threadpool_limits(1, user_api="blas") if few else nullcontext()

    def for_splitter(self) -> tuple[Array, Array]:
        """Return the rows, and targets or class numbers."""
        return self.X, self.y[:, 0] if self.y.shape[1] == 1 else self.y.argmax(axis=1)

    def split(self, train: Array, test: Array) -> tuple[MemoryRows, MemoryRows]:
        """Return the rows of a fold to train on and those left out."""
        inside, outside = self._some(train, train), self._some(test, train)
        live = inside.y[inside.weights > 0]
        if not len(live) or not np.any(outside.weights > 0):
            raise ValueError(LIGHT_FOLDS)
        if len(self.classes) and np.any(np.ptp(live, axis=0) == 0):
            raise ValueError(LACKING)
        return inside, outside

    def _some(self, rows: Array, columns: Array) -> MemoryRows:
        X = self.X[rows][:, columns] if self.pairwise else self.X[rows]
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=X, y=self.y[rows], weights=self.weights[rows], groups=groups)

    def distinct(self) -> MemoryRows:
        """Return the rows with those of the same values and targets as one; see ``distinct.py``.

        Rows in the order of time stay in it.
        """
        own = distinct(self.X, self.y, self.weights)
        if self.ordered:
            own = own.take(np.argsort(own.first))
        return replace(self._some(own.first, own.first), weights=own.weights)

    def affordable(self, spec: Spec) -> Spec:
        """Return the specification with a degree priced in seconds, where it is free."""
        return spec.on_rows(self.count, len(self.names))

    def prepare(self, spec: Spec, degree: int) -> MemoryPrepared:
        """Standardise the columns of the rows of positive weight and fit the base kernels.

        Where widths are learnt, rows of the same values and targets are one.
        """
        kernels = resolve(spec.kernels, self.names, degree)
        if kernels.free_widths:
            own = distinct(self.X, self.y, self.weights)
        else:
            live = self.weights > 0
            some, owners = np.flatnonzero(live), np.maximum(np.cumsum(live) - 1, 0)
            own = Gathered(some, self.weights[some], owners, live * 1.0, np.zeros(len(some)))
        used, whole = own.first, not kernels.free_widths and len(own.first) == len(self.y)
        rows = self.X if whole else self.X[used]
        weights = own.weights / own.weights.sum()
        kernels.use(used, self.X.shape)
        scaler = None
        if spec.scales and kernels.scales:
            scaler = fitted_scaler(rows, weights, spec.centres)
        room = spec.max_memory
        if on_host(self.place):  # a device has a memory of its own
            held = 2 * rows.data.nbytes if issparse(rows) else kernels.held_bytes(len(used))
            room = room_beside(held, kernels.explicit, spec.max_memory)
        bases = kernels.fit(scaled(scaler, rows), rows, weights, self.place)
        refuse_overflow(bases, degree, kernels.names)
        return MemoryPrepared(self, own, kernels, scaler, bases, self.y[used], weights, room)


@dataclass(frozen=True)
class MemoryPrepared:
    """Rows in memory with their base kernels.

    Attributes
    ----------
    rows : MemoryRows
        All rows.
    gathered : Gathered
        Those of positive weight, or what they were taken together to; all that follows is of these.
    kernels : KernelSet
        The base kernels, fitted.
    scaler : StandardScaler or None
        How columns were standardised.
    bases : FeatureBlocks or GramStack
        The base kernels on the rows.
    y : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Sample weights, adding up to one.
    room : int
        Bytes that solvers may hold beside the base kernels.
    """

    rows: MemoryRows
    gathered: Gathered
    kernels: KernelSet
    scaler: StandardScaler | None
    bases: Bases
    y: Array
    weights: Array
    room: int

    def take(self, rows: Array) -> MemoryPrepared:
        """Return some of the rows of the fit, given by their numbers among these.

        Columns and base kernels stay as they were fitted to all of them.
        """
        bases: Any = self.bases
        weights = self.weights[rows] / self.weights[rows].sum()
        own = self.gathered.take(rows)
        return replace(self, gathered=own, bases=bases.take(rows), y=self.y[rows], weights=weights)

    def fits(self, spec: Spec, degree: int, p: float) -> MemoryFits:
        """Return the fits of a degree and an exponent."""
        problem = self.problem(spec, p)
        family = spec.family(self.bases, self.kernels, degree, p)
        family.room = self.room
        if spec.standardizes(problem, family):
            spreads = TrainingSpreads(family, self.weights, spec.intercept)
            family = StandardizedFamily(family, spreads)
        family.room = self.room
        if p < 2:
            refuse_wide(family, degree)
        part = None
        if spec.subsample is not None:
            part = partial(self.part, replace(spec, subsample=None), degree, p)
        own = self, family, problem, self.rows.centre, spec.verbose
        return MemoryFits(*own, spec.compared, part)

    def part(self, spec: Spec, degree: int, p: float, rows: Array) -> MemoryFits:
        """Return the fits of a degree and an exponent to some of the rows."""
        return self.take(rows).fits(spec, degree, p)

    def problem(self, spec: Spec, p: float) -> Problem:
        """Return the problem; of strength one where the strength is to be chosen."""
        strength = spec.strength if np.isfinite(spec.strength) else 1.0
        copies = self.gathered.copies
        return Problem(self.y, self.weights, spec.loss, strength, p, spec.intercept, copies)

    def dual(self, alpha: Array) -> Array:
        """Return dual variables of all rows, zero for those of no weight."""
        return alpha[self.gathered.owners] * self.gathered.shares[:, None]


@dataclass(frozen=True)
class MemoryFits:
    """Models of one family of kernels on rows in memory; see :class:`~.base.Fits`.

    ``compared``: models are only compared with each other. ``part`` gives the same on some of the
    rows, where growing subsets are wanted.
    """

    prepared: MemoryPrepared
    family: KernelFamily
    problem: Problem
    centre: float
    verbose: int
    compared: bool = False
    part: Callable[[Array], MemoryFits] | None = None

    def start(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return the risk of the best constant, and the dual norm of the gradients there."""
        return at_no_effect(self.problem, self.family, rng)

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
        """Return the model of a strength."""
        problem = replace(self.problem, strength=strength)
        found = match(solver, problem, self.family)
        if on_host(self.prepared.rows.place):
            refuse_systems(found, self.family)
        if self.compared and isinstance(found, WidthSearch):
            found = replace(found, certified=False)
        if self.verbose >= 2:
            sys.stderr.write(f"{describe(found, problem, self.family)}\n")
        limits = stop.max_iter, stop.tol, stop.max_time
        if self.part is None or start is not None or not hasattr(found, "resume"):
            return run(found, problem, self.family, rng, *limits, callback, start, slot)
        whole, part = Part(problem, self.family), self.part
        return run_on_subsets(
            found, whole, lambda rows: part(rows).family, rng, *limits, callback, slot
        )

    def refit(self, result: Result) -> Result:
        """Return the model of the same kernels without a penalty."""
        return unpenalised(self.problem, self.family, result)

    def grow(
        self, greedy: Greedy, stop: StopRule, rng: np.random.Generator, slot: Slot | None = None
    ) -> Iterator[Result]:
        """Yield the models of 0, 1, 2, ... terms."""
        match(greedy, self.problem, self.family)
        limits = stop.max_iter, stop.max_time
        return growing(greedy, self.problem, self.family, *limits, rng, slot)

    def judge(self, rows: MemoryRows) -> HeldOut:
        """Return a function from models to their losses on other rows and predictions there."""
        return HeldOut(self, rows)

    def predictor(self, result: Result) -> Predictor:
        """Return the learnt function of a model."""
        learnt = make_predictor(self.family, result, self.problem.weights, self.problem)
        return replace(learnt, intercept=learnt.intercept + self.centre)


class HeldOut:
    """What other rows add to the mean loss of the models of one path, and predictions there."""

    def __init__(self, fits: MemoryFits, rows: MemoryRows) -> None:
        self.fits, self.rows = fits, rows
        self.scaled = scaled(fits.prepared.scaler, rows.X)

    def bases(self, used: Collection[int] | None = None) -> Bases:
        """Return the base kernels on the rows, at least those used, by default all."""
        return self.fits.prepared.kernels.on(self.scaled, self.rows.X, self.rows.place, used)

    @cached_property
    def all_bases(self) -> Bases:
        """All base kernels on the rows."""
        return self.bases()

    def __call__(self, result: Result) -> tuple[Array, Array]:
        """Return what each row adds to the mean loss, and decision values of shape (n_new, c)."""
        solution, problem = result.solution, self.fits.problem
        family = self.fits.family
        whole = family.listable and len(result.indices) == family.distinct
        expanded = not (solution.in_features or result.closed)
        if expanded and whole and result.indices is family.indices():
            there = family.on(self.all_bases)
            if isinstance(result.memory, DualPoint):
                values = result.memory.on(there)
            else:
                values = family.expansion_of_all(result.theta, solution.coefficients, there)
            values = values + solution.intercept
        else:
            learnt = without_shares(family, result, 0.0)
            used: frozenset[int] = frozenset()
            # Kernels learnt from rows are made where they are used, unless most of them are.
            some = self.fits.prepared.kernels.learns and not result.closed
            if some:
                used = frozenset(chain.from_iterable(family.products(result.indices)))
                some = solution.in_features or 2 * len(used) < family.bases.count
            values = learnt.decision(self.bases(used) if some else self.all_bases)
        held = self.rows.weights / (self.rows.weights.sum() or 1.0)
        losses = held * problem.loss.value(self.rows.y, values).sum(axis=1)
        return losses, values + self.fits.centre
