"""Tables as people have them: files, columns of all kinds, and models that know their columns."""

from ..frames import Category, Moment, Number, TableEncoder, TableError
from .chunked import fit_chunked, memory_size
from .fitting import Settings, Split, fit_table, split_table
from .judging import judge_terms
from .model import TableModel
from .reading import read
from .surplus import TableWarning

__all__ = [
    "Category",
    "Moment",
    "Number",
    "Settings",
    "Split",
    "TableEncoder",
    "TableError",
    "TableModel",
    "TableWarning",
    "fit_chunked",
    "fit_table",
    "judge_terms",
    "memory_size",
    "read",
    "split_table",
]
