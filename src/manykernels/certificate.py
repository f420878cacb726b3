"""Duality gaps over a whole family: exact, bounded or estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import t as student

from .arrays import Array, Index
from .dual import DualSolution
from .families import Draw, GradientField, KernelFamily
from .limits import EXACT_SIZE, EXACT_WORK
from .objective import Problem
from .potentials import power_norm

FAILURE = 0.01
"""Probability with which a bound from draws may be too small. Chosen, not measured."""

ESTIMABLE = 4 / 3 - 1e-9
"""Least p for which the mean over draws estimates the dual norm well; see :func:`estimate`."""

UPPER_QUANTILE = 0.99
"""Quantile of Student's t that an estimate from draws takes as its margin. It is no confidence: the
limit is too low far more often than in 1 % of cases (``docs/benchmarks/draw_certificates.md``)."""

ROUNDED_SHARE = 1e-12
"""What is added to the probability of kernels not listed, for the rounding of its sum."""

BISECTIONS = 60
"""Steps that a probability is bisected by: it is then good to the last digit."""

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
        probability 0.01 at most. ``"estimate"``: from draws, by the normal theory of the mean, or
        from the best kernels found: it may be too small, and how often is not known. ``"none"``:
        no convex problem was solved, and the gap is not a number.
    """

    gap: float
    relative: float
    kind: Kind


NO_CERTIFICATE = Certificate(np.nan, np.nan, "none")
"""The certificate of a solver that solves no convex problem."""

UNKNOWN = Certificate(np.inf, np.inf, "estimate")
"""The certificate of a gap that nothing is known of."""


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
    s of the draws. The root of an unbiased estimate is biased low, so a margin is added, by the
    normal theory of the mean. That is no guarantee: the values are skewed, and where one kernel
    that was not drawn carries the norm (p near 1) the estimate is far too low. Iterations are
    followed by it; what a fit ends with is :func:`bound`.
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
    upper = mean + float(student.ppf(UPPER_QUANTILE, total - 1)) * np.sqrt(variance / total)
    return from_norm(problem, solution, largest * float(upper ** (1 / power)), "estimate")


def bound(
    problem: Problem,
    solution: DualSolution,
    scout: Draw,
    judge: Draw | None = None,
    known: Known | None = None,
    failure: float = FAILURE,
) -> Certificate:
    r"""Return a bound of the gap from draws at this dual point.

    The kernels ``known`` and those that the ``scout`` has drawn are listed: their part of
    :math:`\|g\|_{\nu^*}^{\nu^*}` is computed. Of the others two things are known. None has a
    gradient above :math:`u = \epsilon R`, R the largest importance ratio and :math:`\epsilon` that
    of :func:`largest_missed`; so they add at most :math:`m R\,u^{\nu^*-1}`, m the probability of
    all of them together. And the ``judge``, draws that had no part in the list, estimate what they
    add as a mean of values between 0 and :math:`R\,u^{\nu^*-1}`, which an empirical Bernstein bound
    limits whatever their distribution (Maurer and Pontil 2009). The smaller of the two counts. For
    p = 1 the norm is the maximum, and there is nothing to judge.

    Parameters
    ----------
    problem, solution
        The problem, and its solution at some weights.
    scout, judge : Draw
        Independent draws at the solution's dual point.
    known : Known, optional
        Kernels, chosen before any of these draws, and their gradients.
    failure : float, default=0.01
        Probability with which the bound may be too small.
    """
    known = known or Known([], np.empty(0))
    if scout.total == 0:
        return from_norm(problem, solution, 0.0, "exact")
    most = scout.largest_ratio
    listed = dict(zip(known.indices, known.gradients.tolist(), strict=True))
    before = _share(sum(listed.values()), most)  # of kernels that the scout may miss
    listed.update(zip(scout.indices, scout.gradients.tolist(), strict=True))
    gradients = np.fromiter(listed.values(), dtype=float, count=len(listed))
    others = _share(float(gradients.sum()), most)
    judged = judge is not None and judge.total > 1 and problem.p > 1
    missed = largest_missed(scout.total, before, failure / 2 if judged else failure)
    unseen = most * min(missed, others)
    largest = max(float(gradients.max()), unseen)
    if np.isinf(largest) or largest == 0 or problem.p == 1:
        return from_norm(problem, solution, largest, "bound")
    power = problem.dual_exponent
    ceiling = most / largest * (unseen / largest) ** (power - 1)
    rest = others * ceiling
    if judged:
        assert judge is not None
        fresh = np.array([index not in listed for index in judge.indices])
        values = judge.ratios / largest * (judge.gradients / largest) ** (power - 1) * fresh
        rest = min(rest, bernstein(judge, values, ceiling, failure / 2))
    seen = float(np.sum((gradients / largest) ** power))
    return from_norm(problem, solution, largest * (seen + rest) ** (1 / power), "bound")


