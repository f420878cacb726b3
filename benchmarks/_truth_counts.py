"""How right a list of terms is."""

from itertools import combinations


def term_of(name, smooth=False):
    """Return the sorted column numbers of a name such as "x0^2 * x3"; each once if smooth."""
    columns = []
    for factor in name.split(" * "):
        column, _, power = factor.partition("^")
        columns += [int(column[1:])] * int(power or 1)
    return tuple(sorted(set(columns) if smooth else columns))


def counted(groups, truth):
    """Return false discovery proportion, power and F1 of reported groups of terms.

    A group counts as true if it holds a true term. Power is the share of the true terms that some
    group holds. Of nothing reported nothing is false.
    """
    truth = set(truth)
    right = sum(not truth.isdisjoint(group) for group in groups)
    found = set().union(*groups) & truth if groups else set()
    false = 1 - right / len(groups) if groups else 0.0
    power = len(found) / len(truth)
    exact = 1 - false if groups else 0.0
    total = exact + power
    return {
        "reported": len(groups),
        "FDP": false,
        "power": power,
        "F1": 2 * exact * power / total if total else 0.0,
    }


def variables(groups):
    """Return the columns that reported groups are sure of: those that all terms of one share."""
    shared = [set.intersection(*(set(term) for term in group)) for group in groups if group]
    return sorted(set().union(*shared)) if shared else []


def pairs_of(terms):
    """Return all pairs of different columns that stand together in a term."""
    return {pair for term in terms for pair in combinations(sorted(set(term)), 2)}


def sure_pairs(groups):
    """Return the pairs of columns that stand together in all terms of a reported group."""
    shared = [set.intersection(*(pairs_of([term]) for term in group)) for group in groups if group]
    return set().union(*shared) if shared else set()


def overlap(one, two):
    """Return how much of the smaller of two lists of groups has a term in common with the other.

    NaN unless both have three groups or more.
    """
    if min(len(one), len(two)) < 3:
        return float("nan")
    small, large = sorted((one, two), key=len)
    known = set().union(*large)
    return sum(not known.isdisjoint(group) for group in small) / len(small)
