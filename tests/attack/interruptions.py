"""Signals at random moments: files stay whole, commands end in words."""

import os
import shutil
import signal
import sys
import time
from functools import partial
from multiprocessing import get_context

import numpy as np

from manykernels import MKLRegressor, load

from .case import Case, rows
from .commands import FIT, ready
from .oracle import judged, require

X, Y = rows(40)
COUNT = 15
"""Moments for each signal and scenario in the full suite."""

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "interrupt": signal.SIGINT}
LONGEST = 2.5
"""Seconds until the latest signal, from the start of the work."""


def _begin(folder):
    """Prepare a child: its own output, Ctrl-C as in a terminal, a sign that it has begun."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    (folder / "begun").touch()


def saving(folder):
    """Save two models in turn to one file, for ever."""
    models = [MKLRegressor(degree=1, alpha=alpha).fit(X, Y) for alpha in (1e-3, 1.0)]
    _begin(folder)
    while True:
        for model in models:
            model.save(folder / "m.mk")


def command(folder, *arguments, times=1):
    """Run a command in this process, some times: Ctrl-C may keep a model and end well."""
    from manykernels.cli import main

    _begin(folder)
    for _ in range(times):
        sys.argv = ["manykernels", *map(str, arguments)]
        try:
            main()
        except SystemExit as end:
            if end.code:
                sys.stderr.flush()
                os._exit(int(end.code))


def fitting(folder):
    """Fit a table and write the model."""
    command(folder, "fit", folder / "good.csv", *FIT, "--model", folder / "m.mk")


def predicting(folder):
    """Write predictions."""
    command(
        folder, "predict", folder / "good.mk", folder / "good.csv", "-o", folder / "p.csv", times=9
    )


def reporting(folder):
    """Write a report."""
    command(
        folder, "report", folder / "good.mk", folder / "good.csv", "-o", folder / "r.html", times=3
    )


SCENARIOS = {"save": saving, "fit": fitting, "predict": predicting, "report": reporting}


def check(scenario, number, moment, folder):
    """End a child at a moment and look at what it has left."""
    home = ready(folder)
    folder = folder / f"{scenario}-{number}-{moment:.4f}"
    folder.mkdir(exist_ok=True)
    for name in ("good.csv", "good.mk"):
        shutil.copy(home / name, folder / name)
    old = (folder / "good.mk").read_bytes()
    (folder / "m.mk").write_bytes(old)
    child = get_context("forkserver").Process(target=SCENARIOS[scenario], args=(folder,))
    child.start()
    while child.is_alive() and not (folder / "begun").exists():
        time.sleep(0.01)
    time.sleep(moment)
    if child.is_alive():
        os.kill(child.pid, number)
    child.join(20)
    ended = not child.is_alive()
    if not ended:
        child.kill()
        child.join()
    require(ended, "the process did not end within 20 s")
    require((folder / "good.mk").read_bytes() == old, "the model that was read has changed")
    model = load(folder / "m.mk")  # whole, old or new
    if scenario == "save" and (folder / "m.mk").read_bytes() != old:
        require(np.all(np.isfinite(model.predict(X))), "the model does not predict")
    for name, last in (("p.csv", b"\n"), ("r.html", b"</html>\n")):
        path = folder / name
        whole = not path.exists() or path.read_bytes().strip().endswith(last.strip())
        require(whole, f"{name} is cut short")
    if (folder / "p.csv").exists():
        require(len((folder / "p.csv").read_text().splitlines()) == 41, "p.csv lacks rows")
    said = (folder / "stderr").read_text(errors="replace")
    if scenario != "save" and number == signal.SIGINT:
        require("Traceback" not in said, f"a traceback: {said[-600:]}")
        require(child.exitcode in (0, 1, 130), f"exit code {child.exitcode}")
    model.save(folder / "m.mk")  # the next writer removes what the dead have left
    require(not [one for one in os.listdir(folder) if one.endswith(".part")], "drafts are left")


def cases():
    """Return all cases of this surface."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["attack.interruptions", "manykernels.cli.app"])
    rng = np.random.default_rng(0)
    found = []
    for scenario in SCENARIOS:
        for label, number in SIGNALS.items():
            for moment in rng.uniform(0, LONGEST, size=COUNT).tolist():
                if scenario == "save":
                    moment = moment / 10

                def run(folder, scenario=scenario, number=number, moment=moment):
                    return judged(partial(check, scenario, number, moment, folder), ".", 90)

                found.append(Case("signals", f"{scenario}: {label} after {moment:.5f} s", run))
    return found
