"""Features of columns: smooth functions, orthogonal polynomials, Gaussian kernels, categories."""

from .columns import (
    Categorical,
    Centred,
    FeatureMap,
    Polynomial,
    Spline,
    affordable_functions,
    choose_maps,
    even_scale,
)
from .nystroem import Nystroem

__all__ = [
    "MAPS",
    "Categorical",
    "Centred",
    "FeatureMap",
    "Nystroem",
    "Polynomial",
    "Spline",
    "affordable_functions",
    "choose_maps",
    "even_scale",
]

MAPS = {kind.name: kind for kind in (Spline, Polynomial, Nystroem, Categorical)}
"""Feature maps by their names in the ``kernels`` argument."""
