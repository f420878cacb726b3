"""The problem of p = 1 on kernels of several features: quadratics above it, one after another.

Each is minimised over one kernel after another, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ...arrays import Array
from ...backend import to_host
from ...limits import PRODUCT_COLUMNS
from ...losses import SmoothLoss, Squared
from ...objective import Problem
from .restricted import OBJECTIVE_ROUNDING, FeatureGroups, smooth_gap, value

QUADRATICS = 200
"""Most quadratics for one problem. Set by judgement, not measured."""

SLOW_SHARE = 0.5
"""Share of itself that the gap must fall to with one quadratic; else the curvatures of the rows are
looked at again. Set by judgement, not measured."""

FLATTEST_ROW = 0.05
"""Least curvature of a row, as a share of the largest, where each row has its own. That rows have
their own took classes on 5,000 rows of higgs from 22 to 9 seconds (commit cc83a81)."""

DOUBLINGS = 50
"""Most times that one quadratic is doubled until it lies above the risk."""

QUADRATIC_SHARE = 0.3
"""Share of the gap that is wanted to which a quadratic is solved; of a share of the present gap if
that is more. Set by judgement, not measured."""

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

RIDGE_SHARE = 1e-10
"""What is added to the diagonal of the least-squares problem, as a share of its trace, so that
updates that repeat each other do not make it singular. Set by judgement, not measured."""


def descend(problem: Problem, groups: FeatureGroups, tol: float) -> tuple[FeatureGroups, Array]:
    r"""Minimise until the duality gap over these groups is ``tol`` times the objective.

    Quadratics that touch the risk at the present predictor are minimised one after another, each
    by :class:`GroupQuadratic`. They have one matrix, times a number that is doubled where
    the risk did not fall; after that, and where the gap falls slowly, the matrix is made anew. For
    the squared loss one is enough. Stops early where rounding allows no progress. Returns the
    slopes of the loss as well.
    """
    loss, weights = problem.loss, problem.weights
    assert isinstance(loss, SmoothLoss)
    plane = Plane(problem, groups)
    factor, before = plane.factor, np.inf
    objective = value(problem, loss, groups)
    for _ in range(QUADRATICS):
        slopes = loss.gradient(problem.y, groups.fitted)
        gradient = groups.columns.transposed_dot(weights[:, None] * slopes)
        gap = smooth_gap(problem, groups, slopes, gradient)
        if gap <= tol * objective:
            break
        # Rows have moved to where the loss is more curved, or less and steps are too short.
        if factor > plane.factor or (plane.own_curvatures and gap > SLOW_SHARE * before):
            plane = Plane(problem, groups)
            factor = plane.factor
        before = gap
        rough = 0.0 if isinstance(loss, Squared) else QUADRATIC_SHARE * gap
        wanted = QUADRATIC_SHARE * max(tol * objective, rough)
        for _ in range(DOUBLINGS):
            moved = plane.minimum(groups, slopes, gradient, factor, wanted)
            reached = value(problem, loss, moved)
            falls = reached < objective * (1 - OBJECTIVE_ROUNDING)
            if falls or (factor >= plane.above and reached <= objective + wanted):
                break
            factor *= 2.0
        if not falls:
            break
        groups, objective = moved, reached
    return groups, loss.gradient(problem.y, groups.fitted)


class Plane:
    """The quadratic's columns with their means taken out, where there is an intercept.

    The products of a few columns are made once, in O(n m^2), and kept for the next problem of a
    path; there all rows have the largest curvature of the loss. Many columns are held as they are,
    in O(n m), times the roots of the rows' own curvatures.

    Attributes
    ----------
    factor : float
        What to multiply the quadratic by at first.
    own_curvatures : bool
        Whether rows have curvatures of their own.
    above : float
        From this factor on it lies above the risk, but for rows whose curvature grows.
    """

    def __init__(self, problem: Problem, groups: FeatureGroups) -> None:
        self.problem = problem
        columns, weights = groups.columns, problem.weights
        self.wide = columns.width > min(PRODUCT_COLUMNS, 2 * columns.rows)
        self.factor = self.above = 1.0
        own = np.ones_like(weights)
        self.own_curvatures = self.wide and not isinstance(problem.loss, Squared)
        assert isinstance(problem.loss, SmoothLoss)
        if not isinstance(problem.loss, Squared):
            curvatures = problem.loss.curvature(problem.y, groups.fitted).max(axis=1)
            self.factor = self.above = float(curvatures.max()) or 1.0
            if self.own_curvatures:
                own = np.maximum(curvatures / self.factor, FLATTEST_ROW)
                self.above = self.factor / own.min()
        masses = weights * own
        self.total = float(masses.sum())
        root, self.slope_root = np.sqrt(masses)[:, None], np.sqrt(weights / own)[:, None]
        form: ProductForm | ColumnForm
        if self.wide:
            columns.known = None
            whole = np.empty((columns.rows, columns.width), order="F")
            self.centre = np.zeros(columns.width)
            if problem.intercept:
                self.centre = columns.transposed_dot(masses[:, None])[:, 0] / self.total
            for rows, block in columns.blocks():
                whole[rows] = root[rows] * (to_host(block) - self.centre)
            form = ColumnForm(whole)
        else:
            self.centre, products = columns.products(weights)
            if not problem.intercept:
                products = products + np.outer(self.centre, self.centre)
                self.centre = np.zeros_like(self.centre)
            form = ProductForm(products)
        starts = np.flatnonzero(np.diff(groups.owners, prepend=-1, append=-1))
        self.quadratic = GroupQuadratic(form, starts)

    def minimum(
        self, groups: FeatureGroups, slopes: Array, gradient: Array, factor: float, tol: float
    ) -> FeatureGroups:
        """Return the minimum of the quadratic, times a factor, that touches at some groups."""
        weights, old = self.problem.weights, groups.coefficients
        level = 0.0 * slopes[0]
        if self.problem.intercept:
            level = (weights @ slopes) / (factor * self.total)
        if self.wide:
            down = self.slope_root * slopes / factor
        else:
            down = gradient / factor - np.outer(self.centre, level)
        begin = self.quadratic.form.image(old) - down
        found = self.quadratic.solve(begin, self.problem.strength / factor, old, tol / factor)
        intercept = groups.intercept - level - self.centre @ (found - old)
        return replace(groups, coefficients=found, intercept=intercept)


@dataclass(frozen=True)
class ProductForm:
    """The quadratic given by the products of its columns, of shape (m, m): O(m) a coefficient.

    What is kept of a point w is b - Gw.
    """

    matrix: Array

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


@dataclass(frozen=True)
class ColumnForm:
    """The quadratic given by its columns, of shape (n, m), best each in one piece.

    O(n) a coefficient. What is kept of a point w is u - Fw, where b = F'u.
    """

    columns: Array

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


@dataclass
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

    form: ProductForm | ColumnForm
    starts: Array
    strength: float = 1.0
    begin: Array = field(default_factory=lambda: np.empty(0))
    slices: list[slice] = field(default_factory=list)
    spectra: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def solve(self, begin: Array, strength: float, w: Array, tol: float) -> Array:
        r"""Return w with a duality gap of at most ``tol``, from a start.

        ``begin`` is b, or u with b = F'u. Block coordinate descent with Anderson extrapolation
        over the groups that are not zero or would not stay so.
        """
        self.begin, self.strength = begin, strength
        self.slices = [slice(a, b) for a, b in pairwise(self.starts.tolist())]
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
        here, beyond = (
            self.form.value(kept, self.begin, point)
            + self.strength / 2 * float(self._norms(point).sum()) ** 2
            for point, kept in ((w, state), (ahead, there))
        )
        return (ahead, there) if beyond < here else (w, state)

    def _settle(self, i: int, w: Array, state: Array, total: float, shifts: list[float]) -> float:
        """Put one group at its optimum, the others as they are; return the sum of all norms."""
        part = self.slices[i]
        if i not in self.spectra:
            spectrum, axes = np.linalg.eigh(self.form.square(part))
            self.spectra[i] = np.maximum(spectrum, 0.0), axes
        values, axes = self.spectra[i]
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

    def _norms(self, values: Array) -> Array:
        energy = np.einsum("ij,ij->i", values, values)
        return np.sqrt(np.add.reduceat(energy, self.starts[:-1]))

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
