"""The methods that the experiments compare, by the names that tables and figures use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..baselines import (
    HierarchicalKernelLearning,
    LpNormMKL,
    MonomialLasso,
    PolynomialCombination,
    UniformProductKernel,
)
from ..estimators import MKLRegressor
from ..solvers import MirrorDescent

PRIOR = (1.0, 1.0, 1.0, 2.0)
"""The paper's prior against kernels of degree 3: rho^2 = 4."""

STEEP = (1.0, 1.0, 4.0, 16.0)
"""A prior that prices each further factor four times as high, as HKL does by default."""


@dataclass(frozen=True)
class Method:
    """A method and its settings but for the strength.

    Attributes
    ----------
    make : callable
        Makes an unfitted estimator from the strength (``alpha``, next to the mean loss) and the
        number of columns.
    own_path : bool
        Whether the strength has another meaning than in ridge regression, so that it is tuned
        over a path of its own.
    """

    make: Callable[[float, int], Any]
    own_path: bool = False

    @property
    def recipe(self) -> str:
        """All settings in words: runs with another recipe are other runs."""
        return repr(self.make(1.0, 1).get_params())


def ours(
    degree: int, rho: tuple[float, ...] | None = None, p: float = 4 / 3, max_iter: int = 300
) -> Method:
    """Return our estimator: mirror descent with 50 draws a step; the closed form for p = 2."""

    def make(alpha: float, columns: int) -> MKLRegressor:
        return MKLRegressor(
            degree=degree,
            rho=rho,
            p=p,
            alpha=alpha,
            max_iter=max_iter,
            solver="auto" if p == 2 else MirrorDescent(),
            standardize=False,
            random_state=0,
        )

    return Method(make)


def hierarchical(degree: int) -> Method:
    """Return HKL, to a gap of one percent or for 15 rounds of up to 200 further nodes."""

    def make(alpha: float, columns: int) -> HierarchicalKernelLearning:
        return HierarchicalKernelLearning(
            total_degree=degree, alpha=alpha, tol=1e-2, max_iter=15, standardize=False
        )

    return Method(make)


def combination(degree: int, norm: int = 2) -> Method:
    """Return the polynomial combination of Cortes et al., on the l1 or l2 ball."""

    def make(alpha: float, columns: int) -> PolynomialCombination:
        return PolynomialCombination(
            degree=degree, norm=norm, alpha=alpha, tol=1e-8, standardize=False
        )

    return Method(make)


def uniform(degree: int) -> Method:
    """Return the unscaled polynomial kernel, as in the paper."""

    def make(alpha: float, columns: int) -> UniformProductKernel:
        scale = float(columns + 1) ** degree  # the estimator divides its kernel by this
        return UniformProductKernel(degree=degree, alpha=alpha / scale, standardize=False)

    return Method(make)


def lp_norm(degree: int, p: float) -> Method:
    """Return lp-norm MKL over the list of all kernels, to a gap of one percent."""

    def make(alpha: float, columns: int) -> LpNormMKL:
        return LpNormMKL(degree=degree, p=p, alpha=alpha, tol=1e-2, standardize=False)

    return Method(make)


def lasso(degree: int) -> Method:
    """Return Lasso over all monomials, to a gap of 1e-3 or for five times 200 sweeps."""

    def make(alpha: float, columns: int) -> MonomialLasso:
        return MonomialLasso(degree=degree, alpha=alpha, max_iter=200, standardize=False)

    return Method(make, own_path=True)
