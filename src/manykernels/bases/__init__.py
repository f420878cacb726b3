"""Representations of the base kernels: features in blocks of columns, or Gram matrices."""

from .base import BaseKernels
from .features import CrossBlocks, FeatureBlocks
from .grams import GramStack

__all__ = ["BaseKernels", "Cross", "CrossBlocks", "FeatureBlocks", "GramStack"]

Cross = CrossBlocks | GramStack
"""Base kernels evaluated between two sets of rows: ``kernel(j)`` and ``power_sum(k)``, (n, m)."""
