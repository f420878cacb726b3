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

WORK_LIMIT = 2e11
"""Multiplications of one pricing of the family, or of one full pass, up to which it is affordable:
some ten seconds."""

REFUSED_FACTOR = 100.0
"""Factor by which a solver that was asked for may exceed ``WORK_LIMIT`` before it is refused: some
quarter of an hour for one step. Set by judgement, not measured."""

LISTED_LIMIT = 2_000_000
"""Number of kernels up to which a list of all is affordable. Set by judgement, not measured."""

DEVICE_FACTOR = 100.0
"""Factor by which a device other than the host affords more multiplications. An order of
magnitude, see ``benchmarks/gpu.py``."""

ENTRYWISE_FACTOR = 5.0
"""Factor by which entrywise products of matrices take longer than matrix products of as many
multiplications. An order of magnitude, set by judgement."""

EXACT_WORK = 2e9
"""Multiplications up to which a final certificate computes the gradient of every kernel. Set by
judgement, not measured."""

EXACT_SIZE = 10_000_000
"""Most gradients that a certificate holds at a time: 80 megabytes."""

LISTED_KERNELS = 10_000
"""Number of kernels up to which a result of p = 2 lists the whole family. Set by judgement, not
measured."""

KEPT_BYTES = 2**30
"""Bytes up to which the features of all kernels are kept from one full pass to the next; beyond it
they are made anew in each. One gigabyte fits in most machines; set by judgement, not measured."""

KERNEL_BYTES = 250
"""Bytes that a kernel of the list of all takes beside its features: its index (a tuple), its weight
and its gradient. An estimate, not measured."""

TALL_BYTES = 16 * 2**20
"""Bytes up to which features are held whole, unless more are allowed for; beyond it a block of rows
is made at a time. Set by judgement, not measured."""

WIDE_KERNEL_BYTES = 2**30
"""Bytes up to which the features of kernels of several features are held whole: more than for
kernels of one feature, because making them again takes long. Set by judgement, not measured."""

PRODUCT_COLUMNS = 1_500
"""Number of features up to which the matrix of all their products is made and kept along a path of
p = 1: 18 megabytes. Set by judgement, not measured."""

RESCUED_ROWS = 3_000
"""Number of rows up to which interior points go on where descent over the kernels of a working set
has come to a halt. Set by judgement, not measured."""

INTERIOR_ROWS = 1_000
"""Number of rows up to which kernels of several features are left to interior points once there
are more than twice as many features. Set by judgement, not measured."""

ENTERING_FEATURES = 500
"""Number of features that may enter a working set in a round where kernels have several, or as many
as the set has if these are more. The value is set by judgement; that there is such a limit made
cross-validated fits of small tables 1.3 to 2.6 times faster (commit cd1ee49)."""

LIBSVM_ROWS = 5_000
"""Number of rows up to which a kernel matrix is made for libsvm. Set by judgement, not measured."""

# Competitors, tables, reports and figures -----------------------------------------------------
