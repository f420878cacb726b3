"""What the commands say: to people in words and tables, to programs in JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from io import TextIOWrapper
from math import floor, inf, isfinite, isnan, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console as Screen
from rich.table import Table

from ..checkpoint import CheckpointWarning
from ..function import mattering
from ..how_sure import how_to_run
from ..words import (
    MINUS,
    NO_NUMBER,
    certificate,
    measure_meaning,
    number,
    p_value,
    plural,
    second_measure,
    second_name,
    terms_and_rest,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Settings, Split, TableModel


ADDED_DIGITS = 5
"""Digits of the largest of numbers that are to be added up. Set by judgement."""

PLAIN_POWERS = (-4, 9)
"""Powers of ten between which such numbers are written without an exponent. Set by judgement."""


def to_stdout(text: str) -> None:
    """Write text to stdout; OSError if that is closed or full."""
    if sys.stdout is None:
        raise OSError("stdout is closed: there is nowhere to write to. Name a file with -o.")
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Write what there is to say about checkpoints and files as notes on stderr, each once."""
    from ..tables import TableWarning

    with warnings.catch_warnings(record=True) as caught:
        for category in (CheckpointWarning, TableWarning):
            warnings.simplefilter("always", category)
        try:
            yield
        finally:
            for said in dict.fromkeys(str(warning.message) for warning in caught):
                sys.stderr.write(f"note: {said}\n")


def note_remarks(model: TableModel, frame: pd.DataFrame) -> None:
    """Write what there is to know of rows as notes on stderr."""
    for remark in model.encoder.remarks(frame, model.encode(frame)):
        sys.stderr.write(f"note: {remark}\n")


class Console:
    """Words and tables to stdout; with ``as_json`` nothing but JSON there."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        if isinstance(sys.stdout, TextIOWrapper):  # names that the encoding lacks, in words only
            sys.stdout.reconfigure(errors="backslashreplace")
        self.screen = Screen(highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Write a line for people."""
        if not self.as_json:
            self.screen.print(text, markup=False)

    def table(self, rows: list[dict[str, str]], right: tuple[str, ...]) -> None:
        """Write a table for people; where it is wide, the names in its first column are wrapped."""
        if self.as_json or not rows:
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
        for place, name in enumerate(rows[0]):
            side: Any = "right" if name in right else "left"
            table.add_column(name, justify=side, no_wrap=place > 0, overflow="fold")
        for row in rows:
            table.add_row(*(value.replace("[", "\\[") for value in row.values()))
        self.screen.print(table)

    def data(self, content: Any) -> None:
        """Write JSON for programs."""
        if self.as_json:
            self.screen.file.write(json.dumps(content, default=float) + "\n")


def show_split(
    console: Console, path: Path, rows: int, columns: int, split: Split, settings: Settings
) -> None:
    """Say what was found in a table of given size, before the work begins."""
    from ..tables import Category, Moment, Number

    kinds = [type(column) for column in split.encoder.columns_]
    used = ", ".join(
        f"{kinds.count(kind)} of {words}"
        for kind, words in ((Number, "numbers"), (Category, "categories"), (Moment, "dates"))
        if kind in kinds
    )
    console.say(f"{path.name}: {rows:,} rows, {columns} columns; used: {used}")
    looked = len(split.train) + len(split.test)
    seen = f" of the {looked:,} looked at" if looked < rows and settings.max_rows is None else ""
    console.say(
        f"{split.task} of {settings.target!r}; {len(split.train):,} rows to train on, "
        f"{len(split.test):,} held out{seen}"
    )
    for note in split.notes:
        console.say(f"note: {note}")


