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

    ``make`` returns an unfitted estimator for a strength (``alpha``, next to the mean loss) and a
    number of columns. ``own_path`` tells whether the strength has another meaning than in ridge
    regression, so that it is tuned over a path of its own.
    """

    make: Callable[[float, int], Any]
    own_path: bool = False

    @property
    def recipe(self) -> str:
        """All settings in words: runs with another recipe are other runs."""
        return repr(self.make(1.0, 1).get_params())


def _method(kind: type[Any], own_path: bool = False, **settings: Any) -> Method:
    """Return a method whose settings are the same for all numbers of columns."""
    return Method(lambda alpha, columns: kind(alpha=alpha, standardize=False, **settings), own_path)


def ours(
    degree: int, rho: tuple[float, ...] | None = None, p: float = 4 / 3, max_iter: int = 300
) -> Method:
    """Return our estimator: mirror descent with 50 draws a step; the closed form for p = 2."""
    solver = "auto" if p == 2 else MirrorDescent()
    own: dict[str, Any] = {
        "degree": degree,
        "rho": rho,
        "p": p,
        "max_iter": max_iter,
        "solver": solver,
    }
    return _method(MKLRegressor, **own, random_state=0)


def hierarchical(degree: int) -> Method:
    """Return HKL, to a gap of one percent or for 15 rounds of up to 200 further nodes."""
    return _method(HierarchicalKernelLearning, total_degree=degree, tol=1e-2, max_iter=15)


def combination(degree: int, norm: int = 2) -> Method:
    """Return the polynomial combination of Cortes et al., on the l1 or l2 ball."""
    return _method(PolynomialCombination, degree=degree, norm=norm, tol=1e-8)


def uniform(degree: int) -> Method:
    """Return the unscaled polynomial kernel, as in the paper."""

    def make(alpha: float, columns: int) -> UniformProductKernel:
        scale = float(columns + 1) ** degree  # the estimator divides its kernel by this
        return UniformProductKernel(degree=degree, alpha=alpha / scale, standardize=False)

    return Method(make)


def lp_norm(degree: int, p: float) -> Method:
    """Return lp-norm MKL over the list of all kernels, to a gap of one percent."""
    return _method(LpNormMKL, degree=degree, p=p, tol=1e-2)


def lasso(degree: int) -> Method:
    """Return Lasso over all monomials, to a gap of 1e-3 or for five times 200 sweeps."""
    return _method(MonomialLasso, own_path=True, degree=degree, max_iter=200)
