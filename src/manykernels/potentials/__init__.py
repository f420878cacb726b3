"""Potentials of mirror descent and their projections on the positive part of the l_nu ball."""

from .base import Potential, bregman
from .entropy import Entropy
from .power import Euclidean, PowerNorm, power_norm

__all__ = ["Entropy", "Euclidean", "Potential", "PowerNorm", "bregman", "power_norm"]
