"""scikit-learn estimators."""

from .classifier import MKLClassifier
from .regressor import MKLRegressor

__all__ = ["MKLClassifier", "MKLRegressor"]
