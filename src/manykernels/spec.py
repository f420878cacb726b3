"""What a fit was asked for: the parameters of an estimator, resolved and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from .bases import FeatureBlocks, GramStack
from .families import KernelFamily, ProductFamily, Tuples
from .kernels import KernelSet, uses_maps
from .losses import BY_NAME, Loss, Squared
from .memory import budget
from .objective import Problem, exponent
from .registry import CLASS_LOSSES, INDEX_SETS, REAL_LOSSES
from .solvers import Greedy, Solver

MOST_TERMS = 100
"""Largest number of terms that cross-validated greedy selection tries. Set by judgement."""


@dataclass(frozen=True)
class StopRule:
    """When a solver stops: iterations, relative duality gap, seconds."""

    max_iter: int
    tol: float
    max_time: float | None


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

    def size(self, family: KernelFamily) -> int:
        """Return the number of kernels to choose from, as people count them."""


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
        kind = self.index_set
        if kind == "auto":
            kind = "monomials" if kernels.powers else "interactions"
        members = Tuples(exponent(p)) if kind == "tuples" else INDEX_SETS[kind]()
        return ProductFamily(bases, degree, members, rho, kernels.names)

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
    centres, scales : bool
        Whether columns are centred, and divided by their standard deviations.
    solver : str or Solver
        What finds the weights.
    greedy : Greedy or None
        The same if it is greedy selection.
    strength : float
        The public alpha; not a number where it is to be chosen.
    stop : StopRule
        When a solver stops.
    random_state : object
        Source of randomness, as scikit-learn takes it.
    verbose : int
        How much progress is shown.
    max_memory : int
        Bytes that the fit may hold.
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
    centres: bool
    scales: bool
    solver: str | Solver
    greedy: Greedy | None
    strength: float
    stop: StopRule
    random_state: Any
    verbose: int
    max_memory: int
    search: Search | None = None
    learn: Callable[[Problem, FeatureBlocks | GramStack], Any] | None = None


def specify(estimator: Any, labelled: bool, **changes: Any) -> Spec:
    """Resolve the parameters of an estimator; those that it lacks have no effect.

    ``changes`` are fields of the specification that a method sets itself.
    """
    asked = partial(getattr, estimator)
    kernels, solver, p = asked("kernels"), asked("solver", "auto"), asked("p", 2.0)
    greedy = solver if isinstance(solver, Greedy) else None
    if isinstance(solver, str) and solver == "greedy":
        greedy = Greedy(MOST_TERMS)
    degrees = tuple(dict.fromkeys(int(d) for d in np.atleast_1d(asked("degree", 0))))
    search = None
    if hasattr(estimator, "alphas"):
        debias = bool(asked("debias"))
        flags = bool(asked("one_standard_error")), debias
        search = Search(asked("alphas"), asked("n_alphas"), asked("cv"), *flags, asked("n_jobs"))
        if greedy is not None:
            p = 1.0
        elif p is None:  # one where kernels are selected
            selected = debias or solver == "working-set" or uses_maps(kernels)
            p = 1.0 if selected and solver != "full-pass" else 4 / 3
    standardize = asked("standardize")
    centres = isinstance(standardize, bool | np.bool_) and bool(standardize)
    fields = {
        "kernels": kernels,
        "degrees": degrees,
        "exponents": tuple(float(value) for value in np.atleast_1d(p)),
        "family": Products(asked("index_set", "auto"), asked("rho", None), max(degrees)),
        "loss": resolve_loss(asked("loss"), labelled),
        "labelled": labelled,
        "intercept": bool(asked("fit_intercept")),
        "centres": centres,
        "scales": centres or standardize == "scale",
        "solver": solver,
        "greedy": greedy,
        "strength": float(asked("alpha", np.nan)),
        "stop": StopRule(asked("max_iter", 0), asked("tol", 0.0), asked("max_time", None)),
        "random_state": asked("random_state", 0),
        "verbose": asked("verbose", 0),
        "max_memory": budget(asked("max_memory", None)),
        "search": search,
    }
    return Spec(**{**fields, **changes})


def resolve_loss(loss: Any, labelled: bool) -> Loss:
    """Return the loss of an argument, or say what is wrong with it.

    ``labelled`` tells whether targets are classes.
    """
    allowed, kind = (CLASS_LOSSES, "classifier") if labelled else (REAL_LOSSES, "regressor")
    if isinstance(loss, str):
        if loss not in allowed:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, allowed))} for a {kind}, or a loss "
                f"object; got {loss!r}. See manykernels.losses."
            )
        return BY_NAME[loss]()
    missing = [name for name in ("value", "gradient", "conjugate") if not hasattr(loss, name)]
    if missing or not (hasattr(loss, "curvature") or hasattr(loss, "conjugate_prox")):
        raise ValueError(
            f"loss must be a name or have value, gradient, conjugate, and curvature or "
            f"conjugate_prox; got {loss!r}. See manykernels.losses."
        )
    classes = bool(getattr(loss, "classification", False))
    if not labelled and classes:
        raise ValueError(
            f"loss must be for real targets; got {loss!r}. Use MKLClassifier for classes."
        )
    if labelled and not (classes or isinstance(loss, Squared)):
        raise ValueError(f"loss must be for classes; got {loss!r}. Use loss='logistic'.")
    return loss
