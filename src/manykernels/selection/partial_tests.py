"""Tests of terms on rows that had no part in their selection, and what many splits say together."""

from __future__ import annotations

import numpy as np
from scipy import stats

from ..arrays import Array
from ..losses import Logistic, Loss, Squared
from ..objective import Problem
from ..solvers.least_squares import Projection, fit_of


def unpenalised_risk(y: Array, columns: Array, weights: Array, loss: Loss) -> tuple[float, int]:
    """Return the least risk over columns, and how many of them add something; O(n m^2)."""
    problem = Problem(y, weights, loss, 1.0, 1.0, intercept=False)
    fit = fit_of(problem)
    if columns.shape[1]:
        fit.add(columns)
    rank = fit.size if isinstance(fit, Projection) else int(np.linalg.matrix_rank(columns))
    return problem.risk(fit.solution().fitted), rank


def compressed(y: Array, columns: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return fewer rows, of equal weight, on which all least squares are the same; O(n m^2).

    Sums of squares are those of the weighted rows divided by the number of rows that are left.
    """
    rows = np.hstack([columns, y]) * np.sqrt(weights)[:, None]
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    count = columns.shape[1]
    return rows[:, count:], rows[:, :count], np.full(len(rows), 1 / len(rows))


def partial_p_values(
    y: Array,
    columns: Array,
    owners: Array,
    count: int,
    weights: Array,
    labelled: bool = False,
    intercept: bool = True,
    outputs: Array | None = None,
) -> Array:
    r"""Return a p-value for each of several sets of columns, given all other columns.

    For real targets the partial F test: with :math:`R_0` the sum of squares without the k columns
    of a set, :math:`R_1` that with all m columns (a constant among them),

    .. math:: F = \frac{(R_0 - R_1)/k}{R_1/(n - m)} \sim F_{k, n - m}.

    It is exact for noise that is normal and of equal variance, divided by the weight of a row. For
    classes the likelihood-ratio test of logistic regression, :math:`2n(R_0 - R_1) \sim \chi^2_k`
    with mean log-losses R. Of more than two classes each is tested against the others, and the
    smallest p-value times the number of classes counts.

    Parameters
    ----------
    y : ndarray of shape (n, c)
        Targets; columns of -1 and +1 for classes.
    columns : ndarray of shape (n, m)
        All features.
    owners : ndarray of int of shape (m,)
        The set that each belongs to; those below zero are in none.
    count : int
        Number of sets.
    weights : ndarray of shape (n,)
        Weights of the rows, adding up to one.
    labelled : bool
        Whether targets are classes.
    intercept : bool
        Whether a constant is fitted too.
    outputs : ndarray of int of shape (m,), optional
        The column of targets that each feature is for, below zero for all; by default all are.

    Returns
    -------
    ndarray of shape (count,)
        The p-values; 1 for a set that adds nothing to the other columns.

    Notes
    -----
    O(n m^2) and O(m^3) for each set; for classes O(n m^2) for each set.
    """
    rows, loss = len(y), Logistic() if labelled else Squared()
    if intercept:
        columns, owners = np.column_stack([columns, np.ones(rows)]), np.append(owners, -1)
    ours = np.full(len(owners), -1)
    if outputs is not None:
        ours[: len(outputs)] = outputs
    sizes = np.sqrt(weights @ columns**2)
    columns = columns / np.where(sizes > 0, sizes, 1.0)
    if not labelled:
        y, columns, weights = compressed(y, columns, weights)
    found = np.ones((y.shape[1], count))
    for output in range(y.shape[1]):
        own, used = y[:, [output]], (ours < 0) | (ours == output)
        with_all, rank = unpenalised_risk(own, columns[:, used], weights, loss)
        for number in range(count):
            others = columns[:, used & (owners != number)]
            without, smaller = unpenalised_risk(own, others, weights, loss)
            found[output, number] = _p_value(
                without, with_all, rank - smaller, rank, rows, labelled
            )
    return np.minimum(1.0, len(found) * found.min(axis=0))


def _p_value(
    without: float, with_all: float, freed: int, rank: int, rows: int, labelled: bool
) -> float:
    gain = max(0.0, without - with_all)
    if freed < 1:
        return 1.0
    if labelled:
        return float(stats.chi2.sf(2 * rows * gain, freed))
    left = rows - rank
    if left < 1:
        return 1.0
    if not with_all > 0:
        return 0.0 if gain > 0 else 1.0
    return float(stats.f.sf((gain / freed) / (with_all / left), freed, left))


def shares_of_error(count: int) -> Array:
    """Return how a level of error is shared between terms in their order: as 1, 1/2, 1/3, ..

    The order, that of selection, must not depend on the rows of the tests. Terms that entered
    first are more often true.
    """
    weights = 1 / np.arange(1, count + 1)
    return np.asarray(weights / weights.sum())


def one_by_one(p_values: Array) -> Array:
    """Return p-values divided by the share of the error that each has, in order, at most 1.

    The expected number of true hypotheses with a value <= a is at most a (Bonferroni, weighted).
    """
    return np.minimum(1.0, p_values / shares_of_error(len(p_values)))


def step_down(p_values: Array) -> Array:
    r"""Return p-values, in the order of selection, for all terms of a split together.

    Holm's procedure with weights: the smallest ratio of p-value and share counts for itself, the
    next as if only the others were left, and so on. With shares :math:`w_i`, ratios in rising
    order,

    .. math:: \tilde p_{(i)} = \max_{k \le i} \frac{p_{(k)}}{w_{(k)}} \sum_{l \ge k} w_{(l)}.

    The probability that any true hypothesis has a value <= a is at most a, for every a.
    """
    shares = shares_of_error(len(p_values))
    order = np.argsort(p_values / shares, kind="stable")
    left = np.cumsum(shares[order][::-1])[::-1]
    out = np.empty(len(p_values))
    out[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] / shares[order] * left))
    return out


def twice_median(p_values: Array) -> Array:
    """Return twice the median over splits, the first axis, at most 1.

    That is a p-value again, however the splits depend on each other. Of an even number the larger
    of the two in the middle is taken. A term that half of the splits do not select has p-value 1.
    """
    middle = np.quantile(p_values, 0.5, axis=0, method="higher")
    return np.minimum(1.0, 2 * middle)


def family_wise(p_values: Array, level: float) -> Array:
    """Tell which hypotheses are rejected if any false rejection is to have a chance <= level.

    The p-values have been adjusted for the number of terms that a split selected (step_down).
    """
    return np.asarray(p_values <= level)


def false_discovery_rate(p_values: Array, level: float, most: int) -> Array:
    r"""Tell which hypotheses are rejected if a share <= level of them is to be false, on average.

    The h smallest are, with :math:`h = \max\{i: P_{(i)} \le i\, level/\sum_{k \le most} 1/k\}`
    (Benjamini and Yekutieli, under any dependence). ``most`` must be fixed before looking: the
    largest number of terms that can be rejected. P-values of 1 never are. The p-values have been
    adjusted for the number of terms that a split selected (one_by_one), and are not once more.
    """
    order = np.argsort(p_values, kind="stable")
    harmonic = float(np.sum(1 / np.arange(1, max(1, most) + 1)))
    ranks = np.minimum(np.arange(1, len(order) + 1), max(1, most))
    below = (p_values[order] <= ranks * level / harmonic) & (p_values[order] < 1.0)
    rejected = np.zeros(len(order), dtype=bool)
    if below.any():
        rejected[order[: int(np.flatnonzero(below).max()) + 1]] = True
    return rejected


def chance_bound(q: float, threshold: float, count: float) -> float:
    r"""Return :math:`q^2/((2\tau - 1) N)`, a bound on terms that come by chance.

    It is one on the expected number of terms that a half selects with a probability of q/N or less
    and that yet a share of at least :math:`\tau` of all halves select.
    """
    return q**2 / ((2 * threshold - 1) * count)
