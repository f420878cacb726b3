"""Primal and dual values of listed problems, from kernel matrices, by formulas of their own.

Nothing of the library's solvers, families or losses is used: kernels are listed and multiplied out
here, the optimum at given weights is found by SciPy, and bounds are made from its dual point.
"""

from itertools import combinations, combinations_with_replacement
from math import factorial

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, xlogy

from .oracle import require

ROUNDING = 1e-6
"""Share of an objective that may be lost in rounding, here and there."""


def squared(y, f):
    return (f - y) ** 2 / 2, f - y


def logistic(y, f):
    return np.logaddexp(0, -y * f), -y * expit(-y * f)


def squared_hinge(y, f):
    left = np.maximum(1 - y * f, 0)
    return left**2 / 2, -y * left


def huber(y, f, delta=1.35):
    r = f - y
    small = np.abs(r) <= delta
    return np.where(small, r**2 / 2, delta * (np.abs(r) - delta / 2)), np.clip(r, -delta, delta)


def logistic_conjugate(y, v):
    s = np.clip(-y * v, 0, 1)
    return xlogy(s, s) + xlogy(1 - s, 1 - s)


LOSSES = {
    "squared": (squared, lambda y, v: v**2 / 2 + v * y),
    "logistic": (logistic, logistic_conjugate),
    "squared_hinge": (squared_hinge, lambda y, v: v**2 / 2 + y * v),
    "huber": (huber, lambda y, v: v**2 / 2 + v * y),
}
"""Value and slope of losses, and their conjugates."""


