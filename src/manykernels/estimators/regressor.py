"""Regression."""

from __future__ import annotations

from .base import BaseCV, PlainMKL
from .tasks import Regression


class MKLRegressor(Regression, PlainMKL):
    r"""Regression with a learnt combination of all products of up to ``degree`` base kernels.

    It solves

    .. math::
        \min_w \frac1n\sum_t \ell\Big(y_t, \sum_i \langle w_i, \phi_i(x_t)\rangle + b\Big)
        + \frac{\alpha}{2} \Big(\sum_i \rho_i^p \|w_i\|^p\Big)^{2/p}

    over all kernels i, and says how far from the optimum the answer can be. Families that can be
    priced or listed are solved by working sets or full passes. Those that cannot, however many
    kernels they have, are solved by the paper's randomized mirror descent: kernels are drawn with
    probability exactly proportional to their gradient, and each draw is a step.

    With nothing set, the kind of model and its strength are chosen from the data, and ``chosen_``
    says which and why: ``kernels="best"``.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, optional
        Base kernels. None: ``"best"``, and ``"linear"``, the paper's, if any of degree, index_set,
        rho, p, alpha, solver, standardize, standardize_terms and subsample is given.
        ``"linear"`` or ``"rbf"``: one for each column. ``"auto"``: by the values
        of a column, ``"categorical"`` or smooth and, as kernels of their own, fine functions of
        it; as many as ``degree``, rows and columns leave affordable. ``"spline"``,
        ``"polynomial"``, ``"nystroem"`` (Gaussian), ``"categorical"``: these for all columns.
        ``"widths"``: Gaussian, Laplace and radial kernels of any set of columns with a free width
        for each column, learnt from the data (p = 1, see :class:`manykernels.solvers.WidthSearch`);
        columns get a scale of their own, whatever ``standardize`` says, and the model holds its
        training rows. ``"both"``: spline terms of one and two columns, found by a fit with
        ``"auto"`` and p = 1 that comes first, as one kernel beside those with widths. ``"best"``:
        whichever predicts best on rows left out, of ridge regression, monomials with p = 1, greedy
        selection of monomials, ``"auto"``, ``"widths"`` and, with a ``max_time`` of 300 seconds or
        more, ``"both"``: on the same five folds (a held-out fifth from 1,500 rows on, of 5,000 rows
        at most). Ridge regression is taken unless another is better by 1.5 standard errors; what
        would take long on many rows or columns is left out. ``"precomputed"``: X is the
        matrix of one kernel. A list: each item a name, a callable ``k(X, Y)``, a
        scikit-learn kernel, a map of :mod:`manykernels.feature_maps` or a
        :class:`manykernels.kernels.Precomputed`, optionally in a pair with the columns it sees,
        as in ``("rbf", ["age", "income"])`` or, by features and so for many rows,
        ``("nystroem", ["age", "income"])``; with ``("widths", columns)``, or
        ``"both"`` or ``"best"`` in its place, only ``("categorical", columns)`` for columns whose
        values are equal or unequal.
    degree : int, "auto" or None, default="auto"
        Largest number of base kernels in a product; for ``"widths"`` of columns in a kernel.
        ``"auto"``: 3 for linear kernels and those by matrices, 2 for functions of columns, lower
        where rows and columns are too many for products to be priced in seconds; for
        ``"widths"`` all columns, which is what None stands for too. The spline terms of ``"both"``
        have at most two columns.
    index_set : {"auto", "tuples", "monomials", "interactions"}, default="auto"
        ``"monomials"``: every multiset of base kernels is one kernel. ``"interactions"``: only
        products of distinct ones. ``"tuples"``: the paper's ordered tuples, in which a monomial
        counts as often as it has orders. ``"auto"``: monomials for linear kernels, else
        interactions.
    rho : sequence of float of length degree + 1, default=ones
        Scale factors: a larger ``rho[d]`` penalises kernels of degree d more.
    p : float, optional
        Exponent of the group norm, from 1 (few kernels) to 2 (all kernels, closed form). By default
        4/3, and 1 for kernels by functions of columns (``"auto"``, ``"spline"``, ..) or with free
        widths and for ``solver="working-set"``.
    loss : {"squared", "huber", "epsilon_insensitive"} or loss object, default="squared"
        Loss; see :mod:`manykernels.losses`.
    alpha : float, optional
        Strength of the penalty next to the *mean* loss, as in Lasso (Ridge's alpha is n times
        it); for ``kernels="both"`` that of both fits. By default cross-validated
        for ``kernels="best"``, the noise that the search for widths finds, divided by the number of
        rows, for kernels with widths, else 1e-3: :class:`MKLRegressorCV` chooses it.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant. Without it the constant kernel (degree 0) is the
        offset, as in the paper.
    solver : {"auto", "working-set", "full-pass", "mirror-descent", "greedy"} or solver object, \
default="auto"
        ``"working-set"`` (p = 1): a small set of kernels, grown by pricing the whole family.
        ``"full-pass"`` (1 < p < 2): passes over all kernels, for families that can be listed.
        ``"mirror-descent"`` (p < 2): the paper's randomized method, at a cost that does not depend
        on the number of kernels. ``"auto"``: the first of these that is affordable; the closed
        form for p = 2. ``"greedy"``: one kernel after another without any penalty (``alpha`` and
        ``p`` play no part), 20 by default; ``manykernels.solvers.Greedy(terms)`` for another
        number.
    max_iter : int, default=1000
        Largest number of iterations: rounds, passes, mirror-descent steps (each one dual
        solution and 50 draws) or terms.
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
        ``"auto"``: solve on growing subsets of the rows first (n/4, n/16, .. down to 500), each to
        its own accuracy and the start of the next, then on all rows, to ``tol`` as ever. The
        optimum and its certificate are those of all rows either way. It pays for mirror descent
        over kernel matrices; other solvers take few steps, and hardly gain
        (``docs/benchmarks/subsample.md``). Not for ``"greedy"``, p = 2 and kernels with free
        widths, which are learnt on subsets anyway; rows must be in memory.
    standardize : {True, "scale", False}, default=True
        True centres and scales columns with (weighted) training statistics; ``"scale"`` only
        scales, which keeps sparse X sparse and a monomial of the raw columns a single term.
    standardize_terms : {"auto", True, False}, default="auto"
        True divides each kernel by the spread of its features over the (weighted) training rows,
        as :class:`~sklearn.preprocessing.StandardScaler` would divide a term: p = 1 with linear
        kernels is then a Lasso on standardised monomials, and ``rho`` alone says which degrees
        cost more. For working sets and full passes. False leaves kernels as they are: cubes of
        standardised columns, with a variance of 15, are cheap then. ``"auto"``: True for p = 1,
        linear kernels and ``standardize`` other than False.
    device : str, optional
        Device of PyTorch's that does the work, such as ``"cuda"``; predictions are NumPy arrays
        all the same. By default the work is done where X is: give a torch or CuPy array on a GPU
        and get one back.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws; an int makes fits reproducible.
    verbose : int, default=0
        1 shows a progress bar in terminals and notebooks (with rich, and ipywidgets there), else
        writes a line every two seconds; 2 writes a line for each iteration. All on stderr.
    checkpoint : str or path, optional
        Folder in which the state of the fit is kept while it runs, after each round, strength and
        fold, in at most a tenth of the time. A process that is killed loses nothing but that since
        the last writing: the same fit, of the same data, parameters and version, goes on from there
        when it is called again, and ends with the same model (rows in memory: predictions to
        1e-10). Each fit has a sub-folder of its own, which is removed when it ends well; after
        Ctrl-C it stays. What another fit, or a damaged file, left in the folder is not used and not
        removed. Kernels that are functions must be the same in the next process.
        For rows in parts, strengths and the rounds of a growing working set are kept.

    Attributes
    ----------
    alpha_ : float
        Strength of the penalty in use: the one given, cross-validated or by default, or for kernels
        with widths the one found (not for greedy selection).
    degree_, p_ : int, float
        Degree and exponent in use.
    terms_ : list of tuple of int
        Chosen kernels as base-kernel numbers, most important first.
    theta_ : ndarray of shape (n_terms,)
        Their weights.
    term_coef_ : ndarray of shape (n_features_of_terms,)
        Coefficients of the terms' features :math:`\phi_i/\rho_i`, where kernels have explicit ones;
        with ``standardize_terms`` :math:`\rho_i` has their standard deviation as a factor.
    intercept_ : float
        The constant.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual variables.
    objective_ : float
        Value of the objective.
    gap_ : float
        Duality gap relative to the objective: the objective is within that of the optimum over
        all kernels.
    gap_kind_ : {"exact", "bound", "estimate", "none"}
        How the gap was computed; see :class:`manykernels.certificate.Certificate`. Greedy selection
        solves no convex problem: its gap is not a number and its kind ``"none"``.
    n_kernels_ : int or float
        Number of kernels in the family; infinite for ``"widths"`` and ``"both"``.
    kernels_, kernels_losses_, chosen_ : str, dict, str
        With ``kernels="best"``: the kind of model that was chosen, the mean loss of each kind on
        the rows left out, and what was chosen and why in a sentence.
    choice_, score_path_, best_score_, alphas_, n_terms_ :
        Where the strength, or the number of terms, was cross-validated: as for
        :class:`MKLRegressorCV`.
    n_iter_ : int
        Iterations.
    history_ : dict of ndarray
        iteration, seconds, objective, gap and active kernels of each iteration.
    function_ : Function
        The learnt function: predictions, the kernel, terms and their contributions.
    feature_importances_ : ndarray of shape (n_features,)
        How much each column of X matters, adding up to one: the standard deviation over the
        training rows of what each term adds to predictions, in equal parts for its variables.
    encoder_ : TableEncoder
        How the table was encoded, if X had text, categories, dates or missing values; there is none
        for numbers. Terms are named by its columns.
    medians_ : ndarray of shape (n_features,)
        Where X was dense and all numbers: medians of its columns (of more than 10,000 rows of some
        of them), which stand for values that are missing at prediction.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of columns, if X had string names.

    See Also
    --------
    MKLClassifier : The same for classes.
    MKLRegressorCV : The same with the strength chosen by cross-validation.

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


class MKLRegressorCV(Regression, BaseCV):
    """Regression whose strength, and if asked for exponent and degree, are cross-validated.

    In every fold, columns are standardised, kernels weighed and terms selected anew. Models of a
    fold are fitted along a path from strong to weak penalties, each from the one before. The path
    ends at the same model in all folds, by the mean of their losses: when half a decade of strength
    lowered it by less than half a percent and a twentieth of all that was gained, or a whole decade
    brought nothing as long as models have no more than 150 features. Before a model is clearly
    better than the first it goes on, up to two decades, until one is clearly worse; that is by five
    percent and two standard errors over the rows left out. Six terms that bring nothing end greedy
    selection.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, optional
        Base kernels; see :class:`MKLRegressor`, as for parameters not described here. ``alphas``
        and ``debias`` make None ``"linear"``, too.
    degree : int, list of int, "auto" or None, default="auto"
        Largest number of base kernels in a product. Of a list the lowest is chosen that is not
        worse than the best by more than the standard error of the difference over folds; with a
        single fold the best.
    index_set : {"auto", "tuples", "monomials", "interactions"}, default="auto"
        Which products are in the family.
    rho : sequence of float, default=ones
        Scale factors of the degrees 0, 1, ..; as many as the largest degree needs.
    p : float or list of float, default=None
        Exponent of the group norm; one of a list is chosen. None: 1 with ``debias``, with
        ``solver="working-set"`` and for kernels by functions of columns (``"auto"``,
        ``"spline"``, ..) or with free widths, else 4/3.
    loss : {"squared", "huber", "epsilon_insensitive"} or loss object, default="squared"
        Loss, also that by which models are compared.
    alphas : sequence of float, optional
        Strengths. By default a geometric grid over six decades, from the strength whose model
        explains about one percent of the loss; for ``kernels="widths"`` and ``"both"`` 100, 10, ..
        0.001 divided by the number of rows. The fit of spline terms that comes first for ``"both"``
        chooses from the default grid, on rows of its fold alone.
    n_alphas : int, default=25
        Number of strengths of the default grid.
    cv : int, splitter or iterable, default=None
        Cross-validation as anywhere in scikit-learn; ``ShuffleSplit(1)`` is a single validation
        set. None: five folds, or one fifth of the rows held out where these are 5,000 or more
        (for ``kernels="widths"`` 1,500, for ``"both"`` 500 or more, of 5,000 at most). Rows are
        drawn by their values: the order of rows plays no part, and equal rows are never on both
        sides.
    one_standard_error : bool, default=False
        Whether to take the simplest model (largest strength, fewest terms) within one standard
        error of the best.
    debias : bool, default=False
        Whether to refit the selected terms without shrinkage. Models are then also compared after
        that refit. For p = 1 only, where there is a selection.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant.
    solver : str or solver object, default="auto"
        As for :class:`MKLRegressor`. For ``"greedy"`` the number of terms, 100 at most
        (``manykernels.solvers.Greedy(terms)`` for another limit), is chosen in place of the
        strength.
    max_iter, tol :
        Limits of every single fit.
    max_time : float, optional
        Seconds that ``fit`` may take as a whole, as for :class:`MKLRegressor`. The choice has 70 %
        of them, and then rests on the folds and strengths that are done, which a warning counts.
    max_memory : int or str, optional
        As for :class:`MKLRegressor`; folds share it.
    subsample : {None, "auto"}, default=None
        As for :class:`MKLRegressor`, for the fit to all rows. Models of folds start from one
        another, along their path.
    standardize : {True, "scale", False}, default=True
        How columns are standardised.
    standardize_terms : {"auto", True, False}, default="auto"
        Whether kernels are divided by their spreads; as for :class:`MKLRegressor`, in every fold
        by those of its own training rows.
    device : str, optional
        As for :class:`MKLRegressor`.
    n_jobs : int, optional
        Folds computed at a time; -1 for as many as there are cores.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness.
    verbose : int, default=0
        How much progress to write.
    checkpoint : str or path, optional
        Folder from which a fit that was killed goes on; as for :class:`MKLRegressor`, with the
        models of all folds. Each fold may have a process of its own, and another number of them
        (``n_jobs``) when it goes on.

    Attributes
    ----------
    alpha_ : float
        The chosen strength (not for greedy selection).
    n_terms_ : int
        The chosen number of terms (greedy selection only).
    p_, degree_ : float, int
        Exponent and degree in use.
    kernels_, kernels_losses_, chosen_ : str, dict, str
        With ``kernels="best"``: as for :class:`MKLRegressor`.
    alphas_ : ndarray of shape (n_candidates, n_alphas)
        The strengths tried for each pair of degree and exponent, in that order (not for greedy
        selection).
    choice_ : Choice
        All that cross-validation found: candidates, scores, and in ``folds`` for each fold the rows
        left out, the predictions on them and the model of the chosen setting.
    score_path_ : ndarray of shape (n_candidates, n_alphas, n_folds)
        Mean losses on the rows left out, negative; NaN behind the end of a path.
    best_score_ : float
        Mean over folds at the chosen setting; for greedy selection folds that ran out of terms
        count with their last score.
    terms_, theta_, term_coef_, intercept_, dual_coef_, objective_, gap_, gap_kind_, n_kernels_, \
n_iter_, history_, function_, feature_importances_, encoder_, medians_, n_features_in_, \
feature_names_in_ :
        Of the fit to all rows, as for :class:`MKLRegressor`.

    See Also
    --------
    MKLRegressor : Without the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLRegressorCV
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 0] * X[:, 3] + X[:, 5]
    >>> model = MKLRegressorCV(degree=2, solver="greedy").fit(X, y)
    >>> model.n_terms_, sorted(model.explain(top=2)["term"])
    (4, ['x0 * x3', 'x5'])
    """
