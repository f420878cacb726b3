"""How time and memory of `kernels="widths"` grow with the rows.

Friedman's function of five of ten columns with noise 1, drawn anew for each size, and
`MKLRegressor(kernels="widths")`: one fit for each size. Seconds by the clock and of the processor,
megabytes the peak above what the process held before the fit (beside it that of the GPU where one
did the work); R^2 is on 2,000 other rows without noise. `solve` is how the fit to all rows was
made: by a Cholesky factor, or by conjugate gradients with half of the symmetric matrix held (2 n^2
bytes) or made anew a block of rows at a time, as it fits in `budget` (`max_memory`; by default a
quarter of the machine's memory). Fits on the H200 are of an earlier version, which held all of the
matrix, 4 n^2 bytes. Where the clock's seconds are many times the processor's on one thread, the
machine was busy with other work: compare the processor's.

    python dev.py bench benchmarks/width_growth.py [--rows 1000 3000] [--threads 1]
        [--memory 2GB] [--device cuda] [--file docs/benchmarks/width_growth.jsonl] [--page]

Each fit is a line of the file, from which the page is made; `--page` makes it and fits nothing.
"""

import argparse
import json

import numpy as np
import pandas as pd

from _measure import DOCS, machine, measured, say, write_page

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
COLUMNS = 10


def friedman(rows, seed, noise):
    """Return ten uniform columns, of which five matter, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, COLUMNS))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + noise * rng.normal(size=rows)


def task(rows, device, memory):
    def prepare():
        import manykernels.estimators  # noqa: F401

        if device is not None:
            import torch

            torch.zeros(1, device=device)  # what a device needs before any work
        return friedman(rows, 0, 1.0), friedman(2_000, 1, 0.0)

    def work(tables):
        import warnings

        from manykernels import MKLRegressor
        from manykernels.memory import budget
        from manykernels.solvers.widths import search

        warnings.simplefilter("ignore")
        (X, y), held = tables
        systems, whole_system = [], search.whole_system

        def noted(*arguments):
            systems.append(whole_system(*arguments))
            return systems[-1]

        search.whole_system = noted
        options = {"kernels": "widths", "device": device, "max_memory": memory}
        model = MKLRegressor(**options, random_state=0).fit(X, y)
        out = {"score": model.score(*held), "kernels": len(model.terms_)}
        out |= {"solve": plan(systems[-1]), "budget": f"{budget(memory) / 1e9:.1f} GB"}
        if device is not None:
            import torch

            out["GPU megabytes"] = torch.cuda.max_memory_allocated(device) / 1e6
            out["device"] = torch.cuda.get_device_name(device)
        return out

    return prepare, work


def plan(system):
    """Return in words how a system is solved."""
    if not hasattr(system, "operator"):
        return "Cholesky"
    return "matrix held" if system.operator.held else "made anew"


def slope(sizes, values):
    """Return the slope of log values on log sizes; not a number for fewer than three sizes."""
    return np.polyfit(np.log(sizes), np.log(values), 1)[0] if len(sizes) > 2 else np.nan


def page(lines):
    """Write the page from the lines of the file."""
    found, slopes = [], []
    lines = sorted(lines, key=lambda one: (one["machine"], one["budget"], one["rows"]))
    for one in lines:
        found.append({"rows": f"{one['rows']:,}", "clock s": one["seconds"], "CPU s": one["cpu"]})
        found[-1] |= {"MB": one["megabytes"], "GPU MB": one.get("GPU megabytes", np.nan)}
        found[-1] |= {key: one[key] for key in ("solve", "budget", "kernels")}
        found[-1] |= {"R2": f"{one['score']:.3f}", "on": one["machine"]}
    keys = ("seconds", "cpu", "megabytes")
    for where in dict.fromkeys((one["machine"], one["budget"]) for one in lines):
        own = [one for one in lines if (one["machine"], one["budget"]) == where]
        sizes = [one["rows"] for one in own]
        slopes.append({"on": where[0], "budget": where[1], "fits": len(own)})
        slopes[-1] |= {key: slope(sizes, [one[key] for one in own]) for key in keys}
    text, tables = __doc__.split("\n\n")[1], [("Fits", pd.DataFrame(found))]
    tables.append(("Slopes of logarithms on that of the rows", pd.DataFrame(slopes)))
    where = "the machines named in the table"
    write_page(
        "width_growth", "Growth of models with widths", text, tables, "width_growth.py", where
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="rows of the tables")
    parser.add_argument("--threads", type=int, default=1, help="threads of matrix products")
    parser.add_argument("--memory", help="max_memory of the fits, such as 2GB")
    parser.add_argument("--device", help="device of PyTorch's, such as cuda")
    parser.add_argument("--file", default=DOCS / "width_growth.jsonl", help="a line for each fit")
    parser.add_argument("--page", action="store_true", help="make the page of the file alone")
    asked = parser.parse_args()
    for rows in () if asked.page else asked.rows:
        one = measured(task, rows, asked.device, asked.memory, threads=asked.threads)
        words = "1 thread" if asked.threads == 1 else f"{asked.threads} threads"
        words = f"{machine().split(',')[0]}, {words}"
        one["machine"] = ", ".join([words, *([one.pop("device")] if "device" in one else [])])
        say(rows, one)
        with open(asked.file, "a") as file:
            file.write(json.dumps({"rows": rows, **one}) + "\n")
    with open(asked.file) as file:
        page([json.loads(line) for line in file])


if __name__ == "__main__":
    main()
