"""Model files written before the rebuilding of the estimators (commit fd730d0) still load.

Beside each ``NAME.mk`` in ``old_models/`` is a ``NAME.npz`` with rows and with what the model said
of them when it was written: predictions, terms, contributions and attributes.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manykernels import load
from manykernels.tables import TableModel, read

FOLDER = Path(__file__).parent / "old_models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.mk"))
RENAMED = {"coef_": "term_coef_"}
"""Attributes that have another name now."""


def same(found, known):
    found = np.asarray(found)
    if known.dtype.kind == "U":
        assert found.astype(str).tolist() == known.tolist()
    elif known.dtype.kind in "iub":
        assert np.array_equal(found, known)
    else:
        scale = float(np.abs(known[np.isfinite(known)]).max(initial=0.0))
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12 * scale)


def rows_of(known, estimator, folder):
    kind, rows = str(known["kind"]), known["rows"]
    if kind == "csv":
        path = folder / "rows.csv"
        path.write_text(str(rows))
        return read(path)
    if kind == "frame":
        return pd.DataFrame(rows, columns=estimator.feature_names_in_.tolist())
    return sparse.csr_array(rows) if kind == "sparse" else rows


def check(model, known, folder):
    """Compare everything that a model says with what is known of it; return how much that was."""
    estimator = model.estimator if isinstance(model, TableModel) else model
    rows = rows_of(known, estimator, folder)
    classes = getattr(estimator, "classes_", [])
    parts = model.contributions(rows, label=classes[1] if len(classes) > 2 else None)
    table = model.explain(None)
    predicted = model.predict(rows)
    if isinstance(model, TableModel):
        assert predicted.columns.tolist() == known["predict columns"].tolist()
        if "predict probabilities" in known:
            same(predicted.iloc[:, 1:].to_numpy(dtype=float), known["predict probabilities"])
        predicted = predicted.iloc[:, 0].to_numpy()
    same(predicted, known["predict"])
    same(parts.to_numpy(), known["contributions"])
    same(parts.columns.tolist(), known["contributions columns"])
    same([",".join(map(str, term)) for term in estimator.terms_], known["terms"])
    compared = 4
    for key in known:
        group, _, name = key.partition(" ")
        if group == "explain":
            same(table[name].to_numpy(), known[key])
        elif group == "attribute":
            same(getattr(estimator, RENAMED.get(name, name)), known[key])
        elif key in ("decision_function", "predict_proba"):
            same(getattr(model, key)(rows), known[key])
        else:
            continue
        compared += 1
    return compared


@pytest.mark.parametrize("name", NAMES)
def test_old_models_say_what_they_said(name, tmp_path):
    with np.load(FOLDER / f"{name}.npz") as file:
        known = dict(file)
    model = load(FOLDER / f"{name}.mk")
    assert check(model, known, tmp_path) >= 12
    # Saved by this version and loaded again.
    again = load(model.save(tmp_path / "again.mk"))
    assert type(again) is type(model)
    check(again, known, tmp_path)


def test_old_models_are_there():
    """No file was lost: all kinds of kernels, exponents, tasks and choices are among them."""
    assert len(NAMES) == 21
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 600_000
