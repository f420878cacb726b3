"""The power of the plain sum of all base kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bases import FeatureBlocks, GramStack
from ..dual import DualSolution, GramSystem, solve
from ..estimators.defaults import with_defaults
from ..estimators.tasks import Classification, Regression
from ..objective import Problem
from .power_kernel import PowerKernel, PowerMachine


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
    ) -> tuple[PowerKernel, DualSolution, dict[str, Any]]:
        scale = 1.0 / (bases.count + bool(self.constant))
        kernel = PowerKernel(
            bases, np.full(bases.count, scale), scale if self.constant else 0.0, int(self.degree)
        )
        return kernel, solve(problem, GramSystem(kernel.gram())), {}


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

    __init__ = with_defaults(BaseUniformProduct.__init__, loss="hinge")
