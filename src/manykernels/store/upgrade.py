"""Attributes of estimators in model files of format 1, as this version has them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np


def upgraded(state: dict[str, Any], class_of: Callable[[str], type]) -> dict[str, Any]:
    """Return the attributes of a fitted estimator; those of format 1 under their new names.

    ``class_of`` gives the classes that files may hold.
    """
    if "_predictor" not in state:
        return state
    state = dict(state)
    parts = (state.pop(name) for name in ("_kernels", "_scaler", "_predictor"))
    state["function_"] = class_of("Function")(*parts, state.get("classes_", np.empty(0)))
    if "_candidate" in state:
        candidate, place = state.pop("_candidate"), state.pop("_place")
        state["choice_"] = _choice(state, candidate, place, class_of)
    return state


def _choice(state: dict[str, Any], candidate: Any, place: int, class_of: Any) -> Any:
    """Return what cross-validation found."""
    greedy, scores, p = "n_terms_" in state, state["score_path_"], state["p"]
    exponents = [1.0] if greedy else [state["p_"]] if p is None else np.atleast_1d(p).tolist()
    degrees = dict.fromkeys(np.atleast_1d(state["degree"]).tolist())
    sizes = [candidate.sizes] * len(scores) if greedy else state["alphas_"]
    pairs = list(product(degrees, exponents))
    candidates = [class_of("Candidate")(*pair, own) for pair, own in zip(pairs, sizes, strict=True)]
    best = pairs.index((candidate.degree, candidate.p)), place
    chosen = candidate.degree, candidate.p, candidate.sizes[place].item()
    return class_of("Choice")(candidates, scores, best, state["best_score_"], greedy, *chosen)
