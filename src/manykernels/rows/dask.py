"""Rows in Dask arrays and dataframes. Only this file and ``beside.py`` know Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any

import numpy as np

from ..arrays import Array
from ..inputs import no_table, refuse_complex, refuse_masked, unboxed
from ..passes import Block
from .beside import TARGET, WEIGHT, laid_beside, of_columns, other_partitions, refuse_times

FAN_IN = 8
"""Results of parts that are added up in one task of the tree of sums. Set by judgement."""

LOOK_SECONDS = 1.0
"""Seconds between two looks at whether workers have died. Set by judgement: a look takes some
milliseconds."""


def is_partitioned(X: Any) -> bool:
    """Tell whether rows are a Dask array or dataframe."""
    return "dask" in sys.modules and type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def refuse_no_rows(values: Any, name: str) -> None:
    """Raise TypeError for a Dask collection without rows of numbers: a bag, something delayed."""
    kind = type(values)
    if is_partitioned(values) and kind.__module__.split(".")[1:2] in (["bag"], ["delayed"]):
        raise TypeError(
            f"{name} must be a Dask array or dataframe; got a {kind.__name__}. Make it one, for "
            f"instance with dask.array.from_delayed, or use {name}.compute()."
        )


def _dask() -> Any:
    import dask

    return dask


class Parts:
    """Rows in parts, and sums over them.

    Parameters
    ----------
    blocks : list of Delayed
        The parts; each computes to a :class:`Block`.
    used : list of ndarray of bool, optional
        Which rows of each part are used; all by default.
    """

    def __init__(self, blocks: list[Any], used: list[Array] | None = None) -> None:
        self.blocks, self.used = blocks, used

    def some(self, used: Array, counts: Sequence[int]) -> Parts:
        """Return the rows of a mask over all of them, given how many each part has."""
        return Parts(self.blocks, np.split(used, np.cumsum(counts)[:-1]))

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over parts of what a function of a block and arguments gives.

        One pass. Sums travel, rows do not.
        """
        dask = _dask()
        common = dask.delayed(tuple(arguments), traverse=False)
        everything: list[Any] = [None] * len(self.blocks)
        masks = everything if self.used is None else self.used
        results = [
            dask.delayed(_apply)(function, block, mask, common)
            for block, mask in zip(self.blocks, masks, strict=True)
        ]
        while len(results) > 1:
            groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
            results = [dask.delayed(_added)(group) for group in groups]
        return _computed(results[0])


def _apply(function: Any, block: Block, used: Array | None, arguments: tuple[Any, ...]) -> Any:
    return function(block.some(used), *arguments)


def _added(parts: list[Any]) -> Any:
    return reduce(add, parts)


def _computed(task: Any) -> Any:
    """Return what a task gives; an error that says what to do where workers die again and again."""
    with _memory_errors():
        client = _client()
        return _dask().compute(task)[0] if client is None else _watched(client, task)


def _client() -> Any:
    """Return the client of the cluster that Dask works on at present; None if it is none."""
    client: Any = getattr(_dask().base.get_scheduler(), "__self__", None)
    known = type(client).__module__.split(".")[0] == "distributed"
    return client if known and not client.asynchronous else None


def _watched(client: Any, task: Any) -> Any:
    """Return what a task gives on a cluster whose workers do not die too often.

    Dask ends a computation when a *task* was on more dying workers than are allowed. Workers that
    die between tasks, or as soon as they are there, are replaced for ever, and where none comes
    back Dask waits. Here the deaths in one pass are counted, too.
    """
    from dask import config
    from dask.utils import parse_timedelta

    wait: Any = import_module("distributed").wait
    retries = int(config.get("distributed.scheduler.allowed-failures"))
    patience = parse_timedelta(config.get("distributed.comm.timeouts.connect"))
    most = (retries + 1) * max(1, len(client.nthreads()))
    known = max((when for when, _ in client.get_events("all")), default=0.0)
    future, alone = client.compute(task), 0.0
    try:
        while True:
            try:
                wait(future, timeout=LOOK_SECONDS)
                return future.result()
            except TimeoutError:
                if future.done():  # an error of the task itself
                    raise
            deaths = _deaths(client, known)
            if deaths >= most:
                raise MemoryError(
                    f"workers of the cluster died {deaths} times in one pass over the rows, as "
                    f"often as distributed.scheduler.allowed-failures={retries} lets all of them. "
                    f"{_WAY_OUT}"
                )
            alone = alone + LOOK_SECONDS if deaths and not client.nthreads() else 0.0
            if alone > patience:
                raise MemoryError(
                    f"the cluster has had no workers for {alone:.0f} s, after {deaths} of them "
                    f"died. {_WAY_OUT}"
                )
    finally:
        future.release()


def _deaths(client: Any, known: float) -> int:
    """Return how many workers were lost since a time of the scheduler, but for those let go."""
    events = [event for when, event in client.get_events("all") if when > known]
    return sum(one.get("action") == "remove-worker" and not one.get("expected") for one in events)


_WAY_OUT = (
    "Most likely they lack memory: use smaller partitions (X.rechunk or X.repartition), fewer "
    "threads a worker, or workers with more memory. Or they are killed from outside: look at their "
    "logs."
)


