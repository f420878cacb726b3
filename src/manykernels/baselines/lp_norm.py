"""lp-norm multiple kernel learning by analytic updates (Kloft et al. 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ..backend import approximately
from ..certificate import from_norm
from ..dual import DualSolution, solve
from ..estimators.base import FamilyMachine
from ..estimators.tasks import Classification, Regression
from ..families import KernelFamily
from ..objective import Problem, best_weights
from ..potentials import power_norm
from ..solvers import ClosedForm
from ..solvers.full_pass import PASS_TOL, AllKernels, Pass, refuse_long_list
from ..spec import Spec
from ..specify import specify


@dataclass(frozen=True)
class AnalyticUpdates:
    r"""Alternate the predictor of given weights with the best weights of a given predictor.

    With :math:`c_i = \rho_i^2\|w_i\|^2 = \theta_i^2 g_i` the weights

    .. math:: \theta_i = c_i^{1/(\nu+1)} \Big/ \Big(\sum_j c_j^{\nu/(\nu+1)}\Big)^{1/\nu}

    minimise :math:`\sum_i c_i/\theta_i` over the ball, so the objective never rises. A pass costs
    O(n^2 m) for m features in all, as one matrix product, and O(n^3) for the dual; features are
    kept if they fit in a gigabyte and else made anew in blocks, so that memory is O(n^2 + d).
    Near p = 1 zeros are approached slowly and hundreds of passes are needed.
    """

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[Pass]:
        """Yield the state before each update."""
        refuse_long_list(family)
        design = AllKernels(family)
        nu = problem.nu
        theta = np.full(family.distinct, approximately(family.distinct) ** (-1 / nu))
        solution: DualSolution | None = None
        for k in count(1):
            solution = solve(problem, design.system(theta), solution, PASS_TOL)
            gradients = family.at(solution.alpha).all()
            norm = power_norm(gradients, problem.dual_exponent)
            certificate = from_norm(problem, solution, norm, "exact")
            yield Pass(k, family, theta, solution, certificate)
            theta = best_weights(theta, gradients, nu)


@dataclass(eq=False, repr=False)
class BaseLpNorm(FamilyMachine):
    """Base of regression and classification."""

    kernels: Any = "linear"
    degree: int = 1
    index_set: str = "auto"
    rho: Any = None
    p: float = 4 / 3
    loss: Any = "squared"
    alpha: float = 1e-3
    fit_intercept: bool = True
    max_iter: int = 500
    tol: float = 1e-3
    max_time: float | None = None
    standardize: bool | str = True
    verbose: int = 0

    def _specify(self) -> Spec:
        solver = ClosedForm() if self.p == 2 else AnalyticUpdates()
        return specify(self, self.labelled, solver=solver)


class LpNormMKL(Regression, BaseLpNorm):
    r"""Regression by lp-norm multiple kernel learning, over a list of kernels.

    It solves the problem of :class:`manykernels.MKLRegressor` with all kernels listed: each pass
    costs time proportional to their number, and few passes are needed.

    Parameters
    ----------
    kernels, index_set, rho, loss, alpha, fit_intercept, tol, max_time, standardize, verbose :
        As for :class:`manykernels.MKLRegressor`.
    degree : int, default=1
        Largest number of base kernels in a product. All products are listed; lists that do not
        fit in memory are refused.
    p : float, default=4/3
        Exponent of the group norm, 1 <= p <= 2; Kloft's exponent of the kernel weights is
        p/(2-p).
    max_iter : int, default=500
        Largest number of passes over the list.

    Attributes
    ----------
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, alpha_ :
        As for :class:`manykernels.MKLRegressor`.

    References
    ----------
    M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien: lp-Norm Multiple Kernel Learning, Journal of
    Machine Learning Research 12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels.baselines import LpNormMKL
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = LpNormMKL(degree=2).fit(X, X[:, 0] * X[:, 3])
    >>> model.explain(top=1)["term"].tolist()
    ['x0 * x3']
    """


@dataclass(eq=False, repr=False)
class LpNormMKLClassifier(Classification, BaseLpNorm):
    """Classification by lp-norm multiple kernel learning, over a list of kernels.

    Parameters
    ----------
    loss : {"hinge", "logistic", "squared_hinge", "squared"} or loss object, default="hinge"
        Loss. Other parameters are as for :class:`LpNormMKL`, attributes as for
        :class:`manykernels.MKLClassifier`.
    """

    loss: Any = "hinge"
