"""What a fit was asked for: the parameters of an estimator, resolved and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .bases import FeatureBlocks, GramStack
from .families import IndexSet, Interactions, KernelFamily, Monomials, ProductFamily, Tuples
from .kernels import KernelSet, uses_maps
from .losses import Loss
from .losses.names import resolve_loss
from .objective import Problem, exponent
from .solvers import Greedy, Solver

MOST_TERMS = 100
"""Largest number of terms that cross-validated greedy selection tries. Set by judgement."""


@dataclass(frozen=True)
class StopRule:
    """When a solver stops: relative duality gap, iterations, seconds."""

    tol: float
    max_iter: int
    max_time: float | None

    @property
    def limits(self) -> tuple[float, int, float | None]:
        """Gap, iterations and seconds."""
        return self.tol, self.max_iter, self.max_time


@dataclass(frozen=True)
class Search:
    """What cross-validation chooses from, and how.

    Attributes
    ----------
    alphas : sequence of float, optional
        Strengths to try; None for a grid made from the data.
    n_alphas : int
        Number of strengths of that grid.
    cv : object
        Folds as scikit-learn takes them; None for the default.
    one_standard_error : bool
        Whether the simplest model within one standard error of the best is taken.
    debias : bool
        Whether selected kernels are fitted again without a penalty.
    n_jobs : int, optional
        Folds computed at a time.
    """

    alphas: Any
    n_alphas: int
    cv: Any
    one_standard_error: bool
    debias: bool
    n_jobs: int | None


class FamilyMaker(Protocol):
    """From base kernels to the family of kernels that is weighed."""

    def __call__(
        self, bases: FeatureBlocks | GramStack, kernels: KernelSet, degree: int, p: float
    ) -> KernelFamily:
        """Return the family on the rows of the base kernels."""
        ...

    def size(self, family: KernelFamily) -> int:
        """Return the number of kernels to choose from, as people count them."""
        ...


@dataclass(frozen=True)
class Products:
    """All products of up to ``degree`` base kernels.

    Attributes
    ----------
    index_set : {"auto", "tuples", "monomials", "interactions"}
        Which products.
    rho : sequence of float, optional
        Scale factors of the degrees.
    highest : int
        Largest of the degrees to choose from; ``rho`` may be as long as that one needs.
    """

    index_set: str
    rho: Any
    highest: int

    def __call__(
        self, bases: FeatureBlocks | GramStack, kernels: KernelSet, degree: int, p: float
    ) -> ProductFamily:
        """Return the products of the base kernels."""
        rho = self.rho
        if rho is not None and np.shape(rho) == (self.highest + 1,):
            rho = list(rho)[: degree + 1]
        return ProductFamily(bases, degree, self._kind(kernels, p), rho, kernels.names)

    def _kind(self, kernels: KernelSet, p: float) -> IndexSet:
        kind = self.index_set
        if kind == "auto":
            kind = "monomials" if kernels.powers else "interactions"
        if kind == "tuples":
            return Tuples(exponent(p))
        return Monomials() if kind == "monomials" else Interactions()

    def size(self, family: KernelFamily) -> int:
        """Return the number of members of the index set."""
        return family.size


@dataclass(frozen=True)
class Spec:
    """What a fit was asked for.

    Attributes
    ----------
    kernels : object
        The public argument.
    degrees : tuple of int
        Largest numbers of base kernels in a product to choose from.
    exponents : tuple of float
        Exponents of the group norm to choose from.
    family : FamilyMaker
        Which kernels are weighed.
    loss : Loss
        The loss.
    labelled : bool
        Whether targets are classes.
    intercept : bool
        Whether an unpenalised constant is added.
    standardize : {True, "scale", False}
        How columns are standardised.
    device : str, optional
        Where the work is done; None for where the rows are.
    solver : str or Solver
        What finds the weights.
    strength : float
        The public alpha; not a number where it is to be chosen.
    stop : StopRule
        When a solver stops.
    random_state : object
        Source of randomness, as scikit-learn takes it.
    verbose : int
        How much progress is shown.
    search : Search, optional
        What cross-validation chooses from; None where there is nothing to choose.
    learn : callable, optional
        A method that weighs no family: from a problem and base kernels to the learnt function,
        the dual variables and further attributes of the estimator.
    """

    kernels: Any
    degrees: tuple[int, ...]
    exponents: tuple[float, ...]
    family: FamilyMaker
    loss: Loss
    labelled: bool
    intercept: bool
    standardize: bool | str
    device: str | None
    solver: str | Solver
    strength: float
    stop: StopRule
    random_state: Any
    verbose: int
    search: Search | None = None
    learn: Callable[[Problem, FeatureBlocks | GramStack], Any] | None = None

    @property
    def centres(self) -> bool:
        """Whether columns are centred."""
        return isinstance(self.standardize, bool | np.bool_) and bool(self.standardize)

    @property
    def scales(self) -> bool:
        """Whether columns are divided by their standard deviations."""
        return self.centres or self.standardize == "scale"

    @property
    def greedy(self) -> Greedy | None:
        """Greedy selection, if it was asked for."""
        if isinstance(self.solver, Greedy):
            return self.solver
        return Greedy(MOST_TERMS) if self.solver == "greedy" else None


def specify(estimator: Any, labelled: bool, **changes: Any) -> Spec:
    """Resolve the parameters of an estimator; those that it lacks have no effect.

    ``changes`` are fields of the specification that a method sets itself.
    """

    def asked(name: str, default: Any = None) -> Any:
        return getattr(estimator, name, default)

    degrees = tuple(dict.fromkeys(int(d) for d in np.atleast_1d(asked("degree", 0))))
    search = None
    if hasattr(estimator, "alphas"):
        flags = bool(asked("one_standard_error")), bool(asked("debias"))
        search = Search(asked("alphas"), asked("n_alphas"), asked("cv"), *flags, asked("n_jobs"))
    fields = {
        "kernels": asked("kernels"),
        "degrees": degrees,
        "exponents": _exponents(estimator) if search else (float(asked("p", 2.0)),),
        "family": Products(asked("index_set", "auto"), asked("rho"), max(degrees)),
        "loss": resolve_loss(asked("loss"), labelled),
        "labelled": labelled,
        "intercept": bool(asked("fit_intercept")),
        "standardize": asked("standardize"),
        "device": asked("device"),
        "solver": asked("solver", "auto"),
        "strength": float(asked("alpha", np.nan)),
        "stop": StopRule(asked("tol", 0.0), asked("max_iter", 0), asked("max_time")),
        "random_state": asked("random_state", 0),
        "verbose": asked("verbose", 0),
        "search": search,
    }
    return Spec(**{**fields, **changes})


def _exponents(estimator: Any) -> tuple[float, ...]:
    """Return the exponents to choose from; by default one where kernels are selected."""
    solver, p = estimator.solver, estimator.p
    if isinstance(solver, Greedy) or (isinstance(solver, str) and solver == "greedy"):
        return (1.0,)
    if p is not None:
        return tuple(float(value) for value in np.atleast_1d(p))
    selected = estimator.debias or solver == "working-set" or uses_maps(estimator.kernels)
    return (1.0 if selected and solver != "full-pass" else 4 / 3,)
