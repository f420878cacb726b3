"""What a report says, as plain text."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

import numpy as np

from .. import __version__
from ..arrays import Array
from ..function import AnovaTerms
from ..function.importance import MATTERS
from ..words import (
    MINUS,
    SPACE,
    accuracy_of,
    count,
    listing,
    loss_name,
    measure_meaning,
    number,
    percent,
    plural,
    spread_rows,
    terms_and_rest,
)
from .subject import STRONGEST, Subject
from .sure import standing

MOST_PAIRS = 3
"""Most columns whose kernels are written out in the settings where all are of one kind. Set by
judgement."""

CHARACTERS = 300
"""Most characters of a parameter that is written out in the settings. Set by judgement."""


def lede(subject: Subject) -> str:
    """Return how many terms matter, the strongest, how sure that is, and remarks on the scores."""
    remarks = [f"{text[0].upper()}{text[1:]}" for text in subject.remarks]
    matter, table = subject.matter, subject.table
    considered = plural(subject.estimator.n_kernels_, "kernel")
    names = [str(table["term"].iloc[place]) for place in matter]
    if not matter and not subject.rest:
        return f"Of {considered} considered none matters: the model predicts a constant."
    if not matter:
        said = f"Of {considered} considered no term of few variables matters."
        return " ".join([said, *remarks])
    if subject.useful is False:
        verb = "matters" if len(names) == 1 else "matter"
        said = (
            f"{plural(len(names), 'term')} {verb} to its predictions, of {considered} considered."
        )
        return " ".join([*remarks, said, how_sure_in_short(subject, names)])
    first = _with_spread(subject, names[0])
    if len(names) == 1:
        said = f"Of {considered} considered one term matters: {first}."
    else:
        said = (
            f"{plural(len(names), 'term')} matter, of {considered} considered. "
            f"The strongest is {first}."
        )
    return " ".join([said, how_sure_in_short(subject, names), *remarks])


def how_sure_in_short(subject: Subject, names: Sequence[str]) -> str:
    """Return how many of some terms stand, or where it says how to find out."""
    if subject.how_sure is None:
        return "How sure the terms are was not tested; below it says how to."
    if subject.how_sure.untested:
        return "Which of them stand could not be tested; below it says why."
    standing = [text for text in subject.how_sure.standing(names) if text]
    stand, alike = len(standing), sum(text != "yes" for text in standing)
    group = "as one of several that cannot be told apart"
    if len(names) == 1 and not stand:
        return "It does not stand: these rows do not show it for sure."
    if len(names) == 1:
        return f"It stands{f' {group}' if alike else ''}."
    also = f", {count(alike) if alike < stand else 'each'} {group}" if alike else ""
    return (
        f"{count(stand) if stand else 'None'} of them {'stands' if stand < 2 else 'stand'}{also}."
    )


def _with_spread(subject: Subject, name: str) -> str:
    """Return the name of a term with its spread, if that is known."""
    spread = float(subject.table["spread"].iloc[subject.terms.names.index(name)])
    return name if np.isnan(spread) else f"{name} (spread {number(spread)})"


def term_note(subject: Subject) -> str:
    """Return what the table of terms lists and what its numbers mean."""
    matter = len(subject.matter)
    listed = [place for place in subject.listed if subject.terms.names[place] in subject.names]
    which = (
        f"The model is a sum of {terms_and_rest(subject.estimator, subject.table)}"
        if len(listed) == len(subject.names)
        else f"Listed are {count(len(listed))} of {plural(len(subject.names), 'term')} in use, the "
        "strongest"
    )
    said = [f"{which}.", *measure_meaning(subject.estimator, subject.table)]
    if (subject.table["sign"] != 0).any():
        which = "decision values" if subject.classes else "predictions"
        said.append(
            f"Sign is + where {which} rise with the column of the term, and {MINUS} where they "
            "fall; of several columns it is that of the product of their differences from their "
            "means."
        )
    if matter:
        verb = "matters" if matter == 1 else "matter"
        said.append(
            f"{plural(matter, 'term')} {verb}: spreads of at least {100 * MATTERS:.0f}{SPACE}% of "
            "the largest, and the strongest term of any other variable whose terms together have "
            "as much."
        )
    if isinstance(subject.terms, AnovaTerms) and subject.terms.caution:
        said.append(subject.terms.caution)
    if not subject.classes:
        deviation = float(np.std(subject.y.astype(float)))
        said.append(
            f"To compare: the standard deviation of {subject.target} on {subject.where} is "
            f"{number(deviation)}."
        )
    if subject.label is not None:
        said.append(
            f"Plots show the decision value of the class {subject.label}, the most frequent of "
            f"{len(subject.classes)}."
        )
    return " ".join(said)


def interaction_note(subject: Subject) -> str:
    """Return how many terms join variables, and the strongest of them."""
    total = len(subject.names)
    if not len(subject.table):
        return "The model has no terms: it predicts the same for all rows."
    if not any(subject.terms.columns(name) for name in subject.names):
        return "The kernels of this model are not functions of single columns."
    if not subject.interacts:
        return "No term joins two variables: there is nothing to draw."
    joined, noun = len(subject.joint), "term" if total == 1 else "terms"
    said = (
        f"{count(joined)} of {count(total)} {noun} {'joins' if joined == 1 else 'join'} two "
        "variables or more"
    )
    matter = {str(subject.table["term"].iloc[place]) for place in subject.matter}
    strongest = [name for name in subject.joint if name in matter][:STRONGEST]
    if not strongest:
        none = "it does not matter" if joined == 1 else "none of them matters"
        return f"{said}; {none} beside the others."
    return f"{said}. Strongest: {listing([_with_spread(subject, name) for name in strongest])}."


def effect_sentence(subject: Subject, name: str) -> str:
    """Return in words what the plot of a term shows."""
    rank, total = subject.names.index(name), len(subject.names)
    line = subject.table.iloc[subject.terms.names.index(name)]
    place = "the strongest" if rank == 0 else f"number {rank + 1}"
    own = subject.terms.columns(name)
    variables = [subject.columns[c] for c in own]
    spread = float(line["spread"])
    first = f"Share {percent(line['share'])}" if np.isnan(spread) else f"Spread {number(spread)}"
    first += f" on {spread_rows(subject.estimator)}"
    text = f"{first}, {place} of {plural(total, 'term')}"
    if any(variable not in name for variable in variables):
        text += f"; a function of {listing(variables)}"
    text += f".{without(subject, float(line['loss_without']))}"
    if subject.how_sure is not None:
        text += f" {standing(subject.how_sure, name)}"
    part = subject.parts[name].to_numpy()
    if not np.ptp(part) > 0:
        return f"{text} On {subject.shown_rows} it does not vary."
    return f"{text} {amounts(subject, part)}{extremes(subject, part, own, variables)}"


def amounts(subject: Subject, part: Array) -> str:
    """Return in a sentence how much a term adds to predictions."""
    low, high = (number(end) for end in np.quantile(part, [0.05, 0.95]))
    if low != high:
        added = f"it adds between {low} and {high} to {_output(subject)}."
        return f"On nine in ten of {subject.shown_rows} {added}"
    ends = f"between {number(float(part.min()))} and {number(float(part.max()))}"
    return (
        f"On nine in ten of {subject.shown_rows} or more it adds {low} to {_output(subject)}, on "
        f"all of them {ends}."
    )


def extremes(
    subject: Subject, part: Array, columns: Sequence[int], variables: Sequence[str]
) -> str:
    """Return where a term is lowest and highest within what is drawn; nothing where it is flat.

    A few rows lie beyond the drawing, in which numbers end at their first and 99th percentiles.
    """
    rows = subject.drawn(columns)
    if not len(rows) or not np.ptp(part[rows]) > 0:
        return ""
    ends = [int(rows[part[rows].argmin()]), int(rows[part[rows].argmax()])]
    entries = [subject.values(c, ends) for c in columns]
    lowest, highest = (
        listing([f"{name} = {both[end]}" for name, both in zip(variables, entries, strict=True)])
        for end in (0, 1)
    )
    beyond = len(part) - len(rows)
    if not beyond:
        return f" It is lowest there at {lowest} and highest at {highest}."
    return (
        f" In the plot, beyond which {plural(beyond, 'row')} of {count(len(part))} "
        f"{'lies' if beyond == 1 else 'lie'}, it is lowest at {lowest} and highest at {highest}."
    )


def without(subject: Subject, loss: float) -> str:
    """Return in a sentence what accuracy loses without a term; nothing where it is not known."""
    if np.isnan(loss):
        return ""
    measure = accuracy_of(subject.estimator)
    if loss < 0.0005:
        amount = f"{measure} on the training rows changes by less than 0.001"
    elif measure == "R²":
        amount = f"R² on the training rows falls by {number(loss, 2)}"
    else:
        amount = f"the log loss on the training rows rises by {number(loss, 2)}"
    return f" Without it, the others scaled anew, {amount}."


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
        f"{number(-estimator.best_score_)} on the rows left out. The loss is "
        f"{loss_name(estimator)}."
    )


def prediction_note(subject: Subject) -> str:
    """Return in words how predictions differ from the targets."""
    predicted, y = subject.predicted, subject.y
    if not subject.classes:
        middle = float(np.median(np.abs(predicted - y.astype(float))))
        return (
            f"Each point is one of {subject.where}. Were all predictions right, all points would "
            "lie on the line. Half of the predictions are off by "
            f"{number(middle)} or less, in the unit of the target."
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


def calibration_note(subject: Subject) -> str:
    """Return what the plot of calibration shows."""
    which = f"of the class {subject.classes[1]}"
    if len(subject.classes) > 2:
        which = "of all classes, each against the others"
    return (
        f"Each point is some of {subject.where}, taken together by the predicted probability "
        f"{which}: how often the class came true, beside what was predicted. Probabilities are "
        "right where points lie on the line."
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
    # Remarks on the rows held out are in the first sentences, made anew for the rows given.
    over = () if subject.believed else summary.get("remarks") or ()
    noted = [str(note) for note in summary.get("notes") or [] if note not in over]
    return said + [f"{note[:1].upper()}{note[1:]}" for note in noted]


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
        lines.append(f"    {name}={_written(given[name], subject.columns)},")
    lines.append(")")
    for name in ("alpha_", "n_terms_", "p_", "degree_"):
        if hasattr(estimator, name):
            lines.append(f"# in use: {name} = {getattr(estimator, name)!r}")
    return "\n".join(lines)


def _written(value: Any, columns: Sequence[str]) -> str:
    """Return a parameter as code: one kernel for each of all columns in short, long ones cut."""
    if isinstance(value, list) and len(value) == len(columns) > MOST_PAIRS:
        pairs = [one for one in value if isinstance(one, tuple) and len(one) == 2]
        kinds = {repr(kernel) for kernel, _ in pairs}
        if [name for _, name in pairs] == list(columns) and len(kinds) == 1:
            return f"[({kinds.pop()}, name) for name in X.columns]"
    text = " ".join(repr(value).split())
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}..."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
