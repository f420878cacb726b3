"""A learnt function of rows of a table, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..arrays import Array
from ..backend import HOST
from ..bases import TERMS, Bases, WidthRows
from ..kernels import BothKernels, KernelSet
from ..limits import PREDICTED_ENTRIES
from .anova import AnovaTerms, SplinePart, WidthModel
from .predictor import Learnt, Predictor, scaled
from .terms import Terms

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Function:
    """A learnt function: how rows become base kernels, and what is made of these.

    Rows are arrays of numbers with the columns of the fit.

    Attributes
    ----------
    kernels : KernelSet
        The base kernels, fitted to the training rows.
    scaler : StandardScaler or None
        How columns are standardised.
    predictor : Learnt
        The function of the base kernels.
    classes : ndarray
        The classes, empty for real targets.
    softmax : bool
        Whether probabilities of more than two classes are proportional to the exponentials of their
        decision values, not to the logistic probability of each against the others.
    """

    kernels: KernelSet
    scaler: StandardScaler | None
    predictor: Learnt
    classes: Array
    softmax: bool = False

    @property
    def holds_rows(self) -> bool:
        """Whether the function holds training rows, which a file of it would give away."""
        return getattr(self.predictor, "expansion", None) is not None

    def bases(self, X: Array, place: Any = HOST) -> Bases:
        """Return the base kernels on rows (between rows and training rows), beside ``place``.

        Those that have no part in the function are left out where that saves work.
        """
        return self.kernels.on(scaled(self.scaler, X), X, place, self.used)

    @cached_property
    def used(self) -> frozenset[int] | None:
        """Numbers of the base kernels in the function where these are many to make; else None."""
        learnt = self.predictor
        if not self.kernels.learns or not isinstance(learnt, Predictor) or learnt.closed:
            return None
        return frozenset(chain.from_iterable(learnt.family.products(learnt.indices)))

    def decision(self, X: Array, place: Any = HOST) -> Array:
        """Return predictions, for classes decision values, of shape (n, c).

        Features of columns, and kernels with free widths, are made for some rows at a time.
        """
        height = max(1, X.shape[0])
        if self.kernels.free_widths:
            assert isinstance(self.predictor, Predictor)
            height = max(1, PREDICTED_ENTRIES // max(1, self.predictor.family.rows))
        elif self.used is not None:
            assert isinstance(self.predictor, Predictor)
            sizes = self.predictor.family.blocks.sizes
            height = max(1, PREDICTED_ENTRIES // max(1, int(sizes[list(self.used)].sum())))
        parts = [
            self.predictor.decision(self.bases(X[start : start + height], place))
            for start in range(0, max(1, X.shape[0]), height)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def kernel(self, X: Array, Y: Array | None = None) -> Array:
        """Return the learnt kernel between rows and others, by default themselves."""
        other = X if Y is None else Y
        left, right = self.kernels.pair(
            scaled(self.scaler, X), X, scaled(self.scaler, other), other
        )
        return self.predictor.kernel(left, right)

    @cached_property
    def terms(self) -> Terms | AnovaTerms:
        """The terms, by descending share of variance.

        Kernels with free widths are not terms: sets of columns are, by functional ANOVA.
        """
        learnt = self.predictor
        assert isinstance(learnt, Predictor)
        rows = learnt.family.bases
        if not isinstance(rows, WidthRows):
            return Terms(learnt, self.kernels.inputs)
        assert learnt.expansion is not None
        theta = learnt.theta * learnt.family.weights(learnt.indices)
        widths = [i for i, index in enumerate(learnt.indices) if index != TERMS]
        kernels: list[Any] = [learnt.indices[i] for i in widths]
        terms = None
        if learnt.terms is not None:
            assert isinstance(self.kernels, BothKernels)
            terms = SplinePart(
                self.kernels, learnt.terms, float(theta[learnt.indices.index(TERMS)])
            )
        fields = theta[widths], learnt.expansion, learnt.intercept, rows, terms
        return AnovaTerms(WidthModel(kernels, *fields), self.kernels.names)

    def contributions(
        self, X: Array, names: Sequence[str] | None = None, label: Any = None
    ) -> pd.DataFrame:
        """Return what each term contributes to each prediction; see ``MKLRegressor``."""
        bases: Any = self.bases(X)
        return self.terms.contributions(bases, names, self.output(label))

    def output(self, label: Any) -> int:
        """Return the number of the output that belongs to a class; 0 where there is only one."""
        if len(self.classes) <= 2 and label is None:
            return 0
        known = isinstance(label, Hashable) and label in self.classes.tolist()
        if len(self.classes) <= 2 or not known:
            several = "one of " + ", ".join(map(repr, self.classes.tolist()))
            raise ValueError(
                f"label must be {several if len(self.classes) > 2 else 'None for a single output'}"
                f"; got {label!r}. It says whose decision values to explain."
            )
        return self.classes.tolist().index(label)
