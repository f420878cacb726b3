"""SHIM, to be dropped on merge: public views of private members."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..explain import Terms
from .choosing import Candidate


class Function:
    """The fitted function of an estimator."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.predictor = machine._predictor
        self.kernels = machine._kernels

    @cached_property
    def terms(self) -> Terms:
        """Its terms."""
        return Terms(self.predictor, self.kernels.inputs)

    def rows(self, X: Any) -> Any:
        """Return rows, checked."""
        return self.machine._validate(X, reset=False)

    def decision(self, X: Any) -> Array:
        """Return decision values of shape (n, c)."""
        return self.machine._decision(X)

    def output(self, label: Any) -> int:
        """Return the number of the output that belongs to a class."""
        return int(self.machine._output(label))


class Choice:
    """What cross-validation chose from."""

    def __init__(self, machine: Any) -> None:
        pairs = [(degree, p) for degree in machine._degrees() for p in machine._exponents()]
        self.counts_terms = machine._greedy() is not None
        number = pairs.index((machine.degree_, machine.p_))
        if self.counts_terms:
            sizes = np.tile(np.arange(machine.score_path_.shape[1]), (len(pairs), 1))
            place = int(machine.n_terms_)
        else:
            sizes = machine.alphas_
            place = int(np.argmax(sizes[number] == machine.alpha_))
        self.candidates = [Candidate(*pair, own) for pair, own in zip(pairs, sizes, strict=True)]
        self.best = (number, place)
