"""Where terms come from: the path of models on some rows, or the parts of a model of widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import comb
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from ..arrays import Array, Index
from ..backend import approximately, to_host
from ..estimators.base import specification
from ..families.pricing import pricer
from ..fitting.crossval import sizes_of
from ..function import Function, without_shares
from ..function.terms import OTHERS
from ..kernels import uses_maps
from ..limits import PATH_FEATURES
from ..losses import SmoothLoss
from ..registry import AUTO
from ..rows import MemoryPrepared
from ..solvers import Result
from ..spec import Search, Spec, Widths
from .groups import correlations

PATH_STRENGTHS = 49
"""Strengths of the path on some rows, over six decades: twice as fine as that of cross-validation,
so that few terms enter at once. Set by judgement, not measured."""

PATH_TOL = 3.0
"""Tolerance of the models of that path, of which only the terms count, relative to that of the
estimator. Set by judgement, not measured."""

LIKES = 200
"""Terms of the whole family that are compared with the first one of a group. Set by judgement."""


GROUP_FEATURES = 4
"""Features of a term that correlations between terms are taken of: the leading ones. Set by
judgement, not measured."""

GROUP_ROWS = 2_000
"""Rows that correlations between terms are taken of at the most. Set by judgement."""


@dataclass(frozen=True)
class Picked:
    """A term that some rows selected.

    Attributes
    ----------
    name : str
        Its name.
    kernels : tuple of Index
        Its kernels; none for a part of a model of widths.
    values : ndarray of shape (n, c) or None
        Such a part on all rows.
    coefficients : ndarray of shape (m, c) or None
        Coefficients of the kernels' features in the model of the rows that selected them.
    """

    name: str
    kernels: tuple[Index, ...] = ()
    values: Array | None = None
    coefficients: Array | None = None


@dataclass(frozen=True)
class Picks:
    """What some rows selected.

    Attributes
    ----------
    terms : list of Picked
        The terms, those that entered first before.
    rest : ndarray of shape (n, m)
        Further features on all rows that terms are to be judged beside.
    """

    terms: list[Picked]
    rest: Array


class TermSource(Protocol):
    """Selects terms on some rows, and knows their features on all."""

    @property
    def prepared(self) -> MemoryPrepared:
        """All rows of positive weight."""

    @property
    def count(self) -> float:
        """Number of terms to select from."""

    def pick(self, rows: Array, q: int, seed: int) -> Picks:
        """Return the first q terms, at the most, that some rows select."""

    def features(self, terms: Sequence[Picked], most: int, rows: Array) -> list[Array]:
        """Return features of terms on some rows, the leading ones if there are more than most."""

    def correlations(self, terms: Sequence[Picked]) -> Array:
        """Return how much terms go together, between 0 and 1, of shape (terms, terms)."""

    def likes(self, term: Picked, limit: float) -> list[Picked]:
        """Return terms of the whole family that may correlate with a term by a limit or more."""


def selecting(estimator: Any) -> Spec:
    """Return the specification of an estimator, or of one like it that selects terms.

    With p > 1 every kernel has a weight. Then terms are selected greedily; with p = 1 if the loss
    has kinks, or if kernels have several features: those of many features explain most of what is
    noise where nothing is penalised.
    """
    spec = specification(estimator)
    if spec.alternatives:  # functions of columns have terms, and need no choice
        return next(one for one in spec.alternatives if one.label == AUTO)
    selects = spec.greedy is not None or 1.0 in spec.exponents
    if selects or isinstance(spec.family, Widths):
        return spec
    penalised = uses_maps(spec.kernels) or not isinstance(spec.loss, SmoothLoss)
    changes = {"p": 1.0, "solver": "auto"} if penalised else {"p": None, "solver": "greedy"}
    other = clone(estimator).set_params(**changes)
    vars(other).update({name: one for name, one in vars(estimator).items() if name == "encoder_"})
    return specification(other)


def source_of(spec: Spec, prepared: MemoryPrepared) -> TermSource:
    """Return where the terms of a specification come from."""
    if isinstance(spec.family, Widths):
        return WidthTerms(spec, prepared)
    return PathTerms(spec, prepared)


@dataclass(frozen=True)
class PathTerms:
    """Terms in the order in which they enter a path: of p = 1, or of greedy selection.

    All kernels of one name are a term. ``axes`` are principal axes of features, kept once made.
    """

    spec: Spec
    prepared: MemoryPrepared
    axes: dict[tuple[Index, ...], Array] = field(default_factory=dict)

    @property
    def degree(self) -> int:
        """Largest number of factors."""
        return max(self.spec.degrees)

    def _family(self, rows: Array) -> Any:
        """Return the kernels on some rows."""
        return self.prepared.take(rows).fits(self.spec, self.degree, 1.0).family

    @property
    def count(self) -> float:
        """Number of terms: of kernels, but for the constant, or of sets of variables."""
        names = self.prepared.kernels.names
        distinct = len(set(names))
        if distinct < len(names):
            return float(sum(comb(distinct, d) for d in range(1, self.degree + 1)))
        return max(1.0, approximately(self._family(np.arange(1)).distinct) - 1)

    def pick(self, rows: Array, q: int, seed: int) -> Picks:
        """Return the first terms of the path on some rows.

        Of the terms that enter at the same strength those of larger weight come first. A path of
        greedy selection costs a few pricings of the family, one of p = 1 a few for each strength.
        """
        part = self.prepared.take(rows)
        fits = part.fits(self.spec, self.degree, 1.0)
        entered: dict[str, list[Index]] = {}
        for result in self._path(fits, q, np.random.default_rng(seed)):
            order = range(len(result.indices))
            if self.spec.greedy is None:
                order = np.argsort(-result.theta, kind="stable").tolist()
            for place in order:
                index = result.indices[place]
                name = fits.family.name(index)
                if index and index not in entered.setdefault(name, []):
                    entered[name].append(index)
            entered = {name: kernels for name, kernels in entered.items() if kernels}
            if len(entered) >= q:
                break
        terms = [Picked(name, tuple(kernels)) for name, kernels in entered.items()][:q]
        if terms and not fits.family.blocks.single:
            terms = with_coefficients(terms, fits.family, result)
        return Picks(terms, np.empty((len(self.prepared.y), 0)))

    def _path(self, fits: Any, q: int, rng: np.random.Generator) -> Iterator[Result]:
        spec = self.spec
        if spec.greedy is not None:
            yield from fits.grow(replace(spec.greedy, terms=4 * q), spec.stop, rng)
            return
        search = Search(None, PATH_STRENGTHS, None, False, False, None)
        stop = replace(spec.stop, tol=PATH_TOL * spec.stop.tol)
        last: Result | None = None
        for strength in sizes_of(replace(spec, search=search), fits, rng).tolist():
            last = fits.solve(spec.solver, strength, stop, rng, last)
            if last.interrupted:
                raise KeyboardInterrupt
            yield last
            if len(last.solution.coefficients) > PATH_FEATURES:
                return

    def features(self, terms: Sequence[Picked], most: int, rows: Array) -> list[Array]:
        """Return features of terms on some rows, all of them or the most important ones.

        If there are too many: the function that the rows that selected a term made of it, if known,
        and then the leading principal ones. Their axes are those of all rows, or of some drawn
        from all: no target has a part in them.
        """
        family, out = self._family(rows), []
        for term in terms:
            columns = to_host(family.features(list(term.kernels))[0])
            if columns.shape[1] > most:
                known = np.empty((columns.shape[1], 0))
                if term.coefficients is not None:
                    known = term.coefficients[:, :most]
                axes = self._axes(term, most - known.shape[1])
                columns = columns @ np.hstack([known, axes])
            out.append(columns)
        return out

    def _axes(self, term: Picked, most: int) -> Array:
        """Return the leading principal axes of a term's features; O(n m^2) for m features."""
        if term.kernels not in self.axes:
            rows, weights = some_rows(self.prepared.weights)
            columns = to_host(self._family(rows).features(list(term.kernels))[0])
            centred = (columns - weights @ columns) * np.sqrt(weights)[:, None]
            self.axes[term.kernels] = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        return self.axes[term.kernels][:, :most]

    def correlations(self, terms: Sequence[Picked]) -> Array:
        """Return how much terms go together.

        Variables with several kernels, smooth ones and finer ones, stand with the first each: which
        of them some rows select is by chance, and so would be the correlations of terms.
        """
        names = self.prepared.kernels.names
        typical = list(terms)
        if len(set(names)) < len(names):
            first = [names.index(name) for name in names]
            factors = self._family(np.arange(1)).factors
            for place, term in enumerate(terms):
                used = {first[j] for index in term.kernels for j in factors(index)}
                typical[place] = Picked(term.name, (tuple(sorted(used)),))
        rows, weights = some_rows(self.prepared.weights)
        return correlations(self.features(typical, GROUP_FEATURES, rows), weights)

    def likes(self, term: Picked, limit: float) -> list[Picked]:
        """Return the terms whose kernels price highest where the term is what is to be explained.

        For kernels of one feature these are those of highest correlation, by one pricing.
        """
        rows, weights = some_rows(self.prepared.weights)
        family = self._family(rows)
        target = self.features([term], 1, rows)[0]
        centred = weights[:, None] * (target - weights @ target)
        least = limit**2 * float(np.sum(centred * target)) if family.blocks.single else 0.0
        found = pricer(family, weights, 64, True).top(centred, LIKES, 0.999 * least)
        return [Picked(family.name(index), (index,)) for index in found.indices if index]


