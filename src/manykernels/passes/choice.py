"""How a family is fitted to rows in parts: all of its features in one pass, or in rounds."""

from __future__ import annotations

from ..backend import approximately
from ..limits import MOST_ENTRIES, MOST_FEATURES
from ..losses import SmoothLoss, Squared
from .growing import Growing
from .spreads import standardized
from .sums import Recipe, Totals
from .whole import Whole


def fits_of(
    parts: Totals, recipe: Recipe, selects: bool, standardizes: bool = False
) -> Whole | Growing:
    """Return the fits of a family: from all features in one pass if they are few, else by rounds.

    ``selects`` tells whether greedy selection or refits of selected kernels are asked for,
    ``standardizes`` whether kernels are to be divided by their spreads: another pass.
    """
    loss, family = recipe.loss, recipe.products
    if not isinstance(loss, SmoothLoss):
        raise ValueError(
            f"loss must be smooth for rows in partitions; got {type(loss).__name__}. Use "
            'loss="squared", "huber", "squared_hinge" or "logistic".'
        )
    features = float(family.blocks.sizes.sum())
    whole = approximately(family.distinct) * float(family.blocks.sizes.mean()) ** family.degree
    few = whole <= MOST_FEATURES
    if not few and recipe.p != 1:
        raise ValueError(
            f"rows in partitions with p={recipe.p:g} need a family of at most {MOST_FEATURES} "
            f"features; got about {whole:.3g}. Use p=1, a smaller degree or fewer columns."
        )
    if not few and (family.degree > 3 or features**family.degree > MOST_ENTRIES):
        raise ValueError(
            "rows in partitions need a family whose inner products fit in memory; got degree "
            f"{family.degree} with {features:.0f} base features. Use a smaller degree or fewer "
            "columns."
        )
    if selects and not (few and isinstance(loss, Squared)):
        raise ValueError(
            'solver="greedy" and debias=True need, for rows in partitions, the squared loss and a '
            f"family of few features; got {family.distinct} kernels and {type(loss).__name__}. Use "
            "p=1."
        )
    if standardizes:
        recipe = standardized(parts, recipe, few)
    return Whole(parts, recipe) if few else Growing(parts, recipe)
