"""What a fit was asked for: the parameters of an estimator, resolved and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Protocol

import numpy as np

from .bases import Bases, WidthRows
from .families import KernelFamily, ProductFamily, Tuples, WidthFamily, cell_family
from .kernels import KernelSet
from .limits import PRICED_ENTRIES, SPLIT_ROWS
from .losses import Loss
from .objective import Problem, exponent
from .registry import AUTO, INDEX_SETS
from .solvers import Greedy, Slot, Solver, is_priced

CELLS = 4
"""Cells that the widths of a column are split into for 1 < p < 2. Set by judgement: at six decades
of widths a cell is a decade and a half."""


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
    ratios : tuple of float, optional
        Strengths of a sum over rows that make up the grid instead of one made from the data.
    most_rows : int, optional
        Rows that are drawn for the choice where there are more and ``cv`` is None.
    split_rows : int
        Rows from which on a fifth is held out once where ``cv`` is None, in place of five folds.
    """

    alphas: Any
    n_alphas: int
    cv: Any
    one_standard_error: bool
    debias: bool
    n_jobs: int | None
    ratios: tuple[float, ...] | None = None
    most_rows: int | None = None
    split_rows: int = SPLIT_ROWS


class FamilyMaker(Protocol):
    """From base kernels to the family of kernels that is weighed."""

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> KernelFamily:
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
    degrees : tuple of int
        The degrees to choose from; ``rho`` may be as long as the largest of them needs.
    """

    index_set: str
    rho: Any
    degrees: tuple[int, ...]

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> ProductFamily:
        """Return the products of the base kernels."""
        assert not isinstance(bases, WidthRows)
        rho = self.rho
        if rho is not None and len(rho) == max(self.degrees) + 1:
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
class Widths:
    """All kernels of up to ``degree`` columns with free widths; cells of widths for 1 < p < 2.

    Attributes
    ----------
    rho : sequence of float, optional
        Scale factors of the numbers of columns.
    """

    rho: Any

    def __call__(self, bases: Bases, kernels: KernelSet, degree: int, p: float) -> KernelFamily:
        """Return the kernels on rows of scaled columns."""
        assert isinstance(bases, WidthRows)
        if 1 < p < 2:
            return cell_family(bases, exponent(p), CELLS, degree, rho=self.rho, names=kernels.names)
        return WidthFamily(bases, degree, rho=self.rho, names=kernels.names)

    def size(self, family: KernelFamily) -> float:
        """Return the number of cells; there is no number of kernels with free widths."""
        return family.size if family.listable else np.inf


@dataclass(frozen=True)
class Spec:
    """What a fit was asked for.

    Attributes
    ----------
    kernels : object
        The public argument.
    degrees : tuple of int
        Largest numbers of base kernels in a product to choose from; None for that of all columns,
        see :meth:`on_rows`.
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
    standardize_terms : bool or "auto"
        Whether kernels are divided by their spreads over the training rows; see
        :meth:`standardizes`.
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
    alternatives : tuple of Spec
        Specifications of which the best on rows held out takes the place of this one.
    label : str
        What an alternative is called.
    first : Spec, optional
        A fit to the same rows that comes first, whose spline terms are one kernel beside those
        with widths.
    free_degree : bool
        Whether a lower degree is taken where rows and columns are many; see :meth:`on_rows`.
    subsample : {None, "auto"}
        Whether the fit to all rows starts from fits to growing subsets of them.
    compared : bool
        Whether models are only compared with each other: no gap is wanted where it takes long.
    learn : callable, optional
        A method that weighs no family: from a problem and base kernels to the learnt function,
        the dual variables and further attributes of the estimator.
    slot : Slot, optional
        Where the state of the fit is kept; None keeps nothing.
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
    standardize_terms: bool | str
    strength: float
    stop: StopRule
    random_state: Any
    verbose: int
    max_memory: int
    search: Search | None = None
    alternatives: tuple[Spec, ...] = ()
    label: str = ""
    first: Spec | None = None
    free_degree: bool = False
    subsample: str | None = None
    compared: bool = False
    learn: Callable[[Problem, Any], Any] | None = None
    slot: Slot | None = None

    def standardizes(self, problem: Problem, family: KernelFamily) -> bool:
        """Tell whether kernels are divided by their spreads.

        ``"auto"``: for p = 1 by working sets, and kernels of one feature of columns that are
        scaled. Functions of columns vary alike as they are.
        """
        if self.standardize_terms != AUTO:
            return bool(self.standardize_terms)
        linear = problem.p == 1 and self.scales and family.explicit and family.blocks.single
        return linear and is_priced(self.solver, problem, family)

    @property
    def selects(self) -> bool:
        """Whether kernels are selected greedily, or refitted where they are selected."""
        return self.greedy is not None or (self.search is not None and self.search.debias)

    def kept_at(self, *names: str) -> Spec:
        """Return the specification of a part of the fit, whose state is kept in its own slot."""
        slot = self.slot
        for name in names if slot is not None else ():
            assert slot is not None
            slot = slot.at(name)
        return replace(self, slot=slot)

    def on_rows(self, count: int, columns: int) -> Spec:
        """Return the specification for numbers of rows and columns.

        Kernels with widths have no more columns than there are. A degree that is free is the
        largest that can be priced in seconds.
        """
        if isinstance(self.family, Widths):
            degrees = (columns if one is None else min(one, columns) for one in self.degrees)
            return replace(self, degrees=tuple(dict.fromkeys(degrees)), free_degree=False)
        if not self.free_degree or not isinstance(self.family, Products):
            return self
        (highest,) = self.degrees
        return self.of_degree(affordable_degree(highest, count, columns))

    def of_degree(self, degree: int) -> Spec:
        """Return the specification of products of one degree, which is not free any more."""
        assert isinstance(self.family, Products)
        family = replace(self.family, degrees=(degree,))
        return replace(self, degrees=(degree,), family=family, free_degree=False)


def affordable_degree(highest: int, rows: int, columns: int) -> int:
    """Return the largest degree whose products of columns are priced in seconds; at least one."""
    for degree in range(highest, 1, -1):
        if rows * comb(columns + degree, degree) * 2**degree <= PRICED_ENTRIES:
            return degree
    return 1
