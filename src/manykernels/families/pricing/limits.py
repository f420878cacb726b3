"""Sizes of the pieces of work that pricing is done in, and of what it keeps."""

from ...bases.features import CACHED_ROWS

__all__ = ["CACHED_ROWS"]

SPREAD_BYTES = 400 * 2**20
"""Bytes of spreads that are kept between calls, in half precision if they must; on a device a
quarter of its free memory, if that is more. Set by judgement, not measured."""

SIDE_ENTRIES = 2**27
"""Most numbers on one side of the matrix products: 1 GB. Set by judgement, not measured."""

PAIR_KERNELS = 256
"""Base kernels in one block of rows of the table of pairs. Set by judgement, not measured."""

PIECE_PRODUCTS = 2**17
"""Most products in one matrix product, on the host. Set by judgement, not measured."""

LEFT_ENTRIES = 2**21
"""Most numbers on the left of one matrix product, on the host. Set by judgement, not measured."""

DEVICE_PIECE_PRODUCTS, DEVICE_LEFT_ENTRIES = 2**24, 2**28
"""The same two limits on a device, which needs large pieces of work. The first was raised from
2**22 when pricing was measured on an H200 (docs/benchmarks/gpu.md)."""

KEPT_SCORES = 2**22
"""Most scores of one degree that are kept until the best are known; of more, the best rows are made
again. Set by judgement, not measured."""
