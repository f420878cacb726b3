"""Strength, exponent, degree or number of terms, chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils.metaestimators import _safe_split

from ..arrays import Array
from ..backend import HOST
from ..bases import FeatureBlocks, GramStack
from ..families import ProductFamily
from ..kernels import uses_maps
from ..losses import Loss
from ..objective import Problem
from ..predictor import Predictor, make_predictor
from ..randomness import generator
from ..solvers import Greedy, Result
from .base import BaseMKL
from .choosing import Candidate, carried, ended, lowest_degree
from .interrupted import InterruptedWarning
from .machine import threads_for
from .path import Evaluator, Limits, growing, path, refit, strengths
from .progress import CHOOSING, Progress, current, watching

TERMS = 100
"""Most terms that greedy selection may choose where their number is cross-validated."""

LOOSE = 3.0
"""The models of folds, which are only compared, are solved to so many times the tolerance."""

SPLIT_ROWS = 5_000
"""From so many rows on one fifth of them is enough to compare models by: no five folds."""


class BaseCV(BaseMKL):
    """Base of the estimators that choose their strength."""

    def __init__(
        self,
        kernels: Any = "linear",
        degree: Any = 3,
        index_set: str = "auto",
        rho: Any = None,
        p: Any = None,
        loss: Any = "squared",
        alphas: Any = None,
        n_alphas: int = 25,
        cv: Any = None,
        one_standard_error: bool = False,
        debias: bool = False,
        fit_intercept: bool = True,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-2,
        max_time: float | None = None,
        standardize: bool | str = True,
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.degree = degree
        self.index_set = index_set
        self.rho = rho
        self.p = p
        self.loss = loss
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.debias = debias
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.standardize = standardize
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def choice_(self) -> Any:
        """SHIM."""
        from .function_shim import Choice

        return Choice(self)

    def _greedy(self) -> Greedy | None:
        """Return greedy selection if it was asked for."""
        if isinstance(self.solver, Greedy):
            return self.solver
        return Greedy(TERMS) if isinstance(self.solver, str) and self.solver == "greedy" else None

    def _exponents(self) -> list[float]:
        """Return the exponents to choose from; by default one where kernels are selected."""
        if self._greedy() is not None:
            return [1.0]
        if self.p is None:
            selected = self.debias or self.solver == "working-set" or uses_maps(self.kernels)
            return [1.0 if selected and self.solver != "full-pass" else 4 / 3]
        return [float(p) for p in np.atleast_1d(self.p)]

    def _degrees(self) -> list[int]:
        return list(dict.fromkeys(int(d) for d in np.atleast_1d(self.degree)))

    def _highest_degree(self) -> int:
        return max(self._degrees())

    def _problem(self, y: Array, weights: Array, loss: Loss) -> Problem:
        return Problem(y, weights, loss, 1.0, 1.0, bool(self.fit_intercept))

    def _products(self, bases: FeatureBlocks | GramStack, degree: int, p: float) -> ProductFamily:
        rho = self.rho
        if rho is not None and np.shape(rho) == (self._highest_degree() + 1,):
            rho = list(rho)[: degree + 1]
        return ProductFamily(bases, degree, self._index_set(p), rho, self._kernels.names)

    def _strength(self) -> float:
        return getattr(self, "alpha_", np.nan)

    def _fit(
        self,
        X: Array,
        y: Array,
        weights: Array,
        loss: Loss,
        centre: float = 0.0,
        place: Any = HOST,
    ) -> None:
        with watching(self.verbose) as watch, threads_for(X.shape[0]):
            self._select(X, y, weights, loss, place)
            if watch is not None:
                watch.stage("all rows", CHOOSING, 1.0)
            super()._fit(X, y, weights, loss, centre, place)

    def _select(self, X: Array, y: Array, weights: Array, loss: Loss, place: Any) -> None:
        """Choose the model by its scores on rows left out."""
        if self.debias and self._greedy() is None and any(p > 1 for p in self._exponents()):
            raise ValueError(
                f"debias=True needs p = 1 or solver='greedy'; got p={self.p!r}. With p > 1 every "
                "kernel has a weight: there is no selection to refit. Use p=1."
            )
        folds = list(self._folds(X, y))
        if not folds or any(not np.any(weights[part] > 0) for fold in folds for part in fold):
            raise ValueError(
                "cv must give folds with rows of positive weight on both sides; got "
                f"{len(folds)} folds. Use cv=5."
            )
        rng = generator(self.random_state)
        candidates = []
        for degree, problem, bases in self._prepared(X, y, weights, loss, place):
            if self.debias and not self._kernels.explicit:
                raise ValueError(
                    "debias=True needs kernels with features; got kernels given by matrices. Use "
                    'kernels="linear" or "auto", or debias=False.'
                )
            candidates += [
                Candidate(degree, p, self._sizes(problem, bases, degree, p, rng))
                for p in self._exponents()
            ]
        seeds = rng.integers(2**31, size=len(folds)).tolist()
        work = partial(_score_fold, self, X, y, weights, loss, place, candidates)
        scores = _in_order(
            Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(work)(train, test, seed, (number, len(folds)))
                for number, ((train, test), seed) in enumerate(zip(folds, seeds, strict=True))
            ),
            len(folds),
        )
        self._choose(candidates, scores)

    def _prepared(
        self, X: Array, y: Array, weights: Array, loss: Loss, place: Any
    ) -> Iterator[tuple[int, Problem, FeatureBlocks | GramStack]]:
        """Yield each degree with its problem and base kernels, made once if they can be shared."""
        ready: tuple[Problem, FeatureBlocks | GramStack] | None = None
        for degree in self._degrees():
            if ready is None or self._kernels.by_degree:
                ready = self._prepare(X, y, weights, loss, degree, place)
            yield degree, *ready

    def _final_degree(self) -> int:
        return self.degree_

    def _folds(self, X: Array, y: Array) -> Iterator[tuple[Array, Array]]:
        labels = y[:, 0] if y.shape[1] == 1 else y.argmax(axis=1)
        classes = hasattr(self, "classes_")
        if self.cv is None and len(labels) >= SPLIT_ROWS:
            split = StratifiedShuffleSplit if classes else ShuffleSplit
            return split(1, test_size=0.2, random_state=0).split(X, labels)
        cv = check_cv(self.cv, labels if classes else None, classifier=classes)
        return cv.split(X, labels)

    def _sizes(
        self,
        problem: Problem,
        bases: FeatureBlocks | GramStack,
        degree: int,
        p: float,
        rng: np.random.Generator,
    ) -> Array:
        greedy = self._greedy()
        if greedy is not None:
            return np.arange(greedy.terms + 1)
        if self.alphas is not None:
            return np.sort(np.asarray(self.alphas, dtype=float))[::-1]
        family = self._products(bases, degree, p)
        return strengths(replace(problem, p=p), family, self.n_alphas, rng)

    def _paths(
        self,
        candidate: Candidate,
        problem: Problem,
        family: ProductFamily,
        rng: np.random.Generator,
    ) -> Iterator[Result]:
        greedy = self._greedy()
        here = replace(problem, p=candidate.p)
        limits = Limits(self.max_iter, LOOSE * self.tol, self.max_time)
        if greedy is not None:
            return growing(greedy, here, family, limits, rng)
        watch, most = current(), len(candidate.sizes)

        def progress(number: int) -> Progress:
            return Progress(
                watch, family.size, limits.tol, limits.max_iter, limits.max_time, (number, most)
            )

        sizes, debias = candidate.sizes, bool(self.debias)
        return path(self._solver, here, family, sizes, limits, debias, rng, progress)

    def _choose(self, candidates: list[Candidate], scores: list[list[Array]]) -> None:
        """Take the best mean score, or the simplest model within its standard error."""
        longest = max(len(candidate.sizes) for candidate in candidates)
        known = np.full((len(candidates), longest, len(scores)), np.nan)
        for fold, parts in enumerate(scores):
            for number, part in enumerate(parts):
                known[number, : len(part), fold] = part
        table = carried(known)
        mean = table.mean(axis=2)
        top = np.unravel_index(int(mean.argmax()), mean.shape)
        best = lowest_degree(candidates, table, (int(top[0]), int(top[1])))
        number, place = best
        if self.one_standard_error and len(scores) > 1:
            error = float(table[best].std(ddof=1)) / np.sqrt(len(scores))
            # Models come in the order from simple to rich.
            place = int(np.argmax(mean[number] >= mean[best] - error))
        self._candidate, self._place = candidates[number], place
        self.score_path_ = known
        self.best_score_ = float(mean[number, place])
        self.degree_, self.p_ = self._candidate.degree, self._candidate.p
        for name in ("alphas_", "alpha_", "n_terms_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        if self._greedy() is None:
            self.alphas_ = np.array([candidate.sizes for candidate in candidates])
            self.alpha_ = float(self._candidate.sizes[place])
        else:
            self.n_terms_ = place

    def _learn(self, problem: Problem, bases: FeatureBlocks | GramStack) -> tuple[Predictor, Array]:
        family = self._products(bases, self.degree_, self.p_)
        greedy = self._greedy()
        rng = generator(self.random_state)
        if greedy is not None:
            chosen = replace(problem, p=1.0)
            result = self._run(replace(greedy, terms=self.n_terms_), chosen, family, rng)
        else:
            chosen = replace(problem, p=self.p_, strength=self.alpha_)
            result = self._solve(chosen, family)
            if self.debias:
                result = refit(chosen, family, result)
        self._judge(result)
        predictor = make_predictor(family, result, problem.weights)
        self._store(family, result, predictor)
        return predictor, result.solution.alpha


def _in_order(results: Any, folds: int) -> list[list[Array]]:
    """Collect the scores of folds; what is finished when Ctrl-C comes is kept."""
    scores: list[list[Array]] = []
    try:
        for part, interrupted in results:
            if not interrupted or not scores:
                scores.append(part)
            if interrupted:
                break
    except KeyboardInterrupt:
        if not scores:
            raise
        interrupted = True
    else:
        interrupted = bool(scores) and interrupted
    if interrupted:
        warnings.warn(
            f"Interrupted: the choice rests on {len(scores)} of {folds} folds.",
            InterruptedWarning,
            stacklevel=6,
        )
    return scores


def _score_fold(
    estimator: BaseCV,
    X: Array,
    y: Array,
    weights: Array,
    loss: Loss,
    place: Any,
    candidates: list[Candidate],
    train: Array,
    test: Array,
    seed: int,
    number: tuple[int, int],
) -> tuple[list[Array], bool]:
    """Return the scores of all models on the rows left out, and whether Ctrl-C cut them short.

    The number of the fold is its own and how many there are.
    """
    # Folds may come from a generator, which cannot be copied and is not needed here.
    machine = type(estimator)(**{**estimator.get_params(deep=False), "cv": None})
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(estimator, name):
            setattr(machine, name, getattr(estimator, name))
    inside, targets = _safe_split(estimator, X, y, train)
    if hasattr(estimator, "classes_") and np.any(np.ptp(targets[weights[train] > 0], axis=0) == 0):
        raise ValueError(
            "every fold must train on all classes; got one whose training rows lack a class. Use "
            "cv=StratifiedKFold(...) or fewer folds."
        )
    outside, truth = _safe_split(estimator, X, y, test, train)
    held = weights[test] / (weights[test].sum() or 1.0)
    greedy = machine._greedy() is not None
    rng = np.random.default_rng(seed)
    scores: list[Array] = []
    # In a process of its own; here, the whole fit has its limit already.
    with threads_for(len(train)):
        prepared = machine._prepared(inside, targets, weights[train], loss, place)
        for degree, problem, bases in prepared:
            new = machine._kernels.on(machine._scaled(outside), outside, place)
            for candidate in (one for one in candidates if one.degree == degree):
                family = machine._products(bases, degree, candidate.p)
                evaluate = Evaluator(family, new, problem.weights)
                own: list[float] = []
                _begin(number, len(scores), candidates)
                for result in machine._paths(candidate, problem, family, rng):
                    own.append(-float(np.sum(held[:, None] * loss.value(truth, evaluate(result)))))
                    if result.interrupted:
                        return [*scores, np.array(own)], True
                    if ended(own, result, greedy):
                        break
                scores.append(np.array(own))
    return scores, False


def _begin(place: tuple[int, int], number: int, candidates: list[Candidate]) -> None:
    """Say that the path of a candidate begins, if somebody watches this process."""
    watch = current()
    if watch is None:
        return
    fold, folds = place
    share = CHOOSING / (folds * len(candidates))
    done = fold * len(candidates) + number
    label = f"degree {candidates[number].degree}"
    label += f", fold {fold + 1} of {folds}" if folds > 1 else ""
    watch.stage(label, done * share, (done + 1) * share)
