"""What a table costs: the command line with no option set, and where a fit spends its time.

The first table is `manykernels fit FILE --target target` on each of the eight tables of the page
tables.md: processor seconds and peak memory of the whole command, Python and its libraries (some
200 MB) included. Before: the version that knew `auto` alone and fitted kernels of several features
one by one (commit b7a9778), by the same command, on the same kind of machine another day. Now: with
nothing else set, five kinds of models are compared; `--kernels auto` is the one that there was.

Time left is what `verbose` said at the first line after a third of the command's fit, in the same
run, over what was then left in truth; nothing where none was said then.

The second is a profile of the fit itself, `kernels="auto", degree=2`, on 80 % of the rows: shares
of its processor time by stage, as cProfile sees them, and the number of multiplications that the
pricings of the family need by count, per second spent on them, as a share of what a plain matrix
product in single precision reaches on the machine (2,000 rows and columns).

    MANYKERNELS_DATA=... python dev.py bench benchmarks/cost.py
"""

import cProfile
import os
import pstats
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from _measure import measured, say, write_page
from tables import CLASSES, TABLES, load

BEFORE = {
    "concrete": (109, 406),
    "grid_stability": (23.5, 2067),
    "pumadyn32nm": (20.5, 2102),
    "madelon": (140, 731),
    "higgs15k": (110, 5583),
    "bike_hourly": (98.5, 4201),
    "california_housing": (91.0, 4729),
    "kin40k": (92.6, 4700),
}
"""Processor seconds and peak megabytes of the command before, one thread each."""

STAGES = {
    "pricing": ("prices.py", "top"),
    "directions and columns": ("kernels.py", "enter"),
    "Newton steps": ("restricted.py", "newton"),
    "functions of columns": ("sets.py", "fit"),
    "rows left out": ("memory.py", "__call__"),
}
"""Stages of a fit, none inside another, by the file and the name of the function they are."""


SAID = re.compile(r", ([0-9.]+) s, about ([0-9]+) s left$|^done in ([0-9.]+) s$")
"""What a line of progress says: seconds, and seconds left, or seconds at the end."""


def time_left(path):
    """Return the time left that was said after a third of a fit, over the truth; none if none."""
    found = [SAID.search(line) for line in path.read_text().splitlines()]
    total = next((float(one[3]) for one in found if one and one[3]), None)
    lines = [(float(one[1]), float(one[2])) for one in found if one and one[1]]
    later = [(spent, left) for spent, left in lines if total and spent >= total / 3]
    return later[0][1] / max(total - later[0][0], 1e-9) if later else np.nan


def command(name, *options):
    """Return processor seconds, peak megabytes and time left of the command line on a table."""
    file = Path(os.environ["MANYKERNELS_DATA"]) / "extra" / f"{name}.csv.gz"
    words = ["-c", "from manykernels.cli import main; main()", "fit", str(file)]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "said", "w") as said:
        process = subprocess.Popen(
            [sys.executable, *words, "--target", "target", *options],
            env={**os.environ, **threads},
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
        left = time_left(Path(said.name))
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"manykernels fit on {name} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, left


def task(name):
    def prepare():
        from sklearn.model_selection import train_test_split

        warnings.simplefilter("ignore")
        X, y = load(name)
        labels = y if name in CLASSES else None
        return train_test_split(X, y, test_size=0.2, random_state=0, stratify=labels)

    def work(parts):
        from manykernels import MKLClassifierCV, MKLRegressorCV
        from manykernels.families.pricing import ProductPricer

        counted, plain = [], ProductPricer.top

        def top(self, *arguments, **options):
            counted.append(self.family.enumeration_work)
            return plain(self, *arguments, **options)

        ProductPricer.top = top
        kind = MKLClassifierCV if name in CLASSES else MKLRegressorCV
        profile = cProfile.Profile(time.process_time)
        profile.runcall(kind(kernels="auto", degree=2).fit, parts[0], parts[2])
        stats = pstats.Stats(profile)
        spent = dict.fromkeys(STAGES, 0.0)
        for (file, _, function), (_, _, _, seconds, _) in stats.stats.items():
            for stage, place in STAGES.items():
                spent[stage] += seconds * ((Path(file).name, function) == place)
        shares = {stage: seconds / stats.total_tt for stage, seconds in spent.items()}
        rate = sum(counted) / spent["pricing"] / matrix_rate()
        return {"fit": stats.total_tt, **shares, "pricings": len(counted), "rate": rate}

    return prepare, work


def matrix_rate():
    """Return multiplications a second of a matrix product in single precision."""
    square = np.random.default_rng(0).random((2000, 2000), dtype=np.float32)
    square @ square
    began = time.process_time()
    for _ in range(3):
        square @ square
    return 3 * 2000**3 / (time.process_time() - began)


def profiled(name):
    """Return the profile of a table as a row."""
    found = measured(task, name, threads=1)
    say(name, found)
    row = {"table": name, "seconds": found["fit"], "megabytes": found["megabytes"]}
    rest = 1 - sum(found[stage] for stage in STAGES)
    row |= {stage: f"{found[stage]:.0%}" for stage in STAGES} | {"all else": f"{rest:.0%}"}
    return row | {"pricings": found["pricings"], "rate of pricing": f"{found['rate']:.0%}"}


def main():
    if "MANYKERNELS_DATA" not in os.environ:
        say("MANYKERNELS_DATA names no folder: no tables to fit. Set it and run this again.")
        return
    rows = []
    for name in TABLES:
        (seconds, megabytes, left), same = command(name), command(name, "--kernels", "auto")
        say(name, seconds, megabytes, left, *same)
        before = BEFORE[name]
        rows.append(
            {
                "table": name,
                "seconds before": before[0],
                "seconds now": seconds,
                "`--kernels auto`": same[0],
                "megabytes before": before[1],
                "megabytes now": round(megabytes),
                "`auto` megabytes": round(same[1]),
                "time left said / true": left,
            }
        )
    tables = [
        ("`manykernels fit FILE --target target`", pd.DataFrame(rows)),
        ("Where a fit spends its time", pd.DataFrame([profiled(name) for name in TABLES])),
    ]
    write_page(
        "cost", "What a table costs", "\n\n".join(__doc__.split("\n\n")[1:4]), tables, "cost.py"
    )


if __name__ == "__main__":
    main()
