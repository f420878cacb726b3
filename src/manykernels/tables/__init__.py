"""Tables as people have them: files, columns of all kinds, and models that know their columns."""

from .columns import Category, Encoder, Moment, Number, TableError
from .fitting import Settings, Split, fit_table, split_table
from .model import TableModel
from .reading import read

__all__ = [
    "Category",
    "Encoder",
    "Moment",
    "Number",
    "Settings",
    "Split",
    "TableError",
    "TableModel",
    "fit_table",
    "read",
    "split_table",
]
