"""``python dev.py fuzz``: the whole attack suite, then cases that hypothesis draws and shrinks.

Profiles draw estimators with their parameters, kernels, tables, model files and commands. The
oracle of all of them is :mod:`attack.oracle`. The seed is printed; the same seed draws the same
cases. Exit code 1 if anything was wrong.
"""

import argparse
import faulthandler
import resource
import secrets
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.feature_maps import Nystroem, Spline
from manykernels.losses import EpsilonInsensitive, Huber

from . import commands, hostile, numerical
from .case import sound
from .oracle import WrongError, judged
from .surfaces import all_cases

HUNG = 1_800
"""Seconds after which a case that no alarm reaches ends the process, with its traceback. A case of
changed arrays is hundreds of changes, each with a limit of its own."""

ROOM = 6 * 2**30
"""Bytes of address space beyond those at the start: more is a MemoryError, which is wrong."""

EXAMPLES = 40
"""Cases of a profile in a round."""

FLOATS = st.one_of(
    st.floats(-3, 3),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1e-300, 1e-150, 1e150, -1e149, 1e30, 1e16, 5e-324, 1.0]),
)
PLAIN = st.floats(-5, 5).map(lambda x: round(x, 3))
SIZES = st.sampled_from([1.0, 1.0, 1.0, 1e-12, 1e12, 1e-100, 1e100, 1e149, 1e200])


@st.composite
def columns(draw, n):
    """Draw a column: ordinary, of few values, constant, far away, or of odd values."""
    kind = draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    if kind == 0:
        return np.array(draw(st.lists(FLOATS, min_size=n, max_size=n)))
    if kind == 1:
        return np.full(n, draw(FLOATS))
    if kind == 2:
        return draw(SIZES) * rng.integers(0, 3, size=n)
    if kind == 3:
        return draw(SIZES) + rng.normal(size=n)
    return draw(SIZES) * rng.normal(size=n)


@st.composite
def data(draw):
    n, r = draw(st.integers(2, 25)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    X, y = rng.normal(size=(n, r)), rng.normal(size=n)
    for j in range(r):
        if draw(st.booleans()):
            X[:, j] = draw(columns(n))
    if draw(st.integers(0, 3)) == 0:
        y = draw(columns(n))
    weights = draw(st.none() | st.none() | columns(n).map(np.abs))
    return X, y, weights


PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "degree": st.sampled_from([0, 1, 2, 3, "auto", 2.5, -1, None, "2"]),
        "p": st.sampled_from([1, 1.0, 1.01, 4 / 3, 1.9, 2, None, 0.5, "1"]),
        "alpha": st.sampled_from([None, 1e-3, 1.0, 1e-12, 1e12, 1e-145, 1e300, 0, "a"]),
        "index_set": st.sampled_from(["auto", "tuples", "monomials", "interactions", "x"]),
        "loss": st.sampled_from(["squared", "huber", "logistic", "hinge", Huber(0.1), 3]),
        "solver": st.sampled_from(["auto", "greedy", "full-pass", "working-set", "x"]),
        "standardize": st.sampled_from([True, False, "scale", 1]),
        "standardize_terms": st.sampled_from(["auto", True, False, None]),
        "fit_intercept": st.booleans(),
        "rho": st.sampled_from([None, [1.0, 2.0], [1, 1, 1], [1e-60, 1], [0], "a"]),
        "tol": st.sampled_from([1e-2, 1e-6, 1.0, 0, -1, "a"]),
        "subsample": st.sampled_from([None, "auto", 3]),
        "max_memory": st.sampled_from([None, "1GB", "1KB", 0, -1, "x"]),
    },
)
KERNELS = st.one_of(
    st.sampled_from(["linear", "auto", "rbf", "spline", "nystroem", "categorical", "cubic"]),
    st.lists(
        st.tuples(
            st.sampled_from(["linear", "rbf", "spline", "auto", Spline(rank=4), Nystroem(rank=3)]),
            st.sampled_from([0, 1, [0], [0, 1], "x0", slice(0, 1), 7, [], [True]]),
        ),
        min_size=0,
        max_size=3,
    ),
)
NAMES = (
    r"(?i)\bX\b|\by\b|alpha|degree|\bp\b|rho|loss|solver|kernel|standardize|tol|weight|column|class|"
    r"index_set|subsample|max_memory|memory|rows|sample|overflow|floating-point|label|NaN|infinit|"
    r"n_splits|fold|fit_intercept"
)


