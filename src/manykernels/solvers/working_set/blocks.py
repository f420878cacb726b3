"""A quadratic with the squared sum of norms of groups: one group after another, exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...arrays import Array
from ..acceleration import extrapolation

EPOCHS = 2000
"""Most rounds through the groups in use. Set by judgement, not measured."""

EPOCHS_AT_A_TIME = 5
"""Number of rounds between two extrapolations, each of which combines them. Set by judgement, not
measured."""

STALLED_EXTRAPOLATIONS = 20
"""Number of extrapolations in a row that may leave the gap as it was. Set by judgement, not
measured."""

SECULAR_STEPS = 30
"""Most Newton steps for the length of one group. Set by judgement, not measured."""


class ProductForm:
    """The quadratic given by the products of its columns, of shape (m, m): O(m) a coefficient.

    What is kept of a point w is b - Gw.
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def square(self, part: slice) -> Array:
        """Return the products of some columns."""
        return self.matrix[part, part]

    def image(self, w: Array) -> Array:
        """Return Gw."""
        return self.matrix @ w

    def pull(self, state: Array, part: slice) -> Array:
        """Return b - Gw in some rows."""
        return state[part]

    def move(self, state: Array, part: slice, change: Array) -> None:
        """Change w in some rows."""
        state -= self.matrix[part].T @ change

    def value(self, state: Array, start: Array, w: Array) -> float:
        """Return the quadratic."""
        return -float(np.sum(w * (start + state))) / 2


class ColumnForm:
    """The quadratic given by its columns, of shape (n, m): O(n) a coefficient.

    What is kept of a point w is u - Fw, where b = F'u.
    """

    def __init__(self, columns: Array) -> None:
        self.columns = np.asfortranarray(columns)

    def square(self, part: slice) -> Array:
        """Return the products of some columns."""
        return self.columns[:, part].T @ self.columns[:, part]

    def image(self, w: Array) -> Array:
        """Return Fw."""
        return self.columns @ w

    def pull(self, state: Array, part: slice) -> Array:
        """Return b - Gw in some rows."""
        return self.columns[:, part].T @ state

    def move(self, state: Array, part: slice, change: Array) -> None:
        """Change w in some rows."""
        state -= self.columns[:, part] @ change

    def value(self, state: Array, start: Array, w: Array) -> float:
        """Return the quadratic."""
        return float(np.sum((state - start) * (state + start))) / 2


