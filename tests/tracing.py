"""The way of a fit through the package: ``python dev.py trace``.

A small cross-validated fit runs under ``sys.setprofile``. What is written: the functions of the
package that it passes, in the order of their first calls and indented by depth; how many there are,
in how many files, how deep; where the calls of one object go up and down its classes; and how often
each set of rows is prepared. Lambdas, comprehensions and generator expressions do not count.
"""

import hashlib
import inspect
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import manykernels
from manykernels import MKLRegressorCV

ROOT = Path(manykernels.__file__).parent
PREPARING = ("estimators", "fitting", "rows")
"""Packages whose functions named ``prepare`` turn rows into base kernels."""


@dataclass
class Way:
    """What was seen on the way."""

    functions: dict = field(default_factory=dict)  # code -> depth of its first call
    depth: int = 0
    deepest: list = field(default_factory=list)
    bounces: Counter = field(default_factory=Counter)  # files and names -> how often
    prepared: Counter = field(default_factory=Counter)  # (number of rows, digest) -> how often

    @property
    def files(self):
        """Files in the order in which they are entered."""
        return list(dict.fromkeys(place(code) for code in self.functions))

    @property
    def again(self):
        """How many preparations are of rows that were prepared before."""
        return sum(self.prepared.values()) - len(self.prepared)


def place(code):
    return str(Path(code.co_filename).relative_to(ROOT))


def title(code):
    return f"{place(code)}:{code.co_firstlineno} {code.co_qualname}"


def counts(code):
    """Tell whether a code object is a function of the package with a name of its own."""
    return (
        code.co_filename.startswith(str(ROOT))
        and not code.co_name.startswith("<")
        and bool(code.co_flags & inspect.CO_OPTIMIZED)  # no body of a module or class
    )


def rows_in(frame):
    """Return the number and a digest of the rows in the arguments of a call, or in their parts."""
    code = frame.f_code
    level = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    for _ in range(3):
        for value in level:
            if isinstance(value, np.ndarray) and value.ndim == 2:
                digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
                return value.shape[0], digest[:8]
        level = [part for value in level for part in parts_of(value)]
    return 0, "unknown"


def parts_of(value):
    """Return the attributes of an object of the package."""
    if not type(value).__module__.startswith("manykernels"):
        return []
    names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
    return [getattr(value, name, None) for name in names]


def trace(work):
    """Return the way of the calls that ``work()`` makes."""
    way, stack = Way(), []
    # Frames of generators come back: each is on the stack only while it runs.

    def watch(frame, event, _argument):
        if event == "return" and stack and stack[-1] is frame:
            stack.pop()
        if event != "call" or not counts(frame.f_code):
            return
        stack.append(frame)
        code = frame.f_code
        way.functions.setdefault(code, len(stack))
        if len(stack) > way.depth:
            way.depth, way.deepest = len(stack), [title(one.f_code) for one in stack]
        if code.co_name.lstrip("_") == "prepare" and place(code).split("/")[0] in PREPARING:
            way.prepared[rows_in(frame)] += 1
        chain = files_of(stack, frame)
        if len(chain) > len(set(chain)):
            way.bounces[" -> ".join(chain) + f" in {code.co_qualname}"] += 1

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return way


def files_of(stack, frame):
    """Return the files that the calls of methods of one object go through, up to a frame.

    Empty unless the frame itself is the one that enters another file.
    """
    own = owner(frame)
    if own is None:
        return []
    files = [place(one.f_code) for one in stack if owner(one) is own]
    chain = [file for i, file in enumerate(files) if i == 0 or file != files[i - 1]]
    return chain if len(files) > 1 and files[-1] != files[-2] else []


def owner(frame):
    """Return the object that a frame's function is a method of."""
    code = frame.f_code
    named = code.co_argcount and code.co_varnames[0] == "self"
    return frame.f_locals.get("self") if named else None


def fit():
    """Fit the model of the issue that set the limits: 60 rows, 4 columns, two folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * rng.normal(size=60)
    MKLRegressorCV(kernels="auto", degree=2, cv=2, random_state=0).fit(X, y)


def report(way):
    """Return what is to be said of a way, line by line."""
    said = ["Functions in the order of their first calls:"]
    for code, depth in way.functions.items():
        said.append(f"{'  ' * depth}{title(code)}")
    said += ["", "Deepest:", *(f"  {name}" for name in way.deepest), "", "Bounces:"]
    said += [f"  {times} times: {chain}" for chain, times in way.bounces.most_common()]
    said += ["", "Rows prepared:"]
    for (rows, digest), times in way.prepared.items():
        said.append(f"  {rows} rows ({digest}): {times} times")
    said += [
        "",
        f"{len(way.functions)} functions in {len(way.files)} files, at most {way.depth} deep; "
        f"{len(way.bounces)} places where calls go up and down the classes of an object; "
        f"{len(way.prepared)} sets of rows, {way.again} of them prepared again.",
    ]
    return said


if __name__ == "__main__":
    print("\n".join(report(trace(fit))))