class Known(NamedTuple):
    """Kernels and their gradients at a dual point."""

    indices: Sequence[Index]
    gradients: Array


def _share(listed: float, most: float) -> float:
    """Return the largest probability that kernels not listed can have, all together."""
    # No ratio g/s exceeds ``most``, so that a kernel is drawn with probability g/most at least.
    return min(1.0, max(0.0, 1 - listed / most) + ROUNDED_SHARE)


def largest_missed(count: int, share: float, failure: float) -> float:
    r"""Return a probability that no kernel missed by draws has more of, but for ``failure``.

    At most :math:`m/\epsilon` kernels of probability m together have one above
    :math:`\epsilon`, and all of ``count`` draws miss a given one of them with probability
    :math:`(1-\epsilon)^B` at most. Their product is the failure.
    """
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if share * (1 - middle) ** count <= failure * middle:
            high = middle
        else:
            low = middle
    return min(high, share)


def bernstein(draw: Draw, values: Array, ceiling: float, failure: float) -> float:
    """Return an upper bound of a mean of values between 0 and a ceiling, but for ``failure``.

    From independent draws, by the empirical Bernstein bound of Maurer and Pontil (2009, theorem 4).
    """
    total, mean = draw.total, draw.mean(values)
    variance = draw.mean((values - mean) ** 2) * total / (total - 1)
    log = np.log(2 / failure)
    return float(mean + np.sqrt(2 * variance * log / total) + 7 * ceiling * log / (3 * (total - 1)))


def from_draws(
    problem: Problem,
    solution: DualSolution,
    field: GradientField,
    count: int,
    rng: np.random.Generator,
    kernels: Sequence[Index] = (),
    failure: float = FAILURE,
) -> tuple[Certificate, float]:
    """Return what ``count`` fresh draws certify, and about what the relative gap is.

    A bound, or an estimate where nothing bounds the ratios of kernels that were not drawn.
    ``kernels`` are some whose gradients are computed, those in use for instance.
    """
    scouts = count if problem.p == 1 else (count + 1) // 2
    scout = field.draw(scouts, rng)
    if np.isinf(scout.largest_ratio) and problem.p >= ESTIMABLE:
        found = estimate(problem, solution, field.draw(count, rng))
        return found, found.relative
    judge = field.draw(count - scouts, rng)
    known = Known(kernels, field.gradients(kernels)) if len(kernels) else None
    found = bound(problem, solution, scout, judge, known, failure)
    about = from_norm(problem, solution, about_norm(problem, scout), "estimate")
    return found, about.relative


def about_norm(problem: Problem, draw: Draw) -> float:
    r"""Return about :math:`\|(g_i)_i\|_{\nu^*}` from draws; for p = 1 the largest drawn."""
    largest = float(draw.gradients.max(initial=0.0))
    power = problem.dual_exponent
    if largest == 0 or np.isinf(power):
        return largest
    values = draw.ratios / largest * (draw.gradients / largest) ** (power - 1)
    return largest * float(draw.mean(values) ** (1 / power))


def affordable(family: KernelFamily, outputs: int) -> bool:
    """Tell whether the gradient of every kernel can be computed for a final certificate."""
    return family.enumeration_work * outputs <= EXACT_WORK and family.distinct <= EXACT_SIZE
