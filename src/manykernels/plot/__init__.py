"""Figures of fitted models, as displays in the style of scikit-learn.

A display's ``from_estimator`` computes what is drawn, draws it and returns the display; its
attributes hold the numbers, and ``plot`` draws them again, on other axes if asked to. Matplotlib is
imported when something is drawn. Colours can be told apart by everybody and are of middle
brightness, for white and dark pages.
"""

from .calibration import CalibrationDisplay
from .contributions import ContributionsDisplay
from .convergence import ConvergenceDisplay
from .effect import EffectDisplay
from .heatmap import HeatmapDisplay
from .network import NetworkDisplay
from .path import PathDisplay
from .predictions import PredictionsDisplay
from .terms import TermsDisplay

__all__ = [
    "CalibrationDisplay",
    "ContributionsDisplay",
    "ConvergenceDisplay",
    "EffectDisplay",
    "HeatmapDisplay",
    "NetworkDisplay",
    "PathDisplay",
    "PredictionsDisplay",
    "TermsDisplay",
]