class GroupQuadratic:
    r"""Minimise :math:`\frac12\langle w, Gw\rangle - \langle b, w\rangle`, and a penalty.

    The penalty is :math:`\frac\lambda2(\sum_i\|w_i\|)^2` over groups of rows of w.

    Parameters
    ----------
    form : ProductForm or ColumnForm
        G, or F with G = F'F.
    starts : ndarray of int of shape (k + 1,)
        First row of each group, and m.
    """

    def __init__(self, form: ProductForm | ColumnForm, starts: Array) -> None:
        self.form, self.starts = form, starts
        self.slices = [slice(a, b) for a, b in pairwise(starts.tolist())]
        self._spectra: dict[int, tuple[Array, Array]] = {}
        self.strength, self.begin = 1.0, np.empty(0)

    def solve(self, begin: Array, strength: float, w: Array, tol: float) -> Array:
        r"""Return w with a duality gap of at most ``tol``, from a start.

        ``begin`` is b, or u with b = F'u. Block coordinate descent with Anderson extrapolation
        over the groups that are not zero or would not stay so.
        """
        self.begin, self.strength = begin, strength
        w, state = w.copy(), begin - self.form.image(w)
        shifts = [strength] * len(self.slices)
        best, idle = np.inf, 0
        for _ in range(EPOCHS // EPOCHS_AT_A_TIME):
            lengths, pull = self._norms(w), self.form.pull(state, slice(None))
            gap = self.gap(w, pull, lengths)
            idle = 0 if gap < 0.9 * best else idle + 1
            best = min(best, gap)
            if gap <= tol or idle > STALLED_EXTRAPOLATIONS:
                break
            enter = (lengths == 0) & (self._norms(pull) > strength * lengths.sum() * (1 + 1e-9))
            live = np.flatnonzero((lengths > 0) | enter).tolist()
            w, state = self._rounds(live, w, state, lengths, shifts)
        return w

    def _rounds(
        self, live: list[int], w: Array, state: Array, lengths: Array, shifts: list[float]
    ) -> tuple[Array, Array]:
        """Go through some groups a few times, then try the limit that the rounds point to."""
        trail = [(w.copy(), state.copy())]
        for _ in range(EPOCHS_AT_A_TIME):
            total = float(lengths.sum())
            for i in live:
                total = self._settle(i, w, state, total, shifts)
            lengths = self._norms(w)
            trail.append((w.copy(), state.copy()))
        steps = np.stack([(new - old).ravel() for (old, _), (new, _) in pairwise(trail)])
        if not steps.any():
            return w, state
        ahead, there = np.zeros_like(w), np.zeros_like(state)
        for share, (later, further) in zip(extrapolation(steps), trail[1:], strict=True):
            ahead += share * later
            there += share * further
        # A zero group stays exactly so in all rounds, and here.
        better = self._value(ahead, there, self._norms(ahead)) < self._value(w, state, lengths)
        return (ahead, there) if better else (w, state)

    def _settle(self, i: int, w: Array, state: Array, total: float, shifts: list[float]) -> float:
        """Put one group at its optimum, the others as they are; return the sum of all norms."""
        part = self.slices[i]
        values, axes = self._spectrum(i)
        old = w[part]
        pull = axes.T @ self.form.pull(state, part) + values[:, None] * (axes.T @ old)
        others = max(0.0, total - float(np.vdot(old, old)) ** 0.5)
        energy = np.einsum("ij,ij->i", pull, pull)
        norm = float(energy.sum()) ** 0.5
        if norm <= self.strength * others:
            if not old.any():
                return total
            new, length = np.zeros_like(old), 0.0
        else:
            shift, length = secular(values, energy, norm, self.strength, others, shifts[i])
            shifts[i] = shift
            new = axes @ (pull / (values + shift)[:, None])
        self.form.move(state, part, new - old)
        w[part] = new
        return others + length

    def _spectrum(self, i: int) -> tuple[Array, Array]:
        if i not in self._spectra:
            values, axes = np.linalg.eigh(self.form.square(self.slices[i]))
            self._spectra[i] = np.maximum(values, 0.0), axes
        return self._spectra[i]

    def _norms(self, values: Array) -> Array:
        energy = np.einsum("ij,ij->i", values, values)
        return np.sqrt(np.add.reduceat(energy, self.starts[:-1]))

    def _value(self, w: Array, state: Array, lengths: Array) -> float:
        penalty = self.strength / 2 * float(lengths.sum()) ** 2
        return self.form.value(state, self.begin, w) + penalty

    def gap(self, w: Array, pull: Array, lengths: Array) -> float:
        r"""Return :math:`\Omega(w) + \Omega^*(b - Gw) - \langle w, b - Gw\rangle`."""
        own = self.strength / 2 * float(lengths.sum()) ** 2
        other = float(self._norms(pull).max(initial=0.0)) ** 2 / (2 * self.strength)
        return own + other - float(np.sum(w * pull))


def secular(
    values: Array, energy: Array, norm: float, strength: float, others: float, start: float
) -> tuple[float, float]:
    r"""Return the shift and the length of one group at its optimum.

    With the length :math:`t(\mu) = \sqrt{\sum_k e_k/(d_k + \mu)^2}` the optimum has
    :math:`(\mu - \lambda)\,t(\mu) = \lambda S`, S the sum of the other groups' norms. The
    function :math:`1/t` is concave and nearly straight, so that Newton steps for
    :math:`(\mu - \lambda)/(\lambda S) = 1/t(\mu)` come down to the root from the right of it.
    ``norm`` is the root of the sum of ``energy``, above :math:`\lambda S`.
    """
    weight = strength * others
    # As if all curvatures were the largest: never left of the root.
    right = (strength * norm + weight * float(values[-1])) / (norm - weight)
    shift = start if strength < start < right else right
    length = 0.0
    for _ in range(SECULAR_STEPS):
        inverse = 1.0 / (values + shift)
        ratio = energy * inverse * inverse
        square = float(ratio.sum())
        length = square**0.5
        slope = float(ratio @ inverse) / (square * length)
        if weight * slope >= 1:  # left of the root, where the steps point the wrong way
            shift = right
            continue
        new = (strength + weight * (1 / length - slope * shift)) / (1 - weight * slope)
        if abs(new - shift) <= 1e-10 * shift:
            break
        shift = new
    return shift, length
