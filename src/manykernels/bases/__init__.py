"""Representations of the base kernels: features in blocks of columns, or Gram matrices."""

from .base import BaseKernels, Cross
from .features import CrossBlocks, FeatureBlocks
from .grams import GramStack

__all__ = ["BaseKernels", "Cross", "CrossBlocks", "FeatureBlocks", "GramStack"]
