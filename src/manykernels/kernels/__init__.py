"""Base kernels by name or by function, and the columns each one sees."""

from .argument import KERNEL_FUNCTIONS
from .base import KernelSet
from .functions import Precomputed, check_gram, rbf, refuse_large
from .matrices import FunctionKernels, PairwiseKernel
from .sets import (
    KERNEL_NAMES,
    LinearKernels,
    MapKernels,
    alternatives,
    both_parts,
    only_categories,
    only_linear,
    resolve,
    uses_maps,
    uses_widths,
)
from .widths import BothKernels, WidthKernels

__all__ = [
    "KERNEL_FUNCTIONS",
    "KERNEL_NAMES",
    "BothKernels",
    "FunctionKernels",
    "KernelSet",
    "LinearKernels",
    "MapKernels",
    "PairwiseKernel",
    "Precomputed",
    "WidthKernels",
    "alternatives",
    "both_parts",
    "check_gram",
    "only_categories",
    "only_linear",
    "rbf",
    "refuse_large",
    "resolve",
    "uses_maps",
    "uses_widths",
]
