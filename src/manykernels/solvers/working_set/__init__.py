"""p = 1: a working set of kernels, grown by exact pricing of the whole family.

``solver`` has the rounds and the methods that find the optimum over a set: ``blocks`` for kernels
of several features, ``restricted`` for few features, ``interior`` for many.
"""

from .solver import WorkingSet

__all__ = ["WorkingSet"]
