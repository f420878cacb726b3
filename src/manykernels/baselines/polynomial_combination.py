"""Powers of a learnt sum of base kernels (Cortes, Mohri and Rostamizadeh 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..bases import FeatureBlocks, GramStack
from ..dual import DualSolution, GramSystem, solve
from ..estimators.tasks import Regression
from ..notices import notify
from ..objective import Problem
from .power_kernel import PowerKernel, PowerMachine

LONGEST = 1e6
"""Largest step, in radii: far beyond the ball only its direction counts."""

STEP_TOL = 1e-6
"""Projected gradient descent ends when the weights move by less than this."""


@dataclass(eq=False, repr=False)
class PolynomialCombination(Regression, PowerMachine):
    r"""Kernel ridge regression with a learnt :math:`\big(\sum_k \mu_k K_k\big)^D`.

    It minimises the ridge objective J over :math:`\mu \ge 0`, :math:`\|\mu - \mu_0\|_q \le \Lambda`
    by projected gradient descent with a step that adapts until the objective does not rise. The
    problem is not convex for degree > 1: the result is a local minimum, on the boundary of the
    ball. An iteration costs O(n^3) for the predictor and O(r n^2) for the gradient.

    Parameters
    ----------
    kernels, loss, alpha, fit_intercept, standardize :
        As for :class:`manykernels.MKLRegressor`.
    degree : int, default=2
        The power D.
    constant : bool, default=True
        Whether the constant kernel is one of the base kernels.
    norm : {1, 2}, default=2
        q, the norm of the ball.
    centre : float, default=0.0
        Every entry of :math:`\mu_0 \ge 0`.
    radius : float, default=1.0
        :math:`\Lambda`. With centre 0 it only rescales alpha.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-6
        Relative decrease of the objective to stop at.

    Attributes
    ----------
    mu_ : ndarray of shape (r,)
        Weights of the base kernels.
    constant_ : float
        Weight of the constant kernel.
    n_iter_ : int
        Steps taken.
    history_ : dict of ndarray
        The objective before each step and after the last.
    intercept_, dual_coef_, objective_ :
        As for :class:`manykernels.MKLRegressor`.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh: Learning Non-Linear Combinations of Kernels, Advances in
    Neural Information Processing Systems 22, 2009.
    """

    kernels: Any = "linear"
    degree: int = 2
    constant: bool = True
    norm: int = 2
    centre: float = 0.0
    radius: float = 1.0
    loss: Any = "squared"
    alpha: float = 1e-3
    fit_intercept: bool = True
    max_iter: int = 500
    tol: float = 1e-6
    standardize: bool | str = True

    def _choose(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[PowerKernel, DualSolution, dict[str, Any]]:
        objectives: list[float] = []
        lead = int(self.constant)  # the constant kernel's weight comes first, if it has one

        def kernel(weights: Array) -> PowerKernel:
            constant = float(weights[0]) if lead else 0.0
            return PowerKernel(bases, weights[lead:], constant, int(self.degree))

        def value(weights: Array, start: DualSolution | None) -> DualSolution:
            return solve(problem, GramSystem(kernel(weights).gram()), start)

        count = bases.count + lead
        mu0 = np.full(count, float(self.centre))
        mu = mu0 + self.radius / count ** (1 / self.norm)
        solution, step = value(mu, None), float(self.radius)
        moved = np.inf
        for _ in range(self.max_iter):
            objectives.append(solution.objective)
            slopes = kernel(mu).slopes(solution.alpha)[1 - lead :]
            size = float(np.linalg.norm(slopes))
            if not size > 0:
                moved = 0.0
                break
            while True:
                target = mu + step * slopes / size
                trial = project(target, mu0, float(self.radius), int(self.norm))
                moved = float(np.linalg.norm(trial - mu))
                reached = value(trial, solution)
                if reached.objective <= solution.objective or moved < STEP_TOL * self.radius:
                    break
                step /= 2
            decrease = solution.objective - reached.objective
            if decrease > 0:
                mu, solution = trial, reached
                step = min(2 * step, LONGEST * self.radius)
            if moved < STEP_TOL * self.radius or decrease <= self.tol * solution.objective:
                break
        else:
            notify(
                f"The objective still fell by {decrease / solution.objective:.2g} of itself in "
                f"the last of max_iter={self.max_iter} steps. Raise max_iter, or accept a larger "
                "tol.",
                ConvergenceWarning,
            )
        history = {"objective": np.array([*objectives, solution.objective])}
        return kernel(mu), solution, {"n_iter_": len(objectives), "history_": history}


def project(point: Array, centre: Array, radius: float, norm: int) -> Array:
    r"""Return the Euclidean projection on :math:`\{\mu \ge 0, \|\mu - \mu_0\|_q \le \Lambda\}`.

    For q = 2 it is :math:`((u + s\mu_0)/(1+s))_+`, for q = 1
    :math:`(\mu_0 + \mathrm{soft}(u - \mu_0, s))_+`, with the least s >= 0 that is feasible.
    """
    away = point - centre

    def at(s: float) -> Array:
        if norm == 2:
            return np.maximum((point + s * centre) / (1 + s), 0.0)
        return np.maximum(centre + np.sign(away) * np.maximum(np.abs(away) - s, 0.0), 0.0)

    def excess(s: float) -> float:
        return float(np.linalg.norm(at(s) - centre, norm)) - radius

    if excess(0.0) <= 0:
        return at(0.0)
    # Where everything is well inside, also after rounding.
    above = np.abs(away).max() if norm == 1 else 2 * float(np.linalg.norm(away)) / radius
    return at(brentq(excess, 0.0, above, xtol=1e-15 * above, rtol=1e-14))
