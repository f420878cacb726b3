"""Where variables and their names stand on and around a circle."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def around(totals: dict[str, float], joint: dict[frozenset[str], float]) -> list[str]:
    """Return variables in an order on the circle that has strongly joined ones side by side."""
    left = sorted(totals, key=lambda name: -totals[name])
    order = left[:1]
    del left[:1]
    while left:
        last = order[-1]
        ties = [sum(abs(s) for g, s in joint.items() if {last, name} <= g) for name in left]
        order.append(left.pop(int(np.argmax(ties))))
    return order


def in_columns(places: Array) -> Array:
    """Return places for names: in two columns beside the circle, in the order of their nodes."""
    spots = np.empty_like(places)
    right = places[:, 0] > -1e-9
    for side, x in ((right, 1.3), (~right, -1.3)):
        order = np.flatnonzero(side)[np.argsort(-places[side, 1], kind="stable")]
        spots[order] = np.column_stack([np.full(len(order), x), np.linspace(1.1, -1.1, len(order))])
    return spots
