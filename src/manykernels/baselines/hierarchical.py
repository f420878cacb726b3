"""Hierarchical kernel learning: an active set over a grid of products (Bach 2008, 2009)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import approximately
from ..bases import FeatureBlocks, GramStack
from ..estimators.base import FamilyMachine
from ..estimators.tasks import Classification, Regression
from ..families import KernelFamily
from ..kernels import KernelSet
from ..limits import ANCESTOR_BYTES, NODE_BYTES
from ..memory import refuse_bytes
from ..objective import Problem
from ..solvers import State
from ..spec import Spec
from ..specify import specify
from .active_set import ActiveSet
from .hierarchy import Grid


@dataclass(eq=False, repr=False)
class BaseHierarchical(FamilyMachine):
    """Base of regression and classification."""

    p = 1.0  # the penalty without edges

    kernels: Any = "linear"
    total_degree: int | None = 3
    per_variable_degree: int | None = None
    root_weight: float = 0.1
    growth: float = 4.0
    loss: Any = "squared"
    alpha: float = 1e-3
    fit_intercept: bool = True
    max_iter: int = 200
    tol: float = 1e-3
    max_time: float | None = None
    standardize: bool | str = True
    verbose: int = 0

    def _specify(self) -> Spec:
        power, total = self.per_variable_degree, self.total_degree
        if power is None and total is None:
            raise ValueError(
                "total_degree and per_variable_degree must not both be None; they bound the "
                "products. Use total_degree=3 or per_variable_degree=3."
            )
        grids = Grids(power, total, float(self.root_weight), float(self.growth))
        solver = OnAnyGrid(grids, float(self.tol))
        highest = power if total is None else total
        return specify(
            self, self.labelled, solver=solver, family=grids, degrees=(int(highest or 0),)
        )


@dataclass(frozen=True)
class Grids:
    """The kernels of a grid of products, whatever the number of base kernels.

    ``power`` is the largest power of a base kernel, None for as many factors as there may be, and
    ``total`` the largest number of factors; for the other two see
    :class:`~manykernels.baselines.hierarchy.Grid`.
    """

    power: int | None
    total: int | None
    root_weight: float
    growth: float

    def on(self, count: int) -> Grid:
        """Return the grid over a number of base kernels."""
        power = max(1, self.total or 0) if self.power is None else self.power
        return Grid(count, power, self.total, self.root_weight, self.growth)

    def __call__(
        self, bases: FeatureBlocks | GramStack, kernels: KernelSet, degree: int, p: float
    ) -> KernelFamily:
        """Return the kernels of all nodes, or refuse to list them if they do not fit in memory."""
        grid = self.on(bases.count)
        family = grid.family(bases, kernels.names)
        if grid.bounded:
            refuse_bytes(
                NODE_BYTES * family.distinct + ANCESTOR_BYTES * grid.pairs,
                "the list of all nodes of the grid",
                f"{approximately(grid.size):.3g} nodes",
                "Use a smaller total_degree, or total_degree=None with per_variable_degree=2, "
                "which lists none.",
            )
        return family

    def size(self, family: KernelFamily) -> int:
        """Return the number of nodes."""
        return self.on(family.bases.count).size


@dataclass(frozen=True)
class OnAnyGrid:
    """The active set over the grid of whatever base kernels there are; ``tol`` is its gap."""

    grids: Grids
    tol: float

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[State]:
        """Yield the state before each round."""
        grid = self.grids.on(family.bases.count)
        return ActiveSet(grid, self.tol).iterate(problem, family, rng)


class HierarchicalKernelLearning(Regression, BaseHierarchical):
    r"""Regression with hierarchical kernel learning (HKL) over products of base kernels.

    It solves

    .. math::
        \min_{\beta, b} \frac1n\sum_t \ell\Big(y_t, \sum_v \langle\beta_v, \phi_v(x_t)\rangle + b
        \Big) + \frac\alpha2 \Big(\sum_v d_v \|\beta_{D(v)}\|\Big)^2,

    where v runs over products of powers of base kernels and D(v) are the products that v divides:
    a product can only be chosen with all that divide it. The algorithm grows an active set and
    stops with a duality gap over the whole grid.

    Parameters
    ----------
    kernels, loss, alpha, fit_intercept, tol, max_time, standardize, verbose :
        As for :class:`manykernels.MKLRegressor`.
    total_degree : int or None, default=3
        Largest number of factors of a product. None: no bound, as in the original method; its
        gap then bounds sums over all products of powers and needs a large alpha to be small.
    per_variable_degree : int, default=total_degree
        Largest power q of a base kernel; 1 for products of distinct ones (ANOVA kernels). Powers
        k carry the factor :math:`\binom qk`.
    root_weight : float, default=0.1
        Price :math:`d_0` of the constant kernel.
    growth : float, default=4.0
        A product of k factors has the price :math:`d_v = \text{growth}^k`.
    max_iter : int, default=200
        Largest number of rounds of the active set.

    Attributes
    ----------
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, alpha_ :
        As for :class:`manykernels.MKLRegressor`; the terms with all that divide them.

    References
    ----------
    F. Bach: Exploring Large Feature Spaces with Hierarchical Multiple Kernel Learning, Advances in
    Neural Information Processing Systems 21, 2008; High-Dimensional Non-Linear Variable Selection
    through Hierarchical Kernel Learning, arXiv:0909.0844, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels.baselines import HierarchicalKernelLearning
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = HierarchicalKernelLearning(total_degree=2).fit(X, X[:, 0] * X[:, 3])
    >>> model.explain(top=1)["term"].tolist()
    ['x0 * x3']
    """


@dataclass(eq=False, repr=False)
class HierarchicalKernelLearningClassifier(Classification, BaseHierarchical):
    """Classification with hierarchical kernel learning (HKL) over products of base kernels.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or loss object, default="logistic"
        Loss. Other parameters are as for :class:`HierarchicalKernelLearning`, attributes as for
        :class:`manykernels.MKLClassifier`.
    """

    loss: Any = "logistic"
