"""Lasso over all monomials of the columns: what a practitioner does today."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from ..arrays import Array
from ..backend import approximately
from ..certificate import Certificate
from ..dual import DualSolution
from ..estimators.base import FamilyMachine
from ..estimators.tasks import Regression
from ..families import KernelFamily
from ..memory import refuse_bytes
from ..objective import Problem
from ..solvers.base import FinalState
from ..spec import Spec
from ..specify import specify

RETRIES = 5
"""How often a strength is solved again, more finely, until its gap is small enough."""

PATH_RATIO = 0.7
"""Strengths on the way down to the one asked for fall by this factor; each starts from the last."""


@dataclass(eq=False, repr=False)
class MonomialLasso(Regression, FamilyMachine):
    r"""Least squares with an l1 penalty on all monomials of up to ``degree`` columns.

    .. math:: \min_{w, b} \frac{1}{2n}\sum_t (y_t - \phi(x_t)^\top w - b)^2 + \alpha\|w\|_1,

    by scikit-learn's coordinate descent along a path of strengths. The monomials are written
    out: memory O(n d) for d of them.

    Parameters
    ----------
    degree : int, default=2
        Largest degree.
    index_set : {"auto", "monomials", "interactions"}, default="auto"
        ``"interactions"`` leaves out powers.
    rho : sequence of float of length degree + 1, default=ones
        Monomials of degree d are divided by ``rho[d]``.
    alpha : float, default=1e-2
        Strength of the penalty, as in scikit-learn's Lasso.
    max_iter : int, default=1000
        Largest number of sweeps at one strength, at each of up to five attempts.
    fit_intercept, tol, standardize :
        As for :class:`manykernels.MKLRegressor`; columns are standardised before they are
        multiplied.

    Attributes
    ----------
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, alpha_ :
        As for :class:`manykernels.MKLRegressor`; ``theta_`` holds the shares of the terms in
        :math:`\|w\|_1`, ``n_iter_`` the number of strengths on the path.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels.baselines import MonomialLasso
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = MonomialLasso().fit(X, X[:, 0] * X[:, 3])
    >>> model.explain(top=1)["term"].tolist()
    ['x0 * x3']
    """

    kernels = "linear"
    takes_tables = False  # one coefficient for each monomial of columns
    loss = "squared"
    p = 1.0

    degree: int = 2
    index_set: str = "auto"
    rho: Any = None
    alpha: float = 1e-2
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    standardize: bool | str = True

    def _specify(self) -> Spec:
        path = LassoPath(float(self.tol), int(self.max_iter))
        return specify(self, self.labelled, solver=path)


@dataclass(frozen=True)
class LassoState(FinalState):
    """The Lasso's model, as the only state of a solver; ``steps`` counts strengths on the path."""

    steps: int = 1


@dataclass(frozen=True)
class LassoPath:
    """Coordinate descent along a path of strengths; ``max_iter`` bounds the sweeps at each."""

    tol: float
    max_iter: int

    def iterate(
        self, problem: Problem, family: KernelFamily, rng: np.random.Generator
    ) -> Iterator[LassoState]:
        """Yield the model at the end of the path."""
        table = Table.of(problem, family)
        strengths = table.strengths_down_to(problem.strength)
        coefficients = table.path(strengths, self.tol, self.max_iter)[-1]
        objective, gap = table.judge(coefficients, problem.strength)
        live = np.flatnonzero(coefficients)
        w = coefficients[live]
        norm = np.abs(w).sum()
        theta = np.abs(w) / norm
        fitted = table.values(coefficients)
        intercept = problem.weights @ (problem.y - fitted) if problem.intercept else np.zeros(1)
        fitted = fitted + intercept
        # So that the predictor is the expansion in the kernel with weights theta.
        alpha = norm * problem.dual_point(fitted - problem.y)
        scaled = (w / np.sqrt(theta))[:, None]
        solution = DualSolution(alpha, scaled, True, intercept, fitted, objective)
        certificate = Certificate(gap, gap / objective if objective > 0 else 0.0, "exact")
        indices = family.indices()
        kernels = [indices[i] for i in live]
        weights, steps = (kernels, theta), len(strengths)
        yield LassoState(1, weights, len(kernels), solution, certificate, steps=steps)


