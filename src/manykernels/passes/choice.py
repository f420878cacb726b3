"""How a family is fitted to rows in parts: all of its features in one pass, or in rounds."""

from __future__ import annotations

from ..backend import approximately
from ..limits import MOMENT_WORK, MOST_ENTRIES, MOST_FEATURES
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
    if why := refusal(recipe, selects):
        raise ValueError(why)
    few = _are_few(recipe)
    if standardizes:
        recipe = standardized(parts, recipe, few)
    return Whole(parts, recipe) if few else Growing(parts, recipe)


def _features(recipe: Recipe) -> float:
    """Return the number of features of all products, roughly."""
    family = recipe.products
    return approximately(family.distinct) * float(family.blocks.sizes.mean()) ** family.degree


def _are_few(recipe: Recipe) -> bool:
    return _features(recipe) <= MOST_FEATURES


def is_quick(recipe: Recipe, rows: int) -> bool:
    """Tell whether one pass over a number of rows gives all that is needed in about a minute."""
    return _are_few(recipe) and rows * _features(recipe) ** 2 <= MOMENT_WORK


def refusal(recipe: Recipe, selects: bool) -> str:
    """Say why a family cannot be fitted to rows in parts; nothing where it can."""
    loss, family = recipe.loss, recipe.products
    if not isinstance(loss, SmoothLoss):
        return (
            f"loss must be smooth for rows in partitions; got {type(loss).__name__}. Use "
            'loss="squared", "huber", "squared_hinge" or "logistic".'
        )
    features, few = float(family.blocks.sizes.sum()), _are_few(recipe)
    if not few and recipe.p != 1:
        return (
            f"rows in partitions with p={recipe.p:g} need a family of at most {MOST_FEATURES} "
            f"features; got about {_features(recipe):.3g}. Use p=1, a smaller degree or fewer "
            "columns."
        )
    if not few and (family.degree > 3 or features**family.degree > MOST_ENTRIES):
        return (
            "rows in partitions need a family whose inner products fit in memory; got degree "
            f"{family.degree} with {features:.0f} base features. Use a smaller degree or fewer "
            "columns."
        )
    if selects and not (few and isinstance(loss, Squared)):
        return (
            'solver="greedy" and debias=True need, for rows in partitions, the squared loss and a '
            f"family of few features; got {family.distinct} kernels and {type(loss).__name__}. Use "
            "p=1."
        )
    return ""
