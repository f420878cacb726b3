"""Tables of all kinds of columns as tables of numbers."""

from .columns import MOST_NAMED, Category, Column, Moment, Number, TableError, missing_column
from .encoder import TableEncoder, learnt_encoder
from .given import as_frame, filled, is_table, not_plain
from .subjects import repeated_subjects

__all__ = [
    "MOST_NAMED",
    "Category",
    "Column",
    "Moment",
    "Number",
    "TableEncoder",
    "TableError",
    "as_frame",
    "filled",
    "is_table",
    "learnt_encoder",
    "missing_column",
    "not_plain",
    "repeated_subjects",
]
