"""The evidence of a Gaussian process: how well widths, weights and noise explain the targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from ...arrays import Array
from ...backend import to_host
from ...bases import TERMS
from ...bases.width_rows import WidthKernel
from ...families import WidthFamily
from ...objective import Problem
from .ascent import widths_of
from .scores import WidthScores, paired_columns
from .threads import Together, one_by_one


class Setting(NamedTuple):
    """Weights of kernels, which add up to one, their widths, and the noise beside a kernel of 1."""

    shares: Array
    widths: Array
    noise: float


class WidthEvidence:
    r"""Minus the logarithm of the evidence per observation and output, and its slopes.

    Targets y, less their mean, are taken for a Gaussian process of covariance
    :math:`a\,(K + \tau N)`: K the weighted kernel, N the inverse sample weights (of mean one), any
    size a, noise :math:`\tau`. A row of m copies is m observations, each with m times the noise of
    the row: but for constants they add :math:`(m - 1) \log a\tau` to the logarithm of the
    determinant. So, of n observations on n - c rows, at the best a

    .. math:: E = \tfrac1{2n} (\log\det(K + \tau N) + c \log\tau)
        + \tfrac12 \log y^\top (K + \tau N)^{-1} y,

    and, with :math:`\alpha = (K + \tau N)^{-1} y`, :math:`dE = \tfrac12 \langle M, dK\rangle`,
    :math:`M = \tfrac1n (K + \tau N)^{-1} - \alpha\alpha^\top / (y^\top\alpha)`. The determinant is
    what the penalised objective lacks: it makes flexible kernels expensive, so that widths are not
    too narrow. Targets are in units of about their spread (:func:`unit_of`), so that E does not
    depend on theirs. A call costs O(n^3 + m n^2 r) for m kernels.

    Parameters
    ----------
    problem : Problem
        Targets and sample weights.
    family : WidthFamily
        The rows.
    kernels : sequence of WidthKernel
        The kernels; spline terms, which have no widths, stand last.
    dtype : numpy dtype
        Type of the numbers of the kernels.
    """

    def __init__(
        self,
        problem: Problem,
        family: WidthFamily,
        kernels: Sequence[WidthKernel],
        dtype: type = np.float32,
    ) -> None:
        live = problem.weights > 0  # the others say nothing
        rows = family.bases if live.all() else family.bases.take(np.flatnonzero(live))
        weights, y = problem.weights[live], problem.y[live]
        moving = [kernel for kernel in kernels if kernel != TERMS]
        self.fixed = to_host(rows.kernel(TERMS)) if len(moving) < len(kernels) else None
        self.start = np.array([widths_of(kernel, rows.count) for kernel in moving])
        self.inside = self.start > 0
        self.shapes = [kernel[0] for kernel in moving]
        self.scores = WidthScores(rows, paired_columns(moving), dtype, self.shapes, family.room)
        self.scales = family.weights(kernels)
        self.y = y - weights @ y / weights.sum()
        self.unit = unit_of(float(np.mean(weights @ self.y**2) / weights.sum()))
        self.spread = weights.mean() / weights
        self.copies = 0.0 if problem.copies is None else float(problem.copies[live].sum())

    def __call__(self, setting: Setting, together: Together = one_by_one) -> tuple[float, Setting]:
        """Return the value and its slopes: in each share, each log width and the log noise."""
        scores, count = self.scores, len(self.shapes)
        factors = setting.shares * self.scales
        values = scores.values(self.shapes, setting.widths, together)
        gram = scores.summed(factors[:count], values)
        if self.fixed is not None:
            gram += factors[-1] * self.fixed
        n, outputs = len(self.y) + self.copies, self.y.shape[1]
        gram[np.diag_indices(len(self.y))] += setting.noise * self.spread
        # The lower triangle in LAPACK's order of memory is the upper one in ours.
        lower = cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)
        logs = np.log(np.diag(lower[0])).sum()
        alpha, inverse = cho_solve(lower, self.y), upper_inverse(lower[0])
        sizes = np.maximum(np.sum(self.y * alpha, axis=0), np.finfo(float).tiny)
        logs += self.copies * np.log(setting.noise) / 2
        value = logs / n + np.log(sizes / self.unit).mean() / 2
        inverse /= n
        inverse -= (alpha / (sizes * outputs)) @ alpha.T
        scores.weighed_by(inverse)
        own, moves = scores.scored(self.shapes, setting.widths, values, together)
        if self.fixed is not None:
            twice = 2 * np.sum(np.triu(inverse, 1) * self.fixed)
            own = np.append(own, twice + np.diag(inverse) @ np.diag(self.fixed))
        by_noise = setting.noise * float(np.diag(inverse) @ self.spread) / 2
        by_noise += self.copies / (2 * n)
        by_width = factors[:count, None] * moves / 2
        return float(value), Setting(self.scales * own / 2, by_width, by_noise)


def unit_of(variance: float) -> float:
    """Return the power of four next to a variance: what the unit of y adds to the evidence.

    Without it the value is one of targets whose spread is next to one, whatever their unit, and
    what ends a search (a change as a share of the value) is the same; no digit is lost by it.
    """
    return float(4.0 ** np.round(np.log2(variance) / 2)) if variance > 0 else 1.0


def upper_inverse(lower: Array) -> Array:
    """Return the upper triangle of an inverse from the Cholesky factor; the factor is lost."""
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    return inverse.T
