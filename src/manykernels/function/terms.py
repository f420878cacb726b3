"""The learnt function by terms: a table of them, and their parts of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..arrays import Array
from ..bases import Bases
from .predictor import Predictor

if TYPE_CHECKING:
    import pandas as pd

OTHERS = "other terms"
"""Name of what is not listed: of a kernel that is a sum in closed form (p = 2), or of a function of
kernels with widths."""


@dataclass(frozen=True)
class Terms:
    """The terms of a learnt function: kernels in use, those of one name together.

    Where a variable has several kernels of its name (a smooth and a fine one, say), all products
    of the same variables are one term.

    Attributes
    ----------
    predictor : Predictor
        The learnt function.
    inputs : sequence of ndarray
        Columns of X that each base kernel sees.
    """

    predictor: Predictor
    inputs: Sequence[Array]
    rest: ClassVar[None] = None
    """Name of the line for what is in no term: all that is listed is a term."""
    sampled: ClassVar[None] = None
    """Number of training rows that spreads are over, if not all: they are over all."""

    @cached_property
    def _kernels(self) -> dict[str, list[int]]:
        """Positions of each term's kernels in the predictor, terms by descending spread.

        By descending share in models of earlier versions, whose spreads are not known.
        """
        groups: dict[str, list[int]] = {}
        for i, index in enumerate(self.predictor.indices):
            groups.setdefault(self.predictor.family.name(index), []).append(i)
        spreads, shares = self.predictor.spreads, self.predictor.shares
        sizes = {
            name: shares[where].sum() if spreads is None else spreads[where[0]]
            for name, where in groups.items()
        }
        return {name: groups[name] for name in sorted(groups, key=lambda name: -sizes[name])}

    @cached_property
    def _shared_names(self) -> bool:
        """Whether some variable has several kernels of its name."""
        names = self.predictor.family.names
        return len(set(names)) < len(names)

    @property
    def names(self) -> list[str]:
        """Names of the terms, by descending spread."""
        return list(self._kernels)

    @property
    def factor_names(self) -> Sequence[str]:
        """Names of the base kernels."""
        return self.predictor.family.names

    def factors(self, name: str) -> list[int]:
        """Return the numbers of the base kernels of a term, each once, in order of first use."""
        predictor = self.predictor
        kernels = [predictor.indices[i] for i in self._known(name)]
        return list(dict.fromkeys(j for index in kernels for j in predictor.family.factors(index)))

    def columns(self, name: str) -> list[int]:
        """Return the columns of X that a term is a function of, ascending.

        The list is empty if one of its kernels is no function of columns, but given by a matrix.
        """
        inputs = [self.inputs[j] for j in self.factors(name)]
        if any(len(columns) == 0 for columns in inputs):
            return []
        return sorted({int(c) for columns in inputs for c in columns})

    def degree(self, name: str) -> int:
        """Return the number of factors of a term: x^2 counts twice.

        Where variables have several kernels of one name, the number of different variables.
        """
        family, names = self.predictor.family, self.predictor.family.names
        factors = family.factors(self.predictor.indices[self._kernels[name][0]])
        return len({names[j] for j in factors}) if self._shared_names else len(factors)

    def sign(self, name: str) -> int:
        """Return the sign of a term's coefficient, 0 if it has no single one."""
        coefficients, where = self.predictor.coefficients, self._kernels[name]
        if coefficients is None or coefficients.shape != (len(self.predictor.indices), 1):
            return 0
        return int(np.sign(coefficients[where[0], 0])) if len(where) == 1 else 0

    def table(self, top: int | None) -> pd.DataFrame:
        """Return the terms of largest spread as a table, one row each; all if ``top`` is None."""
        import pandas as pd

        names = self.names[:top]
        where = [self._kernels[name] for name in names]
        first = [own[0] for own in where]
        spreads, losses = (
            np.full(len(names), np.nan) if values is None else values[first]
            for values in (self.predictor.spreads, self.predictor.losses)
        )
        return pd.DataFrame(
            {
                "term": pd.Series(names, dtype=object),
                "degree": np.array([self.degree(name) for name in names], dtype=int),
                "theta": np.array([self.predictor.theta[own].sum() for own in where], dtype=float),
                "share": np.array([self.predictor.shares[own].sum() for own in where], dtype=float),
                "sign": np.array([self.sign(name) for name in names], dtype=int),
                "spread": spreads,
                "loss_without": losses,
            }
        )

    def contributions(self, bases: Bases, names: Sequence[str] | None, output: int) -> pd.DataFrame:
        """Return the parts of an output of the function, a column for each term.

        Of all terms, with the intercept first, so that the columns add up to the function; or of
        those named.
        """
        import pandas as pd

        predictor = self.predictor
        listed = self.names if names is None else list(names)
        frame = pd.DataFrame(self.parts(bases, listed, output), columns=listed)
        if names is None:
            name = "intercept" if "intercept" not in listed else "(intercept)"
            frame.insert(0, name, float(predictor.intercept[output]))
            constant = all(len(predictor.family.factors(i)) for i in predictor.indices)
            unlisted = predictor.family.distinct - len(predictor.indices)
            if predictor.closed and unlisted > constant:  # not the constant kernel alone
                whole = predictor.decision(bases)[:, output]
                frame[OTHERS] = whole - frame.sum(axis=1).to_numpy()
        return frame

    def parts(self, bases: Bases, names: Sequence[str], output: int) -> Array:
        """Return the parts of an output that terms have, of shape (n, len(names))."""
        groups = np.full(len(self.predictor.indices), -1)
        for group, name in enumerate(names):
            groups[self._known(name)] = group
        return self.predictor.parts(bases, groups, len(names), output)

    def share(self, name: str) -> float:
        """Return the share of a term in the variance of the function."""
        return float(self.predictor.shares[self._known(name)].sum())

    def _known(self, name: str) -> list[int]:
        if not isinstance(name, str) or name not in self._kernels:
            some = ", ".join(map(repr, self.names[:3])) or "none"
            raise ValueError(
                f"terms must be those of the model; got {name!r}. It has {len(self.names)}, such "
                f"as {some}; explain(None) lists them."
            )
        return self._kernels[name]
