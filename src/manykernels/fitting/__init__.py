"""From a specification and rows to a fitted function: cross-validation, paths, the fit itself."""

from .choose import Candidate
from .crossval import Choice, FoldModel
from .fit import Outcome, fit

__all__ = ["Candidate", "Choice", "FoldModel", "Outcome", "fit"]
