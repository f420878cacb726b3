"""Models of decreasing penalty, or of more and more terms, on one set of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array
from ..rows import Fits
from ..solvers import Result
from ..spec import Spec, StopRule
from .progress import Progress, current

EXPLAINED = 0.01
"""Share of the risk that the model of the largest strength explains, so that paths begin with
next to nothing. Set by judgement."""

SPAN = 1e-6
"""Smallest strength of a grid made from the data, relative to the largest. Set by judgement."""

UNEXPLAINED = 1e-20
"""Kernels that explain less than this share of the risk at unit strength explain rounding only."""


def sizes_of(spec: Spec, fits: Fits, rng: np.random.Generator) -> Array:
    """Return the sizes of the models of a path: strengths, descending, or numbers of terms."""
    search, greedy = spec.search, spec.greedy
    assert search is not None
    if greedy is not None:
        return np.arange(greedy.terms + 1)
    if search.alphas is not None:
        return np.sort(np.asarray(search.alphas, dtype=float))[::-1]
    risk, norm = fits.start(rng)
    largest = norm / (EXPLAINED * risk) if norm > UNEXPLAINED * risk else 1.0
    if search.n_alphas == 1:
        return np.array([largest])
    return np.geomspace(largest, largest * SPAN, search.n_alphas)


def path(
    spec: Spec, fits: Fits, sizes: Array, stop: StopRule, rng: np.random.Generator
) -> Iterator[Result]:
    """Yield the models of a path, from simple to rich, each started from the one before."""
    assert spec.search is not None
    if spec.greedy is not None:
        yield from fits.grow(spec.greedy, stop, rng)
        return
    watch, size = current(), spec.family.size(fits.family)
    last: Result | None = None
    for number, strength in enumerate(sizes.tolist()):
        progress = Progress(watch, size, *stop.limits, (number, len(sizes)))
        last = fits.solve(spec.solver, strength, stop, rng, last, progress)
        yield fits.refit(last) if spec.search.debias else last
