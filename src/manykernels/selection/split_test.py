"""Terms selected on some rows and tested on the others, many times over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..backend import generator
from ..checkpoint import Checkpoint
from ..inputs import refuse_more
from ..notices import notify
from ..spec import Spec
from .base import NO_GROUPS, Evidence, Selection, cut, random_state_of, strata_of
from .checks import check_numbers
from .partial_tests import (
    false_discovery_rate,
    family_wise,
    one_by_one,
    partial_p_values,
    step_down,
    twice_median,
)
from .sources import Picks, TermSource

ROWS_A_TERM = 20
"""Rows for each term that is selected, unless ``q`` says otherwise: fifteen terms of 300 rows. Of
8, 12, 16 and 24 terms 12 and 16 found most of ten (300 rows, 23,425 terms)."""

MOST_TESTED = 30
"""Most terms that are selected unless ``q`` says otherwise: each makes the p-values of all others
larger. Set by judgement."""

TERM_FEATURES = 6
"""Most features of a term that enter a test, the leading ones. Set by judgement."""

EVENTS_A_FEATURE = 10
"""Rows of the rarer class for each feature of a likelihood-ratio test, at the least."""


PROMISES = {
    "family-wise": "With a probability of {level:g} % at most, any of the sure terms is one that "
    "adds nothing to the other terms selected with it.",
    "false-discovery-rate": "On average {level:g} % of the sure terms, at most, add nothing to the "
    "other terms selected with them.",
}
"""What each kind of error control promises."""

CAUTION = (
    "That says nothing about terms that are not sure, and a term that correlates with a true one "
    "which was not selected (a proxy) may stand in its place."
)
"""What no kind of error control says."""


class SplitTest(Selection):
    r"""P-values of terms, from many splits of the rows in some to select on and some to test on.

    On each split the first rows select ``q`` terms, along the path of the estimator. The other
    rows, which had no part in that, test each of them: the partial F test of its features beside
    those of all other selected terms (for classes the likelihood-ratio test of logistic
    regression). The p-values are made larger for the number of terms selected; a term that is not
    selected has p-value 1. Twice the median over splits is a p-value again, whatever the splits
    have in common (Meinshausen, Meier and Bühlmann, 2009).

    Terms that the rows cannot tell apart are one group, selected and tested as one.

    Parameters
    ----------
    estimator : MKLRegressor, MKLClassifier or their CV versions
        What terms there are and how they are selected: its kernels, degree and loss, greedily or
        along the path of p = 1. Of an estimator with p > 1, which selects nothing, the terms are
        selected greedily, or with p = 1 if kernels have several features. With nothing set, they
        are functions of columns (``kernels="auto"``). No strength is chosen by cross-validation.
    level : float, default=0.1
        Error that is accepted, see ``control``.
    n_splits : int, default=50
        Number of splits.
    q : int, optional
        Number of terms that a split selects; by default one for 20 rows, at most 30. Fewer are
        tested if their features would be more than half as many as the rows they are tested on, or
        one for ten rows of the rarer class.
    share : float, default=0.7
        Share of the rows that terms are selected on.
    control : {"family-wise", "false-discovery-rate"}, default="family-wise"
        What ``level`` bounds: the probability that any term is called sure by mistake, or the
        expected share of mistakes among those called sure. The second finds more where there is
        much to find.
    correlation : float, default=0.8
        Terms whose correlation with a term is this or more form a group with it.
    max_time : float, optional
        Seconds after which no further split is begun.
    random_state : int, RandomState, Generator or None, default=None
        Source of the splits.
    n_jobs : int, optional
        Splits computed at a time; -1 for as many as there are cores.
    checkpoint : str or path, optional
        Folder in which what splits selected is kept while the work runs. The same work, of the same
        rows, parameters and version, goes on from there when a process was killed, and ends with
        the same table. It has a sub-folder of its own, which is removed when all splits are
        done; that of the estimator is not used.

    Attributes
    ----------
    table_ : DataFrame
        A line for each term that some split selected, and for those that belong to a sure group:
        ``term``, ``frequency`` (share of splits that selected it), ``p_value`` (of its group),
        ``group`` (number), ``correlation`` (with the first term of the group), ``sure``.
    selected_ : list of str
        The sure terms; of a group several names, as in "x1 * x2 or x1 * x3".
    groups_ : list of Group
        The groups, those called sure first.
    meaning_ : str
        What ``level`` says of the sure terms and what it does not, in words.
    how_sure_ : HowSure
        All of this for a model: ``model.explain(how_sure=test)``, figures and reports take it.
    q_ : int
        Number of terms that a split selects at the most.
    n_terms_ : float
        Number of terms to select from.
    n_splits_ : int
        Number of splits done.
    n_features_in_, feature_names_in_ :
        Columns of X.

    See Also
    --------
    StabilitySelection : How often halves of the rows select a term, without tests.

    Notes
    -----
    The p-value of a term is about its part in the model that was selected. It is one about the
    truth where the first rows select every true term. Where they miss one, a term that correlates
    with it (a proxy) can be called sure; the median over splits makes that rare, not impossible.
    Tests assume noise that is independent between rows; the F test also that it is normal and of
    the same variance. Sample weights are taken as one over the variance of a row.

    For the number of terms selected p-values are adjusted by Holm's step-down procedure, the k-th
    term that was selected with a weight of 1/k: terms that enter first are more often true, and the
    order does not depend on the rows of the test. If on each split any true hypothesis has a value
    <= a/2 with a probability of a/2 at most, the share of the splits on which one has is a/2 at
    most on average, so that it is a half or more, as it must be for a median <= a/2, with a
    probability of a at most. For false discovery rates the expected number counts, and the same
    weights are used without steps.

    A split costs one path of models on a share of the rows, and O(n m^2) for each term tested, with
    m features altogether.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLRegressor
    >>> from manykernels.selection import SplitTest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> y = X[:, 0] * X[:, 3] + X[:, 5] + rng.normal(size=200)
    >>> test = SplitTest(MKLRegressor(degree=2), n_splits=20, random_state=0).fit(X, y)
    >>> sorted(test.selected_)
    ['x0 * x3', 'x5']
    """

    def __init__(
        self,
        estimator: Any,
        level: float = 0.1,
        n_splits: int = 50,
        q: int | None = None,
        share: float = 0.7,
        control: str = "family-wise",
        correlation: float = 0.8,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.estimator = estimator
        self.level = level
        self.n_splits = n_splits
        self.q = q
        self.share = share
        self.control = control
        self.correlation = correlation
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Self:
        """Select and test terms on many splits.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Real targets, or classes for classifiers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for real targets: one over the variance of their noise.
        **others
            Nothing: rows are taken as independent of each other, and groups are refused.

        Returns
        -------
        self
            With the table of terms.
        """
        refuse_more(others, NO_GROUPS)
        check_numbers(self)
        spec, source, kept = self._ready(X, y, sample_weight)
        if spec.labelled and not np.allclose(*extremes(source.prepared.weights), rtol=1e-9):
            raise ValueError(
                "sample_weight must be the same for all rows, or zero, for classes: their "
                "likelihood-ratio test has no weights; got several. Use StabilitySelection."
            )
        splits = self._splits(spec, source, kept)
        self.q_ = self.q if self.q is not None else default_q(len(source.prepared.y))
        picked = self._work(spec, partial(pick, source, self.q_), splits, "splits", kept)
        self.n_splits_ = len(picked)
        tested = [
            within_budget(picks, self._budget(spec, source, test))
            for (picks,), (_, test, _) in zip(picked, splits, strict=False)
        ]
        if not any(picks.terms for picks, _ in tested):
            notify(
                "No term could be tested: too few rows for the features of one, or nothing was "
                "selected. Use more rows, or StabilitySelection.",
                UserWarning,
            )
        evidence = self._gathered(source, [picks.terms for picks, _ in tested])
        owners, found = evidence.owners, []
        with source.prepared.rows.threads():
            for (picks, most), (_, test, _) in zip(tested, splits, strict=False):
                own = [owners[term.name] for term in picks.terms]
                found.append(split_p_values(spec, source, picks, own, test, most))
        self._judge(source, evidence, found)
        if kept is not None and self.n_splits_ == self.n_splits:
            kept.remove()
        return self

    def _judge(
        self, source: TermSource, evidence: Evidence, found: Sequence[dict[int, float]]
    ) -> None:
        """Say which groups are sure, by their p-values on all splits, in the order of selection."""
        family = self.control == "family-wise"
        p_values = aggregated(found, len(evidence.groups), step_down if family else one_by_one)
        if family:
            sure = family_wise(p_values, self.level)
        else:
            # Of a term with a p-value below 1 more than half of the splits selected it.
            sure = false_discovery_rate(p_values, self.level, 2 * self.q_)
        self._keep(source, evidence, p_values, sure)
        meaning = f"{PROMISES[self.control].format(level=100 * float(self.level))} {CAUTION}"
        self._conclude(source, meaning, self.n_splits_, self.n_splits)

    def _splits(
        self, spec: Spec, source: TermSource, kept: Checkpoint | None
    ) -> list[tuple[Array, Array, int]]:
        """Return rows to select on, rows to test on and a seed for each split."""
        rng = generator(random_state_of(self, kept))
        seeds = rng.integers(2**31, size=self.n_splits).tolist()
        strata = strata_of(source.prepared.y, spec.labelled)
        return [(*cut(strata, self.share, rng), seed) for seed in seeds]

    def _budget(self, spec: Spec, source: TermSource, test: Array) -> int:
        """Return the largest number of features that a test may have."""
        half = (len(test) - 1) // 2
        if not spec.labelled:
            return half
        y = source.prepared.y[test]
        events = np.minimum((y > 0).sum(axis=0), (y < 0).sum(axis=0)).min()
        return min(half, int(events) // EVENTS_A_FEATURE)


def default_q(rows: int) -> int:
    """Return the number of terms that a split of some rows selects unless told otherwise."""
    return int(np.clip(rows // ROWS_A_TERM, 2, MOST_TESTED))


def extremes(values: Array) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    return float(values.min()), float(values.max())


def pick(source: TermSource, q: int, split: tuple[Array, Array, int]) -> list[Picks]:
    """Return what the first rows of a split select."""
    rows, _, seed = split
    with source.prepared.rows.threads():
        return [source.pick(rows, q, seed)]


def within_budget(picks: Picks, budget: int) -> tuple[Picks, int]:
    """Return the first terms whose features are not too many, and the most features of each.

    Each has up to TERM_FEATURES, fewer where there is no room for that. Parts of models, and what
    is left of these, are one feature in each test: that of the class which is tested.
    """
    room = budget - min(1, picks.rest.shape[1])
    terms = picks.terms[: max(0, room)]
    most = min(TERM_FEATURES, room // max(1, len(terms))) if terms else 1
    return Picks(terms, picks.rest), max(1, most)


def aggregated(
    found: Sequence[dict[int, float]], groups: int, adjusted: Callable[[Array], Array]
) -> Array:
    """Return a p-value for each group from those of all splits, adjusted for their number."""
    table = np.ones((len(found), groups))
    for line, own in zip(table, found, strict=True):
        if own:
            line[list(own)] = adjusted(np.array(list(own.values())))
    return twice_median(table)


def split_p_values(
    spec: Spec, source: TermSource, picks: Picks, groups: list[int], rows: Array, most: int
) -> dict[int, float]:
    """Return the p-value of each group that has selected terms, by tests on some rows."""
    if not picks.terms:
        return {}
    parts = source.features(picks.terms, most, rows)
    present = list(dict.fromkeys(groups))
    owners = [
        np.full(part.shape[1], present.index(g)) for part, g in zip(parts, groups, strict=True)
    ]
    rest = picks.rest[rows]
    outputs = [
        np.full(part.shape[1], -1) if term.values is None else np.arange(part.shape[1])
        for term, part in zip(picks.terms, parts, strict=True)
    ]
    prepared = source.prepared
    weights = prepared.weights[rows] / prepared.weights[rows].sum()
    found = partial_p_values(
        prepared.y[rows],
        np.hstack([*parts, rest]),
        np.concatenate([*owners, np.full(rest.shape[1], -1)]),
        len(present),
        weights,
        spec.labelled,
        spec.intercept,
        np.concatenate([*outputs, np.arange(rest.shape[1])]),
    )
    return dict(zip(present, found.tolist(), strict=True))
