"""Full passes over all kernels of a family that can be listed: accelerated analytic updates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, count
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, Index
from ..backend import approximately, columnwise, take
from ..certificate import UNKNOWN, Certificate, from_norm
from ..deadline import OutOfTimeError, current, strictly
from ..dual import (
    DualSolution,
    GramSystem,
    System,
    TallColumns,
    smaller_system,
    solve,
    system_of,
    tall_columns,
)
from ..families import KernelFamily
from ..limits import KEPT_BYTES, KERNEL_BYTES
from ..memory import refuse_bytes
from ..objective import Problem, best_weights
from ..potentials import power_norm
from .base import Needs, Result, refuse_settings
from .cost_model import list_bytes, system_bytes
from .kept import frozen

PASS_TOL = 1e-9
"""Relative duality gap to which the dual is solved in each pass. Far below any gap that is asked
for, so that it does not blur the certificate; set by judgement, not measured."""

BOLD_EXPONENT = 1.2
"""Exponent nu from which on the update with t = 1 - 1/nu is taken; below it that one does not
contract, and the analytic update is taken. Set by judgement, not measured."""

ROUNDED_GRADIENT = 1e-24
"""Share of the largest gradient up to which a gradient is rounding and its kernel gets no weight.
Set by judgement, not measured."""

LOWEST_LOG_WEIGHT = np.log(1e-100)
"""Least logarithm of a weight, relative to the largest: its powers must not underflow."""


RIDGE_SHARE = 1e-10
"""What is added to the diagonal of the least-squares problem, as a share of its trace, so that
updates that repeat each other do not make it singular. Set by judgement, not measured."""


@dataclass(frozen=True)
class Pass:
    """The state before an update: ``theta`` has the weights of all kernels of a family."""

    k: int
    family: KernelFamily
    theta: Array
    solution: DualSolution
    certificate: Certificate
    gradient_power: float | None = None
    memory: object = None
    kept: Callable[[], dict[str, Any]] | None = None

    final = True
    constants = None

    @property
    def indices(self) -> list[Index]:
        """All kernels; listed only when asked for."""
        return self.family.indices()

    @property
    def active(self) -> int:
        """Number of kernels with a positive weight."""
        return int(np.count_nonzero(self.theta))

    @property
    def weights(self) -> tuple[list[Index], Array]:
        """The kernels with positive weights, whose coefficients the solution has."""
        live, indices = self.theta > 0, self.indices
        if not live.all():
            indices = list(compress(indices, live.tolist()))
        return indices, self.theta[live]


@dataclass(frozen=True)
class FullPass:
    r"""Fixed-point passes over all kernels, with Anderson acceleration, for p > 1.

    At the optimum :math:`\theta_i \propto g_i^{1/(\nu-1)}`. The updates are

    .. math:: \theta'_i \propto (\theta_i\, g_i)^{1/\nu}.

    In :math:`\log\theta`, near the optimum, the derivative of :math:`\log g` has eigenvalues
    between -2 and 0 for the squared loss, so an update
    :math:`\log\theta' = (1-t)\log\theta + t \log g/(\nu-1)` shrinks errors by
    :math:`\max(|1-t|, |1-t-2t/(\nu-1)|)`. That is least, 1/nu, for t = 1 - 1/nu, the update above;
    the analytic one (Kloft et al. 2011), which lowers the objective for sure, has
    t = (nu-1)/(nu+1) and shrinks them by 2/(nu+1). Anderson acceleration combines the last few
    updates on top. A pass that raises the objective is taken back, and the analytic update taken
    instead.

    The first pass starts from equal weights, whose kernel has a closed form for product families.
    Each further pass costs O(n^2 m) for m features in all, as one matrix product, and O(n^3) for
    the dual; features are kept if they fit in a gigabyte and else made anew in blocks, so that
    memory is O(n^2 + d). With fewer features than rows a pass costs O(n m + m^3) for the squared
    loss, after one that costs O(n m^2).

    Parameters
    ----------
    memory : int, default=5
        Number of earlier updates that the acceleration combines; 0 leaves it out.
    """

    memory: int = 5
    needs: ClassVar[Needs] = Needs(
        lambda p: 1 < p < 2, "1 < p < 2 (p = 2 has a closed form)", listed=True
    )

    def __post_init__(self) -> None:
        refuse_settings(self, {"memory": 0})

    def iterate(
        self,
        problem: Problem,
        family: KernelFamily,
        rng: np.random.Generator,
        start: Result | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[Pass]:
        """Yield the state before each update, from equal weights or those of a start."""
        system: System | None = None
        nu = problem.nu
        if start is not None and start.indices:
            kernels = AllKernels(family)
            theta = start.theta
            if start.indices is not family.indices():
                known = dict(zip(start.indices, start.theta.tolist(), strict=True))
                least = min(known.values())
                theta = np.array([known.get(index, least) for index in family.indices()])
            theta = theta / power_norm(theta, nu)
        else:
            refuse_long_list(family)
            kernels, theta = AllKernels(family), family.equal_weights(nu)
            if not kernels.tall:
                system = GramSystem(family.closed() / approximately(family.size) ** (1 / nu))
        best: Pass | None = None
        best_gradients = np.empty(0)
        past: deque[tuple[Array, Array]] = deque(maxlen=self.memory + 1)
        solution: DualSolution | None = None
        first = 1
        if kept is not None:
            first, theta, best_gradients = kept["k"], kept["theta"], kept["gradients"]
            past.extend(kept["past"])
            solution, known = DualSolution(**kept["solution"]), kept["best"]
            ends = DualSolution(**known["solution"]), Certificate(**known["certificate"])
            best, system = Pass(first, family, known["theta"], *ends), None
            yield replace(best, kept=lambda: kept)
            first += 1
        for k in count(first):
            system = system or kernels.system(theta)
            solution = solve(problem, system, solution, PASS_TOL)
            try:
                with strictly(current().enough):
                    gradients = family.at(solution.alpha).all()
            except OutOfTimeError:
                if best is not None:
                    raise
                yield Pass(k, family, theta, solution, UNKNOWN)  # equal weights are a model, too
                raise
            norm = power_norm(gradients, problem.dual_exponent)
            certificate = from_norm(problem, solution, norm, "exact")
            if norm == 0:  # nothing to explain, or a perfect fit whose dual point is zero
                bare = solve(problem, kernels.system(np.zeros_like(theta)), solution)
                if bare.objective <= solution.objective * (1 + 1e-12):
                    theta, solution = np.zeros_like(theta), bare
            state = Pass(k, family, theta, solution, certificate)
            if best is None or solution.objective <= best.solution.objective * (1 + 1e-12):
                best, best_gradients = state, gradients
                theta = self._update(theta, gradients, nu, past)
            else:
                past.clear()
                theta = best_weights(best.theta, best_gradients, nu)
            now = {"k": k, "theta": theta, "gradients": best_gradients, "past": list(past)}
            points = best, solution
            yield replace(best, k=k, kept=partial(_kept, now, *points))
            system = None

    resume = iterate

    def _update(
        self, theta: Array, gradients: Array, nu: float, past: deque[tuple[Array, Array]]
    ) -> Array:
        """Return the next weights; O(d memory)."""
        largest = gradients.max(initial=0.0)
        if not 0 < largest < np.inf:
            return theta
        live = (theta > 0) & (gradients > ROUNDED_GRADIENT * largest)
        if not live.any():  # what is left of them is rounding
            return theta
        x = np.log(theta[live])
        slope = np.log(gradients[live] / largest)
        y = (2 * x + slope) / (nu + 1) if nu < BOLD_EXPONENT else (x + slope) / nu
        y = normalised(y, nu)
        if past and len(past[-1][0]) != len(y):
            past.clear()
        past.append((y, y - x))
        if len(past) > 1:
            y = accelerated(past, np.exp(nu / 2 * x))
        after = np.zeros_like(theta)
        after[live] = np.exp(normalised(np.maximum(y, y.max() + LOWEST_LOG_WEIGHT), nu))
        return after


def _kept(now: dict[str, Any], best: Pass, solution: DualSolution) -> dict[str, Any]:
    """Return what the passes go on from."""
    parts = {"solution": frozen(best.solution), "certificate": frozen(best.certificate)}
    return {**now, "best": {"theta": best.theta, **parts}, "solution": frozen(solution)}


def accelerated(past: Sequence[tuple[Array, Array]], metric: Array) -> Array:
    """Return Anderson's combination of updates; each is what it led to, and what it changed."""
    values, residuals = (np.stack(part) for part in zip(*past, strict=True))
    share = extrapolation(residuals, metric)[:-1]
    return values[-1] - share @ (values[-1] - values[:-1])


