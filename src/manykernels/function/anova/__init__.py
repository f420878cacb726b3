"""The functional ANOVA of functions of kernels with widths: a sum of terms of few columns each."""

from .model import ProductKernel, WidthModel
from .search import Anova, decompose
from .spline_part import SplinePart
from .terms import AnovaTerms

__all__ = ["Anova", "AnovaTerms", "ProductKernel", "SplinePart", "WidthModel", "decompose"]
