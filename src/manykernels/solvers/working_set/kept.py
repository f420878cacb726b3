"""Working sets as trees of plain values and arrays, from which another process goes on.

Columns of features are not kept but made again, which may change their last digit; what is known of
their products is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Index
from ...dual import DualSolution, TallColumns, tall_columns
from ...families import KernelFamily
from ...families.pricing import Shortlist
from ..kept import frozen
from .kernels import SubspaceKernels, Subspaces, WorkingKernels, directed_columns
from .prices import Prices
from .restricted import FeatureGroups


def frozen_set(kernels: WorkingKernels) -> dict[str, Any]:
    """Return a working set whose optimum was found."""
    tree = {
        "indices": kernels.indices,
        "theta": kernels.theta,
        "solution": frozen(kernels.solution),
        "next": kernels.next,
        "grew": kernels.grew,
        "groups": None if kernels.groups is None else frozen_groups(kernels.groups),
        "priced": frozen_prices(kernels.prices),
    }
    if isinstance(kernels, SubspaceKernels):
        tree |= {"directions": joined(kernels.directions), "least": kernels.least}
    return tree


def restore_set(kernels: WorkingKernels, tree: dict[str, Any]) -> None:
    """Make a new working set one that was kept."""
    kernels.indices, kernels.theta = list(tree["indices"]), tree["theta"]
    kernels.solution = DualSolution(**tree["solution"])
    kernels.next, kernels.grew = tree["next"], tree["grew"]
    directions = None
    if isinstance(kernels, SubspaceKernels):
        directions = kernels.directions = apart(tree["directions"])
        kernels.least = tree["least"]
    known, weights = tree["groups"], kernels.problem.weights
    kernels.groups = known and thawed_groups(
        known, kernels.family, kernels.indices, weights, directions
    )
    kernels.prices = thawed_prices(tree["priced"], kernels.family)


def frozen_memory(memory: FeatureGroups | Subspaces) -> dict[str, Any]:
    """Return what a run hands on to the next strength."""
    if isinstance(memory, FeatureGroups):
        return {"groups": frozen_groups(memory)}
    directions = joined(memory.directions)
    parts = {"next": memory.next, "directions": directions, "priced": frozen_prices(memory.prices)}
    return {"groups": frozen_groups(memory.groups), **parts}


def thawed_memory(
    tree: dict[str, Any], family: KernelFamily, indices: list[Index], weights: Array
) -> FeatureGroups | Subspaces:
    """Return the same for a family on the same rows, whose weights these are."""
    if "directions" not in tree:
        return thawed_groups(tree["groups"], family, indices, weights)
    directions = apart(tree["directions"])
    groups = thawed_groups(tree["groups"], family, indices, weights, directions)
    return Subspaces(groups, directions, tree["next"], thawed_prices(tree["priced"], family))


def frozen_groups(groups: FeatureGroups) -> dict[str, Any]:
    """Return coefficients and what is known of the columns, but not the columns."""
    tree = frozen(groups)
    del tree["columns"]
    return {**tree, "known": groups.columns.known}


def thawed_groups(
    tree: dict[str, Any],
    family: KernelFamily,
    indices: list[Index],
    weights: Array,
    directions: list[Array] | None = None,
) -> FeatureGroups:
    """Return the groups with their columns: the features of kernels, or these along directions."""
    own, owners = dict(tree), tree["owners"]
    known = own.pop("known")
    if directions is None:
        columns: TallColumns = tall_columns(family, indices)[0]
    else:
        columns = directed_columns(family, indices, owners, directions)
    if known is not None:
        # Products are those of the weights if these are the same array.
        same = np.array_equal(known[0], weights)
        columns.known = (weights if same else known[0], *known[1:])
    return FeatureGroups(columns=columns, **own)


def frozen_prices(prices: Prices | None) -> Any:
    """Return the last prices; a new search for prices finds all others."""
    if prices is None or prices.last is None:
        return None
    point, count, listed, bound = prices.last
    return point, count, list(listed.indices), listed.scores, bound


def thawed_prices(tree: Any, family: KernelFamily) -> Prices:
    """Return what finds prices, with the last ones."""
    prices = Prices(family)
    if tree is not None:
        point, count, indices, scores, bound = tree
        prices.last = point, count, Shortlist(indices, scores), bound
    return prices


def joined(parts: list[Array]) -> tuple[Array, Array]:
    """Return vectors as one, and their lengths: a file holds two arrays better than hundreds."""
    lengths = np.array([len(part) for part in parts], dtype=int)
    return np.concatenate([np.empty(0), *parts]), lengths


def apart(both: tuple[Array, Array]) -> list[Array]:
    """Return the vectors."""
    whole, lengths = both
    return np.split(whole, np.cumsum(lengths)[:-1]) if len(lengths) else []