def normalised(x: Array, nu: float) -> Array:
    """Return logarithms of weights of norm one."""
    x = x - x.max()
    return x - np.log(power_norm(np.exp(x), nu))


class AllKernels:
    """All kernels of a family, summed with weights again and again.

    With fewer features than rows (``tall``) their products are made once where the loss allows,
    and the features themselves are held whole only if they are small.
    """

    def __init__(self, family: KernelFamily) -> None:
        self.family = family
        self.tall = family.explicit and family.enumeration_work < float(family.rows) ** 2
        self.columns: Array | TallColumns = np.empty(0)
        self.owners: Array | None = None
        if self.tall:
            self.columns, self.owners = tall_columns(family, family.indices())
        elif family.explicit and 8 * family.enumeration_work <= min(KEPT_BYTES, self.room / 2):
            columns, self.owners = family.all_features()
            self.columns = columnwise(columns)

    @property
    def room(self) -> float:
        """Bytes for the features of all kernels, of which there are two while they are made."""
        return self.family.room - system_bytes(self.family) - list_bytes(self.family)

    def system(self, theta: Array) -> System:
        """Return the kernel of the positive weights, in the smaller form."""
        live = theta > 0
        if self.owners is None:
            if self.family.explicit and np.count_nonzero(live) < self.family.rows:
                kernels = list(compress(self.family.indices(), live.tolist()))
                return system_of(self.family, kernels, theta[live])
            return GramSystem(self.family.gram_of_all(theta))
        columns, owners = self.columns, self.owners
        if not live.all():
            used = live[owners]
            if isinstance(columns, TallColumns):
                columns = columns.keep(used)
            else:
                columns = take(columns, np.flatnonzero(used), axis=1)
            owners = owners[used]
        return smaller_system(columns, np.sqrt(theta)[owners])


def refuse_long_list(family: KernelFamily) -> None:
    """Raise before work starts if the list of all kernels would not fit in memory."""
    refuse_bytes(
        KERNEL_BYTES * family.distinct + int(2 * min(KEPT_BYTES, 8 * family.enumeration_work)),
        "the list of all kernels",
        f"{approximately(family.distinct):.3g} kernels",
        "Use a smaller degree or fewer columns, or MKLRegressor or MKLClassifier, which never "
        "list them.",
    )


def extrapolation(residuals: Array, metric: Array | float = 1.0) -> Array:
    """Return the shares of updates, adding up to one, whose residuals cancel best (Anderson).

    ``residuals``, of shape (k, m), are what k >= 2 updates changed, the last one last; ``metric``
    is what their coordinates are multiplied by before sizes are compared.
    """
    changes = (residuals[-1] - residuals[:-1]) * metric
    square = changes @ changes.T
    square[np.diag_indices_from(square)] += RIDGE_SHARE * np.trace(square) + np.finfo(float).tiny
    share = np.linalg.solve(square, changes @ (residuals[-1] * metric))
    return np.append(share, 1 - share.sum())
