"""The power of a weighted sum of base kernels, and estimators that use one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from ..arrays import Array
from ..bases import FeatureBlocks, GramStack
from ..certificate import Certificate
from ..dual import DualSolution
from ..estimators.base import KernelMachine
from ..families import Monomials, ProductFamily
from ..families.index_sets import multinomial
from ..function import Predictor, make_predictor
from ..memory import refuse_bytes
from ..objective import Problem
from ..solvers import Result
from ..spec import Spec
from ..specify import specify


@dataclass(frozen=True)
class PowerKernel:
    r"""The kernel :math:`(c + \sum_k \mu_k K_k)^D`, powers entrywise, of base kernels on some rows.

    ``constant`` is c, the weight of the constant kernel, and ``degree`` is D.
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
    r"""The function :math:`\sum_t a_t \kappa(x_t, \cdot) + b` of a power kernel on training rows.

    ``expansion`` has the coefficients a, of shape (n, c), and ``intercept`` the constants b.
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

    def monomials(self) -> Predictor:
        r"""Write the function as one of monomial kernels, with the share of each; O(n d) for d.

        The kernel of the product v of base kernels has the weight
        :math:`\binom{D}{v, D - |v|} c^{D-|v|} \prod_j \mu_j^{v_j}`.
        """
        kernel = self.power
        family = ProductFamily(kernel.bases, kernel.degree, Monomials())
        weights: list[Array] = []
        for degree, table in enumerate(family.tables):
            rest = kernel.degree - degree
            constant = comb(kernel.degree, degree) * kernel.constant**rest
            weights.append(constant * multinomial(table) * np.prod(kernel.mu[table], axis=1))
        fitted = kernel.gram() @ self.expansion + self.intercept
        solution = DualSolution(
            self.expansion, self.expansion, False, self.intercept, fitted, np.nan
        )
        unknown = Certificate(np.nan, np.nan, "exact")
        result = Result(
            family.indices(), np.concatenate(weights), False, solution, unknown, 0, True
        )
        return make_predictor(family, result, np.full(len(fitted), 1 / len(fitted)))


class PowerMachine(KernelMachine):
    """Base of estimators whose kernel is a power of a sum."""

    def _specify(self) -> Spec:
        return specify(self, self.labelled, learn=self._learn)

    def _learn(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[Expansion, Array, dict[str, Any]]:
        """Return the function, the dual variables and what else is to be known."""
        refuse_bytes(
            3 * 8 * bases.rows**2, "three kernel matrices", f"{bases.rows} rows", "Use fewer rows."
        )
        kernel, solution, facts = self._choose(problem, bases)
        facts |= {"mu_": kernel.mu, "constant_": kernel.constant, "objective_": solution.objective}
        function = Expansion(kernel, solution.coefficients, solution.intercept)
        return function, solution.alpha, facts

    @abstractmethod
    def _choose(
        self, problem: Problem, bases: FeatureBlocks | GramStack
    ) -> tuple[PowerKernel, DualSolution, dict[str, Any]]:
        """Return the kernel, the predictor and further attributes of the estimator."""
