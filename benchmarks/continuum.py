"""The paper's claims about draws, and its future work: a continuum of kernels, fewer rows.

Two claims of the paper that no other page tests: that draws are exactly from the law of the
gradient, and that the cost of a draw grows like the logarithm of the number of kernels. Then what
its conclusion leaves open: "infinitely many kernels [...] such as the case of learning a
combination of Gaussian kernels", and its Section 4, "to subsample the empirical loss". All
data are drawn. Targets: `sine` is sin 4x, `three` is sin x + sin 4x + sin 12x, both of the first
column, `joint` is sin 4x plus the product of the first two columns; columns are standard normal,
noise has a deviation of 0.3, y is then scaled to variance one, and the loss is squared, without
an intercept. Widths of Gaussian kernels exp(-s t^2) lie between 0.01 and 100, uniform in their
logarithm, where nothing else is said. Times are CPU time on one thread of a shared machine.

    python dev.py bench benchmarks/continuum.py
"""

import time

from threadpoolctl import threadpool_limits

from _exact_draws import (
    POINTS,
    cost_of_draws,
    fits_of_cost,
    fits_of_work,
    more_product_draws,
    product_draws,
    width_draws,
)
from _free_widths import atoms, cells, descent, point_draws, sampling
from _measure import say, write_page
from _subsets import ROWS, SUBSETS, bias, nested

PRODUCT_DRAWS = f"""
Products of up to three of five base kernels on 20 rows: columns, or matrices of Gaussian kernels.
2,000 draws from the tree of masses (nothing is listed) against the probability of every kernel,
each from its own matrix: a chi-square test, 20 times at each of {POINTS} dual points with random
rows and random rho. If draws are exact the p-values are uniform, which the KS test looks at.
The last column is the same test against a law in which every other probability is 20 % higher and
those between 20 % lower (before they are scaled to add up to one): what a wrong sampler would look
like.
"""

MORE_DRAWS = """
Taken together, the 600 p-values above are as far from uniform as those of exact draws are once in
300 times (KS test: 0.003); no row alone is below 0.05. This table was made because of that: other
seeds, four times as many dual points, and beside it the same test of as many draws by NumPy from
the listed probabilities.
"""

WIDTH_DRAWS = f"""
Kernels of at most two of three columns on seven rows, widths from 0.05 to 20, 300 draws for each
p-value, ten times at each of {POINTS} dual points. The truth is by quadrature over widths, from the
kernels' definitions. Sets of columns: chi-square. Widths: the share of the exact conditional law
(given the set, and the first width for the second) that lies below the width drawn is uniform if
draws are exact: KS.
"""

COST = """
CPU milliseconds of one draw at a new dual point, 100 rows, `enumerate_below=0`. What is made once
for a family (sums of its kernels) is not counted, the masses of all degrees are. "Tuples of
matrices" is the paper's Algorithm 3, O(r D n^2); "monomials" draws from distinct products;
"columns" draws linear kernels by their features.
"""

ATOMS = """
Optima of p = 1, strength 0.1 next to the sum of losses, three seeds each. The widths are on a grid
(one column: 100; two columns: 16 each, up to products of both), all of which is priced, so that the
gap over the grid is exact. Kernels that are neighbours on the grid stand for one atom between them.
"With widths free" is the gap with the largest gradient that ascents in the widths find from the
ten best kernels of the grid: an estimate, as the largest one of a continuum is known from below
only. Weights below 1e-4 are not counted.
"""

SAMPLING = """
Kernels of at most two columns, target `sine`. What is estimated is the change of the fitted values
by a step along the gradient, the integral of g(s) K_s alpha. "Draws needed" leave an error of 10 %
(root mean square); they come from the moments of 800 exact and 2,400 uniform draws (400 rows: 150
and 450), and those of uniform draws are the less certain. Unevenness is the mean of g^2 over the
square of the mean of g: 1 for equal gradients. Dual points: that of all weights zero, and that of
the optimum of p = 2 at a strength of 0.1 next to the sum of losses.
"""

