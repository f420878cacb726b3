"""From weights and dual variables to predictions, kernels and shares of variance."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from ..arrays import Array, Index
from ..backend import times
from ..bases import TERMS, Bases, GramStack, WidthRows
from ..families import KernelFamily
from ..objective import Problem, weights_of
from ..solvers import Result
from .importance import measure, members, together

MOST_PARTS = 2_000
"""Most terms of one feature whose values on all training rows are made one after another: some
0.1 s. The loss without one is not computed for more."""


def scaled(scaler: StandardScaler | None, X: Array) -> Array:
    """Return standardised rows; ``scaler`` is None where columns stay as they are."""
    if scaler is None:
        return X
    if sparse.issparse(X):
        return scaler.transform(X)
    # One copy, column by column as features are held.
    return scaler.transform(np.array(X, order="F"), copy=False)


class Learnt(Protocol):
    """A learnt function of base kernels; a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def intercept(self) -> Array:
        """The constants, of shape (c,)."""

    def decision(self, bases: Bases) -> Array:
        """Return the function on new rows, of shape (n_new, c)."""

    def kernel(self, left: Bases, right: Bases) -> Array:
        """Return the learnt kernel between two sets of rows."""


@dataclass(frozen=True)
class Predictor:
    r"""A learnt function :math:`\sum_t \alpha_t \kappa_\theta(x_t, \cdot) + b`.

    With explicit features it is kept as coefficients of features and needs no training rows.

    Attributes
    ----------
    family : KernelFamily
        The kernels; on the training rows, or on none if they are not needed.
    indices : sequence of Index
        Kernels in use.
    theta : ndarray
        Their weights.
    closed : bool
        Whether the kernel is the sum of the whole family.
    expansion : ndarray of shape (n, c), optional
        Coefficients of the training rows in the expansion of the function in its kernel.
    intercept : ndarray of shape (c,)
        Constants.
    coefficients : ndarray of shape (m, c), optional
        Coefficients of the features :math:`\phi_i/\rho_i` of the kernels in use.
    shares : ndarray
        Share of each kernel in use in the variance of the function over the training rows.
    spreads, losses : ndarray, optional
        Of the term that each kernel in use belongs to: see
        :mod:`~manykernels.function.importance`. None where they were not measured, for instance in
        model files of earlier versions.
    terms : list of ndarray, optional
        Coefficients of the features of spline terms beside kernels with widths, in place of their
        expansion over the training rows; see :meth:`~manykernels.bases.TermRows.coefficients`.
    """

    family: KernelFamily
    indices: Sequence[Index]
    theta: Array
    closed: bool
    expansion: Array | None
    intercept: Array
    coefficients: Array | None
    shares: Array
    terms: list[Array] | None = None
    spreads: Array | None = None
    losses: Array | None = None

    def decision(self, bases: Bases) -> Array:
        """Return the function on new rows, of shape (n_new, c); O(n_new m) with m features."""
        if self.terms is not None:
            assert isinstance(bases, WidthRows)
            assert bases.terms is not None
            return self._widths().decision(bases) + bases.terms.expansion(self.terms)
        if isinstance(bases, WidthRows) and isinstance(self.family.bases, WidthRows):
            bases = bases.next_to(self.family.bases)
        here = self.family.on(bases)
        if self.coefficients is None:
            assert self.expansion is not None
            return times(self._gram(here, self.family), self.expansion) + self.intercept
        return here.combine(self.indices, self.coefficients) + self.intercept

    def _widths(self) -> Predictor:
        """Return the function without its spline terms."""
        own = [i for i, index in enumerate(self.indices) if index != TERMS]
        indices = [self.indices[i] for i in own]
        return replace(self, indices=indices, theta=self.theta[own], terms=None)

    def parts(self, bases: Bases, groups: Array, count: int, output: int) -> Array:
        """Return the parts of the function that groups of kernels have, on new rows.

        Parameters
        ----------
        bases : FeatureBlocks or GramStack
            The base kernels on the rows.
        groups : ndarray of int, one for each kernel in use
            The group of each; those below zero are left out.
        count : int
            Number of groups.
        output : int
            Which output.

        Returns
        -------
        ndarray of shape (n_new, count)
            With all kernels in some group the parts and the intercept add up to
            :meth:`decision`, unless the kernel is a sum in closed form. O(n_new m) with m
            features, O(n_new n) for each kernel without.
        """
        out = np.zeros((bases.rows, count))
        wanted = np.flatnonzero(groups >= 0)
        here = self.family.on(bases)
        if self.coefficients is None:
            assert self.expansion is not None
            for i in wanted.tolist():
                gram = here.gram([self.indices[i]], self.theta[i : i + 1], self.family)
                out[:, groups[i]] += times(gram, self.expansion[:, output])
            return out
        offsets = np.concatenate([[0], np.cumsum(self.family.widths(self.indices))])
        for i in wanted.tolist():
            own = self.coefficients[offsets[i] : offsets[i + 1], [output]]
            out[:, groups[i]] += here.combine([self.indices[i]], own)[:, 0]
        return out

    def without_rows(self) -> Predictor:
        """Return the same function by coefficients of features, if there are any; O(n m)."""
        if self.expansion is None or self.closed or not self.family.explicit:
            return self
        family = self.family.without_rows(self.indices)
        whole = inner_of(self.family, self.indices, self.expansion)
        if whole is None:
            whole = self.family.inner(self.indices, self.expansion)
        coefficients = self.theta[self.family.owners(self.indices), None] * whole
        return replace(self, family=family, expansion=None, coefficients=coefficients)

    def kernel(self, left: Bases, right: Bases) -> Array:
        """Return the learnt kernel between two sets of rows.

        Gram matrices hold the values between both sets already, and ``right`` is not used.
        """
        return self._gram(self.family.on(left), self.family.on(right))

    def _gram(self, here: KernelFamily, there: KernelFamily) -> Array:
        if self.closed:
            return here.closed(there)
        return here.gram(self.indices, self.theta, there)


