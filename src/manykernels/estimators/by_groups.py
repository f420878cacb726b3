"""Fits whose folds know which rows belong together."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.model_selection import GroupKFold
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping

from ..frames import is_table, repeated_subjects
from ..inputs import refuse_more
from ..kernels import alternatives
from ..notices import notify
from ..specify import asked_for
from .checks import check_parameters
from .kept import kept_fit
from .validation import as_numbers, fitted_anew, gather


def groups_apart(estimator: Any) -> str:
    """Say which estimator takes groups in place of one that does not."""
    name, kind = type(estimator).__name__, by_groups(estimator)
    return (
        f"groups must be given to {kind}, whose folds are of whole groups; got groups for {name}. "
        f"Use {kind}().fit(X, y, groups=...)."
    )


def by_groups(estimator: Any) -> str:
    """Return the name of the estimator like one that takes groups."""
    return "MKLClassifierCV" if getattr(estimator, "labelled", False) else "MKLRegressorCV"


class FitByGroups:
    """The ``fit`` of estimators that cross-validate, with groups of rows."""

    cv: Any
    _specify: Any
    _keep: Any

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": UNUSED}  # the folds' alone

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        **others: Any,
    ) -> Self:
        """Choose the setting by cross-validation, then learn the kernel and the predictor.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. Text, categories, booleans, dates and missing values are taken as they
            come; see :class:`manykernels.TableEncoder`.
        y : array-like of shape (n_samples,)
            Real targets, or classes for classifiers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter.
        groups : array-like of shape (n_samples,), optional
            Which rows belong together, such as those of one patient: rows of one group are never
            trained and validated on at once. ``cv`` may be a splitter that takes groups; with a
            number or None folds are of whole groups.
        **others
            Nothing.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_more(others)
        if groups is None:
            warn_of_subjects(self, X)
        check_parameters(self)
        with fitted_anew(self):
            X = as_numbers(self, X, sample_weight)
            spec = self._specify()
            rows = gather(self, spec, X, y, sample_weight, groups)
            self._keep(kept_fit(self, spec, rows))
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how scikit-learn routes metadata: groups go to the splitter.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        splits = MethodMapping().add(caller="fit", callee="split")
        own = self.cv if hasattr(self.cv, "split") else GroupKFold()
        return router.add(splitter=own, method_mapping=splits)


def warn_of_subjects(estimator: Any, X: Any) -> None:
    """Warn if a column looks like a subject's identifier, and folds are drawn row by row.

    Without ``cv`` there are folds where the kind of model is chosen from the data.
    """
    folds = hasattr(estimator, "cv")
    if not is_table(X) or not (folds or alternatives(asked_for(estimator))):
        return
    if folds and not (estimator.cv is None or isinstance(estimator.cv, int)):
        return
    kind = "" if folds else f"{by_groups(estimator)}()."
    for name, (values, rows) in repeated_subjects(X).items():
        notify(
            f"column {name!r} looks like the identifier of subjects with several rows ({values:,} "
            f"values in {rows:,} rows): rows of one may be trained and validated on at once, which "
            f"flatters the model. Use {kind}fit(X.drop(columns={name!r}), y, groups=X[{name!r}]).",
            UserWarning,
        )