def fitted(make, table, parameters, labels=False):
    X, y, weights = table
    target = np.where(y > np.median(y), "up", "down") if labels else y
    model = make(max_iter=40, max_time=5, random_state=0).set_params(**parameters)
    model.fit(X, target, sample_weight=weights)
    if np.all(np.isfinite(X)):
        sound(model, X, target, weights)


def estimators(table, parameters, make, labels):
    return judged(partial(fitted, make, table, parameters, labels), NAMES, 40)


def kernels(table, kernels, p, degree):
    X, y, _weights = table
    parameters = {"kernels": kernels, "p": p, "degree": degree}
    return judged(partial(fitted, MKLRegressor, (X, y, None), parameters), NAMES, 40)


def numbers(number):
    return judged(partial(numerical.check, number), NAMES, 60)


def files(folder, name, make, number):
    return judged(partial(hostile.checked, name, make, number, folder), r"\.mk|device=None")


CELLS = st.one_of(
    PLAIN.map(str), st.text(max_size=8), st.sampled_from(list(commands.CELLS.values())), st.just("")
)


@st.composite
def tables(draw):
    """Draw the bytes of a CSV file, a valid one most of the time."""
    n, width = draw(st.sampled_from([1, 4, 12, 30, 30, 40])), draw(st.integers(2, 4))
    frame = pd.DataFrame(np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, width)))
    frame.columns = [
        draw(
            st.sampled_from(["a", "b", "k", "y", "é", "=x", "a b", "[i]", "<b>", "z"])
            | st.text(max_size=4)
        )
        for _ in range(width - 1)
    ] + ["y"]
    content = frame.to_csv(index=False, sep=draw(st.sampled_from(",,,;\t|"))).split("\n")
    for _ in range(draw(st.integers(0, 2))):
        row = draw(st.integers(0, len(content) - 1))
        parts = content[row].split(",")
        parts[draw(st.integers(0, len(parts) - 1))] = draw(CELLS)
        content[row] = ",".join(parts)
    raw = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])).join(content)
    out = raw.encode(
        draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig"])), "ignore"
    )
    if draw(st.integers(0, 19)) == 0:
        out = out[: draw(st.integers(0, len(out)))]
    return out


def table_files(folder, content, predicts):
    act = commands.predict_file if predicts else commands.fit_file
    return judged(partial(act, content, folder), ".", 60)


OPTIONS = st.lists(
    st.sampled_from([(name, value) for name, some in commands.OPTIONS.items() for value in some])
    | st.tuples(st.sampled_from(list(commands.OPTIONS)), st.text(max_size=6)),
    min_size=1,
    max_size=3,
)


def options(folder, asked):
    model = folder / "o.mk"
    model.unlink(missing_ok=True)
    names = "(?i)" + "|".join(f"--{name}|{name}" for name, _ in asked)
    more = [f"--{name}={value}" for name, value in asked]

    def act():
        arguments = ("fit", commands.ready(folder) / "good.csv", *commands.FIT, *more)
        names_too = names + "|column|target|separator|chunked|option|unknown|how-sure"
        commands.invoke(names_too, *arguments, "--model", model, outputs=[model])

    return judged(act, ".", 120)


