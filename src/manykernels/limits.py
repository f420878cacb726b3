"""What the library affords: thresholds of memory, work and time, each with its unit and origin.

A threshold decides between ways that give the same answer, or refuses work that would not end.
Settings of methods (patience, tolerances, batch sizes) stay beside the method.
"""

# Rows and passes over them --------------------------------------------------------------------

ONE_THREAD_ROWS = 2_000
"""Largest number of rows for which a fit runs on one BLAS thread: with two it took 2 to 5 times as
long there (``benchmarks/choices.py``)."""

SPLIT_ROWS = 5_000
"""Number of rows from which on a fifth of them, held out once, replaces five folds: its score is
precise enough to compare models by. Set by judgement, not measured."""

PATH_FEATURES = 8_000
"""A path ends with a model of more features than this: the next models take minutes and seldom
pay. Set by judgement, not measured."""

MAP_ROWS = 100_000
"""Rows in parts that feature maps are fitted to, drawn from all parts; all rows if there are fewer.
Set by judgement, not measured."""

PART_ENTRIES = 2**22
"""Numbers (32 MB) of the features that are made at a time: a part is worked on in blocks of rows
of that size. Set by judgement, not measured."""

MOST_FEATURES = 1_500
"""Largest number of features whose products are all made in one pass over rows in parts: 18 MB a
worker, and some seconds for the eigenproblem. Set by judgement, not measured."""

MOST_ENTRIES = 2e7
"""Most inner products (160 MB) that a pricing brings from the workers. Set by judgement, not
measured."""

# Families, base kernels and their features ----------------------------------------------------

# Solvers and dual problems --------------------------------------------------------------------

# Competitors, tables, reports and figures -----------------------------------------------------