class _memory_errors:  # noqa: N801 a context manager, used like a function
    """Turn the death of workers into an error that says what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and kind.__name__ == "KilledWorker":
            raise MemoryError(
                "workers of the cluster died again and again on the same part of the rows. "
                + _WAY_OUT
            ) from error


def parts_of_blocks(make: Callable[..., Block], arguments: Sequence[tuple[Any, ...]]) -> Parts:
    """Return parts that are made by a function, each from arguments of its own, when needed."""
    return Parts([_dask().delayed(make)(*own) for own in arguments])


def parts_of(X: Any, y: Any, sample_weight: Any) -> Parts:
    """Return Dask rows as parts; y and weights may also be ordinary arrays."""
    dask = _dask()
    if hasattr(X, "columns"):
        X = of_columns(X, _empty)
    if hasattr(y, "columns") and y.ndim == 2 and len(y.columns) == 1:
        y = y[y.columns[0]]
    lazy = [X, y] if sample_weight is None else [X, y, sample_weight]
    if hasattr(X, "assign") and all(hasattr(one, "map_partitions") for one in lazy):
        return _frame_parts(X, y, sample_weight)
    blocks = _delayed(X)
    columns = [
        [None] * len(blocks) if values is None else _aligned(values, name, X, len(blocks))
        for name, values in (("y", y), ("sample_weight", sample_weight))
    ]
    return Parts(
        [dask.delayed(_block)(*row, X.shape[1]) for row in zip(blocks, *columns, strict=True)],
    )


def _frame_parts(X: Any, y: Any, sample_weight: Any) -> Parts:
    """Return a dataframe and columns beside it as parts; see ``beside.py``."""
    whole = laid_beside(X, {TARGET: y, WEIGHT: sample_weight}, _empty)
    delayed = _dask().delayed
    return Parts([delayed(_frame_block)(part) for part in whole.to_delayed()])


def _empty(collection: Any) -> Any:
    """Return a collection's kinds of columns, without rows."""
    dispatch: Any = import_module("dask.dataframe.dispatch")
    return dispatch.make_meta(collection)


def _frame_block(frame: Any) -> Block:
    weights = frame.pop(WEIGHT) if WEIGHT in frame else None
    y = frame.pop(TARGET)
    return _block(frame, y, weights, frame.shape[1])


def _delayed(values: Any) -> list[Any]:
    if hasattr(values, "rechunk") and values.ndim == 2:
        values = values.rechunk({1: -1})
    return list(np.ravel(values.to_delayed()))


def _aligned(values: Any, name: str, X: Any, count: int) -> list[Any]:
    if is_partitioned(values):
        found = _delayed(values)
        if len(found) != count:
            raise ValueError(other_partitions(name, len(found), count))
        return found
    dask = _dask()
    lengths = _computed(dask.delayed(list)([dask.delayed(len)(block) for block in _delayed(X)]))
    host = np.asarray(values)
    if len(host) != sum(lengths):
        raise ValueError(
            f"{name} must have a value for each row of X; got {len(host)} for {sum(lengths)} rows. "
            "Take both from one table."
        )
    return list(np.split(host, np.cumsum(lengths)[:-1]))


def _block(X: Any, y: Any, weights: Any, width: int) -> Block:
    rows = _numbers(X)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"partitions of X must have its {width} columns; got one of shape {rows.shape}. Read "
            "or make them anew."
        )
    refuse_masked(y, "y")
    labels = unboxed(np.asarray(y))
    if labels.dtype.kind in "iu":
        labels = labels.astype(np.int64)
    own = np.ones(len(rows)) if weights is None else _numbers(weights, "sample_weight")
    for name, values in (("y", labels), ("sample_weight", own)):
        if values.size != len(rows):
            raise ValueError(
                f"{name} must have one value for each row of X; got shape {values.shape} for "
                f"{len(rows)} rows of a partition. Make both from one dataframe."
            )
    return Block(rows, labels.reshape(len(rows)), own.reshape(len(rows)))


def _numbers(values: Any, name: str = "X") -> Array:
    """Return values as floats, NaN where they are missing."""
    refuse_masked(values, name)
    refuse_complex(values, name)
    refuse_times(values, name)
    try:
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
        return np.asarray(values, dtype=float)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            no_table(values) or f"{name} must hold numbers in all partitions."
        ) from None


def lazily(method: Callable[[Any], Array], X: Any, row: Any) -> Any:
    """Return a Dask array of predictions, one part for each part of X, computed when asked for.

    ``row`` is a single row in memory, by which to learn the shape of predictions.
    """
    example = method(row)
    empty = example[:0]
    if hasattr(X, "map_partitions") and not hasattr(X, "map_blocks"):
        rows = X.map_partitions(_predicted, method, empty, meta=empty)
        return rows if hasattr(rows, "chunks") else rows.to_dask_array()
    X = X.rechunk({1: -1})
    options: dict[str, Any] = {"drop_axis": 1} if example.ndim == 1 else {}
    if example.ndim == 2:
        options["chunks"] = (X.chunks[0], (example.shape[1],))
    return X.map_blocks(_predicted, method, empty, dtype=example.dtype, meta=empty, **options)


def _predicted(rows: Any, method: Callable[[Any], Array], empty: Array) -> Array:
    return np.asarray(method(rows)) if len(rows) else empty


def at_a_time(workers: int) -> Any:
    """Return a context in which parts are worked on by a few threads of this process."""
    from dask import config

    return config.set(scheduler="threads", num_workers=workers)
