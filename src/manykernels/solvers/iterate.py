"""The sparse weights of mirror descent and the kernel they combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array, Index
from ..backend import beside, columnwise, filled, take, to_host
from ..dual import GramSystem, System, smaller_system, system_of
from ..families import KernelFamily
from ..potentials import Potential, PowerNorm, power_norm

FOLD = 1e-4
"""Value of the common factor below which it is folded into the weights.

Long before it underflows: with a factor of 0 the projection would be switched off silently, and
the average loses as many digits as the factor has lost powers of ten. Set by judgement, not
measured.
"""


class Iterate:
    r"""Weights :math:`\theta \in \Delta_\nu` on the kernels visited so far, and their average.

    Weights are stored as :math:`\theta_i = c\,u_i`. Where the potential projects by scaling, a
    step changes the common factor c and the entries of the kernels drawn, and nothing else: its
    cost does not grow with the number of kernels visited. The average
    :math:`\sum_k \eta_k \theta^{(k)} / \sum_k \eta_k` is kept in the same lazy way.

    Parameters
    ----------
    family : KernelFamily
        The kernels.
    potential : Potential
        The mirror map.
    nu : float
        Exponent of the ball.
    """

    def __init__(self, family: KernelFamily, potential: Potential, nu: float) -> None:
        self.potential, self.nu = potential, nu
        self.lazy = potential.projects_by_scaling(nu)
        self.positions: dict[Index, int] = {}
        self.indices: list[Index] = []
        self.stored = np.zeros(16)
        self.factor, self.norm = 1.0, 0.0
        self._corrections = np.zeros(16)  # B of the lazy average: sum = stored * clock - B
        self._past = np.zeros(16)  # part of the weighted sum from before the last fold
        self._clock = self._weight = 0.0
        self._since_sync = 0
        self.family, self.kernel = family, KernelSum(family)
        first = potential.start(family.distinct, nu)
        if first:
            self._place(family.indices())
            self.stored[: self.active] = first

    def begin(self, indices: Sequence[Index], theta: Array) -> None:
        """Take the weights of some kernels for the first; all others are zero."""
        at = self._place(indices)
        self.stored[at] = theta
        self.norm = min(1.0, power_norm(theta, self.nu))
        if self.lazy:
            self.kernel.update(indices, theta, 1.0)

    def frozen(self) -> dict[str, Any]:
        """Return all that another process needs to go on, as plain values and arrays."""
        numbers = self.factor, self.norm, self._clock, self._weight, self._since_sync
        weights = [part[: self.active].copy() for part in self._arrays()]
        held = self.kernel.gram if self.lazy else None
        gram = None if held is None else to_host(held)
        return {"indices": self.indices, "weights": weights, "numbers": numbers, "gram": gram}

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what :meth:`frozen` returned."""
        if tree["gram"] is not None:
            self.kernel.hold(tree["gram"])
        self._place(tree["indices"])
        for part, values in zip(self._arrays(), tree["weights"], strict=True):
            part[: self.active] = values
        numbers = tree["numbers"]
        self.factor, self.norm, self._clock, self._weight, self._since_sync = numbers

    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.stored, self._corrections, self._past

    @property
    def active(self) -> int:
        """Number of kernels visited."""
        return len(self.indices)

    @property
    def theta(self) -> Array:
        """Weights of the kernels visited, in the order of ``indices``; O(active)."""
        return self.factor * self.stored[: self.active]

    @property
    def average(self) -> Array:
        """Step-weighted average of the weights from the start to before the last step."""
        if not self._weight:
            return self.theta
        return (self._past[: self.active] + self._recent()) / self._weight

    def _recent(self) -> Array:
        stored, corrections = self.stored[: self.active], self._corrections[: self.active]
        return np.maximum(stored * self._clock - corrections, 0.0)

    def system(self) -> System:
        """Return the kernel of the present weights, in the smaller form."""
        if not self.lazy:
            theta = self.theta
            live = np.flatnonzero(theta).tolist()
            return system_of(self.family, [self.indices[i] for i in live], theta[live])
        return self.kernel.system(self.theta)

    def step(self, indices: Sequence[Index], increments: Array, eta: float) -> None:
        r"""Add ``increments`` (:math:`-\eta\hat g`) to the dual coordinates of distinct kernels.

        Then project. O(len(indices)) if lazy, amortised; else O(active), and the kernel is made
        anew from the weights that are not zero.
        """
        self._clock += eta * self.factor
        self._weight += eta
        at = self._place(indices)
        if self.lazy:
            self._sparse_step(indices, at, increments)
        else:
            self._dense_step(at, increments)

    def _sparse_step(self, indices: Sequence[Index], at: Array, increments: Array) -> None:
        assert isinstance(self.potential, PowerNorm)
        before = self.factor * self.stored[at]
        values, scale, self.norm = self.potential.sparse_step(before, increments, self.norm)
        if self.factor * scale < FOLD:
            self._fold()
            self.stored[: self.active] *= scale
        else:
            self.factor *= scale
        after = values / self.factor
        self._corrections[at] += (after - self.stored[at]) * self._clock
        self.stored[at] = after
        self.kernel.update(indices, values - scale * before, scale)
        self._since_sync += len(indices)
        if self._since_sync > 10 * self.active:
            self._fold()
            self._since_sync = 0
            self.norm = min(1.0, power_norm(self.stored[: self.active], self.nu))

    def _fold(self) -> None:
        """Fold the factor into the weights and the lazy average; O(active), amortised."""
        live = slice(0, self.active)
        self._past[live] += self._recent()
        self._clock, self._corrections[live] = 0.0, 0.0
        self.stored[live] *= self.factor
        self.factor = 1.0

    def _dense_step(self, at: Array, increments: Array) -> None:
        self._fold()
        live = slice(0, self.active)
        dual = self.potential.gradient(self.stored[live])
        dual[at] += increments
        self.stored[live] = self.potential.project(self.potential.inverse_gradient(dual), self.nu)

    def _place(self, indices: Sequence[Index]) -> Array:
        """Return the positions of kernels, making room for new ones."""
        fresh = []
        for index in indices:
            if index not in self.positions:
                self.positions[index] = len(self.indices)
                self.indices.append(index)
                fresh.append(index)
        while len(self.stored) < self.active:
            for name in ("stored", "_corrections", "_past"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        if self.lazy:
            self.kernel.add(fresh)
        return np.array([self.positions[index] for index in indices], dtype=int)


class KernelSum:
    r"""The matrix :math:`K_\theta`, kept as features while they are fewer than rows, else as n x n.

    Features change by adding columns, the matrix by rank-b updates and scalings: O(n b) and
    O(n^2 b) a step, whatever the number of kernels visited.
    """

    def __init__(self, family: KernelFamily) -> None:
        self.family = family
        self.columns = columnwise(self._nothing(16))
        self.owners: list[int] = []
        self.kernels = 0
        self.gram: Array | None = None
        if not family.explicit:
            self.gram = self._nothing(family.rows)

    def _nothing(self, width: int) -> Any:
        return filled(0.0, (self.family.rows, width), self.family.bases.matrix)

    def hold(self, gram: Array) -> None:
        """Take a matrix on the host for the sum, in place of features."""
        self.gram = beside(gram, self._nothing(0))
        self.columns, self.owners = self._nothing(0), []

    def add(self, indices: Sequence[Index]) -> None:
        """Make room for new kernels, with weight zero."""
        if self.gram is None and indices:
            columns, owners = self.family.features(indices)
            start, stop = len(self.owners), len(self.owners) + columns.shape[1]
            if stop > self.columns.shape[1]:
                wider = columnwise(self._nothing(2 * stop))
                wider[:, :start] = self.columns[:, :start]
                self.columns = wider
            self.columns[:, start:stop] = columns
            self.owners.extend((owners + self.kernels).tolist())
        self.kernels += len(indices)

    def update(self, indices: Sequence[Index], added: Array, scale: float) -> None:
        r"""Multiply :math:`K_\theta` by ``scale``, then add to the weights of some kernels."""
        if self.gram is not None:
            self.gram *= scale
            self.gram += self.family.gram(indices, added)

    def system(self, theta: Array) -> System:
        """Return the system of some weights; leave features behind when rows are fewer."""
        if self.gram is not None:
            return GramSystem(self.gram)
        owners = np.array(self.owners, dtype=int)
        weights = theta[owners]
        live = weights > 0
        columns = take(self.columns, np.flatnonzero(live), axis=1)
        system = smaller_system(columns, np.sqrt(weights[live]))
        if isinstance(system, GramSystem):
            self.gram, self.columns, self.owners = system.gram, self._nothing(0), []
        return system
