"""What the paper compares with, and what a practitioner of today would use."""

from .hierarchical import HierarchicalKernelLearning, HierarchicalKernelLearningClassifier
from .lp_norm import LpNormMKL, LpNormMKLClassifier
from .monomial_lasso import MonomialLasso
from .powers import (
    PolynomialCombination,
    UniformProductKernel,
    UniformProductKernelClassifier,
)
from .uniform_coordinate import UniformCoordinateDescent, UniformCoordinateDescentClassifier

__all__ = [
    "HierarchicalKernelLearning",
    "HierarchicalKernelLearningClassifier",
    "LpNormMKL",
    "LpNormMKLClassifier",
    "MonomialLasso",
    "PolynomialCombination",
    "UniformCoordinateDescent",
    "UniformCoordinateDescentClassifier",
    "UniformProductKernel",
    "UniformProductKernelClassifier",
]
