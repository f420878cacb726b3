"""Powers of a weighted sum of base kernels: learnt weights (Cortes et al. 2009), or equal ones."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..bases import FeatureBlocks, GramStack
from ..dual import DualSolution, GramSystem, solve
from ..estimators.machine import KernelMachine, refuse_infinite
from ..estimators.tasks import Classification, Regression
from ..kernels import refuse_bytes
from ..objective import Problem

STEP_TOL = 1e-6
"""Projected gradient descent ends when the weights move by less than this."""


@dataclass(frozen=True)
class PowerKernel:
    r"""The kernel :math:`(c + \sum_k \mu_k K_k)^D`, powers entrywise.

    Parameters
    ----------
    bases : FeatureBlocks or GramStack
        The base kernels on some rows.
    mu : ndarray of shape (r,)
        Their weights.
    constant : float
        c, the weight of the constant kernel.
    degree : int
        D.
    """

    bases: FeatureBlocks | GramStack
    mu: Array
    constant: float
    degree: int

    def sum(self, other: FeatureBlocks | GramStack | None = None) -> Array:
        r"""Return :math:`c + \sum_k \mu_k K_k` between own rows and other ones; O(n m R)."""
        if isinstance(self.bases, GramStack):
            return np.tensordot(self.mu, self.bases.grams, axes=1) + self.constant
        right = self.bases if other is None else other
        assert isinstance(right, FeatureBlocks)
        scale = np.repeat(self.mu, self.bases.sizes)
        product = (self.bases.features * scale) @ right.features.T
        return np.asarray(getattr(product, "toarray", lambda: product)()) + self.constant

    def gram(self, other: FeatureBlocks | GramStack | None = None) -> Array:
        """Return the kernel matrix between own rows and other ones."""
        return power(self.sum(other), self.degree)

    def slopes(self, alpha: Array) -> Array:
        r"""Return :math:`\partial_k\,\alpha^\top K_\mu\alpha`, the constant kernel's first.

        :math:`D\,\alpha^\top (S^{D-1} \circ K_k)\,\alpha`; O(n^2 R), as one matrix product.
        """
        inner = self.degree * power(self.sum(), self.degree - 1)
        first = float(np.sum(alpha * (inner @ alpha)))
        rest = self.bases.contract(self.bases.start(alpha), [inner], slice(0, self.bases.rows))
        return np.concatenate([[first], rest[:, 0]])


def power(matrix: Array, degree: int) -> Array:
    """Return entrywise powers, by products: NumPy's own are a hundred times slower."""
    out = np.ones_like(matrix)
    for _ in range(degree):
        out *= matrix
    return out


@dataclass(frozen=True)
class Expansion:
    r"""The function :math:`\sum_t a_t \kappa(x_t, \cdot) + b` of a power kernel.

    Attributes
    ----------
    power : PowerKernel
        The kernel on the training rows.
    expansion : ndarray of shape (n, c)
        The coefficients a.
    intercept : ndarray of shape (c,)
        Constants.
    """

    power: PowerKernel
    expansion: Array
    intercept: Array

    def decision(self, bases: FeatureBlocks | GramStack) -> Array:
        """Return the function on new rows; O(n_new n R)."""
        return self.kernel(bases, self.power.bases) @ self.expansion + self.intercept

    def kernel(self, left: FeatureBlocks | GramStack, right: FeatureBlocks | GramStack) -> Array:
        """Return the kernel between two sets of rows."""
        return PowerKernel(left, self.power.mu, self.power.constant, self.power.degree).gram(right)


