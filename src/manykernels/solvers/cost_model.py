"""What solvers would cost, in multiplications and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from ..backend import approximately, on_host
from ..families import KernelFamily, ProductFamily, StandardizedFamily
from ..families.pricing import ProductPricer
from ..limits import (
    DEGREE_MATRICES,
    DEVICE_FACTOR,
    ENTRYWISE_FACTOR,
    KERNEL_BYTES,
    LISTED_LIMIT,
    SIDE_ENTRIES,
    SYSTEM_MATRICES,
    WORK_LIMIT,
)


@dataclass(frozen=True)
class Costs:
    """What the solvers would cost, in multiplications; infinite where memory rules them out.

    Attributes
    ----------
    pricing : float
        One pricing of the whole family.
    full_pass : float
        One pass over all kernels: their weighted sum and their gradients.
    limit : float
        What is affordable.
    """

    pricing: float
    full_pass: float
    limit: float

    def __str__(self) -> str:
        return f"one pricing {self.pricing:.1e} multiplications, one full pass {self.full_pass:.1e}"


def costs(family: KernelFamily, outputs: int) -> Costs:
    """Return the cost of pricing a family and of a full pass over it."""
    never = float("inf")
    if not family.listable:
        return Costs(0.0 if family.priceable else never, never, WORK_LIMIT)
    work, rows = family.enumeration_work, family.rows
    listed = fits = family.distinct <= LISTED_LIMIT
    if not family.explicit:
        work *= ENTRYWISE_FACTOR
        full_pass = 2 * work
    else:
        full_pass = work * min(float(rows), work / max(1, rows))
        plain = family.family if isinstance(family, StandardizedFamily) else family
        if isinstance(plain, ProductFamily):
            # Up to degree 3 a side is the base kernels themselves, which are held anyway.
            most = SIDE_ENTRIES if plain.degree < 4 else min(SIDE_ENTRIES, family.room / 16)
            fits = ProductPricer.side_entries(plain) <= most
    limit = WORK_LIMIT * (1.0 if on_host(family.bases.matrix) else DEVICE_FACTOR)
    return Costs(work * outputs if fits else never, full_pass if listed else never, limit)


def system_bytes(family: KernelFamily) -> float:
    """Return what a fit to all kernels at once holds beside their features: square matrices.

    They have as many rows as the data have, or features if these are fewer.
    """
    side, matrices = float(family.rows), SYSTEM_MATRICES
    if family.explicit and family.listable:
        side = min(side, family.enumeration_work / family.rows)
    elif isinstance(family, ProductFamily):
        matrices += DEGREE_MATRICES * max(0, family.degree - 2)
    return matrices * 8 * side**2


def list_bytes(family: KernelFamily) -> float:
    """Return what the list of all kernels takes, with their weights and gradients."""
    return KERNEL_BYTES * approximately(family.distinct)
