"""A fitted model as one HTML file that needs nothing but a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..arguments import as_path, refuse_no_mapping
from ..plot.style import need_matplotlib
from ..store import write_whole
from .page import make_page
from .subject import subject_of

__all__ = ["write"]

# On import already: nothing here works without it, and who imports this first learns so before
# an hour of fitting.
need_matplotlib()


def write(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    summary: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
    how_sure: Any = None,
    train: tuple[Any, Any] | None = None,
) -> Path:
    """Write a report of a fitted model: what it found, how well it predicts, what it rests on.

    The file holds its styles, its script and its figures; it opens from disk, without a network.

    Parameters
    ----------
    model : estimator
        A fitted :class:`manykernels.MKLRegressor`, :class:`manykernels.MKLClassifier` or one of
        their cross-validated forms; a pipeline that ends with one; or a table model, which has the
        attributes ``estimator``, ``encode``, ``levels`` and ``summary``.
    X : array-like of shape (n_samples, n_features)
        Rows to show the model on, best not those that it was fitted to.
    y : array-like of shape (n_samples,)
        Their targets.
    path : path
        File to write; it appears whole or not at all.
    title : str, optional
        Title of the page; by default it names the target.
    summary : mapping, optional
        What is known of the fit; every key is optional: ``target``, ``task``, ``rows_train``,
        ``rows_test``, ``scores`` (values by name, that of ``"this model"`` among them),
        ``metric``, ``evaluated_on``, ``file``, ``seconds``, ``command``, ``notes``. Without
        scores, measures of all kinds are computed on the rows given.
    levels : mapping, optional
        For columns of codes, by name: what the codes 0, 1, ... mean; by default what the model
        knows of them.
    how_sure : SplitTest or StabilitySelection, optional
        Of :mod:`manykernels.selection`, fitted to the rows of the model: the report says which
        terms stand. A table model may have been tested already (``manykernels fit --how-sure``).
    train : pair of array-like, optional
        X and y of the fit: a linear model is fitted to them and scored on the rows given, beside
        the model. A table model has one already. Without them the model stands beside the mean, or
        the most frequent class, of the rows given.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from manykernels import MKLRegressor, report
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = MKLRegressor(degree=2, p=1).fit(X, X[:, 0] * X[:, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = report.write(model, X, X[:, 0] * X[:, 1], f"{folder}/report.html")
    ...     print(file.name, file.read_text(encoding="utf-8")[:15])
    report.html <!doctype html>
    """
    need_matplotlib()
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be text or None; got {title!r}. Use title={str(title)!r}.")
    path = as_path(path)
    refuse_no_mapping(summary, "summary")
    refuse_no_mapping(levels, "levels")
    file = Path(path)
    page = make_page(subject_of(model, X, y, summary, levels, how_sure, train), title)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, page.encode("utf-8", "replace"))
    return file
