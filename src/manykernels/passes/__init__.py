"""Fits to rows in parts by passes over them: moments, working sets, quadratics in memory."""

from .choice import fits_of, is_quick, refusal
from .moments import Moments, compressed
from .sums import Block, PartsModel, Recipe, Totals

__all__ = [
    "Block",
    "Moments",
    "PartsModel",
    "Recipe",
    "Totals",
    "compressed",
    "fits_of",
    "is_quick",
    "refusal",
]
