"""The kernels of largest gradient of a family, round after round, with a bound of all gradients."""

from __future__ import annotations

import numpy as np

from ... import deadline
from ...arrays import Array
from ...backend import on_host
from ...families import KernelFamily
from ...families.pricing import Pricer, Shortlist, pricer
from ...limits import ENUMERATION_WORK

SINGLE_ERROR = 1e-4
"""Relative error of gradients in single precision, with room to spare: on the tables of
docs/benchmarks/tables.md it is 1e-6 at most."""

ROUGH_GAP = 2 * SINGLE_ERROR
"""Relative duality gap below which it is computed in double precision: up to half of it could be
the room that is left for rounding."""

EXACT_KERNELS = 20
"""Number of the best kernels of several features whose gradients are computed once more in double
precision: some milliseconds. Set by judgement, not measured."""

SAME_POINT = 1e-15
"""Two dual points are the same but for their length if their entries, with a length of one, differ
by no more than this, which is rounding: so are those of two strengths before the first kernel
enters."""


class Prices:
    """Finds the kernels of largest gradient, and bounds the gradients of all.

    Kernels of one feature are priced in double precision on the host, and so are all where that
    takes milliseconds or there are no products: their features are read where they lie. Others of
    several features, and all kernels on a device, are priced in single precision, which takes half
    the time and memory. On a device those listed are priced once more in double; on the host the
    best of them, and on request all kernels.
    """

    def __init__(self, family: KernelFamily) -> None:
        self.family = family
        away = family.explicit and not on_host(family.bases.matrix)
        several = family.explicit and not (away or family.blocks.single)
        several = several and family.distinct > family.blocks.count + 1
        self.refines = several and family.enumeration_work > ENUMERATION_WORK
        self.rough = away or self.refines
        self.pricer = pricer(family, bits=32 if self.rough else 64)
        self.exact: Pricer | None = None
        self.last: tuple[Array, int, Shortlist, float] | None = None

    def top(self, alpha: Array, count: int, fine: bool = False) -> tuple[Shortlist, float]:
        """Return ``count`` kernels of largest gradient, and a bound of all gradients.

        When the time of the fit is over kernels may have been left out: the bound is infinite.
        """
        until = deadline.current().enough
        if fine and self.refines:
            self.exact = self.exact or pricer(self.family)
            listed, bound = bounded(self.exact.top(alpha, count, until=until))
            return listed, np.inf if deadline.now() > until else bound
        length = float(np.linalg.norm(alpha))
        if not length > 0:
            return Shortlist([], np.empty(0)), 0.0
        unit = alpha / length
        if self.last is not None and self.last[1] >= count:
            there, _, listed, bound = self.last
            if there.shape == unit.shape and np.abs(there - unit).max() <= SAME_POINT:
                return Shortlist(listed.indices, listed.scores * length**2), bound * length**2
        listed = self.pricer.top(unit, count, until=until)
        if self.rough and listed.indices:
            again = EXACT_KERNELS if self.refines else count
            found = priced_again(self.family, unit, listed, again, len(listed.indices) == count)
        else:
            found = bounded(listed)
        if until < np.inf and deadline.now() > until:
            return Shortlist(found[0].indices, found[0].scores * length**2), np.inf
        self.last = unit, count, *found
        return Shortlist(found[0].indices, found[0].scores * length**2), found[1] * length**2


def bounded(listed: Shortlist) -> tuple[Shortlist, float]:
    """Return kernels and the largest of their gradients."""
    return listed, float(listed.scores[0]) if listed.indices else 0.0


def priced_again(
    family: KernelFamily, alpha: Array, listed: Shortlist, count: int, full: bool
) -> tuple[Shortlist, float]:
    """Return kernels that were priced in single precision, ``count`` by their true gradients.

    Returned as well is a bound of all gradients: the largest, unless single precision cannot tell
    these kernels from the others, of which there are some outside the list if it is ``full``.
    """
    best = listed.indices[:count]
    exact = family.at(alpha).gradients(best)
    order = np.argsort(-exact, kind="stable")
    ranked = Shortlist(
        [best[i] for i in order.tolist()] + list(listed.indices[len(best) :]),
        np.concatenate([exact[order], listed.scores[len(best) :]]),
    )
    left = full or len(best) < len(listed.indices)
    others = float(listed.scores[min(len(best), len(listed.scores) - 1)]) if left else 0.0
    return ranked, max(float(exact.max()), others * (1 + SINGLE_ERROR))
