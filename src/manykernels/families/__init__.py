"""Families of kernels: products, finite lists, weighted and standardised ones, free widths."""

from .base import Draw, GradientField, KernelFamily
from .index_sets import IndexSet, Interactions, Monomials, Tuples
from .lists import ListFamily
from .products import ProductFamily
from .standardized import KernelSpreads, KnownSpreads, StandardizedFamily, TrainingSpreads
from .weighted import WeightedFamily
from .widths import CellFamily, Gamma, LogUniform, WidthFamily, WidthGrid, WidthLaw, cell_family

__all__ = [
    "CellFamily",
    "Draw",
    "Gamma",
    "GradientField",
    "IndexSet",
    "Interactions",
    "KernelFamily",
    "KernelSpreads",
    "KnownSpreads",
    "ListFamily",
    "LogUniform",
    "Monomials",
    "ProductFamily",
    "StandardizedFamily",
    "TrainingSpreads",
    "Tuples",
    "WeightedFamily",
    "WidthFamily",
    "WidthGrid",
    "WidthLaw",
    "cell_family",
]
