"""The kernels of largest gradient in a family, without holding the gradients of all.

For products, in stages: ``layout`` cuts them in two, ``tables`` multiplies the halves, ``spreads``
says how much kernels vary over the rows, ``search`` finds the best; all in one ``Precision``.
"""

from .limits import SIDE_ENTRIES
from .search import ProductPricer
from .shortlist import ListPricer, Pricer, Shortlist, pricer

__all__ = ["SIDE_ENTRIES", "ListPricer", "Pricer", "ProductPricer", "Shortlist", "pricer"]
