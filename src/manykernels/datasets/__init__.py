"""The data of the paper's experiments: six real data sets and its synthetic polynomials."""

from .facts import PaperSplit
from .paper import load_paper
from .polynomials import make_sparse_polynomial

__all__ = ["PaperSplit", "load_paper", "make_sparse_polynomial"]
