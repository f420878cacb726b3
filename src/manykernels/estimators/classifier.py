"""Classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import BaseCV, PlainMKL
from .tasks import Classification


@dataclass(eq=False, repr=False)
class MKLClassifier(Classification, PlainMKL):
    r"""Classification with a learnt combination of all products of up to ``degree`` base kernels.

    Two classes are coded -1 and +1. More classes are each told apart from the rest, with one
    set of kernel weights for all of them, so that the chosen terms stay readable: the gradient
    of kernel i is the sum over classes of :math:`\alpha_c^\top K_i \alpha_c`. The objective is the
    sum of the classes' objectives.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, optional
        Base kernels; see :class:`MKLRegressor`, as for the parameters that follow.
    degree : int, "auto" or None, default="auto"
        Largest number of base kernels in a product.
    index_set : {"auto", "tuples", "monomials", "interactions"}, default="auto"
        Which products are in the family.
    rho : sequence of float of length degree + 1, default=ones
        Scale factors of the degrees.
    p : float, optional
        Exponent of the group norm.
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or loss object, default="logistic"
        Loss; all but the hinge loss give probabilities.
    alpha : float, optional
        Strength of the penalty next to the mean loss; by default as for :class:`MKLRegressor`.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant.
    solver : {"auto", "working-set", "full-pass", "mirror-descent", "greedy"} or solver object, \
default="auto"
        Solver; greedy selection needs a smooth loss (any but the hinge loss).
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-2
        Relative duality gap to stop at.
    max_time : float, optional
        Seconds that ``fit`` may take; it overshoots by at most the larger of one second and a
        tenth, but for single matrix factorisations. A fit that is cut short is the last model,
        with its gap, infinite where there was no time for it; without any it is a TimeoutError.
    max_memory : int or str, optional
        Bytes that the fit may hold, also as in ``"2GB"``; by default a quarter of the machine's
        memory. What does not fit is made anew, some rows at a time, which takes longer and gives
        the same model; where the functions of columns alone do not fit, the fit is refused.
    subsample : {None, "auto"}, default=None
        Whether to fit growing subsets of the rows first; as for :class:`MKLRegressor`.
    standardize : {True, "scale", False}, default=True
        How columns are standardised.
    standardize_terms : {"auto", True, False}, default="auto"
        Whether kernels are divided by their spreads; as for :class:`MKLRegressor`.
    device : str, optional
        As for :class:`MKLRegressor`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    verbose : int, default=0
        How much progress to write.
    checkpoint : str or path, optional
        Folder from which a fit that was killed goes on; as for :class:`MKLRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    terms_, theta_, objective_, gap_, gap_kind_, n_kernels_, n_iter_, history_, function_, \
alpha_, degree_, p_, kernels_, kernels_losses_, chosen_, choice_, score_path_, best_score_, \
alphas_, n_terms_, feature_importances_, encoder_, medians_, n_features_in_, feature_names_in_ :
        As for :class:`MKLRegressor`.
    term_coef_ : ndarray of shape (n_outputs, n_features_of_terms)
        Coefficients, where kernels have explicit features; one output for two classes.
    intercept_ : ndarray of shape (n_outputs,)
        Constants.
    dual_coef_ : ndarray of shape (n_outputs, n_samples)
        Dual variables.

    See Also
    --------
    MKLRegressor : The same for real targets.
    MKLClassifierCV : The same with the strength chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MKLClassifier(degree=2, random_state=0).fit(X, y)
    >>> model.explain(top=1)["term"].tolist()
    ['x0 * x1']
    """

    loss: Any = "logistic"


@dataclass(eq=False, repr=False)
class MKLClassifierCV(Classification, BaseCV):
    """Classification whose strength, and if asked for exponent and degree, are cross-validated.

    Parameters
    ----------
    kernels, degree, index_set, rho, p, alphas, n_alphas, cv, one_standard_error, debias, \
fit_intercept, solver, max_iter, tol, max_time, max_memory, subsample, standardize, \
standardize_terms, device, n_jobs, random_state, verbose, checkpoint :
        As for :class:`MKLRegressorCV`; folds are stratified by class.
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or loss object, default="logistic"
        Loss, also that by which models are compared.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    alpha_, n_terms_, p_, degree_, alphas_, choice_, score_path_, best_score_, kernels_, \
kernels_losses_, chosen_ :
        As for :class:`MKLRegressorCV`.
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, function_, feature_importances_, encoder_, medians_, n_features_in_, \
feature_names_in_ :
        Of the fit to all rows, as for :class:`MKLClassifier`.

    See Also
    --------
    MKLClassifier : Without the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLClassifierCV
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MKLClassifierCV(degree=2, p=1).fit(X, y)
    >>> model.explain(top=1)["term"].tolist()
    ['x0 * x1']
    """

    loss: Any = "logistic"
