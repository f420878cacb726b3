"""Fits to Dask arrays and dataframes: check and summarise them, call the engine, store."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler
from sklearn.preprocessing._data import _handle_zeros_in_scale, _is_constant_feature
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..certificate import NO_CERTIFICATE
from ..dual import DualSolution
from ..kernels import MapKernels, resolve
from ..losses import Loss, Squared
from ..partitions import Design, Engine, Fitted, Limits, Parts, Point, Summary, Task, Whole
from ..partitions import engine_of as _engine_of
from ..partitions.moments import Moments
from ..partitions.rows import Block, loss_at, parts_of, summarise
from ..predictor import Predictor
from ..randomness import generator
from ..solvers import HISTORY, Greedy, Result, debiased
from .checks import check_parameters
from .choosing import Candidate, path_ended
from .interrupted import InterruptedWarning
from .loss_names import CLASSIFICATION, REGRESSION, resolve_loss
from .path import EXPLAINED, NOTHING, SPAN, growing
from .path import Limits as PathLimits
from .progress import CHOOSING, current, watching

if TYPE_CHECKING:
    from .base import BaseMKL
    from .cv import BaseCV

SAMPLE = 100_000
"""Feature maps are fitted to so many rows, or to all if there are fewer."""

LIGHT = (
    "cv must give folds with rows of positive weight on both sides; got one without. Use cv=5, or "
    "drop the rows of weight zero."
)

LOOSE = 3.0
"""The models of folds, which are only compared, are solved to so many times the tolerance."""


def fit_parts(
    estimator: BaseMKL, X: Any, y: Any, sample_weight: Any, loss: Loss, labelled: bool
) -> None:
    """Fit an estimator to Dask rows."""
    if not hasattr(estimator, "_solver"):
        raise TypeError(
            f"X must be in memory for {type(estimator).__name__}; got a Dask collection. Use "
            "X.compute(), or MKLRegressor or MKLClassifier."
        )
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(
            f"X must be a table of rows and columns; got {X.ndim} dimensions. Use "
            "X.reshape(-1, 1) for a single column."
        )
    names = list(getattr(X, "columns", []))
    named = bool(names) and all(isinstance(name, str) for name in names)
    estimator.n_features_in_ = int(X.shape[1])
    _fit(estimator, parts_of(X, y, sample_weight), names if named else None, loss, labelled)


def fit_blocks(estimator: BaseMKL, blocks: list[Any], names: list[str], labelled: bool) -> int:
    """Fit an estimator to delayed blocks of rows with named columns; return how many rows."""
    check_parameters(estimator)
    allowed = CLASSIFICATION if labelled else REGRESSION
    loss = resolve_loss(estimator.loss, allowed, "classifier" if labelled else "regressor")
    estimator.n_features_in_ = len(names)
    return _fit(estimator, Parts(blocks), names, loss, labelled)


def _fit(
    estimator: BaseMKL, parts: Parts, names: list[str] | None, loss: Loss, labelled: bool
) -> int:
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    with watching(estimator.verbose) as watch:
        if watch is not None:
            watch.report("first look at the rows", 0.0)
        summary: Summary = parts.total(summarise, labelled)
        _check(summary, labelled)
        if labelled:
            estimator.classes_ = summary.classes
        if hasattr(estimator, "cv"):
            _choose(estimator, parts, summary, loss)
            if watch is not None:
                watch.stage("all rows", CHOOSING, 1.0)
        _final(estimator, parts, summary, loss)
    return sum(summary.counts)


def _check(summary: Summary, labelled: bool) -> None:
    if summary.bad_weights:
        raise ValueError(
            f"sample_weight must be finite and not negative; got {summary.bad_weights} others. Use "
            "sample_weight=None to weigh rows equally."
        )
    if summary.bad:
        raise ValueError(
            f"X and y must be finite numbers; got {summary.bad} values that are NaN or infinity. "
            "Fill or drop them first, for instance with fillna or dropna."
        )
    if sum(summary.counts) < 2 or not summary.weight > 0:
        raise ValueError(
            f"X must have at least two rows of positive weight; got {sum(summary.counts)} rows of "
            f"weight {summary.weight:g}."
        )
    if labelled:
        check_classification_targets(summary.classes)
    if labelled and len(summary.present) < 2:
        raise ValueError(
            "y must have at least two classes with positive weight; got "
            f"{summary.present.tolist()!r}. Check the target column."
        )


def prepare(
    estimator: BaseMKL, parts: Parts, summary: Summary, loss: Loss, degree: int, p: float
) -> tuple[Design, Task]:
    """Resolve the kernels and scale; return what the workers need to know."""
    names = getattr(estimator, "feature_names_in_", None)
    count = len(summary.mean)
    labels = [f"x{j}" for j in range(count)] if names is None else names.tolist()
    kernels = resolve(estimator.kernels, labels, degree)
    if not kernels.explicit:
        raise ValueError(
            f"kernels must have features for rows in partitions; got {estimator.kernels!r}. Use "
            '"linear", "auto", "spline" or "nystroem".'
        )
    estimator._kernels = kernels
    estimator._scaler = scaler_of(estimator, summary)
    scaler = estimator._scaler
    mean = None if scaler is None or not scaler.with_mean else scaler.mean_
    scale = None if scaler is None else scaler.scale_
    if isinstance(kernels, MapKernels):
        share = min(1.0, SAMPLE / sum(summary.counts))
        drawn = parts.total(_sample, share)
        rows, weights = (np.concatenate(side) for side in zip(*drawn, strict=True))
        kernels.rows = sum(summary.counts)
        kernels.fit(estimator._scaled(rows), rows, weights / weights.sum())
    example = np.zeros((1, count)) if mean is None else mean[None, :]
    bases = kernels.on(estimator._scaled(example), example).without_rows()
    family = estimator._products(bases, degree, p)
    classes = getattr(estimator, "classes_", np.empty(0))
    centre = summary.centre if estimator.fit_intercept and not len(classes) else 0.0
    design = Design(kernels, mean, scale, family, loss, classes, centre, summary.weight)
    outputs = len(classes) if len(classes) > 2 else 1
    reach = summary.reach + abs(centre)
    return design, Task(float(p), bool(estimator.fit_intercept), outputs, reach)


def scaler_of(estimator: BaseMKL, summary: Summary) -> StandardScaler | None:
    """Return the scaler that scikit-learn would fit to all rows."""
    if not estimator._centres() and estimator.standardize != "scale":
        return None
    rows = sum(summary.counts)
    scaler = StandardScaler(with_mean=estimator._centres())
    scaler.n_features_in_, scaler.n_samples_seen_ = len(summary.mean), rows
    scaler.mean_, scaler.var_ = summary.mean, summary.squares / summary.weight
    constant = _is_constant_feature(scaler.var_, scaler.mean_, rows)
    scaler.scale_ = _handle_zeros_in_scale(np.sqrt(scaler.var_), constant_mask=constant)
    return scaler


def _sample(block: Block, share: float) -> list[tuple[Array, Array]]:
    """Return about a share of the rows and their weights."""
    used = block.weights > 0
    if share < 1:
        used = used & (np.random.default_rng(0).random(len(used)) < share)
    return [(block.X[used], block.weights[used])]


def _limits(estimator: BaseMKL, p: float, tol: float, callback: Any = None) -> Limits:
    closed = p == 2 and estimator.solver == "auto"
    return Limits(
        None if closed else estimator._solver,
        estimator.max_iter,
        tol,
        estimator.max_time,
        callback or (lambda *_: None),
    )


def engine_of(estimator: BaseMKL, parts: Parts, design: Design, task: Task) -> Engine:
    """Return the engine, or say why the solver asked for does not go with it."""
    engine = _engine_of(parts, design, task)
    exact = isinstance(engine, Whole) and isinstance(design.loss, Squared)
    greedy = estimator.solver == "greedy" or isinstance(estimator.solver, Greedy)
    if (greedy or getattr(estimator, "debias", False)) and not exact:
        raise ValueError(
            'solver="greedy" and debias=True need, for rows in partitions, the squared loss and a '
            f"family of few features; got {design.family.distinct} kernels and "
            f"{type(design.loss).__name__}. Use p=1."
        )
    return engine


def _final(estimator: BaseMKL, parts: Parts, summary: Summary, loss: Loss) -> None:
    degree = int(estimator._final_degree())
    chosen = getattr(estimator, "p_", None)
    p = float(estimator.p if chosen is None else chosen)
    design, task = prepare(estimator, parts, summary, loss, degree, p)
    engine = engine_of(estimator, parts, design, task)
    rng = generator(estimator.random_state)
    watch = current()

    def report(k: int, objective: float, gap: float, active: int) -> None:
        if watch is not None:
            share = min(1.0, k / 10)
            text = f"pass {k}, {active} kernels, objective {objective:.6g}, gap {gap:.2g} (exact)"
            watch.report(text, share)

    greedy = getattr(estimator, "_greedy", lambda: None)()
    if greedy is not None:
        fitted = _greedy_fit(engine, replace(greedy, terms=estimator.n_terms_), rng)
    else:
        limits = _limits(estimator, p, estimator.tol, report)
        fitted = engine.solve(estimator._strength(), limits, rng, None)
        if getattr(estimator, "debias", False):
            fitted = _refitted(engine, fitted)
    _store(estimator, design, engine, fitted)


def _greedy_fit(engine: Engine, greedy: Greedy, rng: np.random.Generator) -> Fitted:
    *_, last = _greedy_path(engine, greedy, rng)
    return last


def _greedy_path(engine: Engine, greedy: Greedy, rng: np.random.Generator) -> Iterator[Fitted]:
    """Yield the models of 0, 1, 2, ... terms."""
    assert isinstance(engine, Whole)
    engine.prepare()
    quadratic = engine.quadratic
    limits = PathLimits(10**9, 0.0, None)
    for result in growing(greedy, quadratic.problem, quadratic.family, limits, rng):
        yield engine.fitted(result)


def _refitted(engine: Engine, fitted: Fitted) -> Fitted:
    """Return the model of the same kernels without a penalty."""
    assert isinstance(engine, Whole)
    engine.prepare()
    quadratic = engine.quadratic
    places = {index: i for i, index in enumerate(engine.indices)}
    kernels = [(places[index],) for index in fitted.point.indices]
    state = debiased(quadratic.problem, quadratic.family, kernels)
    history = fitted.history
    result = Result(*state.weights, False, state.solution, NO_CERTIFICATE, 0, True, history=history)
    return engine.fitted(result)


def _store(estimator: BaseMKL, design: Design, engine: Engine, fitted: Fitted) -> None:
    point, outputs = fitted.point, fitted.point.coefficients.shape[1]
    nothing = np.empty((0, outputs))
    solution = DualSolution(
        nothing, point.coefficients, True, point.intercept, nothing, fitted.objective
    )
    result = Result(
        point.indices,
        fitted.theta,
        False,
        solution,
        fitted.certificate,
        len(fitted.history[HISTORY[0]]),
        fitted.converged,
        fitted.interrupted,
        fitted.history,
    )
    estimator._judge(result)
    shares = _shares(design, engine, point)
    order = np.argsort(-shares, kind="stable")
    widths = design.family.widths(point.indices)
    ends = np.concatenate([[0], np.cumsum(widths)]).astype(int)
    rows = [np.arange(ends[i], ends[i + 1]) for i in order.tolist()]
    places = np.concatenate([np.empty(0, dtype=int), *rows])
    predictor = Predictor(
        design.family,
        [point.indices[i] for i in order.tolist()],
        fitted.theta[order],
        False,
        None,
        point.intercept + design.centre,
        point.coefficients[places],
        shares[order],
    )
    estimator._store(design.family, result, predictor)
    estimator._predictor = predictor
    estimator.intercept_ = estimator._shape_outputs(predictor.intercept)
    if hasattr(estimator, "dual_coef_"):
        del estimator.dual_coef_


def _shares(design: Design, engine: Engine, point: Point) -> Array:
    """Return the share of each kernel in the variance of the function."""
    count = len(point.indices)
    owners = design.family.owners(point.indices)
    parts = np.sum(point.coefficients * engine.covariances(point), axis=1) if count else owners
    shares = np.bincount(owners, parts, minlength=count)
    total = float(shares.sum())
    return shares / total if total > 0 else np.zeros(count)


def _choose(estimator: BaseCV, parts: Parts, summary: Summary, loss: Loss) -> None:
    """Choose the model by its scores on rows left out."""
    if estimator.debias and any(p > 1 for p in estimator._exponents()):
        raise ValueError(
            f"debias=True needs p = 1; got p={estimator.p!r}. With p > 1 every kernel has a "
            "weight: there is no selection to refit. Use p=1."
        )
    rng = generator(estimator.random_state)
    candidates = []
    for degree in estimator._degrees():
        for p in estimator._exponents():
            design, task = prepare(estimator, parts, summary, loss, degree, p)
            engine = engine_of(estimator, parts, design, task)
            candidates.append(Candidate(degree, p, _sizes(estimator, engine)))
    rows = sum(summary.counts)
    labels = np.zeros((rows, 1))
    if len(summary.classes):
        codes = np.concatenate(parts.total(_codes, summary.classes))
        outputs = range(len(summary.classes))
        labels = codes[:, None] if len(outputs) == 2 else codes[:, None] == np.array(outputs)
    scores = []
    empty = np.broadcast_to(0.0, (rows, 1))
    folds = list(estimator._folds(empty, labels))
    for number, (train, test) in enumerate(folds):
        inside = np.zeros(rows, dtype=bool)
        inside[train] = True
        outside = np.zeros(rows, dtype=bool)
        outside[test] = True
        sides = parts.some(inside, summary.counts), parts.some(outside, summary.counts)
        place = number, len(folds)
        try:
            scores.append(_fold_scores(estimator, *sides, loss, candidates, place, rng))
        except KeyboardInterrupt:
            if not scores:
                raise
            message = f"Interrupted: the choice rests on {len(scores)} of {len(folds)} folds."
            warnings.warn(message, InterruptedWarning, stacklevel=5)
            break
    estimator._choose(candidates, scores)


def _codes(block: Block, classes: Array) -> list[Array]:
    return [np.searchsorted(classes, block.y).astype(np.int16)]


def _sizes(estimator: BaseCV, engine: Engine) -> Array:
    """Return the strengths to try, or numbers of terms."""
    greedy = estimator._greedy()
    if greedy is not None:
        return np.arange(greedy.terms + 1)
    if estimator.alphas is not None:
        return np.sort(np.asarray(estimator.alphas, dtype=float))[::-1]
    risk, norm = engine.start()
    largest = norm / (EXPLAINED * risk) if norm > NOTHING * risk else 1.0
    if estimator.n_alphas == 1:
        return np.array([largest])
    return np.geomspace(largest, largest * SPAN, estimator.n_alphas)


def _fold_scores(
    estimator: BaseCV,
    inside: Parts,
    outside: Parts,
    loss: Loss,
    candidates: list[Candidate],
    number: tuple[int, int],
    rng: np.random.Generator,
) -> list[Array]:
    """Return the scores of all models on the rows left out of one fold."""
    machine = type(estimator)(**{**estimator.get_params(deep=False), "cv": None})
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(estimator, name):
            setattr(machine, name, getattr(estimator, name))
    labelled = hasattr(estimator, "classes_")
    summary: Summary = inside.total(summarise, labelled)
    if not summary.weight > 0:
        raise ValueError(LIGHT)
    if labelled and len(summary.present) < len(estimator.classes_):
        raise ValueError(
            "every fold must train on all classes; got one whose training rows lack a class. Use "
            "cv=StratifiedKFold(...) or fewer folds."
        )
    greedy, watch = machine._greedy(), current()
    scores = []
    for place, candidate in enumerate(candidates):
        if watch is not None:
            share = CHOOSING / (number[1] * len(candidates))
            done = number[0] * len(candidates) + place
            watch.stage(f"degree {candidate.degree}", done * share, (done + 1) * share)
        design, task = prepare(machine, inside, summary, loss, candidate.degree, candidate.p)
        engine = engine_of(machine, inside, design, task)
        judge = Judge(outside, design, engine)
        own: list[float] = []
        for fitted in _fold_path(machine, engine, candidate, rng):
            if fitted.interrupted:
                raise KeyboardInterrupt
            own.append(-judge(fitted.point))
            if watch is not None:
                text = f"model {len(own)} of at most {len(candidate.sizes)}"
                watch.report(text, len(own) / len(candidate.sizes))
            features = len(fitted.point.coefficients)
            if path_ended(own, features, greedy is not None, candidate.sizes):
                break
        scores.append(np.array(own))
    return scores


def _fold_path(
    machine: BaseCV, engine: Engine, candidate: Candidate, rng: np.random.Generator
) -> Iterator[Fitted]:
    """Yield the models of a path, from simple to rich."""
    greedy = machine._greedy()
    if greedy is not None:
        yield from _greedy_path(engine, greedy, rng)
        return
    last: Fitted | None = None
    for strength in candidate.sizes.tolist():
        limits = _limits(machine, candidate.p, LOOSE * machine.tol)
        last = engine.solve(strength, limits, rng, last)
        yield _refitted(engine, last) if machine.debias else last


class Judge:
    """The mean loss of models on rows left out.

    For the squared loss on a family of few features from their moments, made in one pass; else in
    a pass for each model.
    """

    def __init__(self, parts: Parts, design: Design, engine: Engine) -> None:
        self.parts, self.design = parts, design
        self.moments: Moments | None = None
        if isinstance(engine, Whole) and isinstance(design.loss, Squared):
            self.moments = engine.moments_on(parts)
            if not self.moments.weight > 0:
                raise ValueError(LIGHT)
            ends = np.concatenate([[0], np.cumsum(engine.widths)]).astype(int)
            self.places = {
                index: np.arange(ends[i], ends[i + 1]) for i, index in enumerate(engine.indices)
            }

    def __call__(self, point: Point) -> float:
        """Return the mean loss of a model."""
        if self.moments is None:
            loss, weight = self.parts.total(loss_at, self.design, point).tolist()
            if not weight > 0:
                raise ValueError(LIGHT)
            return loss / weight
        columns = [self.places[index] for index in point.indices]
        places = np.concatenate([np.empty(0, dtype=int), *columns])
        outputs = point.coefficients.shape[1]
        mean, products = self.moments.mean, self.moments.products / self.moments.weight
        total = 0.0
        for c in range(outputs):
            target = len(mean) - outputs + c
            w = point.coefficients[:, c]
            level = mean[target] - point.intercept[c] - mean[places] @ w
            spread = products[target, target] - 2 * products[target, places] @ w
            total += level**2 + spread + w @ products[np.ix_(places, places)] @ w
        return float(total) / 2


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """Return a Dask array of predictions, one part for each part of X, computed when asked for."""
    check_is_fitted(estimator)
    example: Any = np.zeros((1, estimator.n_features_in_))
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        example = pd.DataFrame(example, columns=names)
    kind = getattr(estimator, method)(example)
    if hasattr(X, "map_partitions") and not hasattr(X, "map_blocks"):
        rows = X.map_partitions(_predicted, estimator, method, meta=kind[:0])
        return rows if hasattr(rows, "chunks") else rows.to_dask_array()
    X = X.rechunk({1: -1})
    options: dict[str, Any] = {"drop_axis": 1} if kind.ndim == 1 else {}
    if kind.ndim == 2:
        options["chunks"] = (X.chunks[0], (kind.shape[1],))
    return X.map_blocks(_predicted, estimator, method, dtype=kind.dtype, meta=kind[:0], **options)


def _predicted(rows: Any, estimator: Any, method: str) -> Array:
    if not len(rows):
        return getattr(estimator, method)(np.zeros((1, estimator.n_features_in_)))[:0]
    return np.asarray(getattr(estimator, method)(rows))
