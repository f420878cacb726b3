"""Models as a Python function, as an SQL query, as a formula: where this library is not at hand."""

from __future__ import annotations

from typing import Any

from ..arguments import refuse_no_text, refuse_outside
from ..frames.columns import some_of
from ..notices import notify
from .formula import Formula, formula_of
from .latex import to_latex as _latex
from .python import to_python as _python
from .sql import to_sql as _sql

__all__ = ["Formula", "formula_of", "to_latex", "to_python", "to_sql"]


def to_python(model: Any) -> str:
    """Return a model as the text of a Python module that imports nothing but math.

    Parameters
    ----------
    model : fitted estimator or TableModel
        A model of explicit functions: any kernels but ``"widths"``, ``"both"``, and those known by
        their values only (``"rbf"``, callables, matrices).

    Returns
    -------
    str
        It has ``predict(row)`` with a dict of values by column, and for classes
        ``predict_proba(row)`` with a dict of probabilities by class.

    Examples
    --------
    >>> import numpy as np
    >>> from manykernels import MKLRegressor, export
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = MKLRegressor(degree=1, p=1).fit(X, X[:, 0])
    >>> names = {}
    >>> exec(export.to_python(model), names)
    >>> bool(abs(names["predict"]({"x0": 0.5, "x1": 0.0}) - model.predict([[0.5, 0.0]])[0]) < 1e-9)
    True
    """
    return _python(_told(formula_of(model)))


def to_sql(model: Any, table: str = "data") -> str:
    """Return a model as one SQL query over a table, for SQLite (3.35 or newer) and DuckDB.

    Parameters
    ----------
    model : fitted estimator or TableModel
        As for :func:`to_python`.
    table : str
        Name of the table, which has the columns of the training table.

    Returns
    -------
    str
        It selects the columns of the table, ``manykernels_row``, ``prediction`` and for classes
        their probabilities. Where a value cannot be used the prediction is NULL.

    Raises
    ------
    ValueError
        If the model is no formula, or the table has columns with such names, or with names that
        differ in upper and lower case only.
    """
    refuse_no_text(table, "table", "data")
    return _sql(_told(formula_of(model)), table)


def _told(formula: Formula) -> Formula:
    """Return a formula; warn of columns that must be written otherwise than in training."""
    if formula.written:
        notify(
            "columns must hold plain numbers, such as 1000.5, where the exported model is used; in "
            f"training they were written otherwise: {some_of(formula.written)}. Convert them.",
            UserWarning,
        )
    return formula


def to_latex(model: Any, digits: int = 6) -> str:
    """Return a model as a formula in LaTeX.

    Parameters
    ----------
    model : fitted estimator or TableModel
        As for :func:`to_python`.
    digits : int
        Significant digits of numbers; 17 are all there are.

    Returns
    -------
    str
        Equations for the package amsmath, from columns to predictions.
    """
    refuse_outside(digits, "digits", 1, 17, 6)
    return _latex(formula_of(model), digits)
