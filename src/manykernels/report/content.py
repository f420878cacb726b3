"""What a report says, as plain text."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from itertools import islice
from typing import Any

import numpy as np

from .. import __version__
from ..function import AnovaTerms
from ..words import SPACE, count, listing, number, percent, plural
from .subject import Subject
from .sure import standing

MATTERING = 0.95
"""Share of the variance that the terms that matter have together: they are the fewest that do. Set
by judgement, not measured."""

LISTED_TERMS = 200
"""Most terms in the table. Set by judgement, not measured."""

CHARACTERS = 300
"""Most characters of a parameter that is written out in the settings. Set by judgement."""


def mattering(subject: Subject) -> tuple[int, float]:
    """Return the number of terms that matter, and the share they have together."""
    sums = np.cumsum(subject.table["share"].to_numpy(dtype=float))
    if not len(sums) or sums.max() <= 0:
        return 0, 0.0
    enough = np.flatnonzero(sums >= MATTERING)
    last = int(enough[0]) if len(enough) else int(sums.argmax())
    return last + 1, float(sums[last])


def lede(subject: Subject) -> str:
    """Return how many terms matter, and the strongest."""
    number_, together = mattering(subject)
    considered = plural(subject.estimator.n_kernels_, "kernel")
    if number_ == 0:
        return f"Of {considered} considered none matters: the model predicts a constant."
    first, share = str(subject.table["term"].iloc[0]), float(subject.table["share"].iloc[0])
    if number_ == 1:
        return f"Of {considered} considered one term matters: {first}, {_variance(subject, share)}."
    return (
        f"{plural(number_, 'term')} matter, of {considered} considered: together "
        f"{_variance(subject, together)}. The strongest is {first} ({percent(share)})."
    )


def _variance(subject: Subject, share: float) -> str:
    return f"{percent(min(share, 1.0))} of {whole(subject)}"


def whole(subject: Subject) -> str:
    """Return what shares of terms are shares of, in a few words."""
    if isinstance(subject.terms, AnovaTerms):
        return "the variance of the model if its columns were independent"
    return "the variance of the predictions"


def term_note(subject: Subject) -> str:
    """Return what the table of terms lists and what its shares mean."""
    total = len(subject.table)
    listed = min(total, LISTED_TERMS)
    which = (
        f"The model is a sum of {plural(total, 'term')}"
        if listed == total
        else f"Listed are the {listed} strongest of {plural(total, 'term')} in use"
    )
    text = f"{which}. {share_meaning(subject)}"
    if subject.label is not None:
        text += (
            " Shares are those of all classes together; plots show the decision value of the class "
            f"{subject.label}, the most frequent of {len(subject.classes)}."
        )
    return text


def share_meaning(subject: Subject) -> str:
    """Return what the shares of terms are shares of."""
    if isinstance(subject.terms, AnovaTerms):
        meaning = (
            "A term's share is the part of the variance that the model would have if columns "
            "varied independently of each other."
        )
        return " ".join(part for part in (meaning, subject.terms.caution) if part)
    return (
        "A term's share is the part of the variance of the predictions over the training rows that "
        "it accounts for; one below zero works against the others."
    )


def interaction_note(subject: Subject) -> str:
    """Return how the variance is divided between single variables, pairs and so on."""
    names = {1: "single variables", 2: "pairs of variables", 3: "triples"}
    shares = [
        f"{percent(share)} {'to' if place else 'belongs to'} "
        + names.get(size, f"terms of {size} variables")
        for place, (size, share) in enumerate(subject.by_variables.items())
    ]
    if not len(subject.table):
        return "The model has no terms: it predicts the same for all rows."
    if not shares:
        return "The kernels of this model are not functions of single columns."
    text = f"Of {whole(subject)}, {listing(shares)}."
    if not subject.interacts:
        return f"{text} No term joins two variables: there is nothing to draw."
    return f"{text} Strongest: {_strongest_together(subject)}."


def _strongest_together(subject: Subject, top: int = 3) -> str:
    """Return the strongest terms of several columns with their shares."""
    pairs = zip(subject.table["term"], subject.table["share"], strict=True)
    joint = ((n, s) for n, s in pairs if len(subject.terms.columns(n)) > 1)
    return listing([f"{name} ({percent(share)})" for name, share in islice(joint, top)])


def effect_sentence(subject: Subject, name: str) -> str:
    """Return in words what the plot of a term shows."""
    rank = subject.terms.names.index(name)
    share = float(subject.table["share"].iloc[rank])
    total = len(subject.table)
    place = "the strongest" if rank == 0 else f"number {rank + 1}"
    own = subject.terms.columns(name)
    variables = [subject.columns[c] for c in own]
    text = f"{percent(share)} of the variance, {place} of {plural(total, 'term')}"
    if any(variable not in name for variable in variables):
        text += f"; a function of {listing(variables)}"
    text += "."
    if subject.how_sure is not None:
        text += f" {standing(subject.how_sure, name)}"
    part = subject.parts[name].to_numpy()
    low, high = np.quantile(part, [0.05, 0.95])
    if not np.ptp(part) > 0:
        return f"{text} On the rows shown it does not vary."
    places = [
        listing([f"{subject.columns[c]} = {subject.value(c, int(row))}" for c in own])
        for row in (part.argmin(), part.argmax())
    ]
    return (
        f"{text} On nine rows of ten it adds between {number(low)} and {number(high)} to "
        f"{_output(subject)}. It is lowest at {places[0]} and highest at {places[1]}."
    )


def _output(subject: Subject) -> str:
    if subject.label is not None:
        return (
            f"the decision value of the class {subject.label} (the most frequent one), which is "
            "compared with those of the others"
        )
    if subject.classes:
        return f"the decision value, which is positive for {subject.classes[1]}"
    return "the prediction"


def effort(estimator: Any, summary: Mapping[str, Any]) -> str:
    """Return how long the fit took."""
    text = f"The fit took {plural(int(estimator.n_iter_), 'iteration')}"
    seconds = estimator.history_["seconds"]
    if len(seconds) and seconds[-1] > 0:
        text += f" and {number(float(seconds[-1]), 2)}{SPACE}seconds"
    if summary.get("seconds") is not None:
        text += f"; {number(float(summary['seconds']), 2)}{SPACE}seconds with all around it"
    return f"{text}."


def choice(estimator: Any) -> str:
    """Return what was chosen by cross-validation."""
    folds = int(estimator.score_path_.shape[2])
    judge = f"Cross-validation on {folds} folds" if folds > 1 else "A part of the training rows"
    tried = int(np.isfinite(estimator.score_path_).any(axis=2).sum())
    if hasattr(estimator, "n_terms_"):
        chosen = plural(estimator.n_terms_, "term")
    else:
        chosen = f"alpha = {number(estimator.alpha_)}"
    return (
        f"{judge} compared {plural(tried, 'setting')} and chose {chosen}, "
        f"degree {estimator.degree_} and p = {number(estimator.p_)}, with a mean loss of "
        f"{number(-estimator.best_score_)} on the rows left out."
    )


def prediction_note(subject: Subject) -> str:
    """Return in words how predictions differ from the targets."""
    predicted, y = subject.predicted, subject.y
    if not subject.classes:
        middle = float(np.median(np.abs(predicted - y.astype(float))))
        return (
            f"Each point is one of {subject.where}. Were all predictions right, all points would "
            "lie on the line. Half of the predictions are off by "
            f"{number(middle)} or less."
        )
    right = int(np.sum(predicted == y))
    text = f"{count(right)} of {subject.where.removeprefix('the ')} are predicted right."
    wrong = [
        pair for pair in zip(y.tolist(), predicted.tolist(), strict=True) if pair[0] != pair[1]
    ]
    if not wrong:
        return text
    most, times = Counter(wrong).most_common(1)[0]
    return (
        f"{text} The most frequent mistake is {most[1]} for {most[0]}, "
        f"{'once' if times == 1 else f'{count(times)} times'}."
    )


def provenance(subject: Subject) -> list[str]:
    """Return where the data came from and what the caller notes, one sentence each."""
    summary = subject.summary
    said: list[str] = []
    if summary.get("file"):
        said.append(f"Data: {summary['file']}.")
    rows = [
        f"{plural(int(summary[key]), 'row')} {text}"
        for key, text in (("rows_train", "to fit the model"), ("rows_test", "held out"))
        if summary.get(key) is not None
    ]
    if rows:
        said.append(f"{listing(rows)}.")
    if subject.estimator.function_.holds_rows:
        said.append("The model holds its training rows, and so does its file.")
    return said + [str(note) for note in summary.get("notes") or []]


def settings(subject: Subject) -> str:
    """Return all that it takes to fit the model again, as text to copy."""
    estimator = subject.estimator
    libraries = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")
    versions = ", ".join(f"{name} {_version(name)}" for name in libraries)
    lines = [f"# manykernels {__version__}", f"# Python {platform.python_version()}, {versions}"]
    lines += [f"# {line}" for line in provenance(subject)[: 2 if subject.summary else 0]]
    if subject.summary.get("command"):
        lines += ["", f"# {subject.summary['command']}"]
    lines += ["", f"{type(estimator).__name__}("]
    given = estimator.get_params(deep=False)
    for name in (name for name in signature(type(estimator)).parameters if name in given):
        text = " ".join(repr(given[name]).split())
        lines.append(
            f"    {name}={text if len(text) <= CHARACTERS else text[:CHARACTERS] + '...'},"
        )
    lines.append(")")
    for name in ("alpha_", "n_terms_", "p_", "degree_"):
        if hasattr(estimator, name):
            lines.append(f"# chosen: {name} = {getattr(estimator, name)!r}")
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
