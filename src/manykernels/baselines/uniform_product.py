"""The power of the plain sum of all base kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bases import FeatureBlocks, GramStack
from ..dual import DualSolution, GramSystem, solve
from ..estimators.tasks import Classification, Regression
from ..objective import Problem
from .power_kernel import PowerKernel, PowerMachine


@dataclass(eq=False, repr=False)
class BaseUniformProduct(PowerMachine):
    """Base of regression and classification."""

    kernels: Any = "linear"
    degree: int = 2
    constant: bool = True
    loss: Any = "squared"
    alpha: float = 1e-3
    fit_intercept: bool = True
    standardize: bool | str = True

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
    kernels, loss, alpha, fit_intercept, standardize :
        As for :class:`manykernels.MKLRegressor`.
    degree : int, default=2
        The power D.
    constant : bool, default=True
        Whether the constant kernel is one of the base kernels; without it all products have
        exactly D factors.

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


@dataclass(eq=False, repr=False)
class UniformProductKernelClassifier(Classification, BaseUniformProduct):
    """Classification with the power of the sum of all base kernels: no weights learnt.

    Parameters
    ----------
    loss : {"hinge", "logistic", "squared_hinge", "squared"} or loss object, default="hinge"
        Loss. Other parameters are as for :class:`UniformProductKernel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Other attributes are as for :class:`UniformProductKernel`.
    """

    loss: Any = "hinge"
