"""Work on the host that goes on several threads: NumPy computes without Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

Together = Callable[..., list[Any]]
"""Takes a function and the lists of its arguments, as ``map`` does; returns the list of values."""


@cache
def _blas() -> ThreadpoolController:
    """Return the libraries with threads that are loaded; to look for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def side_by_side() -> Iterator[Together]:
    """Return what maps a function over arguments on as many threads as BLAS may use.

    While it does, BLAS itself uses one thread.
    """
    count = max((pool["num_threads"] for pool in _blas().info()), default=1)
    if count == 1:
        yield one_by_one
        return
    with ThreadPoolExecutor(count) as pool:

        def mapped(work: Callable[..., object], *arguments: Iterable[object]) -> list[Any]:
            here = copy_context()  # a thread keeps to the deadline of the fit

            def inside(*own: object) -> object:
                return here.copy().run(work, *own)

            with _blas().limit(limits=1):
                return [*pool.map(inside, *arguments)]

        yield mapped


def one_by_one(work: Callable[..., object], *arguments: Iterable[object]) -> list[Any]:
    """Return the values of a function, on this thread."""
    return [*map(work, *arguments)]