def profiles(folder):
    """Return the strategies of each profile with the function that judges what they draw."""
    models = st.sampled_from(list(hostile.MODELS))
    wrongs = st.sampled_from([hostile.another_value, hostile.another_array, hostile.other_bytes])
    makers = st.sampled_from([MKLRegressor, MKLRegressor, MKLClassifier])
    chooser = partial(MKLRegressorCV, n_alphas=3, cv=3)
    return {
        "estimators": (estimators, (data(), PARAMETERS, makers, st.booleans())),
        "kernels": (
            kernels,
            (data(), KERNELS, st.sampled_from([1, 4 / 3, 2]), st.integers(1, 2)),
        ),
        "chosen": (
            lambda table: estimators(table, {"degree": 1}, chooser, False),
            (data(),),
        ),
        "numbers": (numbers, (st.integers(10_000, 2**31),)),
        "losses": (
            lambda table, size: estimators(
                table, {"loss": EpsilonInsensitive(size), "degree": 1}, MKLRegressor, False
            ),
            (data(), st.sampled_from([0.0, 0.1, 10.0])),
        ),
        "files": (partial(files, folder), (models, wrongs, st.integers(1000, 2**31))),
        "tables": (partial(table_files, folder), (tables(), st.booleans())),
        "options": (partial(options, folder), (OPTIONS,)),
    }


class Fuzz:
    """Runs the profiles in turn until the time is over; counts verdicts, keeps what is wrong."""

    def __init__(self, folder, number):
        self.folder, self.number = folder, number
        self.counts, self.wrong = Counter(), []

    def cases(self, until):
        """Run the attack suite, in an order that the seed draws."""
        cases = all_cases()
        order = np.random.default_rng(self.number).permutation(len(cases))
        for place, i in enumerate(order.tolist()):
            if time.monotonic() > until:
                print(f"time for {place:,} of {len(cases):,} cases of the suite")
                break
            faulthandler.dump_traceback_later(HUNG, exit=True)
            self.add(f"{cases[i].surface}: {cases[i].name}", cases[i].run(self.folder))

    def rounds(self, until, only):
        """Run rounds of all profiles."""
        chosen = {k: v for k, v in profiles(self.folder).items() if only in (None, k)}
        number = 0
        while time.monotonic() < until:
            for name, (judge, strategies) in chosen.items():
                if time.monotonic() > until:
                    break
                self.round(name, judge, strategies, self.number + number, until)
            number += 1
        return number

    def round(self, name, judge, strategies, number, until):
        """Draw some cases of one profile; a wrong one is shrunk and kept."""
        found = []

        @seed(number)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(st.tuples(*strategies))
        def attack(drawn):
            if time.monotonic() > until + 150:
                return
            faulthandler.dump_traceback_later(HUNG, exit=True)
            verdict = judge(*drawn)
            self.counts[f"{name}: {verdict.kind}"] += 1
            if verdict.kind == "wrong":
                found.append((drawn, verdict))
                note(verdict.why)
                raise WrongError(verdict.why)

        try:
            attack()
        except Exception:
            drawn, verdict = found[-1]
            self.wrong.append((f"{name}, seed {number}: {drawn!r}", verdict.why))
            print(f"WRONG {self.wrong[-1][0][:1500]}\n  {verdict.why[:800]}", flush=True)

    def add(self, name, verdict):
        """Count a verdict of the suite."""
        self.counts[f"suite: {verdict.kind}"] += 1
        if verdict.kind == "wrong":
            self.wrong.append((name, verdict.why))
            print(f"WRONG {name}\n  {verdict.why[:800]}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="time in all")
    parser.add_argument("--seed", type=int, default=None, help="by default a new one")
    parser.add_argument("--only", default=None, help="one profile, without the suite")
    asked = parser.parse_args()
    number = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    print(f"seed {number}; again with: python dev.py fuzz --seed {number}", flush=True)
    sizes = Path("/proc/self/statm")  # of Linux; elsewhere there is no such limit
    if sizes.exists():
        now = int(sizes.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, resource.RLIM_INFINITY))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder), number)
        if asked.only is None:
            fuzz.cases(began + 60 * asked.minutes / 2)
        rounds = fuzz.rounds(began + 60 * asked.minutes, asked.only)
    faulthandler.cancel_dump_traceback_later()
    for name, count in sorted(fuzz.counts.items()):
        print(f"{count:8,} {name}")
    minutes = (time.monotonic() - began) / 60
    print(f"{minutes:.1f} minutes, {rounds} rounds, seed {number}: {len(fuzz.wrong)} wrong")
    sys.exit(1 if fuzz.wrong else 0)


if __name__ == "__main__":
    main()
