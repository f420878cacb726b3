"""How often halves of the rows select a term."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..backend import generator
from ..checkpoint import Checkpoint
from ..inputs import refuse_more
from ..spec import Spec
from .base import NO_GROUPS, Selection, cut, random_state_of, strata_of
from .checks import check_numbers
from .partial_tests import chance_bound
from .sources import Picks, TermSource

MOST_STABLE = 20
"""Most terms that a half selects unless ``q`` says otherwise. Set by judgement."""


class StabilitySelection(Selection):
    r"""How often halves of the rows select a term, and how many do so by chance.

    The rows are cut in two halves at random, ``n_pairs`` times, and each half selects its first
    ``q`` terms, along the path of the estimator. Terms that a share of at least ``threshold`` of
    all halves select are called sure (Meinshausen and Bühlmann, 2010; with pairs of halves Shah and
    Samworth, 2013).

    Terms that the rows cannot tell apart are one group, counted as one.

    Parameters
    ----------
    estimator : MKLRegressor, MKLClassifier or their CV versions
        What terms there are and how they are selected, as for :class:`SplitTest`.
    q : int, optional
        Number of terms that a half selects. By default as many as make the bound 1, at most 20.
    threshold : float, default=0.6
        Share of the halves that must select a sure term, above one half.
    n_pairs : int, default=50
        Number of pairs of halves.
    correlation : float, default=0.8
        Terms whose correlation with a term is this or more form a group with it.
    max_time : float, optional
        Seconds after which no further pair is begun.
    random_state : int, RandomState, Generator or None, default=None
        Source of the halves.
    n_jobs : int, optional
        Pairs computed at a time; -1 for as many as there are cores.
    checkpoint : str or path, optional
        Folder in which what halves selected is kept while the work runs. The same work, of the same
        rows, parameters and version, goes on from there when a process was killed, and ends with
        the same table. It has a sub-folder of its own, which is removed when all halves are
        done; that of the estimator is not used.

    Attributes
    ----------
    table_ : DataFrame
        A line for each term that some half selected, and for those that belong to a sure group:
        ``term``, ``frequency`` (share of the halves that selected it), ``group`` (number),
        ``correlation`` (with the first term of the group), ``sure``.
    selected_ : list of str
        The sure terms; of a group several names, as in "x1 * x2 or x1 * x3".
    groups_ : list of Group
        The groups, those called sure first.
    bound_ : float
        The bound :math:`q^2/((2\tau - 1) N)` on the expected number of terms that are called sure
        and come by chance, with the threshold :math:`\tau` and N terms to select from.
    meaning_ : str
        What that says and what it does not, in words.
    how_sure_ : HowSure
        All of this for a model: ``model.explain(how_sure=test)``, figures and reports take it.
    q_ : int
        Number of terms that a half selects at the most.
    n_terms_ : float
        Number N of terms to select from.
    n_pairs_ : int
        Number of pairs done.
    n_features_in_, feature_names_in_ :
        Columns of X.

    See Also
    --------
    SplitTest : P-values.

    Notes
    -----
    Terms that come by chance are those that a half selects with a probability of q/N or less, as
    if it drew q of N. The bound says nothing about proxies: a term that correlates with a true one
    is selected more often than by chance.

    The cost is that of 2 ``n_pairs`` paths of models on half of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLRegressor
    >>> from manykernels.selection import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> y = X[:, 0] * X[:, 3] + X[:, 5] + rng.normal(size=200)
    >>> stable = StabilitySelection(MKLRegressor(degree=2), n_pairs=20, random_state=0)
    >>> sorted(stable.fit(X, y).selected_)
    ['x0 * x3', 'x5']
    """

    def __init__(
        self,
        estimator: Any,
        q: int | None = None,
        threshold: float = 0.6,
        n_pairs: int = 50,
        correlation: float = 0.8,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.estimator = estimator
        self.q = q
        self.threshold = threshold
        self.n_pairs = n_pairs
        self.correlation = correlation
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Self:
        """Select terms on many pairs of halves.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Real targets, or classes for classifiers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the loss.
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
        count = source.count
        self.q_ = self.q if self.q is not None else default_q(self.threshold, count)
        pairs = self._pairs(spec, source, kept)
        work = partial(pick_pair, source, self.q_)
        found = self._work(spec, work, pairs, "pairs of halves", kept)
        self.n_pairs_ = len(found)
        picks = [half.terms for pair in found for half in pair]
        evidence = self._gathered(source, picks)
        self.bound_ = chance_bound(self.q_, self.threshold, count)
        self._keep(source, evidence, None, evidence.frequencies >= self.threshold)
        meaning = (
            f"Of the {count:.6g} terms, those that half of the rows would select with a "
            f"probability of {self.q_} in {count:.6g} or less come by chance. At most "
            f"{self.bound_:.2g} of them are expected among the sure ones. That says nothing about "
            "proxies: a term that correlates with a true one is selected more often than by chance."
        )
        self._conclude(source, meaning, self.n_pairs_, self.n_pairs)
        if kept is not None and self.n_pairs_ == self.n_pairs:
            kept.remove()
        return self

    def _pairs(
        self, spec: Spec, source: TermSource, kept: Checkpoint | None
    ) -> list[tuple[Array, Array, int]]:
        """Return two halves and a seed for each pair."""
        rng = generator(random_state_of(self, kept))
        seeds = rng.integers(2**31, size=self.n_pairs).tolist()
        strata = strata_of(source.prepared.y, spec.labelled)
        return [(*cut(strata, 0.5, rng), seed) for seed in seeds]


def default_q(threshold: float, count: float) -> int:
    """Return the most terms for which the bound is 1, between 1 and MOST_STABLE."""
    return int(np.clip(np.sqrt((2 * threshold - 1) * count), 1, MOST_STABLE))


def pick_pair(source: TermSource, q: int, pair: tuple[Array, Array, int]) -> list[Picks]:
    """Return what both halves select."""
    one, two, seed = pair
    with source.prepared.rows.threads():
        return [source.pick(one, q, seed), source.pick(two, q, seed + 1)]
