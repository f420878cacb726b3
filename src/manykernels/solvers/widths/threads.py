"""Work on the host that goes on several threads: NumPy computes without Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
"""What a piece of work gives."""


@cache
def _blas() -> ThreadpoolController:
    """Return the libraries with threads that are loaded; to look for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def side_by_side(work: Callable[..., T], *arguments: Iterable[object]) -> list[T]:
    """Return ``work`` of each set of arguments, on as many threads as BLAS may use."""
    threads = max((pool["num_threads"] for pool in _blas().info()), default=1)
    if threads == 1:
        return [*map(work, *arguments)]
    with _blas().limit(limits=1), ThreadPoolExecutor(threads) as pool:
        return [*pool.map(work, *arguments)]
