"""Kernels of columns with free widths: a continuum, its mass, exact draws and ascent."""

from .ascent import score_and_gradient

__all__ = ["score_and_gradient"]
