"""Rows in parts: summaries of them, folds, and what passes over them need to know."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler
from sklearn.preprocessing._data import _handle_zeros_in_scale, _is_constant_feature
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import Array
from ..function import scaled
from ..inputs import LARGEST_VALUE, ranges, refuse_faint, refuse_large, refuse_target_size
from ..kernels import KernelSet, resolve
from ..limits import MAP_ROWS
from ..losses import depends_on_errors, refuse_unsound
from ..objective import Problem
from ..passes import Block, Recipe, fits_of, is_quick, refusal
from ..passes.base import LIGHT_FOLDS
from ..spec import Spec, affordable_degree
from .base import Fits
from .memory import LACKING
from .scaling import settle


@dataclass(frozen=True)
class Summary:
    """What one look at all rows tells of them.

    Attributes
    ----------
    counts : list of int
        Rows of each part.
    mean, squares : ndarray
        Means of the columns of X, and sums of weighted squares of what is left.
    low, high : ndarray
        Least and largest values of the columns.
    weight : float
        Sum of the weights.
    centre : float
        Mean of y, where it is a number.
    reach : float
        Largest size of y.
    classes, present : ndarray
        The different values of y, where it is no number; those on rows of positive weight.
    bad, bad_weights : int
        How many values of X and y, and how many weights, cannot be used.
    """

    counts: list[int]
    mean: Array
    squares: Array
    low: Array
    high: Array
    weight: float
    centre: float
    reach: float
    classes: Array
    present: Array
    bad: int
    bad_weights: int

    def __add__(self, other: Summary) -> Summary:
        if len(self.mean) != len(other.mean):
            raise ValueError(
                "partitions of X must have the same columns; got some with "
                f"{len(self.mean)} columns and some with {len(other.mean)}. Read or make them anew."
            )
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        shift = other.mean - self.mean
        return Summary(
            self.counts + other.counts,
            self.mean + share * shift,
            self.squares + other.squares + self.weight * share * shift**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            weight,
            self.centre + share * (other.centre - self.centre),
            max(self.reach, other.reach),
            np.union1d(self.classes, other.classes),
            np.union1d(self.present, other.present),
            self.bad + other.bad,
            self.bad_weights + other.bad_weights,
        )


def summarise(block: Block, labelled: bool) -> Summary:
    """Return the summary of some rows."""
    X, y, weights = block.X, block.y, block.weights
    if not labelled and y.dtype.kind not in "fiub":
        raise ValueError(
            f"y must be numeric for regression; got {y[0]!r}. Use MKLClassifier for classes, or "
            "convert y with astype(float)."
        )
    good = (weights <= LARGEST_VALUE) & (weights >= 0)
    bad_weights = int(np.count_nonzero(~good))
    bad = int(np.count_nonzero(~np.isfinite(X)))
    bad += int(np.count_nonzero(pd.isna(y)))
    if not labelled:
        bad += int(np.count_nonzero(np.isinf(y)))
    every, used = y[:0], y[:0]
    if labelled and not bad:
        every, used = y, y[weights > 0]
    low, high, large = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf), False
    if len(X) and not bad:
        low, high = ranges(X)
        large = bool(np.any(np.maximum(-low, high) > LARGEST_VALUE))
        if not large and np.any(weights > 0):
            low, high = ranges(X[weights > 0])
    weight = float(weights.sum())
    reach = 1.0 if labelled else float(np.abs(y[weights > 0]).max(initial=0.0))
    if bad or bad_weights or large or reach > LARGEST_VALUE or not weight > 0:
        nothing, weight = np.zeros(X.shape[1]), 0.0
        mean, squares, centre = nothing, nothing, 0.0
    else:
        mean = weights @ X / weight
        mean = mean + weights @ (X - mean) / weight
        squares = weights @ (X - mean) ** 2
        centre = 0.0
        if not labelled:
            centre = float(weights @ y / weight)
            centre += float(weights @ (y - centre) / weight)
    return Summary(
        [len(X)],
        mean,
        squares,
        low,
        high,
        weight,
        centre,
        reach,
        np.unique(every),
        np.unique(used),
        bad,
        bad_weights,
    )


@dataclass(frozen=True)
class PartedRows:
    """Rows in parts, of which only sums come here.

    Attributes
    ----------
    parts : object
        With ``total(function, *arguments)``, the sum over parts of a function of a block, and
        ``some(mask, counts)``, the rows of a mask; see ``rows/dask.py``.
    names : list of str
        Names of the columns.
    labelled : bool
        Whether targets are classes.
    whole : PartedRows, optional
        The rows that these are a part of, whose classes they have.
    """

    parts: Any
    names: list[str]
    labelled: bool
    whole: PartedRows | None = None

    in_memory = False
    groups = None
    ordered = False

    @cached_property
    def summary(self) -> Summary:
        """What one look at all rows tells of them; refuses rows that cannot be used."""
        summary: Summary = self.parts.total(summarise, self.labelled)
        if self.whole is None:
            _check(summary, self.labelled, self.names)
        elif not summary.weight > 0:
            raise ValueError(LIGHT_FOLDS)
        elif len(summary.present) < len(self.classes):
            raise ValueError(LACKING)
        return summary

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(self.summary.counts)

    @property
    def classes(self) -> Array:
        """The classes, empty for real targets."""
        return self.summary.classes if self.whole is None else self.whole.classes

    def threads(self) -> AbstractContextManager[Any]:
        """Return a context that leaves threads to whoever holds the parts."""
        return nullcontext()

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over parts of ``function(block, *arguments)``; one pass."""
        return self.parts.total(function, *arguments)

    def for_splitter(self) -> tuple[Array, Array]:
        """Return as many rows of nothing, and the class numbers of all rows (zeros for numbers)."""
        labels = np.zeros(self.count)
        if self.labelled:
            labels = np.concatenate(self.parts.total(_codes, self.classes))
        return np.broadcast_to(0.0, (self.count, 1)), labels

    def split(self, train: Array, test: Array) -> tuple[PartedRows, PartedRows]:
        """Return the rows of a fold to train on and those left out."""
        inside, outside = (self._some(rows) for rows in (train, test))
        return inside, outside

    def _some(self, rows: Array) -> PartedRows:
        mask = np.zeros(self.count, dtype=bool)
        mask[rows] = True
        return replace(self, parts=self.parts.some(mask, self.summary.counts), whole=self)

    def affordable(self, spec: Spec) -> Spec:
        """Return the specification with a degree that passes over parts can fit, where it is free.

        Base kernels that learn are fitted to a sample for that, in one pass more.
        """
        if not spec.free_degree:
            return spec.on_rows(self.count, len(self.names))
        (highest,) = spec.degrees
        priced, prepared = affordable_degree(highest, self.count, len(self.names)), None
        for degree in range(highest, 1, -1):
            lowered = spec.of_degree(degree)
            if prepared is None or prepared.kernels.by_degree:
                prepared = self.prepare(lowered, degree)
            recipes = [prepared.recipe(lowered, degree, p) for p in spec.exponents]
            able = not any(refusal(recipe, spec.selects) for recipe in recipes)
            if able and (degree <= priced or all(is_quick(one, self.count) for one in recipes)):
                return lowered
        return spec.of_degree(1)

    def prepare(self, spec: Spec, degree: int) -> PartedPrepared:
        """Standardise the columns and fit the base kernels, to a sample where they learn."""
        summary = self.summary
        kernels = resolve(spec.kernels, self.names, degree)
        if not kernels.explicit:
            raise ValueError(
                f"kernels must have features for rows in partitions; got {spec.kernels!r}. Use "
                '"linear", "auto", "spline" or "nystroem".'
            )
        scaler = None
        if spec.scales:
            scaler = _scaler(spec, summary)
            if self.whole is None:
                refuse_faint(summary.low, summary.high, self.names)
        if kernels.learns:
            share = min(1.0, MAP_ROWS / self.count)
            drawn = self.parts.total(_sample, share)
            rows, weights = (np.concatenate(side) for side in zip(*drawn, strict=True))
            kernels.rows = self.count
            kernels.fit(scaled(scaler, rows), rows, weights / weights.sum())
        return PartedPrepared(self, kernels, scaler)


