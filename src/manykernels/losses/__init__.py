"""Losses with value, derivative, convex conjugate and, for some, a probability.

A new loss is one small frozen dataclass with the methods of
:class:`~manykernels.losses.base.SmoothLoss` or
:class:`~manykernels.losses.base.NonsmoothLoss`; pass an instance as ``loss=``.
"""

from .base import Loss, NonsmoothLoss, ProbabilisticLoss, SmoothLoss
from .classification import Hinge, Logistic, SquaredHinge, class_losses, log_chances
from .own import depends_on_errors, refuse_unsound
from .regression import EpsilonInsensitive, Huber, Squared

BY_NAME: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}

__all__ = [
    "BY_NAME",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NonsmoothLoss",
    "ProbabilisticLoss",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "class_losses",
    "depends_on_errors",
    "log_chances",
    "refuse_unsound",
]