@dataclass(frozen=True)
class Unweighted(Predictor):
    r"""A function of very many kernels whose weights are made only when they are asked for.

    Attributes
    ----------
    gradient_power : float
        Power of the gradients at the expansion's coefficients that weights are proportional to;
        see :class:`~manykernels.solvers.Result`.
    """

    gradient_power: float = 1.0

    def weighted(self) -> Predictor:
        """Return the function with its weights."""
        assert self.expansion is not None
        theta = weights_of(self.family.at(self.expansion).all(), self.gradient_power)
        fields = {name: getattr(self, name) for name in Predictor.__dataclass_fields__}
        return Predictor(**{**fields, "theta": theta, "shares": np.full(len(theta), np.nan)})

    def decision(self, bases: Bases) -> Array:
        """Return the function on new rows."""
        return self.weighted().decision(bases)

    def without_rows(self) -> Predictor:
        """Return the function by coefficients of features."""
        return self.weighted().without_rows()


def make_predictor(
    family: KernelFamily, result: Result, weights: Array, problem: Problem | None = None
) -> Predictor:
    r"""Order the kernels by their importance and keep what predictions need.

    With a problem spreads and losses of terms are measured, and kernels are in the order of the
    spreads; without one in that of their shares.

    The share of kernel i is :math:`\mathrm{Cov}(f_i, f)/\mathrm{Var}(f)` over the (weighted)
    training rows, where :math:`f_i` is its part of the function: shares add up to one, and
    one below zero belongs to a part that works against the others. O(n) for each feature, O(n^2)
    for each kernel without features.
    """
    solution = result.solution
    centred = solution.fitted - weights @ solution.fitted
    weighted = weights[:, None] * centred
    variance = float(np.sum(weighted * centred))
    indices, theta = result.indices, result.theta
    terms = together(family, indices)
    measured: tuple[Array | None, Array | None] = None, None
    coefficients = owners = None
    if isinstance(family.bases, WidthRows):
        return _by_weight(without_shares(family, result, 0.0))
    if family.explicit:
        coefficients, owners, covariances = _features(family, result, weighted)
        if problem is not None:
            measured = _measured(family, result, coefficients, terms, problem)
    else:
        covariances = np.zeros(len(indices))
        parts = _parts_of_matrices(family, result, members(terms), weighted, covariances)
        if problem is not None:
            measured = measure(parts, terms.max(initial=-1) + 1, solution.fitted, problem)
        else:
            deque(parts, 0)
    spreads, losses = (None if one is None else one[terms] for one in measured)
    shares = covariances / variance if variance > 0 else np.zeros(len(indices))
    order = np.argsort(-(shares if spreads is None else spreads), kind="stable")
    if coefficients is not None:
        rank = np.empty(len(order), dtype=int)
        rank[order] = np.arange(len(order))
        coefficients = coefficients[np.argsort(rank[owners], kind="stable")]
    # Only features in a sum in closed form need their training rows; matrices bring theirs along.
    needed = result.closed and family.explicit
    kept = family if needed else family.without_rows(indices)
    return Predictor(
        family=kept,
        indices=[indices[i] for i in order.tolist()],
        theta=theta[order],
        closed=result.closed,
        expansion=None if solution.in_features else solution.coefficients,
        intercept=solution.intercept,
        coefficients=None if result.closed else coefficients,
        shares=shares[order],
        spreads=None if spreads is None else spreads[order],
        losses=None if losses is None else losses[order],
    )