class Listed:
    """A problem with all its kernels written out.

    ``grams`` has the kernel matrices of the base kernels, shape (r, n, n).
    """

    def __init__(self, grams, y, weights, settings, centred=True):
        self.y, self.s = y, weights / weights.sum()
        self.loss, self.conjugate = LOSSES[settings.get("loss", "squared")]
        self.strength, self.p = settings["alpha"], settings["p"]
        self.intercept = settings.get("fit_intercept", True)
        kind, degree = settings["index_set"], settings["degree"]
        rho = settings.get("rho") or [1.0] * (degree + 1)
        choose = combinations if kind == "interactions" else combinations_with_replacement
        self.kernels = {}
        for d in range(degree + 1):
            for index in choose(range(len(grams)), d):
                K = np.ones_like(grams[0])
                for j in index:
                    K = K * grams[j]
                if settings.get("standardize_terms"):
                    spread = self.spread(K, centred)
                    if spread <= 1e-10 * max(self.s @ np.diag(K), 1e-300):
                        continue
                    K = K / spread
                if kind == "tuples":  # all orders of a product, merged into one kernel
                    same = factorial(d)
                    for j in set(index):
                        same //= factorial(index.count(j))
                    power = 0.0 if self.p == 1 else 2 * (self.p - 1) / self.p
                    K = K * same**power
                self.kernels[index] = K / rho[d] ** 2

    def spread(self, K, centred):
        """Return the variance of the features of a kernel over the rows."""
        return self.s @ np.diag(K) - (self.s @ K @ self.s if centred else 0.0)

    def solved(self, theta):
        """Return the objective at weights of kernels, its predictions and the dual point."""
        K = np.zeros((len(self.y),) * 2)
        for index, weight in theta.items():
            K = K + weight * self.kernels.get(index, 0.0)  # kernels that do not vary are left out
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        kept = values > 1e-13 * max(values.max(), 1e-300)
        Z = vectors[:, kept] * np.sqrt(values[kept])
        whole = np.column_stack([Z, np.ones(len(self.y))]) if self.intercept else Z
        penal = self.strength * np.r_[np.ones(Z.shape[1]), np.zeros(whole.shape[1] - Z.shape[1])]

        def objective(w):
            value, slope = self.loss(self.y, whole @ w)
            return self.s @ value + penal @ w**2 / 2, whole.T @ (self.s * slope) + penal * w

        if self.loss is squared:
            system = whole.T @ (self.s[:, None] * whole) + np.diag(penal)
            w = np.linalg.lstsq(system, whole.T @ (self.s * self.y), rcond=None)[0]
        else:
            options = {"maxiter": 5_000, "ftol": 1e-16, "gtol": 1e-12}
            start = np.zeros(whole.shape[1])
            w = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
        f = whole @ w
        return objective(w)[0], f, -self.s * self.loss(self.y, f)[1] / self.strength

    def gradients(self, alpha):
        return {index: float(alpha @ K @ alpha) for index, K in self.kernels.items()}

    def norm(self, gradients):
        g = np.maximum(np.array([0.0, *gradients.values()]), 0)
        if self.p in (1, 2):
            return g.max() if self.p == 1 else g.sum()
        power = self.p / (2 * self.p - 2)  # nu / (nu - 1) with nu = p / (2 - p)
        return g.max() * np.sum((g / (g.max() or 1.0)) ** power) ** (1 / power)

    def bound(self, alpha):
        """Return a lower bound of the optimum from a dual point."""
        if self.intercept:
            alpha = alpha - self.s * alpha.sum()  # slopes must add up to zero
        v = -self.strength * alpha / self.s
        if not self.inside(v):
            return -np.inf
        return -self.s @ self.conjugate(self.y, v) - self.strength / 2 * self.norm(
            self.gradients(alpha)
        )

    def inside(self, v):
        """Tell whether slopes are in the domain of the conjugate."""
        if self.loss is squared:
            return True
        if self.loss is huber:
            return np.abs(v).max() <= 1.35
        return np.all(self.y * v <= 0) and (self.loss is squared_hinge or np.all(self.y * v >= -1))

    def bracket(self, theta, passes=15):
        """Return a lower and an upper bound of the optimum, better ones from pass to pass."""
        low, high = -np.inf, np.inf
        for _ in range(passes):
            value, _f, alpha = self.solved(theta)
            low, high = max(low, self.bound(alpha)), min(high, value)
            if high - low <= ROUNDING * high or self.p == 2:
                break
            nu = self.p / (2 - self.p)
            g = self.gradients(alpha)
            most = max(g.values(), default=0.0)
            if not most > 0:
                break
            theta = {i: theta.get(i, 1e-9) for i in g}  # zeros would stay
            raw = {i: (t**2 * max(g[i], 0) / most) ** (1 / (nu + 1)) for i, t in theta.items()}
            size = sum(t**nu for t in raw.values()) ** (1 / nu)
            theta = {i: t / size for i, t in raw.items() if t > 0}
        return low, high


def check_certificate(model, listed, X, y):
    """Require that the objective, the predictions and the gap of a model are what it says."""
    theta = dict(zip(model.terms_, np.asarray(model.theta_).tolist(), strict=True))
    value, f, _alpha = listed.solved(theta)
    claimed, gap = model.objective_, model.gap_
    scale = listed.s @ listed.loss(listed.y, np.zeros(len(y)))[0]
    require(
        claimed >= value - ROUNDING * max(value, 1e-6 * scale),
        f"objective_ is {claimed:.9g}; the optimum at its weights is {value:.9g}",
    )
    low, high = listed.bracket(theta)
    require(
        claimed * (1 - gap) <= high + ROUNDING * max(high, 1e-6 * scale),
        f"gap_ {gap:.3g} says the optimum is at least {claimed * (1 - gap):.9g}; {high:.9g} is had",
    )
    require(claimed >= low - ROUNDING * max(low, 1e-6 * scale), "objective_ is below the optimum")
    if claimed <= value * (1 + 1e-9) and listed.loss is squared:
        off = np.abs(model.predict(X) - f).max()
        require(off <= 1e-3 * np.ptp(y) + 1e-9, f"predictions are off by {off:.3g}")
