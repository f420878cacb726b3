"""Solvers: mirror descent, working sets, full passes, greedy selection; p = 2 in closed form."""

from .answers import frozen_result, remembered, thawed_result
from .base import HISTORY, Needs, Result, Slot, Solver, State, from_state
from .closed_form import ClosedForm, solve_closed
from .cost_model import costs, list_bytes, system_bytes
from .dual_newton import DualPoint
from .full_pass import FullPass
from .greedy import Greedy, debiased
from .loop import Callback, at_no_effect, growing, run, unpenalised
from .match import NAMES, choose, describe, is_priced, match, refuse_needs
from .mirror_descent import GradientSampler, MirrorDescent, Sampler, UniformSampler
from .theory import (
    Constants,
    DecreasingStep,
    GradientMoments,
    HarmonicStep,
    StepSize,
    TheoremStep,
    expectation_bound,
    high_probability_bound,
)
from .widths import WidthSearch
from .working_set import WorkingSet

__all__ = [
    "HISTORY",
    "NAMES",
    "Callback",
    "ClosedForm",
    "Constants",
    "DecreasingStep",
    "DualPoint",
    "FullPass",
    "GradientMoments",
    "GradientSampler",
    "Greedy",
    "HarmonicStep",
    "MirrorDescent",
    "Needs",
    "Result",
    "Sampler",
    "Slot",
    "Solver",
    "State",
    "StepSize",
    "TheoremStep",
    "UniformSampler",
    "WidthSearch",
    "WorkingSet",
    "at_no_effect",
    "choose",
    "costs",
    "debiased",
    "describe",
    "expectation_bound",
    "from_state",
    "frozen_result",
    "growing",
    "high_probability_bound",
    "is_priced",
    "list_bytes",
    "match",
    "refuse_needs",
    "remembered",
    "run",
    "solve_closed",
    "system_bytes",
    "thawed_result",
    "unpenalised",
]
