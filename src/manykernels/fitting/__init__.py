"""From a specification and rows to a fitted function: cross-validation, paths, the fit itself."""

from .choose import Candidate
from .crossval import Choice
from .fit import Outcome, fit
from .folds import FoldModel

__all__ = ["Candidate", "Choice", "FoldModel", "Outcome", "fit"]
