"""All folds along the paths of all candidates, up to where each path ends.

A path ends by the mean over folds, so it ends at the same model in all of them. In one process the
folds go in step. Processes do not wait for each other: there a fold goes on until it guesses by
itself that the path ends, what is beyond the end is dropped, and a fold that stopped too soon
begins anew to go further. A model depends on its fold and its candidate only, so the outcome is
the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from joblib import Parallel, delayed

from .. import deadline
from ..deadline import Deadline, OutOfTimeError, keeping
from ..rows import Rows
from ..spec import Spec, Widths
from .choose import Candidate, ended
from .folds import Fold, FoldRows, Scored
from .kept import kept_by_fold
from .progress import current

FURTHER = 0.25
"""Share by which folds in processes are asked to go beyond the models that all of them know. Set by
judgement, not measured."""


@dataclass
class FoldPath:
    """The models of one candidate in one fold.

    Attributes
    ----------
    models : list of Scored
        The models, in the order of the path.
    complete : bool
        Whether there are no more: all sizes are done, or nothing is left to be explained.
    """

    models: list[Scored] = field(default_factory=list)
    complete: bool = False

    def knows(self, count: int) -> bool:
        """Tell whether a number of models is known, or as many as there are."""
        return self.complete or len(self.models) >= count


Paths = list[list[FoldPath]]
"""The paths of all candidates, each in all folds."""


def over(
    folds: Sequence[FoldPath], count: int, candidate: Candidate, greedy: bool, guess: bool = False
) -> bool:
    """Tell whether the path of a candidate ends with a number of models, by the mean over folds.

    A fold that has no more models stays at its last one.
    """
    models = [fold.models[:count] for fold in folds]
    if not greedy and any(own[-1].large for own in models):
        return True
    parts = [[own[min(i, len(own) - 1)].losses for own in models] for i in range(count)]
    losses = np.array([np.concatenate(row) for row in parts]) / len(folds)
    small = all(own[-1].small for own in models)
    return ended(losses, candidate.sizes, greedy, small, guess)


def in_step(
    spec: Spec, rows: Rows, folds: Sequence[Fold], candidates: Sequence[Candidate]
) -> tuple[Paths, bool]:
    """Fit the models of all folds in this process; return them, and whether it was cut short."""
    specs = [spec] * len(folds) if spec.slot is None else kept_by_fold(spec, folds)
    work = [
        FoldRows(own, rows.classes, fold, *rows.split(fold.train, fold.test))
        for own, fold in zip(specs, folds, strict=True)
    ]
    paths: Paths = []
    with work[0].inside.threads():
        for number, candidate in enumerate(candidates):
            own = [FoldPath() for _ in folds]
            paths.append(own)
            sources = [some.models(candidates, number) for some in work]
            try:
                for count in range(1, len(candidate.sizes) + 1):
                    for fold, source in zip(own, sources, strict=True):
                        model = next(source, None)
                        if model is None:
                            fold.complete = True
                            continue
                        fold.models.append(model)
                        if model.interrupted:
                            return paths, True
                    if not isinstance(spec.family, Widths):
                        _tell(own, count, candidate, len(candidates) - number - 1)
                    ready = all(fold.complete for fold in own)
                    if ready or over(own, count, candidate, spec.greedy is not None):
                        break
            except (KeyboardInterrupt, OutOfTimeError):  # models before it are kept
                return paths, True
    return paths, False


def _tell(folds: Sequence[FoldPath], count: int, candidate: Candidate, paths: int) -> None:
    """Tell who watches the fit of a finished step of a path, whose steps cost more and more."""
    watch = current()
    if watch is not None:
        scores = [
            [own.models[min(i, len(own.models) - 1)].score for own in folds if own.models]
            for i in range(count)
        ]
        watch.step(-np.mean(scores, axis=1), len(candidate.sizes), paths, len(folds))


def in_processes(
    spec: Spec, rows: Rows, folds: Sequence[Fold], candidates: Sequence[Candidate], jobs: int
) -> tuple[Paths, bool]:
    """Fit the models of each fold in a process; return the same as :func:`in_step`."""
    greedy = spec.greedy is not None
    paths: Paths = [[FoldPath() for _ in folds] for _ in candidates]
    wanted = dict.fromkeys(range(len(candidates)), 1)
    while wanted:
        tasks = []
        for place, fold in enumerate(folds):
            short = {i: n for i, n in wanted.items() if not paths[i][place].knows(n)}
            if short:
                task = spec, rows, fold, candidates, short, deadline.current()
                tasks.append((place, delayed(alone)(*task)))
        workers = Parallel(n_jobs=jobs, return_as="generator")
        try:
            found = workers(task for _, task in tasks)
            for (place, _), own in zip(tasks, found, strict=True):
                cut = any(model.interrupted for path in own.values() for model in path.models[-1:])
                if cut and not deadline.current().passed:
                    raise KeyboardInterrupt
                for number, path in own.items():
                    paths[number][place] = path
        except KeyboardInterrupt:
            return paths, True
        if deadline.current().passed:
            return paths, True
        wanted = {}
        for number, own_paths in enumerate(paths):
            count = _end(own_paths, candidates[number], greedy)
            if count is None:
                known = min(len(path.models) for path in own_paths if not path.complete)
                wanted[number] = known + ceil(FURTHER * known)
            else:
                paths[number] = [FoldPath(path.models[:count], path.complete) for path in own_paths]
    return paths, False


def alone(
    spec: Spec,
    rows: Rows,
    fold: Fold,
    candidates: Sequence[Candidate],
    wanted: Mapping[int, int],
    clock: Deadline,
) -> dict[int, FoldPath]:
    """Return the paths of some candidates in a fold, of as many models as wanted at least.

    They go on to where the path would end, as far as one fold can tell, or to the deadline.
    """
    if spec.slot is not None:
        (spec,) = kept_by_fold(spec, [fold])
    work = FoldRows(spec, rows.classes, fold, *rows.split(fold.train, fold.test))
    found, greedy = {}, spec.greedy is not None
    with work.inside.threads(), keeping(clock), suppress(OutOfTimeError):
        for number, least in wanted.items():
            own = found[number] = FoldPath()
            for count, model in enumerate(work.models(candidates, number), 1):
                own.models.append(model)
                if model.interrupted:
                    return found
                if count >= least and over([own], count, candidates[number], greedy, guess=True):
                    break
            else:
                own.complete = True
    return found


def _end(folds: Sequence[FoldPath], candidate: Candidate, greedy: bool) -> int | None:
    """Return with how many models a path ends; None if folds must go on to know."""
    longest = max(len(fold.models) for fold in folds)
    for count in range(1, longest + 1):
        if not all(fold.knows(count) for fold in folds):
            return None
        if over(folds, count, candidate, greedy):
            return count
    return longest if all(fold.complete for fold in folds) else None


def finished(paths: Paths) -> Paths:
    """Return what Ctrl-C or the end of the time left.

    Models that all folds know, or else folds that know a model. One that was cut short itself is
    kept if there is no other. No folds: there is nothing.
    """
    whole = [
        [[model for model in fold.models if not model.interrupted] for fold in own] for own in paths
    ]
    first = [place for place, fold in enumerate(whole[0]) if fold]
    if not first:
        return [[fold for fold in paths[0] if fold.models]]
    kept = []
    for own in whole:
        known = [own[place] for place in first]
        count = min(map(len, known))
        kept.append([FoldPath(fold[:count]) for fold in known])
    return kept
