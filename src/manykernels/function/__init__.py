"""The learnt function: predictions, the kernel, terms and their contributions."""

from .anova import AnovaTerms
from .function import Function
from .importance import mattering, together
from .predictor import Learnt, Predictor, make_predictor, scaled, without_shares
from .terms import Terms

__all__ = [
    "AnovaTerms",
    "Function",
    "Learnt",
    "Predictor",
    "Terms",
    "make_predictor",
    "mattering",
    "scaled",
    "together",
    "without_shares",
]
