"""p = 1 over kernels whose widths are free: a continuum of kernels."""

from .search import WidthSearch

__all__ = ["WidthSearch"]