def _measured(
    family: KernelFamily, result: Result, coefficients: Array, terms: Array, problem: Problem
) -> tuple[Array, Array | None]:
    """Return spread and loss without it of each term of a result, by coefficients of features."""
    indices, count = result.indices, terms.max(initial=-1) + 1
    ends = np.cumsum([0, *family.widths(indices)])
    if ends[-1] == len(terms) > MOST_PARTS and count == len(terms):
        # Values of thousands of terms are not made: a feature's spread, times its coefficient.
        scales = family.weights(indices)
        products: Any = family.products(indices)
        squares, means = family.blocks.mean_squares(products, scales, problem.weights)
        deviations = np.sqrt(np.maximum(squares - means, 0.0))
        return deviations * np.linalg.norm(coefficients, axis=1), None

    def part(places: Array) -> Array:
        chosen = [indices[i] for i in places.tolist()]
        own = [coefficients[ends[i] : ends[i + 1]] for i in places.tolist()]
        return family.combine(chosen, np.concatenate(own))

    return measure(map(part, members(terms)), count, result.solution.fitted, problem)


def _parts_of_matrices(
    family: KernelFamily,
    result: Result,
    groups: Sequence[Array],
    weighted: Array,
    covariances: Array,
) -> Iterator[Array]:
    """Yield what each group of kernels adds to the function on the training rows.

    Each kernel is looked at once: ``covariances`` gets that of its part with the function.
    """
    assert isinstance(family.bases, GramStack)
    order = np.concatenate([np.empty(0, dtype=int), *groups]).tolist()
    scales = result.theta * family.weights(result.indices)
    products = [family.factors(result.indices[place]) for place in order]
    values = family.bases.applied(products, result.solution.coefficients)
    for own in groups:
        total = np.zeros_like(weighted)
        for place in own.tolist():
            part = scales[place] * next(values)
            covariances[place] = np.sum(weighted * part)
            total += part
        yield total


def _by_weight(learnt: Predictor) -> Predictor:
    """Return a function whose kernels are in the order of their weights.

    Kernels with free widths overlap, so that a kernel has no share of its own: sets of columns have
    (:mod:`~manykernels.function.anova`).
    """
    order = np.argsort(-learnt.theta, kind="stable")
    indices = [learnt.indices[i] for i in order.tolist()]
    return replace(learnt, indices=indices, theta=learnt.theta[order])


def without_shares(family: KernelFamily, result: Result, centre: float) -> Predictor:
    """Return the function of a result, kernels in its order; shares of variance are NaN.

    For functions of which many are made and few are read. ``centre`` is added to the constants.
    O(m) for m features, unless the function is an expansion over the training rows.
    """
    solution, coefficients = result.solution, None
    if result.gradient_power is not None:
        return Unweighted(
            family=family,
            indices=result.indices,
            theta=np.empty(0),
            closed=False,
            expansion=solution.coefficients,
            intercept=solution.intercept + centre,
            coefficients=None,
            shares=np.empty(0),
            gradient_power=result.gradient_power,
        )
    if solution.in_features and not result.closed:
        roots = np.sqrt(result.theta)[family.owners(result.indices), None]
        coefficients = roots * solution.coefficients
    rows = coefficients is None and family.explicit
    terms = None
    if isinstance(family.bases, WidthRows) and TERMS in result.indices:
        assert family.bases.terms is not None
        own = result.indices.index(TERMS)
        weight = float(result.theta[own] * family.weights([TERMS])[0])
        terms = family.bases.terms.coefficients(weight * solution.coefficients)
    return Predictor(
        family=family if rows else family.without_rows(result.indices),
        indices=result.indices,
        theta=result.theta,
        closed=result.closed,
        expansion=None if solution.in_features else solution.coefficients,
        intercept=solution.intercept + centre,
        coefficients=coefficients,
        shares=np.full(len(result.indices), np.nan),
        terms=terms,
    )


def inner_of(family: KernelFamily, indices: Sequence[Index], alpha: Array) -> Array | None:
    """Return the inner products of features with dual variables, if kernels are all there are.

    None where they are not, or where there is no short way.
    """
    whole = family.listable and len(indices) == family.distinct
    return family.inner_of_all(alpha) if whole and indices is family.indices() else None


def _features(family: KernelFamily, result: Result, weighted: Array) -> tuple[Array, Array, Array]:
    """Return coefficients of features, the index each belongs to, and indices' covariances.

    The coefficients of a solution in feature space are taken from it: made from its dual
    variables they would lose digits by the factor kernel / strength.
    """
    indices, theta, solution = result.indices, result.theta, result.solution
    whole = None if solution.in_features else inner_of(family, indices, solution.coefficients)
    if whole is not None:
        own, other = theta[:, None] * whole, family.inner_of_all(weighted)
        return own, np.arange(len(own)), np.sum(own * other, axis=1)
    owners = family.owners(indices)
    weights = theta[owners, None]
    if solution.in_features:
        coefficients = np.sqrt(weights) * solution.coefficients
    else:
        coefficients = weights * family.inner(indices, solution.coefficients)
    products = np.sum(coefficients * family.inner(indices, weighted), axis=1)
    return coefficients, owners, np.bincount(owners, products, minlength=len(indices))
