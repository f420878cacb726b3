"""Data sets from OpenML, coded as in the paper's files."""

from __future__ import annotations

from http.client import HTTPException

import numpy as np
from sklearn.datasets import fetch_openml

from ..arrays import Array
from .facts import GERMAN, LETTERS, PAPER, VARIABLE, feature_names, mismatch


def fetch(name: str) -> Array:
    """Return variables and target from OpenML, coded as in the file."""
    facts = PAPER[name]
    try:
        fetched = fetch_openml(data_id=facts.openml_id, as_frame=True)
    except (OSError, HTTPException) as error:
        raise OSError(
            f"{name} must be downloaded once from OpenML (id {facts.openml_id}), which needs the "
            f"network; got {error!r}. Go online, or set data_dir or {VARIABLE} to a folder with "
            f"paper/{name}.csv.gz; ringnorm and waveform are generated and need neither."
        ) from error
    frame = fetched.data.drop(columns="Instance_name", errors="ignore")
    if frame.shape[1] != facts.shape[1]:
        origin = f"OpenML {facts.openml_id}"
        raise ValueError(mismatch(name, origin, "shape", facts.shape, frame.shape))
    names = feature_names(name)
    texts = [[str(value).strip(" '\"") for value in frame.iloc[:, j]] for j in range(len(names))]
    labels = [str(value).strip(" '\"") for value in fetched.target]
    if name == "splice":
        clear = [i for i, row in enumerate(zip(*texts, strict=True)) if LETTERS.keys() >= set(row)]
        texts = [[column[i] for i in clear] for column in texts]
        labels = [labels[i] for i in clear]
    codes = dict.fromkeys(names, LETTERS) if name == "splice" else GERMAN
    columns = [_code(name, j, t, codes.get(j, {})) for j, t in zip(names, texts, strict=True)]
    rows = np.column_stack([*columns, _code(name, "target", labels, facts.signs)])
    if name == "splice":
        rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    return rows


def _code(name: str, column: str, texts: list[str], codes: dict[str, int]) -> Array:
    try:
        return np.array([codes[text] if codes else float(text) for text in texts], dtype=float)
    except (KeyError, ValueError) as error:
        allowed = ", ".join(map(repr, codes)) or "numbers"
        raise ValueError(
            f"column {column} of {name} must hold {allowed} on OpenML; got {error.args[0]!r}. "
            f"The copy there has changed: use data_dir with the file {name}.csv.gz."
        ) from error
