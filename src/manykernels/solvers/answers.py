"""Answers of solvers that are kept, and found only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..certificate import Certificate
from ..dual import DualSolution
from ..families import KernelFamily
from .base import Result, Slot
from .dual_newton import DualPoint
from .kept import frozen
from .theory import Constants
from .working_set.kept import frozen_memory, thawed_memory
from .working_set.kernels import Subspaces
from .working_set.restricted import FeatureGroups


def frozen_result(result: Result, family: KernelFamily, memory: bool = True) -> dict[str, Any]:
    """Return an answer as a tree of plain values and arrays, on request without its memory."""
    tree = frozen(result)
    own = tree.pop("memory")
    if not memory:
        own = None
    kind, value = "", None  # type: str, Any
    if isinstance(own, DualPoint):
        kind, value = "point", frozen(own)
    elif isinstance(own, FeatureGroups | Subspaces):
        kind, value = "groups", frozen_memory(own)
    elif isinstance(own, float):
        kind, value = "number", own
    count = len(result.indices)
    everything = family.listable and count == family.distinct
    if everything and result.indices is family.indices():
        tree["indices"] = None  # of millions of kernels
    else:
        tree["indices"] = list(result.indices)
    constants = None if result.constants is None else frozen(result.constants)
    parts = {"solution": frozen(result.solution), "certificate": frozen(result.certificate)}
    return {**tree, **parts, "constants": constants, "memory": (kind, value)}


def thawed_result(tree: dict[str, Any], family: KernelFamily, weights: Array | None) -> Result:
    """Return the answer for the same family on the same rows, of which these are the weights."""
    own = dict(tree)
    kind, value = own.pop("memory")
    own["solution"] = DualSolution(**own["solution"])
    own["certificate"] = Certificate(**own["certificate"])
    if own["constants"] is not None:
        own["constants"] = Constants(**own["constants"])
    if own["indices"] is None:
        own["indices"] = family.indices()
    memory: object = value
    if kind == "point":
        memory = DualPoint(**value)
    elif kind == "groups":
        assert weights is not None
        memory = thawed_memory(value, family, own["indices"], weights)
    return Result(memory=memory, **own)


def remembered(
    slot: Slot,
    family: KernelFamily,
    weights: Array | None,
    rng: np.random.Generator,
    solve: Callable[[Slot], Result],
) -> Result:
    """Return the answer that a slot has, or find it and keep it; so for what is random.

    ``solve`` finds it, and keeps the state of the solver in the slot it is given. An answer that
    Ctrl-C cut short is not kept.
    """
    place, rounds = slot.at("answer"), slot.at("rounds")
    known = place.read()
    if known is not None:
        rng.bit_generator.state = known["rng"]
        return thawed_result(known["result"], family, weights)
    result = solve(rounds)
    if result.interrupted:
        return result
    tree = {"rng": rng.bit_generator.state}
    if place.offer(lambda: {**tree, "result": frozen_result(result, family)}):
        rounds.drop()
    return result
