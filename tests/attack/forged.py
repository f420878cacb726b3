"""Model files of which one array is another, with right checksums; each kind of model in a process.

``python -m attack.forged SEED COUNT FOLDER KIND ..`` says what each change ended in, a line for
each, and names it before it is tried: the last name of a process that died is that of its end.
COUNT is the number of changes for each attribute that holds arrays.
"""

import io
import os
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import pairwise
from multiprocessing import get_context
from operator import getitem
from pathlib import Path

import numpy as np

from manykernels import MKLClassifier, MKLRegressor, load

from . import hostile
from .case import Case
from .oracle import Verdict, judged, require

X, Y, FRAME = hostile.X, hostile.Y, hostile.FRAME
LABELS = np.array(["a", "b", "c"])[np.arange(len(Y)) % 3]

SECONDS = 10.0
"""Seconds that a case may take; sound files take less than one."""

KINDS = {
    "linear": lambda: MKLRegressor(degree=2, p=1).fit(X, Y),
    "auto": lambda: MKLRegressor("auto", degree=2, p=1).fit(X, Y),
    "spline": lambda: MKLRegressor("spline", degree=1, p=1).fit(X, Y),
    "polynomial": lambda: MKLRegressor("polynomial", degree=1, p=1).fit(X, Y),
    "nystroem": lambda: MKLRegressor("nystroem", degree=1, p=1).fit(X, Y),
    "rbf": lambda: MKLRegressor("rbf", degree=1).fit(X, Y),
    "widths": lambda: MKLRegressor("widths", random_state=0).fit(X, Y),
    "both": lambda: MKLRegressor("both", random_state=0).fit(X, Y),
    "greedy": lambda: MKLRegressor(degree=2, solver="greedy", max_iter=5).fit(X, Y),
    "frame": lambda: MKLRegressor("auto", degree=1, p=1).fit(
        FRAME.mask(np.repeat(X[:, :1] > 1.5, 4, axis=1)), Y
    ),
    "table": hostile.table_model,
    "classes": lambda: MKLClassifier("auto", degree=1, p=1).fit(X, LABELS),
}
"""Models of each kind, by name."""

NUMBERS = {
    "negated": lambda old: -old,
    "huge": lambda old: old * 1e200,
    "large": lambda old: old * 1e12,
    "not a number": lambda old: np.full(old.shape, np.nan),
    "infinite": lambda old: np.full(old.shape, np.inf),
    "zero": lambda old: old * 0,
    "shifted": lambda old: old + 0.5,
    "integers": lambda old: old.astype(np.int8),
}
"""Changes of arrays of floats."""

WHOLE = {
    "negated": lambda old: -old - 1,
    "large": lambda old: old + 10**9,
    "floats": lambda old: old + 0.5,
}
"""Changes of arrays of integers."""

ANY = {
    "deeper": lambda old: old[None, None],
    "flat": lambda old: old.ravel() if old.ndim > 1 else old[:, None],
    "turned": lambda old: old.T if old.ndim > 1 else np.concatenate([old, old[:1]]),
    "single": lambda old: np.array(old.ravel()[:1].sum() if old.dtype.kind != "U" else "a"),
    "words": lambda old: old.astype(str) if old.dtype.kind != "U" else np.ones(old.shape),
    "cut": lambda old: old[:-1],
    "empty": lambda old: old[:0],
    "backwards": lambda old: old[::-1],
}
"""Changes of all arrays."""


@dataclass(frozen=True)
class Change:
    """A change of an array of a kind's model file."""

    kind: str
    array: str
    name: str


def changes(kind, folder):
    """Return all changes of the arrays of a kind's file."""
    found = []
    for array in hostile.unpacked_file(file_of(kind, folder))[0]["files"]:
        old = array_of(kind, array, folder)
        if old.ndim:
            own = {"f": NUMBERS, "i": WHOLE}.get(old.dtype.kind, {})
            found += [Change(kind, array, name) for name in (*own, *ANY)]
    return found


