"""Regression."""

from __future__ import annotations

from .base import BaseMKL
from .tasks import Regression


class MKLRegressor(Regression, BaseMKL):
    r"""Regression with a learnt combination of all products of up to ``degree`` base kernels.

    It solves

    .. math::
        \min_w \frac1n\sum_t \ell\Big(y_t, \sum_i \langle w_i, \phi_i(x_t)\rangle + b\Big)
        + \frac{\alpha}{2} \Big(\sum_i \rho_i^p \|w_i\|^p\Big)^{2/p}

    over exponentially many kernels i without listing them: kernels are drawn with probability
    exactly proportional to their gradient, and each draw is a mirror-descent step.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, default="linear"
        Base kernels. ``"linear"`` or ``"rbf"``: one for each column. ``"precomputed"``: X is the
        matrix of one kernel. A list: each item a name, a callable ``k(X, Y)``, a scikit-learn
        kernel or a :class:`manykernels.kernels.Precomputed`, optionally in a pair with the
        columns it sees, as in ``("rbf", ["age", "income"])``.
    degree : int, default=3
        Largest number of base kernels in a product.
    index_set : {"auto", "tuples", "monomials", "interactions"}, default="auto"
        ``"monomials"``: every multiset of base kernels is one kernel. ``"interactions"``: only
        products of distinct ones. ``"tuples"``: the paper's ordered tuples, in which a monomial
        counts as often as it has orders. ``"auto"``: monomials for linear kernels, else
        interactions.
    rho : sequence of float of length degree + 1, default=ones
        Scale factors: a larger ``rho[d]`` penalises kernels of degree d more.
    p : float, default=4/3
        Exponent of the group norm, from 1 (few kernels) to 2 (all kernels, closed form).
    loss : {"squared", "huber", "epsilon_insensitive"} or loss object, default="squared"
        Loss; see :mod:`manykernels.losses`.
    alpha : float, default=1e-3
        Strength of the penalty next to the *mean* loss, as in Lasso (Ridge's alpha is n times
        it).
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant. Without it the constant kernel (degree 0) is the
        offset, as in the paper.
    solver : {"auto", "mirror-descent"} or MirrorDescent, default="auto"
        ``"auto"``: the closed form for p = 2, else randomized mirror descent.
    max_iter : int, default=1000
        Largest number of iterations, each one dual solution and 50 draws.
    tol : float, default=1e-2
        Relative duality gap to stop at.
    max_time : float, optional
        Seconds to stop after.
    standardize : {True, "scale", False}, default=True
        True centres and scales columns with (weighted) training statistics; ``"scale"`` only
        scales, which keeps sparse X sparse and a monomial of the raw columns a single term.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws; an int makes fits reproducible.
    verbose : int, default=0
        1 writes a line of progress every two seconds, 2 a line for each iteration.

    Attributes
    ----------
    terms_ : list of tuple of int
        Chosen kernels as base-kernel numbers, most important first.
    theta_ : ndarray of shape (n_terms,)
        Their weights.
    coef_ : ndarray of shape (n_features_of_terms,)
        Coefficients of the terms' features :math:`\phi_i/\rho_i`, where kernels have explicit ones.
    intercept_ : float
        The constant.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual variables.
    objective_ : float
        Value of the objective.
    gap_ : float
        Duality gap relative to the objective: the objective is within that of the optimum over
        all kernels.
    gap_kind_ : {"exact", "bound", "estimate"}
        How the gap was computed; see :class:`manykernels.certificate.Certificate`.
    n_kernels_ : int
        Number of kernels in the family.
    n_iter_ : int
        Iterations.
    history_ : dict of ndarray
        iteration, seconds, objective, gap and active kernels of each iteration.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of columns, if X had string names.

    See Also
    --------
    MKLClassifier : The same for classes.

    References
    ----------
    A. Afkanpour, A. György, Cs. Szepesvári, M. Bowling: A Randomized Mirror Descent Algorithm for
    Large Scale Multiple Kernel Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 0] * X[:, 3] + X[:, 5]
    >>> model = MKLRegressor(degree=2, random_state=0).fit(X, y)
    >>> model.explain(top=2)["term"].tolist()
    ['x0 * x3', 'x5']
    """
