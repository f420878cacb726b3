"""Rows that do not fit in memory: a Parquet file in pieces; clusters of one and two workers.

20 normal columns, a target of five terms and noise, degree 2, linear kernels: 231 kernels. One
thread of BLAS. *Streaming*: the command `manykernels fit FILE --chunked --memory 2GB --kernels
linear`, from start to end (a sample to find the kinds of columns, the strength by cross-validation,
a score on held-out rows: seven passes), with row groups of 250,000 rows; memory is the peak of the
whole process. *Workers*: `MKLRegressor(degree=2).fit` on a Dask dataframe of 3,000,000 rows of the
same file on a `LocalCluster` with one thread a worker, the better of two runs.

    python dev.py bench benchmarks/partitions.py
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from _measure import say, write_page

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
GROUP = 250_000
COLUMNS = 20


def write(path, rows):
    """Write a table of so many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, rows, GROUP):
        X = rng.normal(size=(min(GROUP, rows - start), COLUMNS))
        y = X[:, 0] + 2 * X[:, 1] * X[:, 2] - X[:, 3] ** 2 + X[:, 4] * X[:, 5] / 2
        y += rng.normal(size=len(y))
        columns = {f"v{j:02d}": X[:, j] for j in range(COLUMNS)}
        table = pa.table({**columns, "target": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def streaming(folder):
    rows = []
    for size in SIZES:
        path = folder / f"{size}.parquet"
        write(path, size)
        options = ["--chunked", "--memory", "2GB", "--kernels", "linear", "--quiet"]
        start = "from manykernels.cli import main; main()"
        command = ["-c", start, "fit", str(path), "--target", "target", *options]
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(output)
        seconds = time.perf_counter() - began
        score = next(line for line in output.splitlines() if "this model" in line).split()[2]
        rows.append(
            {
                "rows": f"{size:,}",
                "file, MB": path.stat().st_size / 1e6,
                "seconds": seconds,
                "peak memory, MB": usage.ru_maxrss / 1024,
                "held-out R2": score,
            }
        )
        say("streaming", rows[-1])
        if size != 3_000_000:
            path.unlink()
    return pd.DataFrame(rows)


def workers(path):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from manykernels import MKLRegressor

    rows = []
    for count in (1, 2):
        options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
        with (
            LocalCluster(processes=True, memory_limit="2GB", **options) as cluster,
            Client(cluster),
        ):
            frame = dd.read_parquet(path, split_row_groups=True)
            X, y = frame.drop(columns="target"), frame["target"]
            seconds = []
            for _ in range(3):
                began = time.perf_counter()
                model = MKLRegressor(alpha=1e-3, degree=2).fit(X, y)
                seconds.append(time.perf_counter() - began)
        rows.append(
            {
                "workers": count,
                "rows": "3,000,000",
                "seconds": min(seconds[1:]),
                "objective": f"{model.objective_:.6f}",
            }
        )
        rows[-1]["times faster"] = rows[0]["seconds"] / rows[-1]["seconds"]
        say("workers", rows[-1])
    return pd.DataFrame(rows)


def rates():
    """Return rows a second on one core of the passes, by number of features."""
    from threadpoolctl import threadpool_limits

    from manykernels.families import ProductFamily
    from manykernels.kernels import resolve
    from manykernels.losses import Squared
    from manykernels.passes import Block, PartsModel, Recipe
    from manykernels.passes.sums import sums_at

    rows = []
    for columns, n in ((20, 200_000), (50, 50_000)):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n, columns)), rng.normal(size=n)
        kernels = resolve("linear", [f"v{j}" for j in range(columns)], 2)
        bases = kernels.fit(X[:1], X[:1])
        family = ProductFamily(bases.without_rows(), 2)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        design = Recipe(kernels, mean, scale, family, Squared(), np.empty(0), 0.0, float(n))
        indices = family.indices()
        block = Block(X, y, np.ones(n))
        few = PartsModel(indices[:50], np.zeros((50, 1)), np.zeros(1))
        every = PartsModel(indices, np.zeros((len(indices), 1)), np.zeros(1))
        for what, arguments in (
            ("products of all features", (every, False, 1e-3)),
            ("pricing, 50 kernels in use", (few, True, None)),
        ):
            with threadpool_limits(1):
                sums_at(block, design, *arguments)
                began = time.perf_counter()
                sums_at(block, design, *arguments)
                seconds = time.perf_counter() - began
            sent = len(indices) ** 2 if arguments[2] else columns**2
            rows.append(
                {
                    "columns": columns,
                    "kernels": len(indices),
                    "pass": what,
                    "rows a second and core": round(n / seconds),
                    "MB sent by a part": 8 * sent / 1e6,
                }
            )
            say("rates", rows[-1])
    return pd.DataFrame(rows)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        streamed = streaming(folder)
        clustered = workers(folder / "3000000.parquet")
    measured = rates()
    logs = np.log(SIZES), np.log(streamed["seconds"])
    slope = float(np.polyfit(*logs, 1)[0])
    last = float(np.polyfit(logs[0][-3:], logs[1][-3:], 1)[0])
    text = "\n\n".join(__doc__.split("\n\n")[1:2]) + (
        f"\n\nSlope of log seconds on log rows: {slope:.2f} over all sizes, {last:.2f} over the "
        f"three largest. Largest peak: {streamed['peak memory, MB'].max():,.0f} MB."
    )
    tables = [
        ("Streaming a Parquet file", streamed),
        ("One worker and two", clustered),
        ("What a pass does", measured),
    ]
    write_page("partitions", "Rows in partitions", text, tables, "partitions.py")


if __name__ == "__main__":
    main()