def show_fit(
    console: Console,
    model: TableModel,
    top: int,
    written: dict[str, str],
    said: Sequence[str],
    verbose: int,
) -> None:
    """Say how good a model is and what it consists of; notes that were said before are not.

    With ``verbose`` the fit has said by itself which kind of model was chosen.
    """
    from ..tables.fitting import CHOSEN

    summary, estimator = model.summary, model.estimator
    table = model.explain(None)
    for note in summary["notes"]:
        if note not in said and not (verbose and note.startswith(CHOSEN)):
            console.say(f"note: {note}")
    found = summary.get("measures") or {}
    if found:
        console.say(f"\non {summary['rows_test']:,} {summary['evaluated_on']}")
        names = list(found["this model"])
        rows = [
            {"model": model, **{name: _measure(name, own.get(name)) for name in names}}
            for model, own in found.items()
        ]
        console.table(rows, tuple(names))
    console.say(
        f"{len(estimator.terms_)} of {plural(estimator.n_kernels_, 'kernel')} in use, in "
        f"{terms_and_rest(estimator, table)}; {summary['seconds']:.1f} s"
    )
    _terms(console, model, table, top)
    _how_sure(console, model, table)
    console.say(f"\nthe optimum: {certificate(estimator)}")
    for kind, path in written.items():
        held = "; it holds the training rows" if estimator.function_.holds_rows else ""
        console.say(f"{kind} written to {path}{held if kind == 'model' else ''}")
    console.data({**facts(model), **written, "terms": records(table.head(top))})


def show_terms(console: Console, model: TableModel, top: int) -> None:
    """List the terms of a model."""
    table = model.explain(None)
    summary = model.summary
    console.say(
        f"{summary['task']} of {summary['target']!r}, trained on {summary['rows_train']:,} rows of "
        f"{summary.get('file', 'a table')}"
    )
    _terms(console, model, table, top)
    _how_sure(console, model, table)
    console.say(f"\nthe optimum: {certificate(model.estimator)}")
    console.data({**facts(model), "terms": records(table.head(top))})


def show_row(
    console: Console, model: TableModel, row: pd.DataFrame, label: str | None, top: int
) -> None:
    """Say what each term adds to the prediction of one row.

    Of more than two classes the one predicted is explained, unless ``label`` names another.
    """
    first = model.predict(row).iloc[0]
    classes = [str(label) for label in getattr(model.estimator, "classes_", ())]
    whose = _explained(classes, label, str(first.iloc[0]))
    parts = model.contributions(row, label=whose if len(classes) > 2 else None).iloc[0]
    order = parts.drop("intercept").abs().sort_values(ascending=False).index
    kept = [name for name in order if parts[name] != 0][:top]
    named = {"intercept": float(parts["intercept"])} | {name: float(parts[name]) for name in kept}
    if len(order) > len(kept):
        named[f"{len(order) - len(kept)} others"] = float(parts.drop(["intercept", *kept]).sum())
    what = f"decision value of {whose!r}" if classes else "prediction"
    total = float(parts.sum())
    *texts, whole = addends([*named.values(), total])
    whole = whole.removeprefix("+")
    console.say(f"{model.summary['target']}: {first.iloc[0] if classes else whole}")
    for name, value in first.iloc[1:].items():
        console.say(f"{name}: {value:.3f}")
    rows = [
        {"term": term, "contribution": text}
        for term, text in zip([*named, what], [*texts, whole], strict=True)
    ]
    console.table(rows, ("contribution",))
    if len(classes) > 2:
        console.say(
            f"A positive part speaks for {whose!r}, a negative one for another class; the class of "
            "the largest decision value is predicted. --label explains another."
        )
    elif classes:
        console.say(
            f"A positive part, and a positive sum, speaks for {whose!r}, a negative one for "
            f"{classes[0]!r}."
        )
    console.data(
        {
            "prediction": first.to_dict(),
            "label": whose,
            "total": total,
            "contributions": {name: float(parts[name]) for name in ["intercept", *order]},
        }
    )


def _explained(classes: list[str], label: str | None, predicted: str) -> str | None:
    """Return the class whose decision value is explained; None for numbers."""
    if label is not None and len(classes) <= 2:
        has = f"the two classes {classes[0]!r} and {classes[1]!r}" if classes else "numbers"
        raise ValueError(
            f"--label is for models of more than two classes; got {label!r} for one that predicts "
            f"{has}. Leave it out."
        )
    if label is not None and label not in classes:
        raise ValueError(f"--label must be one of {', '.join(map(repr, classes))}; got {label!r}.")
    if len(classes) == 2:
        return classes[1]
    return (label or predicted) if classes else None


