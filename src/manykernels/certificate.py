"""Duality gaps over a whole family: exact, bounded or estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from .dual import DualSolution
from .families import Draw, GradientField, KernelFamily
from .limits import EXACT_SIZE, EXACT_WORK
from .objective import Problem
from .potentials import power_norm

CONFIDENCE = 0.99
"""Probability with which a gap from draws is large enough. Chosen, not measured."""

ESTIMABLE = 4 / 3 - 1e-9
"""Least p for which the mean over draws estimates the dual norm well; see :func:`estimate`."""

Kind = Literal["exact", "bound", "estimate", "none"]


@dataclass(frozen=True)
class Certificate:
    r"""How far an objective can be from the optimum over the whole family.

    Attributes
    ----------
    gap : float
        Objective minus dual value, at least the distance to the optimum.
    relative : float
        The gap divided by the objective.
    kind : {"exact", "bound", "estimate", "none"}
        ``"exact"``: from the gradient of every kernel. ``"bound"``: from draws, too small with
        probability 0.01 at most. ``"estimate"``: a one-sided 99 % upper confidence limit from
        draws, by the normal theory of the mean. ``"none"``: no convex problem was solved, and the
        gap is not a number.
    """

    gap: float
    relative: float
    kind: Kind


NO_CERTIFICATE = Certificate(np.nan, np.nan, "none")
"""The certificate of a solver that solves no convex problem."""


def from_norm(problem: Problem, solution: DualSolution, norm: float, kind: Kind) -> Certificate:
    r"""Return the certificate when :math:`\|(g_i)_i\|_{\nu^*}` is known, bounded or estimated."""
    gap = problem.gap(solution.objective, solution.alpha, norm, solution.intercept)
    return Certificate(*gap, kind)


def exact(problem: Problem, solution: DualSolution, field: GradientField) -> Certificate:
    """Return the certificate from the gradient of every kernel of the family."""
    norm = power_norm(field.all(), problem.dual_exponent)
    return from_norm(problem, solution, norm, "exact")


def estimate(problem: Problem, solution: DualSolution, draw: Draw) -> Certificate:
    r"""Return an estimate of the gap from draws at this dual point, for p > 1.

    The norm is :math:`\|g\|_{\nu^*}^{\nu^*} = E_s[(g/s)\, g^{\nu^*-1}]`, whatever the distribution
    s of the draws. The root of an unbiased estimate is biased low, so the upper limit of a
    one-sided 99 % interval takes its place. It rests on the normal theory of the mean: good for
    p >= 4/3, too low where one kernel that was not drawn carries the norm (p near 1).
    """
    total = draw.total
    largest = float(draw.gradients.max(initial=0.0))
    if largest == 0:
        return from_norm(problem, solution, 0.0, "estimate")
    power = problem.dual_exponent
    values = draw.ratios / largest * (draw.gradients / largest) ** (power - 1)
    mean = draw.mean(values)
    if total < 2:
        return Certificate(np.inf, np.inf, "estimate")
    variance = draw.mean((values - mean) ** 2) * total / (total - 1)
    upper = mean + float(student.ppf(CONFIDENCE, total - 1)) * np.sqrt(variance / total)
    return from_norm(problem, solution, largest * float(upper ** (1 / power)), "estimate")


def bound(problem: Problem, solution: DualSolution, draw: Draw) -> Certificate:
    r"""Return a bound of the gap from draws at this dual point that fails in 1 % of cases.

    At most :math:`1/\epsilon` kernels have a probability above :math:`\epsilon`, and B draws miss
    one of these with probability at most :math:`e^{-\epsilon B}`; with
    :math:`\epsilon = \ln(B/\delta)/B` all of them have been seen, with probability
    :math:`1-\delta`. A kernel not seen then has a gradient of at most
    :math:`u = \epsilon R`, R the largest importance ratio, and all of them together add at most
    :math:`R\,u^{\nu^*-1}` to :math:`\|g\|_{\nu^*}^{\nu^*}`. For p = 1 the norm is the maximum.
    """
    total = draw.total
    if total == 0:
        return from_norm(problem, solution, 0.0, "exact")
    unseen = min(1.0, np.log(total / (1 - CONFIDENCE)) / total) * draw.largest_ratio
    largest = max(float(draw.gradients.max()), unseen)
    if np.isinf(largest) or largest == 0 or problem.p == 1:
        return from_norm(problem, solution, largest, "bound")
    power = problem.dual_exponent
    seen = float(np.sum((draw.gradients / largest) ** power))
    rest = draw.largest_ratio / largest * (unseen / largest) ** (power - 1)
    return from_norm(problem, solution, largest * (seen + rest) ** (1 / power), "bound")


def from_draws(problem: Problem, solution: DualSolution, draw: Draw) -> Certificate:
    """Return what draws at one dual point certify: an estimate for p >= 4/3, else a bound."""
    if problem.p >= ESTIMABLE:
        return estimate(problem, solution, draw)
    return bound(problem, solution, draw)


def affordable(family: KernelFamily, outputs: int) -> bool:
    """Tell whether the gradient of every kernel can be computed for a final certificate."""
    return family.enumeration_work * outputs <= EXACT_WORK and family.distinct <= EXACT_SIZE
