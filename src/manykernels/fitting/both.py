"""Spline terms first, then kernels with widths beside them, on the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import deadline
from ..deadline import keeping
from ..function import Predictor
from ..kernels import BothKernels, resolve
from ..spec import Spec
from .progress import current

FIRST_SHARE = 0.3
"""Share of the work that the fit of the spline terms is taken to be, for the time left, and of
``max_time`` that it may take."""


def with_terms(spec: Spec, rows: Any) -> Spec:
    """Return the specification of kernels with widths beside the spline terms that rows have.

    They are found by a first fit to the very rows that kernels with widths are to be fitted to: a
    fold has spline terms of its own. Where it finds none, there are kernels with widths alone.
    Rows of the same values and targets are one, as they are for kernels with widths.
    """
    from .fit import fit  # the road that leads here

    assert spec.first is not None
    watch = current()
    before = None if watch is None else (watch.part, watch.first, watch.last)
    if watch is not None:
        end = watch.first + FIRST_SHARE * (watch.last - watch.first)
        watch.within(f"{watch.part} spline terms".strip(), watch.first, end)
    first = replace(spec.first, slot=spec.slot).kept_at("spline terms")
    with keeping(deadline.current().part(FIRST_SHARE)):
        function = fit(first, rows.distinct()).function
    if watch is not None and before is not None:
        watch.within(before[0], watch.last, before[2])
    learnt, widths = function.predictor, resolve(spec.kernels, rows.names)
    assert isinstance(learnt, Predictor)
    if not learnt.indices:
        return spec
    kernels = BothKernels(
        columns=list(widths.columns),
        names=widths.names,
        categorical=widths.categorical,  # type: ignore[attr-defined]
        maps=function.kernels,
        scaler=function.scaler,
        products=[tuple(product) for product in learnt.family.products(learnt.indices)],
        weights=learnt.theta * learnt.family.weights(learnt.indices),
    )
    return replace(spec, kernels=kernels)
