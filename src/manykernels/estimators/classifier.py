"""Classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..losses import ProbabilisticLoss
from .base import BaseMKL, resolve_loss
from .checks import check_parameters

LOSSES = ("logistic", "hinge", "squared_hinge", "squared")


def _has_probability(estimator: MKLClassifier) -> bool:
    loss = resolve_loss(estimator.loss, LOSSES, "classifier")
    if isinstance(loss, ProbabilisticLoss):
        return True
    raise AttributeError(
        f"predict_proba needs a loss that determines probabilities; got loss={estimator.loss!r}. "
        "Use loss='logistic'."
    )


class MKLClassifier(ClassifierMixin, BaseMKL):  # type: ignore[misc]
    r"""Classification with a learnt combination of all products of up to ``degree`` base kernels.

    Two classes are coded -1 and +1. More classes are each told apart from the rest, with one
    set of kernel weights for all of them, so that the chosen terms stay readable: the gradient
    of kernel i is the sum over classes of :math:`\alpha_c^\top K_i \alpha_c`. The objective is the
    sum of the classes' objectives.

    Parameters
    ----------
    kernels : str, callable, scikit-learn kernel or list, default="linear"
        Base kernels; see :class:`MKLRegressor`, as for the parameters that follow.
    degree : int, default=3
        Largest number of base kernels in a product.
    index_set : {"auto", "tuples", "monomials", "interactions"}, default="auto"
        Which products are in the family.
    rho : sequence of float of length degree + 1, default=ones
        Scale factors of the degrees.
    p : float, default=4/3
        Exponent of the group norm.
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or loss object, default="logistic"
        Loss; all but the hinge loss give probabilities.
    alpha : float, default=1e-3
        Strength of the penalty next to the mean loss.
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant.
    solver : {"auto", "mirror-descent"} or MirrorDescent, default="auto"
        Solver.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-2
        Relative duality gap to stop at.
    max_time : float, optional
        Seconds to stop after.
    standardize : {True, "scale", False}, default=True
        How columns are standardised.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    verbose : int, default=0
        How much progress to write.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    terms_, theta_, objective_, gap_, gap_kind_, n_kernels_, n_iter_, history_ :
        As for :class:`MKLRegressor`.
    coef_ : ndarray of shape (n_outputs, n_features_of_terms)
        Coefficients, where kernels have explicit features; one output for two classes.
    intercept_ : ndarray of shape (n_outputs,)
        Constants.
    dual_coef_ : ndarray of shape (n_outputs, n_samples)
        Dual variables.

    See Also
    --------
    MKLRegressor : The same for real targets.

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

    def __init__(
        self,
        kernels: Any = "linear",
        degree: int = 3,
        index_set: str = "auto",
        rho: Any = None,
        p: float = 4 / 3,
        loss: Any = "logistic",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-2,
        max_time: float | None = None,
        standardize: bool | str = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernels=kernels,
            degree=degree,
            index_set=index_set,
            rho=rho,
            p=p,
            loss=loss,
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            max_time=max_time,
            standardize=standardize,
            random_state=random_state,
            verbose=verbose,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel and the predictor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter.

        Returns
        -------
        MKLClassifier
            The fitted estimator.
        """
        check_parameters(self)
        loss = resolve_loss(self.loss, LOSSES, "classifier")
        X, y = self._validate(X, y=y, ensure_min_samples=2)
        weights = self._weights(X, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        present = np.unique(codes[weights > 0])
        if len(present) < 2:
            raise ValueError(
                "y must have at least two classes with positive weight; got one class, "
                f"{self.classes_[present[0]]!r}. Check the target column or the split."
            )
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = np.column_stack([np.where(codes == c, 1.0, -1.0) for c in outputs])
        self._fit(X, targets, weights, loss)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; one column for each of more classes.
        """
        values = self._decision(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.
        """
        check_is_fitted(self)
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of classes; for more than two they are normalised to add up to one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        check_is_fitted(self)
        loss = resolve_loss(self.loss, LOSSES, "classifier")
        assert isinstance(loss, ProbabilisticLoss)
        positive = loss.probability(self._decision(X))
        if len(self.classes_) == 2:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        total = positive.sum(axis=1, keepdims=True)
        uniform = np.full_like(positive, 1 / positive.shape[1])
        return np.where(total > 0, positive / np.where(total > 0, total, 1), uniform)

    def _shape_outputs(self, values: Array) -> Any:
        return values