class PowerMachine(KernelMachine):
    """Base of estimators whose kernel is a power of a sum."""

    def _learn(self, problem: Problem, bases: FeatureBlocks | GramStack) -> tuple[Expansion, Array]:
        refuse_bytes(
            3 * 8 * bases.rows**2,
            f"three kernel matrices of {bases.rows} rows",
            "Use fewer rows.",
        )
        kernel, solution = self._choose(problem, bases)
        refuse_infinite(solution.objective, self.alpha)
        self.mu_, self.constant_ = kernel.mu, kernel.constant
        self.objective_ = solution.objective
        return Expansion(kernel, solution.coefficients, solution.intercept), solution.alpha

    @abstractmethod
    def _choose(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[PowerKernel, DualSolution]:
        """Return the kernel and the predictor."""


class BaseUniformProduct(PowerMachine):
    """Base of regression and classification."""

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 2,
        constant: bool = True,
        loss: Any = "squared",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        standardize: bool | str = True,
    ) -> None:
        self.kernels = kernels
        self.degree = degree
        self.constant = constant
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _choose(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[PowerKernel, DualSolution]:
        scale = 1.0 / (bases.count + bool(self.constant))
        kernel = PowerKernel(
            bases, np.full(bases.count, scale), scale if self.constant else 0.0, int(self.degree)
        )
        return kernel, solve(problem, GramSystem(kernel.gram()))


class UniformProductKernel(Regression, BaseUniformProduct):
    r"""Regression with the kernel :math:`\big((1 + \sum_k K_k)/(r+1)\big)^D`: no weights learnt.

    With linear base kernels it is the polynomial kernel of support vector machines. The division
    keeps kernel values near one whatever the number of columns and the degree, so that one grid
    of strengths serves all degrees; it only rescales alpha.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, default="linear"
        Base kernels, as for :class:`manykernels.MKLRegressor`.
    degree : int, default=2
        The power D.
    constant : bool, default=True
        Whether the constant kernel is one of the base kernels; without it all products have
        exactly D factors.
    loss : {"squared", "huber", "epsilon_insensitive"} or loss object, default="squared"
        Loss.
    alpha : float, default=1e-3
        Strength of the penalty next to the mean loss.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant.
    standardize : {True, "scale", False}, default=True
        How columns are standardised.

    Attributes
    ----------
    mu_ : ndarray of shape (r,)
        Weights of the base kernels, all equal.
    constant_ : float
        Weight of the constant kernel.
    intercept_, dual_coef_, objective_ :
        As for :class:`manykernels.MKLRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels.baselines import UniformProductKernel
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] * X[:, 3]
    >>> UniformProductKernel(degree=2, alpha=1e-6).fit(X, y).score(X, y) > 0.99
    True
    """


class UniformProductKernelClassifier(Classification, BaseUniformProduct):
    """Classification with the power of the sum of all base kernels: no weights learnt.

    Parameters
    ----------
    kernels, degree, constant, alpha, fit_intercept, standardize :
        As for :class:`UniformProductKernel`.
    loss : {"hinge", "logistic", "squared_hinge", "squared"} or loss object, default="hinge"
        Loss.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    mu_, constant_, intercept_, dual_coef_, objective_ :
        As for :class:`UniformProductKernel`.
    """

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 2,
        constant: bool = True,
        loss: Any = "hinge",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        standardize: bool | str = True,
    ) -> None:
        super().__init__(kernels, degree, constant, loss, alpha, fit_intercept, standardize)


class PolynomialCombination(Regression, PowerMachine):
    r"""Kernel ridge regression with a learnt :math:`\big(\sum_k \mu_k K_k\big)^D`.

    It minimises the ridge objective J over :math:`\mu \ge 0`, :math:`\|\mu - \mu_0\|_q \le \Lambda`
    by projected gradient descent with a step that adapts until the objective does not rise. The
    problem is not convex for degree > 1: the result is a local minimum, on the boundary of the
    ball. An iteration costs O(n^3) for the predictor and O(r n^2) for the gradient.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, default="linear"
        Base kernels, as for :class:`manykernels.MKLRegressor`.
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
    loss : {"squared", "huber", "epsilon_insensitive"} or loss object, default="squared"
        Loss.
    alpha : float, default=1e-3
        Strength of the penalty next to the mean loss.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-6
        Relative decrease of the objective to stop at.
    standardize : {True, "scale", False}, default=True
        How columns are standardised.

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

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 2,
        constant: bool = True,
        norm: int = 2,
        centre: float = 0.0,
        radius: float = 1.0,
        loss: Any = "squared",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        standardize: bool | str = True,
    ) -> None:
        self.kernels = kernels
        self.degree = degree
        self.constant = constant
        self.norm = norm
        self.centre = centre
        self.radius = radius
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize

    def _choose(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[PowerKernel, DualSolution]:
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
                mu, solution, step = trial, reached, 2 * step
            if moved < STEP_TOL * self.radius or decrease <= self.tol * solution.objective:
                break
        else:
            warnings.warn(
                f"The objective still fell by {decrease / solution.objective:.2g} of itself in "
                f"the last of max_iter={self.max_iter} steps. Raise max_iter, or accept a larger "
                "tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.n_iter_ = len(objectives)
        self.history_ = {"objective": np.array([*objectives, solution.objective])}
        return kernel(mu), solution


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
    above = np.abs(away).max() if norm == 1 else float(np.linalg.norm(away)) / radius
    return at(brentq(excess, 0.0, above, xtol=1e-15 * above, rtol=1e-14))
