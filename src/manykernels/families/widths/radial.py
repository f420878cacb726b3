"""The radial shape as a mixture of Gaussian products with a common factor."""

from __future__ import annotations

import numpy as np

from ...arrays import Array

RADIAL_NODES = 60
"""Number of Gaussian products that make up a radial kernel, which they do to 5e-10 at every
distance, zero included (``tests/test_width_laws.py``). Thirty equal steps in ln tau from -5 to 9
are as good from exponents of 0.14 on, but 0.006 too low at zero."""

LOG_TAU = -5.0, 40.0
"""Least and largest logarithm of the common factor tau: below them the mixture has a share of
1e-17, above them one of 1e-9."""

GRADING = 22.0
"""Logarithm of the precision that steps in ln tau = x are graded for: a step of pi^2 / (E - x / 2)
gives errors of exp(-E) wherever the mixture has a density of exp(-x / 2). Best of 21 to 30 tried
with these ends and this number of nodes."""


def radial_nodes() -> tuple[Array, Array]:
    r"""Return factors :math:`\tau_k` and weights :math:`w_k` of sum one.

    .. math:: e^{-\sqrt u} = \int_0^\infty \frac{e^{-1/(4\tau)}}{2\sqrt\pi\,\tau^{3/2}}
              e^{-\tau u} d\tau \approx \sum_k w_k e^{-\tau_k u}

    The trapezoidal rule in y, where :math:`E x - x^2/4 = y` and :math:`x = \ln\tau`.
    """
    first, last = (GRADING * x - x**2 / 4 for x in LOG_TAU)
    y = np.linspace(first, last, RADIAL_NODES)
    x = 2 * GRADING - 2 * np.sqrt(GRADING**2 - y)
    density = np.exp(-np.exp(-x) / 4 - x / 2) / (GRADING - x / 2)
    return np.exp(x), density / density.sum()