@dataclass(frozen=True)
class PartedPrepared:
    """Rows in parts with their base kernels.

    Attributes
    ----------
    rows : PartedRows
        The rows.
    kernels : KernelSet
        The base kernels, fitted.
    scaler : StandardScaler or None
        How columns are standardised.
    """

    rows: PartedRows
    kernels: KernelSet
    scaler: StandardScaler | None

    def dual(self, alpha: Array) -> None:
        """Return nothing: dual variables stay with the rows."""

    def recipe(self, spec: Spec, degree: int, p: float) -> Recipe:
        """Return how rows become features of products of a degree, for an exponent."""
        summary, scaler, classes = self.rows.summary, self.scaler, self.rows.classes
        mean = scaler.mean_ if scaler is not None and scaler.with_mean else None
        example = np.zeros((1, len(summary.mean))) if mean is None else mean[None, :]
        bases = self.kernels.on(scaled(scaler, example), example).without_rows()
        family: Any = spec.family(bases, self.kernels, degree, p)
        centre = 0.0
        if not len(classes):
            some = np.array([[summary.centre]])
            if spec.intercept and depends_on_errors(spec.loss, some, summary.centre):
                centre = summary.centre
            refuse_unsound(spec.loss, some - centre)
        return Recipe(
            self.kernels,
            mean,
            None if scaler is None else scaler.scale_,
            family,
            spec.loss,
            classes,
            centre,
            summary.weight,
            p,
            spec.intercept,
            summary.reach + abs(centre),
        )

    def fits(self, spec: Spec, degree: int, p: float) -> Fits:
        """Return the fits of a degree and an exponent."""
        recipe = self.recipe(spec, degree, p)
        problem = Problem(np.empty((0, 1)), np.empty(0), spec.loss, 1.0, p, spec.intercept)
        standardizes = spec.standardizes(problem, recipe.family)
        found: Any = fits_of(self.rows, recipe, spec.selects, standardizes)
        return found


