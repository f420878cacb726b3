"""Kernels of columns with free widths: a continuum, its mass, exact draws, cells and ascent.

``laws`` says how widths are distributed; ``layers`` adds up and draws products of one-column
kernels, and ``radial`` makes radial kernels of them; ``family`` is the continuum, ``cells`` a
finite family in its place, and ``ascent`` the way uphill from a kernel.
"""

from .cells import CellFamily, cell_family, cell_kernels
from .family import WidthFamily, WidthField
from .laws import Gamma, LogUniform, WidthGrid, WidthLaw
from .radial import ROUGH_MIXTURE, radial_nodes

__all__ = [
    "ROUGH_MIXTURE",
    "CellFamily",
    "Gamma",
    "LogUniform",
    "WidthFamily",
    "WidthField",
    "WidthGrid",
    "WidthLaw",
    "cell_family",
    "cell_kernels",
    "radial_nodes",
]
