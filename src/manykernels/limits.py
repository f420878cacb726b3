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

PRICED_ENTRIES = 2.5e9
"""Work of one pricing up to which a free degree goes: rows times products of columns times
two to the degree. Paths of 200 rows of 2,000 columns at degree 2, 1.6e9, take ten processor seconds
with linear kernels and a minute with functions of columns."""

PLAIN_STRENGTH = 1e-3
"""Strength next to the mean loss where none is given or chosen. Set by judgement, not measured."""

JUDGED_ROWS = 5_000
"""Rows that kinds of models are compared on at the most. Set by judgement, not measured."""

WIDTH_ROWS = 40_000
"""Rows up to which kernels with free widths are tried by default: with 32,000 rows of kin40k a fit
with nothing set takes 91 processor seconds and 4.6 GB (docs/benchmarks/tables.md), and the solve on
all rows four times as much for twice the rows."""

WIDTH_COLUMNS = 600
"""Columns up to which kernels with free widths are tried by default: with 2,080 rows of the 500
columns of madelon a fit with nothing set takes 49 processor seconds (docs/benchmarks/tables.md)."""

PATH_FEATURES = 8_000
"""A path of kernels of one feature ends with a model of more of them than this: the next models
take minutes and seldom pay. Set by judgement, not measured."""

PATH_COLUMNS = 1_500
"""A path of kernels of several features ends with a model of more columns than this, of which a
kernel has a few. Without it bike_hourly, grid_stability and kin40k took two to three times as long
and up to 3 GB, for the same test scores (seed 0 of docs/benchmarks/tables.md)."""

MAP_ROWS = 100_000
"""Rows in parts that feature maps are fitted to, drawn from all parts; all rows if there are fewer.
Set by judgement, not measured."""

PART_ENTRIES = 2**22
"""Numbers (32 MB) of the features that are made at a time: a part is worked on in blocks of rows
of that size. Set by judgement, not measured."""

MOST_FEATURES = 1_500
"""Largest number of features whose products are all made in one pass over rows in parts: 18 MB a
worker, and some seconds for the eigenproblem. Set by judgement, not measured."""

MOMENT_WORK = 1e12
"""Rows in parts times squared features up to which a free degree goes where one pass makes all
products of features: a minute of one core, which makes 1.5e10 a second
(docs/benchmarks/partitions.md)."""

MOST_ENTRIES = 2e7
"""Most inner products (160 MB) that a pricing brings from the workers. Set by judgement, not
measured."""

# Families, base kernels and their features ----------------------------------------------------

DENSE_COLUMNS = 256
"""Columns of sparse features made dense at a time. Set by judgement, not measured."""

CACHED_ROWS = 8192
"""Rows that enter a matrix product at a time on the host, to stay in the processor's cache. Set by
judgement, not measured."""

PAIR_ENTRIES = 4_000_000
"""Numbers of the r x r table of pairs held at a time: 32 MB. Set by judgement, not measured."""

PAIR_COLUMNS = 128
"""Columns whose pairs with all later ones are one matrix product: the more, the more pairs are made
twice. Set by judgement, not measured."""

BATCH_ENTRIES = 2**20
"""Numbers of products' features made at a time: 8 MB. Set by judgement, not measured."""

HOST_BLOCK_BYTES = 2**20
"""Bytes of matrices' rows worked on at a time on the host, to stay in the processor's cache. Set by
judgement, not measured."""

DEVICE_BLOCK_BYTES = 2**31
"""Bytes of matrices' rows worked on at a time on a device. Set by judgement, not measured."""

POLYNOMIAL_BYTES = 256 * 2**20
"""Bytes that the symmetric polynomials, n x n matrices, may take, or half of the room of a family
if that is less; else they are made for some rows at a time. Set by judgement, not measured."""

LEAST_POLYNOMIAL_BYTES = 16 * 2**20
"""Bytes that they may take however little room there is. Set by judgement, not measured."""

