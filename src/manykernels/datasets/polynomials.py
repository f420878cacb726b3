"""The paper's synthetic polynomials."""

from __future__ import annotations

from math import comb, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..arrays import Product
from ..backend import generator


def make_sparse_polynomial(
    r: int, n: int, terms: int = 10, degree: int = 3, noise: float = 0.0, random_state: Any = None
) -> Bunch:
    r"""Draw the paper's synthetic regression problem: a sum of a few random monomials.

    The inputs are uniform on :math:`[-1, 1]^r` and the target is

    .. math:: y = \sum_{t=1}^{terms} m_t(x) + noise \cdot \varepsilon,
              \qquad \varepsilon \sim N(0, 1).

    The distinct monomials :math:`m_t` are drawn uniformly from all :math:`\binom{r+D}{D} - 1`
    monomials of degree 1 to D = ``degree``, powers such as :math:`x_0^2 x_3` included.

    The paper writes "the uniform combination of 10 monomial terms of degree 3 or less [...]
    chosen uniformly at random among all possible terms", without noise. Here, as where it calls
    a plain sum of kernels their uniform combination, all coefficients are 1. The constant term
    is left out, since it carries no variable.

    Parameters
    ----------
    r : int
        Number of variables.
    n : int
        Number of rows.
    terms : int, default=10
        Number of monomials.
    degree : int, default=3
        Largest degree of a monomial.
    noise : float, default=0.0
        Standard deviation of the noise.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness; an int gives the same problem each time. The monomials come first,
        so they do not depend on n and noise.

    Returns
    -------
    Bunch
        With the entries

        - data, array of shape (n, r);
        - target, array of shape (n,);
        - terms, list of sorted tuples of variable numbers: (0, 0, 3) is :math:`x_0^2 x_3`;
        - coefficients, array of shape (terms,): ones.

    Examples
    --------
    >>> from manykernels.datasets import make_sparse_polynomial
    >>> problem = make_sparse_polynomial(r=100, n=500, random_state=0)
    >>> problem.data.shape, len(problem.terms)
    ((500, 100), 10)
    """
    for label, value in (("r", r), ("n", n), ("terms", terms), ("degree", degree)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(
                f"{label} must be an integer >= 1; got {value!r}. "
                "The paper has r=5..100, n=500, terms=10, degree=3."
            )
    if not isinstance(noise, Real) or not isfinite(noise) or noise < 0:
        raise ValueError(
            f"noise must be a number >= 0; got {noise!r}. Use noise=0.0 for exact targets."
        )
    count = comb(r + degree, degree) - 1
    if terms > count:
        raise ValueError(
            f"terms must be at most {count}, the number of monomials of degree 1 to {degree} in "
            f"{r} variables; got {terms}. Use fewer terms, more variables or a higher degree."
        )
    rng = generator(random_state)
    drawn: dict[Product, None] = {}
    while len(drawn) < terms:
        monomial = _monomial(r, degree, rng)
        if monomial:
            drawn[monomial] = None
    coefficients = np.ones(terms)
    data = rng.uniform(-1.0, 1.0, size=(n, r))
    target = np.zeros(n)
    for coefficient, monomial in zip(coefficients, drawn, strict=True):
        target += coefficient * data[:, monomial].prod(axis=1)
    target += noise * rng.normal(size=n)
    return Bunch(data=data, target=target, terms=list(drawn), coefficients=coefficients)


def _monomial(r: int, degree: int, rng: np.random.Generator) -> Product:
    """Draw from the monomials of degree 0 to ``degree``, all equally likely.

    They are the multisets of ``degree`` factors from 1, x_0, .., x_{r-1}. Such a multiset is a
    set of ``degree`` numbers below r + degree, sorted, less 0, 1, .., degree - 1. (Drawing the
    factors one by one would favour monomials with many orderings.)
    """
    chosen = np.sort(rng.choice(r + degree, size=degree, replace=False))
    factors = chosen - np.arange(degree)
    return tuple(int(factor) - 1 for factor in factors if factor > 0)
