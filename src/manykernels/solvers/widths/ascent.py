"""Ascent to kernels of large gradient: quasi-Newton steps in the logarithms of widths."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ...arrays import Array
from ...bases.width_rows import WidthKernel
from ...deadline import check
from .scores import WidthScores

LEAST_WIDTH, LARGEST_WIDTH = 1e-4, 50.0
"""Widths that an ascent may try, for columns of variance about one. Functions that are nearly
linear need small ones."""

FLAT_WIDTH = 2e-4
"""Columns of smaller widths leave a kernel: with columns of variance about one their factor stays
within some 0.1 % of one for most pairs of rows. With 3e-3 as the limit, columns of linear effects
left: on 200 rows of ten such columns R2 was .28 for .39."""


def climb(
    scores: WidthScores, shape: str, widths: Array, degree: int | None, steps: int
) -> WidthKernel | None:
    """Return the kernel that an ascent from given widths ends at; None where it loses all columns.

    Columns of zero width stay out. Where more than ``degree`` columns are left, those of the
    largest widths are, and a second ascent starts from them.
    """
    widths = ascend(scores, shape, widths, steps)
    if degree is not None and np.count_nonzero(widths >= FLAT_WIDTH) > degree:
        # By place, not by value: several widths may have reached the largest there is.
        widths[np.argsort(-widths, kind="stable")[degree:]] = 0.0
        widths = ascend(scores, shape, widths, steps)
    return kernel_of(shape, widths)


def kernel_of(shape: str, widths: Array) -> WidthKernel | None:
    """Return the kernel of given widths without flat columns; None if it has no others."""
    columns = np.flatnonzero(widths >= FLAT_WIDTH)
    if not len(columns):
        return None
    return shape, tuple(columns.tolist()), tuple(widths[columns].tolist())


def widths_of(kernel: WidthKernel, count: int) -> Array:
    """Return the widths of a kernel for all columns, zero for those that it does not have."""
    widths = np.zeros(count)
    widths[list(kernel[1])] = kernel[2]
    return widths


def ascend(scores: WidthScores, shape: str, widths: Array, steps: int) -> Array:
    """Return widths with a larger score, by L-BFGS on its logarithm inside the columns given."""
    inside = widths > 0
    if shape == "laplace":
        inside = inside & np.isin(np.arange(scores.count), scores.paired)
    out = np.where(inside, widths, 0.0)
    if not inside.any():
        return out

    def downhill(logs: Array) -> tuple[float, Array]:
        check()
        out[inside] = np.exp(logs)
        score, slopes = scores(shape, out)
        score = max(score, 1e-30)
        return -np.log(score), -slopes[inside] / score

    start = np.log(np.clip(widths[inside], LEAST_WIDTH, LARGEST_WIDTH))
    best = minimize(
        downhill,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(LEAST_WIDTH), np.log(LARGEST_WIDTH))] * len(start),
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-5},
    )
    out[inside] = np.exp(best.x)
    return out
