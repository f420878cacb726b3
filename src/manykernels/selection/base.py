"""What both ways to judge terms share: rows, work in parallel, groups, the table."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..checkpoint import Checkpoint
from ..estimators.base import BaseMKL
from ..estimators.kept import opened
from ..estimators.validation import as_numbers, column_names, gather, remember_columns
from ..fitting.progress import watching
from ..frames import is_table, repeated_subjects
from ..how_sure import Group, HowSure
from ..notices import InterruptedWarning, notify
from ..rows import MemoryPrepared
from ..spec import Spec
from .groups import in_groups
from .kept import KeptPicks
from .sources import Picked, Picks, TermSource, selecting, source_of, together

if TYPE_CHECKING:
    import pandas as pd

SUPPOSING = (
    "Rows are taken as independent of each other. Where those of a subject, or of near times, are "
    "alike, more terms are called sure by mistake than is said here."
)
"""What comes before the meaning where rows are likely to depend on each other."""


NO_GROUPS = (
    "groups must be None where it is found out how sure terms are, which takes rows as independent "
    "of each other; got groups. Use one row for each group, such as its means."
)
"""What is said of groups."""


@dataclass(frozen=True)
class Evidence:
    """What all sets of rows selected, in groups.

    Attributes
    ----------
    terms : dict of str to Picked
        The terms that some rows selected, by name.
    groups : list of list of int
        Their numbers in groups, the first term of each before.
    alike : ndarray of shape (terms, terms)
        Correlations.
    selected : ndarray of bool of shape (sets of rows, terms)
        Which set of rows selected which term.
    """

    terms: dict[str, Picked]
    groups: list[list[int]]
    alike: Array
    selected: Array

    @property
    def names(self) -> list[str]:
        """Names of the terms."""
        return list(self.terms)

    @property
    def owners(self) -> dict[str, int]:
        """The number of the group of each term."""
        names = self.names
        return {names[i]: g for g, group in enumerate(self.groups) for i in group}

    @property
    def frequencies(self) -> Array:
        """Share of the sets of rows that selected a term of each group."""
        found = [self.selected[:, group].any(axis=1).mean() for group in self.groups]
        return np.array(found, dtype=float)


class Selection(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of what judges the terms of an estimator by many sets of rows."""

    estimator: Any
    correlation: float
    max_time: float | None
    random_state: Any
    n_jobs: int | None
    checkpoint: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = None
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def _ready(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Spec, TermSource, Checkpoint | None]:
        """Check everything; return what was asked for, terms of the prepared rows, what is kept."""
        if not isinstance(self.estimator, BaseMKL):
            raise TypeError(
                "estimator must be MKLRegressor, MKLClassifier or one of their CV versions; got "
                f"{self.estimator!r}. Use for instance MKLRegressorCV()."
            )
        self._dependent = is_table(X) and bool(repeated_subjects(X))
        reader = clone(self.estimator)
        X = as_numbers(reader, X, sample_weight)
        spec = selecting(reader)
        if spec.first is not None:
            raise ValueError(
                'kernels must be of one kind; got "both", which is two fits one after the other. '
                'Use kernels="auto" or "widths".'
            )
        rows = gather(reader, spec, X, y, sample_weight)
        names = getattr(reader, "feature_names_in_", None)
        remember_columns(self, reader.n_features_in_, None if names is None else names.tolist())
        self.__dict__.pop("encoder_", None)
        if hasattr(reader, "encoder_"):
            self.encoder_ = reader.encoder_
        if not rows.in_memory:
            raise TypeError("X must be in memory; got a Dask collection. Use X.compute().")
        spec = rows.affordable(spec)
        prepared: Any = rows.prepare(spec, max(spec.degrees))
        assert isinstance(prepared, MemoryPrepared)
        if not prepared.kernels.explicit and not prepared.kernels.free_widths:
            raise ValueError(
                f"kernels must have features, or free widths; got {spec.kernels!r}, kernels given "
                'by matrices. Use kernels="linear", "auto" or "widths".'
            )
        kept = None if self.checkpoint is None else opened(self, rows, spec.verbose)
        return spec, source_of(spec, prepared), kept

    def _work(
        self,
        spec: Spec,
        work: Callable[[Any], list[Picks]],
        tasks: Sequence[Any],
        noun: str,
        kept: Checkpoint | None,
    ) -> list[list[Picks]]:
        """Do all tasks, or as many as time and Ctrl-C allow; return what they gave, in order."""
        done = None if kept is None else KeptPicks(kept.slot)
        found = [] if done is None else done.read()
        began, reason = perf_counter() - (0.0 if done is None else done.seconds), ""
        with watching(spec.verbose) as watch:
            results = results_of(work, tasks[len(found) :], self.n_jobs)
            try:
                for result in results:
                    found.append(result)
                    share, spent = len(found) / len(tasks), perf_counter() - began
                    if done is not None:
                        done.add(result, spent)
                    late = self.max_time is not None and spent > self.max_time
                    if watch is not None:
                        if self.max_time:
                            share = min(1.0, max(share, spent / self.max_time))
                        watch.report(f"{len(found)} of {len(tasks)} {noun}", share)
                    if late and len(found) < len(tasks):
                        reason = f"Stopped by max_time={self.max_time:g}"
                        break
            except KeyboardInterrupt:
                if not found:
                    raise
                reason = "Interrupted"
            finally:
                results.close()
        if reason:
            notify(
                f"{reason}: what is said of terms rests on {len(found)} of {len(tasks)} {noun}.",
                InterruptedWarning,
            )
        return found

    def _gathered(self, source: TermSource, picks: Sequence[Sequence[Picked]]) -> Evidence:
        """Return which terms were selected, in groups of those that go together."""
        known = together([list(terms) for terms in picks])
        names = list(known)
        place = {name: i for i, name in enumerate(names)}
        selected = np.zeros((len(picks), len(names)), dtype=bool)
        for number, terms in enumerate(picks):
            selected[number, [place[term.name] for term in terms]] = True
        alike = source.correlations(list(known.values()))
        return Evidence(known, in_groups(alike, selected, self.correlation), alike, selected)

    def _keep(
        self, source: TermSource, evidence: Evidence, p_values: Array | None, sure: Array
    ) -> None:
        """Store groups, table and the names of the sure terms."""
        names, shares = evidence.names, evidence.frequencies
        own = dict(zip(names, evidence.selected.mean(axis=0).tolist(), strict=True))
        keys = (-shares,) if p_values is None else (-shares, p_values)
        order: Array = np.lexsort((*keys, ~sure)) if len(shares) else np.empty(0, dtype=int)
        lines, groups = [], []
        for number, place in enumerate(order.tolist(), 1):
            members = evidence.groups[place]
            first = members[0]
            terms = {names[i]: float(evidence.alike[first, i]) for i in members}
            if sure[place]:
                terms |= self._likes(source, evidence.terms[names[first]], names)
            p_value = None if p_values is None else float(p_values[place])
            group = Group(
                tuple(terms),
                tuple(terms.values()),
                float(shares[place]),
                p_value,
                bool(sure[place]),
            )
            groups.append(group)
            for name, value in terms.items():
                line = {"term": name, "frequency": own.get(name, 0.0), "p_value": p_value}
                lines.append({**line, "group": number, "correlation": value, "sure": group.sure})
        self.groups_ = groups
        self.table_ = _table(lines, p_values is not None)
        self.selected_ = [str(group) for group in groups if group.sure]
        self.n_terms_ = source.count

    def _conclude(self, source: TermSource, meaning: str, done: int, wanted: int) -> None:
        """Store what was found for models to be shown with, after the table."""
        self.meaning_ = meaning = f"{SUPPOSING} {meaning}" if self._dependent else meaning
        self.how_sure_ = HowSure(
            tuple(self.groups_),
            dict(zip(self.table_["term"], self.table_["frequency"], strict=True)),
            "p_value" in self.table_,
            meaning,
            len(source.prepared.y),
            done,
            wanted,
            tuple(column_names(self)),
        )

    def _likes(self, source: TermSource, first: Picked, taken: Sequence[str]) -> dict[str, float]:
        """Return terms of the family that no rows selected and that go with one that they did."""
        others = [t for t in source.likes(first, self.correlation) if t.name not in taken]
        alike = source.correlations([first, *others])[0, 1:].tolist()
        close = {t.name: value for t, value in zip(others, alike, strict=True)}
        ordered = sorted(close.items(), key=lambda item: -item[1])
        return {name: value for name, value in ordered if value >= self.correlation}

    def get_feature_names_out(self) -> Array:
        """Return the names of the sure terms, as ``selected_``.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        return np.array(self.selected_, dtype=object)


def _table(lines: list[dict[str, Any]], tested: bool) -> pd.DataFrame:
    import pandas as pd

    kinds = {"term": object, "frequency": float, "p_value": float, "group": int}
    kinds |= {"correlation": float, "sure": bool}
    if not tested:
        del kinds["p_value"]
    return pd.DataFrame(
        {
            name: pd.Series([line[name] for line in lines], dtype=kind)
            for name, kind in kinds.items()
        }
    )


def random_state_of(selection: Selection, kept: Checkpoint | None) -> Any:
    """Return the source of the sets of rows; the same for work that goes on."""
    given = selection.random_state
    return given if kept is None else kept.random_state(given)


def strata_of(y: Array, labelled: bool) -> Array:
    """Return the number of the class of each row; 0 for real targets."""
    if not labelled:
        return np.zeros(len(y), dtype=int)
    return (y[:, 0] > 0).astype(int) if y.shape[1] == 1 else y.argmax(axis=1)


def cut(strata: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Cut rows in two parts at random, a share of each class in the first, give or take a row."""
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    # Evenly spaced numbers of rows: the first part takes each that reaches the next whole number.
    reached = np.floor(share * np.arange(1, len(order) + 1) + (1 - share) * rng.random())
    first = np.diff(reached, prepend=0) > 0
    return np.sort(order[first]), np.sort(order[~first])


def results_of(
    work: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int | None
) -> Generator[Any, None, None]:
    """Yield the results of tasks in order, done in this process or in several."""
    if effective_n_jobs(n_jobs) == 1:
        yield from (work(task) for task in tasks)
        return
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    yield from workers(delayed(work)(task) for task in tasks)