@dataclass(frozen=True)
class WidthTerms:
    """Terms of models with free widths: the components of their functional ANOVA."""

    spec: Spec
    prepared: MemoryPrepared

    order = 3  # most columns of a component

    @property
    def count(self) -> float:
        """Number of components that are looked at: sets of up to three columns."""
        columns = len(self.prepared.kernels.names)
        return float(sum(comb(columns, d) for d in range(1, self.order + 1)))

    def pick(self, rows: Array, q: int, seed: int) -> Picks:
        """Return the components of largest share of a model of some rows, and the rest of it."""
        spec, part = self.spec, self.prepared.take(rows)
        share = len(rows) / len(self.prepared.y)
        strength = spec.strength / share
        fits = part.fits(spec, max(spec.degrees), 1.0)
        result = fits.solve("auto", strength, spec.stop, np.random.default_rng(seed))
        if result.interrupted:
            raise KeyboardInterrupt
        learnt = fits.predictor(result)
        function = Function(part.kernels, part.scaler, learnt, part.rows.classes)
        names = [name for name in function.terms.names if name != OTHERS][:q]
        everywhere: Any = self.prepared.bases
        outputs = range(self.prepared.y.shape[1])
        frames = [function.terms.contributions(everywhere, names, output) for output in outputs]
        terms = [
            Picked(name, values=np.column_stack([frame[name] for frame in frames]))
            for name in names
        ]
        left = learnt.decision(everywhere)
        if names:  # without terms there are no contributions
            left -= np.column_stack([frame.to_numpy().sum(axis=1) for frame in frames])
        return Picks(terms, left)

    def features(self, terms: Sequence[Picked], most: int, rows: Array) -> list[Array]:
        """Return the components on some rows."""
        return [term.values[rows] for term in terms if term.values is not None]

    def correlations(self, terms: Sequence[Picked]) -> Array:
        """Return how much components go together."""
        rows, weights = some_rows(self.prepared.weights)
        return correlations(self.features(terms, GROUP_FEATURES, rows), weights)

    def likes(self, term: Picked, limit: float) -> list[Picked]:
        """Return none: other components are known only where a model has them."""
        return []


