"""Attributes of objects in older model files, as this version has them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ..registry import ESTIMATORS


def upgraded(kind: str, state: dict[str, Any], class_of: Callable[[str], type]) -> dict[str, Any]:
    """Return the attributes of an object; older ones under their new names.

    ``kind`` is the name of its class; ``class_of`` gives the classes that files may hold.
    """
    if kind == "TableEncoder" and "columns" in state:
        return _encoder(state["columns"])
    state = dict(state)
    if kind in ESTIMATORS and "coef_" in state:
        state["term_coef_"] = state.pop("coef_")
    if "_predictor" not in state:
        return state
    parts = (state.pop(name) for name in ("_kernels", "_scaler", "_predictor"))
    state["function_"] = class_of("Function")(*parts, state.get("classes_", np.empty(0)))
    if "_candidate" in state:
        candidate, place = state.pop("_candidate"), state.pop("_place")
        state["choice_"] = _choice(state, candidate, place, class_of)
    return state


def _encoder(columns: list[Any]) -> dict[str, Any]:
    """Return the attributes of an encoder that knew its columns in use alone."""
    names = [column.name for column in columns]
    return {
        "categories": None,
        "keep": None,
        "columns_": columns,
        "notes_": [],
        "n_features_in_": len(names),
        "feature_names_in_": np.array(names, dtype=object),
        "_names": names,
    }


def _choice(state: dict[str, Any], candidate: Any, place: int, class_of: Any) -> Any:
    """Return what cross-validation found."""
    greedy, scores, p = "n_terms_" in state, state["score_path_"], state["p"]
    exponents = [1.0] if greedy else [state["p_"]] if p is None else np.atleast_1d(p).tolist()
    degrees = dict.fromkeys(np.atleast_1d(state["degree"]).tolist())
    sizes = [candidate.sizes] * len(scores) if greedy else state["alphas_"]
    if len(degrees) * len(exponents) != len(scores):
        raise ValueError(
            f"{len(scores)} scores are of {len(degrees)} degrees and {len(exponents)} p"
        )
    pairs = list(product(degrees, exponents))
    candidates = [class_of("Candidate")(*pair, own) for pair, own in zip(pairs, sizes, strict=True)]
    best = pairs.index((candidate.degree, candidate.p)), place
    chosen = candidate.degree, candidate.p, candidate.sizes[place].item()
    return class_of("Choice")(candidates, scores, best, state["best_score_"], greedy, *chosen)
