"""Work on the host that goes on several threads: NumPy computes without Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

T = TypeVar("T")
"""What a piece of work gives."""


def side_by_side(work: Callable[..., T], *arguments: Iterable[object]) -> Iterator[T]:
    """Yield ``work`` of each set of arguments, on as many threads as BLAS may use."""
    threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if max(threads, default=1) == 1:
        yield from map(work, *arguments)
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads)) as pool:
        yield from pool.map(work, *arguments)
