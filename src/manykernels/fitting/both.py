"""Spline terms first, then kernels with widths beside them, on the same rows."""

from __future__ import annotations

from dataclasses import replace

from ..function import Predictor
from ..kernels import BothKernels, resolve
from ..rows import Prepared, Rows
from ..spec import Spec
from .progress import current

FIRST_SHARE = 0.3
"""Share of the work that the fit of the spline terms is taken to be, for the time left."""


def prepare(spec: Spec, rows: Rows, degree: int) -> Prepared:
    """Return rows ready for fits of a degree; where there is a first fit, it is made on them.

    Nothing but these rows has a part in it: a fold has spline terms of its own.
    """
    if spec.first is None:
        return rows.prepare(spec, degree)
    return rows.prepare(replace(spec, kernels=with_terms(spec, rows)), degree)


def with_terms(spec: Spec, rows: Rows) -> object:
    """Return kernels with widths beside the spline terms that a first fit finds, if any."""
    from .fit import fit  # the road that leads here

    assert spec.first is not None
    watch = current()
    before = None if watch is None else (watch.part, watch.first, watch.last)
    if watch is not None:
        end = watch.first + FIRST_SHARE * (watch.last - watch.first)
        watch.within(f"{watch.part} spline terms".strip(), watch.first, end)
    function = fit(spec.first, rows).function
    if watch is not None and before is not None:
        watch.within(before[0], watch.last, before[2])
    learnt, widths = function.predictor, resolve(spec.kernels, rows.names)
    assert isinstance(learnt, Predictor)
    if not learnt.indices:
        return widths
    return BothKernels(
        columns=list(widths.columns),
        names=widths.names,
        categorical=widths.categorical,  # type: ignore[attr-defined]
        maps=function.kernels,
        scaler=function.scaler,
        products=[tuple(product) for product in learnt.family.products(learnt.indices)],
        weights=learnt.theta * learnt.family.weights(learnt.indices),
    )