def _check(summary: Summary, labelled: bool, names: list[str]) -> None:
    if summary.bad_weights:
        raise ValueError(
            f"sample_weight must be finite and not negative; got {summary.bad_weights} others, or "
            f"ones above {LARGEST_VALUE:g}. Use sample_weight=None to weigh rows equally."
        )
    if summary.bad:
        raise ValueError(
            f"X and y must be finite numbers; got {summary.bad} values that are NaN or infinity. "
            "Fill or drop them first, for instance with fillna or dropna."
        )
    if np.any(summary.low < summary.high):
        refuse_large(summary.low, summary.high, names)
    if not labelled:
        refuse_target_size(np.array([summary.reach]), 0.0)
    if sum(summary.counts) < 2 or not summary.weight > 0:
        raise ValueError(
            f"X must have at least two rows of positive weight; got {sum(summary.counts)} rows of "
            f"weight {summary.weight:g}. Check the table and the weights."
        )
    if labelled:
        check_classification_targets(summary.classes)
    if labelled and len(summary.present) < 2:
        raise ValueError(
            "y must have at least two classes with positive weight; got "
            f"{summary.present.tolist()!r}. Check the target column."
        )


def _scaler(spec: Spec, summary: Summary) -> StandardScaler:
    """Return the scaler that scikit-learn would fit to all rows."""
    rows = sum(summary.counts)
    scaler = StandardScaler(with_mean=spec.centres)
    scaler.n_features_in_, scaler.n_samples_seen_ = len(summary.mean), rows
    scaler.mean_, scaler.var_ = summary.mean, summary.squares / summary.weight
    spread = np.sqrt(scaler.var_)
    scaler.scale_ = np.where(spread > 0, spread, 1.0)
    if spec.centres:
        settle(scaler, summary.low, summary.high)
    else:
        constant = _is_constant_feature(scaler.var_, scaler.mean_, rows)
        scaler.scale_ = _handle_zeros_in_scale(spread, constant_mask=constant)
    return scaler


def _sample(block: Block, share: float) -> list[tuple[Array, Array]]:
    """Return about a share of the rows and their sample weights."""
    used = block.weights > 0
    if share < 1:
        used = used & (np.random.default_rng(0).random(len(used)) < share)
    return [(block.X[used], block.weights[used])]


def _codes(block: Block, classes: Array) -> list[Array]:
    return [np.searchsorted(classes, block.y).astype(np.int16)]
