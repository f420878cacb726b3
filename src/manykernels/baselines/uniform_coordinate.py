"""Uniform coordinate descent: our loop with kernels drawn uniformly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..estimators.base import FamilyMachine
from ..estimators.tasks import Classification, Regression
from ..solvers import ClosedForm, HarmonicStep, MirrorDescent, UniformSampler
from ..spec import Spec
from ..specify import specify


@dataclass(eq=False, repr=False)
class BaseUniform(FamilyMachine):
    """Base of regression and classification."""

    kernels: Any = "linear"
    degree: int = 3
    index_set: str = "auto"
    rho: Any = None
    p: float = 4 / 3
    loss: Any = "squared"
    alpha: float = 1e-3
    fit_intercept: bool = True
    draws: int = 50
    step: Any = None
    max_iter: int = 1000
    tol: float = 1e-2
    max_time: float | None = None
    standardize: bool | str = True
    random_state: Any = None
    verbose: int = 0

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
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, alpha_ :
        As for :class:`manykernels.MKLRegressor`.

    References
    ----------
    Yu. Nesterov: Efficiency of coordinate descent methods on huge-scale optimization problems,
    SIAM Journal on Optimization 22, 2012.
    """


@dataclass(eq=False, repr=False)
class UniformCoordinateDescentClassifier(Classification, BaseUniform):
    """Classification by uniform coordinate descent.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or loss object, default="logistic"
        Loss. Other parameters are as for :class:`UniformCoordinateDescent`, attributes as for
        :class:`manykernels.MKLClassifier`.
    """

    loss: Any = "logistic"