ENUMERATION_WORK = 2e7
"""Multiplications up to which all gradients are computed rather than a tree of masses: some
milliseconds, less than the dual solution that comes with them. Set by judgement, not measured."""

ENUMERATION_SIZE = 2_000_000
"""Kernels up to which all gradients are computed. Set by judgement, not measured."""

ROUGH_ROWS = 4096
"""Rows up to which the sum of all kernels is kept, for masses up to rounding: a matrix of 128 MB.
Set by judgement, not measured."""

SPREAD_BYTES = 400 * 2**20
"""Bytes of spreads that are kept between pricings, in half precision if they must; on a device a
quarter of its free memory, if that is more. Set by judgement, not measured."""

SIDE_ENTRIES = 2**27
"""Most numbers (1 GB) on one side of the matrix products of a pricing. Set by judgement, not
measured."""

PAIR_KERNELS = 256
"""Base kernels in one block of rows of the table of pairs. Set by judgement, not measured."""

RUN_KERNELS = 64
"""Least number of base kernels of as many features each, on average, from which on pairs are priced
by a matrix product for each pair of features: with 4,000 kernels of 2 or 3 features and 160 rows a
pricing took 0.23 s of the processor, and 0.49 s by large products whose entries are then added up.
The value is set by judgement."""

PIECE_PRODUCTS = 2**17
"""Most products in one matrix product of a pricing, on the host. Set by judgement, not measured."""

LEFT_ENTRIES = 2**21
"""Most numbers on the left of one matrix product of a pricing, on the host. Set by judgement, not
measured."""

DEVICE_PIECE_PRODUCTS = 2**24
"""Most products in one matrix product of a pricing, on a device, which needs large pieces of work.
Raised from 2**22 when pricing was measured on an H200 (docs/benchmarks/gpu.md)."""

DEVICE_LEFT_ENTRIES = 2**28
"""Most numbers on the left of one matrix product of a pricing, on a device. Set by judgement, not
measured."""

KEPT_SCORES = 2**22
"""Most scores of one degree that are kept until the best are known; of more, the best rows are made
again. Set by judgement, not measured."""

PRODUCT_FEATURES = 256
"""Most features of a product of kernels, for ``"auto"``. Set by judgement, not measured."""

PRICING_WORK = 1e10
"""Most multiplications of the features of all products with a vector, for ``"auto"``: about a
second on one core."""

KEPT_MAPS = 1_000
"""Most columns for which ``"auto"`` keeps the functions of all columns while it fits; of more it
fits those that are used once more. Those of a column take some 14 KB in each fold, or 0.4 ms to
fit: with 20,000 columns that was 1.6 GB."""

COLUMN_ENTRIES = 2**12
"""Most values of columns whose functions are found together, unless one column has more: 170
columns of 24 rows, where 128 and 512 columns at once take about the same time. Their functions take
a few hundred bytes for each value."""

PIVOT_ROWS = 8_000
"""Most rows that a Gaussian kernel's points are chosen from. Set by judgement, not measured."""

GAUSSIAN_FEATURES = 200
"""Most features of a Gaussian kernel for ``rank="auto"``: 1.6 GB at a million rows."""

GAUSSIAN_VALUES = 2**24
"""Most values of a Gaussian kernel held at a time: 128 MB. Set by judgement, not measured."""

BUDGET_SHARE = 0.25
"""Share of the memory of the machine that a fit may hold unless ``max_memory`` says otherwise. Set
by judgement, not measured."""

PREDICTED_ENTRIES = 2**24
"""Numbers (128 MB) of the features of columns that are made at a time for predictions. Set by
judgement, not measured."""

MEMORY_SHARE = 0.6
"""Share of the memory of the machine or device beyond which work is refused. Set by judgement, not
measured."""

# Solvers and dual problems --------------------------------------------------------------------

WORK_LIMIT = 2e11
"""Multiplications of one pricing of the family, or of one full pass, up to which it is affordable:
some ten seconds."""

REFUSED_FACTOR = 100.0
"""Factor by which a solver that was asked for may exceed ``WORK_LIMIT`` before it is refused: some
quarter of an hour for one step. Set by judgement, not measured."""

