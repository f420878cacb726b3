"""The problem, and the only home of the mean and of the strength lambda."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array
from .losses import Loss
from .potentials import power_norm

PERFECT = 1e-20
"""Share of the objective of f = 0 up to which an objective is that of a perfect fit, known only up
to rounding. Set by judgement, not measured."""

LARGEST_RATIO = 1e140
"""Largest size of y relative to the strength. Dual variables are as large as that ratio, and sums
of their squares, times squares of features, must be finite. Set by judgement: there is room for
features of 1e10."""

ABSORBED = 1e-20
"""Share of the largest weight below which a weight is set to zero, where it stays. With p = 1 most
weights end so. Set by judgement, not measured."""


@dataclass(frozen=True)
class Problem:
    r"""Group p-norm regularised risk, shared by c outputs.

    .. math::
        \min_w \sum_t s_t\, \ell(y_t, f_w(x_t))
        + \frac\lambda2 \Big(\sum_i \rho_i^p \|w_i\|^p\Big)^{2/p},

    equal to :math:`\min_\theta J(\theta)` over :math:`\theta \ge 0`,
    :math:`\|\theta\|_\nu \le 1`, :math:`\nu = p/(2-p)`, where

    .. math::
        J(\theta) = \min_f \sum_t s_t\, \ell(y_t, f(x_t)) + \frac\lambda2 \|f\|^2_{H_\theta},
        \qquad \frac{\partial J}{\partial\theta_i}
        = -\frac\lambda2\, \frac{\alpha^{*\top} K_i\, \alpha^*}{\rho_i^2}.

    The paper prints that gradient (its equation diff1) without the factor 1/2.

    Parameters
    ----------
    y : ndarray of shape (n, c)
        Targets; -1 and +1 for classification losses.
    weights : ndarray of shape (n,)
        Sample weights :math:`s_t`, positive and adding up to one; 1/n each gives the mean.
    loss : Loss
        Loss of every output; the outputs' objectives are added.
    strength : float
        :math:`\lambda`, the public ``alpha``.
    p : float
        Exponent of the group norm, 1 <= p <= 2.
    intercept : bool
        Whether an unpenalised constant is added to f; then :math:`\sum_t \alpha_t = 0`.
    copies : ndarray of shape (n,), optional
        How many observations each row is beyond one, for those who count them.
    """

    y: Array
    weights: Array
    loss: Loss
    strength: float
    p: float = 4 / 3
    intercept: bool = False
    copies: Array | None = None

    def __post_init__(self) -> None:
        reach = float(np.abs(self.y).max(initial=0.0))
        if reach > LARGEST_RATIO * self.strength:
            raise ValueError(
                f"alpha must be at least {1 / LARGEST_RATIO:g} times the largest size of y, or "
                f"else squares of dual variables overflow; got alpha={self.strength:g} and y up to "
                f"{reach:.3g}. Use alpha={reach / LARGEST_RATIO:.1g} or more, or rescale y."
            )

    @property
    def nu(self) -> float:
        r"""Exponent of the ball of :math:`\theta`, :math:`p/(2-p)`; infinite for p = 2."""
        return exponent(self.p)

    @property
    def dual_exponent(self) -> float:
        r""":math:`\nu^* = \nu/(\nu-1)`; infinite for p = 1."""
        return dual_exponent(self.p)

    @property
    def observations(self) -> float:
        """Number of observations: the rows, and their copies if these count."""
        return len(self.y) + (0.0 if self.copies is None else float(self.copies.sum()))

    def slope(self, masses: Array) -> Array:
        r"""Return :math:`-\partial J/\partial\theta_i` of kernels with gradients ``masses``."""
        return self.strength / 2 * masses

    def output(self, c: int) -> Problem:
        """Return the problem of one output."""
        return replace(self, y=self.y[:, [c]])

    def risk(self, f: Array) -> float:
        """Return the mean loss of predictions ``f`` of shape (n, c), added over outputs."""
        return float(np.sum(self.weights[:, None] * self.loss.value(self.y, f)))

    def primal(self, f: Array, quadratic: float) -> float:
        r"""Return the primal value; ``quadratic`` is :math:`\|f\|^2_{H_\theta}` (squared norm)."""
        return self.risk(f) + self.strength / 2 * quadratic

    def dual_point(self, slopes: Array) -> Array:
        r"""Return :math:`\alpha_t = -s_t v_t/\lambda` of slopes :math:`v_t = \ell'(y_t, f_t)`."""
        return -self.weights[:, None] * slopes / self.strength

    def slopes(self, alpha: Array) -> Array:
        r"""Return :math:`v_t = -\lambda\alpha_t/s_t`, the inverse of :meth:`dual_point`."""
        return -self.strength * alpha / self.weights[:, None]

    def infeasibility(self, alpha: Array, intercept: Array) -> float:
        r"""Return :math:`\lambda (|b| + \max_t|y_t|)|\sum_t \alpha_t|`, an error of the dual value.

        With an intercept a dual point must add up to zero; in floating point it nearly does. The
        error is that sum times the best constant, which the present one and the targets bound but
        for odd cases. Without an intercept there is no such condition and no error.
        """
        if not self.intercept:
            return 0.0
        reach = np.abs(intercept) + np.abs(self.y).max(axis=0)
        return self.strength * float(reach @ np.abs(alpha.sum(axis=0)))

    def dual(self, alpha: Array, quadratic: float) -> float:
        r"""Return the dual value of ``alpha``.

        With ``quadratic`` :math:`= \alpha^\top K_\theta\, \alpha` it is a lower bound of
        :math:`J(\theta)`; with :math:`\|(g_i)_i\|_{\nu^*}`, :math:`g_i` the gradients of the whole
        family, a lower bound of the minimum over all :math:`\theta`.
        """
        slopes = -self.strength * alpha / self.weights[:, None]
        conjugate = np.sum(self.weights[:, None] * self.loss.conjugate(self.y, slopes))
        return float(-conjugate - self.strength / 2 * quadratic)

    def gap(self, primal: float, alpha: Array, quadratic: float, b: Array) -> tuple[float, float]:
        """Return what a primal value exceeds the dual value of a point by, and that as a share.

        ``quadratic`` is that of :meth:`dual`, and ``b`` the intercept of the primal point.
        """
        # A gap below zero is rounding, and rounding may as well have been of the other sign.
        gap = abs(primal - self.dual(alpha, quadratic)) + self.infeasibility(alpha, b)
        perfect = primal <= PERFECT * self.risk(np.zeros_like(self.y))
        return gap, 0.0 if perfect and np.isfinite(gap) else gap / primal


def exponent(p: float) -> float:
    r"""Return :math:`\nu = p/(2-p)`, infinite for p = 2."""
    return np.inf if p == 2 else p / (2 - p)


def dual_exponent(p: float) -> float:
    r"""Return :math:`\nu^* = \nu/(\nu-1)`, the exponent of the norm of gradients.

    It is infinite for p = 1 and one for p = 2.
    """
    if p == 2:
        return 1.0
    return np.inf if p == 1 else exponent(p) / (exponent(p) - 1)


def best_weights(theta: Array, gradients: Array, nu: float) -> Array:
    r"""Return the minimiser of :math:`\sum_i \theta_i^2 g_i/\theta'_i` over the ball; O(d)."""
    squares = theta**2 * gradients
    largest = squares.max(initial=0.0)
    if not largest > 0:
        return theta
    weights = (squares / largest) ** (1 / (nu + 1))
    weights[weights < ABSORBED] = 0.0
    return np.asarray(weights / power_norm(weights, nu))


def weights_of(gradients: Array, power: float, norm: float | None = None) -> Array:
    r"""Return the weights that are best for the gradients at a dual point.

    With ``power`` :math:`\nu^*-1` they are :math:`(g_i/\|g\|_{\nu^*})^{\nu^*-1}`, of norm one in
    :math:`\nu`; where that would be zero, next to nothing. All zero where all gradients are.
    ``norm`` is that of the gradients, if it is known.
    """
    norm = power_norm(gradients, power + 1) if norm is None else norm
    if not norm > 0:
        return np.zeros_like(gradients)
    weights = (gradients / norm) ** power
    return np.maximum(weights, ABSORBED**2, out=weights)


def weights_from_norms(norms: Array, p: float) -> Array:
    r"""Return the kernel weights that are best for given norms :math:`\rho_i\|w_i\|`.

    They are :math:`\theta_i = (\rho_i\|w_i\| / N)^{2-p}` with N the p-norm of all these norms;
    all zero where N is, but for p = 2, where they are always one.
    """
    if p == 2:
        return np.ones(len(norms))
    size = float(norms.sum()) if p == 1 else power_norm(norms, p)
    return np.asarray((norms / (size or 1.0)) ** (2 - p))


def in_weights(coefficients: Array, owners: Array) -> tuple[Array, Array]:
    r"""Return the kernel weights of p = 1, and coefficients of features divided by their roots.

    Coefficients :math:`w_i` of features :math:`\phi_i/\rho_i`, ``owners`` in ascending order,
    become those of features :math:`\sqrt{\theta_i}\phi_i/\rho_i`.
    """
    norms = np.sqrt(np.bincount(owners, np.sum(coefficients**2, axis=1)))
    theta = norms / (float(norms.sum()) or 1.0)
    roots = np.sqrt(theta)[owners, None]
    scaled = np.divide(coefficients, roots, out=np.zeros_like(coefficients), where=roots > 0)
    return theta, scaled
