"""Representations of the base kernels: features in blocks of columns, or Gram matrices."""

from .base import Array, BaseKernels, Cross, Index
from .features import CrossBlocks, FeatureBlocks
from .grams import GramStack

__all__ = ["Array", "BaseKernels", "Cross", "CrossBlocks", "FeatureBlocks", "GramStack", "Index"]
