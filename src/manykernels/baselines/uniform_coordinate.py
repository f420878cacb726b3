"""Uniform coordinate descent: our loop with kernels drawn uniformly."""

from __future__ import annotations

from typing import Any

from ..estimators.base import FamilyMachine
from ..estimators.defaults import with_defaults
from ..estimators.tasks import Classification, Regression
from ..solvers import ClosedForm, HarmonicStep, MirrorDescent, UniformSampler
from ..spec import Spec, specify


class BaseUniform(FamilyMachine):
    """Base of regression and classification."""

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
        draws: int = 50,
        step: Any = None,
        max_iter: int = 1000,
        tol: float = 1e-2,
        max_time: float | None = None,
        standardize: bool | str = True,
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
        self.draws = draws
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def _specify(self) -> Spec:
        step = HarmonicStep() if self.step is None else self.step
        descent = MirrorDescent(self.draws, UniformSampler(), step)
        return specify(self, self.labelled, solver=ClosedForm() if self.p == 2 else descent)


class UniformCoordinateDescent(Regression, BaseUniform):
    """Regression by uniform coordinate descent (UCD), the paper's control.

    The problem and the loop of :class:`manykernels.MKLRegressor`, with kernels drawn uniformly
    from the family instead of in proportion to their gradient. The estimate is unbiased too; its
    second moment is larger by the factor by which the gradient is far from uniform.

    Parameters
    ----------
    kernels, degree, index_set, rho, p, loss, alpha, fit_intercept, max_iter, tol, max_time, \
standardize, random_state, verbose :
        As for :class:`manykernels.MKLRegressor`.
    draws : int, default=50
        Kernels drawn in each iteration.
    step : StepSize, default=HarmonicStep()
        Step sizes; see :mod:`manykernels.solvers`.

    Attributes
    ----------
    terms_, theta_, coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_ :
        As for :class:`manykernels.MKLRegressor`.

    References
    ----------
    Yu. Nesterov: Efficiency of coordinate descent methods on huge-scale optimization problems,
    SIAM Journal on Optimization 22, 2012.
    """


class UniformCoordinateDescentClassifier(Classification, BaseUniform):
    """Classification by uniform coordinate descent.

    Parameters
    ----------
    kernels, degree, index_set, rho, p, loss, alpha, fit_intercept, max_iter, tol, max_time, \
standardize, random_state, verbose :
        As for :class:`manykernels.MKLClassifier`.
    draws, step :
        As for :class:`UniformCoordinateDescent`.

    Attributes
    ----------
    classes_, terms_, theta_, coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, \
n_kernels_, n_iter_, history_ :
        As for :class:`manykernels.MKLClassifier`.
    """

    __init__ = with_defaults(BaseUniform.__init__, loss="logistic")
