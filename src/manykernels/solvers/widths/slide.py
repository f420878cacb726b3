"""All widths and weights at once, towards more evidence: a local search after each pricing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...arrays import Array
from ...bases import TERMS
from ...bases.width_rows import WidthKernel
from ...deadline import check
from ...families import WidthFamily
from ...objective import Problem
from .ascent import LARGEST_WIDTH, LEAST_WIDTH, kernel_of
from .evidence import Setting, WidthEvidence
from .threads import Together, side_by_side

LEAST_NOISE, LARGEST_NOISE = 1e-5, 10.0
"""Noise that a slide may try, beside a kernel of 1 on the diagonal: less is rounding error, with
more nothing can be learnt from some hundred rows. Set by judgement, not measured."""


WIDTH_SPREAD = 1.5
"""Standard deviation of the logarithms of a kernel's widths around their mean, a priori. Of 1, 1.5,
2 and none, 1 and 1.5 were best on held-out rows of higgs15k (4,000 rows: accuracy .686, for .670
without), none on few rows of linear functions."""


class Slid(NamedTuple):
    """Where a slide ended: kernels, weights, noise, and minus the log posterior per row."""

    kernels: list[WidthKernel]
    theta: Array
    noise: float
    value: float


def slide(
    problem: Problem,
    family: WidthFamily,
    kernels: Sequence[WidthKernel],
    theta: Array,
    noise: float,
    steps: int,
) -> Slid:
    r"""Return kernels, weights and a noise level of more evidence, near those given.

    With a prior that the widths of a kernel do not differ without reason (:func:`uneven`). By
    L-BFGS in the logarithms of widths, noise and weights, :math:`\theta_i \propto e^{\phi_i}`.
    Kernels keep their columns but for those whose widths become flat. Spline terms have a weight
    and no widths; they stand last.
    """
    order = sorted(range(len(kernels)), key=lambda place: kernels[place] == TERMS)
    kernels, theta = [kernels[place] for place in order], theta[order]
    if kernels[0] == TERMS:
        return Slid(kernels, theta, noise, -np.inf)
    evidence, size = WidthEvidence(problem, family, kernels), len(kernels)
    inside, widths = evidence.inside, evidence.start.copy()
    owners = np.nonzero(inside)[0]

    def setting(point: Array) -> Setting:
        shares = np.exp(point[:size] - point[:size].max())
        widths[inside] = np.exp(point[size:-1])
        return Setting(shares / shares.sum(), widths, float(np.exp(point[-1])))

    def downhill(point: Array, together: Together) -> tuple[float, Array]:
        check()
        now = setting(point)
        value, slopes = evidence(now, together)
        by_share = now.shares * (slopes.shares - now.shares @ slopes.shares)
        cost, by_width = uneven(point[size:-1], owners, problem.observations)
        by_width += slopes.widths[inside]
        return value + cost, np.concatenate([by_share, by_width, [slopes.noise]])

    logs = np.log(np.clip(widths[inside], LEAST_WIDTH, LARGEST_WIDTH))
    limits = [(LEAST_WIDTH, LARGEST_WIDTH)] * len(logs) + [(LEAST_NOISE, LARGEST_NOISE)]
    start = np.concatenate([np.log(theta), logs, [np.log(noise)]])
    with side_by_side() as together:
        best = minimize(
            downhill,
            start,
            args=(together,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-20.0, 20.0)] * size + [(np.log(a), np.log(b)) for a, b in limits],
            options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-6},
        )
    end = setting(best.x)
    out: dict[WidthKernel, float] = {}
    for kernel, own, share in zip(kernels, [*end.widths, None], end.shares.tolist(), strict=False):
        index = kernel if own is None else kernel_of(kernel[0], own)
        if index is not None:
            out[index] = out.get(index, 0.0) + share
    if not out:  # all became flat: the best that is left is where it began
        return Slid(kernels, theta, noise, float(best.fun))
    values = np.array(list(out.values()))
    return Slid(list(out), values / values.sum(), end.noise, float(best.fun))


def uneven(logs: Array, owners: Array, rows: float) -> tuple[float, Array]:
    """Return what uneven widths cost, per row, and its slopes in the logarithms of widths.

    Minus the logarithm of a prior: logarithms of a kernel's widths are normal around their mean.
    ``owners`` has the number of the kernel of each.
    """
    counts = np.bincount(owners)
    away = logs - (np.bincount(owners, logs) / np.maximum(counts, 1))[owners]
    factor = 1 / (WIDTH_SPREAD**2 * rows)
    return float(factor * (away @ away) / 2), factor * away
