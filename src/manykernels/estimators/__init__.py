"""scikit-learn estimators."""

from .classifier import MKLClassifier, MKLClassifierCV
from .regressor import MKLRegressor, MKLRegressorCV

__all__ = ["MKLClassifier", "MKLClassifierCV", "MKLRegressor", "MKLRegressorCV"]
