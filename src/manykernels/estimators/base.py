"""What estimators of families of kernels share, and the base of our own."""

from __future__ import annotations

import os
import sys
import warnings
from abc import abstractmethod
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..bases import FeatureBlocks, GramStack
from ..explain import Terms
from ..families import IndexSet, Interactions, KernelFamily, Monomials, ProductFamily, Tuples
from ..losses import Loss
from ..objective import Problem, exponent
from ..predictor import Predictor, make_predictor
from ..randomness import generator
from ..solvers import Result, Solver, describe, match, run
from ..store import save
from .interrupted import InterruptedWarning
from .machine import KernelMachine, refuse_infinite
from .notebook import html
from .progress import Progress, watching

if TYPE_CHECKING:
    import pandas as pd


class FamilyMachine(KernelMachine):
    """Base of estimators that weigh the kernels of a family.

    A subclass has the parameters of :class:`KernelMachine` and degree, index_set, rho, p, tol.
    """

    def _problem(self, y: Array, weights: Array, loss: Loss) -> Problem:
        return Problem(y, weights, loss, float(self.alpha), float(self.p), bool(self.fit_intercept))

    def _learn(self, problem: Problem, bases: FeatureBlocks | GramStack) -> tuple[Predictor, Array]:
        family = self._family(bases)
        result = self._solve(problem, family)
        self._judge(result)
        predictor = make_predictor(family, result, problem.weights)
        self._store(family, result, predictor)
        return predictor, result.solution.alpha

    def _family(self, bases: FeatureBlocks | GramStack) -> KernelFamily:
        return self._products(bases, self.degree, self.p)

    def _products(self, bases: FeatureBlocks | GramStack, degree: int, p: float) -> ProductFamily:
        return ProductFamily(bases, degree, self._index_set(p), self.rho, self._kernels.names)

    def _index_set(self, p: float) -> IndexSet:
        kind = self.index_set
        if kind == "auto":
            kind = "monomials" if self._kernels.powers else "interactions"
        if kind == "tuples":
            return Tuples(exponent(p))
        return Monomials() if kind == "monomials" else Interactions()

    @abstractmethod
    def _solve(self, problem: Problem, family: KernelFamily) -> Result:
        """Find the weights and the predictor."""

    def _count(self, family: KernelFamily) -> int:
        """Return the number of kernels to choose from."""
        return family.size

    def _run(
        self, solver: Solver, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Result:
        """Run a solver within the limits of the estimator, writing progress if it is verbose."""
        limits = self.max_iter, self.tol, self.max_time
        with watching(self.verbose) as watch:
            size = self._count(family)
            progress = Progress(watch, size, self.tol, self.max_iter, self.max_time)
            return run(solver, problem, family, rng, *limits, progress)

    def _judge(self, result: Result) -> None:
        """Refuse a result that is no number; warn of one that is not what was asked for."""
        gap, kind = result.certificate.relative, result.certificate.kind
        certified = kind != "none"
        refuse_infinite(result.solution.objective + (gap if certified else 0.0), self._strength())
        state = (
            f"a relative duality gap of {gap:.2g}" if certified else f"{len(result.indices)} terms"
        )
        if result.interrupted:
            message = (
                f"Interrupted after {result.n_iter} iterations; the model is that of the last one, "
                f"with {state}."
            )
            warnings.warn(message, InterruptedWarning, stacklevel=5)
        elif not result.converged:
            goal = f", above tol={self.tol:g}" if certified else ", fewer than asked for"
            remedy = "Raise max_iter or max_time, or accept a larger tol."
            p = getattr(self, "p_", getattr(self, "p", None))  # chosen, or given
            if np.ndim(p) == 0 and p == 2:  # type: ignore[arg-type]
                remedy = "With p = 2 that is rounding: use a larger alpha."
            message = (
                f"Stopped after {result.n_iter} iterations with {state} ({kind}){goal}. {remedy}"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _strength(self) -> float:
        """Return the strength of the penalty."""
        return float(self.alpha)

    def _store(self, family: KernelFamily, result: Result, predictor: Predictor) -> None:
        self.terms_ = list(predictor.indices)
        self.theta_ = predictor.theta
        self.objective_ = result.solution.objective
        self.gap_ = result.certificate.relative
        self.gap_kind_ = result.certificate.kind
        self.n_kernels_ = self._count(family)
        self.n_iter_ = result.n_iter
        self.history_ = {key: np.array(values) for key, values in result.history.items()}
        if predictor.coefficients is not None:
            self.coef_ = self._shape_outputs(predictor.coefficients.T)
        elif hasattr(self, "coef_"):
            del self.coef_

    def explain(self, top: int | None = 20) -> pd.DataFrame:
        """Return the most important terms as a table.

        Parameters
        ----------
        top : int or None, default=20
            How many terms; None for all.

        Returns
        -------
        pandas.DataFrame
            Columns ``term`` (by name), ``degree``, ``theta`` (kernel weight), ``share`` (of the
            variance of the fitted function over the training rows; shares of all kernels in use
            add up to one) and ``sign`` (of the coefficient; 0 where a term has no single
            coefficient). With p = 2 and more than 10,000 kernels only important ones are listed.
        """
        check_is_fitted(self)
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise ValueError(f"top must be an integer >= 0 or None; got {top!r}. Use top=20.")
        return self._terms().table(top)

    def contributions(self, X: Any, terms: Any = None, label: Any = None) -> pd.DataFrame:
        """Return what each term contributes to each prediction.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        terms : list of str, optional
            Names of terms, as in :meth:`explain`; by default all, and the intercept.
        label : object, optional
            With more than two classes: the class whose decision values to explain.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_terms + 1)
            Columns ``intercept`` and the terms' names, by descending share of variance. Without
            ``terms`` they add up to the prediction, for classes to the decision value: each term
            is a function of its own variables, and the model is their sum. What :meth:`explain`
            does not list (with p = 2) is a column ``other terms``.
        """
        check_is_fitted(self)
        names = None if terms is None else [terms] if isinstance(terms, str) else list(terms)
        output = self._output(label)
        index = X.index if hasattr(X, "iloc") else None
        X = self._validate(X, reset=False)
        bases = self._kernels.on(self._scaled(X), X)
        frame = self._terms().contributions(bases, names, output)
        return frame if index is None else frame.set_axis(index, axis=0)

    def _repr_html_inner(self) -> str:
        # In scikit-learn this is the value of the property _repr_html_.
        return html(self, self.explain(None) if hasattr(self, "terms_") else None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown

    def _terms(self) -> Terms:
        assert isinstance(self._predictor, Predictor)
        return Terms(self._predictor, self._kernels.inputs)

    def _output(self, label: Any) -> int:
        """Return the number of the output that belongs to a class."""
        classes = getattr(self, "classes_", np.empty(0))
        if len(classes) <= 2 and label is None:
            return 0
        if len(classes) <= 2 or label not in classes.tolist():
            several = "one of " + ", ".join(map(repr, classes.tolist()))
            raise ValueError(
                f"label must be {several if len(classes) > 2 else 'None for a single output'}; "
                f"got {label!r}. It says whose decision values to explain."
            )
        return classes.tolist().index(label)


class BaseMKL(FamilyMachine):
    """Base of our own estimators: the solver that the problem asks for, or the one asked for."""

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 3,
        index_set: str = "auto",
        rho: Any = None,
        p: float = 4 / 3,
        loss: Any = "squared",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-2,
        max_time: float | None = None,
        standardize: bool | str = True,
        device: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.degree = degree
        self.index_set = index_set
        self.rho = rho
        self.p = p
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.standardize = standardize
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to a file that :func:`manykernels.load` reads.

        Parameters
        ----------
        path : str or path
            The file, by custom ``NAME.mk``: a zip of JSON and plain arrays with checksums.

        Returns
        -------
        Path
            The file. The model that is read from it predicts bit for bit the same. What belongs
            to training rows (``dual_coef_``) is left out unless predictions need it, and ``cv``
            and ``random_state`` are None if they were objects.
        """
        from .. import __version__

        check_is_fitted(self)
        return save(self, path, __version__)

    def _solve(self, problem: Problem, family: KernelFamily) -> Result:
        rng = generator(self.random_state)
        return self._run(self._solver(problem, family), problem, family, rng)

    def _solver(self, problem: Problem, family: KernelFamily) -> Solver:
        """Return the solver in use, and say why if asked to be verbose."""
        solver = match(self.solver, problem, family)
        if self.verbose >= 2:
            sys.stderr.write(f"{describe(solver, problem, family)}\n")
        return solver
