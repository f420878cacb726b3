"""Features of columns: smooth functions, orthogonal polynomials, Gaussian kernels, categories."""

from .base import Centred, FeatureMap, even_weights
from .columns import (
    Categorical,
    Polynomial,
    affordable_functions,
    choose_maps,
    features_of_maps,
    fit_maps,
)
from .nystroem import Nystroem
from .scales import differ, even_scale, ranks_of
from .splines import Spline

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
    "differ",
    "even_scale",
    "even_weights",
    "features_of_maps",
    "fit_maps",
    "ranks_of",
]

MAPS = {kind.name: kind for kind in (Spline, Polynomial, Nystroem, Categorical)}
"""Feature maps by their names in the ``kernels`` argument."""
