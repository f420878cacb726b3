"""A model that takes tables as they are read from files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..baselines.simple import SimpleModels
from ..estimators import MKLClassifierCV, MKLRegressorCV
from ..frames import TableEncoder, TableError
from ..frames.written import refuse_objects, shown, target_values
from ..how_sure import HowSure
from ..registry import TASKS
from ..store import refuse_fields, refuse_infinite, save
from ..words import plural
from .formulas import PROBABILITY

TableEstimator = MKLRegressorCV | MKLClassifierCV


@dataclass(frozen=True, repr=False)
class TableModel:
    """A fitted estimator with the encoding of its table and what is known of its training.

    Attributes
    ----------
    encoder : TableEncoder
        From tables to tables of numbers.
    estimator : MKLRegressorCV or MKLClassifierCV
        Fitted to encoded tables.
    summary : dict
        Plain facts: target, task, numbers of rows, scores and those of baselines, notes.
    simple : SimpleModels, optional
        A linear model and a constant fitted to the same rows, to compare with; None in model files
        from before there were any.
    how_sure : HowSure, optional
        What many splits of the training rows say of the terms; None where that was not tested.
    """

    encoder: TableEncoder
    estimator: TableEstimator
    summary: dict[str, Any]
    simple: SimpleModels | None = None
    how_sure: HowSure | None = None

    def __repr__(self) -> str:
        target, task = self.summary["target"], self.summary["task"]
        return (
            f"TableModel({task} of {target!r} from {plural(len(self.encoder.columns_), 'column')}, "
            f"{plural(len(self.estimator.terms_), 'kernel')} in use)"
        )

    @property
    def levels(self) -> dict[str, list[str]]:
        """Labels of the numbers in encoded columns that hold categories."""
        return self.encoder.levels_

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table of numbers that the estimator sees."""
        return self.encoder.encode(frame)

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a column with predictions, for classes also their probabilities."""
        rows = self.encode(frame)
        target = str(self.summary["target"])
        out = pd.DataFrame({target: self.estimator.predict(rows)}, index=frame.index)
        if hasattr(self.estimator, "predict_proba"):
            chances = self.estimator.predict_proba(rows)
            for number, label in enumerate(self.estimator.classes_.tolist()):
                out[f"{PROBABILITY}{label}"] = chances[:, number]
        return out

    def explain(self, top: int | None = 20) -> pd.DataFrame:
        """Return the most important terms as a table, with how sure they are if that is known."""
        return self.estimator.explain(top, self.how_sure)

    def contributions(
        self, frame: pd.DataFrame, terms: Any = None, label: Any = None
    ) -> pd.DataFrame:
        """Return what each term contributes to each prediction (decision value for classes)."""
        return self.estimator.contributions(self.encode(frame), terms, label)

    def truth(self, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
        """Return the target column of a table as the estimator takes it."""
        name, task = str(self.summary["target"]), str(self.summary["task"])
        column = frame[name]
        if why := refuse_objects(column.dropna()):
            raise TableError(f"target {name!r} {why}. Give rows of the same kind.")
        values = target_values(column, task)
        if task == "regression":
            bad = column[column.notna().to_numpy() & ~np.isfinite(values)]
            if len(bad):
                raise TableError(
                    f"target {name!r} must hold numbers, as in training; got {shown(bad.iloc[0])} "
                    f"in {plural(len(bad), 'row')}. Give rows of the same kind."
                )
        return values

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to a file that :func:`manykernels.load` reads."""
        from .. import __version__

        return save(self, path, __version__)

    def check_loaded(self) -> None:
        """Raise if a model that was read from a file cannot predict; for the reader of files."""
        kinds = {"encoder": TableEncoder, "estimator": TableEstimator, "summary": dict}
        refuse_fields(self, kinds, "the model")
        for name, kind in (("simple", SimpleModels), ("how_sure", HowSure)):
            if not isinstance(getattr(self, name), kind | None):
                raise TypeError(f"{name} of the model is {type(getattr(self, name)).__name__}")
        self.estimator.check_loaded()
        summary = self.summary
        target, task, rows = (summary.get(name) for name in ("target", "task", "rows_train"))
        labelled = task == "classification"
        if not isinstance(target, str) or task not in TASKS or not isinstance(rows, int):
            raise ValueError("the summary has no target, task or number of rows")
        if labelled != self.estimator.labelled:
            raise ValueError(f"the estimator is none for {task}")
        row = self.encoder.example()
        self.predict(row)
        if self.simple is not None:
            refuse_infinite(self.simple, "the linear model")
            if not np.all(self.simple.spread > 0):
                raise ValueError("spreads of the linear model must be positive")
            self.simple.predict(self.encode(row).to_numpy())