def with_coefficients(terms: list[Picked], family: Any, result: Result) -> list[Picked]:
    """Return terms with the coefficients of their features in a model, zero if they left it."""
    learnt = without_shares(family, result, 0.0).without_rows()
    assert learnt.coefficients is not None
    owners = family.owners(learnt.indices)
    places = {index: i for i, index in enumerate(learnt.indices)}
    out = []
    for term in terms:
        parts = [
            learnt.coefficients[owners == places[index]]
            if index in places
            else np.zeros((width, learnt.coefficients.shape[1]))
            for index, width in zip(term.kernels, family.widths(term.kernels), strict=True)
        ]
        out.append(replace(term, coefficients=np.vstack(parts)))
    return out


def some_rows(weights: Array) -> tuple[Array, Array]:
    """Return rows for correlations, all or some drawn at random, and their weights."""
    count = len(weights)
    rows = np.arange(count)
    if count > GROUP_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(count, GROUP_ROWS, replace=False))
    return rows, weights[rows] / weights[rows].sum()


def together(terms: list[list[Picked]]) -> dict[str, Picked]:
    """Return each term once, with all kernels that some rows selected."""
    found: dict[str, Picked] = {}
    for term in chain.from_iterable(terms):
        known = found.get(term.name)
        if known is None:
            found[term.name] = replace(term, coefficients=None)
        elif term.values is not None:
            assert known.values is not None
            found[term.name] = replace(known, values=np.hstack([known.values, term.values]))
        else:
            kernels = tuple(dict.fromkeys((*known.kernels, *term.kernels)))
            found[term.name] = replace(known, kernels=kernels)
    return found