@dataclass(frozen=True)
class Table:
    """All monomials written out, of shape (n, d), and the target.

    ``scaled`` are the monomials centred, if there is an intercept, with rows times the root of n
    times their weight; ``target`` is treated likewise.
    """

    columns: Array
    scaled: Array
    target: Array

    @classmethod
    def of(cls, problem: Problem, family: KernelFamily) -> Table:
        """Write the monomials out, or refuse to if they do not fit in memory."""
        count = approximately(family.distinct)
        refuse_bytes(
            3 * 8 * family.rows * family.distinct,
            "the table of all monomials",
            f"{count:.3g} monomials on {family.rows} rows, three times",
            "Use a smaller degree or fewer columns, or MKLRegressor, which never writes it.",
        )
        columns, _ = family.features(family.indices())
        rows = np.sqrt(len(columns) * problem.weights)
        centre = problem.weights @ columns if problem.intercept else np.zeros(columns.shape[1])
        level = float(problem.weights @ problem.y[:, 0]) if problem.intercept else 0.0
        scaled = np.asfortranarray((columns - centre) * rows[:, None])
        return cls(columns, scaled, (problem.y[:, 0] - level) * rows)

    def largest_strength(self) -> float:
        """Return the least strength that leaves no term."""
        return float(np.abs(self.scaled.T @ self.target).max()) / len(self.target)

    def strengths_down_to(self, strength: float) -> list[float]:
        """Return a path of strengths from the largest that matters down to one."""
        steps = int(np.log(max(self.largest_strength() / strength, 1.0)) / -np.log(PATH_RATIO))
        return [strength * PATH_RATIO**-k for k in range(steps, -1, -1)]

    def path(
        self, strengths: list[float], tol: float, max_iter: int, start: Array | None = None
    ) -> Array:
        """Return the coefficients of falling strengths, of shape (number of strengths, d).

        Each is solved from the one before, to a duality gap of ``tol`` times its objective.
        """
        out = []
        w = np.zeros(self.columns.shape[1]) if start is None else start
        nothing = float(self.target @ self.target) / (2 * len(self.target))
        for strength in strengths:
            for _ in range(RETRIES):
                objective, gap = self.judge(w, strength)
                if gap <= tol * objective:
                    break
                # scikit-learn's tolerance is relative to twice the objective of no predictor.
                w = self._descend(strength, tol * objective / (2 * nothing), max_iter, w)
            out.append(w)
        return np.array(out)

    def _descend(self, strength: float, tol: float, max_iter: int, start: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is judged afterwards
            _, coefficients, _ = enet_path(
                self.scaled,
                self.target,
                l1_ratio=1.0,
                alphas=np.array([strength]),
                coef_init=start.copy(),  # it is overwritten
                tol=tol,
                max_iter=max_iter,
                copy_X=False,
                check_input=False,
            )
        return np.asarray(coefficients[:, 0])

    def values(self, coefficients: Array) -> Array:
        """Return predictions without the constant, of shape (n, 1)."""
        live = np.flatnonzero(coefficients)
        return self.columns[:, live] @ coefficients[live, None]

    def judge(self, coefficients: Array, strength: float) -> tuple[float, float]:
        r"""Return the objective and the duality gap.

        The dual point is the best multiple of the residual with
        :math:`|\phi_i^\top r| \le n\alpha`.
        """
        n = len(self.target)
        live = np.flatnonzero(coefficients)
        residual = self.target - self.scaled[:, live] @ coefficients[live]
        risk = residual @ residual / (2 * n) + strength * np.abs(coefficients).sum()
        steepest = np.abs(self.scaled.T @ residual).max() / n
        limit = strength / steepest if steepest > 0 else np.inf
        square = residual @ residual
        best = self.target @ residual / square if square > 0 else 0.0
        point = residual * np.clip(best, -limit, limit)
        dual = (self.target @ point - point @ point / 2) / n
        return float(risk), float(max(risk - dual, 0.0))
