r"""Base kernels :math:`K_1, \dots, K_r` on n rows: features in blocks of columns, or Gram matrices.

Both representations offer the same: sums of products of base kernels, and what sampling and
enumeration need to build products factor by factor. A *state* stands for the matrix
:math:`M = (\alpha\alpha^\top) \odot K_{j_1} \odot \dots` of a prefix of a product; its form belongs
to the representation. :math:`\langle A, B\rangle` is the sum of the entries of :math:`A \odot B`.
"""

from .cross import CrossBlocks
from .features import FeatureBlocks
from .grams import GramStack
from .term_rows import TermRows
from .width_rows import SHAPES, TERMS, WidthKernel, WidthRows

__all__ = [
    "SHAPES",
    "TERMS",
    "BaseKernels",
    "Bases",
    "Cross",
    "CrossBlocks",
    "FeatureBlocks",
    "GramStack",
    "TermRows",
    "WidthKernel",
    "WidthRows",
]

BaseKernels = FeatureBlocks | GramStack
"""Base kernels in either representation: ``explicit`` ones have features, and of ``single`` ones
every kernel has exactly one."""

Bases = BaseKernels | WidthRows
"""What families of kernels are made of: base kernels, or columns whose kernels have free widths."""

Cross = CrossBlocks | GramStack
"""Base kernels evaluated between two sets of rows: ``kernel(j)`` and ``power_sum(k)``, (n, m)."""
