"""Potentials of mirror descent and their projections on the positive part of the l_nu ball."""

from .entropy import Entropy
from .power import Potential, PowerNorm, power_norm

__all__ = ["Entropy", "Potential", "PowerNorm", "power_norm"]
