"""The kernels of largest gradient in a family, without holding the gradients of all.

For products, in stages: ``tables`` cuts them in two (``Layout``) and multiplies the halves
(``Tables``), all in one ``Precision``; ``spreads`` says how much kernels vary over the rows;
``search`` finds the best.
"""

from .search import ListPricer, Pricer, ProductPricer, Shortlist, pricer

__all__ = ["ListPricer", "Pricer", "ProductPricer", "Shortlist", "pricer"]
