"""Families of kernels: all products of base kernels, finite lists, and weighted ones."""

from .base import Draw, GradientField, KernelFamily
from .index_sets import IndexSet, Interactions, Monomials, Tuples
from .lists import ListFamily
from .products import ProductFamily
from .weighted import WeightedFamily

__all__ = [
    "Draw",
    "GradientField",
    "IndexSet",
    "Interactions",
    "KernelFamily",
    "ListFamily",
    "Monomials",
    "ProductFamily",
    "Tuples",
    "WeightedFamily",
]
