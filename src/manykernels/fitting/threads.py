"""How many BLAS threads a fit may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from ..rows import Rows

ONE_THREAD_ROWS = 2_000
"""Largest number of rows for which a fit runs on one BLAS thread: with two it took 2 to 5 times as
long there (``benchmarks/choices.py``)."""


def threads_for(rows: Rows) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread where the matrix products of a fit are too small for more."""
    few = rows.in_memory and rows.count <= ONE_THREAD_ROWS
    return threadpool_limits(1, user_api="blas") if few else nullcontext()