def attributes(kind, folder):
    """Return the name of the attribute that each array of a kind's file belongs to."""
    tree, found = hostile.unpacked_file(file_of(kind, folder))[0]["model"], {}
    for place in hostile.places(tree):
        if place[-1:] == ("$array",):
            number = reduce(getitem, place, tree)
            found[f"arrays/{number}.npy"] = [k for k in place if str(k)[:1].isalpha()][-1]
    return found


@cache
def file_of(kind, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[kind]().save(Path(folder) / f"{kind}.mk")


def array_of(kind, array, folder):
    return np.load(io.BytesIO(hostile.unpacked_file(file_of(kind, folder))[1][array]))


def forged(change, folder):
    """Return the bytes of a file with a change."""
    manifest, contents = hostile.unpacked_file(file_of(change.kind, folder))
    old = array_of(change.kind, change.array, folder)
    with np.errstate(all="ignore"):
        makers = {**ANY, **{"f": NUMBERS, "i": WHOLE}.get(old.dtype.kind, {})}
        new = makers[change.name](old)
    stream = io.BytesIO()
    np.save(stream, new)
    return hostile.sealed(manifest, {**contents, change.array: stream.getvalue()})


def tried(change, folder):
    """Load a file with a change: it is refused, or the model's answers are finite."""
    path = Path(folder) / "forged.mk"
    path.write_bytes(forged(change, folder))
    model = load(path)
    data = FRAME if change.kind in ("table", "frame") else X
    predicted = model.predict(data)
    require(len(predicted) == len(X), "predictions of other rows")
    own = predicted if change.kind != "table" else predicted.iloc[:, 0]
    if change.kind == "classes":
        require(set(np.asarray(own)) <= set(model.classes_.tolist()), "unknown classes")
        own = model.decision_function(data)
    require(np.all(np.isfinite(np.asarray(own, dtype=float))), "predictions are not finite")
    label = {"label": "a"} if change.kind == "classes" else {}
    parts = model.contributions(data[:3], **label)
    require(np.all(np.isfinite(parts.to_numpy(dtype=float))), "contributions are not finite")
    model.explain(3)


def attack(kind, seed, count, folder):
    """Try some changes of the arrays of each attribute and say what each ended in."""
    cases, names, taken, chosen = changes(kind, folder), attributes(kind, folder), Counter(), []
    for i in np.random.default_rng(seed).permutation(len(cases)).tolist():
        taken[names[cases[i].array]] += 1
        chosen += [i] if taken[names[cases[i].array]] <= count else []
    for i in sorted(chosen):
        print(f"{kind} {cases[i].array} {cases[i].name}", end=": ", flush=True)
        names = r"forged\.mk|column|row|X|values|model"
        verdict = judged(lambda case=cases[i]: tried(case, folder), names, SECONDS)
        print(verdict.kind, verdict.why.replace("\n", " "), flush=True)


def main(seed, count, folder, kinds):
    """Attack each kind in a process of its own, so that its death is seen."""
    for kind in kinds:
        own = get_context("fork").Process(target=attack, args=(kind, seed, count, folder))
        own.start()
        own.join()
        if own.exitcode:
            print(f"\n{kind}: wrong, the process ended with {own.exitcode}", flush=True)
    print("done", flush=True)


def run(seed, count, folder, kinds):
    """Try some changes of each attribute; return how many there were, and what was wrong."""
    asked = [str(seed), str(count), str(folder), *kinds]
    place = str(Path(__file__).parents[1])
    path = os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, "-m", "attack.forged", *asked],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    lines = ended.stdout.splitlines()
    wrong = [f"{before}\n{line}" for before, line in pairwise(["", *lines]) if ": wrong" in line]
    if lines[-1:] != ["done"]:
        wrong.append(f"exit code {ended.returncode}: {ended.stderr[-2000:]}")
    return len(lines) - 1, wrong


def judged_kind(kind, folder):
    """Return the verdict on all changes of a kind."""
    _count, wrong = run(0, 10**6, folder, [kind])
    return Verdict("wrong", "\n".join(wrong)) if wrong else Verdict("right", "")


def cases():
    """Return all cases of this surface: a kind each, of hundreds of changes."""
    return [
        Case("arrays", f"{kind}: each array changed", partial(judged_kind, kind)) for kind in KINDS
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
