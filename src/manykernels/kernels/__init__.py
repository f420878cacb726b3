"""Base kernels by name or by function, and the columns each one sees."""

from .argument import KERNEL_FUNCTIONS
from .base import KernelSet
from .functions import Precomputed, check_gram, rbf, refuse_large
from .matrices import FunctionKernels, PairwiseKernel
from .sets import (
    LinearKernels,
    MapKernels,
    alternatives,
    only_linear,
    resolve,
    uses_maps,
    uses_widths,
)
from .widths import WidthKernels

__all__ = [
    "KERNEL_FUNCTIONS",
    "FunctionKernels",
    "KernelSet",
    "LinearKernels",
    "MapKernels",
    "PairwiseKernel",
    "Precomputed",
    "WidthKernels",
    "alternatives",
    "check_gram",
    "only_linear",
    "rbf",
    "refuse_large",
    "resolve",
    "uses_maps",
    "uses_widths",
]
