"""The numbers that a pricing works in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ...backend import beside, free_bytes, namespace, on_host, real
from . import limits


@dataclass(frozen=True)
class Precision:
    """Types of numbers of one pricing, and where they are.

    Attributes
    ----------
    place : array
        The features; all other numbers are put beside them.
    products : dtype
        Type of the numbers in matrix products.
    kept : dtype, optional
        Type of the spreads that are kept between calls; None if there is no room for them.
    rough : dtype, optional
        Type in which spreads that are made anew find the best rows, whose scores are then made
        again in full; None if they are made in full at once.
    """

    place: Any
    products: Any
    kept: Any = None
    rough: Any = None

    trusted: ClassVar[float] = 0.99
    """Share of a score that it has at least when it is made again, from spreads in full: those
    kept in half precision move it by a few thousandths."""

    @classmethod
    def of(cls, features: Any, bits: int, spreads: float) -> Self:
        """Return the types for products of features and for a number of spreads, zero for none.

        Spreads that do not fit in memory are made anew in every call, roughly on a device.
        """
        xp, products = namespace(features), real(features, bits)
        if not spreads:
            return cls(features, products)
        device = not on_host(features)
        room = max(float(limits.SPREAD_BYTES), free_bytes(features) / 4 if device else 0.0)
        half = [16] if hasattr(xp, "float16") else []
        fitting = (some for some in [bits, *half] if spreads * some / 8 <= room)
        kept = next((real(features, some) for some in fitting), None)
        rough = getattr(xp, "bfloat16", None) if device and kept is None else None
        return cls(features, products, kept, rough)

    @property
    def device(self) -> bool:
        """Whether the work is done on a device rather than the host."""
        return not on_host(self.place)

    def near(self, values: Any) -> Any:
        """Return numbers beside the features, of the type of the matrix products."""
        return beside(values, self.place, self.products)
