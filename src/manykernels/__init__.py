"""Multiple kernel learning over exponentially many product kernels.

``MKLRegressor`` and ``MKLClassifier`` learn a predictor together with a combination of all
products of up to D base kernels, without listing them, and say how far from optimal they are;
``MKLRegressorCV`` and ``MKLClassifierCV`` also choose how strongly to penalise.
"""

from .estimators import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from .store import load

__version__ = "0.1.0"

__all__ = [
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLRegressor",
    "MKLRegressorCV",
    "__version__",
    "load",
]