CELLS = """
p = 4/3 (nu = 2), target `joint`, 80 rows of two columns, strength 0.1 next to the sum of losses.
Each optimum is by full passes, with an exact gap. C is the mass of the gradient at the start, and
the steps are those after which the theorem's bound is 1 % of the optimum, with that C in it: C^2 /
(0.01 J)^2.
"""

DESCENT = """
The same problem with kernels of one column. "Above the optimum" is relative to that of full passes;
gaps are relative to the objective, from the gradient of every cell. The theorem's bound is for its
own step and the average iterate, in units of the optimum; with weights of zero the objective is
{start:.1f} to {end:.1f} times the optimum.
"""

POINTS_TEXT = """
p = 4/3, target `sine`, one column, 80 rows, gradient at the start, in the norm of L2 over a grid of
equally likely widths. Root mean square over 200 estimates.
"""

BIAS = f"""
{ROWS} rows, target `joint`, equal weights of all kernels of up to two columns with four cells each;
{SUBSETS} random subsets of each size, strength next to the mean loss. On a subset the best function
for all rows has a value whose mean over subsets is J; "below by" is the mean of what the subset's
own optimum is lower by, as a share of J, and "subsets above" counts those where it is not lower.
The gradient is that in the weights of all kernels: its mean over subsets, noise included, against
that on all rows.
"""

NESTED = """
Subsets of 100, 200, 400 and 800 rows, each part of the next, solved to a relative gap of 1/m on m
rows and of 1e-4 on all, each from the weights of the last; against all rows alone from the
solver's usual start to the same gap. Target `joint` with three columns, up to two in a kernel,
four cells each: 61 kernels, strength 0.001 next to the mean loss; full passes for p = 4/3, the
working set for p = 1. Time includes making the kernels of the cells.
"""


def timed(function):
    began = time.process_time()
    out = function()
    say(f"{function.__name__}: {time.process_time() - began:.0f} s of CPU")
    return out


def main():
    cost = timed(cost_of_draws)
    cell_table, slopes = timed(cells)
    grown, exponent = timed(point_draws)
    below, orders = timed(bias)
    runs, ends = timed(descent)
    growth = (
        f"The logarithm of C grows by {slopes[1]:.2f} (degree 1) and {slopes[2]:.2f} (degree 2)"
    )
    tables = [
        ("Draws of products: are they exact?", PRODUCT_DRAWS, timed(product_draws)),
        ("Draws of products, once more", MORE_DRAWS, timed(more_product_draws)),
        ("Draws of widths: are they exact?", WIDTH_DRAWS, timed(width_draws)),
        ("Cost of a draw, ms", COST, cost),
        ("Cost of a draw: how it grows", fits_of_cost(cost)),
        ("Cost of a draw: all fifteen families together", fits_of_work(cost)),
        ("Continuum, p = 1: atoms of the optimum", ATOMS, timed(atoms)),
        ("Continuum: exact draws against uniform ones", SAMPLING, timed(sampling)),
        (
            "Continuum, p = 4/3: cells",
            f"{CELLS.strip()}\n\n{growth}\nfor each unit of the logarithm of the number of cells, "
            "over the last four rows of each\ndegree. For kernels of one column it is 1/nu = 0.5, "
            "for pairs alone 1.",
            cell_table,
        ),
        (
            "Continuum, p = 4/3: mirror descent on cells",
            DESCENT.format(start=min(ends), end=max(ends)),
            runs,
        ),
        (
            "Continuum, p = 4/3: draws of points",
            f"{POINTS_TEXT.strip()} The norm of one draw\ngrows like the number of widths to "
            f"the power {exponent:.2f}.",
            grown,
        ),
        ("Subsampling: the bias", BIAS, below),
        (
            "Subsampling: the order of the bias",
            "Slopes of the logarithm of the bias, from the table above; b is the rows of a subset.",
            orders,
        ),
        ("Subsampling: growing subsets", NESTED, timed(nested)),
    ]
    text = "\n\n".join(__doc__.split("\n\n")[1:-1])
    write_page(
        "continuum", "Draws, a continuum of kernels, fewer rows", text, tables, "continuum.py"
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