LISTED_LIMIT = 2_500_000
"""Number of kernels up to which a list of all is affordable: a fit by full passes over two million
takes some 700 megabytes."""

DUAL_WORK = 1e10
"""Multiplications of one full pass from which on the dual is solved by Newton's method where the
family allows it: about a second. Set by judgement, not measured."""

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

WORKING_BYTES = 2**30
"""Bytes that solvers may hold beside the base kernels where no budget was planned, for families
used by themselves. One gigabyte fits in most machines; set by judgement, not measured."""

ENTERING_FEATURES = 500
"""Number of features that may enter a working set in a round where kernels have several, or as many
as the set has if these are more. The value is set by judgement; that there is such a limit made
cross-validated fits of small tables 1.3 to 2.6 times faster (commit cd1ee49)."""

SYSTEM_MATRICES = 7
"""Matrices of as many rows and columns as there are rows, or features if these are fewer, that a
fit to all kernels at once holds at its peak: 7.2 with 2,000 rows of 300 columns at degree 2, the
features included, for p = 4/3 and for p = 2."""

DEGREE_MATRICES = 5
"""Further ones for each degree above two where kernels are matrices, whose symmetric polynomials
are made of whole ones: 11, 15 and 21 in all at degrees 3, 4 and 5, with 600 rows."""

LEAST_SYSTEMS = 2**26
"""Bytes (64 MB, some 1,100 rows) of such matrices below which no fit is refused for them. Set by
judgement, not measured."""

LIBSVM_ROWS = 5_000
"""Number of rows up to which a kernel matrix is made for libsvm. Set by judgement, not measured."""

# Competitors, tables, reports and figures -----------------------------------------------------

MATRIX_BATCH_BYTES = 256 * 2**20
"""Bytes of products of n x n matrices that hierarchical kernel learning works on at a time. Set by
judgement, not measured."""

NODE_BYTES, ANCESTOR_BYTES = 300, 50
"""Bytes that a listed node of a grid of products takes, and each of its ancestors in the sparse
matrix of sums. An order of magnitude, by the sizes of Python tuples and of sparse entries."""

SHOWN_ROWS = 2_000
"""Rows that a report computes effects on at the most; of more these are drawn at random. Set by
judgement, not measured."""

CLOUD_POINTS = 600
"""Points of a cloud that a report draws as an element each at the most; more are one image. Set by
judgement, not measured."""

HEXAGON_ROWS = 5_000
"""Number of rows from which on predictions are drawn as hexagons, not as points. Set by judgement,
not measured."""

SAMPLE_ROWS = 100_000
"""Rows of a chunked table, about, that are looked at to find the kinds of columns and that models
are scored on. Set by judgement, not measured."""

GROUP_COPIES = 8
"""Memory that a row group takes while it is read, encoded and multiplied, in multiples of its
bytes. An order of magnitude, set by judgement."""

BASE_BYTES = 500 * 2**20
"""Bytes that Python and its libraries take before any row of a chunked table is read. An order of
magnitude, set by judgement."""

EFFECT_POINTS = 1_000
"""Points at which a figure evaluates a term at a time at the most: kernels of matrices have as many
rows. Set by judgement, not measured."""

EFFECT_VALUES = 2_000_000
"""Values (16 MB), points times columns, that a figure evaluates a term on at a time at the most.
Set by judgement, not measured."""

LEARNT_ROWS = 3_000
"""Most rows on which the widths of kernels are learnt, where columns are not very many. Measured on
held-out rows of three tables: see ``STAGES`` in solvers/widths/search.py."""

LEARNING_BYTES = 40
"""Bytes for each pair of rows on which widths are learnt: some matrices of them. Measured 32 to 34
on 1,500 and 3,000 rows of 20 and 40 columns with little room; each further kernel adds two."""

LIST_BLOCK = 2**17
"""Products of kernels that are listed between two looks at the clock: a tenth of a second. Set by
judgement."""