def addends(values: Sequence[float]) -> list[str]:
    """Return numbers with their signs and as many digits behind the point, to be added up by eye.

    The largest has five digits or more. Sizes that are no plain numbers are each written alone.

    Examples
    --------
    >>> addends([48460.25, -1234.6, 0.004])
    ['+48,460', '−1,235', '+0']
    >>> addends([0.78681, -0.0123])
    ['+0.78681', '−0.01230']
    """
    largest = max(map(abs, values))
    power = floor(log10(largest)) if 0 < largest < inf else 0
    if not all(map(isfinite, values)) or not PLAIN_POWERS[0] <= power < PLAIN_POWERS[1]:
        return [
            number(value, ADDED_DIGITS) if value < 0 else f"+{number(value, ADDED_DIGITS)}"
            for value in values
        ]
    places = max(ADDED_DIGITS - 1 - power, 0)
    texts = [f"{round(value, places) + 0.0:+,.{places}f}" for value in values]
    return [text.replace("-", MINUS) for text in texts]


def facts(model: TableModel) -> dict[str, Any]:
    """Return what a program may want to know of a model."""
    estimator = model.estimator
    found = {
        "n_kernels": estimator.n_kernels_ if isfinite(estimator.n_kernels_) else None,
        "n_terms": int(model.explain(None)["term"].ne(estimator.function_.terms.rest).sum()),
        "gap": estimator.gap_,
        "gap_kind": estimator.gap_kind_,
        "objective": estimator.objective_,
        "degree": estimator.degree_,
        "how_sure": None if model.how_sure is None else asdict(model.how_sure),
    }
    return {**model.summary, **found}


def _terms(console: Console, model: TableModel, table: pd.DataFrame, top: int) -> None:
    """List the strongest terms, and for each variable that matters at least one."""
    estimator = model.estimator
    terms = estimator.function_.terms
    second = second_measure(table)
    keys = ["term", "degree", "spread", second]
    if model.how_sure is not None:
        keys += ["p_value", "stands"]
        table = table.assign(stands=model.how_sure.standing(table["term"].tolist()))
    name = second_name(estimator, table)
    rows = [
        {
            "term": str(term),
            "variables": NO_NUMBER if term == terms.rest else str(degree),
            "spread": NO_NUMBER if isnan(spread) else number(spread),
            name: _percent(other) if second == "share" else f"{round(other, 4) + 0.0:.4f}",
            **({"p-value": p_value(known[0]), "stands": known[1]} if known else {}),
        }
        for term, degree, spread, other, *known in zip(*(table[key] for key in keys), strict=True)
    ]
    if not rows:
        return
    columns = [terms.columns(term) for term in table["term"]]
    sizes = table["spread"] if table["spread"].notna().all() else table["share"].abs()
    listed, seen = list(range(min(top, len(rows)))), {c for own in columns[:top] for c in own}
    for place in mattering(sizes.tolist(), columns):
        if not seen.issuperset(columns[place]):
            listed.append(place)
            seen.update(columns[place])
    console.say("\nterms, by their spread")
    console.table([rows[place] for place in listed], ("variables", "spread", name, "p-value"))
    if more := int(table["term"].drop(table.index[listed]).ne(terms.rest).sum()):
        console.say(f"{plural(more, 'more term')}; --top lists more")
    for sentence in measure_meaning(estimator, table):
        console.say(sentence)


def _how_sure(console: Console, model: TableModel, table: pd.DataFrame) -> None:
    """Say which terms stand and what that means, or how to find out."""
    if model.how_sure is None:
        console.say(how_to_run(model.summary.get("command")))
        return
    console.say("\nhow sure")
    for text in model.how_sure.sentences(table, model.summary.get("useful")):
        console.say(text)


def _measure(name: str, value: float | None) -> str:
    if value is None:
        return NO_NUMBER
    return number(value) if name in ("RMSE", "mean absolute error") else f"{value:.3f}"


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f} %"  # no minus zero


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, numbers in full: pandas would round them."""
    whole = table.astype(object).where(table.notna(), None)
    found: Any = whole.to_dict("records")
    return found
