"""Which kind of model for these rows: all alternatives cross-validated on the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from .. import deadline
from ..arrays import Array
from ..backend import error_of_mean
from ..deadline import OutOfTimeError, keeping
from ..kernels import only_categories, only_linear
from ..limits import JUDGED_ROWS, PLAIN_STRENGTH, WIDTH_COLUMNS, WIDTH_ROWS
from ..memory import NoRoomError
from ..notices import notify, setting
from ..registry import AUTO
from ..rows import Prepared
from ..spec import Spec, Widths
from .crossval import Choice, crossval, fold_losses, splits_of
from .default_folds import distinct_rows
from .progress import choosing, current

FEWEST_JUDGED = 20
"""Rows below which nothing is judged and the simplest alternative is taken, with the strength that
cross-validation chooses. Set by judgement."""

FEWEST_WIDTHS = 40
"""Rows below which no widths are learnt, nor functions of columns. Set by judgement."""

ONE_SPLIT_ROWS = 1_500
"""Rows from which on alternatives are compared on one fifth held out, in place of five folds,
unless ``cv`` says otherwise: each fold learns widths of its own. Set by judgement."""

CLEARLY = 1.5
"""Standard errors by which the best alternative must beat the simplest one to be taken. On 84 drawn
tables of 60 to 120 rows (linear, with weak products, Friedman's function; as much noise as signal)
the mean R2 was .332 with 1.5, .320 with 1, .330 with 2, and .332 with ridge regression alone."""

BOTH_SECONDS = 300.0
"""Seconds of ``max_time`` from which on ``"both"`` is tried too: it takes about twice the time of
``"widths"``, and predicts hardly better (``docs/guide/widths.md``)."""

EFFORT = {"ridge": 1, "monomials": 6, "greedy": 2, "auto": 12, "widths": 45, "both": 65}
"""Work of the alternatives relative to each other, for the time left. Rough means of processor
seconds on tables of 500 to 4,000 rows."""


@dataclass(frozen=True)
class Verdict:
    """Which alternative is taken, and why.

    Attributes
    ----------
    spec : Spec
        The alternative.
    choice : Choice or None
        What its cross-validation found; None where it is to be done on all rows.
    prepared : Prepared or None
        All rows, ready for it; None where some rows only were looked at.
    losses : dict of str to float
        Mean loss of each alternative on rows left out, by its name.
    words : str
        What was chosen and why, in a sentence.
    interrupted : bool
        Whether Ctrl-C cut the comparison short.
    """

    spec: Spec
    choice: Choice | None
    prepared: Prepared | None
    losses: dict[str, float]
    words: str
    interrupted: bool = False


def best_alternative(spec: Spec, rows: Any) -> Verdict:
    """Return the alternative that predicts best on rows left out.

    All alternatives are cross-validated on the same folds of at most 5,000 rows: their strengths
    and their losses come from the same rows, which hardly favours one of them, as each tries some
    twenty settings of a single number. The simplest alternative is taken unless the best one beats
    it by 1.5 standard errors of the difference over rows.

    Parameters
    ----------
    spec : Spec
        What was asked for, with its alternatives, the simplest first.
    rows : Rows
        All training rows.
    """
    count = distinct_rows(rows) if rows.in_memory else rows.count
    able, notes = affordable(spec, rows, count)
    if not rows.in_memory or count < FEWEST_JUDGED:
        return _unjudged(able, rows, count)
    judged, splits = _judged(spec, rows)
    whole = judged is rows
    found: dict[str, tuple[Choice, Prepared | None]] = {}
    losses: dict[str, Array] = {}
    shared = set(range(len(splits)))  # folds in which all have a model
    total, done, clock = sum(EFFORT[one.label] for one in able), 0, deadline.current().part(JUDGING)
    cut_short = late = False
    share = judging(able, len(splits), rows.count)
    for one in able:
        _tell(one, share * done / total, share / total, len(splits))
        left, done = total - done, done + EFFORT[one.label]
        assert one.search is not None
        limited = replace(one, search=replace(one.search, cv=splits)).kept_at("judged", one.label)
        limited = judged.affordable(limited)
        try:
            with keeping(clock.part(EFFORT[one.label] / left)):
                choice, prepared, cut_short = crossval(limited, judged)
        except OutOfTimeError:  # it is not judged
            notes.append(f"{one.label!r} was not tried: there was no time")
            late = True
            continue
        except KeyboardInterrupt:  # before the first model of this kind
            if not losses:
                raise
            cut_short = True
            break
        except NoRoomError:
            if one is able[-1] and not losses:
                raise
            notes.append(f"{one.label!r} was not tried: it takes more memory than a fit may hold")
            continue
        common = shared & {fold.number for fold in choice.folds}
        if not common:  # there was time for a model in other folds
            notes.append(f"{one.label!r} was not compared: there was no time")
            late = True
            continue
        shared, found[one.label] = common, (choice, prepared if whole else None)
        losses = {label: fold_losses(spec, own[0], judged, shared) for label, own in found.items()}
        best = min(losses, key=lambda label: losses[label].sum())
        for label, (known, _) in found.items():  # what is not the best so far holds no rows
            if label not in (best, able[0].label):
                found[label] = known, None
        if cut_short:  # by Ctrl-C: what is known so far decides
            break
    if not losses:
        raise OutOfTimeError(clock.max_time)
    taken = _taken(losses)
    if late and not cut_short:
        notify(
            f"Stopped by {setting('max_time', clock.max_time)}: of {len(able)} kinds of models "
            f"{len(losses)} were compared; {taken!r} was taken. Raise {setting('max_time')}, or "
            f"ask for one kind: {setting('kernels')}.",
            ConvergenceWarning,
        )
    if (watch := current()) is not None:
        watch.within("", share, 1.0)
    chosen = next(one for one in able if one.label == taken)
    means = {label: float(parts.sum()) for label, parts in losses.items()}
    words = _words(taken, means, judged.count, len(shared), notes)
    choice, ready = found[taken]
    if whole:
        return Verdict(chosen, choice, ready, means, words, cut_short)
    if isinstance(chosen.family, Widths):  # its strength is that of some rows drawn anyway
        scaled = replace(choice, size=choice.size * judged.count / rows.count)
        return Verdict(chosen, scaled, None, means, words, cut_short)
    return Verdict(chosen, None, None, means, words, cut_short)


def _unjudged(able: Sequence[Spec], rows: Any, count: int) -> Verdict:
    """Return what is taken without a look at rows left out: rows are in parts, or too few."""
    only, reason = able[0], few(rows, count)
    if not rows.in_memory:
        reason = "rows are in parts"
        only = next((one for one in able if one.label == AUTO), only)
    elif np.isnan(only.strength) and not _has_folds(only, rows):
        only = replace(only, search=None, strength=PLAIN_STRENGTH)
    return Verdict(only, None, None, {}, f"{only.label!r} without a comparison: {reason}.")


def _has_folds(one: Spec, rows: Any) -> bool:
    """Tell whether rows are enough for folds of our own: all train on rows of every class."""
    assert one.search is not None
    if one.search.cv is not None:  # what was asked for is done, or refused
        return True
    try:
        for train, test in splits_of(one.search, rows):
            rows.split(train, test)
    except ValueError:
        return False
    return True


def few(rows: Any, count: int) -> str:
    """Say that rows are few, of which some number are different."""
    return f"there are {count}{' different' if count < rows.count else ''} rows only"


def _tell(one: Spec, first: float, unit: float, folds: int) -> None:
    """Tell who watches the fit which alternative is next, and its part of the whole work.

    ``first`` is where it begins, ``unit`` the share of a unit of effort.
    """
    watch = current()
    if watch is not None:
        parts = choosing(folds, isinstance(one.family, Widths))  # no fit to all rows
        own = unit * EFFORT[one.label]
        watch.within(f"kernels {one.label!r}", first, first + own / parts, first + own)


JUDGING = 0.7
"""Share of ``max_time`` that the choice may take."""

SOLVE_ROWS = 24_000
"""Rows on which the solve of a model with widths takes as long as the search for them on the rows
that kinds are judged on; it grows like the square of the rows. Measured on 8,000 and 16,512 rows
(grid_stability, california_housing)."""

LAST_ROUND = 0.07
"""Work of a search for widths that begins with those of the only fold, as a share of one that
begins with none. Measured on the same tables."""


def judging(able: Sequence[Spec], folds: int, rows: int) -> float:
    """Return the share of the work that the choice is taken to be, for the time left.

    What comes after it is the fit of the alternative of most effort on all rows.
    """
    choice = sum(EFFORT[one.label] for one in able)
    final = float(max(EFFORT[one.label] for one in able))
    if any(isinstance(one.family, Widths) for one in able):
        final *= (1 / folds if folds > 1 else LAST_ROUND) + (rows / SOLVE_ROWS) ** 2
    else:
        final /= folds
    return choice / (choice + final)


def affordable(spec: Spec, rows: Any, count: int) -> tuple[list[Spec], list[str]]:
    """Return the alternatives that these rows can have, and why others are left out.

    ``count`` is the number of different rows.
    """
    columns = len(rows.names)
    sparse = rows.in_memory and issparse(rows.X)
    patient = spec.stop.max_time is not None and spec.stop.max_time >= BOTH_SECONDS
    able, notes = [], []
    for one in spec.alternatives:
        free = isinstance(one.family, Widths)
        why = ""
        if sparse and one.label not in LINEAR_KINDS:
            why = "X is sparse"
        elif free and not rows.in_memory:
            why = "rows are in parts"
        elif count < FEWEST_WIDTHS and one.label not in LINEAR_KINDS:
            why = few(rows, count)
        elif free and count > WIDTH_ROWS:
            why = f"it would take long on {count:,} rows"
        elif free and columns > WIDTH_COLUMNS:
            why = f"it would take long on {columns:,} columns"
        elif one.label == "both" and not patient:
            why = f"it takes long; {setting('max_time', BOTH_SECONDS)} or more allows it"
        if why:
            notes.append(f"{one.label!r} was not tried: {why}")
        else:
            able.append(one)
        grouped = only_categories(one.kernels)
        if one.label == AUTO and grouped:
            notes.append("'monomials' of categories are what 'auto' has")
        if one.label == (AUTO if grouped else "monomials") and not only_linear(one.kernels):
            notes.append(
                "'greedy' was not tried: it takes numbers only, no categories, week days or gaps"
            )
    return able, notes


LINEAR_KINDS = ("ridge", "monomials", "greedy")
"""Alternatives whose kernels are products of columns."""


def _judged(spec: Spec, rows: Any) -> tuple[Any, list[tuple[Array, Array]]]:
    """Return the rows that alternatives are judged on, and their folds."""
    search = spec.alternatives[0].search
    assert search is not None
    search, judged = replace(search, split_rows=ONE_SPLIT_ROWS), rows
    if search.cv is None and rows.count > JUDGED_ROWS:
        drawing = replace(search, split_rows=0, most_rows=JUDGED_ROWS)
        ((train, test),) = splits_of(drawing, rows)
        drawn = np.sort(np.concatenate([train, test]))
        judged = rows.split(drawn, drawn)[0]
    return judged, splits_of(search, judged)


def _taken(losses: dict[str, Array]) -> str:
    """Return the name of the alternative of least loss; the first if that is not clearly worse."""
    first = next(iter(losses))
    best = min(losses, key=lambda label: losses[label].sum())
    parts = losses[first] - losses[best]
    error = len(parts) * error_of_mean(parts)
    return best if parts.sum() > CLEARLY * error else first


def _words(
    taken: str, losses: dict[str, float], rows: int, folds: int, notes: Sequence[str]
) -> str:
    """Say what was chosen and why."""
    where = f"{folds} folds of {rows:,} rows" if folds > 1 else f"a held-out fifth of {rows:,} rows"
    own = losses[taken]
    others = [f"{label!r} {loss:.4g}" for label, loss in losses.items() if label != taken]
    said = f"{taken!r}, with a mean loss of {own:.4g} on rows left out ({where})"
    said += f"; {', '.join(others)}" if others else ""
    if any(loss < own for loss in losses.values()):
        said += f"; {taken!r} is the simplest, and none is better by {CLEARLY} standard errors"
    return "; ".join([said, *notes]) + "."
