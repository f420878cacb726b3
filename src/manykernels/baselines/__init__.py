"""What the paper compares with, and what a practitioner of today would use."""

from .hierarchical import HierarchicalKernelLearning, HierarchicalKernelLearningClassifier
from .lp_norm import LpNormMKL, LpNormMKLClassifier
from .monomial_lasso import MonomialLasso
from .polynomial_combination import PolynomialCombination
from .uniform_coordinate import UniformCoordinateDescent, UniformCoordinateDescentClassifier
from .uniform_product import UniformProductKernel, UniformProductKernelClassifier

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
