"""Duality gaps over a whole family: exact, bounded or estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from .dual import DualSolution
from .families import Draw, GradientField, KernelFamily
from .objective import Problem
from .potentials import power_norm

EXACT_WORK = 2e9
"""Below so many multiplications a final certificate computes the gradient of every kernel."""

EXACT_SIZE = 10_000_000
"""Largest number of gradients that a certificate holds at a time."""

CONFIDENCE = 0.99

PERFECT = 1e-20
"""An objective of so little of that of f = 0 is a perfect fit, known only up to rounding."""

Kind = Literal["exact", "bound", "estimate"]


@dataclass(frozen=True)
class Certificate:
    r"""How far an objective can be from the optimum over the whole family.

    Attributes
    ----------
    gap : float
        Objective minus dual value, at least the distance to the optimum.
    relative : float
        The gap divided by the objective.
    kind : {"exact", "bound", "estimate"}
        ``"exact"``: from the gradient of every kernel. ``"bound"``: with probability 0.99 no
        smaller gap would be true (p = 1, from draws). ``"estimate"``: a one-sided 99 % upper
        confidence limit from draws, by the normal theory of the mean (1 < p < 2).
    """

    gap: float
    relative: float
    kind: Kind


def from_norm(problem: Problem, solution: DualSolution, norm: float, kind: Kind) -> Certificate:
    r"""Return the certificate when :math:`\|(g_i)_i\|_{\nu^*}` is known, bounded or estimated."""
    gap = solution.objective - problem.dual(solution.alpha, norm)
    if solution.objective <= PERFECT * problem.risk(np.zeros_like(problem.y)):
        return Certificate(gap, 0.0, kind)
    return Certificate(gap, gap / solution.objective, kind)


def exact(problem: Problem, solution: DualSolution, field: GradientField) -> Certificate:
    """Return the certificate from the gradient of every kernel of the family."""
    norm = power_norm(field.all(), problem.dual_exponent)
    return from_norm(problem, solution, norm, "exact")


def from_draws(
    problem: Problem, solution: DualSolution, field: GradientField, draw: Draw
) -> Certificate:
    r"""Return the certificate that draws from the family at this dual point allow.

    For 1 < p < 2 the norm is :math:`\|g\|_{\nu^*}^{\nu^*} = E_s[(g/s)\, g^{\nu^*-1}]`, whatever
    the distribution s of the draws. The root of an unbiased estimate is biased low, so the upper
    limit of a one-sided 99 % interval takes its place.

    For p = 1 the norm is a maximum. At most :math:`1/\epsilon` kernels have a probability
    above :math:`\epsilon`, and B draws miss one of these with probability at most
    :math:`e^{-\epsilon B}`; with :math:`\epsilon = \ln(B/\delta)/B` all of them have been seen,
    with probability :math:`1-\delta`. A kernel not seen has a gradient of at most
    :math:`\epsilon` times the largest importance ratio.
    """
    total = draw.total
    if total == 0:
        return from_norm(problem, solution, 0.0, "exact")
    largest = float(draw.gradients.max())
    if problem.p == 1:
        unseen = min(1.0, np.log(total / (1 - CONFIDENCE)) / total) * field.largest_ratio
        return from_norm(problem, solution, max(largest, unseen), "bound")
    if largest == 0:
        return from_norm(problem, solution, 0.0, "estimate")
    power = problem.dual_exponent
    values = draw.ratios / largest * (draw.gradients / largest) ** (power - 1)
    mean = draw.mean(values)
    variance = draw.mean((values - mean) ** 2) * total / max(total - 1, 1)
    quantile = float(student.ppf(CONFIDENCE, max(total - 1, 1)))
    upper = mean + quantile * np.sqrt(variance / total)
    return from_norm(problem, solution, largest * float(upper ** (1 / power)), "estimate")


def affordable(family: KernelFamily, outputs: int) -> bool:
    """Tell whether the gradient of every kernel can be computed for a final certificate."""
    return family.enumeration_work * outputs <= EXACT_WORK and family.distinct <= EXACT_SIZE
